"""Output of a lookup's answer on a terminal, with the facts and tables of its page."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from balcao.cli.output import Block, Note, Pairs, Paragraph, TextTable
from balcao.cli.service_client import ServiceReply
from balcao.core.ledger import Trace
from balcao.core.writing import credits
from balcao.operations.contract import Operation
from balcao.operations.envelope import error_code
from balcao.operations.views import RecordedResult, without_empty_facts

if TYPE_CHECKING:
    from balcao.core.extensions import Extension

OK = 200
_FIRST_REFUSAL = 400
_SECOND_MS = 1000

# Exit codes by HTTP status; others are failures of the source or the service.
_EXIT_CODES: Mapping[int, int] = {
    400: 2, 401: 3, 403: 3, 402: 4, 404: 5, 410: 5, 409: 6, 429: 6,
}  # fmt: skip
_FAILED = 7


def exit_code(reply: ServiceReply) -> int:
    """Return the exit code, 0 if there is a result. Raises `CommandFailed` if it is not JSON."""
    if reply.status < _FIRST_REFUSAL:
        return _FAILED if reply.json["error"] else 0
    return _EXIT_CODES.get(reply.status, _FAILED)


def answer_blocks(
    operation: Operation,
    document: str,
    uf: str | None,
    reply: ServiceReply,
    *,
    now_ms: int,
    acts: "Sequence[Extension]" = (),
) -> Sequence[Block]:
    """Return the result with its charge, or the reason on stderr if there is none.

    `acts`: the known extensions of certificates.
    """
    body = reply.json
    code = error_code(reply.body) or (None if "success" in body else "?")
    if code is not None:
        message = body.get("message") or (body.get("error_message") or {}).get("message") or ""
        lines = [f"erro: {message or f'código HTTP {reply.status}'} ({code})"]
        if wait := reply.headers.get("retry-after"):
            lines.append(f"Repita em {wait} s.")
        return [*map(Note, lines), Note(_charge(reply))]
    in_force = operation.still_valid(reply.body, now_ms)
    trace = _trace(operation, document, uf, reply, now_ms)
    view = without_empty_facts(operation.view(RecordedResult(body, trace, now_ms, in_force, acts)))
    headline = " ".join(filter(None, (_sentence(view.headline.text), view.headline.note)))
    blocks: list[Block] = [Paragraph(headline), ""]
    for title, facts in (("", view.facts), *view.more_facts):
        if title:
            blocks.append(f"\n{title}")
        if facts:
            blocks.append(Pairs([(name, plain(value)) for name, value in facts]))
    for table in view.tables:
        rows = [[plain(cell) for cell in row] for row in table.rows]
        blocks += [f"\n{table.caption}", TextTable.of(table.columns, rows, empty=table.empty)]
    if receipt := body.get("print"):
        base = reply.base if receipt.startswith("/") else ""  # no public address is set
        blocks.append(f"\nComprovante: {base}{receipt}")
    return [*blocks, f"\n{_charge(reply)}"]


def plain(value: object) -> str:
    """Return a page's cell as text, with small print in brackets."""
    if value is None:
        return "—"
    if not isinstance(value, Markup):
        return str(value)
    small = str(value).replace("<small>", "(").replace("</small>", ")")
    return Markup(small).striptags()  # noqa: S704 - it was markup, and ends as text


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _charge(reply: ServiceReply) -> str:
    charged = f"Cobrado: {credits(reply.credits)}." if reply.credits else "Nada foi cobrado."
    request = reply.headers.get("x-request-id")
    return charged if request is None else f"{charged} Requisição {request}."


def _trace(
    operation: Operation, document: str, uf: str | None, reply: ServiceReply, now_ms: int
) -> Trace:
    """Return the request's trace for the page, as far as the headers provide it."""
    age = reply.headers.get("age", "")
    known = age.isascii() and age.isdecimal()
    hit = "hit" in reply.headers.get("cache-status", "")
    return Trace(
        request_id=reply.headers.get("x-request-id", ""),
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
        status=reply.status,
        code=None,
        origin="cache" if hit else "online",
        source=None,
        asked_ms=now_ms - int(age) * _SECOND_MS if known else None,
        credits=reply.credits,
        rule="",
        opened_ms=now_ms,
        settled_ms=now_ms,
    )
