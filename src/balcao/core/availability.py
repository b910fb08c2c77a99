"""How well sources have served: what a minute tells, what a bar of the status page says, and what
an incident is (contract 17).

A place is a subject and a UF ("": the subject has none; BR: one call for all of them). It is served
as its best source serves it, since one is enough. Where nobody asked, nothing is known, and nothing
is said.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from statistics import median_low
from typing import Literal, NamedTuple, TypeAlias

from balcao.core.calendar import HOUR_MS, civil_day, day_starts_ms

Standing: TypeAlias = Literal["ok", "degraded", "down", "quiet"]
Span: TypeAlias = Literal["minute", "hour", "day"]
Place: TypeAlias = tuple[str, str]

# Best first. What is known to be down is worse than what nobody asked, but it is knowledge: where
# one source is down and nobody was asked instead, people are not being served.
BEST_FIRST: Sequence[Standing] = ("ok", "degraded", "down", "quiet")

# Of fewer calls than this, one customer's odd document is half of all.
DOWN_CALLS_MIN = 5
# More often than not, whoever asks gets nothing.
DOWN_SHARE = 0.5
# One in twenty: a source in good health stays well below, and customers begin to notice.
DEGRADED_SHARE = 0.95

ALL_UFS = "BR"  # one call for all UFs

MINUTE_MS = 60_000
# One answer may be chance. A quarter of an hour without a failure is none.
WELL_MS = 15 * MINUTE_MS
# Nobody asked after the last failure: an incident is not kept open for what nobody knows.
FORGOTTEN_MS = HOUR_MS
# Failures of UFs of one subject that begin together are one incident.
TOGETHER_MS = 10 * MINUTE_MS
# Of fewer, the usual one is chance.
USUAL_INCIDENTS_MIN = 3


class Counts(NamedTuple):
    """How often somebody wanted a source, and how often it answered.

    Wanted counts also those whom an open circuit kept from it: they got nothing either.
    """

    wanted: int
    answered: int

    @property
    def share(self) -> float:
        """0 to 1, of one that was wanted."""
        return self.answered / self.wanted

    @property
    def standing(self) -> Standing:
        """The same in one word."""
        if not self.wanted:
            return "quiet"
        if self.wanted >= DOWN_CALLS_MIN and self.share < DOWN_SHARE:
            return "down"
        return "degraded" if self.share < DEGRADED_SHARE else "ok"


class SourceCounts(NamedTuple):
    """What one source was asked in one minute, hour or civil day."""

    begins_ms: int
    subject: str
    uf: str
    source: str
    asked: int
    answered: int
    turned_away: int  # by an open circuit, or because our own connections were all in use

    @property
    def counts(self) -> Counts:
        """Whom it served."""
        return Counts(self.asked + self.turned_away, self.answered)


def begins_ms(span: Span, at_ms: int) -> int:
    """When the minute, hour or civil day of this instant began.

    Brasília is whole hours from UTC, and its days begin when they do: one may have 23 or 25 hours.
    """
    if span == "day":
        return day_starts_ms(civil_day(at_ms))
    length_ms = MINUTE_MS if span == "minute" else HOUR_MS
    return at_ms - at_ms % length_ms


def best_counts(rows: Iterable[SourceCounts]) -> Mapping[Place, Counts]:
    """Of each place its best source's counts, all of one span.

    A call for all UFs at once speaks for each of the subject's UFs, too.
    """
    by_source: dict[Place, dict[str, Counts]] = {}
    for row in rows:
        of_place = by_source.setdefault((row.subject, row.uf), {})
        before = of_place.get(row.source, Counts(0, 0))
        of_place[row.source] = Counts(*map(sum, zip(before, row.counts, strict=True)))
    found = {}
    for (subject, uf), sources in by_source.items():
        serving = [*sources.values()]
        if uf and uf != ALL_UFS:
            serving += by_source.get((subject, ALL_UFS), {}).values()
        asked = [counts for counts in serving if counts.wanted]
        if asked:
            found[subject, uf] = max(
                asked, key=lambda counts: (-BEST_FIRST.index(counts.standing), counts.share)
            )
    return found


def standings(rows: Iterable[SourceCounts]) -> Mapping[Place, Standing]:
    """How each place that somebody asked was served, from rows of one span."""
    return {place: counts.standing for place, counts in best_counts(rows).items()}


def overall(of_places: Iterable[Standing]) -> Standing:
    """Several places in one word: down only where all that was asked is."""
    known = [standing for standing in of_places if standing != "quiet"]
    if not known:
        return "quiet"
    if all(standing == "down" for standing in known):
        return "down"
    return "ok" if all(standing == "ok" for standing in known) else "degraded"


# ---- Episodes and incidents ----


@dataclass(frozen=True, slots=True)
class Episode:
    """Failures of one place that follow one another; few of them are no incident.

    Counts are of the minutes that had failures. An episode that has ended never changes.
    """

    subject: str
    uf: str
    began_ms: int  # of the first minute with failures
    failed_ms: int  # of the last one
    well_ms: int | None  # of the first minute after it in which it answered; None: none yet
    wanted: int
    answered: int
    ended_ms: int | None = None

    @property
    def place(self) -> Place:
        """Subject and UF."""
        return self.subject, self.uf

    @property
    def is_incident(self) -> bool:
        """Whether so many got nothing that it is worth telling."""
        return self.wanted - self.answered >= DOWN_CALLS_MIN

    @property
    def has_recovered(self) -> bool:
        """Whether its end was seen. Else nobody asked any more."""
        return self.ended_ms is not None and self.well_ms is not None

    @property
    def standing(self) -> Standing:
        """`down` or `degraded`."""
        return "down" if self.answered < DOWN_SHARE * self.wanted else "degraded"

    def end(self, now_ms: int) -> "Episode":
        """The same, ended if it is over by now."""
        if self.well_ms is not None:
            ended_ms = self.well_ms if now_ms - self.well_ms >= WELL_MS else None
        else:
            last_ms = self.failed_ms + MINUTE_MS
            ended_ms = last_ms if now_ms - last_ms >= FORGOTTEN_MS else None
        return self if ended_ms is None else replace(self, ended_ms=ended_ms)


def follow(
    under_way: Iterable[Episode], minutes: Sequence[SourceCounts], until_ms: int
) -> Sequence[Episode]:
    """Go on with the episodes under way, minute by minute, to this instant.

    `minutes` are those since the last time, in their order. What comes back is all that are under
    way now, and the incidents that have ended; what was none is forgotten.
    """
    going = {episode.place: episode for episode in under_way}
    ended: list[Episode] = []

    def settle(place: Place, at_ms: int) -> None:
        episode = going[place].end(at_ms)
        if episode.ended_ms is not None:
            del going[place]
            if episode.is_incident:
                ended.append(episode)

    for at_ms, rows in groupby(minutes, attrgetter("begins_ms")):
        for place, counts in best_counts(rows).items():
            if place in going:
                settle(place, at_ms)
            episode = going.get(place)
            if counts.standing != "ok":
                going[place] = _failed(place, episode, at_ms, counts)
            elif episode is not None and episode.well_ms is None:
                going[place] = replace(episode, well_ms=at_ms)
    for place in [*going]:
        settle(place, until_ms)
    return [*going.values(), *ended]


def _failed(place: Place, episode: Episode | None, at_ms: int, counts: Counts) -> Episode:
    if episode is None:
        return Episode(*place, at_ms, at_ms, None, *counts)
    return replace(
        episode,
        failed_ms=at_ms,
        well_ms=None,
        wanted=episode.wanted + counts.wanted,
        answered=episode.answered + counts.answered,
    )


@dataclass(frozen=True, slots=True)
class Incident:
    """Episodes of one subject that began together. `subject` and `began_ms` name it for ever."""

    subject: str
    began_ms: int
    ended_ms: int | None  # None: under way
    ufs: Sequence[str]  # in alphabetical order; empty: the subject has none; BR: all at once
    standing: Standing  # of the worst of them
    has_recovered: bool  # of one that ended: whether it was seen to answer again


def incidents(episodes: Iterable[Episode]) -> Sequence[Incident]:
    """What episodes are told as, the latest first."""
    told = [episode for episode in episodes if episode.is_incident]
    told.sort(key=lambda one: (one.subject, one.began_ms, one.uf))
    groups: list[list[Episode]] = []
    for one in told:
        first = groups[-1][0] if groups else None
        if (
            first is not None
            and first.subject == one.subject
            and one.began_ms - first.began_ms <= TOGETHER_MS
        ):
            groups[-1].append(one)
        else:
            groups.append([one])
    found = map(_together, groups)
    return sorted(found, key=lambda one: (one.began_ms, one.subject), reverse=True)


def _together(episodes: Sequence[Episode]) -> Incident:
    ends = [one.ended_ms for one in episodes if one.ended_ms is not None]
    worst = max((one.standing for one in episodes), key=BEST_FIRST.index)
    return Incident(
        episodes[0].subject,
        episodes[0].began_ms,
        max(ends) if len(ends) == len(episodes) else None,
        sorted({one.uf for one in episodes if one.uf}),
        worst,
        all(one.has_recovered for one in episodes),
    )


def usual_minutes(known: Iterable[Incident], subject: str) -> int | None:
    """How long incidents of a subject last as a rule. None: too few were seen to end."""
    lasted = [
        one.ended_ms - one.began_ms
        for one in known
        if one.subject == subject and one.has_recovered and one.ended_ms is not None
    ]
    if len(lasted) < USUAL_INCIDENTS_MIN:
        return None
    return max(1, median_low(lasted) // MINUTE_MS)


# ---- Bars ----


@dataclass(frozen=True, slots=True)
class Stretch:
    """An hour or a civil day of one subject or place."""

    begins_ms: int
    ends_ms: int
    standing: Standing


def spans(span: Span, now_ms: int, count: int) -> Sequence[tuple[int, int]]:
    """The last so many hours or civil days, this one included: when each begins and ends."""
    ends = [begins_ms(span, now_ms)]
    while len(ends) < count:
        ends.append(begins_ms(span, ends[-1] - 1))
    after = ends[0] + 25 * HOUR_MS if span == "day" else ends[0] + HOUR_MS
    edges = [begins_ms(span, after), *ends]
    return [(one, following) for following, one in zip(edges, ends, strict=False)][::-1]


def bars(
    over: Sequence[tuple[int, int]],
    known: Mapping[int, Iterable[Standing]],
    troubles: Iterable[Episode],
) -> Sequence[Stretch]:
    """One bar for each span, from what is known of it by its beginning.

    A day in which all but one hour went well was not well: where an incident lies in a bar, it says
    `degraded` at the best. What nobody asked stays `quiet`, incident or not.
    """
    times = [(one.began_ms, one.ended_ms) for one in troubles if one.is_incident]
    found = []
    for starts_ms, ends_ms in over:
        standing = overall(known.get(starts_ms, ()))
        if standing == "ok" and any(
            began_ms < ends_ms and (ended_ms is None or ended_ms > starts_ms)
            for began_ms, ended_ms in times
        ):
            standing = "degraded"
        found.append(Stretch(starts_ms, ends_ms, standing))
    return found
