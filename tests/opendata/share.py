"""The Receita's file share with injected faults: for tests, benches and demonstrations.

    .venv/bin/python -m tests.opendata.share FOLDER --port 8200

serves a folder that holds `2026-10/*.zip` on loopback, as a share (`/s/espelho`) and as a plain
listing (`/lista/`). Callers choose the faults: `Fault`.
"""

import argparse
import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.sax.saxutils import escape

import httpx2
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CHUNK_BYTES = 700  # small months, and still many chunks
HOST = "share.test"
TOKEN = "espelho"


class Stalled(Exception):
    """No more bytes come, and the connection stays open."""


async def _stall() -> None:
    raise Stalled


async def _stall_for_real() -> None:
    await asyncio.sleep(24 * 3600)


@dataclass(frozen=True)
class Fault:
    """The fault of one GET of a zip. Offsets count from the beginning of its body."""

    cut_at: int | None = None  # the connection breaks there
    stall_at: int | None = None  # nothing comes after it
    whole: bool = False  # a range is answered 200, with the whole file
    status: int | None = None  # instead of an answer
    shift: int = 0  # the range begins elsewhere
    flip_at: int | None = None  # this byte is changed


WELL = Fault()


@dataclass
class Share:
    """Months by name, each with its zips; everything may be changed between requests."""

    months: dict[str, dict[str, bytes]] = field(default_factory=dict)
    token: str = TOKEN
    folder: str = ""  # below the share's root
    fault: Callable[[str, int], Fault] = lambda name, start: WELL  # by zip and first byte
    webdav: bool = True  # the older protocol is supported
    never: Callable[[], Awaitable[None]] = _stall
    requests: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, range
    agents: set[str] = field(default_factory=set)

    @property
    def address(self) -> str:
        """The address that an operator would copy from a browser."""
        below = f"?dir=/{self.folder}" if self.folder else ""
        return f"https://{HOST}/index.php/s/{self.token}{below}"

    @property
    def app(self) -> ASGIApp:
        """Return the ASGI application."""
        methods = ["GET", "HEAD", "PROPFIND"]
        return Router(
            [
                Route("/public.php/webdav/{path:path}", self._webdav, methods=methods),
                Route("/public.php/dav/files/{token}/{path:path}", self._files, methods=methods),
                Route("/lista/{path:path}", self._plain, methods=["GET", "HEAD"]),
            ],
            redirect_slashes=False,
        )

    def client(self) -> httpx2.AsyncClient:
        """Return a client that calls the application within the process."""
        from balcao.opendata.fetching.share_client import open_client

        return open_client("", InProcess(self.app))

    async def _webdav(self, request: Request) -> Response:
        signed = base64.b64encode(f"{self.token}:".encode()).decode()
        if not self.webdav or request.headers.get("authorization") != f"Basic {signed}":
            return PlainTextResponse("", 401)
        return self._answer(request, "/public.php/webdav")

    async def _files(self, request: Request) -> Response:
        if request.path_params["token"] != self.token:
            return PlainTextResponse("", 404)
        return self._answer(request, f"/public.php/dav/files/{self.token}")

    async def _plain(self, request: Request) -> Response:
        return self._answer(request, "/lista")

    def _answer(self, request: Request, root: str) -> Response:
        path, headers = request.path_params["path"], request.headers
        self.requests.append((request.method, path, headers.get("range", "")))
        self.agents.add(headers["user-agent"])
        below = unquote(path).strip("/")
        if self.folder and root != "/lista":
            if below != self.folder and not below.startswith(f"{self.folder}/"):
                return PlainTextResponse("", 404)
            below, root = below[len(self.folder) :].strip("/"), f"{root}/{self.folder}"
        month, _, name = below.partition("/")
        if name:
            if name not in self.months.get(month, {}):
                return PlainTextResponse("", 404)
            return self._zip(request, month, name)
        inside = self.months if not month else self.months.get(month)
        if inside is None:
            return PlainTextResponse("", 404)
        sizes = {n: None if isinstance(c, dict) else len(c) for n, c in inside.items()}
        if request.method != "PROPFIND":
            return _page(sizes) if root == "/lista" else PlainTextResponse("", 405)
        if headers.get("depth") != "1":
            return PlainTextResponse("", 403)
        return _multistatus(f"{root}/{month}".rstrip("/"), sizes)

    def _zip(self, request: Request, month: str, name: str) -> Response:
        if request.method == "HEAD":
            return Response(headers={"content-length": str(len(self.months[month][name]))})
        wanted_range = request.headers.get("range")
        start, _, end = (wanted_range or "bytes=0-").removeprefix("bytes=").partition("-")
        fault = self.fault(name, int(start)) if not end else WELL
        content = self.months[month][name]  # which may have been replaced by now
        total = len(content)
        first, last = int(start), min(int(end) if end else total - 1, total - 1)
        if fault.status == 416 or (wanted_range and first >= total):
            return Response(status_code=416, headers={"content-range": f"bytes */{total}"})
        if fault.status is not None:
            return PlainTextResponse("", fault.status)
        if fault.flip_at is not None:
            at = min(fault.flip_at, total - 1)
            content = content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :]
        if not wanted_range or fault.whole:
            return Pieces(self, 200, content, fault, {})
        first = min(first + fault.shift, last)
        headers = {"content-range": f"bytes {first}-{last}/{total}"}
        return Pieces(self, 206, content[first : last + 1], fault, headers)


class Pieces(Response):
    """Sends a zip in chunks, until the fault occurs."""

    def __init__(
        self, share: Share, status: int, body: bytes, fault: Fault, headers: Mapping[str, str]
    ) -> None:
        super().__init__(status_code=status, headers=dict(headers))
        self._share, self._content, self._fault = share, body, fault
        self.raw_headers = [h for h in self.raw_headers if h[0] != b"content-length"]
        self.raw_headers.append((b"content-length", str(len(body)).encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ends = [at for at in (self._fault.cut_at, self._fault.stall_at) if at is not None]
        until = min(ends, default=len(self._content))
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        for at in range(0, min(until, len(self._content)), CHUNK_BYTES):
            piece = self._content[at : min(at + CHUNK_BYTES, until)]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if until < len(self._content):
            if self._fault.stall_at == until:
                await self._share.never()
            return  # the server closes the connection, since the body is incomplete
        await send({"type": "http.response.body", "body": b""})


def _multistatus(folder: str, sizes: Mapping[str, int | None]) -> Response:
    lines = [
        "<d:response><d:href>{}</d:href><d:propstat><d:prop>{}</d:prop>"
        "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>".format(
            escape(href),
            "<d:resourcetype><d:collection/></d:resourcetype>"
            if size is None
            else f"<d:getcontentlength>{size}</d:getcontentlength>",
        )
        for href, size in [
            (f"{folder}/", None),
            *((f"{folder}/{name}" + ("/" if s is None else ""), s) for name, s in sizes.items()),
        ]
    ]
    body = f'<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">{"".join(lines)}</d:multistatus>'
    return Response(body, 207, media_type="application/xml; charset=utf-8")


def _page(sizes: Mapping[str, int | None]) -> Response:
    links = [f'<a href="{n}{"/" if s is None else ""}">{n}</a>' for n, s in sizes.items()]
    return Response(f'<html><a href="../">..</a>{"".join(links)}</html>', media_type="text/html")


class InProcess(httpx2.AsyncBaseTransport):
    """A streaming transport to an application; breaks and stalls are raised at once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        messages: asyncio.Queue[Message | BaseException | None] = asyncio.Queue()
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "path": unquote(request.url.path),
            "raw_path": request.url.raw_path,
            "query_string": request.url.query,
            "root_path": "",
            "scheme": "https",
            "server": (request.url.host, 443),
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            messages.put_nowait(message)

        async def answer() -> None:
            try:
                await self._app(scope, receive, send)
                messages.put_nowait(None)
            except BaseException as error:
                messages.put_nowait(error)

        task = asyncio.ensure_future(answer())
        start = await messages.get()
        if not isinstance(start, dict):
            await task
            raise _as_network(start)

        async def body() -> AsyncIterator[bytes]:
            while True:
                message = await messages.get()
                if not isinstance(message, dict):
                    raise _as_network(message)
                if message["body"]:
                    yield message["body"]
                if not message.get("more_body", False):
                    await task
                    return

        return httpx2.Response(
            start["status"], headers=start["headers"], stream=_Streamed(body()), request=request
        )


class _Streamed(httpx2.AsyncByteStream):
    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces:
            yield piece


def _as_network(error: object) -> BaseException:
    """Return the error that httpx2's own transport would raise."""
    if isinstance(error, Stalled):
        return httpx2.ReadTimeout("nothing came")
    return error if isinstance(error, BaseException) else httpx2.RemoteProtocolError("cut")


@contextmanager
def served(share: Share, port: int = 0) -> Iterator[str]:
    """Serve the share on loopback, in a thread: `http://127.0.0.1:PORT`."""
    share.never = _stall_for_real
    config = uvicorn.Config(share.app, "127.0.0.1", port, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    sock = config.bind_socket()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([sock])), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        sock.close()


def read_months(folder: Path) -> dict[str, dict[str, bytes]]:
    """Return the zips of `folder/MONTH/` by month and name."""
    return {
        month.name: {file.name: file.read_bytes() for file in sorted(month.glob("*.zip"))}
        for month in sorted(folder.iterdir())
        if month.is_dir()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves months as the share does, on loopback.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8200)
    arguments = parser.parse_args()
    with served(Share(read_months(arguments.folder)), arguments.port) as address:
        text = f"share: {address}/index.php/s/{TOKEN}\nplain: {address}/lista/"
        print(text)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
