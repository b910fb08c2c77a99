"""What `balcao doctor` finds in a database that is elsewhere, and in any books."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from balcao.cli.failures import explain
from balcao.cli.findings import Finding
from balcao.cli.output import apart_text, program, whole
from balcao.core.clock import SMALL_MS
from balcao.errors import PepperDiffers
from balcao.service.clock import system_now_ms
from balcao.storage.contract import LedgerCheck
from balcao.storage.moved import check_here

if TYPE_CHECKING:
    import psycopg

# What nodes and database say of one moment is compared by people: in logs, in statements.
CLOCK_SECONDS_MAX = 2.0


def postgresql(address: str, pepper: bytes | None) -> Iterator[Finding]:
    """Whether it answers, its schema, whose keys these are, and its books. Changes nothing.

    `pepper`: this folder's, if it has one. Raises `StorageFailed`, and `StorageMoved` or
    `StorageIncomplete` when the data are elsewhere.
    """
    from balcao.storage.desk.check import check_books
    from balcao.storage.postgresql import QUERIES
    from balcao.storage.postgresql.connections import opened_to_add_up
    from balcao.storage.postgresql.schema import newest_version, version

    with opened_to_add_up(address) as line, line.guarded() as connection:
        yield _clock(connection)
        check_here(connection, QUERIES)
        has, newest = version(connection, "desk"), newest_version("desk")
        server = connection.info.server_version // 10_000
        if has > newest:
            yield Finding(
                "banco de dados",
                "fail",
                f"versão {has} do esquema, e este programa conhece até a {newest}: atualize-o",
            )
            return
        if has < newest:
            yield Finding(
                "banco de dados",
                "warn",
                f"PostgreSQL {server}, versão {has} do esquema; {program()} serve o leva à"
                f" {newest}",
            )
            return
        yield Finding("banco de dados", "ok", f"PostgreSQL {server}; versão {has} do esquema")
        yield from pepper_found(connection, pepper)
        yield from books_found(check_books(line))


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


def pepper_found(connection: Any, pepper: bytes | None) -> Iterator[Finding]:
    """Whether the keys of a database with our schema are of another folder's secret."""
    from balcao.storage.pepper import may_be_pepper

    if pepper is not None and not may_be_pepper(connection, pepper):
        yield Finding("segredo das chaves", "fail", explain(PepperDiffers()) or "")


def books_found(books: LedgerCheck) -> Iterator[Finding]:
    """Whether the books agree."""
    for complaint in books.complaints:
        yield Finding("livro de créditos", "fail", complaint)
    if not books.complaints:
        yield Finding(
            "livro de créditos",
            "ok",
            f"confere: {whole(books.accounts)} contas, {whole(books.entries)} lançamentos",
        )
