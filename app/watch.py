"""Watching a loop of one's own in an open page, from a process of its own: needs NumPy and nothing else.

The page shows the line that connects (*Watch your own loop*, below its solvers). It is spoken to by a
WebSocket (RFC 6455) of this machine: a message with an iterate each time the page asks for one, which it does
by a short text once it has looked at the one before.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import http.client
import json
import math
import os
import socket
import sys
import threading
import time
import warnings
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlsplit

import numpy as np

#: Where a page takes loops, below its own address.
PLACE = "/loop"
#: Seconds to wait for a page to answer, and for it to look at the last iterate.
PATIENCE = 10.0
#: Share of the loop's CPU time that may go into copying and sending its weights, and seconds that may anyhow.
SHARE, ANYHOW = 0.005, 0.02
#: What a WebSocket adds to a key before it hashes it (RFC 6455, section 1.3), and its kinds of messages.
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY = 1, 2
#: Bytes of a message besides the weights, at most, and the largest number of an iterate.
HEAD, MOST = 1024, 1 << 53
#: Letters of the error of a loop, at most: as many as fit into that, whichever they are.
LETTERS = 150
NOT_FINITE = "w is not finite at iteration {}: the page takes finite weights only"
#: Bytes of an answer, at most.
LONGEST = 1 << 16


class Told(NamedTuple):
    """An iterate as a loop tells it: its number, its seconds, f if the loop knows it, and the weights."""

    iteration: int
    cpu_seconds: float
    wall_seconds: float
    objective: float | None
    w: np.ndarray

    @property
    def head(self) -> bytes:
        """Return the line of JSON that is sent before the weights, which are little-endian doubles."""
        record = {name: value for name, value in self._asdict().items() if name != "w"}
        return json.dumps(record).encode() + b"\n"

    @classmethod
    def parse(cls, message: bytes, size: int) -> Told:
        """Read one of ``size`` weights; ValueError, one sentence, for anything else."""
        head, _, body = message.partition(b"\n")
        try:
            record = json.loads(head) if len(head) <= HEAD else None
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or record.keys() != set(cls._fields) - {"w"}:
            raise ValueError(
                "an iterate begins with a line of JSON: iteration, cpu_seconds, wall_seconds and objective"
            )
        n = record["iteration"]
        if type(n) is not int or not 0 <= n < MOST:
            raise ValueError("iteration must be a whole number from 0 on")
        for name in ("cpu_seconds", "wall_seconds"):
            if not _finite(record[name]) or record[name] < 0.0:
                raise ValueError(f"{name} must be a finite number from 0 on")
        if record["objective"] is not None and not _finite(record["objective"]):
            raise ValueError("objective must be a finite number or null")
        if len(body) != 8 * size:
            raise ValueError(f"w has {len(body) / 8:g} entries: the page's problem has {size} weights")
        w = np.frombuffer(body, "<f8").astype(np.float64)
        if not np.isfinite(w).all():
            raise ValueError(NOT_FINITE.format(n))
        return cls(**record, w=w)


def _finite(value: object) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def solverscope_run(label: str, address: str) -> WatchedLoop:
    """Watch a loop of one's own in an open page: ``with solverscope_run("mine", ADDRESS) as run``, and
    ``run.iterate(w=w)`` in each round; see :class:`WatchedLoop`.

    Parameters
    ----------
    label : str
        Name of the run.
    address : str
        What the page shows: its own address, #, and a token.

    Raises
    ------
    ValueError
        If the address is not of this machine, or not whole.
    ConnectionError
        If the page is not there, or refuses: its sentence.
    """
    return WatchedLoop(label, address)


class WatchedLoop:
    """A loop that a page shows beside its own runs, on the problem that is chosen there.

    A thread sends what the loop tells. The page looks at up to twenty iterates a second: the first one, the
    last one, and in between whichever is newest once it is ready for one. The others are dropped. Weights are
    copied and sent within 0.5 % of the loop's CPU time: where that takes more, since they are many or the
    loop is fast, fewer iterates are looked at, and the last of them may be one shortly before the loop's
    last. Pausing the run in the page holds what is shown there, and not the loop.

    Attributes
    ----------
    size : int
        Number of weights of the problem.
    problem : dict
        The problem, as in the first line of ``solverscope run --json``.
    """

    def __init__(self, label: str, address: str) -> None:
        self._socket, self._file = opened(label, *_parsed(address))
        try:
            said = self._heard()
            if "size" not in said:
                raise ConnectionError(said.get("wrong") or said.get("gone") or "stopped in the page")
            self.size, self.problem = int(said["size"]), dict(said["problem"])
        except BaseException as error:
            self._socket.close()
            if isinstance(error, ConnectionError):
                raise
            if isinstance(error, OSError | EOFError):
                raise ConnectionError("the page does not answer: keep it open in a browser") from None
            raise
        self._socket.settimeout(None)
        self._turn = threading.Condition()
        #: The first iterate until it is sent, and the newest one.
        self._waiting: list[Told] = []
        self._wanted = True  # the page waits for an iterate
        self._over = False
        self._last: dict[str, Any] = {}  # what the page said last, until it has been told here
        self._n = -1
        #: CPU seconds that went into weights, in the loop's thread and in the one that sends.
        self._copying = self._sending = 0.0
        for work in (self._send, self._listen):
            threading.Thread(target=work, name="solverscope run", daemon=True).start()
        atexit.register(self.close)
        self._cpu = self._wall = 0.0

    def iterate(self, w: Any, objective: float | None = None) -> bool:
        """Tell an iterate; return False once the run has been stopped in the page.

        The run's clock is that of the calling thread, from the first iterate on; what this takes is off it.
        Without the page the loop goes on unwatched, which is said once by a warning.

        Parameters
        ----------
        w : array
            The weights, in any shape of as many numbers: anything with ``__array__``. They are copied, if
            they are looked at.
        objective : float, optional
            f as the loop knows it, which is only compared with the page's.

        Raises
        ------
        ValueError
            For weights of the wrong number, numbers that are not finite, and what the page has refused.
        """
        cpu, wall = time.thread_time(), time.perf_counter()
        self._n += 1
        if self._n == 0:
            self._cpu, self._wall = cpu, wall
        seconds = max(cpu - self._cpu, 0.0), max(wall - self._wall, 0.0)
        looked_at = not self._over and self._copying + self._sending <= SHARE * seconds[0] + ANYHOW
        if looked_at:
            self._take(Told(self._n, *seconds, objective, w))
        self._say_what_is_wrong()
        took = time.thread_time() - cpu
        self._copying += took if looked_at else 0.0
        self._cpu += took
        self._wall += time.perf_counter() - wall
        return "stop" not in self._last

    def _take(self, told: Told) -> None:
        """Keep an iterate for the thread that sends, in place of the one that waits; the first one stays."""
        w = np.asarray(told.w, dtype="<f8").reshape(-1).copy()  # not every __array__ heeds `copy`
        if w.size != self.size:
            raise ValueError(f"w has {w.size} entries: the page's problem has {self.size} weights")
        if not np.isfinite(w).all():
            raise ValueError(NOT_FINITE.format(told.iteration))
        objective = None if told.objective is None else float(told.objective)
        if objective is not None and not math.isfinite(objective):
            raise ValueError(f"objective={objective}: the page takes finite numbers only")
        with self._turn:
            if self._waiting and self._waiting[-1].iteration > 0:
                self._waiting.pop()
            self._waiting.append(told._replace(objective=objective, w=w))
            if self._wanted:
                self._turn.notify_all()

    def close(self, error: str = "") -> None:
        """End the run, as the end of the program does: the page gets the last iterate first. With an
        ``error``, a sentence, it has failed."""
        atexit.unregister(self.close)
        with self._turn:
            self._turn.wait_for(lambda: self._over or (self._wanted and not self._waiting), PATIENCE)
            if not self._over:
                self._over = True
                with suppress(OSError):
                    said = json.dumps({"end": error[:LETTERS]}, ensure_ascii=False)
                    self._socket.sendall(frame(TEXT, said.encode(errors="replace")))
            self._turn.notify_all()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(f"{kind.__name__}: {error}" if isinstance(error, Exception) else "")
        if error is None:
            self._say_what_is_wrong()

    def _say_what_is_wrong(self) -> None:
        if wrong := self._last.pop("wrong", ""):
            raise ValueError(wrong)
        if gone := self._last.pop("gone", ""):
            warnings.warn(f"{gone}: the loop goes on unwatched", RuntimeWarning, stacklevel=3)

    # in threads of their own

    def _send(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._over or (self._wanted and self._waiting))
                if self._over:
                    return
                told, self._wanted = self._waiting.pop(0), False
            try:
                self._socket.sendall(frame(BINARY, told.head, told.w))
                self._socket.sendall(told.w)
            except OSError:  # whoever listens hears why
                return
            self._sending = time.thread_time()

    def _listen(self) -> None:
        said: dict[str, Any] = {}
        with suppress(OSError, EOFError, ValueError):
            while (said := self._heard()).get("go"):
                with self._turn:
                    self._wanted = True
                    self._turn.notify_all()
        with self._turn:
            if not self._over:
                over = said.keys() & {"stop", "wrong", "gone"}
                self._last = said if over else {"gone": "the connection to the page is lost"}
                self._over = True
            self._turn.notify_all()

    def _heard(self) -> dict[str, Any]:
        """Return what the page says next; EOFError once it says no more."""
        while True:
            kind, length = self._bytes(2)
            if length & 0x80 or length == 127:
                raise ValueError("no page answers like that")
            length = int.from_bytes(self._bytes(2)) if length == 126 else length
            said = self._bytes(length)
            if kind & 0x0F == TEXT and length <= LONGEST:
                return json.loads(said)
            if kind & 0x0F == 8:
                raise EOFError

    def _bytes(self, n: int) -> bytes:
        found = self._file.read(n)
        if len(found) < n:
            raise EOFError
        return found


def _parsed(address: str) -> tuple[str, int, str, str]:
    """Return host, port, path and token; ValueError, one sentence, if these are not what a page shows."""
    parts = urlsplit(address)
    if parts.scheme != "http" or not parts.hostname or not parts.fragment:
        raise ValueError(f"{address!r} is no address of a loop: copy the line that the page shows")
    host = parts.hostname.removesuffix(".")
    if host not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError(f"{parts.hostname} may be another machine: a loop is watched at localhost only")
    return host, parts.port or 80, parts.path.rstrip("/"), parts.fragment


def opened(label: str, host: str, port: int, path: str, token: str) -> tuple[socket.socket, Any]:
    """Return a WebSocket to a page, and the file of what comes over it; ConnectionError, a sentence, where
    there is none."""
    try:
        sock = socket.create_connection((host, port), PATIENCE)
    except OSError:
        raise ConnectionError(f"nothing answers at {host}:{port}: is the server there?") from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    key, name = base64.b64encode(os.urandom(16)), f"[{host}]" if ":" in host else host
    lines = [
        f"GET {path}{PLACE}?label={quote(label)} HTTP/1.1",
        f"Host: {name}:{port}",
        f"Authorization: Bearer {quote(token)}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key.decode()}",
    ]
    file = sock.makefile("rb")
    try:
        sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        status, headers = file.readline(LONGEST).split()[1:2], http.client.parse_headers(file)
        accepted = base64.b64encode(hashlib.sha1(key + MAGIC).digest()).decode()
        if status == [b"101"] and headers["Sec-WebSocket-Accept"] == accepted:
            return sock, file
        said = file.read(min(int(headers["Content-Length"] or 0), LONGEST)).decode(errors="replace").strip()
    except (OSError, ValueError, http.client.HTTPException):
        status, said = [], ""
    sock.close()
    if status == [b"403"] and said and "<" not in said:
        raise ConnectionError(said)
    raise ConnectionError(f"there is no page of Solverscope at {host}:{port}{path} that takes a loop")


def frame(kind: int, content: bytes, more: np.ndarray | None = None) -> bytes:
    """Return a message as a client sends it (RFC 6455, section 5.2): masked by a random key. ``more``, eight
    bytes a number, is the rest of its content: it is masked in place, to be sent after what is returned."""
    n, key = len(content) + (0 if more is None else more.nbytes), os.urandom(4)
    length = (
        bytes([0x80 | n]) if n < 126 else b"\xfe" + n.to_bytes(2) if n < 1 << 16 else b"\xff" + n.to_bytes(8)
    )
    keys = np.resize(np.frombuffer(key, np.uint8), len(content) + 8)
    if more is not None:
        more.view(np.uint64)[:] ^= keys[len(content) :].view(np.uint64)
    masked = np.frombuffer(content, np.uint8) ^ keys[: len(content)]
    return bytes([0x80 | kind]) + length + key + masked.tobytes()
