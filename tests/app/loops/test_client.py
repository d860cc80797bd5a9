"""The client: it is light, as programs of others import it, and its file works alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solverscope.app.loops.client import LoopIterate, solverscope_run
from solverscope.app.views import scope

ROOT = Path(__file__).resolve().parents[3]
#: Prints what else than the standard library and NumPy has been imported.
LOADED = """
import sys
import {module}
names = {{name.partition(".")[0] for name in sys.modules}}
print(*sorted(names - sys.stdlib_module_names - before))
"""


def loaded(module: str) -> set[str]:
    code = "import sys\nbefore = {name.partition('.')[0] for name in sys.modules}\n"
    code += LOADED.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_it_needs_numpy_and_nothing_else():
    assert loaded("solverscope.app.loops.client") == {"solverscope", "numpy"}


def test_its_file_works_alone(tmp_path):
    (tmp_path / "copied.py").write_text(
        (ROOT / "app" / "loops" / "client.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    code = "import copied; copied.solverscope_run('mine', 'http://localhost:1/app#t')"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; {code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (
        done.stderr.splitlines()[-1]
        == "ConnectionError: nothing answers at localhost:1: is the server there?"
    )


def test_without_an_address_the_same_loop_is_drawn_in_a_cell(monkeypatch):
    drawn = []
    monkeypatch.setattr(scope, "live", lambda: drawn.append)
    with solverscope_run("mine") as run:
        assert all(run.iterate(w=np.ones(2), objective=1.0) for _ in range(3)), "nobody stops it"
    assert drawn[0] is run.trace
    assert run.trace.iteration.tolist() == [0, 1, 2]


def test_fields_of_a_loop_of_its_own_are_sent_before_the_weights():
    sent = LoopIterate(3, 0.1, 0.2, None, np.ones(2), {"radius": 0.5, "accepted": 0.0})
    read = LoopIterate.parse(sent.header + sent.w.astype("<f8").tobytes(), 2)
    assert (read.own, read.iteration, read.w.tolist()) == (sent.own, 3, [1.0, 1.0])
    with pytest.raises(ValueError, match="own must be a record of at most 32 finite numbers"):
        LoopIterate.parse(sent.header.replace(b"0.5", b'"a"') + bytes(16), 2)
