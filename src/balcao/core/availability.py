"""Availability of sources: status per minute, hour and day, incidents, and bars (contract 17).

A place is a subject and a UF ("": the subject has none; BR: one call for all of them). Its status
is that of its best source, since one is enough. Without calls the status is unknown (`quiet`).
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

# `quiet` is last, although `down` is worse: if one source is down and no other was called, the
# place is down.
BEST_FIRST: Sequence[Standing] = ("ok", "degraded", "down", "quiet")

# With fewer calls, one customer's odd document would be half of them.
DOWN_CALLS_MIN = 5
DOWN_SHARE = 0.5
# One in twenty: a source in good health stays well below, and customers begin to notice.
DEGRADED_SHARE = 0.95

ALL_UFS = "BR"  # one call for all UFs

MINUTE_MS = 60_000
# A single answer may be luck; a quarter of an hour without a failure is a recovery.
WELL_MS = 15 * MINUTE_MS
# Without calls after the last failure, an incident is closed after this time.
FORGOTTEN_MS = HOUR_MS
# Failures in several UFs of one subject that begin within this time are one incident.
TOGETHER_MS = 10 * MINUTE_MS
# With fewer incidents no usual duration is given.
USUAL_INCIDENTS_MIN = 3


class Counts(NamedTuple):
    """How often a source was needed, and how often it answered.

    `wanted` includes calls that an open circuit prevented: their callers got nothing either.
    """

    wanted: int
    answered: int

    @property
    def share(self) -> float:
        """The share of answers, 0 to 1. Only if `wanted` is not 0."""
        return self.answered / self.wanted

    @property
    def standing(self) -> Standing:
        """The status that these counts amount to."""
        if not self.wanted:
            return "quiet"
        if self.wanted >= DOWN_CALLS_MIN and self.share < DOWN_SHARE:
            return "down"
        return "degraded" if self.share < DEGRADED_SHARE else "ok"


class SourceCounts(NamedTuple):
    """Calls of one source in one minute, hour or civil day."""

    begins_ms: int
    subject: str
    uf: str
    source: str
    asked: int
    answered: int
    turned_away: int  # by an open circuit, or because all connections were in use

    @property
    def counts(self) -> Counts:
        return Counts(self.asked + self.turned_away, self.answered)


def begins_ms(span: Span, at_ms: int) -> int:
    """Return when the minute, hour or civil day of this instant began.

    Brasília is whole hours from UTC; a civil day may have 23 or 25 hours.
    """
    if span == "day":
        return day_starts_ms(civil_day(at_ms))
    length_ms = MINUTE_MS if span == "minute" else HOUR_MS
    return at_ms - at_ms % length_ms


def best_counts(rows: Iterable[SourceCounts]) -> Mapping[Place, Counts]:
    """Return the counts of each place's best source, from rows of one span.

    A call for all UFs at once counts for each of the subject's UFs, too.
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
    """Return the status of each place that was called, from rows of one span."""
    return {place: counts.standing for place, counts in best_counts(rows).items()}


def overall(of_places: Iterable[Standing]) -> Standing:
    """Return the status of several places together; `down` only if all known ones are."""
    known = [standing for standing in of_places if standing != "quiet"]
    if not known:
        return "quiet"
    if all(standing == "down" for standing in known):
        return "down"
    return "ok" if all(standing == "ok" for standing in known) else "degraded"


# ---- Episodes and incidents ----


@dataclass(frozen=True, slots=True)
class Episode:
    """A series of failures of one place; it is an incident if there were enough of them.

    Counts are of the minutes that had failures. An episode that has ended never changes.
    """

    subject: str
    uf: str
    began_ms: int  # of the first minute with failures
    failed_ms: int  # of the last one
    well_ms: int | None  # of the first minute after it without failures; None: none yet
    wanted: int
    answered: int
    ended_ms: int | None = None

    @property
    def place(self) -> Place:
        return self.subject, self.uf

    @property
    def is_incident(self) -> bool:
        """Whether there were enough failures to report."""
        return self.wanted - self.answered >= DOWN_CALLS_MIN

    @property
    def has_recovered(self) -> bool:
        """Whether it ended because the source answered again, not for lack of calls."""
        return self.ended_ms is not None and self.well_ms is not None

    @property
    def standing(self) -> Standing:
        return "down" if self.answered < DOWN_SHARE * self.wanted else "degraded"

    def end(self, now_ms: int) -> "Episode":
        """Return this episode, with its end if it is over by now."""
        if self.well_ms is not None:
            ended_ms = self.well_ms if now_ms - self.well_ms >= WELL_MS else None
        else:
            last_ms = self.failed_ms + MINUTE_MS
            ended_ms = last_ms if now_ms - last_ms >= FORGOTTEN_MS else None
        return self if ended_ms is None else replace(self, ended_ms=ended_ms)


def advance_episodes(
    under_way: Iterable[Episode], minutes: Sequence[SourceCounts], until_ms: int
) -> Sequence[Episode]:
    """Advance the episodes under way to this instant, minute by minute.

    `minutes`: the rows since the last call, in order. Returns the episodes under way now and the
    incidents that have ended; ended episodes that were no incident are dropped.
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
    """Episodes of one subject that began together. `subject` and `began_ms` identify it."""

    subject: str
    began_ms: int
    ended_ms: int | None  # None: under way
    ufs: Sequence[str]  # in alphabetical order; empty: the subject has none; BR: all at once
    standing: Standing  # the worst of them
    has_recovered: bool  # if it ended: whether the source answered again


def incidents(episodes: Iterable[Episode]) -> Sequence[Incident]:
    """Return the incidents that episodes form, the latest first."""
    relevant = [episode for episode in episodes if episode.is_incident]
    relevant.sort(key=lambda one: (one.subject, one.began_ms, one.uf))
    groups: list[list[Episode]] = []
    for one in relevant:
        first = groups[-1][0] if groups else None
        if (
            first is not None
            and first.subject == one.subject
            and one.began_ms - first.began_ms <= TOGETHER_MS
        ):
            groups[-1].append(one)
        else:
            groups.append([one])
    found = map(_incident_of, groups)
    return sorted(found, key=lambda one: (one.began_ms, one.subject), reverse=True)


def _incident_of(episodes: Sequence[Episode]) -> Incident:
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
    """Return the usual length of a subject's incidents; None if too few are known."""
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
class StatusPeriod:
    """An hour or a civil day of one subject or place."""

    begins_ms: int
    ends_ms: int
    standing: Standing


def spans(span: Span, now_ms: int, count: int) -> Sequence[tuple[int, int]]:
    """Return start and end of the last `count` hours or civil days, the current one included."""
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
) -> Sequence[StatusPeriod]:
    """Return one bar per span. `known`: the statuses in each, by its beginning.

    An incident within a span makes it `degraded` at best; without calls it stays `quiet`.
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
        found.append(StatusPeriod(starts_ms, ends_ms, standing))
    return found
