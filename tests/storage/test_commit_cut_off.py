"""A commit whose connection breaks anywhere in the exchange: the reported outcome is true."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

import psycopg
import pytest

from balcao.core.access import Account
from balcao.core.errors import StorageFailed
from balcao.storage.postgresql import connections, writer
from balcao.storage.postgresql.desk import PostgresDesk
from tests.storage.engines import PostgresEngine
from tests.storage.world import a_bind, a_charge, a_hold, balance, charged, open_account

Way: TypeAlias = Literal["there", "back"]

# Every byte would take half a minute; these steps still cover every message of the protocol.
STEP = 31


class Cutter:
    """A proxy before the database that ends a connection after so many bytes in one direction."""

    def __init__(self, folder: str, database: str) -> None:
        self._database = database
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{folder}/.s.PGSQL.5432")
        self._listener.listen()
        self._armed: tuple[Way, int] | None = None
        self._left = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, way: Way, after: int) -> None:
        """Cut off the first connection that sends so many bytes in this direction, once."""
        self._left, self._armed = after, (way, after)

    def has_cut(self) -> bool:
        """Return whether a connection was cut off, and disable the cut."""
        armed, self._armed = self._armed, None
        return armed is None

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                node, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(node,), daemon=True).start()

    def _carry(self, node: socket.socket) -> None:
        with closing(node), socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(self._database)
            while True:
                for end in select.select([node, server], [], [])[0]:
                    data = end.recv(65_536)
                    if not data:
                        return
                    way: Way = "there" if end is node else "back"
                    other = server if end is node else node
                    if self._armed is not None and self._armed[0] == way:
                        self._left -= len(data)
                        if self._left <= 0:
                            self._armed = None
                            other.sendall(data[: len(data) + self._left])
                            return
                    other.sendall(data)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[PostgresEngine]:
    engine = PostgresEngine(tmp_path)
    yield engine
    engine.close()


@pytest.fixture
def folder() -> Iterator[str]:
    """Return a short path, since paths of sockets are limited."""
    with TemporaryDirectory(prefix="balcao-cut-") as folder:
        yield folder


@pytest.fixture
def cutter(engine: PostgresEngine, folder: str) -> Iterator[Cutter]:
    host = psycopg.conninfo.conninfo_to_dict(engine.address)["host"]
    with closing(Cutter(folder, f"{host}/.s.PGSQL.5432")) as cutter:
        yield cutter


@pytest.fixture
def desk(
    engine: PostgresEngine, cutter: Cutter, folder: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PostgresDesk]:
    """A desk whose connections all pass through the proxy; only its writer is used."""
    monkeypatch.setattr(connections, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(writer, "OUTCOME_EVERY_SECONDS", 0.02)
    name = psycopg.conninfo.conninfo_to_dict(engine.address)["dbname"]
    address = f"postgresql://postgres@/{name}?host={folder}"
    desk = PostgresDesk(address, observe_batch=engine.batches().append)
    desk.engine._workers["writer"]._on_idle = lambda: None
    yield desk
    desk.close()


@pytest.mark.parametrize("way", ["there", "back"])
@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "first"])
def test_the_reported_outcome_of_an_interrupted_commit_is_true(
    engine: PostgresEngine, desk: PostgresDesk, cutter: Cutter, way: Way, prepared: bool
) -> None:
    here = engine.open()
    ana = open_account(engine, here, "ana", credits=10_000)
    told: dict[str, bool] = {}
    after, was_cut = 1, True
    while was_cut:
        if prepared:
            told[f"before-{after}"] = committed(engine, desk, ana, f"before-{after}")
        else:
            desk.engine._writing.drop()
            desk.engine._writing.get()
        cutter.cut(way, after)
        told[f"cut-{after}"] = committed(engine, desk, ana, f"cut-{after}")
        was_cut = cutter.has_cut()
        after += STEP
    kept = {name for name in told if told[name]}
    assert len(kept) > 10
    assert charged(here, ana) == dict.fromkeys(kept, 1)
    assert balance(here, ana).held == len(kept)
    assert here.check().complaints == []


def committed(engine: PostgresEngine, desk: PostgresDesk, ana: Account, name: str) -> bool:
    """Commit two lists together, and return whether they were reported as kept."""
    hold, bind = a_hold(ana, f"{name}-held"), a_bind(ana, f"{name}-key", f"{name}-held")
    outcomes = engine.together(desk, [a_charge(ana, name)], [hold, bind])
    if outcomes == [None, None]:
        return True
    for outcome in outcomes:
        assert type(outcome) is StorageFailed
    return False
