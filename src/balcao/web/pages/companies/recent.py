"""The companies that an account looked up: the latest, and those matching a name.

Names come from answers, our own copy of the month or the cache, as in the history; no source is
asked.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.documents import Cnpj
from balcao.core.errors import InvalidCnpj
from balcao.core.ledger import Trace
from balcao.core.search_box import name_matches
from balcao.core.words import words_of
from balcao.storage.people import TraceFilter
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.vocabulary import Word, outcome_of, short
from balcao.web.pages import history
from balcao.web.pages.companies import facts

RECENT_SHOWN = 6
_READ_FOR_RECENT = 200
# Searches by name cover the companies of this many requests; a company's page has no such limit.
_READ_FOR_NAMES = 2_000
_COMPANIES_MAX = 500
# The month is read in this thread: yield to other tasks after this many.
_READ_AT_ONCE = 25


@dataclass(frozen=True, slots=True)
class RecentCompany:
    """A company, and the latest request about it."""

    cnpj: Cnpj
    name: str | None
    trade_name: str | None
    trace: Trace

    @property
    def operation(self) -> str:
        return short(self.trace.operation)

    @property
    def outcome(self) -> Word:
        return outcome_of(self.trace)


async def recent_companies(
    context: PageContext, shown: int = RECENT_SHOWN
) -> Sequence[RecentCompany]:
    """Return the latest companies in requests that this person may see, newest first."""
    return await _companies(context, _READ_FOR_RECENT, shown)


async def companies_named(context: PageContext, words: str, shown: int) -> Sequence[RecentCompany]:
    """Return the companies with these words in their legal or trade name, the latest first."""
    wanted = words_of(words)
    found = await _companies(context, _READ_FOR_NAMES, _COMPANIES_MAX)
    hits = [
        each for each in found if name_matches(wanted, f"{each.name or ''} {each.trade_name or ''}")
    ]
    return hits[:shown]


async def _companies(context: PageContext, looked_at: int, most: int) -> Sequence[RecentCompany]:
    everything = TraceFilter(0, context.now_ms() + 1, user_id=context.person.own_only)
    latest: dict[str, Trace] = {}
    names: dict[str, str] = {}
    for trace in await history.read(context, everything, looked_at):
        if not trace.of_company:
            continue
        if trace.document not in latest and len(latest) == most:
            continue
        latest.setdefault(trace.document, trace)
        if (known_name := history.name_of(trace)) is not None:
            names.setdefault(trace.document, known_name)
    found: list[RecentCompany] = []
    for number, (document, trace) in enumerate(latest.items(), 1):
        try:
            cnpj = Cnpj.parse(document)
        except InvalidCnpj:  # recorded by an older version
            continue
        company = facts.company_in_month(context, cnpj, asked=True)
        (named,) = await history.with_company_names(context, [trace])
        name = names.get(document) or history.name_of(named)
        if name is None and company is not None:
            name = company.nome_empresarial
        trade_name = company.nome_fantasia if company else None
        found.append(RecentCompany(cnpj, name, trade_name, named))
        if number % _READ_AT_ONCE == 0:
            await asyncio.sleep(0)
    return found
