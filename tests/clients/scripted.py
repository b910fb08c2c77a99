"""A server with scripted responses that records its requests."""

import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A recorded request; names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    content: bytes


@dataclass
class Script:
    """The responses to send, in order, and the received requests.

    A response has `status`, `headers` and `body` (JSON) or `text`. `cut` closes the connection
    without a response, `half` in the middle of one; `silent` sends none while the client waits.
    """

    answers: Sequence[Mapping[str, Any]]
    asked: list[RecordedRequest] = field(default_factory=list)


class _ScriptedServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripts = scripts
        self.over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connections that clients have closed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _ScriptedServer

    def _answer(self) -> None:
        _, name, rest = self.path.split("/", 2)
        play = self.server.scripts[name]
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {key.lower(): value for key, value in self.headers.items()}
        play.asked.append(RecordedRequest(self.command, f"/{rest}", headers, content))
        turn = len(play.asked) - 1
        later: Mapping[str, Any] = {"status": 599}
        answer = play.answers[turn] if turn < len(play.answers) else later
        if answer.get("silent"):
            self.server.over.wait()
        if answer.get("cut") or answer.get("silent"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        text: str = answer.get("text", json.dumps(answer.get("body"), ensure_ascii=False))
        body = text.encode()
        self.send_response(answer["status"])
        self.send_header("Content-Length", str(len(body)))
        for header, value in answer.get("headers", {}).items():
            self.send_header(header, value)
        self.end_headers()
        if answer.get("half"):
            self.close_connection = True
            body = body[: len(body) // 2]
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 -- as http.server calls them

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve_scripts(scripts: Mapping[str, Script]) -> Iterator[str]:
    """Yield the address of a server with one script per first path segment."""
    server = _ScriptedServer(scripts)
    # The default checks for the end only twice a second.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
