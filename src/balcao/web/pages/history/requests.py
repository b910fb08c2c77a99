"""The requests of an account as rows of tables: in words, with the names of the callers."""

import asyncio
import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from balcao.accounts.statement import Period
from balcao.core.access import Account, key_names
from balcao.core.calendar import HOUR_MS, day_starts_ms
from balcao.core.company import Company, is_person
from balcao.core.documents import Cnpj
from balcao.core.extensions import Extended, Extension
from balcao.core.ledger import Trace
from balcao.core.result_summary import ResultSummary, summary_of
from balcao.http.searches import sees_people
from balcao.operations.certificates.lookup import by_act_of
from balcao.operations.company.operation import CompanyLookup
from balcao.storage.desk.desk import Desk
from balcao.storage.people import TraceFilter
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.forms import BY_PATH
from balcao.web.kit.words import vocabulary
from balcao.web.kit.words.vocabulary import Word

PATH = "/app/historico"

RESULTS = "/app/consultas/resultado"
OPERATORS = "/app/operador/requisicoes"


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One row of the tables; `trace` has the rest."""

    trace: Trace
    operation: str
    outcome: Word
    origin: str | None  # None: there was no answer
    who: str
    name: str | None = None  # the company's
    result: str | None = None  # address of the result; None: no longer recorded
    by_act: Extended | None = None  # the certificate's extension by an act (contract 4.12)

    @property
    def company(self) -> str | None:
        """The address of the company's page; None: it is about a person."""
        return company_page(self.trace.document) if self.trace.of_company else None

    @property
    def validity(self) -> str | None:
        """The certificate's last day of validity."""
        brought = self.trace.certificate
        return None if brought is None else brought.validity


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the account's keys and users, by number.

    `others`: operators without a membership now. They are named only at requests from the time of
    their membership (contract 7.6).
    """

    keys: Mapping[int | None, str]
    users: Mapping[int, str]
    others: Mapping[int, str] = field(default_factory=dict)

    def who(self, key_id: int | None, user_id: int | None) -> str:
        """Return the name of a key or person; without either, an operator used the command line."""
        if key_id is not None:
            return self.key_name(key_id)
        if user_id is not None:
            return self.person(user_id)
        return "linha de comando"  # `balcao batch`

    def key_name(self, key_id: int | None) -> str:
        """Return the name of a ledger entry's key; entries have no person."""
        return self.keys.get(key_id, f"chave {key_id}")

    def person(self, user_id: int) -> str:
        return self.users.get(user_id) or self.others.get(user_id, f"usuário {user_id}")

    def row(self, trace: Trace, result: str | None = None) -> RequestRow:
        """Return a request as a row of texts, with the address of its result."""
        return RequestRow(
            trace,
            vocabulary.short(trace.operation),
            vocabulary.outcome_of(trace),
            vocabulary.origin_of(trace),
            self.who(trace.key_id, trace.user_id),
            name_of(trace),
            result,
        )


def company_page(cnpj: str) -> str:
    """Return the address of a company's page."""
    return f"/app/empresas/{cnpj}"


def names_of(context: PageContext, account_id: int) -> Names:
    """Return the names of the keys and users of a page's account."""
    return names_in(context.desk, account_id)


def names_in(desk: Desk, account_id: int) -> Names:
    """Return the names of an account's keys and users, read from a desk."""
    members = {membership.user_id for membership in desk.memberships.within(account_id)}
    users: dict[int, str] = {}
    others: dict[int, str] = {}
    for user in (*desk.people.users(None), *desk.people.users(account_id)):
        is_member = user.account_id == account_id or user.user_id in members
        (users if is_member else others)[user.user_id] = user.name
    return Names(key_names(desk.keys(account_id)), users, others)


async def read(
    context: PageContext,
    wanted: TraceFilter,
    limit: int,
    before: str | None = None,
    account: Account | None = None,
) -> Sequence[Trace]:
    """Return requests of `account` (default: the visitor's), newest first."""
    traces, account = context.desk.people.traces, account or context.account
    return await asyncio.to_thread(traces, account.account_id, wanted, limit, before)


async def rows_of(context: PageContext, traces: Sequence[Trace]) -> Sequence[RequestRow]:
    """Return requests of the visitor's account in words, with company names known by now."""
    names = names_of(context, context.account.account_id)
    acts = context.desk.extensions.all()
    return [
        replace(names.row(trace, _result(context, trace)), by_act=_later(trace, acts))
        for trace in await with_company_names(context, traces)
    ]


def _later(trace: Trace, acts: Sequence[Extension]) -> Extended | None:
    form = BY_PATH.get(trace.operation)
    return None if form is None else by_act_of(acts, form.subject, trace)


async def names_of_companies(
    context: PageContext, cnpjs: Collection[Cnpj], answered: Collection[str | None]
) -> Mapping[str, str]:
    """Return the names of companies from our own copy or the cache, by CNPJ. Nothing is asked.

    Natural persons are named only if the account has an answer about them (`answered`), or with the
    opt-in (contract 14.4).
    """
    registry = context.tools.parts.environments[context.account.mode].registry
    known, sees_all = await registry.dated_companies(cnpjs), sees_people(context.person.caller())
    return {
        cnpj.text: company.nome_empresarial
        for cnpj, (company, _) in known.items()
        if company.nome_empresarial
        and (sees_all or cnpj.text in answered or not is_person(company))
    }


async def with_company_names(context: PageContext, traces: Sequence[Trace]) -> Sequence[Trace]:
    """Add names of companies to traces recorded without one, from our own copy or the cache.

    A name that is available now was available then (ADR 0028). A copy of the very day of the answer
    also gives its result. Natural persons are named only for answered requests, or with the opt-in
    (contract 14.4).
    """
    nameless = {Cnpj(each.document) for each in traces if each.of_company and not name_of(each)}
    if not nameless:
        return traces
    registry = context.tools.parts.environments[context.account.mode].registry
    known = await registry.dated_companies(nameless)
    sees_all = sees_people(context.person.caller())
    named: list[Trace] = []
    for trace in traces:
        found = None if name_of(trace) else known.get(Cnpj(trace.document))
        if found is None or not (trace.code is None or sees_all or not is_person(found[0])):
            named.append(trace)
            continue
        summary = _result_summary(trace, *found)
        named.append(msgspec.structs.replace(trace, result_summary=summary))
    return named


def _result_summary(trace: Trace, company: Company, asked_ms: int) -> ResultSummary:
    result = None if trace.result_summary is None else trace.result_summary.result
    if trace.code is not None:
        return summary_of(company.nome_empresarial, result)
    if trace.operation == CompanyLookup.path and trace.asked_ms == asked_ms:
        result = company.situacao_cadastral
    return summary_of(company.nome_empresarial, result)


def name_of(trace: Trace) -> str | None:
    """Return the company's name, as far as it is recorded."""
    records = (trace.certificate, trace.result_summary)
    return next((each.name for each in records if each is not None and each.name), None)


def _result(context: PageContext, trace: Trace) -> str | None:
    """Return the address of the result's page, if there is more there than here."""
    parts = context.tools.parts
    hours = parts.idempotency_hours if trace.user_id is None else parts.result_hours
    is_kept = trace.key_digest is not None and (
        trace.opened_ms >= context.now_ms() - hours * HOUR_MS
    )
    if trace.operation not in BY_PATH or not (is_kept or trace.certificate is not None):
        return None
    return f"{RESULTS}/{trace.request_id}"


def recent_filter(context: PageContext) -> TraceFilter:
    """Return the filter for the requests of the last 30 days that this person may see."""
    today = filters.today_of(context)
    period = Period.of(None, None, today)
    tomorrow = day_starts_ms(today + datetime.timedelta(days=1))
    return TraceFilter(period.from_ms, tomorrow, user_id=context.person.own_only)
