"""The status history: bars of 24 hours and 90 days, and incidents (contract 17).

It has no counts, and shows names of sources only to operators. It is read once a minute.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from markupsafe import Markup

from balcao.core.availability import (
    ALL_UFS,
    Episode,
    Incident,
    Place,
    SourceCounts,
    Span,
    Standing,
    StatusPeriod,
    bars,
    incidents,
    spans,
    standings,
    usual_minutes,
)
from balcao.core.calendar import HOUR_MS, from_ms
from balcao.core.errors import StorageFailed
from balcao.core.notices import Tone
from balcao.core.questions import Mode, Subject
from balcao.core.writing import counted, instant, listed
from balcao.storage.desk.availability import AvailabilityRecord
from balcao.web.kit.cached import Cached
from balcao.web.kit.configured import CONFIGURED
from balcao.web.kit.drawing import strip
from balcao.web.kit.standings import SUBJECTS, WORDS
from balcao.web.kit.tools import Tools
from balcao.web.kit.words.vocabulary import Word

HOURS, DAYS = 24, 90
# The interval at which counts are written.
CACHED_MS = 60_000
# At most this many hours or days of a kind are named in a strip's text.
_NAMED_MAX = 6

# Codes of a bar in JSON; they do not change.
BAR_CODES: Mapping[Standing, str] = {
    "ok": "operacional",
    "degraded": "degradado",
    "down": "fora_do_ar",
    "quiet": "sem_consultas",
}
_IN_BARS: Mapping[Standing, str] = {
    "ok": "sem falhas",
    "degraded": "com falhas",
    "down": "fora do ar",
    "quiet": "sem consultas",
}


# Standings of places by the beginning of an hour or day, and the hours and days covered.
_Known: TypeAlias = Mapping[Span, Mapping[int, Mapping[Place, Standing]]]
_Spans: TypeAlias = Mapping[Span, Sequence[tuple[int, int]]]

LEGEND: Sequence[tuple[Tone, str]] = (
    ("good", "Sem falhas"),
    ("warn", "Com falhas"),
    ("bad", "Fora do ar"),
    ("neutral", "Sem consultas"),
)


@dataclass(frozen=True, slots=True)
class Strips:
    """The last 24 hours and 90 days of a subject, or of one of its UFs."""

    name: str
    hours: Sequence[StatusPeriod]
    days: Sequence[StatusPeriod]
    drawn_hours: Markup
    drawn_days: Markup

    @property
    def is_known(self) -> bool:
        """Whether there was any lookup."""
        return any(one.standing != "quiet" for one in (*self.hours, *self.days))

    @property
    def sentence(self) -> str:
        """A sentence about the days. Days without a lookup do not count."""
        asked = sum(one.standing != "quiet" for one in self.days)
        if not asked:
            return f"Nenhuma consulta nos últimos {DAYS} dias."
        well = sum(one.standing == "ok" for one in self.days)
        of_days = counted(asked, "dia com consultas", "dias com consultas")
        return f"Sem falhas em {well} de {of_days}, nos últimos {DAYS}."

    @property
    def had_trouble(self) -> bool:
        """Whether any bar shows failures."""
        return any(one.standing in ("degraded", "down") for one in (*self.hours, *self.days))


@dataclass(frozen=True, slots=True)
class SubjectStrips:
    """The strips of one subject: as a whole, and by UF where something failed."""

    subject: Subject
    strips: Strips
    ufs: Mapping[str, Strips]  # only those in which something failed
    sources: Mapping[str, Strips]  # by name, only for operators


@dataclass(frozen=True, slots=True)
class DescribedIncident:
    """One incident in words."""

    incident: Incident
    operation: str  # the operation's path
    usual_minutes: int | None  # of an open incident: the usual duration

    @property
    def anchor(self) -> str:
        """The incident's permanent anchor on the page."""
        return f"{self.operation}-{from_ms(self.incident.began_ms):%Y%m%dT%H%M}"

    @property
    def word(self) -> Word:
        return WORDS[self.incident.standing]

    @property
    def title(self) -> str:
        name = SUBJECTS[self.subject]
        ufs = self.incident.ufs
        where = "todas as UFs" if ALL_UFS in ufs else listed(ufs) if ufs else ""
        return f"{name} ({where})" if where else name

    @property
    def subject(self) -> Subject:
        return next(one for one in SUBJECTS if one == self.incident.subject)

    @property
    def when(self) -> str:
        """Its beginning and end in words, and how it ended."""
        began, ended_ms = instant(self.incident.began_ms), self.incident.ended_ms
        if ended_ms is None:
            usual = f" Em geral volta em {self.usual_minutes} min." if self.usual_minutes else ""
            return f"Desde {began}.{usual}"
        ended = instant(ended_ms)
        if began[:10] == ended[:10]:
            span = f"Em {began[:10]}, das {began[-5:]} às {ended[-5:]}"
        else:
            span = f"De {began} a {ended}"
        minutes = max(1, (ended_ms - self.incident.began_ms) // 60_000)
        lasted = counted(minutes, "minuto", "minutos")
        if not self.incident.has_recovered:
            return f"{span} ({lasted}). Depois, não houve consultas."
        return f"{span} ({lasted})."


@dataclass(frozen=True, slots=True)
class StatusHistory:
    """The status page's history: strips and incidents."""

    at_ms: int
    mode: Mode
    recent: Mapping[Place, Standing]  # by the last hour's lookups of all processes
    subjects: Mapping[Subject, SubjectStrips]
    incidents: Sequence[DescribedIncident]  # the latest first


async def _history(tools: Tools) -> StatusHistory | None:
    configured = await CONFIGURED.of(tools)
    mode: Mode = "test" if configured.is_offline else "live"
    try:
        return await asyncio.to_thread(_read, tools, mode, tools.now_ms())
    except StorageFailed:
        return None


# None: the database is unavailable.
HISTORY: Cached[StatusHistory | None] = Cached(_history, CACHED_MS)


def _read(tools: Tools, mode: Mode, now_ms: int) -> StatusHistory:
    hours, days = spans("hour", now_ms, HOURS), spans("day", now_ms, DAYS)
    since = (now_ms - HOUR_MS, hours[0][0], days[0][0], days[0][0])
    seen = tools.desk.availability.read(mode, since, now_ms)
    paths = {subject: operation.path for subject, operation in tools.parts.operations.items()}
    found = incidents(seen.episodes)
    return StatusHistory(
        now_ms,
        mode,
        standings(seen.minutes),
        {subject: _of_subject(subject, seen, {"hour": hours, "day": days}) for subject in SUBJECTS},
        [
            DescribedIncident(
                one,
                next(path for subject, path in paths.items() if subject == one.subject),
                usual_minutes(found, one.subject) if one.ended_ms is None else None,
            )
            for one in found
            if one.subject in paths
        ],
    )


def _of_subject(subject: Subject, seen: AvailabilityRecord, over: _Spans) -> SubjectStrips:
    hours = [row for row in seen.hours if row.subject == subject]
    days = [row for row in seen.days if row.subject == subject]
    known: _Known = {"hour": _by_beginning(hours), "day": _by_beginning(days)}
    troubles = [one for one in seen.episodes if one.subject == subject]
    ufs = {row.uf for row in (*hours, *days)} - {"", ALL_UFS}
    by_uf = {
        uf: _strips(uf, known, over, [one for one in troubles if one.uf in (uf, ALL_UFS)], uf)
        for uf in sorted(ufs)
    }
    sources = {
        source: _strips(
            source,
            {
                "hour": _by_beginning(row for row in hours if row.source == source),
                "day": _by_beginning(row for row in days if row.source == source),
            },
            over,
            (),
        )
        for source in sorted({row.source for row in (*hours, *days)})
    }
    return SubjectStrips(
        subject,
        _strips(SUBJECTS[subject], known, over, troubles),
        {uf: of_uf for uf, of_uf in by_uf.items() if of_uf.had_trouble},
        sources,
    )


def _strips(
    name: str, known: _Known, over: _Spans, troubles: Sequence[Episode], uf: str | None = None
) -> Strips:
    """Return the strips of one UF, or of all UFs together if `uf` is None."""
    of_spans: dict[Span, Sequence[StatusPeriod]] = {}
    for span, of_span in known.items():
        wanted: dict[int, Sequence[Standing]] = {}
        for starts_ms, places in of_span.items():
            own = [standing for (_, of_uf), standing in places.items() if of_uf == uf]
            for_all = [standing for (_, of_uf), standing in places.items() if of_uf == ALL_UFS]
            wanted[starts_ms] = [*places.values()] if uf is None else own or for_all
        of_spans[span] = bars(over[span], wanted, troubles)
    hours, days = of_spans["hour"], of_spans["day"]
    return Strips(name, hours, days, _drawn("hour", hours), _drawn("day", days))


def _by_beginning(rows: Iterable[SourceCounts]) -> Mapping[int, Mapping[Place, Standing]]:
    return {
        starts_ms: standings(of_span)
        for starts_ms, of_span in groupby(rows, attrgetter("begins_ms"))
    }


def _drawn(span: Span, stretches: Sequence[StatusPeriod]) -> Markup:
    return strip(
        [WORDS[one.standing].tone for one in stretches],
        f"Últimas {HOURS} horas" if span == "hour" else f"Últimos {DAYS} dias",
        _described(span, stretches),
    )


def _described(span: Span, stretches: Sequence[StatusPeriod]) -> str:
    """Describe a strip in words: the number of bars of each kind, and which show failures."""
    parts = []
    for standing, word in _IN_BARS.items():
        matching = [one for one in stretches if one.standing == standing]
        if not matching:
            continue
        one, many = ("hora", "horas") if span == "hour" else ("dia", "dias")
        text = f"{word} em {counted(len(matching), one, many)}"
        if standing in ("degraded", "down"):
            named = [_name(span, each.begins_ms) for each in matching[-_NAMED_MAX:]]
            if len(matching) > _NAMED_MAX:
                text += ", por último"
            text += f" ({listed(named)})"
        parts.append(text)
    return "; ".join(parts)


def _name(span: Span, at_ms: int) -> str:
    at = from_ms(at_ms)
    return f"{at:%d/%m} às {at:%H}h" if span == "hour" else f"{at:%d/%m}"
