"""`/app/historico`: the consultations of an account, newest first, on screen and as files.

A consultant sees their own. CNPJs may stand in addresses; a CPF comes by POST, is never shown and
is looked for by its keyed hash.
"""

import asyncio
import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import IO

import msgspec
from starlette.responses import Response

from balcao.accounts.statement import Cell, Choice, Period, write_csv
from balcao.core.access import Account, names_of_keys
from balcao.core.calendar import day_starts_ms, from_ms
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cnpj, Cpf
from balcao.core.ledger import Trace
from balcao.core.writing import length
from balcao.errors import InvalidCnpj, InvalidCpf
from balcao.operations import tariff
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import ExportForm, StoredExport
from balcao.storage.people import TraceFilter
from balcao.web import asking, spreadsheet, vocabulary
from balcao.web.exports import CSV, XLSX, FileKind, download, in_threads, leaving_room
from balcao.web.spreadsheet import Sheet, Value
from balcao.web.visit import Visit
from balcao.web.vocabulary import Word

PATH = "/app/historico"
OF_A_PERSON = f"{PATH}/pessoa"
# Those that were charged in the period: what a number of the statement leads to.
CHARGED = "cobradas"
# Which file was asked for that has too many rows to come at once.
LARGE = "arquivo"

SHOWN, SHOWN_TO_OPERATORS = 50, 100
# More are written by a job (decisions 15.6).
AT_ONCE_MAX = 20_000
_READ_AT_ONCE = 200

_EVERYTHING = TraceFilter(0, 2**62)
_NO_CNPJ = "O CNPJ não confere. Para procurar por CPF, use o campo próprio."
_BAD_DOCUMENT = "documento"
_NO_CPF = "O CPF não confere."


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request as the tables show it; `trace` has the rest."""

    trace: Trace
    operation: str
    outcome: Word
    origin: str | None  # None: there was no answer
    who: str


@dataclass(frozen=True, slots=True)
class Names:
    """Who may have asked: the account's keys and users, by number."""

    keys: Mapping[int | None, str]
    users: Mapping[int, str]

    def who(self, key_id: int | None, user_id: int | None) -> str:
        """A key's or a person's name."""
        if key_id is not None:
            return self.keys.get(key_id, f"chave {key_id}")
        if user_id is not None:
            return self.users.get(user_id, f"usuário {user_id}")
        return self.keys[None]

    def row(self, trace: Trace) -> RequestRow:
        """A request, in words."""
        return RequestRow(
            trace,
            vocabulary.short(trace.operation),
            vocabulary.outcome_of(trace),
            vocabulary.origin_of(trace),
            self.who(trace.key_id, trace.user_id),
        )


def names_of(visit: Visit, account_id: int) -> Names:
    """The names of an account."""
    return names_in(visit.tools.desk, account_id)


def names_in(desk: Desk, account_id: int) -> Names:
    """The same, without a visit."""
    # An operator's name stays beside what they asked when their seat here is gone.
    people = (*desk.people.users(None), *desk.people.users(account_id))
    users = {user.user_id: user.name for user in people}
    return Names(names_of_keys(desk.keys(account_id)), users)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the filters say."""

    period: Period
    chosen: Choice
    errors_only: bool
    reference: str | None
    cnpj: Cnpj | None
    before: str | None
    complaint: str | None
    notes: Sequence[str]
    charged: bool = False

    def fields(self) -> dict[str, str]:
        """As the address has them, without the page."""
        return asking.fields_of(self.period, self.chosen) | {
            "erros": "1" if self.errors_only else "",
            "referencia": self.reference or "",
            "documento": self.cnpj.text if self.cnpj else "",
            CHARGED: "1" if self.charged else "",
        }


def _asked(visit: Visit, fields: Mapping[str, str], account: Account | None = None) -> _Asked:
    asked = asking.period(fields, asking.today_of(visit))
    names = names_of(visit, (account or visit.account).account_id)
    chosen = asking.choice(fields, names.keys)
    complaint, cnpj = asked.complaint, None
    if fields.get("aviso") == _BAD_DOCUMENT:
        complaint = complaint or _NO_CNPJ
    if (document := fields.get("documento", "").strip()) != "":
        try:
            cnpj = Cnpj.parse(document)
        except InvalidCnpj:
            complaint = complaint or _NO_CNPJ
    return _Asked(
        asked.period,
        chosen,
        fields.get("erros") == "1",
        asking.mark(fields, "referencia"),
        cnpj,
        fields.get("antes") or None,
        complaint,
        [note for note in (asked.note, asking.ignored(fields, chosen)) if note],
        fields.get(CHARGED) == "1",
    )


def _wanted(visit: Visit, asked: _Asked) -> TraceFilter:
    key = asked.chosen.key
    own = None if visit.person.is_operator else visit.person.own_only
    return TraceFilter(
        asked.period.from_ms,
        asked.period.to_ms,
        operation=asked.chosen.operation,
        key_id=0 if key == "web" else key,
        user_id=asked.chosen.user if own is None else own,
        origin=asked.chosen.origin,
        document=asked.cnpj.text if asked.cnpj else None,
        errors_only=asked.errors_only,
        client=asked.chosen.client,
        reference=asked.reference,
        uf=asked.chosen.uf,
        charged=asked.charged,
    )


async def read(
    visit: Visit,
    wanted: TraceFilter,
    limit: int,
    before: str | None = None,
    account: Account | None = None,
) -> Sequence[Trace]:
    """Some requests of an account, the visitor's unless another is named, newest first."""
    traces, account = visit.tools.desk.people.traces, account or visit.account
    return await asyncio.to_thread(traces, account.account_id, wanted, limit, before)


async def show_to_operator(visit: Visit, account: Account, base: str) -> Response:
    """The account's last consultations, to help whoever asks about one."""
    before, fields, wanted, asked = visit.query("antes") or None, {}, _EVERYTHING, None
    if visit.query(CHARGED):
        asked = _asked(visit, visit.request.query_params, account)
        fields, wanted = asked.fields(), _wanted(visit, asked)
    # One more than is shown tells whether there are older ones.
    found = await read(visit, wanted, SHOWN_TO_OPERATORS + 1, before, account)
    shown, names = found[:SHOWN_TO_OPERATORS], names_of(visit, account.account_id)
    more = shown[-1].request_id if len(found) > len(shown) else None
    here = f"{base}/historico"
    return visit.page(
        "operador/historico.html",
        account=account,
        rows=[names.row(trace) for trace in shown],
        older=asking.address(here, fields | {"antes": more}) if more else None,
        newer=asking.address(here, fields) if before else None,
        sum=None if asked is None else await _sum_of(visit, asked, account),
        period=None if asked is None else asked.period,
    )


async def _sum_of(
    visit: Visit, asked: _Asked, account: Account | None = None
) -> tuple[int, int] | None:
    """How many the list of charged requests has, and what they cost; None: totals do not know."""
    if not asked.charged or asked.cnpj or asked.reference or asked.errors_only:
        return None
    wanted, number = asked.chosen.wanted, (account or visit.account).account_id
    if not visit.person.is_operator and visit.person.own_only is not None:
        wanted = replace(wanted, user_id=visit.person.own_only)
    first, last = asked.period.first, asked.period.last
    totals = await asyncio.to_thread(visit.tools.desk.totals.read, number, first, last, (), wanted)
    return (totals[0].requests, totals[0].credits) if totals else (0, 0)


async def show(visit: Visit) -> Response:
    """The list with its filters. `?id=` goes to one request's page."""
    if (number := visit.query("id")) != "":
        return visit.redirect(f"{PATH}/{number.lower()}") if is_id(number) else _no_id(visit)
    asked = _asked(visit, visit.request.query_params)
    if visit.query("documento") and asked.cnpj is None:
        # Perhaps it was a CPF: it does not stay in the address.
        return visit.redirect(PATH, **asked.fields(), aviso=_BAD_DOCUMENT)
    status = 422 if asked.complaint else 200
    return await _listed(visit, asked, _wanted(visit, asked), status)


def is_id(text: str) -> bool:
    """Whether this can be the number of a request."""
    return len(text) == 36 and all(each in "0123456789abcdefABCDEF-" for each in text)


def _no_id(visit: Visit) -> Response:
    return visit.page("requisicao_desconhecida.html", 404, number=None, is_operator=False)


async def show_person(visit: Visit) -> Response:
    """The list of one person's requests. The CPF is in the form that was sent, nowhere else."""
    asked = _asked(visit, visit.form)
    try:
        cpf = Cpf.parse(visit.typed("cpf"))
    except InvalidCpf:
        asked = replace(asked, complaint=_NO_CPF, before=None)
        return await _listed(visit, asked, _wanted(visit, asked), 422)
    pepper = visit.tools.parts.numbering.pepper
    wanted = replace(_wanted(visit, asked), document_hash=document_hash(pepper, cpf.text))
    return await _listed(visit, asked, wanted, 200, cpf)


async def to_the_list(visit: Visit) -> Response:
    """Somebody reloads the page of a person, or comes back to it after signing in."""
    return visit.redirect(PATH)


async def _listed(
    visit: Visit, asked: _Asked, wanted: TraceFilter, status: int, cpf: Cpf | None = None
) -> Response:
    found = await read(visit, wanted, SHOWN + 1, asked.before)
    names = names_of(visit, visit.account.account_id)
    fields, person_asked = asked.fields(), cpf is not None
    more = found[SHOWN - 1].request_id if len(found) > SHOWN else ""
    return visit.page(
        "historico.html",
        status,
        alert=asked.complaint,
        notes=asked.notes,
        rows=[names.row(trace) for trace in found[:SHOWN]],
        fields=fields,
        more=more,
        person=cpf.masked if cpf else None,
        cpf=cpf.text if cpf else "",
        older=asking.address(PATH, fields | {"antes": more}) if more else None,
        newest=asking.address(PATH, fields) if asked.before else None,
        filtered=not asked.chosen.is_all
        or asked.errors_only
        or asked.cnpj is not None
        or asked.reference is not None,
        operations=asking.OPERATIONS,
        origins=asking.ORIGINS,
        keys=asking.keys(names.keys),
        people=asking.people(names.users, asked.chosen.user),
        ufs=asking.UF_OPTIONS,
        charged=asked.charged,
        sum=None if person_asked else await _sum_of(visit, asked),
        csv=asking.address(f"{PATH}.csv", fields),
        xlsx=asking.address(f"{PATH}.xlsx", fields),
        trace_days=visit.tools.settings.trace_days,
        receipts_kept=length(visit.tools.settings.receipt_days),
        at_once_max=AT_ONCE_MAX,
        large=fields_large(visit),
        file=await file_of(visit),
        own_only=visit.person.own_only is not None,
    )


# The files' columns: name, width in characters, and what stands in it.
_CELLS: Sequence[tuple[str, int, Callable[[RequestRow], Value]]] = (
    ("quando", 19, lambda row: from_ms(row.trace.opened_ms)),
    ("request_id", 38, lambda row: row.trace.request_id),
    ("operacao", 18, lambda row: row.trace.operation),
    ("documento", 20, lambda row: row.trace.document),
    ("uf", 5, lambda row: row.trace.uf),
    ("status", 8, lambda row: row.trace.status),
    ("codigo", 24, lambda row: row.trace.code),
    ("resultado", 26, lambda row: row.outcome.text),
    ("origem", 8, lambda row: row.trace.origin),
    ("fonte", 24, lambda row: row.trace.source),
    ("fonte_consultada_em", 19, lambda row: row.trace.asked_ms and from_ms(row.trace.asked_ms)),
    ("creditos", 10, lambda row: row.trace.credits),
    ("regra", 40, lambda row: tariff.sentence(row.trace.rule)),
    ("regra_codigo", 28, lambda row: row.trace.rule),
    ("quem", 24, lambda row: row.who),
    ("cliente", 24, lambda row: row.trace.client),
    ("referencia", 24, lambda row: row.trace.reference),
)
COLUMNS, _WIDTHS, _TOLD = zip(*_CELLS, strict=True)
_CREDITS = COLUMNS.index("creditos")
# A sheet of Excel has 1,048,576 rows.
SHEET_ROWS_MAX = 1_000_000


# What people read above the same columns, where it is more than the name with a capital.
_HEADS: Mapping[str, str] = {
    "request_id": "Número da consulta",
    "operacao": "Operação",
    "uf": "UF",
    "codigo": "Código",
    "fonte_consultada_em": "Fonte consultada em",
    "creditos": "Créditos",
    "regra": "Por que este preço",
    "regra_codigo": "Código da regra",
    "referencia": "Referência",
}


async def as_table(visit: Visit) -> Response:
    """The list as CSV, page after page; of very long ones the page tells what to do."""
    return await _exported(visit, "csv", CSV)


async def as_workbook(visit: Visit) -> Response:
    """The list as a spreadsheet, likewise."""
    return await _exported(visit, "xlsx", XLSX)


async def _exported(visit: Visit, form: ExportForm, kind: FileKind) -> Response:
    asked = _asked(visit, visit.request.query_params)
    if asked.complaint:
        return visit.redirect(asking.address(PATH, asked.fields()))
    desk, number, wanted = visit.tools.desk, visit.account.account_id, _wanted(visit, asked)
    if await asyncio.to_thread(_is_large, desk, number, wanted):
        return visit.redirect(asking.address(PATH, asked.fields() | {LARGE: form}))
    names = names_of(visit, number)
    rows = map(names.row, leaving_room(all_of(desk, number, wanted)))
    return await visit.export(partial(WRITERS[form], rows), kind, _file_name(asked))


def _file_name(asked: _Asked) -> str:
    return f"historico-{asked.period.first}-{asked.period.last}"


def _is_large(desk: Desk, account_id: int, wanted: TraceFilter) -> bool:
    rows = leaving_room(all_of(desk, account_id, wanted))
    return next(islice(rows, AT_ONCE_MAX, None), None) is not None


def fields_large(visit: Visit) -> str | None:
    """The kind of file that was asked for and has too many rows to come at once."""
    form = visit.query(LARGE)
    return form if form in WRITERS else None


async def ask_for_file(visit: Visit) -> Response:
    """Have it written by a job; the person's former one is gone."""
    asked, form = _asked(visit, visit.form), visit.typed(LARGE)
    if asked.complaint or form not in WRITERS:
        return visit.redirect(asking.address(PATH, asked.fields()))
    tools = visit.tools
    await tools.desk.exports.begin(
        StoredExport(
            export_id=tools.new_id(),
            account_id=visit.account.account_id,
            user_id=visit.person.user.user_id,
            form="csv" if form == "csv" else "xlsx",
            name=_file_name(asked),
            wanted=msgspec.json.encode(_wanted(visit, asked)).decode(),
            rows=0,
            size_bytes=None,
            created_ms=tools.now_ms(),
        )
    )
    return visit.redirect(f"{asking.address(PATH, asked.fields())}#arquivo")


async def file_of(visit: Visit) -> StoredExport | None:
    """The file that this person asked for last, ready or not."""
    of_user = visit.tools.desk.exports.of_user
    return await of_user(visit.account.account_id, visit.person.user.user_id)


async def fetch_file(visit: Visit) -> Response:
    """The file, once it is ready."""
    found = await file_of(visit)
    if found is None or found.size_bytes is None:
        return visit.redirect(f"{PATH}#arquivo")
    kind = XLSX if found.form == "xlsx" else CSV
    pieces = in_threads(visit.tools.desk.exports.pieces(found.export_id))
    return download(pieces, found.size_bytes, kind, found.name)


def write_table(rows: Iterator[RequestRow], file: IO[bytes]) -> None:
    """As CSV: names of columns and values as programs know them."""
    write_csv(file, COLUMNS, map(_as_text, rows))


def write_workbook(rows: Iterator[RequestRow], file: IO[bytes]) -> None:
    """As a spreadsheet, a million rows to a sheet, the sum below the last."""
    credits = 0

    def told_of(some: Iterator[RequestRow]) -> Iterator[Sequence[Value]]:
        nonlocal credits
        for row in some:
            credits += row.trace.credits
            total[_CREDITS] = credits  # known when the last row is written: it stands below them
            yield [told(row) for told in _TOLD]

    heads = [_HEADS.get(name, name.capitalize()) for name in COLUMNS]
    total: list[Value] = ["Total", *[None] * (_CREDITS - 1), 0]

    def sheets() -> Iterator[Sheet]:
        number, first = 1, next(rows, None)
        while first is not None or number == 1:
            some = islice(rows, SHEET_ROWS_MAX - 1)
            name = "Consultas" if number == 1 else f"Consultas {number}"
            begun = () if first is None else (first,)
            yield Sheet(name, _WIDTHS, told_of(chain(begun, some)), heads, total)
            number, first = number + 1, next(rows, None)

    spreadsheet.write_xlsx(file, sheets())


WRITERS: Mapping[str, Callable[[Iterator[RequestRow], IO[bytes]], None]] = {
    "csv": write_table,
    "xlsx": write_workbook,
}


def all_of(desk: Desk, account_id: int, wanted: TraceFilter) -> Iterator[Trace]:
    """Read page after page, in whatever thread takes them."""
    before: str | None = None
    while some := desk.people.traces(account_id, wanted, _READ_AT_ONCE, before):
        yield from some
        before = some[-1].request_id


def _as_text(row: RequestRow) -> Sequence[Cell]:
    """Instants with their offset, as the API writes them."""
    return [
        value.isoformat(timespec="milliseconds") if isinstance(value, datetime.datetime) else value
        for value in (told(row) for told in _TOLD)
    ]


def lately(visit: Visit) -> TraceFilter:
    """What the visitor's account asked in the last 30 days, as far as they may see it."""
    today = asking.today_of(visit)
    period = Period.of(None, None, today)
    tomorrow = day_starts_ms(today + datetime.timedelta(days=1))
    return TraceFilter(period.from_ms, tomorrow, user_id=visit.person.own_only)
