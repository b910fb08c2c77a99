"""What `balcao doctor` finds in the database, in the folder or elsewhere, and in its books."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw

from balcao.cli.failures import explain
from balcao.cli.findings import Finding
from balcao.cli.output import apart_text, program, whole
from balcao.core.clock import SMALL_MS
from balcao.errors import PepperDiffers
from balcao.home import PEPPER_BYTES, Home
from balcao.service.clock import system_now_ms
from balcao.settings import Settings
from balcao.storage.contract import LedgerCheck
from balcao.storage.moved import IN_POSTGRESQL, IN_SQLITE, check_here
from balcao.storage.shared.check import check_books
from balcao.storage.shared.pepper import may_be_pepper
from balcao.storage.sqlite.files import connect, migrate

if TYPE_CHECKING:
    import psycopg

# What nodes and database say of one moment is compared by people: in logs, in statements.
CLOCK_SECONDS_MAX = 2.0


def database(settings: Settings, home: Home) -> Iterator[Finding]:
    """Whether it opens, its schema, whose keys these are, and its books. Changes nothing.

    Raises what an engine raises, and `StorageMoved` or `StorageIncomplete` when the data are
    elsewhere.
    """
    # Without one, or with half of one, `_secret` has said so.
    whole_secret = home.secret.is_file() and home.secret.stat().st_size == PEPPER_BYTES
    pepper = home.pepper() if whole_secret else None
    if address := settings.database.get_secret_value():
        yield from _postgresql(address, pepper)
        return
    if not home.desk.is_file():
        yield Finding("banco de dados", "warn", f"ainda não existe; {program()} serve o cria")
        return
    with closing(connect(home.desk, synchronous="FULL")) as connection:
        check_here(connection, catalogue=IN_SQLITE)
        has, newest = _schema(connection), _newest_schema()
        yield _schema_found(has, newest, "", "a próxima partida")
        if has != newest:
            return
        yield from _pepper_found(connection, pepper)
        yield from _clock_of_books(connection)
        yield from _books_found(check_books(connection, "BEGIN"))


def _postgresql(address: str, pepper: bytes | None) -> Iterator[Finding]:
    """The same of one that is elsewhere. `pepper`: this folder's, if it has one."""
    from balcao.storage.postgresql.connections import opened_to_add_up
    from balcao.storage.postgresql.schema import newest_version, version

    with opened_to_add_up(address) as connection:
        yield _clock(connection)
        check_here(connection, catalogue=IN_POSTGRESQL)
        has, newest = version(connection, "desk"), newest_version("desk")
        server = connection.info.server_version // 10_000
        yield _schema_found(has, newest, f"PostgreSQL {server}", f"{program()} serve")
        if has != newest:
            return
        yield from _pepper_found(connection, pepper)
        yield from _books_found(
            check_books(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        )


def _clock(connection: "psycopg.Connection[Any]") -> Finding:
    """Its clock was read at some moment between asking and hearing: that much is not known."""
    began, before_ms = time.monotonic(), system_now_ms()
    row = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row is not None
    took_seconds = time.monotonic() - began
    ahead = before_ms / 1000 + took_seconds / 2 - float(row[0])
    if abs(ahead) <= CLOCK_SECONDS_MAX + took_seconds / 2:
        return Finding("relógio do banco de dados", "ok", "de acordo com o desta máquina")
    off = abs(ahead) * 1000 > SMALL_MS
    return Finding(
        "relógio do banco de dados",
        "fail" if off else "warn",
        f"o desta máquina está {apart_text(ahead)} em relação a ele: acerte os dois (NTP)"
        + ("; até lá, este nó não se diz pronto" if off else ""),
    )


def _pepper_found(connection: Any, pepper: bytes | None) -> Iterator[Finding]:
    """Whether the keys of a database with our schema are of another folder's secret."""
    if pepper is not None and not may_be_pepper(connection, pepper):
        yield Finding("segredo das chaves", "fail", explain(PepperDiffers()) or "")


def _books_found(books: LedgerCheck) -> Iterator[Finding]:
    """Whether the books agree."""
    for complaint in books.complaints:
        yield Finding("livro de créditos", "fail", complaint)
    if not books.complaints:
        yield Finding(
            "livro de créditos",
            "ok",
            f"confere: {whole(books.accounts)} contas, {whole(books.entries)} lançamentos",
        )


def _schema_found(has: int, newest: int, where: str, whoever: str) -> Finding:
    """Of versions; `whoever` brings an older one to the newest."""
    if has > newest:
        text = f"versão {has} do esquema, e este programa conhece até a {newest}: atualize-o"
        return Finding("banco de dados", "fail", text)
    if has < newest:
        before = f"{where}, " if where else ""
        text = f"{before}versão {has} do esquema; {whoever} o leva à {newest}"
        return Finding("banco de dados", "warn", text)
    return Finding("banco de dados", "ok", f"{where or 'abre'}; versão {has} do esquema")


def _clock_of_books(connection: apsw.Connection) -> Iterator[Finding]:
    """Whether this machine's clock is before what was committed last: one of them was wrong."""
    latest: Any = connection.execute("SELECT at_ms FROM heartbeat").get
    behind_ms = 0 if latest is None else latest - system_now_ms()
    if behind_ms > SMALL_MS:
        yield Finding(
            "relógio e livro",
            "warn",
            f"o relógio desta máquina está {apart_text(-behind_ms / 1000)} em relação ao último"
            " lançamento: acerte-o (NTP), se é ele que está errado",
        )


def _schema(connection: apsw.Connection) -> int:
    return int(str(connection.execute("PRAGMA user_version").get))


def _newest_schema() -> int:
    with closing(apsw.Connection(":memory:")) as fresh:
        migrate(fresh, "desk")
        return _schema(fresh)
