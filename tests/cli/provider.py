"""A provider for `doctor --online`."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer


@contextmanager
def a_provider(
    answer: object, *, status: int = 200, dates: Sequence[str] | None = None
) -> Iterator[str]:
    """Serve one answer for every request; without `dates` with the current time."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answer).encode()
            self.send_response_only(status)
            right = [format_datetime(datetime.now(UTC), usegmt=True)]
            for date in right if dates is None else dates:
                self.send_header("date", date)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
