"""`/app/historico`: the consultations of an account, newest first, on screen and as files.

A consultant sees their own. CNPJs may stand in addresses; a CPF comes by POST, is never shown and
is looked for by its keyed hash.
"""

import asyncio
import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import IO

import msgspec
from starlette.responses import Response

from balcao.accounts.statement import Period
from balcao.core.access import Account, names_of_keys
from balcao.core.calendar import HOUR_MS, civil_day, day_starts_ms, from_ms
from balcao.core.company import Company
from balcao.core.csv_table import Cell, write_csv
from balcao.core.data_subject import document_hash
from balcao.core.document_reader import read as read_document
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj, Cpf
from balcao.core.errors import SourceError
from balcao.core.extensions import Extended, Extension
from balcao.core.gist import Gist, gist_of
from balcao.core.ledger import Trace
from balcao.core.writing import day, document, length
from balcao.operations import tariff
from balcao.operations.certificates.acts import by_act_of
from balcao.operations.company.operation import CompanyLookup
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import ExportForm, StoredExport
from balcao.storage.people import TraceFilter
from balcao.web.kit import filters as asking
from balcao.web.kit import spreadsheet
from balcao.web.kit.context import PageContext
from balcao.web.kit.exports import CSV, XLSX, FileKind, download, in_threads, leaving_room
from balcao.web.kit.lookups.forms import BY_PATH
from balcao.web.kit.spreadsheet import Sheet, Value
from balcao.web.kit.words import vocabulary
from balcao.web.kit.words.vocabulary import Word
from balcao.web.pages.history import filters
from balcao.web.pages.history.filters import HistoryFilter

PATH = "/app/historico"
RESULTS = "/app/consultas/resultado"
OF_A_PERSON = f"{PATH}/pessoa"

# Which file was asked for that has too many rows to come at once.
LARGE = "arquivo"

SHOWN, SHOWN_TO_OPERATORS = 50, 100
# More are written by a job (decisions 15.6).
AT_ONCE_MAX = 20_000
_READ_AT_ONCE = 200
# Of those that were charged each page sorts all that the ledger has of the day, to find some.
_CHARGED_AT_ONCE = 2_000

_EVERYTHING = TraceFilter(0, 2**62)
_NO_CPF = "O CPF não confere."


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request as the tables show it; `trace` has the rest."""

    trace: Trace
    operation: str
    outcome: Word
    origin: str | None  # None: there was no answer
    who: str
    name: str | None = None  # the company's
    result: str | None = None  # where the result is shown; None: it is not any more
    by_act: Extended | None = None  # a later day that an act gives the certificate (decisions 4.12)

    @property
    def validity(self) -> str | None:
        """The last day on which the certificate proves anything."""
        brought = self.trace.certificate
        return None if brought is None else brought.validity


@dataclass(frozen=True, slots=True)
class Names:
    """Who may have asked: the account's keys and users, by number.

    `others`: operators without a seat in it. They are named beside what they asked while they had
    one, and nowhere else (decisions 7.6).
    """

    keys: Mapping[int | None, str]
    users: Mapping[int, str]
    others: Mapping[int, str] = field(default_factory=dict)

    def who(self, key_id: int | None, user_id: int | None) -> str:
        """A key's or a person's name; without either, an operator asked at the machine."""
        if key_id is not None:
            return self.of_entry(key_id)
        if user_id is not None:
            return self.person(user_id)
        return "linha de comando"  # `balcao batch`

    def of_entry(self, key_id: int | None) -> str:
        """The same of an entry of the ledger, which knows no people."""
        return self.keys.get(key_id, f"chave {key_id}")

    def person(self, user_id: int) -> str:
        """The name of who asked."""
        return self.users.get(user_id) or self.others.get(user_id, f"usuário {user_id}")

    def row(self, trace: Trace, result: str | None = None) -> RequestRow:
        """A request, in words, and where its result is shown."""
        return RequestRow(
            trace,
            vocabulary.short(trace.operation),
            vocabulary.outcome_of(trace),
            vocabulary.origin_of(trace),
            self.who(trace.key_id, trace.user_id),
            name_of(trace),
            result,
        )


def names_of(context: PageContext, account_id: int) -> Names:
    """The names of an account."""
    return names_in(context.tools.desk, account_id)


def names_in(desk: Desk, account_id: int) -> Names:
    """The same, without a visit."""
    seated = {seat.user_id for seat in desk.seats.within(account_id)}
    users: dict[int, str] = {}
    others: dict[int, str] = {}
    for user in (*desk.people.users(None), *desk.people.users(account_id)):
        is_here = user.account_id == account_id or user.user_id in seated
        (users if is_here else others)[user.user_id] = user.name
    return Names(names_of_keys(desk.keys(account_id)), users, others)


async def read(
    context: PageContext,
    wanted: TraceFilter,
    limit: int,
    before: str | None = None,
    account: Account | None = None,
) -> Sequence[Trace]:
    """Some requests of an account, the visitor's unless another is named, newest first."""
    traces, account = context.tools.desk.people.traces, account or context.account
    return await asyncio.to_thread(traces, account.account_id, wanted, limit, before)


async def show_to_operator(context: PageContext, account: Account, base: str) -> Response:
    """The account's last consultations, to help whoever asks about one."""
    before, fields, wanted, asked = context.query("antes") or None, {}, _EVERYTHING, None
    names = names_of(context, account.account_id)
    if context.query(filters.CHARGED):
        asked = filters.read(context, context.request.query_params, names)
        fields, wanted = asked.fields(), asked.wanted(None)
    # One more than is shown tells whether there are older ones.
    found = await read(context, wanted, SHOWN_TO_OPERATORS + 1, before, account)
    shown = found[:SHOWN_TO_OPERATORS]
    more = shown[-1].request_id if len(found) > len(shown) else None
    here = f"{base}/historico"
    return context.page(
        "operador/historico.html",
        account=account,
        rows=[names.row(trace) for trace in shown],
        older=asking.address(here, fields | {"antes": more}) if more else None,
        newer=asking.address(here, fields) if before else None,
        sum=None if asked is None else await _sum_of(context, asked, account.account_id, None),
        period=None if asked is None else asked.period,
    )


async def _sum_of(
    context: PageContext, asked: HistoryFilter, account_id: int, own_only: int | None
) -> tuple[int, int] | None:
    """How many the list of charged requests has, and what they cost; None: totals do not know."""
    if not asked.is_of_totals:
        return None
    wanted = asked.chosen.wanted
    if own_only is not None:
        wanted = replace(wanted, user_id=own_only)
    read_totals, (first, last) = (
        context.tools.desk.totals.read,
        (asked.period.first, asked.period.last),
    )
    totals = await asyncio.to_thread(read_totals, account_id, first, last, (), wanted)
    return (totals[0].requests, totals[0].credits) if totals else (0, 0)


async def rows_of(context: PageContext, traces: Sequence[Trace]) -> Sequence[RequestRow]:
    """Requests of the visitor's account, in words, with what is known of their companies by now."""
    names = names_of(context, context.account.account_id)
    acts = context.tools.desk.extensions.all()
    return [
        replace(names.row(trace, _result(context, trace)), by_act=_later(trace, acts))
        for trace in await with_gists(context, traces)
    ]


def _later(trace: Trace, acts: Sequence[Extension]) -> Extended | None:
    form = BY_PATH.get(trace.operation)
    return None if form is None else by_act_of(acts, form.subject, trace)


async def with_gists(context: PageContext, traces: Sequence[Trace]) -> Sequence[Trace]:
    """With the names of companies that nobody remembered with a request that was answered: what
    was at hand then is at hand now, in our own copy or the cache (decision 0028).

    What is there of the very day of the answer is that answer, and says what it came to.
    """
    registry = context.tools.parts.environments[context.account.mode].registry
    known: dict[str, tuple[Company, int] | None] = {}
    told: list[Trace] = []
    for trace in traces:
        number, is_named = trace.document, name_of(trace) is not None
        if not is_named and trace.code is None and trace.of_company:
            if number not in known:
                known[number] = None
                with suppress(SourceError):  # a damaged file: they are shown without names
                    known[number] = await registry.dated_at_hand(Cnpj(number))
                await asyncio.sleep(0)  # each is read in place: whoever waits comes in between
            if (found := known.get(number)) is not None:
                told.append(msgspec.structs.replace(trace, gist=_gist(trace, *found)))
                continue
        told.append(trace)
    return told


def _gist(trace: Trace, company: Company, asked_ms: int) -> Gist:
    result = None if trace.gist is None else trace.gist.result
    if trace.operation == CompanyLookup.path and trace.asked_ms == asked_ms:
        result = company.situacao_cadastral
    return gist_of(company.nome_empresarial, result)


def name_of(trace: Trace) -> str | None:
    """The company's, as far as it is remembered."""
    said = (trace.certificate, trace.gist)
    return next((each.name for each in said if each is not None and each.name), None)


def _result(context: PageContext, trace: Trace) -> str | None:
    """The page of its result, where that says more than why it was answered as it was."""
    parts = context.tools.parts
    hours = parts.idempotency_hours if trace.user_id is None else parts.result_hours
    is_kept = trace.key_digest is not None and (
        trace.opened_ms >= context.tools.now_ms() - hours * HOUR_MS
    )
    if trace.operation not in BY_PATH or not (is_kept or trace.certificate is not None):
        return None
    return f"{RESULTS}/{trace.request_id}"


async def show(context: PageContext) -> Response:
    """The list with its filters. `?id=` goes to one request's page."""
    if (number := context.query("id")) != "":
        return context.redirect(f"{PATH}/{number.lower()}") if is_id(number) else _no_id(context)
    fields = context.request.query_params
    names = names_of(context, context.account.account_id)
    asked = filters.read(context, fields, names)
    if (field := filters.misplaced(fields, asked)) is not None:
        # Perhaps it was a CPF: it does not stay in the address.
        return context.redirect(asking.address(PATH, asked.fields() | {"aviso": field}))
    return await _listed(context, asked, names, 422 if asked.complaint else 200)


def is_id(text: str) -> bool:
    """Whether this can be the number of a request."""
    return len(text) == 36 and all(each in "0123456789abcdefABCDEF-" for each in text)


def _no_id(context: PageContext) -> Response:
    return context.page("requisicao_desconhecida.html", 404, number=None, is_operator=False)


async def show_person(context: PageContext) -> Response:
    """The list of one person's requests. The CPF is in the form that was sent, nowhere else."""
    names = names_of(context, context.account.account_id)
    asked = filters.read(context, context.form, names)
    typed = context.typed("cpf")
    cpf = read_document(typed, {"cpf"}, only=False, digits_least=CNPJ_CHARACTERS).document
    if not isinstance(cpf, Cpf):
        return await _listed(context, filters.flawed(asked, _NO_CPF), names, 422)
    return await _listed(context, asked, names, 200, cpf)


async def to_the_list(context: PageContext) -> Response:
    """Somebody reloads the page of a person, or comes back to it after signing in."""
    return context.redirect(PATH)


async def _listed(
    context: PageContext, asked: HistoryFilter, names: Names, status: int, cpf: Cpf | None = None
) -> Response:
    own = context.person.own_only
    wanted = asked.wanted(own)
    if cpf is not None:
        pepper = context.tools.parts.numbering.pepper
        wanted = replace(wanted, document_hash=document_hash(pepper, cpf.text))
    found = await read(context, wanted, SHOWN + 1, asked.before)
    fields = asked.fields()
    more = found[SHOWN - 1].request_id if len(found) > SHOWN else ""
    return context.page(
        "historico.html",
        status,
        alert=asked.complaint,
        notes=asked.notes,
        rows=await rows_of(context, found[:SHOWN]),
        fields=fields,
        more=more,
        person=cpf.masked if cpf else None,
        cpf=cpf.text if cpf else "",
        older=asking.address(PATH, fields | {"antes": more}) if more else None,
        newest=asking.address(PATH, fields) if asked.before else None,
        filters=asked.told(names.keys, names.users),
        period=asked.of_the_period(),
        operations=asking.OPERATIONS,
        origins=filters.origin_options(asked.origin),
        results=filters.RESULT_OPTIONS,
        ufs=asking.UF_OPTIONS,
        people=asking.people(names.users, asked.chosen.user),
        charged=asked.charged,
        sum=None
        if cpf is not None
        else await _sum_of(context, asked, context.account.account_id, own),
        keys=asking.keys(names.keys),
        csv=asking.address(f"{PATH}.csv", fields),
        xlsx=asking.address(f"{PATH}.xlsx", fields),
        trace_days=context.tools.settings.trace_days,
        receipts_kept=length(context.tools.settings.receipt_days),
        at_once_max=AT_ONCE_MAX,
        large=_large(context),
        file=await _file_of(context),
        own_only=own is not None,
    )


@dataclass(frozen=True, slots=True)
class HistoryColumn:
    """One of the files' columns: for machines (CSV), for people (the spreadsheet), and its cell."""

    name: str
    title: str
    width: int  # in characters
    of: Callable[[RequestRow], Value]


COLUMNS: Sequence[HistoryColumn] = (
    HistoryColumn("quando", "Quando", 19, lambda row: from_ms(row.trace.opened_ms)),
    HistoryColumn("request_id", "Número da consulta", 38, lambda row: row.trace.request_id),
    HistoryColumn("operacao", "O que", 22, lambda row: row.trace.operation),
    HistoryColumn("documento", "Documento", 20, lambda row: row.trace.document),
    HistoryColumn("uf", "UF", 5, lambda row: row.trace.uf),
    HistoryColumn("status", "Status", 8, lambda row: row.trace.status),
    HistoryColumn("codigo", "Código", 24, lambda row: row.trace.code),
    HistoryColumn("resultado", "Resultado", 26, lambda row: row.outcome.text),
    HistoryColumn("origem", "Origem", 20, lambda row: row.trace.origin),
    HistoryColumn("fonte", "Fonte", 24, lambda row: row.trace.source),
    HistoryColumn(
        "fonte_consultada_em",
        "Fonte consultada em",
        19,
        lambda row: row.trace.asked_ms and from_ms(row.trace.asked_ms),
    ),
    HistoryColumn("creditos", "Créditos", 10, lambda row: row.trace.credits),
    HistoryColumn("regra", "Regra", 40, lambda row: tariff.sentence(row.trace.rule)),
    HistoryColumn("regra_codigo", "Código da regra", 28, lambda row: row.trace.rule),
    HistoryColumn("quem", "Quem", 24, lambda row: row.who),
    HistoryColumn("cliente", "Cliente", 24, lambda row: row.trace.client),
    HistoryColumn("referencia", "Referência", 24, lambda row: row.trace.reference),
    HistoryColumn("nome", "Empresa", 40, lambda row: row.name),
    HistoryColumn("valida_ate", "Vale até", 12, lambda row: row.validity),
)
# People read these in words.
_IN_WORDS: Mapping[str, Callable[[RequestRow], Value]] = {
    "operacao": lambda row: row.operation,
    "documento": lambda row: document(row.trace.document),
    "origem": lambda row: row.origin,
    "regra": lambda row: vocabulary.price_of(row.trace.rule),
    "fonte": lambda row: row.trace.source and vocabulary.source_names(row.trace.source),
    "valida_ate": lambda row: row.validity and day(row.validity),
}
_CREDITS = [column.name for column in COLUMNS].index("creditos")


# A sheet of Excel has 1,048,576 rows.
SHEET_ROWS_MAX = 1_000_000


async def as_table(context: PageContext) -> Response:
    """The list as CSV, page after page; of very long ones the page tells what to do."""
    return await _exported(context, "csv", CSV)


async def as_workbook(context: PageContext) -> Response:
    """The list as a spreadsheet, likewise."""
    return await _exported(context, "xlsx", XLSX)


async def _exported(context: PageContext, form: ExportForm, kind: FileKind) -> Response:
    desk, number = context.tools.desk, context.account.account_id
    names = names_of(context, number)
    asked = filters.read(context, context.request.query_params, names)
    if asked.complaint:
        return context.redirect(asking.address(PATH, asked.fields()))
    wanted = asked.wanted(context.person.own_only)
    if await asyncio.to_thread(_is_large, desk, number, wanted):
        return context.redirect(asking.address(PATH, asked.fields() | {LARGE: form}))
    rows = map(names.row, leaving_room(all_of(desk, number, wanted)))
    return await context.export(partial(WRITERS[form], rows), kind, _file_name(asked))


def _file_name(asked: HistoryFilter) -> str:
    return f"historico-{asked.period.first}-{asked.period.last}"


def _is_large(desk: Desk, account_id: int, wanted: TraceFilter) -> bool:
    rows = leaving_room(all_of(desk, account_id, wanted))
    return next(islice(rows, AT_ONCE_MAX, None), None) is not None


def _large(context: PageContext) -> str | None:
    """The kind of file that was asked for and has too many rows to come at once."""
    form = context.query(LARGE)
    return form if form in WRITERS else None


async def ask_for_file(context: PageContext) -> Response:
    """Have it written by a job; the person's former one is gone."""
    asked = filters.read(context, context.form, names_of(context, context.account.account_id))
    form = context.typed(LARGE)
    if asked.complaint or form not in WRITERS:
        return context.redirect(asking.address(PATH, asked.fields()))
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
    return context.redirect(f"{asking.address(PATH, asked.fields())}#arquivo")


async def _file_of(context: PageContext) -> StoredExport | None:
    """The file that this person asked for last, ready or not; None where they may not see it.

    What a manager asked for is none of theirs when they are a consultant (decisions 15.6).
    """
    of_user = context.tools.desk.exports.of_user
    found = await of_user(context.account.account_id, context.person.user.user_id)
    if found is None:
        return None
    wanted = msgspec.json.decode(found.wanted, type=TraceFilter)
    return found if context.person.own_only in (None, wanted.user_id) else None


async def fetch_file(context: PageContext) -> Response:
    """The file, once it is ready."""
    found = await _file_of(context)
    if found is None or found.size_bytes is None:
        return context.redirect(f"{PATH}#arquivo")
    kind = XLSX if found.form == "xlsx" else CSV
    pieces = in_threads(context.tools.desk.exports.pieces(found.export_id))
    return download(pieces, found.size_bytes, kind, found.name)


def write_table(rows: Iterator[RequestRow], file: IO[bytes]) -> None:
    """As CSV: names of columns and values as programs know them."""
    write_csv(file, [column.name for column in COLUMNS], map(_as_text, rows))


def write_workbook(rows: Iterator[RequestRow], file: IO[bytes]) -> None:
    """As a spreadsheet, a million rows to a sheet, the sum below the last."""
    credits = 0
    told = [_IN_WORDS.get(column.name, column.of) for column in COLUMNS]

    def told_of(some: Iterator[RequestRow]) -> Iterator[Sequence[Value]]:
        nonlocal credits
        for row in some:
            credits += row.trace.credits
            total[_CREDITS] = credits  # known when the last row is written: it stands below them
            yield [of(row) for of in told]

    widths = [column.width for column in COLUMNS]
    titles = [column.title for column in COLUMNS]
    total: list[Value] = ["Total", *[None] * (_CREDITS - 1), 0]

    def sheets() -> Iterator[Sheet]:
        number, first = 1, next(rows, None)
        while first is not None or number == 1:
            some = islice(rows, SHEET_ROWS_MAX - 1)
            name = "Consultas" if number == 1 else f"Consultas {number}"
            begun = () if first is None else (first,)
            yield Sheet(name, widths, told_of(chain(begun, some)), titles, total)
            number, first = number + 1, next(rows, None)

    spreadsheet.write_xlsx(file, sheets())


WRITERS: Mapping[str, Callable[[Iterator[RequestRow], IO[bytes]], None]] = {
    "csv": write_table,
    "xlsx": write_workbook,
}


def all_of(desk: Desk, account_id: int, wanted: TraceFilter) -> Iterator[Trace]:
    """Read page after page, in whatever thread takes them.

    Charged ones by the day of the charge, as the statement has them: each page of them goes through
    all that the ledger has of the time that is asked about.
    """
    for each in _days_of(wanted) if wanted.charged else (wanted,):
        before: str | None = None
        limit = _CHARGED_AT_ONCE if wanted.charged else _READ_AT_ONCE
        while some := desk.people.traces(account_id, each, limit, before):
            yield from some
            before = some[-1].request_id


def _days_of(wanted: TraceFilter) -> Iterator[TraceFilter]:
    """The same, one civil day at a time, the last one first."""
    to_ms = wanted.to_ms
    while to_ms > wanted.from_ms:
        begins_ms = max(wanted.from_ms, day_starts_ms(civil_day(to_ms - 1)))
        yield replace(wanted, from_ms=begins_ms, to_ms=to_ms)
        to_ms = begins_ms


def _as_text(row: RequestRow) -> Sequence[Cell]:
    return [_cell(column.of(row)) for column in COLUMNS]


def _cell(value: Value) -> Cell:
    """Instants with their offset, as the API writes them."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="milliseconds")
    return value.isoformat() if isinstance(value, datetime.date) else value


def lately(context: PageContext) -> TraceFilter:
    """What the visitor's account asked in the last 30 days, as far as they may see it."""
    today = asking.today_of(context)
    period = Period.of(None, None, today)
    tomorrow = day_starts_ms(today + datetime.timedelta(days=1))
    return TraceFilter(period.from_ms, tomorrow, user_id=context.person.own_only)
