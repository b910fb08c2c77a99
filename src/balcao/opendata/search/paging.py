"""One page of a search: the index's candidates, checked, within a budget (contract 14.3, 14.5)."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from balcao.core.search import (
    COUNT_MAX,
    RANKED_MAX,
    Filters,
    HitCount,
    Hits,
    PageEffort,
    PartnerFilters,
    SearchPlace,
)
from balcao.core.search_record import PartnerSearchRecord, SearchRecord
from balcao.opendata.search.index import SearchIndex

Seconds = Callable[[], float]


class _CandidateScan:
    """Yields candidates from an ordinal on, until the budget is used up."""

    def __init__(  # noqa: PLR0917  # as `find`
        self,
        index: SearchIndex,
        filters: Filters,
        first: int,
        budget: PageEffort,
        now: Seconds,
        expression: str | None = None,
    ) -> None:
        """Begin at ordinal `first`. `expression`: a query of some candidates; None: of all."""
        self._index = index
        self._filters = filters
        self._budget = budget
        self._now = now
        self._deadline = now() + budget.seconds
        self._examined = 0
        self._expression = expression or filters.expression  # computed once, not for each part
        self.following = first  # the first ordinal that was not examined
        self.exhausted = False  # whether the budget was used up before the end

    def candidates(self) -> Iterator[int]:
        for first, end in self._spans():
            for ordinal in self._within(first, end):
                self.following = ordinal + 1
                yield ordinal
                self._examined += 1
                if self._spent():
                    return
            self.following = end
            if end < self._index.count and self._spent():
                return
        self.following = self._index.count

    def _spent(self) -> bool:
        spent = self._examined >= self._budget.candidates or self._now() >= self._deadline
        self.exhausted = spent and self.following < self._index.count
        return self.exhausted

    def _spans(self) -> Iterator[tuple[int, int]]:
        first = self.following
        if self._filters.matches_nothing:
            return
        if self._filters.roots:
            for root in sorted(set(self._filters.roots)):
                begin, end = self._index.ordinals_of_root(root)
                if end > first and end > begin:
                    yield max(begin, first), end
            return
        # Part by part, so that the budget is checked even where nothing is found.
        yield from self._index.parts(first)

    def _within(self, first: int, end: int) -> Iterator[int]:
        expression = self._expression
        if expression is None or self._filters.roots:  # a company has few
            return iter(range(first, end))
        return self._index.candidates(expression, first, end)


def find(  # noqa: PLR0917  # the search and its limits
    index: SearchIndex,
    filters: Filters,
    place: SearchPlace,
    limit: int,
    budget: PageEffort,
    now: Seconds,
) -> Hits:
    """Return one page from a place on. `now` counts seconds."""
    if place.order == "r":
        return _ranked(index, filters, place.number, limit, budget, now)
    scan = _CandidateScan(index, filters, place.number, budget, now)
    found: list[SearchRecord] = []
    for ordinal in scan.candidates():
        if (record := index.matching(ordinal, filters)) is not None:
            found.append(record)
            if len(found) == limit:
                more = scan.following < index.count
                return Hits(found, False, SearchPlace("c", scan.following) if more else None)
    return Hits(found, scan.exhausted, _continuation(scan))


def _continuation(scan: _CandidateScan) -> SearchPlace | None:
    return SearchPlace("c", scan.following) if scan.exhausted else None


def _ranked(  # noqa: PLR0917  # as `find`
    index: SearchIndex, filters: Filters, done: int, limit: int, budget: PageEffort, now: Seconds
) -> Hits:
    """Return hits by relevance among the first candidates; then the others by CNPJ.

    The candidates do not depend on time: each page is a part of one order.
    """
    scan = _CandidateScan(index, filters, 0, PageEffort(RANKED_MAX, float("inf")), now)
    found = [
        record
        for ordinal in scan.candidates()
        if (record := index.matching(ordinal, filters)) is not None
    ]
    found.sort(key=filters.relevance)
    page = found[done : done + limit]
    if done + limit < len(found):
        return Hits(page, False, SearchPlace("r", done + limit))
    return Hits(page, False, _continuation(scan))


def count(index: SearchIndex, filters: Filters, budget: PageEffort, now: Seconds) -> HitCount:
    """Count the hits, exactly up to `COUNT_MAX` where the budget suffices.

    The index counts those of which it is certain; the others are checked one by one.
    """
    certain, total = filters.certain, 0
    begun = now()
    if certain is not None:
        for first, end in index.parts(0):
            total += index.count_matches(certain, first, end, COUNT_MAX + 1 - total)
            if total > COUNT_MAX:
                return HitCount(COUNT_MAX, False)
            if end < index.count and now() - begun >= budget.seconds:
                return HitCount(total, False)
        if filters.uncertain is None:
            return HitCount(total, True)
    rest = msgspec.structs.replace(budget, seconds=budget.seconds - (now() - begun))
    scan = _CandidateScan(index, filters, 0, rest, now, certain and filters.uncertain)
    by_index = filters.index_checks_codes
    for ordinal in scan.candidates():
        total += (
            index.fits(ordinal, filters)
            if by_index
            else index.matching(ordinal, filters) is not None
        )
        if total > COUNT_MAX:
            return HitCount(COUNT_MAX, False)
    return HitCount(total, not scan.exhausted)


def find_partners(
    index: SearchIndex, filters: PartnerFilters, limit: int, budget: PageEffort, now: Seconds
) -> tuple[Sequence[PartnerSearchRecord], bool]:
    """Return the partners with a name or document, ordered by company, and if more may follow."""
    deadline, found = now() + budget.seconds, []
    for first, end in index.parts(0):
        for examined, ordinal in enumerate(index.partners(filters.expression, first, end), 1):
            found += [
                each
                for each in index.partners_of(ordinal)
                if filters.matches(each.name, each.document)
            ]
            if len(found) > limit:
                return found[:limit], True
            if examined >= budget.candidates or now() >= deadline:
                return found, True
        if end < index.count and now() >= deadline:
            return found, True
    return found, False
