"""The suite itself: tests ask no clock, wait for states in place of seconds, and look at what users see."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent
FILES = sorted(
    path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py") if "benchmarks" not in path.parts
)

#: What asks a clock, or waits for time to pass.
CLOCKS = {"sleep", "perf_counter", "thread_time", "process_time", "monotonic", "wait_for_timeout"}
#: Waiting gives up after this many seconds, or more: a busy machine is no failure.
PATIENCE = 60
#: Files in which a clock stands, and why.
WITH_CLOCKS = {
    "waiting.py": "the one place that waits until something is there",
    "app/sweep/slow_plugin.py": "a solver of another process, which takes as long as it is told to",
}
#: Files that reach into private parts of libraries, and why.
WITH_PRIVATE_PARTS = {
    "browser/test_notebook_cells.py": "what a kernel does is private to Panel",
    "app/compat/conftest.py": "what is tested takes the place of private parts of Bokeh and Panel",
    "app/compat/test_panel_early_changes.py": "which browsers have read a page is private to Panel and Bokeh",
    "app/compat/test_panel_event_lock.py": "a browser's messages come to private parts of Panel",
}
#: Names with an underscore that libraries offer.
PUBLIC = {"_replace", "_asdict", "_fields"}


def is_bench(node):
    marks = [*getattr(node, "decorator_list", ()), node]
    return any(
        ast.unparse(m).startswith(("pytest.mark.bench", "pytestmark = pytest.mark.bench")) for m in marks
    )


def nodes(name):
    """All nodes of a file but those of benchmarks."""
    waiting = ast.parse((TESTS / name).read_text(encoding="utf-8")).body
    if any(isinstance(node, ast.Assign) and is_bench(node) for node in waiting):
        return
    waiting = [node for node in waiting if not is_bench(node)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += ast.iter_child_nodes(node)


def places(found, exceptions=()):
    """Where a file, that is no exception, has a node of this sort."""
    return [
        f"tests/{name}:{node.lineno}: {ast.unparse(node)}"
        for name in FILES
        if name not in exceptions
        for node in nodes(name)
        if found(node)
    ]


def called(node):
    """The last part of the name of what is called; "" where nothing is."""
    function = getattr(node, "func", None)
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def asks_a_clock(node):
    return called(node) in CLOCKS and not ast.unparse(node.func).startswith(("asyncio.", "self."))


def is_hasty(node):
    """Whether a call gives up waiting after less than a minute."""
    limits = [word.value for word in getattr(node, "keywords", ()) if word.arg == "timeout"]
    limits += node.args if called(node) in ("join", "wait") else []
    numbers = [limit.value for limit in limits if isinstance(limit, ast.Constant)]
    return any(isinstance(n, int | float) and n < PATIENCE for n in numbers)


def is_private(node):
    name = getattr(node, "attr", "")
    own = isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls")
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC and not own


def test_no_test_asks_a_clock():
    assert places(asks_a_clock, WITH_CLOCKS) == [], "wait for the state, or count what is done"


def test_who_waits_waits_for_a_minute():
    assert places(is_hasty) == []


def test_no_test_reaches_into_private_parts():
    assert places(is_private, WITH_PRIVATE_PARTS) == []


def test_these_idioms_are_found_and_every_exception_is_needed():
    for text, found in (
        ("time.sleep(0.5)", asks_a_clock),
        ("began = perf_counter()", asks_a_clock),
        ("worker.join(0.5)", is_hasty),
        ("run(command, timeout=5)", is_hasty),
        ("view._curves", is_private),
    ):
        assert any(map(found, ast.walk(ast.parse(text)))), text
    for found, exceptions in ((asks_a_clock, WITH_CLOCKS), (is_private, WITH_PRIVATE_PARTS)):
        for name in exceptions:
            assert any(map(found, nodes(name))), name
