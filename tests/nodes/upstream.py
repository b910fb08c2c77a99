"""The provider of live accounts, in this process: the simulator with delays and a counter."""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Coroutine
from typing import Any
from urllib.parse import parse_qs

import httpx2

from balcao.providers.simulation.app import create_app


class Upstream:
    """A server in its own thread, so that it answers while a test blocks."""

    def __init__(self) -> None:
        self.delay_seconds = 0.0
        self._open = asyncio.Event()
        self._open.set()
        self.asked: Counter[str] = Counter()  # by CNPJ
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="upstream", daemon=True)
        self._thread.start()
        self._simulator = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=create_app()), trust_env=False
        )
        self._listeners: list[asyncio.Server] = []
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        self.port = int(listening.getsockname()[1])
        self.listen(listening)

    def listen(self, bound: socket.socket) -> None:
        """Also answer on this socket."""
        self._run(self._listen(bound))

    def hold(self) -> None:
        """Keep callers waiting until `release`."""
        self._open.clear()

    def release(self) -> None:
        """Answer the waiting callers, and later ones immediately."""
        self._loop.call_soon_threadsafe(self._open.set)

    def close(self) -> None:
        """Stop the server."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self, bound: socket.socket) -> None:
        self._listeners.append(await asyncio.start_server(self._talk, sock=bound, backlog=512))

    async def _end(self) -> None:
        for listener in self._listeners:
            listener.close()
        talks = asyncio.all_tasks() - {asyncio.current_task()}
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        await self._simulator.aclose()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the node was killed meanwhile
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        for document in parse_qs(body.decode()).get("cnpj", ()):
            self.asked[document] += 1
        await asyncio.sleep(self.delay_seconds)
        await self._open.wait()
        reply = await self._simulator.request(
            method,
            f"http://127.0.0.1:{self.port}{path}",
            headers={"content-type": headers.get("content-type", "text/plain")},
            content=body,
        )
        writer.write(
            f"HTTP/1.1 {reply.status_code} OK\r\ncontent-type: {reply.headers['content-type']}\r\n"
            f"content-length: {len(reply.content)}\r\nconnection: close\r\n\r\n".encode()
        )
        writer.write(reply.content)
        await writer.drain()
