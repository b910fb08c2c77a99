"""The answer of a lookup in a terminal: as its own page shows it, in words and tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer
from markupsafe import Markup

from balcao.cli.asking import ServiceReply
from balcao.cli.output import print_pairs, print_table, print_text
from balcao.core.ledger import Trace
from balcao.core.writing import credits
from balcao.operations.contract import Operation
from balcao.operations.envelope import code_told
from balcao.operations.views import Fact, RecordedResult, told

if TYPE_CHECKING:
    from balcao.core.extensions import Extension

OK = 200
_FIRST_REFUSAL = 400
_SECOND_MS = 1000

# Of the command, by the status of the answer; others are the source's or the service's failure.
_EXIT_CODES: Mapping[int, int] = {
    400: 2, 401: 3, 403: 3, 402: 4, 404: 5, 410: 5, 409: 6, 429: 6,
}  # fmt: skip
_FAILED = 7


def exit_code(said: ServiceReply) -> int:
    """0: there is a result. Raises `CommandFailed` where the answer is none of ours."""
    if said.status < _FIRST_REFUSAL:
        return _FAILED if said.json["error"] else 0
    return _EXIT_CODES.get(said.status, _FAILED)


def print_told(
    operation: Operation,
    document: str,
    uf: str | None,
    said: ServiceReply,
    *,
    now_ms: int,
    acts: "Sequence[Extension]" = (),
) -> None:
    """The result with its charge on stdout; why there is none, on stderr.

    `acts`: that extend certificates, as far as they are known here.
    """
    body = said.json
    code = code_told(said.body) or (None if "success" in body else "?")
    if code is not None:
        message = body.get("message") or (body.get("error_message") or {}).get("message") or ""
        typer.echo(f"erro: {message or f'código HTTP {said.status}'} ({code})", err=True)
        if wait := said.headers.get("retry-after"):
            typer.echo(f"Repita em {wait} s.", err=True)
        typer.echo(_charge(said), err=True)
        return
    in_force = operation.still_valid(said.body, now_ms)
    trace = _trace(operation, document, uf, said, now_ms)
    view = told(operation.view(RecordedResult(body, trace, now_ms, in_force, acts)))
    print_text(" ".join(filter(None, (_headline(view.headline.text), view.headline.note))))
    typer.echo("")
    for title, facts in (("", view.facts), *view.more_facts):
        if title:
            typer.echo(f"\n{title}")
        _print_facts(facts)
    for table in view.tables:
        typer.echo(f"\n{table.caption}")
        rows = [[plain(cell) for cell in row] for row in table.rows]
        print_table(table.columns, rows, empty=table.empty)
    if receipt := body.get("print"):
        where = said.base if receipt.startswith("/") else ""  # no address of its own is set
        typer.echo(f"\nComprovante: {where}{receipt}")
    typer.echo(f"\n{_charge(said)}")


def plain(value: object) -> str:
    """A cell of a page as text: what is small there stands in brackets."""
    if value is None:
        return "—"
    if not isinstance(value, Markup):
        return str(value)
    small = str(value).replace("<small>", "(").replace("</small>", ")")
    return Markup(small).striptags()  # noqa: S704 - it was markup, and ends as text


def _headline(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _print_facts(facts: Sequence[Fact]) -> None:
    if facts:
        print_pairs([(name, plain(value)) for name, value in facts])


def _charge(said: ServiceReply) -> str:
    charged = f"Cobrado: {credits(said.credits)}." if said.credits else "Nada foi cobrado."
    request = said.headers.get("x-request-id")
    return charged if request is None else f"{charged} Requisição {request}."


def _trace(
    operation: Operation, document: str, uf: str | None, said: ServiceReply, now_ms: int
) -> Trace:
    """What a page knows of a request besides its answer, as far as the headers tell."""
    age = said.headers.get("age", "")
    known = age.isascii() and age.isdecimal()
    hit = "hit" in said.headers.get("cache-status", "")
    return Trace(
        request_id=said.headers.get("x-request-id", ""),
        account_id=0,
        key_id=None,
        user_id=None,
        operation=operation.path,
        document="".join(filter(str.isalnum, document)).upper(),
        document_hash=None,
        uf=uf,
        strategy="",
        refresh=False,
        key_digest=None,
        status=said.status,
        code=None,
        origin="cache" if hit else "online",
        source=None,
        asked_ms=now_ms - int(age) * _SECOND_MS if known else None,
        credits=said.credits,
        rule="",
        opened_ms=now_ms,
        settled_ms=now_ms,
    )
