"""Receipts' bytes in a bucket: requests to an S3-compatible store, and its failures."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from balcao.core.errors import StorageFailed
from balcao.core.receipts import digest_of
from balcao.storage.blobs import StoredBlobs, open_blobs

CONTENT = b"%PDF-1.7 um recibo"
DIGEST = digest_of(CONTENT)
KEY = f"/cofre/recibos/{DIGEST[:2]}/{DIGEST}"


class Bucket(ThreadingHTTPServer):
    """A minimal S3 server, without signatures."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.fails_with = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Bucket

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.begun():
            self.server.objects[self.path] = content
            self.answer(200)

    def do_GET(self) -> None:
        if not self.begun():
            return
        if "list-type=2" in self.path:
            self.answer(200, self.listing().encode())
        elif self.path in self.server.objects:
            self.answer(200, self.server.objects[self.path])
        else:
            self.answer(404)

    def do_POST(self) -> None:
        wanted = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.begun():
            assert self.path.endswith("?delete")
            (key,) = re.findall("<Key>([^<]+)</Key>", wanted)
            self.server.objects.pop(f"/cofre/{key}", None)
            deleted = f"<DeleteResult><Deleted><Key>{key}</Key></Deleted></DeleteResult>"
            self.answer(200, deleted.encode())

    def begun(self) -> bool:
        self.server.requests.append(f"{self.command} {self.path.partition('?')[0]}")
        if self.server.fails_with:
            self.answer(self.server.fails_with)
        return not self.server.fails_with

    def listing(self) -> str:
        objects = "".join(
            f"<Contents><Key>{path.removeprefix('/cofre/')}</Key><Size>{len(content)}</Size>"
            '<LastModified>2026-08-05T12:00:00.000Z</LastModified><ETag>"x"</ETag></Contents>'
            for path, content in self.server.objects.items()
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>"

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Wed, 05 Aug 2026 12:00:00 GMT")
        self.send_header("ETag", '"x"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Ignore the log."""


@contextmanager
def serving() -> Iterator[Bucket]:
    bucket = Bucket()
    thread = threading.Thread(target=bucket.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield bucket
    finally:
        bucket.shutdown()
        thread.join()
        bucket.server_close()


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with serving() as bucket:
        yield bucket


@pytest.fixture
def blobs(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> StoredBlobs:
    monkeypatch.setenv("AWS_ENDPOINT", bucket.address)
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    return open_blobs("s3://cofre/recibos")


async def all_names(blobs: StoredBlobs, before_ms: int) -> list[str]:
    return [name async for page in blobs.names(before_ms) for name in page]


def test_a_receipt_is_one_object_in_one_request(bucket: Bucket, blobs: StoredBlobs) -> None:
    assert asyncio.run(blobs.get(DIGEST)) is None
    asyncio.run(blobs.put(DIGEST, CONTENT))
    assert bucket.objects == {KEY: CONTENT}
    assert asyncio.run(blobs.get(DIGEST)) == CONTENT
    asyncio.run(blobs.delete(DIGEST))
    assert bucket.objects == {}
    assert bucket.requests == [f"GET {KEY}", f"PUT {KEY}", f"GET {KEY}", "POST /cofre"]


def test_a_large_one_too(bucket: Bucket, blobs: StoredBlobs) -> None:
    large = b"x" * 9_999_999
    asyncio.run(blobs.put(digest_of(large), large))
    assert len(bucket.requests) == 1
    assert asyncio.run(blobs.get(digest_of(large))) == large


def test_changed_bytes_in_the_bucket_are_detected(bucket: Bucket, blobs: StoredBlobs) -> None:
    asyncio.run(blobs.put(DIGEST, CONTENT))
    bucket.objects[KEY] = CONTENT + b"?"
    assert asyncio.run(blobs.get(DIGEST)) is None


def test_names_are_listed_without_their_folder(bucket: Bucket, blobs: StoredBlobs) -> None:
    asyncio.run(blobs.put(DIGEST, CONTENT))
    bucket.objects["/cofre/recibos/LEIAME"] = b"not ours"
    noon_ms = 1_785_931_200_000
    assert asyncio.run(all_names(blobs, noon_ms + 1)) == [DIGEST]
    assert asyncio.run(all_names(blobs, noon_ms)) == []


@pytest.mark.parametrize("status", [400, 401, 403, 500, 503])
def test_a_store_that_refuses_or_fails_is_reported(
    bucket: Bucket, blobs: StoredBlobs, status: int
) -> None:
    bucket.fails_with = status
    with pytest.raises(StorageFailed):
        asyncio.run(blobs.put(DIGEST, CONTENT))
    with pytest.raises(StorageFailed):
        asyncio.run(blobs.get(DIGEST))
    with pytest.raises(StorageFailed):
        asyncio.run(blobs.delete(DIGEST))
    with pytest.raises(StorageFailed):
        asyncio.run(all_names(blobs, 1))
    assert len(bucket.requests) <= 12, "the wait is bounded"


def test_a_missing_store_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as gone:
        address = gone.address
    monkeypatch.setenv("AWS_ENDPOINT", address)
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    blobs = open_blobs("s3://cofre")
    with pytest.raises(StorageFailed):
        asyncio.run(blobs.put(DIGEST, CONTENT))
