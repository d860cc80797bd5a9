"""Who may bring a loop to a page, and what it can send: by the client, and by hand."""

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

import numpy as np
import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application

from solverscope.app.loops import client, server
from solverscope.app.loops.client import LoopIterate, PageAddress, PageRun, solverscope_run
from solverscope.app.loops.server import Endpoint, LoopConnection, LoopHandler
from tests import waiting

SIZE = 3


class OnePage:
    """Takes in every loop, and asks for the next iterate as soon as it has one."""

    def __init__(self) -> None:
        self.connections: list[LoopConnection] = []
        self.iterates: list[LoopIterate] = []
        self.errors: list[str] = []
        self.failures: list[str] = []
        self.asks = True
        self.refuses = ""

    def admit(self) -> int:
        if self.refuses:
            raise ValueError(self.refuses)
        return SIZE

    def start_run(self, connection: LoopConnection) -> None:
        def receive(message: bytes) -> None:
            self.iterates.append(LoopIterate.parse(message, SIZE))
            if self.asks:
                connection.ask_next()

        connection.receiver = SimpleNamespace(
            receive=receive, end=self.errors.append, fail=self.failures.append
        )
        self.connections.append(connection)
        connection.say(size=SIZE, problem={"dataset": "three", "lam": 0.5})


@pytest.fixture
def address() -> Generator[str, None, None]:
    """The address of a server whose loop is in another thread."""
    made: dict[str, object] = {}
    there = threading.Event()

    async def serve() -> None:
        over = made["over"] = asyncio.Event()
        made["loop"] = asyncio.get_running_loop()
        http_server = HTTPServer(Application([(r"/app/loop", LoopHandler)]))
        opened, made["port"] = bind_unused_port()
        http_server.add_socket(opened)
        there.set()
        await over.wait()
        http_server.stop()
        await http_server.close_all_connections()

    with ThreadPoolExecutor(1) as thread:
        served = thread.submit(asyncio.run, serve())
        assert there.wait(waiting.PATIENCE)
        yield f"http://localhost:{made['port']}/app"
        made["loop"].call_soon_threadsafe(made["over"].set)
        served.result()


@pytest.fixture
def host() -> OnePage:
    return OnePage()


@pytest.fixture
def endpoint(host) -> Generator[Endpoint, None, None]:
    endpoint = Endpoint(host)
    yield endpoint
    endpoint.close()


@pytest.fixture
def connect(address, endpoint) -> Generator[Callable[..., PageRun], None, None]:
    made = []

    def connect(label: str = "mine", token: str | None = None) -> PageRun:
        made.append(solverscope_run(label, f"{address}#{token or endpoint.token}"))
        return made[-1]

    yield connect
    for run in made:
        run.close()


class ByHand:
    """A run whose requests are written by the test."""

    def __init__(self, page: PageAddress) -> None:
        self.page = page
        self._connection, self.events = page.open("mine")
        self.opening = json.loads(self.events.readline())

    def request(self, method: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
        """Return the status and the text of an answer on a connection of its own."""
        connection = self.page.connection()
        headers = {"Authorization": f"Bearer {self.page.token}"} | headers
        connection.request(method, f"{self.page.path}/loop?run={self.opening['run']}", body, headers)
        answer = connection.getresponse()
        found = answer.status, answer.read().decode().strip()
        connection.close()
        return found

    def hang_up(self) -> None:
        self.events.close()
        self._connection.close()


@pytest.fixture
def by_hand(address, endpoint) -> Generator[ByHand, None, None]:
    made = ByHand(PageAddress.parse(f"{address}#{endpoint.token}"))
    yield made
    made.hang_up()


def test_a_loop_gets_its_problem_and_sends_its_first_and_its_last_iterate(
    connect, host, wait_until, monkeypatch
):
    monkeypatch.setattr(
        client, "FREE_CPU_SECONDS", 60.0
    )  # a loop that is slow enough for its weights to be sent
    with connect() as run:
        assert (run.size, run.problem["lam"], host.connections[0].label) == (SIZE, 0.5, "mine")
        for k in range(1000):
            assert run.iterate(w=np.full(SIZE, float(k)), objective=0.5 * k)
    wait_until(lambda: host.errors == [""])
    numbers = [told.iteration for told in host.iterates]
    assert numbers[0] == 0
    assert numbers[-1] == 999
    assert numbers == sorted(set(numbers))
    for told in host.iterates:
        assert told.w.tolist() == [told.iteration] * SIZE
        assert told.objective == 0.5 * told.iteration
    assert host.iterates[0].cpu_seconds == host.iterates[0].wall_seconds == 0.0
    assert np.all(np.diff([told.cpu_seconds for told in host.iterates]) >= 0.0)


def test_while_the_page_is_busy_the_newest_iterate_waits_and_the_others_are_dropped(
    connect, host, wait_until
):
    host.asks = False
    with connect() as run:
        run.iterate(w=np.zeros(SIZE))
        wait_until(lambda: len(host.iterates) == 1)
        w = np.ones(SIZE)
        for _ in range(5):
            run.iterate(w=w)
        w += 1.0  # a loop goes on in its array
        host.asks = True
        host.connections[0].ask_next()
        wait_until(lambda: len(host.iterates) == 2)
    assert [told.iteration for told in host.iterates] == [0, 5]
    assert host.iterates[1].w.tolist() == [1.0] * SIZE


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
    assert 1 <= copies <= 1 + (client.MAX_CPU_SHARE * 10.0 + client.FREE_CPU_SECONDS) / 0.1


def test_anything_that_makes_an_array_is_told_as_plain_numbers(connect, host, wait_until):
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0], [2.0], [3.0]], dtype=np.float32).astype(dtype or np.float32)

    with connect() as run:
        run.iterate(w=Tensor())
    wait_until(lambda: host.errors)
    assert [one.w.tolist() for one in host.iterates] == [[1.0, 2.0, 3.0]]


def test_after_stop_iterate_returns_false_and_the_loop_may_go_on(connect, host, wait_until):
    run = connect()
    assert run.iterate(w=np.zeros(SIZE))
    host.connections[0].close(stop=True)
    wait_until(lambda: not run.iterate(w=np.zeros(SIZE)))
    assert not run.iterate(w=np.zeros(SIZE))


def test_a_loop_whose_page_is_gone_goes_on_and_says_so_once(connect, host, wait_until, recwarn):
    run = connect()
    host.connections[0].close(gone="the page is closed")
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
    wait_until(lambda: host.errors == ["ZeroDivisionError: division by zero"])


@pytest.mark.parametrize("letter", ["\x00", "字", "𝛌", "\ud800"])
def test_an_error_in_any_letters_reaches_the_page(connect, host, wait_until, letter):
    connect().close(1000 * letter)
    wait_until(lambda: host.errors)
    assert [len(error) for error in host.errors] == [client.MAX_ERROR_LENGTH]


def test_a_connection_that_breaks_ends_the_run(by_hand, host, wait_until):
    by_hand.hang_up()
    wait_until(lambda: host.failures == [server.LOOP_LOST])
    assert by_hand.request("PUT", message()) == (403, server.NO_RUN)


# who may not


def test_without_the_token_nobody_gets_in(connect, host, endpoint):
    other = OnePage()
    another = Endpoint(other)
    for token in ("guessed", endpoint.token[:-1], endpoint.token + "A", another.token[::-1], "ä"):
        with pytest.raises(ConnectionError, match="No open page has this token"):
            connect(token=token)
    assert host.connections == other.connections == []
    connect(token=another.token).iterate(w=np.zeros(SIZE))
    assert (len(host.connections), len(other.connections)) == (0, 1), "a token opens its own page alone"
    another.close()
    with pytest.raises(ConnectionError, match="No open page has this token"):
        connect(token=another.token)


def test_tokens_are_long_random_and_compared_in_constant_time(monkeypatch, host):
    made = [Endpoint(host) for _ in range(3)]
    assert len({one.token for one in made}) == 3
    assert all(len(one.token) >= 32 for one in made)
    compared = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return one == other

    monkeypatch.setattr(server.hmac, "compare_digest", compare)
    assert server.find_by_token(made[0].token) is made[0]
    assert {one.token.encode() for one in made} <= set(compared), "with all of them, found or not"
    for one in made:
        one.close()


def answered(address: str, endpoint: Endpoint, **headers: str | None) -> tuple[int, str]:
    """What the server answers to the opening of a run with other headers: status and text."""
    _, _, place = address.partition("://")
    host, _, path = place.partition("/")
    wanted = {
        "Host": host,
        "Authorization": f"Bearer {endpoint.token}",
        "Content-Length": "0",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"POST /{path}/loop?label=mine HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in wanted.items() if value is not None]
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), waiting.PATIENCE) as opened:
        opened.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = http.client.HTTPResponse(opened)
        answer.begin()
        return answer.status, "" if answer.status == 200 else answer.read().decode()


def test_the_dot_that_ends_a_full_name_is_no_other_machine(address, endpoint, host):
    solverscope_run("mine", f"{address.replace('localhost', 'localhost.')}#{endpoint.token}").close()
    assert len(host.connections) == 1


def test_another_name_another_sites_page_and_a_proxy_are_refused(address, endpoint, host):
    assert answered(address, endpoint) == (200, "")
    for headers, said in (
        ({"Host": "evil.example"}, server.NOT_LOCAL),
        ({"X_Forwarded_For": "10.0.0.1"}, server.NOT_LOCAL),
        ({"Origin": "http://evil.example"}, server.FROM_A_PAGE),
        ({"Origin": address.removesuffix("/app")}, server.FROM_A_PAGE),
        ({"Authorization": None}, server.NO_TOKEN),
        ({"Authorization": f"Basic {endpoint.token}"}, server.NO_TOKEN),
        ({"Authorization": None, "Cookie": f"token={endpoint.token}"}, server.NO_TOKEN),
    ):
        assert answered(address, endpoint, **headers) == (403, f"{said}\n"), headers
    assert len(host.connections) == 1


def test_other_machines_are_refused(endpoint):
    request = SimpleNamespace(
        remote_ip="192.168.1.7",
        headers={"Host": "localhost:5006", "Authorization": f"Bearer {endpoint.token}"},
    )
    with pytest.raises(ValueError, match="its own machine"):
        server.find_endpoint(request)


@pytest.mark.parametrize("label", ["", "x" * 41, "a\nb"])
def test_a_label_is_a_short_text(connect, host, label):
    with pytest.raises(ConnectionError, match="1 to 40 letters"):
        connect(label=label)
    assert host.connections == []


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
    told = LoopIterate.parse(message(np.array([1.0, -2.0, 0.5]).astype("<f8").tobytes(), objective=3), SIZE)
    assert told.w.tolist() == [1.0, -2.0, 0.5]
    assert told.objective == 3
    assert LoopIterate.parse(told.header + told.w.tobytes(), SIZE)[:4] == told[:4]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (b"", "a line of JSON"),
        (b"\x80\x04\x95\n", "a line of JSON"),
        (b"[" * 1000 + b"\n", "a line of JSON"),
        (json.dumps(GOOD).encode() + b" " * 5000 + b"\n" + bytes(8 * SIZE), "a line of JSON"),
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
        LoopIterate.parse(wrong, SIZE)
    assert "\n" not in str(refused.value)


def test_a_refused_iterate_ends_the_run_and_the_loop_gets_the_reason(by_hand, host):
    sentence = "iteration must be a whole number from 0 on"
    assert by_hand.request("PUT", message(iteration=-1)) == (403, sentence)
    assert host.failures[:1] == [f"the loop was refused: {sentence}"]
    assert json.loads(by_hand.events.readline()) == {"wrong": sentence}
    assert by_hand.events.read() == b"", "and nothing more"


def test_what_the_page_refuses_is_raised_in_the_loop(connect, host, wait_until):
    run = connect()
    host.connections[0].close(wrong="iterations are told in order")

    def raised() -> bool:
        try:
            run.iterate(w=np.zeros(SIZE))
        except ValueError as error:
            return str(error) == "iterations are told in order"
        return False

    wait_until(raised)


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_a_body_that_is_too_large_is_not_even_read(by_hand, host, wait_until, method):
    connection = by_hand.page.connection()
    connection.putrequest(method, f"{by_hand.page.path}/loop?label=other&run={by_hand.opening['run']}")
    connection.putheader("Authorization", f"Bearer {by_hand.page.token}")
    connection.putheader("Content-Length", str(8 * SIZE + client.MAX_HEADER_BYTES + 1))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 400, "before anything of it has come"
    connection.close()
    if method == "PUT":
        wait_until(lambda: host.failures == [server.LOOP_LOST])
    assert (host.iterates, host.errors, len(host.connections)) == ([], [], 1)


def test_a_second_iterate_is_refused_while_the_first_is_being_read(by_hand, host, wait_until):
    host.asks = False
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(by_hand.request, "PUT", message())
        wait_until(lambda: host.iterates)
        assert by_hand.request("PUT", message(iteration=1))[0] == 403
        assert not first.done()
        host.connections[0].ask_next()
        assert first.result(waiting.PATIENCE) == (204, "")
    assert (len(host.iterates), host.failures) == (1, []), "the run goes on"


def test_a_run_belongs_to_the_page_of_its_token(by_hand, host):
    other = Endpoint(OnePage())
    own = by_hand.request("PUT", message(), Authorization=f"Bearer {other.token}")
    other.close()
    assert own == (403, server.NO_RUN)
    assert by_hand.request("PUT", message(), Origin="http://evil.example") == (403, server.FROM_A_PAGE)
    assert by_hand.request("DELETE", Authorization="Bearer guessed") == (403, server.NO_TOKEN)
    assert (host.iterates, host.errors) == ([], [])


def test_a_connection_that_the_server_closed_while_it_was_idle_is_opened_again(
    connect, host, wait_until, monkeypatch
):
    made = []
    plain = PageAddress.connection
    monkeypatch.setattr(PageAddress, "connection", lambda page: made.append(plain(page)) or made[-1])
    with connect() as run:
        run.iterate(w=np.zeros(SIZE))
        wait_until(lambda: len(host.iterates) == 1 and not host.connections[0].is_busy)
        made[1].sock.shutdown(socket.SHUT_RDWR)  # the one of the iterates
        run.iterate(w=np.ones(SIZE))
        wait_until(lambda: len(host.iterates) == 2)
    assert host.errors == [""]
    assert host.failures in ([], [server.LOOP_LOST]), "it hangs up only after its end"
