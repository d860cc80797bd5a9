"""A page's side of a loop, in a process of its own: asks for twenty iterates a second, as a page does. Prints
the address, and ends with its input. The number of weights is its argument; with --tell it prints what comes.
"""

from __future__ import annotations

import asyncio
import json
import sys

from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application

from solverscope.app.loops.client import LoopIterate
from solverscope.app.loops.run import MAX_RATE
from solverscope.app.loops.server import Endpoint, LoopConnection, LoopHandler

SIZE = int(sys.argv[1])


def tell(**said: object) -> None:
    """Print what has come, if that was asked for."""
    if "--tell" in sys.argv:
        print(json.dumps(said), flush=True)


class Receiver:
    """Reads an iterate each time, and asks for the next one when a page would."""

    def __init__(self, connection: LoopConnection) -> None:
        self._connection = connection

    def receive(self, message: bytes) -> None:
        iterate = LoopIterate.parse(message, SIZE)
        tell(iteration=iterate.iteration, first=float(iterate.w[0]))
        self._connection.call_later(1.0 / MAX_RATE, self._connection.ask_next)

    def end(self, error: str) -> None:
        tell(end=error)

    def fail(self, reason: str) -> None:
        pass


class BenchHost:
    """Takes in every loop."""

    def admit(self) -> int:
        return SIZE

    def start_run(self, connection: LoopConnection) -> None:
        connection.receiver = Receiver(connection)
        connection.say(size=SIZE, problem={})


async def serve() -> None:
    server = HTTPServer(Application([("/app/loop", LoopHandler)]))
    sock, port = bind_unused_port()
    server.add_socket(sock)
    print(f"http://127.0.0.1:{port}/app#{Endpoint(BenchHost()).token}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


asyncio.run(serve())
