"""The figures of the benchmarks: each has its place in their README, and a benchmark that writes it."""

from __future__ import annotations

import re

import pytest

from tests.benchmarks import report, test_hinges, test_l1l2_speed

NAMES = re.findall(r"<!-- figures: ([\w-]+) -->", report.README.read_text(encoding="utf-8"))


def test_figures_of_one_name_are_replaced_and_the_others_stay():
    readme = report.README.read_text(encoding="utf-8")
    table = report.markdown(["solver", "1e-2"], [["`prox-qn`", "4.3"]])
    changed = report.with_figures(readme, "ocr", f"*today*\n\n{table}")
    assert (
        "*today*\n\n| solver | 1e-2 |\n|---|---|\n| `prox-qn` | 4.3 |\n\n<!-- end of figures -->" in changed
    )
    for name in NAMES:
        assert (block(changed, name) == block(readme, name)) == (name != "ocr")
    assert re.sub(r"<!-- figures: ocr.*?end of figures", "", changed, flags=re.DOTALL) == re.sub(
        r"<!-- figures: ocr.*?end of figures", "", readme, flags=re.DOTALL
    )


def test_the_first_figures_of_a_place_leave_what_follows():
    end = "\n<!-- end of figures -->\n"
    empty, next_one = f"<!-- figures: new -->{end}", f"<!-- figures: old -->\n*x*\n{end}"
    changed = report.with_figures(f"{empty}## Next\n{next_one}", "new", "*y*")
    assert changed.endswith(f"*y*\n\n<!-- end of figures -->\n## Next\n{next_one}")


def test_figures_without_a_place_are_refused():
    with pytest.raises(KeyError, match=r"README\.md has no <!-- figures: mine -->"):
        report.with_figures(report.README.read_text(encoding="utf-8"), "mine", "")


def test_each_block_has_one_name_and_says_how_it_was_measured():
    assert len(set(NAMES)) == len(NAMES) > 10
    for name in NAMES:
        said, *_ = block(report.README.read_text(encoding="utf-8"), name).splitlines()
        assert re.fullmatch(r"\*.+\*", said), name


@pytest.mark.parametrize(
    "name",
    [
        "ocr",
        "conll2000",
        "head-start",
        *(f"l1l2-speed-{n}" for n in test_l1l2_speed.TASKS),
        *(f"hinges-{n}" for n in test_hinges.RACE),
    ],
)
def test_a_benchmark_that_writes_figures_has_a_place_for_them(name):
    assert name in NAMES


def block(readme: str, name: str) -> str:
    return readme.split(f"<!-- figures: {name} -->\n")[1].split("<!-- end of figures -->")[0]
