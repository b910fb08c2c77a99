"""Receipts in a bucket of a real server: settings, failures, and a whole service with it.

The contract tests of every store run on it in `test_blobs`; the requests on the wire are tested in
`test_blobs_elsewhere`.
"""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from balcao.core.errors import StorageFailed
from balcao.core.receipts import digest_of
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.storage import blobs as blobs_module
from balcao.storage.blobs import StoredBlobs, open_blobs
from tests.records import federal_of, state_of
from tests.service import assert_refused, open_service
from tests.storage import bucket, postgres
from tests.storage.bucket import Server
from tests.test_receipt_keeping import purge

CNPJ = "90010001000100"
CONTENT = b"%PDF-1.7 um recibo"
DIGEST = digest_of(CONTENT)
FOR_EVER_MS = 1 << 42


@pytest.fixture
def prefix() -> str:
    return f"casa-{os.urandom(4).hex()}/recibos"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = bucket.server()
    bucket.name_in_environment(monkeypatch, server)
    return server


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A bucket that can be stopped."""
    server = Server()
    bucket.name_in_environment(monkeypatch, server)
    yield server
    server.remove()


@pytest.fixture
def blobs(server: Server, prefix: str) -> StoredBlobs:
    return open_blobs(f"s3://{bucket.NAME}/{prefix}")


def names(blobs: StoredBlobs) -> list[str]:
    async def work() -> list[str]:
        return [name async for page in blobs.names(FOR_EVER_MS) for name in page]

    return sorted(asyncio.run(work()))


def refusals(blobs: StoredBlobs) -> list[str]:
    """Return the error of each operation of a store, all of which fail."""

    async def work() -> list[str]:
        said = []
        for deed in (blobs.put(DIGEST, CONTENT), blobs.get(DIGEST), blobs.probe()):
            with pytest.raises(StorageFailed) as refused:
                await deed
            said.append(refused.value.detail)
        with pytest.raises(StorageFailed) as refused:
            async for _ in blobs.names(FOR_EVER_MS):
                pass
        return [*said, refused.value.detail]

    return asyncio.run(work())


def test_a_receipt_is_stored_under_the_prefix(
    server: Server, blobs: StoredBlobs, prefix: str
) -> None:
    asyncio.run(blobs.put(DIGEST, CONTENT))
    assert f"{prefix}/{DIGEST[:2]}/{DIGEST}" in server.names()
    asyncio.run(blobs.delete(DIGEST))
    assert not [name for name in server.names() if name.startswith(prefix)]


def test_objects_outside_the_prefix_are_ignored(
    server: Server, blobs: StoredBlobs, prefix: str
) -> None:
    asyncio.run(blobs.put(DIGEST, CONTENT))
    others = digest_of(b"de outra casa")
    server.change(f"{prefix}-2/{others[:2]}/{others}", b"de outra casa")
    server.change(f"{prefix}/LEIAME", b"de ninguem")
    assert names(blobs) == [DIGEST]
    assert asyncio.run(blobs.get(others)) is None


@pytest.mark.parametrize("address", [f"s3://{bucket.NAME}", f"s3://{bucket.NAME}/"])
def test_a_bucket_without_a_prefix(server: Server, address: str) -> None:
    blobs = open_blobs(address)
    asyncio.run(blobs.put(DIGEST, CONTENT))
    assert f"{DIGEST[:2]}/{DIGEST}" in server.names()
    assert asyncio.run(blobs.get(DIGEST)) == CONTENT
    asyncio.run(blobs.delete(DIGEST))


def test_names_of_more_than_one_page(blobs: StoredBlobs) -> None:
    """S3 lists a thousand at a time."""
    contents = [str(number).encode() for number in range(1_001)]

    async def work() -> None:
        for start in range(0, len(contents), 50):
            some = contents[start : start + 50]
            await asyncio.gather(*(blobs.put(digest_of(one), one) for one in some))

    asyncio.run(work())
    assert names(blobs) == sorted(digest_of(content) for content in contents)


@pytest.mark.parametrize(
    "wrong_variable",
    [
        ("AWS_SECRET_ACCESS_KEY", "SignatureDoesNotMatch"),
        ("AWS_ACCESS_KEY_ID", "InvalidAccessKeyId"),
    ],
)
def test_wrong_credentials(
    server: Server,
    prefix: str,
    wrong_variable: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    variable, code = wrong_variable
    wrong = "abre-te-sesamo"
    monkeypatch.setenv(variable, wrong)
    said = refusals(open_blobs(f"s3://{bucket.NAME}/{prefix}"))
    assert all(code in detail for detail in said), said
    assert not [name for name in server.names() if name.startswith(prefix)]
    told = "\n".join([*said, *(record.getMessage() for record in caplog.records)])
    for secret in (wrong, *server.environment.values(), DIGEST):
        assert secret not in told


def test_a_missing_bucket_is_not_a_missing_receipt(server: Server, prefix: str) -> None:
    said = refusals(open_blobs(f"s3://nao-existe/{prefix}"))
    assert all("NoSuchBucket" in detail for detail in said), said


def test_a_probe_leaves_nothing(server: Server, blobs: StoredBlobs, prefix: str) -> None:
    asyncio.run(blobs.put(DIGEST, CONTENT))
    asyncio.run(blobs.probe())
    assert [name for name in server.names() if name.startswith(prefix)] == [
        f"{prefix}/{DIGEST[:2]}/{DIGEST}"
    ]


def test_a_server_that_stops_answering(
    own_server: Server, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs_module, "REQUEST_SECONDS", 1)
    blobs = open_blobs(f"s3://{bucket.NAME}/{prefix}")
    asyncio.run(blobs.put(DIGEST, CONTENT))
    own_server.process.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        refusals(blobs)
        # Seven requests of a second each, repeated twice at most.
        assert time.monotonic() - began < 60
    finally:
        own_server.process.send_signal(signal.SIGCONT)
    assert asyncio.run(blobs.get(DIGEST)) == CONTENT


def test_a_service_with_receipts_in_a_bucket(server: Server, prefix: str, tmp_path: Path) -> None:
    """A certificate, its receipt, and the deletion of that."""
    where = f"s3://{bucket.NAME}/{prefix}"
    with open_service(tmp_path, receipts=where) as house:
        addresses = [house.get(path).json["print"] for path in (federal_of(CNPJ), state_of(CNPJ))]
        kept = [name for name in server.names() if name.startswith(prefix)]
        assert len(kept) == 2
        for address in addresses:
            assert house.get(address).raw.startswith(b"%PDF")
        assert not Home(tmp_path).receipts.exists()

        purging = purge(house.desk, open_blobs(where), system_now_ms() + 1)
        assert house.run(purging) == 2
        assert not [name for name in server.names() if name.startswith(prefix)]
        assert [house.get(address).status for address in addresses] == [404, 404]
        house.assert_books_agree()


def test_a_service_with_an_unreachable_bucket(
    own_server: Server, prefix: str, tmp_path: Path
) -> None:
    """A certificate without its receipt is returned; a download fails and can be repeated."""
    where = f"s3://{bucket.NAME}/{prefix}"
    with open_service(tmp_path, receipts=where) as house:
        address = house.get(federal_of(CNPJ)).json["print"]
        own_server.stop()
        began = time.monotonic()
        certificate = house.get(state_of(CNPJ))
        assert (certificate.status, certificate.json["print"]) == (200, None)
        answer = house.get(address)
        assert_refused(answer, 503, "SERVICO_INDISPONIVEL")
        assert time.monotonic() - began < 60
        house.assert_books_agree()


def test_two_nodes_share_a_bucket(server: Server, prefix: str, tmp_path: Path) -> None:
    address = postgres.new_address()
    settings: dict[str, Any] = {
        "database": SecretStr(address),
        "receipts": f"s3://{bucket.NAME}/{prefix}",
    }
    (tmp_path / "b").mkdir(mode=0o700)
    with open_service(tmp_path / "a", **settings) as one:
        shutil.copy(tmp_path / "a" / "secret.key", tmp_path / "b" / "secret.key")
        with open_service(tmp_path / "b", name="bia", **settings) as other:
            prints = [one.get(path).json["print"] for path in (federal_of(CNPJ), state_of(CNPJ))]
            there = [other.get(path, one.client) for path in prints]
            assert [answer.status for answer in there] == [200, 200]
            assert [one.get(path).raw for path in prints] == [answer.raw for answer in there]
            mine = one.get(federal_of(CNPJ, "cache_strategy=SO_ONLINE"), one.client).json["print"]
            theirs = other.get(federal_of(CNPJ, "cache_strategy=SO_ONLINE")).json["print"]
            assert one.get(theirs, other.client).raw == other.get(mine, one.client).raw
    postgres.server().drop_database(address)
