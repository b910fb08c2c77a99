"""The companies that an account looked up: the latest, and those matching a name.

Names come from answers, our own copy of the month or the cache, as in the history; no source is
asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.documents import Cnpj
from balcao.core.errors import CallerError, NotFound, errors_by_code
from balcao.core.ledger import Trace
from balcao.core.search_box import name_matches
from balcao.core.words import words_of
from balcao.storage.people import TraceFilter
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.vocabulary import Word, outcome_of, short
from balcao.web.pages import history

RECENT_SHOWN = 6
_READ_FOR_RECENT = 200
# Searches by name cover the companies of this many requests; a company's page has no such limit.
_READ_FOR_NAMES = 2_000
_COMPANIES_MAX = 500
# Codes of requests that ended before a lookup: they show nothing about the company.
_REFUSALS = frozenset(
    code
    for code, kind in errors_by_code().items()
    if issubclass(kind, CallerError) and not issubclass(kind, NotFound)
)


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
        if not trace.of_company or trace.code in _REFUSALS:
            continue
        if trace.document not in latest and len(latest) == most:
            continue
        latest.setdefault(trace.document, trace)
        if (known_name := history.name_of(trace)) is not None:
            names.setdefault(trace.document, known_name)
    registry = context.tools.parts.environments[context.account.mode].registry
    known = await registry.dated_companies([Cnpj(document) for document in latest])
    found: list[RecentCompany] = []
    for trace in await history.with_company_names(context, list(latest.values())):
        cnpj = Cnpj(trace.document)
        company, _ = known.get(cnpj, (None, 0))
        name = names.get(cnpj.text) or history.name_of(trace)
        trade_name = company.nome_fantasia if company and name else None
        found.append(RecentCompany(cnpj, name, trade_name, trace))
    return found
