"""Facts about a PostgreSQL server that `balcao doctor` reads."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from tempfile import TemporaryDirectory

import psycopg
import pytest

from balcao.core.database_server import ServerFacts
from balcao.storage.postgresql.inspection import inspect_desk
from tests.storage import postgres


class TransactionPooler:
    """A pooler as PgBouncer is with `pool_mode = transaction`, on a Unix socket."""

    def __init__(self, folder: str, server: str, database: str) -> None:
        self._server, self._database = server, database
        self._idle: list[socket.socket] = []
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{folder}/.s.PGSQL.5432")
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self._listener, *self._open):
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _connected(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server)
        self._open.append(server)
        words = f"user\0postgres\0database\0{self._database}\0\0".encode()
        server.sendall(struct.pack("!ii", 8 + len(words), 196_608) + words)
        while self._message(server)[0] != ord("Z"):
            pass
        return server

    def _serve(self, client: socket.socket) -> None:
        with closing(client), suppress(OSError):
            (size,) = struct.unpack("!i", self._bytes(client, 4))
            self._bytes(client, size - 4)
            said = {
                "server_version": "15.0",
                "client_encoding": "UTF8",
                "standard_conforming_strings": "on",
                "in_hot_standby": "off",
                "default_transaction_read_only": "off",
            }
            client.sendall(b"R" + struct.pack("!ii", 8, 0))
            for name, value in said.items():
                pair = f"{name}\0{value}\0".encode()
                client.sendall(b"S" + struct.pack("!i", 4 + len(pair)) + pair)
            client.sendall(b"K" + struct.pack("!iii", 12, 1, 1))
            client.sendall(b"Z" + struct.pack("!i", 5) + b"I")
            server: socket.socket | None = None
            while True:
                message = self._message(client)
                if message[0] == ord("X"):
                    return
                if server is None:
                    server = self._idle.pop() if self._idle else self._connected()
                server.sendall(message)
                if message[0] not in b"QS":
                    continue
                while (answer := self._message(server))[0] != ord("Z"):
                    client.sendall(answer)
                if answer.endswith(b"I"):
                    self._idle.append(server)
                    server = None
                client.sendall(answer)

    def _message(self, end: socket.socket) -> bytes:
        head = self._bytes(end, 5)
        return head + self._bytes(end, struct.unpack("!i", head[1:])[0] - 4)

    def _bytes(self, end: socket.socket, count: int) -> bytes:
        found = b""
        while len(found) < count:
            if not (more := end.recv(count - len(found))):
                raise OSError
            found += more
        return found


@pytest.fixture
def address() -> Iterator[str]:
    address = postgres.new_address()
    yield address
    postgres.server().drop_database(address)


def facts(address: str) -> ServerFacts:
    with inspect_desk(address) as look:
        return look.server_facts()


def test_the_settings_of_this_server(address: str) -> None:
    seen = facts(address)
    assert (seen.fsync, seen.full_page_writes, seen.synchronous_commit) == (False, False, "on")
    assert (seen.standby_names, seen.standbys, seen.waiting_commits) == ("", 0, 0)
    assert seen.version >= 14
    assert seen.connections_max == 297
    assert not seen.pools_transactions


def test_the_limits_of_role_and_database(address: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
    postgres.server().admin(f"ALTER DATABASE {name} CONNECTION LIMIT 20")
    assert facts(address).connections_max == 20
    postgres.server().admin("CREATE ROLE few LOGIN SUPERUSER CONNECTION LIMIT 9")
    postgres.server().admin("ALTER ROLE few SET synchronous_commit = 'local'")
    try:
        seen = facts(address.replace("postgres@", "few@"))
        assert (seen.connections_max, seen.synchronous_commit) == (9, "local")
    finally:
        postgres.server().admin("DROP ROLE few")


def test_a_pooler_of_transactions_is_recognised(address: str) -> None:
    found = psycopg.conninfo.conninfo_to_dict(address)
    with TemporaryDirectory(prefix="balcao-pool-") as folder:
        pooler = TransactionPooler(folder, f"{found['host']}/.s.PGSQL.5432", str(found["dbname"]))
        with closing(pooler):
            assert facts(address.replace(str(found["host"]), folder)).pools_transactions
