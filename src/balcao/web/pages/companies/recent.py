"""The companies that an account asked about: the latest, and those of a name.

A name is what an answer said, or what our own copy of the month or the cache has, as in the
history; nobody is asked.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.box import is_named
from balcao.core.documents import Cnpj
from balcao.core.errors import InvalidCnpj
from balcao.core.ledger import Trace
from balcao.core.words import words_of
from balcao.storage.people import TraceFilter
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.vocabulary import Word, outcome_of, short
from balcao.web.pages import history
from balcao.web.pages.companies import known

RECENT_SHOWN = 6
_LOOKED_AT_FOR_RECENT = 200
# For a name: the companies of this many requests. A company's own page has no such bound.
_LOOKED_AT_FOR_NAMES = 2_000
_COMPANIES_MAX = 500
# Reading the month is work for this thread: others come in between.
_READ_AT_ONCE = 25


@dataclass(frozen=True, slots=True)
class RecentCompany:
    """A company, and what was asked of it last."""

    cnpj: Cnpj
    name: str | None
    trade_name: str | None
    trace: Trace

    @property
    def operation(self) -> str:
        """The last lookup's operation, in a word or two."""
        return short(self.trace.operation)

    @property
    def outcome(self) -> Word:
        """The last lookup's outcome."""
        return outcome_of(self.trace)


async def recent_companies(
    context: PageContext, shown: int = RECENT_SHOWN
) -> Sequence[RecentCompany]:
    """The latest companies that this person may see requests of, newest first."""
    return await _companies(context, _LOOKED_AT_FOR_RECENT, shown)


async def companies_named(context: PageContext, words: str, shown: int) -> Sequence[RecentCompany]:
    """Return the companies whose legal or trade name has these words, the latest first."""
    wanted = words_of(words)
    found = await _companies(context, _LOOKED_AT_FOR_NAMES, _COMPANIES_MAX)
    hits = [
        each for each in found if is_named(wanted, f"{each.name or ''} {each.trade_name or ''}")
    ]
    return hits[:shown]


async def _companies(context: PageContext, looked_at: int, most: int) -> Sequence[RecentCompany]:
    everything = TraceFilter(0, context.now_ms() + 1, user_id=context.person.own_only)
    latest: dict[str, Trace] = {}
    given: dict[str, str] = {}
    for trace in await history.read(context, everything, looked_at):
        if not trace.of_company:
            continue
        if trace.document not in latest and len(latest) == most:
            continue
        latest.setdefault(trace.document, trace)
        if (said := history.name_of(trace)) is not None:
            given.setdefault(trace.document, said)
    found: list[RecentCompany] = []
    for number, (document, trace) in enumerate(latest.items(), 1):
        try:
            cnpj = Cnpj.parse(document)
        except InvalidCnpj:  # nothing that a lookup of today would have left
            continue
        company = known.in_the_month(context, cnpj, asked=True)
        (told,) = await history.with_gists(context, [trace])
        name = given.get(document) or history.name_of(told)
        if name is None and company is not None:
            name = company.nome_empresarial
        trade_name = company.nome_fantasia if company else None
        found.append(RecentCompany(cnpj, name, trade_name, told))
        if number % _READ_AT_ONCE == 0:
            await asyncio.sleep(0)
    return found
