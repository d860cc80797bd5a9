"""A real jupyter-server on this machine, with jupyter-server-proxy and one user, who has a token.

``program`` may be ``jupyterlab``, which is the same server with JupyterLab.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests import waiting

TOKEN = "abc"
#: The path below which a hub serves a user whose name is an address.
BASE = "/user/x%40y/"
MISSING = "jupyter-server-proxy is missing: install the extra `test` or `jupyter`"

#: What the proxy logs where it writes to a browser that has gone.
GONE = ("WebSocketClosedError", "StreamClosedError")
#: What it logs where it passes on the farewell of a page to a server that has gone.
FAREWELL = re.compile(r"(?ms)^\[E [^]]*\] Uncaught exception POST \S*/app/left .*?(?=^\[|\Z)")


class Jupyter:
    """The server, which starts Solverscope once its tile is opened."""

    def __init__(self, folder: Path, program: str = "jupyter_server") -> None:
        pytest.importorskip("jupyter_server_proxy", reason=MISSING)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = folder / "log"
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "ServerApp.base_url": BASE,
            "ServerApp.root_dir": folder,
            "ServerApp.open_browser": False,
            "ServerApp.allow_remote_access": True,  # by whatever name
            "ServerApp.jpserver_extensions": "{'jupyter_server_proxy': True}",
            "IdentityProvider.token": TOKEN,
        }
        command = [sys.executable, "-m", program, "--allow-root", "--no-browser"]
        command += [f"--{name}={value}" for name, value in options.items()]
        own = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
        with self.log.open("w") as file:
            self.process = subprocess.Popen(
                command, cwd=folder, env=os.environ | own, stdout=file, stderr=subprocess.STDOUT
            )
        waiting.wait_until(self._answers, f"the server, whose log is {self.log}", period=0.1)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError):
            return self.get("api")[0] == 200
        return False

    def url(self, path: str) -> str:
        return f"http://localhost:{self.port}{BASE}{path}"

    def address(self, **query: str) -> str:
        """The address of the page that the tile opens."""
        return self.url("solverscope/app") + (f"?{urlencode(query)}" if query else "")

    def get(self, path: str, token: str = TOKEN) -> tuple[int, str, bytes]:
        """Status, address and content of an answer, after all redirections."""
        headers = {"Authorization": f"token {token}"} if token else {}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url(path), headers=headers)) as answer:
                return answer.status, answer.url, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.url, error.read()

    def own_port(self) -> int:
        """The port of the Solverscope that it has started."""
        return int(re.findall(r"Bokeh app running at: http://localhost:(\d+)/app", self.log.read_text())[-1])

    def stop(self) -> list[str]:
        """End it; return the errors that it and Solverscope have logged, without those of the proxy for a
        browser or a server that has gone."""
        self.process.terminate()
        self.process.wait(waiting.PATIENCE)
        log = FAREWELL.sub("", self.log.read_text())
        errors = re.findall(r"^ *([a-zA-Z_.]+(?:Error|Exception)\b.*)", log, re.MULTILINE)
        return [error for error in errors if not any(name in error for name in GONE)]
