"""What is taken along: files that read back, pictures with a legend, a page that needs no network."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from solverscope.solvers.traces.reading import read

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def ran(visit):
    visit = visit(data="breast-cancer", solvers="prox-qn;owl-qn", tol="1e-4", tab="record")
    visit.button("Run").click()
    visit.wait_until(lambda: visit.states() == ["finished"] * 2, "both runs to end")
    visit.button("Export").click()
    visit.button("CSV").wait_for()
    return visit


def download(visit, name: str, folder: Path) -> Path:
    with visit.page.expect_download() as found:
        visit.button(name).click()
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


@pytest.mark.slow
def test_a_file_that_is_taken_along_and_imported_has_the_same_runs(ran, tmp_path, command, monkeypatch):
    path = download(ran, "JSON lines", tmp_path)
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path / "elsewhere"))
    for trace, id in zip(read(path), command("runs", "import", str(path)).out.split(), strict=True):
        label = trace.info.label
        assert ran.iteration(label) == trace.iteration[-1]
        exported = [json.loads(line) for line in command("runs", "export", id).out.splitlines()]
        objectives = [record["objective"] for record in exported if record["type"] == "iterate"]
        assert objectives == trace.objective.tolist()


@pytest.mark.slow
def test_a_picture_has_the_curves_as_lines_and_names_the_runs(ran, tmp_path):
    path = download(ran, "Distance to f* as SVG", tmp_path)
    root = ElementTree.parse(path).getroot()
    assert [el for el in root.iter() if el.tag == f"{SVG}image"] == []
    texts = ["".join(el.itertext()) for el in root.iter(f"{SVG}text")]
    assert {"Distance to f*", "prox-qn", "owl-qn", "CPU time of the run (s)"} <= set(texts)
    colors = {el.get("stroke", "").lower() for el in root.iter()}
    assert {"#0072b2", "#d55e00"} <= colors
    png = download(ran, "Distance to f* as PNG", tmp_path).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") >= float(root.get("width"))


@pytest.mark.slow
def test_the_page_that_is_taken_along_opens_without_a_network_hovers_and_zooms(ran, tmp_path, browser):
    path = download(ran, "HTML page", tmp_path)
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page, asked, wrong = context.new_page(), [], []
    page.route(
        re.compile("^(?!file:|data:|blob:)"), lambda route: (asked.append(route.request.url), route.abort())
    )
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_function("() => Bokeh.documents[0]?.is_idle")
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
    for heading in ("Settings", "Summary", "Distance to f*", "Repeat the run"):
        assert page.get_by_role("heading", name=heading, exact=True).count() == 1
    assert page.locator(".plot").count() == 3
    assert page.get_by_text("solverscope run breast-cancer").count() == 1
    cut = "() => document.querySelector('table').scrollWidth - document.querySelector('table').clientWidth"
    assert page.evaluate(cut) == 0

    plot = page.locator(".plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    point = page.evaluate(
        """() => {
          const view = [...Bokeh.index.query((v) => v.model.type === "Figure")][0]
          const {data_source} = view.model.renderers.find((r) => r.name && r.glyph?.type === "Line")
          const k = Math.floor(data_source.length / 2), {x, y} = data_source.data
          return {x: view.frame.x_scale.compute(x[k]), y: view.frame.y_scale.compute(y[k])}
        }"""
    )
    page.mouse.move(box["x"] + point["x"] - 1, box["y"] + point["y"])
    page.mouse.move(box["x"] + point["x"], box["y"] + point["y"])
    page.locator(".pointed.box").get_by_text("iteration").first.wait_for()

    reach = "() => [...Bokeh.index.query((v) => v.model.type === 'Figure')][0].model.x_range.end"
    before = page.evaluate(reach)
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_function(f"({reach})() < {before}")
    assert wrong == []
    context.close()
