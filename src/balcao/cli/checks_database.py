"""What `balcao doctor` finds in a database that is elsewhere, and in any books."""

from collections.abc import Iterator

from balcao.cli.findings import Finding
from balcao.cli.output import program, whole
from balcao.storage.contract import LedgerCheck


def postgresql(address: str) -> Iterator[Finding]:
    """Whether it answers, its schema, and its books. Changes nothing. Raises `StorageFailed`."""
    from balcao.storage.postgresql.connections import opened_apart
    from balcao.storage.postgresql.schema import newest_version, version
    from balcao.storage.shared.check import check_books

    with opened_apart(address) as line, line.guarded() as connection:
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
        yield from books_found(
            check_books(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        )


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
