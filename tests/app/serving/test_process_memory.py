"""Memory that is given back when visitors have left."""

import asyncio
import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from solverscope.app.serving import process_memory
from tests import loop

ROOT = Path(__file__).resolve().parents[3]

SCATTERED = """
import gc
from pathlib import Path
from solverscope.app.serving import process_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

before = resident()
pieces = [bytes(2000) for _ in range(100_000)]
last = pieces[-1]  # it lies above all others
pieces.clear()
held = resident()
process_memory.release(unused=True)
print(held - before, resident() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library gives back nothing")
def test_free_memory_below_what_is_in_use_is_given_back():
    done = subprocess.run([sys.executable, "-c", SCATTERED], cwd=ROOT, capture_output=True, text=True)
    held, kept = map(float, done.stdout.split())
    assert held > 150
    assert kept < 20


def test_many_that_leave_together_are_seen_to_once_and_garbage_is_looked_for_when_nobody_is_left(monkeypatch):
    calls, visitors = [], [1, 2, 3]
    monkeypatch.setattr(process_memory, "SETTLE_SECONDS", 0.01)
    monkeypatch.setattr(process_memory, "release", lambda unused: calls.append(unused))

    async def leave(count):
        before = len(calls)
        for _ in range(count):
            visitors.pop()
            process_memory.release_soon(lambda: len(visitors))
        await loop.until(lambda: len(calls) > before)
        later = []  # after any second call
        asyncio.get_running_loop().call_later(2 * process_memory.SETTLE_SECONDS, later.append, True)
        await loop.until(lambda: later)

    loop.run(leave(2))
    loop.run(leave(1))
    assert calls == [False, True]


def test_threads_share_few_parts_of_the_heap():
    """Each part is a mapping of 64 MiB of addresses that a thread's first allocation would make."""
    program = (
        "import threading, numpy as np\n"
        "from solverscope.app.serving import process_memory\n"
        "process_memory.limit_arenas()\n"
        "wait = threading.Barrier(9)\n"
        "work = lambda: (np.ones(1000), wait.wait())\n"
        "[threading.Thread(target=work, daemon=True).start() for _ in range(8)]\n"
        "wait.wait()\n"
        "print(open('/proc/self/statm').read().split()[0])\n"
    )
    pages = [
        int(subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True).stdout)
        for text in (program, program.replace("process_memory.limit_arenas()", "pass"))
    ]
    assert (pages[1] - pages[0]) * 4096 > 100 * 2**20
