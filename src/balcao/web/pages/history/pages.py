"""`/app/historico`: the requests of an account, newest first, on screen and as files.

A consultant sees their own. CNPJs may be in addresses; a CPF comes by POST, is never shown, and is
found by its keyed hash.
"""

import asyncio
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TypeAlias

import msgspec
from starlette.responses import Response

from balcao.accounts.statement import Period
from balcao.core.access import Account
from balcao.core.data_subject import document_hash
from balcao.core.document_reader import read as read_document
from balcao.core.documents import CNPJ_CHARACTERS, Cpf
from balcao.core.ledger import Trace
from balcao.core.writing import MONTHS, length
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import ExportForm, StoredExport
from balcao.storage.people import TraceFilter
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.exports import CSV, XLSX, FileKind, download, in_threads, paced
from balcao.web.pages.history import filters as history_filters
from balcao.web.pages.history.files import WRITERS, FileContext, all_of
from balcao.web.pages.history.filters import HistoryFilter
from balcao.web.pages.history.requests import PATH, Names, names_of, read, rows_of
from balcao.web.pages.history.validity import (
    CERTIFICATES_READ_MAX,
    EXPIRED,
    VALIDITIES,
    DatedCertificates,
    certificates_until,
    days_of,
)

OF_A_PERSON = f"{PATH}/pessoa"

# The kind of a requested file that has too many rows to be sent at once.
LARGE = "arquivo"

SHOWN, SHOWN_TO_OPERATORS = 50, 100
MONTHS_SHOWN = 6

# A text, its address, and whether it is the present one.
Link: TypeAlias = tuple[str, str, bool]

# Longer files are written by a job (contract 15.6).
AT_ONCE_MAX = 20_000

_EVERYTHING = TraceFilter(0, 2**62)

_NO_CPF = "CPF inválido."


async def show_to_operator(context: PageContext, account: Account, base: str) -> Response:
    """Show an operator the account's latest requests."""
    before, fields, wanted, asked = context.query("antes") or None, {}, _EVERYTHING, None
    names = names_of(context, account.account_id)
    if context.query(history_filters.CHARGED):
        asked = history_filters.read(context, context.request.query_params, names)
        fields, wanted = asked.fields(), asked.wanted(None)
    # Read one more than is shown, to see whether there are older ones.
    found = await read(context, wanted, SHOWN_TO_OPERATORS + 1, before, account)
    shown = found[:SHOWN_TO_OPERATORS]
    more = shown[-1].request_id if len(found) > len(shown) else None
    here = f"{base}/historico"
    return context.page(
        "operador/historico.html",
        account=account,
        rows=[names.row(trace) for trace in shown],
        older=filters.address(here, fields | {"antes": more}) if more else None,
        newer=filters.address(here, fields) if before else None,
        sum=None if asked is None else await _sum_of(context, asked, account.account_id, None),
        period=None if asked is None else asked.period,
    )


async def _sum_of(
    context: PageContext, asked: HistoryFilter, account_id: int, own_only: int | None
) -> tuple[int, int] | None:
    """Return count and cost of the charged requests listed; None: not in the daily totals."""
    if not asked.is_of_totals:
        return None
    wanted = asked.chosen.wanted
    if own_only is not None:
        wanted = replace(wanted, user_id=own_only)
    read_totals, (first, last) = (
        context.desk.totals.read,
        (asked.period.first, asked.period.last),
    )
    totals = await asyncio.to_thread(read_totals, account_id, first, last, (), wanted)
    return (totals[0].requests, totals[0].credits) if totals else (0, 0)


async def show(context: PageContext) -> Response:
    """Show the list with its filters. `?id=` redirects to one request's page."""
    if (number := context.query("id")) != "":
        return context.redirect(f"{PATH}/{number.lower()}") if is_id(number) else _no_id(context)
    fields = context.request.query_params
    names = names_of(context, context.account.account_id)
    asked = history_filters.read(context, fields, names)
    if (field := history_filters.misplaced(fields, asked)) is not None:
        # It may be a CPF, which must not stay in the address.
        return context.redirect(filters.address(PATH, asked.fields() | {"aviso": field}))
    return await _listed(context, asked, names, 422 if asked.complaint else 200)


def is_id(text: str) -> bool:
    """Return whether a text can be the number of a request."""
    return len(text) == 36 and all(each in "0123456789abcdefABCDEF-" for each in text)


def _no_id(context: PageContext) -> Response:
    return context.page("requisicao_desconhecida.html", 404, number=None, is_operator=False)


async def show_person(context: PageContext) -> Response:
    """Show the list of one person's requests. The CPF is only in the form that was sent."""
    names = names_of(context, context.account.account_id)
    asked = history_filters.read(context, context.form, names)
    typed = context.typed("cpf")
    cpf = read_document(typed, {"cpf"}, only=False, digits_least=CNPJ_CHARACTERS).document
    if not isinstance(cpf, Cpf):
        return await _listed(context, history_filters.flawed(asked, _NO_CPF), names, 422)
    return await _listed(context, asked, names, 200, cpf)


async def to_the_list(context: PageContext) -> Response:
    """Redirect a reload of a person's page, or a return to it after signing in."""
    return context.redirect(PATH)


async def _listed(
    context: PageContext, asked: HistoryFilter, names: Names, status: int, cpf: Cpf | None = None
) -> Response:
    own = context.person.own_only
    wanted = asked.wanted(own)
    if cpf is not None:
        pepper = context.tools.parts.receipt_numbers.pepper
        wanted = replace(wanted, document_hash=document_hash(pepper, cpf.text))
    if asked.validity:
        dated = await _dated(context, asked)
        found, only_newest = _after(dated, asked.before), dated.only_newest
    else:
        found, only_newest = await read(context, wanted, SHOWN + 1, asked.before), False
    fields = asked.fields()
    more = found[SHOWN - 1].request_id if len(found) > SHOWN else ""
    return context.page(
        "historico.html",
        status,
        alert=asked.complaint,
        notes=asked.notes,
        rows=await rows_of(context, found[:SHOWN]),
        validity=asked.validity,
        validities=_links(fields, "vencimento", VALIDITIES),
        validity_options=history_filters.VALIDITY_OPTIONS,
        looked_at=CERTIFICATES_READ_MAX if only_newest else None,
        months=_months(context, asked),
        fields=fields,
        more=more,
        person=cpf.masked if cpf else None,
        cpf=cpf.text if cpf else "",
        older=filters.address(PATH, fields | {"antes": more}) if more else None,
        newest=filters.address(PATH, fields) if asked.before else None,
        filters=asked.in_words(names.keys, names.users),
        period=asked.of_the_period(),
        operations=filters.OPERATIONS,
        origins=history_filters.origin_options(asked.origin),
        results=history_filters.RESULT_OPTIONS,
        ufs=filters.UF_OPTIONS,
        people=filters.people(names.users, asked.chosen.user),
        charged=asked.charged,
        sum=None
        if cpf is not None
        else await _sum_of(context, asked, context.account.account_id, own),
        keys=filters.keys(names.keys),
        csv=filters.address(f"{PATH}.csv", fields),
        xlsx=filters.address(f"{PATH}.xlsx", fields),
        trace_days=context.settings.trace_days,
        receipts_kept=length(context.settings.receipt_days),
        at_once_max=AT_ONCE_MAX,
        large=_large(context),
        file=await _file_of(context),
        own_only=own is not None,
    )


async def _dated(context: PageContext, asked: HistoryFilter) -> DatedCertificates:
    """Return the certificates selected by validity and the other filters."""
    first, last = days_of(asked.validity, filters.today_of(context))
    wanted = asked.wanted(context.person.own_only)
    dated = await certificates_until(context, first, last, wanted)
    return replace(dated, found=dated.found[::-1]) if asked.validity == EXPIRED else dated


def _after(dated: DatedCertificates, before: str | None) -> Sequence[Trace]:
    """Return a page of them, and one more: those that follow the last one of the page before."""
    traces = [each.trace for each in dated.found]
    numbers = [trace.request_id for trace in traces]
    start = numbers.index(before) + 1 if before in numbers else 0
    return traces[start : start + SHOWN + 1]


def _links(fields: dict[str, str], name: str, options: Mapping[str, str]) -> Sequence[Link]:
    """Return a link for each option of a filter: text, address, whether it is chosen."""
    return [
        (text, filters.address(PATH, fields | {name: value}), fields[name] == value)
        for value, text in options.items()
    ]


def _months(context: PageContext, asked: HistoryFilter) -> Sequence[Link]:
    """Return links to the latest months, with the other filters."""
    last = today = filters.today_of(context)
    found: list[Link] = []
    for _ in range(MONTHS_SHOWN):
        month = Period(last.replace(day=1), last)
        text = MONTHS[last.month - 1] + (f" de {last.year}" if last.year != today.year else "")
        own = {"de": month.first.isoformat(), "ate": last.isoformat(), "vencimento": ""}
        href = filters.address(PATH, asked.fields() | own)
        found.append((text, href, asked.period == month and not asked.validity))
        last = month.first - datetime.timedelta(days=1)
    return found


async def as_table(context: PageContext) -> Response:
    """Download the list as CSV; a very long one is offered as a file written by a job."""
    return await _exported(context, "csv", CSV)


async def as_workbook(context: PageContext) -> Response:
    """Download the list as a spreadsheet, likewise."""
    return await _exported(context, "xlsx", XLSX)


async def _exported(context: PageContext, form: ExportForm, kind: FileKind) -> Response:
    desk, number = context.desk, context.account.account_id
    names = names_of(context, number)
    asked = history_filters.read(context, context.request.query_params, names)
    if asked.complaint:
        return context.redirect(filters.address(PATH, asked.fields()))
    today = filters.today_of(context)
    if asked.validity:
        dated = [names.row(each.trace) for each in (await _dated(context, asked)).found]
        write = partial(WRITERS[form], iter(dated), FileContext(today, None))
        return await context.export(write, kind, _file_name(asked))
    wanted = asked.wanted(context.person.own_only)
    if await asyncio.to_thread(_is_large, desk, number, wanted):
        return context.redirect(filters.address(PATH, asked.fields() | {LARGE: form}))
    rows = map(names.row, paced(all_of(desk, number, wanted)))
    write = partial(WRITERS[form], rows, FileContext(today, asked.period))
    return await context.export(write, kind, _file_name(asked))


def _file_name(asked: HistoryFilter) -> str:
    if asked.validity:
        return f"vencimento-{asked.validity}"
    return f"historico-{asked.period.first}-{asked.period.last}"


def _is_large(desk: Desk, account_id: int, wanted: TraceFilter) -> bool:
    rows = paced(all_of(desk, account_id, wanted))
    return next(islice(rows, AT_ONCE_MAX, None), None) is not None


def _large(context: PageContext) -> str | None:
    """Return the kind of a requested file that has too many rows to be sent at once."""
    form = context.query(LARGE)
    return form if form in WRITERS else None


async def ask_for_file(context: PageContext) -> Response:
    """Request a file from the job; it replaces the person's former one."""
    asked = history_filters.read(
        context, context.form, names_of(context, context.account.account_id)
    )
    form = context.typed(LARGE)
    if asked.complaint or asked.validity or form not in WRITERS:
        return context.redirect(filters.address(PATH, asked.fields()))
    tools = context.tools
    await tools.desk.exports.begin(
        StoredExport(
            export_id=tools.new_id(),
            account_id=context.account.account_id,
            user_id=context.person.user.user_id,
            form="csv" if form == "csv" else "xlsx",
            name=_file_name(asked),
            wanted=msgspec.json.encode(asked.wanted(context.person.own_only)).decode(),
            rows=0,
            size_bytes=None,
            created_ms=tools.now_ms(),
        )
    )
    return context.redirect(f"{filters.address(PATH, asked.fields())}#arquivo")


async def _file_of(context: PageContext) -> StoredExport | None:
    """Return the file that this person requested last, ready or not; None if they may not see it.

    A person who is no longer a manager may not see a manager's file (contract 15.6).
    """
    of_user = context.desk.exports.of_user
    found = await of_user(context.account.account_id, context.person.user.user_id)
    if found is None:
        return None
    wanted = msgspec.json.decode(found.wanted, type=TraceFilter)
    return found if context.person.own_only in (None, wanted.user_id) else None


async def fetch_file(context: PageContext) -> Response:
    """Download the file, once it is ready."""
    found = await _file_of(context)
    if found is None or found.size_bytes is None:
        return context.redirect(f"{PATH}#arquivo")
    kind = XLSX if found.form == "xlsx" else CSV
    pieces = in_threads(context.desk.exports.pieces(found.export_id))
    return download(pieces, found.size_bytes, kind, found.name)
