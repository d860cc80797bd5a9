"""A page's side of a loop, in a process of its own: asks for twenty iterates a second, as a page does. Prints
the address, and ends with its input. The number of weights is its argument."""

from __future__ import annotations

import asyncio
import sys

from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application

from solverscope.app.runs.own_loop import RATE
from solverscope.app.serving import loops
from solverscope.app.watch import Told

SIZE = int(sys.argv[1])


class Host:
    """Takes in every loop."""

    def admit(self) -> int:
        return SIZE

    def welcome(self, wire: loops.Wire) -> None:
        def hear(message: str | bytes) -> None:
            if isinstance(message, bytes):
                Told.parse(message, SIZE)
                wire.later(1.0 / RATE, lambda: wire.say(go=True))

        wire.hears = hear
        wire.say(size=SIZE, problem={})


async def serve() -> None:
    server = HTTPServer(Application([("/app/loop", loops.Wire)]))
    sock, port = bind_unused_port()
    server.add_socket(sock)
    print(f"http://127.0.0.1:{port}/app#{loops.Door(Host()).token}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


asyncio.run(serve())
