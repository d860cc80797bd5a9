"""The tile in Jupyter: what jupyter-server-proxy is told of it, and who gets to the page behind it."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Generator
from importlib import import_module
from pathlib import Path

import pytest
from bokeh.util.token import get_token_payload
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from solverscope.app.serving.jupyter_proxy import ICON, server
from tests import loop
from tests.app.loops.test_client import loaded
from tests.jupyter import BASE, TOKEN, Jupyter

ROOT = Path(__file__).resolve().parents[3]


def test_it_needs_nothing_that_takes_time():
    """Each start of Jupyter imports it."""
    assert loaded("solverscope.app.serving.jupyter_proxy") == {"solverscope", "psutil"}


def test_the_entry_point_is_its_function_and_its_package_an_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (name, place), *others = project["entry-points"]["jupyter_serverproxy_servers"].items()
    module, function = place.split(":")
    assert (name, others) == ("solverscope", [])
    assert getattr(import_module(module), function) is server
    extras = project["optional-dependencies"]
    assert set(extras["jupyter"]) <= set(extras["test"])


def test_a_key_goes_to_the_server_and_into_each_request_and_nowhere_else():
    first, second = server(), server()
    [key] = first["environment"].values()
    assert first["environment"] == {"SOLVERSCOPE_PROXY_KEY": key}
    assert first["request_headers_override"] == {"X-Solverscope-Key": key}
    assert second["environment"] != first["environment"]
    assert len(key) >= 32
    assert set(key).isdisjoint("{}")
    assert key not in " ".join(first["command"])
    assert ICON.read_text(encoding="utf-8").startswith("<svg")


def test_the_command_is_that_of_the_same_python():
    command = [word.format(port=5006) for word in server()["command"]]
    assert command[0] == sys.executable
    assert command[-3:] == ["serve", "--port", "5006"]
    done = subprocess.run([*command[:-3], "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("solverscope ")


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Generator[Jupyter, None, None]:
    jupyter = Jupyter(tmp_path_factory.mktemp("jupyter"))
    yield jupyter
    assert jupyter.stop() == [], jupyter.log.read_text()


@pytest.mark.slow
def test_the_launcher_has_a_tile_that_leads_to_the_page(jupyter):
    told = json.loads(jupyter.get("server-proxy/servers-info")[2])
    [tile] = [one for one in told["server_processes"] if one["name"] == "solverscope"]
    entry = tile["launcher_entry"]
    assert (entry["title"], tile["new_browser_tab"]) == ("Solverscope", True)
    assert jupyter.get(entry["icon_url"].removeprefix(BASE))[2] == ICON.read_bytes()
    for path in (entry["path_info"], "solverscope", "solverscope/"):
        status, at, page = jupyter.get(path)
        assert (status, at.partition("?")[0]) == (200, jupyter.address())
        assert b"Bokeh.require" in page


@pytest.mark.slow
def test_who_has_no_token_of_jupyter_gets_neither_page_nor_websocket(jupyter):
    page = jupyter.get("solverscope/app")[2].decode()
    [token] = re.findall(r'"token":"([^"]+)"', page)
    for path in ("solverscope/app", "solverscope/static/js/bokeh.min.js"):
        assert "/login" in jupyter.get(path, token="")[1]

    async def joined(**headers: str) -> str | int:
        address = jupyter.address().replace("http", "ws", 1) + "/ws"
        request = HTTPRequest(address, headers=headers, request_timeout=60, connect_timeout=60)
        try:
            socket = await websocket_connect(request, subprotocols=["bokeh", token])
        except HTTPClientError as error:
            return error.code
        word = await socket.read_message()
        socket.close()
        return word

    origin, authorization = f"http://localhost:{jupyter.port}", f"token {TOKEN}"
    assert loop.run(joined(Origin=origin)) == 403
    assert loop.run(joined(Origin="http://evil.example", Cookie="a=b")) == 403
    assert "ACK" in loop.run(joined(Origin=origin, Authorization=authorization))
    assert TOKEN not in str(get_token_payload(token)["headers"])


@pytest.mark.slow
def test_nobody_gets_to_its_port_past_jupyter(jupyter):
    """Neither another user of the machine nor a page that means it by a name of its own."""
    jupyter.get("solverscope/app")
    for host in (f"localhost:{jupyter.own_port()}", f"localhost:{jupyter.port}", "evil.example"):
        for path in ("/", "/app", "/app/ws", "/app/metadata", "/static/js/bokeh.min.js"):
            connection = http.client.HTTPConnection("localhost", jupyter.own_port(), timeout=60)
            connection.request("GET", path, headers={"Host": host})
            answer = connection.getresponse()
            assert (answer.status, b"answers only the proxy" in answer.read()) == (403, True)
            connection.close()
