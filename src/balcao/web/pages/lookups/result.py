"""`/app/consultas/resultado/{request_id}`: the recorded result of a lookup."""

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse

from balcao.core.calendar import HOUR_MS
from balcao.core.errors import OperationNotFound
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import Trace
from balcao.core.writing import document, instant, length
from balcao.http.receipts import ReceiptRoutes
from balcao.http.write import Pieces
from balcao.operations import tariff, views
from balcao.operations.certificates.page import by_act
from balcao.operations.contract import address_of
from balcao.operations.views import RelatedResult, ResultTable, ResultView, without_empty_facts
from balcao.storage.people import TraceFilter
from balcao.web.kit.context import PageContext
from balcao.web.kit.drawing import tile_map
from balcao.web.kit.lookups import outcomes
from balcao.web.kit.lookups.forms import BY_PATH, BY_SUBJECT, LookupForm
from balcao.web.kit.returning import address
from balcao.web.pages import history

# Programs may look up the same company often without a recorded answer: search far enough
# to find a person's lookup among theirs.
_REQUESTS_READ_MAX = 200
RECEIPTS = "/app/comprovantes"


@dataclass(frozen=True, slots=True)
class ResultReceipt:
    """The address of a result's receipt. HTML is only offered for download."""

    href: str
    is_html: bool


async def show(context: PageContext) -> Response:
    """Show one result. Raises `OperationNotFound`, also for requests this person may not see."""
    trace, form = await _visible(context)
    operation = context.tools.parts.operations[form.subject]
    recorded = await context.recorded(trace)
    of_company = trace.of_company
    row = (await history.rows_of(context, [trace]))[0]
    base = context.settings.address
    values: dict[str, Any] = {
        "form": form,
        "trace": trace,
        "document": document(trace.document),
        "name": row.name,
        "meaning": tariff.meaning(trace.rule),
        "cost": outcomes.cost(trace.credits),
        "available": context.available,
        "origin": row.origin,
        # Our own copy has only a day.
        "as_of": trace.asked_ms and instant(trace.asked_ms).removesuffix(" às 00:00"),
        "receipt": _receipt(trace),
        "copyable": of_company,
        "curl": of_company and _CURL.format(address_of(operation, trace.document, trace.uf, base)),
        "as_json": recorded and f"{history.RESULTS}/{trace.request_id}/resposta.json",
        "correct": _form_again(form, trace, of_company=of_company),
    }
    if trace.code is not None:
        body = {} if recorded is None else msgspec.json.decode(recorded.body)
        outcome = outcomes.notice_for_code(trace.code, body.get("message"), form)
        return context.page("resultado/falha.html", outcome=outcome, **values)
    if recorded is None:
        kept = length(context.settings.receipt_days)
        return context.page(
            "resultado/passado.html",
            kept=kept,
            word=row.outcome,
            extended=by_act(row.by_act),
            **values,
        )
    view = without_empty_facts(_view(context, form, recorded, trace))
    return context.page(
        "resultado/resultado.html",
        view=view,
        map=tile_map(view.tiles, _MAP_TITLE) if view.tiles else None,
        related=view.related and await _related_result(context, view.related),
        related_form=view.related and BY_SUBJECT[view.related.subject],
        **values,
    )


async def as_json(context: PageContext) -> Response:
    """Return the recorded answer, as the API gives it. Raises `OperationNotFound`."""
    trace, _ = await _visible(context)
    recorded = await context.recorded(trace)
    if recorded is None:
        raise OperationNotFound
    return Response(recorded.body, media_type="application/json")


async def _visible(context: PageContext) -> tuple[Trace, LookupForm]:
    """Return the request of the address, if this person may see it. Raises `OperationNotFound`."""
    request_id = context.request.path_params["request_id"]
    trace = context.desk.people.trace(context.account.account_id, request_id)
    if trace is None or not context.person.sees(trace.user_id) or trace.operation not in BY_PATH:
        raise OperationNotFound
    return trace, BY_PATH[trace.operation]


# The reader inserts the key, which is shown only once.
_CURL = 'curl -sS -H "x-api-key: $BALCAO_KEY" "{}"'


def _receipt(trace: Trace) -> ResultReceipt | None:
    brought = trace.certificate
    if brought is None or brought.receipt_id is None:
        return None
    is_html = brought.media_type == "text/html"
    return ResultReceipt(f"{RECEIPTS}/{brought.receipt_id}", is_html)


def _form_again(form: LookupForm, trace: Trace, *, of_company: bool) -> str:
    """Return the form's address with the typed fields; for a person, without the CPF."""
    if of_company:
        query = {"de": trace.request_id}
    else:
        query = {"quem": "cpf"} if "quem" in form.fields else {}
    return address(f"/app/consultas/{form.slug}", query)


_MAP_TITLE = "Inscrições por unidade da federação"


def _view(
    context: PageContext, form: LookupForm, recorded: RecordedAnswer, trace: Trace
) -> ResultView:
    operation = context.tools.parts.operations[form.subject]
    now = context.now_ms()
    body = msgspec.json.decode(recorded.body)
    in_force = operation.still_valid(recorded.body, now)
    acts = context.desk.extensions.all() if operation.issues else ()
    return operation.view(views.RecordedResult(body, trace, now, in_force, acts))


async def _related_result(
    context: PageContext, beside: RelatedResult
) -> tuple[Trace, ResultTable] | None:
    """Return the latest visible, recorded result of another operation about this company."""
    tools = context.tools
    now = tools.now_ms()
    operation = tools.parts.operations[beside.subject]
    wanted = TraceFilter(
        now - tools.parts.result_hours * HOUR_MS,
        now + 1,
        operation=operation.path,
        user_id=context.person.own_only,
        document=beside.document,
    )
    traces = await asyncio.to_thread(
        tools.desk.people.traces, context.account.account_id, wanted, _REQUESTS_READ_MAX
    )
    for trace in traces:
        recorded = await context.recorded(trace) if trace.status == 200 else None
        if recorded is not None:
            return trace, beside.table(msgspec.json.decode(recorded.body))
    return None


async def show_receipt(context: PageContext) -> Response:
    """Show a federal receipt of the visitor's account, or a state one, which are public.

    `?baixar=1` downloads it instead. Raises `ReceiptNotFound`.
    """
    tools = context.tools
    number = context.request.path_params["receipt_id"]
    owners = {None, context.account.account_id}
    # The API's rate limits are for programs; none is needed here.
    files = ReceiptRoutes(tools.desk, tools.blobs)
    headers, content = await files.fetch(number, owners, download=context.query("baixar") == "1")
    named = {name.decode(): value.decode() for name, value in headers}
    named["cache-control"] = "private, no-store"  # it requires signing in
    # The pages' own policy would prevent browsers from showing a PDF.
    named.setdefault("content-security-policy", "frame-ancestors 'none'")
    if isinstance(content, Pieces):
        named["content-length"] = str(content.size_bytes)
        return StreamingResponse(content.pieces, headers=named)
    return Response(content, headers=named)
