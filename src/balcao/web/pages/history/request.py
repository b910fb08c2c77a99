"""`/app/historico/{request_id}`: the page that explains one request; also for operators."""

from collections.abc import Mapping, Sequence

import msgspec
from starlette.responses import Response

from balcao.core.ledger import Trace
from balcao.storage.contract import Consultation
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.explaining import RequestRecords, explain
from balcao.web.pages.history.pages import is_id
from balcao.web.pages.history.requests import (
    OPERATORS,
    company_page,
    name_of,
    names_of,
    with_company_names,
)


async def show(context: PageContext) -> Response:
    """Show one request of the visitor's account; to a consultant, only their own."""
    number = _number(context)
    account_id = context.account.account_id
    found = await records_of(context, account_id, number)
    asked_by = found.trace.user_id if found and found.trace else None
    if found is None or not context.person.sees(asked_by):
        return _unknown(context, number)
    result = name = company = None
    if (trace := found.trace) is not None:
        if await context.recorded(trace):
            result = f"/app/consultas/resultado/{number}"
        name = name_of((await with_company_names(context, [trace]))[0])
        company = company_page(trace.document) if trace.of_company else None
    return context.page(
        "requisicao.html",
        explanation=explain(found),
        trace=found.trace,
        account_name=None,
        result=result,
        name=name,
        company=company,
    )


async def search(context: PageContext) -> Response:
    """Show the form where an operator types the number of a request."""
    number = context.query("id")
    if is_id(number):
        return context.redirect(f"{OPERATORS}/{number.lower()}")
    return context.page("requisicoes.html", 422 if number else 200, wrong=bool(number))


async def show_any(context: PageContext) -> Response:
    """Show one request of any account."""
    number = _number(context)
    owner = context.desk.people.owner_of(number) if number else None
    found = None if owner is None else await records_of(context, owner, number)
    if owner is None or found is None:
        return _unknown(context, number)
    return context.page(
        "requisicao.html",
        explanation=explain(found),
        trace=found.trace,
        account_name=context.desk.account(owner).name,
        result=None,
        name=found.trace and name_of(found.trace),
        company=None,
    )


async def records_of(
    context: PageContext, account_id: int, request_id: str
) -> RequestRecords | None:
    """Return the records of an account's request in the ledger and the traces."""
    desk = context.desk
    trace = desk.people.trace(account_id, request_id)
    booked = desk.operation(account_id, request_id)
    if trace is None and booked is None:
        return None
    names = names_of(context, account_id)
    if trace is not None:
        who = names.who(trace.key_id, trace.user_id)
    else:
        assert booked is not None
        who = names.key_name(booked.key_id)
    in_one_step = booked is not None and _in_one_step(context, account_id, booked)
    return RequestRecords(
        trace, booked, in_one_step, who, () if trace is None else await _ufs(context, trace)
    )


class _Body(msgspec.Struct):
    """A recorded answer for all UFs, of which only each UF and its origin are read."""

    ufs: Sequence[Mapping[str, str]] = ()


async def _ufs(context: PageContext, trace: Trace) -> Sequence[tuple[str, str]]:
    """Return each UF of a BR answer with its origin, while the answer is recorded."""
    recorded = await context.recorded(trace) if trace.uf == "BR" and trace.code is None else None
    if recorded is None:
        return ()
    try:
        body = msgspec.json.decode(recorded.body, type=_Body)
    except msgspec.DecodeError:  # of another version
        return ()
    return [(each.get("uf", ""), each.get("origem", "")) for each in body.ufs]


def _in_one_step(context: PageContext, account_id: int, booked: Consultation) -> bool:
    """Return whether the request was charged directly, without a hold first."""
    at_ms = booked.settled_ms
    if booked.state != "charged" or at_ms is None:
        return False
    entries = context.desk.entries(account_id, at_ms, at_ms + 1)
    return any(e.kind == "charge" for e in entries if e.request_id == booked.request_id)


def _number(context: PageContext) -> str:
    """Return the number in the address, as it is stored; empty if it cannot be one."""
    number: str = context.request.path_params["request_id"]
    return number.lower() if is_id(number) else ""


def _unknown(context: PageContext, number: str) -> Response:
    return context.page(
        "requisicao_desconhecida.html",
        404,
        number=number or None,
        is_operator=context.person.is_operator,
    )
