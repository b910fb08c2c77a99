"""The data of a release, and what it answered then.

    tests/releases/1.0.0/
        folder.tar.gz      a data folder with SQLite, after its service has ended
        postgresql.sql.gz  the same desk and caches on PostgreSQL: a plain dump
        answers.json       requests with their answers, the instant, and the keys (of test accounts)

`python -m tests.releases.make` makes them for the present version. They never change afterwards.
"""

import csv
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import psycopg
from pydantic import SecretStr

from balcao.core.clock import ClockReading
from balcao.home import Home
from balcao.settings import Limits, Settings
from tests.service import Client, Reply, Service, StandingClock

RELEASES = Path(__file__).parent
FOLDER, DUMP, ANSWERS = "folder.tar.gz", "postgresql.sql.gz", "answers.json"

# Of an answer. The number of a request that was not repeated is another one each time.
_TABLES = ("text/csv", "application/x-ndjson")
_HEADERS = ("content-type", "x-creditos-cobrados", "idempotent-replayed")


class RecordedClock(StandingClock):
    """A clock that stands at the instant of the recording, whatever the database's clock is."""

    def begin(self, database: ClockReading | None, ledger_ms: int | None) -> bool:
        return False


class Recorded(TypedDict):
    """A request and its answer. Bytes that are not text are recorded by their SHA-256."""

    key: str
    path: str
    idempotency_key: NotRequired[str]
    status: int
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Archive:
    """The files of one release."""

    folder: Path

    @property
    def record(self) -> Any:
        """The recorded instant, keys and answers."""
        return json.loads((self.folder / ANSWERS).read_text("utf-8"))

    def unpack(self, home: Path) -> None:
        """Put the data folder in place."""
        with tarfile.open(self.folder / FOLDER) as tar:
            tar.extractall(home, filter="data")

    def load(self, address: str) -> None:
        """Load the dump into an empty database."""
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(gzip.decompress((self.folder / DUMP).read_bytes()))

    def remove_files_of_sqlite(self, home: Path) -> None:
        """Leave what a node on PostgreSQL has in its folder."""
        Home(home).desk.unlink()
        for mode in ("live", "test"):
            Home(home).cache(mode).unlink()


def archives() -> Sequence[Archive]:
    """Return the archives of all releases, oldest first."""
    found = [path.parent for path in RELEASES.glob(f"*/{ANSWERS}")]
    return [
        Archive(folder)
        for folder in sorted(found, key=lambda path: [*map(int, path.name.split("."))])
    ]


@contextmanager
def serving(home: Path, at_ms: int, address: str = "") -> Iterator[Service]:
    """Serve a data folder of test accounts at this instant."""
    settings = Settings.model_construct(
        home=home,
        database=SecretStr(address),
        log_format="json",
        limits_pre_pago=Limits(per_minute=100_000, per_day=1_000_000),
        disk_reserve_mb=0,
        backup_every_hours=0,
    )
    service = Service(
        settings,
        mode="test",
        clock=RecordedClock(at_ms),
        transport=None,
        sources=None,
        issued={},
    )
    try:
        service.start()
        yield service
    finally:
        service.close()


def answer(service: Service, keys: Mapping[str, str], request: Mapping[str, Any]) -> Recorded:
    """Send a recorded request again; return it with the present answer."""
    headers = {}
    if (idempotency_key := request.get("idempotency_key")) is not None:
        headers["idempotency_key"] = idempotency_key
    reply = service.get(request["path"], Client(0, 0, keys[request["key"]]), **headers)
    recorded = Recorded(
        key=request["key"],
        path=request["path"],
        status=reply.status,
        headers={name: reply.headers[name] for name in _HEADERS if name in reply.headers},
        body=_body(reply),
    )
    if idempotency_key is not None:
        recorded["idempotency_key"] = idempotency_key
    return recorded


def has_all_of(recorded: Any, present: Any) -> bool:
    """Return whether an answer has everything that was recorded; later releases may add fields."""
    if isinstance(recorded, dict) and isinstance(present, dict):
        return all(
            name in present and has_all_of(value, present[name]) for name, value in recorded.items()
        )
    if isinstance(recorded, list) and isinstance(present, list):
        return len(recorded) == len(present) and all(map(has_all_of, recorded, present))
    return bool(recorded == present)


def _body(reply: Reply) -> Any:
    kind = reply.headers.get("content-type", "")
    if kind.startswith("application/json"):
        body = reply.json
        if "idempotent-replayed" not in reply.headers:
            body.pop("request_id", None)
        return body
    text = reply.body.decode("utf-8-sig") if kind.startswith(_TABLES) else ""
    if kind.startswith("text/csv"):
        return list(csv.DictReader(io.StringIO(text), delimiter=";"))
    if kind.startswith("application/x-ndjson"):
        return [json.loads(line) for line in text.splitlines()]
    return hashlib.sha256(reply.body).hexdigest()
