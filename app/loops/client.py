"""The client for a user's own loop. It needs only NumPy and the standard library, and may be copied.

The page shows the code that connects (*Watch your own loop*, below its solvers). A POST opens a run, and its
response stays open: each of its lines is a message of the page in JSON. The last message says why the run has
ended. Each iterate is a PUT on a second connection, with a response once the page has read the iterate. A
DELETE ends the run.
"""

from __future__ import annotations

import atexit
import http.client
import json
import math
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

if TYPE_CHECKING:
    from solverscope.solvers import OwnLoop, Problem, Trace

#: Path of the endpoint relative to the page's URL.
LOOP_PATH = "/loop"
#: Media type of the response with the page's messages.
EVENTS_TYPE = "application/x-ndjson"
#: Seconds to wait for a response of the page, and for it to read the last iterate.
PAGE_TIMEOUT = 10.0
#: Fraction of the loop's CPU time that may be used for copying and sending weights, and seconds that are
#: always permitted.
MAX_CPU_SHARE, FREE_CPU_SECONDS = 0.005, 0.02
#: Bytes of the line before the weights, at most, and the largest number of an iterate.
MAX_HEADER_BYTES, MAX_ITERATION = 4096, 1 << 53
#: Fields of its own that a loop may have, and characters of the name of one, at most.
MAX_OWN, MAX_OWN_NAME = 32, 40
#: Characters of a loop's error that are sent, at most.
MAX_ERROR_LENGTH = 150
#: Bytes of a line of the page, at most.
MAX_EVENT_BYTES = 1 << 16
W_NOT_FINITE = "w is not finite at iteration {}: the page takes finite weights only"
CONNECTION_LOST = "the connection to the page is lost"


class LoopIterate(NamedTuple):
    """An iterate that a loop sends: iteration, seconds, f if the loop knows it, weights, and
    named numbers."""

    iteration: int
    cpu_seconds: float
    wall_seconds: float
    objective: float | None
    w: np.ndarray
    own: Mapping[str, float] = MappingProxyType({})

    @property
    def header(self) -> bytes:
        """Return the line of JSON that precedes the weights, which are sent as little-endian doubles."""
        record = {name: value for name, value in self._asdict().items() if name not in ("w", "own")}
        if self.own:
            record["own"] = dict(self.own)
        return json.dumps(record).encode() + b"\n"

    @classmethod
    def parse(cls, message: bytes, size: int) -> LoopIterate:
        """Parse an iterate with ``size`` weights. Raises ValueError if the message is anything else."""
        header, _, body = message.partition(b"\n")
        try:
            record = json.loads(header) if len(header) <= MAX_HEADER_BYTES else None
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or record.keys() | {"own"} != set(cls._fields) - {"w"}:
            raise ValueError(
                "an iterate begins with a line of JSON: iteration, cpu_seconds, wall_seconds and objective, "
                "also own if the loop has fields of its own"
            )
        own = record.get("own", {})
        if not isinstance(own, dict) or len(own) > MAX_OWN or not all(map(_is_finite, own.values())):
            raise ValueError(f"own must be a record of at most {MAX_OWN} finite numbers")
        n = record["iteration"]
        if type(n) is not int or not 0 <= n < MAX_ITERATION:
            raise ValueError("iteration must be a whole number from 0 on")
        for name in ("cpu_seconds", "wall_seconds"):
            if not _is_finite(record[name]) or record[name] < 0.0:
                raise ValueError(f"{name} must be a finite number from 0 on")
        if record["objective"] is not None and not _is_finite(record["objective"]):
            raise ValueError("objective must be a finite number or null")
        if len(body) != 8 * size:
            raise ValueError(f"w has {len(body) / 8:g} entries: the page's problem has {size} weights")
        w = np.frombuffer(body, "<f8").astype(np.float64)
        if not np.isfinite(w).all():
            raise ValueError(W_NOT_FINITE.format(n))
        return cls(**record, w=w)


def _checked_own(own: Mapping[str, Any]) -> dict[str, float]:
    """Return a loop's own fields as finite numbers. Raises ValueError if one is invalid."""
    found = {}
    for name, value in own.items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name} is a {type(value).__name__}: give a number, true or false") from None
        if len(name) > MAX_OWN_NAME or len(own) > MAX_OWN:
            raise ValueError(
                f"own fields are at most {MAX_OWN}, with names of at most {MAX_OWN_NAME} letters"
            )
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _is_finite(value: object) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


@overload
def solverscope_run(label: str, target: str) -> PageRun: ...
@overload
def solverscope_run(
    label: str, target: Problem | None = None, scope: Callable[[Trace], None] | None = None
) -> OwnLoop: ...
def solverscope_run(
    label: str, target: str | Problem | None = None, scope: Callable[[Trace], None] | None = None
) -> PageRun | OwnLoop:
    """Watch a loop of your own: ``with solverscope_run("mine", URL) as run``, and ``run.iterate(w=w)`` in it.

    Without a URL, the run is drawn in the notebook's cell.

    Parameters
    ----------
    label : str
        Name of the run.
    target : str or Problem, optional
        The URL that a page shows, which ends in # and a token. Or, in a notebook, the problem that the loop
        solves.
    scope : callable, optional
        Without a URL, the function of a trace that draws the run; by default a new ``Scope`` below the cell.

    Returns
    -------
    PageRun or OwnLoop
        Both have ``iterate``, which returns False once the run has been stopped on the page.

    Raises
    ------
    ValueError
        If the URL is incomplete or that of another machine.
    ConnectionError
        If there is no page, or the page refuses; then the message is the page's reason.
    ImportError
        Without a URL, if Solverscope is not installed.
    """
    if isinstance(target, str):
        return PageRun(label, target)
    from solverscope.app.views.scope import live
    from solverscope.solvers import OwnLoop

    return OwnLoop(label, target, watch=live() if scope is None else scope)


class PageRun:
    """A loop that a page shows with its own runs, on the problem selected on the page.

    A thread sends the iterates. The page reads at most twenty per second: the first, the last, and in between
    the newest whenever it is ready. Others are dropped. Copying and sending weights uses at most 0.5 % of the
    loop's CPU time. If more would be needed, fewer iterates are read, and the last of them may precede the
    loop's last. Pausing the run on the page pauses its display, not the loop. If the page is closed, cleared
    or set to another problem, the loop continues unwatched, with a warning.

    Attributes
    ----------
    size : int
        Number of weights of the problem.
    problem : dict
        The problem, as in the first line of ``solverscope run --json``.
    """

    def __init__(self, label: str, address: str) -> None:
        self._page = PageAddress.parse(address)
        self._events_connection, self._events = self._page.open(label)
        self._events_socket = self._events_connection.sock
        try:
            event = self._next_event()
            if "size" not in event:
                raise ConnectionError(event.get("wrong") or event.get("gone") or "stopped in the page")
            self.size, self.problem = int(event["size"]), dict(event["problem"])
            self._id = str(event["run"])
        except BaseException as error:
            self._events_connection.close()
            if isinstance(error, ConnectionError):
                raise
            if isinstance(error, OSError | EOFError | http.client.HTTPException):
                raise ConnectionError("the page does not answer: keep it open in a browser") from None
            raise
        self._events_socket.settimeout(None)
        self._changed = threading.Condition()
        #: The first iterate until it is sent, and the newest one.
        self._queue: list[LoopIterate] = []
        self._idle = True  # no iterate is being sent or read
        self._over = False
        self._last_event: dict[str, Any] = {}  # why the run is over, until the loop has been told
        self._n = -1
        #: CPU seconds that went into weights, in the loop's thread and in the one that sends.
        self._copying_seconds = self._sending_seconds = 0.0
        for work in (self._send, self._listen):
            threading.Thread(target=work, name="solverscope run", daemon=True).start()
        atexit.register(self.close)
        self._cpu = self._wall = 0.0

    def iterate(self, w: Any, objective: float | None = None, **own: float) -> bool:
        """Report an iterate; return False once the run has been stopped on the page.

        Time is measured from the first iterate on, in the calling thread, excluding the time spent in this
        method. If the page is gone, the loop continues unwatched, with a single warning.

        Parameters
        ----------
        w : array
            The weights in any shape, or anything with ``__array__``. They are copied if the page will read
            them.
        objective : float, optional
            f as computed by the loop, which is only compared with the page's value.
        own
            Named numbers or Booleans, such as ``trust_radius=r, accepted=False``, which become fields of the
            run's record. Those that are not finite are omitted.

        Raises
        ------
        ValueError
            If the number of weights is wrong, if a weight is not finite, or if the page refused an iterate.
        """
        cpu, wall = time.thread_time(), time.perf_counter()
        self._n += 1
        if self._n == 0:
            self._cpu, self._wall = cpu, wall
        seconds = max(cpu - self._cpu, 0.0), max(wall - self._wall, 0.0)
        spent = self._copying_seconds + self._sending_seconds
        is_sent = not self._over and spent <= MAX_CPU_SHARE * seconds[0] + FREE_CPU_SECONDS
        if is_sent:
            self._enqueue(LoopIterate(self._n, *seconds, objective, w, own))
        self._report_end()
        took = time.thread_time() - cpu
        if is_sent:
            self._copying_seconds += took
        self._cpu += took
        self._wall += time.perf_counter() - wall
        return "stop" not in self._last_event

    def callback(self, intermediate_result: Any) -> None:
        """Report an iterate of SciPy: ``scipy.optimize.minimize(f, w0, callback=run.callback)``.

        SciPy does not report the starting point; call ``run.iterate(w=w0)`` before. Stopping the run on the
        page ends the minimization.
        """
        # TNC passes the weights alone
        w = getattr(intermediate_result, "x", intermediate_result)
        if not self.iterate(w=w, objective=getattr(intermediate_result, "fun", None)):
            raise StopIteration

    def _enqueue(self, iterate: LoopIterate) -> None:
        """Copy an iterate for the thread that sends them, replacing one that has not been sent yet.

        The first iterate is never replaced.
        """
        w = np.asarray(iterate.w, dtype="<f8").reshape(-1).copy()  # some __array__ ignore `copy`
        if w.size != self.size:
            raise ValueError(f"w has {w.size} entries: the page's problem has {self.size} weights")
        if not np.isfinite(w).all():
            raise ValueError(W_NOT_FINITE.format(iterate.iteration))
        objective = None if iterate.objective is None else float(iterate.objective)
        if objective is not None and not math.isfinite(objective):
            raise ValueError(f"objective={objective}: the page takes finite numbers only")
        own = _checked_own(iterate.own)
        with self._changed:
            if self._queue and self._queue[-1].iteration > 0:
                self._queue.pop()
            self._queue.append(iterate._replace(objective=objective, w=w, own=own))
            if self._idle:
                self._changed.notify_all()

    def close(self, error: str = "") -> None:
        """End the run, after the page has received the last iterate; the end of the program does the same.

        If there is an ``error``, the run has failed, and the page shows the message.
        """
        atexit.unregister(self.close)
        with self._changed:
            self._changed.wait_for(lambda: self._over or (self._idle and not self._queue), PAGE_TIMEOUT)
            ends_here, self._over = not self._over, True
            self._changed.notify_all()
        if ends_here:
            connection = self._page.connection()
            with suppress(OSError, http.client.HTTPException):
                said = error[:MAX_ERROR_LENGTH].encode(errors="replace")
                self._page.request(connection, "DELETE", run=self._id, error=said)
            connection.close()
        with suppress(OSError):
            self._events_socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(f"{kind.__name__}: {error}" if kind is not None and isinstance(error, Exception) else "")
        if error is None:
            self._report_end()

    def _report_end(self) -> None:
        """Raise ValueError if the page refused an iterate, or warn that the page is gone; each only once."""
        if wrong := self._last_event.pop("wrong", ""):
            raise ValueError(wrong)
        if gone := self._last_event.pop("gone", ""):
            warnings.warn(f"{gone}: the loop goes on unwatched", RuntimeWarning, stacklevel=3)

    # in threads of their own

    def _send(self) -> None:
        connection = self._page.connection()
        is_read = True
        while is_read:
            with self._changed:
                self._changed.wait_for(lambda: self._over or self._queue)
                if self._over:
                    break
                iterate, self._idle = self._queue.pop(0), False
            is_read = self._put(connection, iterate)
            self._sending_seconds = time.thread_time()
            with self._changed:
                self._idle = is_read
                self._changed.notify_all()
        connection.close()
        with self._changed:  # the page says why on the other connection
            self._changed.wait_for(lambda: self._over, PAGE_TIMEOUT)
        self._end({"gone": CONNECTION_LOST})

    def _put(self, connection: http.client.HTTPConnection, iterate: LoopIterate) -> bool:
        """Send an iterate, wait until the page has read it, and return whether it accepts more."""
        body = iterate.header, memoryview(iterate.w)
        for _ in range(2):  # the server closes a connection that has been idle for an hour
            try:
                if connection.sock is None:
                    connection.connect()
                    connection.sock.settimeout(None)  # the run may be paused in the page
                response = self._page.request(connection, "PUT", body, run=self._id)
                response.read(MAX_EVENT_BYTES)
                return response.status == http.client.NO_CONTENT
            except (OSError, http.client.HTTPException):
                connection.close()
            if self._over:
                break
        return False

    def _listen(self) -> None:
        event: dict[str, Any] = {}
        with suppress(OSError, EOFError, ValueError, http.client.HTTPException):
            event = self._next_event()
        is_end = event.keys() & {"stop", "wrong", "gone"}
        self._end(event if is_end else {"gone": CONNECTION_LOST})
        self._events_connection.close()

    def _end(self, event: dict[str, Any]) -> None:
        with self._changed:
            if not self._over:
                self._last_event, self._over = event, True
            self._changed.notify_all()

    def _next_event(self) -> dict[str, Any]:
        """Return the next message of the page. Raises EOFError after the last one."""
        line = self._events.readline(MAX_EVENT_BYTES)
        if not line.endswith(b"\n"):
            raise EOFError
        return json.loads(line)


class PageAddress(NamedTuple):
    """The URL of a page on this machine, and the token that admits loops to it."""

    host: str
    port: int
    path: str
    token: str

    @classmethod
    def parse(cls, address: str) -> PageAddress:
        """Parse the URL that a page shows. Raises ValueError if it is invalid or that of another machine."""
        parts = urlsplit(address)
        if parts.scheme != "http" or not parts.hostname or not parts.fragment:
            raise ValueError(f"{address!r} is no address of a loop: copy the line that the page shows")
        host = parts.hostname.removesuffix(".")
        if host not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError(f"{parts.hostname} may be another machine: a loop is watched at localhost only")
        return cls(host, parts.port or 80, parts.path.rstrip("/"), parts.fragment)

    def connection(self) -> http.client.HTTPConnection:
        """Return a connection to the server that is not open yet."""
        return http.client.HTTPConnection(self.host, self.port, timeout=PAGE_TIMEOUT)

    def request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        body: Sequence[bytes | memoryview] = (),
        **query: str | bytes,
    ) -> http.client.HTTPResponse:
        """Send a request to the endpoint, and return the response once its headers have arrived."""
        headers = {
            "Authorization": f"Bearer {quote(self.token)}",
            "Content-Length": str(sum(memoryview(part).nbytes for part in body)),
        }
        connection.request(method, f"{self.path}{LOOP_PATH}?{urlencode(query)}", body, headers)
        return connection.getresponse()

    def open(self, label: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Open a run; return its connection, and the response whose lines are the page's messages.

        Raises ConnectionError if there is no page or it refuses.
        """
        connection = self.connection()
        try:
            connection.connect()
        except OSError:
            raise ConnectionError(
                f"nothing answers at {self.host}:{self.port}: is the server there?"
            ) from None
        status, said = 0, ""
        with suppress(OSError, http.client.HTTPException):
            response = self.request(connection, "POST", label=label)
            status = response.status
            if status == http.client.OK and response.headers.get_content_type() == EVENTS_TYPE:
                return connection, response
            said = response.read(MAX_EVENT_BYTES).decode(errors="replace").strip()
        connection.close()
        if status == http.client.FORBIDDEN and said and "<" not in said:
            raise ConnectionError(said)
        raise ConnectionError(
            f"there is no page of Solverscope at {self.host}:{self.port}{self.path} that takes a loop"
        )
