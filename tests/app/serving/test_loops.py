"""Who may bring a loop to a page, and what it can say: by a real connection, and by hand."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application

from solverscope.app import watch
from solverscope.app.serving import loops
from solverscope.app.watch import BINARY, TEXT, Told, solverscope_run
from tests import waiting

SIZE = 3


class Page:
    """Takes in every loop, and asks for the next iterate as soon as it has one."""

    def __init__(self) -> None:
        self.wires: list[loops.Wire] = []
        self.heard: list[str | bytes] = []
        self.ends: list[str] = []
        self.asks = True
        self.refuses = ""

    def admit(self) -> int:
        if self.refuses:
            raise ValueError(self.refuses)
        return SIZE

    def welcome(self, wire: loops.Wire) -> None:
        def hear(message: str | bytes) -> None:
            if isinstance(message, bytes):
                Told.parse(message, SIZE)
            self.heard.append(message)
            if self.asks:
                wire.say(go=True)

        wire.hears, wire.ends = hear, self.ends.append
        self.wires.append(wire)
        wire.say(size=SIZE, problem={"dataset": "three", "lam": 0.5})

    @property
    def told(self) -> list[Told]:
        return [Told.parse(message, SIZE) for message in self.heard if isinstance(message, bytes)]


@pytest.fixture
def address() -> Generator[str, None, None]:
    """The address of a server whose loop is in another thread."""
    made: dict[str, object] = {}
    there = threading.Event()

    async def serve() -> None:
        over = made["over"] = asyncio.Event()
        made["loop"] = asyncio.get_running_loop()
        server = HTTPServer(Application([(r"/app/loop", loops.Wire)]))
        opened, made["port"] = bind_unused_port()
        server.add_socket(opened)
        there.set()
        await over.wait()
        server.stop()
        await server.close_all_connections()

    with ThreadPoolExecutor(1) as thread:
        served = thread.submit(asyncio.run, serve())
        assert there.wait(waiting.PATIENCE)
        yield f"http://localhost:{made['port']}/app"
        made["loop"].call_soon_threadsafe(made["over"].set)
        served.result()


@pytest.fixture
def host() -> Page:
    return Page()


@pytest.fixture
def door(host) -> Generator[loops.Door, None, None]:
    door = loops.Door(host)
    yield door
    door.close()


@pytest.fixture
def connect(address, door) -> Generator[Callable[..., watch.WatchedLoop], None, None]:
    made = []

    def connect(label: str = "mine", token: str | None = None) -> watch.WatchedLoop:
        made.append(solverscope_run(label, f"{address}#{token or door.token}"))
        return made[-1]

    yield connect
    for run in made:
        run.close()


@pytest.fixture
def by_hand(address, door) -> Generator[socket.socket, None, None]:
    """A connection whose messages are written by the test."""
    parts = urlsplit(address)
    opened, _ = watch.opened("mine", parts.hostname, parts.port, parts.path, door.token)
    with opened:
        yield opened


def test_a_loop_is_told_its_problem_and_tells_its_first_and_its_last_iterate(
    connect, host, wait_until, monkeypatch
):
    monkeypatch.setattr(watch, "ANYHOW", 60.0)  # a loop that is slow enough for its weights to be sent
    with connect() as run:
        assert (run.size, run.problem["lam"], host.wires[0].label) == (SIZE, 0.5, "mine")
        for k in range(1000):
            assert run.iterate(w=np.full(SIZE, float(k)), objective=0.5 * k)
    wait_until(lambda: host.heard[-1:] == ['{"end": ""}'])
    numbers = [told.iteration for told in host.told]
    assert numbers[0] == 0
    assert numbers[-1] == 999
    assert numbers == sorted(set(numbers))
    for told in host.told:
        assert told.w.tolist() == [told.iteration] * SIZE
        assert told.objective == 0.5 * told.iteration
    assert host.told[0].cpu_seconds == host.told[0].wall_seconds == 0.0
    assert np.all(np.diff([told.cpu_seconds for told in host.told]) >= 0.0)


def test_while_the_page_is_busy_the_newest_iterate_waits_and_the_others_are_dropped(
    connect, host, wait_until
):
    host.asks = False
    with connect() as run:
        run.iterate(w=np.zeros(SIZE))
        wait_until(lambda: len(host.told) == 1)
        w = np.ones(SIZE)
        for _ in range(5):
            run.iterate(w=w)
        w += 1.0  # a loop goes on in its array
        host.asks = True
        host.wires[0].say(go=True)
        wait_until(lambda: len(host.told) == 2)
    assert [told.iteration for told in host.told] == [0, 5]
    assert host.told[1].w.tolist() == [1.0] * SIZE


def test_weights_are_copied_within_a_small_share_of_the_loops_time(connect, host, monkeypatch):
    """By a clock that the loop and the copies move: ten seconds of the loop, a tenth for each copy."""
    now, copies, loop = 0.0, 0, threading.current_thread()
    monkeypatch.setattr(time, "thread_time", lambda: now if threading.current_thread() is loop else 0.0)

    class Slow:
        def __array__(self, dtype=None, copy=None):
            nonlocal now, copies
            now, copies = now + 0.1, copies + 1
            return np.zeros(SIZE)

    with connect() as run:
        for _ in range(1000):
            run.iterate(w=Slow())
            now += 0.01
    assert 1 <= copies <= 1 + (watch.SHARE * 10.0 + watch.ANYHOW) / 0.1


def test_anything_that_makes_an_array_is_told_as_plain_numbers(connect, host, wait_until):
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0], [2.0], [3.0]], dtype=np.float32).astype(dtype or np.float32)

    with connect() as run:
        run.iterate(w=Tensor())
    wait_until(lambda: len(host.heard) == 2)
    head, _, body = host.heard[0].partition(b"\n")
    assert json.loads(head).keys() == {"iteration", "cpu_seconds", "wall_seconds", "objective"}
    assert np.frombuffer(body, "<f8").tolist() == [1.0, 2.0, 3.0]


def test_after_stop_iterate_returns_false_and_the_loop_may_go_on(connect, host, wait_until):
    run = connect()
    assert run.iterate(w=np.zeros(SIZE))
    host.wires[0].leave(stop=True)
    wait_until(lambda: not run.iterate(w=np.zeros(SIZE)))
    assert not run.iterate(w=np.zeros(SIZE))


def test_a_loop_whose_page_is_gone_goes_on_and_says_so_once(connect, host, wait_until, recwarn):
    run = connect()
    host.wires[0].leave(gone="the page is closed")
    wait_until(lambda: run.iterate(w=np.zeros(SIZE)) and len(recwarn))
    assert run.iterate(w=np.zeros(SIZE))
    assert [str(one.message) for one in recwarn] == ["the page is closed: the loop goes on unwatched"]


def test_what_is_wrong_in_a_loop_is_raised_there_in_a_sentence(connect, host):
    run = connect()
    for told, said in (
        ({"w": np.zeros(2)}, "w has 2 entries: the page's problem has 3 weights"),
        ({"w": np.array([0.0, np.nan, 0.0])}, "w is not finite at iteration 1"),
        ({"w": np.array([np.inf, -np.inf, 0.0])}, "w is not finite at iteration 2"),
        ({"w": np.zeros(SIZE), "objective": np.inf}, "objective=inf: the page takes finite numbers only"),
    ):
        with pytest.raises(ValueError, match=said):
            run.iterate(**told)
    assert run.iterate(w=np.full(SIZE, 1e308)), "numbers whose sum overflows are finite"


def test_an_error_in_a_with_block_reaches_the_page(connect, host, wait_until):
    def loop() -> None:
        with connect() as run:
            run.iterate(w=np.zeros(SIZE))
            raise ZeroDivisionError("division by zero")

    with pytest.raises(ZeroDivisionError):
        loop()
    wait_until(lambda: host.heard[-1:] == ['{"end": "ZeroDivisionError: division by zero"}'])


@pytest.mark.parametrize("letter", ["\x00", "字", "𝛌", "\ud800"])
def test_an_error_in_any_letters_reaches_the_page(connect, host, wait_until, letter):
    connect().close(1000 * letter)
    wait_until(lambda: len(host.heard) == 1)
    assert len(json.loads(host.heard[0])["end"]) == watch.LETTERS


def test_a_connection_that_breaks_ends_the_run(by_hand, host, wait_until):
    wait_until(lambda: host.wires)
    by_hand.shutdown(socket.SHUT_RDWR)
    wait_until(lambda: host.ends == [loops.LOST])


# who may not


def test_without_the_token_nobody_gets_in(connect, host, door):
    other = Page()
    another = loops.Door(other)
    for token in ("guessed", door.token[:-1], door.token + "A", another.token[::-1], "ä"):
        with pytest.raises(ConnectionError, match="No open page has this token"):
            connect(token=token)
    assert host.wires == other.wires == []
    connect(token=another.token).iterate(w=np.zeros(SIZE))
    assert (len(host.wires), len(other.wires)) == (0, 1), "a token opens its own page alone"
    another.close()
    with pytest.raises(ConnectionError, match="No open page has this token"):
        connect(token=another.token)


def test_tokens_are_long_random_and_compared_in_constant_time(monkeypatch, host):
    doors = [loops.Door(host) for _ in range(3)]
    assert len({door.token for door in doors}) == 3
    assert all(len(door.token) >= 32 for door in doors)
    compared = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return one == other

    monkeypatch.setattr(loops.hmac, "compare_digest", compare)
    assert loops.behind(doors[0].token) is doors[0]
    assert {door.token.encode() for door in doors} <= set(compared), "with all of them, found or not"
    for door in doors:
        door.close()


def answered(address: str, door: loops.Door, **headers: str | None) -> tuple[int, str]:
    """What the server answers to a handshake with other headers: status and text."""
    _, _, place = address.partition("://")
    host, _, path = place.partition("/")
    wanted = {
        "Host": host,
        "Authorization": f"Bearer {door.token}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"GET /{path}/loop?label=mine HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in wanted.items() if value is not None]
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), waiting.PATIENCE) as opened:
        opened.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = http.client.HTTPResponse(opened)
        answer.begin()
        return answer.status, answer.read().decode()


def test_the_dot_that_ends_a_full_name_is_no_other_machine(address, door, host):
    solverscope_run("mine", f"{address.replace('localhost', 'localhost.')}#{door.token}").close()
    assert len(host.wires) == 1


def test_another_name_another_sites_page_and_a_proxy_are_refused(address, door, host):
    assert answered(address, door) == (101, "")
    for headers, said in (
        ({"Host": "evil.example"}, loops.ELSEWHERE),
        ({"X_Forwarded_For": "10.0.0.1"}, loops.ELSEWHERE),
        ({"Origin": "http://evil.example"}, loops.FROM_A_PAGE),
        ({"Origin": address.removesuffix("/app")}, loops.FROM_A_PAGE),
        ({"Authorization": None}, loops.NO_TOKEN),
        ({"Authorization": f"Basic {door.token}"}, loops.NO_TOKEN),
        ({"Authorization": None, "Cookie": f"token={door.token}"}, loops.NO_TOKEN),
    ):
        assert answered(address, door, **headers) == (403, f"{said}\n"), headers
    assert len(host.wires) == 1


def test_other_machines_are_refused(host, door):
    wire = SimpleNamespace(
        request=SimpleNamespace(
            remote_ip="192.168.1.7",
            headers={"Host": "localhost:5006", "Authorization": f"Bearer {door.token}"},
        )
    )
    with pytest.raises(ValueError, match="its own machine"):
        loops.Wire.admit(wire)


@pytest.mark.parametrize("label", ["", "x" * 41, "a\nb"])
def test_a_label_is_a_short_text(connect, host, label):
    with pytest.raises(ConnectionError, match="1 to 40 letters"):
        connect(label=label)
    assert host.wires == []


def test_a_page_that_takes_no_loop_says_why(connect, host):
    host.refuses = "The page shows 12 loops: remove one, and connect again."
    with pytest.raises(ConnectionError, match="shows 12 loops"):
        connect()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://localhost:5006/app", "copy the line that the page shows"),
        ("localhost:5006/app#t", "copy the line that the page shows"),
        ("https://localhost:5006/app#t", "copy the line that the page shows"),
        ("http://192.168.1.7:5006/app#t", "another machine"),
        ("http://localhost.evil.example:5006/app#t", "another machine"),
    ],
)
def test_a_token_goes_to_this_machine_alone(text, said):
    with pytest.raises(ValueError, match=said):
        solverscope_run("mine", text)


def test_where_no_page_is_a_sentence_says_so(address):
    with pytest.raises(ConnectionError, match="there is no page of Solverscope"):
        solverscope_run("mine", f"{address}/nothing#t")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ConnectionError, match="nothing answers"):
        solverscope_run("mine", f"http://127.0.0.1:{port}/app#t")


# what may not be said

GOOD = {"iteration": 0, "cpu_seconds": 0.0, "wall_seconds": 0.0, "objective": None}


def message(w: bytes = bytes(8 * SIZE), **changed: object) -> bytes:
    return json.dumps(GOOD | changed).encode() + b"\n" + w


def test_a_good_message_is_read():
    told = Told.parse(message(np.array([1.0, -2.0, 0.5]).astype("<f8").tobytes(), objective=3), SIZE)
    assert told.w.tolist() == [1.0, -2.0, 0.5]
    assert told.objective == 3
    assert Told.parse(told.head + told.w.tobytes(), SIZE)[:4] == told[:4]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (b"", "a line of JSON"),
        (b"\x80\x04\x95\n", "a line of JSON"),
        (b"[" * 1000 + b"\n", "a line of JSON"),
        (json.dumps(GOOD).encode() + b" " * 1000 + b"\n" + bytes(8 * SIZE), "a line of JSON"),
        (b"[]\n" + bytes(8 * SIZE), "a line of JSON"),
        (message(more=1), "a line of JSON"),
        (message(iteration=-1), "whole number"),
        (message(iteration=True), "whole number"),
        (message(iteration=1.5), "whole number"),
        (message(iteration=10**400), "whole number"),
        (message(cpu_seconds=float("nan")), "cpu_seconds must be a finite number"),
        (message(cpu_seconds="0"), "cpu_seconds must be a finite number"),
        (message(wall_seconds=float("inf")), "wall_seconds must be a finite number"),
        (message(wall_seconds=-1.0), "wall_seconds must be a finite number"),
        (message(objective=float("nan")), "objective must be a finite number"),
        (message(objective=10**400), "objective must be a finite number"),
        (message(objective=[1]), "objective must be a finite number"),
        (message(w=bytes(8)), "w has 1 entries: the page's problem has 3 weights"),
        (message(w=bytes(8 * SIZE + 1)), "w has 3.125 entries"),
        (message(w=np.array([0.0, np.inf, 0.0]).astype("<f8").tobytes()), "w is not finite at iteration 0"),
    ],
)
def test_what_is_no_iterate_is_refused_in_a_sentence(wrong, said):
    with pytest.raises(ValueError, match=said) as refused:
        Told.parse(wrong, SIZE)
    assert "\n" not in str(refused.value)


def test_a_refused_message_ends_the_run_and_the_loop_is_told_why(by_hand, host, wait_until):
    by_hand.sendall(watch.frame(BINARY, message(iteration=-1)))
    wait_until(lambda: host.ends[:1] == ["the loop was refused: iteration must be a whole number from 0 on"])
    said, wrong = b"", b'{"wrong": "iteration must be a whole number from 0 on"}'
    for more in iter(lambda: by_hand.recv(4096), b""):  # until the page hangs up, some seconds later
        said += more
        if wrong in said:
            break
    assert wrong in said


def test_what_the_page_refuses_is_raised_in_the_loop(connect, host, wait_until):
    run = connect()
    host.wires[0].leave(wrong="iterations are told in order")

    def raised() -> bool:
        try:
            run.iterate(w=np.zeros(SIZE))
        except ValueError as error:
            return str(error) == "iterations are told in order"
        return False

    wait_until(raised)


@pytest.mark.parametrize("kind", [BINARY, TEXT])
def test_a_message_that_is_too_large_is_not_even_read(by_hand, host, wait_until, kind):
    length = 8 * SIZE + watch.HEAD + 1
    by_hand.sendall(bytes([0x80 | kind, 0x80 | 127]) + length.to_bytes(8) + bytes(4))
    wait_until(lambda: host.ends == [loops.LOST])
    assert host.heard == []
