"""Health of the sources in the last hour, for people, line by line.

A line is one source for one subject (and UF), since these fail separately. Memory is bounded and
lost with the process; `core/availability.py` keeps counts for longer.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from balcao.core.availability import ALL_UFS, BEST_FIRST, Counts, Standing
from balcao.observability.metrics import Circuits

WINDOW_MS = 3_600_000

# Calls kept per line: with more of them in an hour, the last ones suffice.
CALLS_MAX = 200

# Four sources of companies, three of registrations in 27 UFs and one call for all of them, for two
# kinds of registration, and certificates: some 220 in each of two modes.
LINES_MAX = 500

# Any answer means that the source is up, including "there is no such thing" and "your data are
# wrong" (both `absent`).
SUCCESSES = frozenset({"found", "absent"})


@dataclass(frozen=True, slots=True)
class Line:
    """The health of one source for one subject and UF.

    Counts cover the last hour, instants the process's life.
    """

    source: str
    subject: str
    uf: str  # "": none; BR: all in one call
    calls: int  # the last `CALLS_MAX` of the hour at most
    successes: int
    success_share: float | None  # 0 to 1; None: no calls
    p50_ms: float | None  # of the successes; None: there are none
    p95_ms: float | None
    last_success_ms: int | None  # None: not since this process began
    last_failure_ms: int | None
    last_outcome: str
    cost_micros: int | None  # since this process began, in millionths of a real; None: unknown
    circuit: str  # closed, open, half-open; "": it has none (our own copies, the sandbox)


class _Memory:
    """The recorded calls of one line."""

    __slots__ = (
        "calls",
        "cost_micros",
        "last_failure_ms",
        "last_ms",
        "last_outcome",
        "last_success_ms",
    )

    def __init__(self) -> None:
        # Instant, seconds, success.
        self.calls: deque[tuple[int, float, bool]] = deque(maxlen=CALLS_MAX)
        self.last_ms = 0
        self.last_success_ms: int | None = None
        self.last_failure_ms: int | None = None
        self.last_outcome = ""
        self.cost_micros: int | None = None


class Health:
    """The latest conversations with every source. Used on the event loop's thread only."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str, str, str], _Memory] = {}

    def note(  # noqa: PLR0917  # a call's fields, in their order
        self,
        mode: str,
        source: str,
        subject: str,
        uf: str,
        outcome: str,
        seconds: Sequence[float],
        at_ms: int,
    ) -> None:
        """Record conversations with the same outcome, one of the sources' outcomes.

        Each conversation counts once, even if several callers shared it. Microseconds, no I/O.
        """
        key = (mode, source, subject, uf)
        line = self._lines.get(key)
        if line is None:
            if len(self._lines) >= LINES_MAX:
                del self._lines[min(self._lines, key=lambda known: self._lines[known].last_ms)]
            line = self._lines[key] = _Memory()
        success = outcome in SUCCESSES
        line.calls.extend([(at_ms, each, success) for each in seconds])
        line.last_ms = at_ms
        line.last_outcome = outcome
        if success:
            line.last_success_ms = at_ms
        else:
            line.last_failure_ms = at_ms

    def spend(self, mode: str, source: str, subject: str, uf: str, micros: int) -> None:
        """Add what a provider charged for a recorded conversation."""
        line = self._lines.get((mode, source, subject, uf))
        if micros and line is not None:
            line.cost_micros = (line.cost_micros or 0) + micros

    def lines(self, mode: str, now_ms: int, circuits: Circuits | None = None) -> Sequence[Line]:
        """Return every line of the mode, by subject, UF and source. Takes some milliseconds.

        `circuits`: the state by source, subject and UF, as in the metrics. They exist for live
        sources only; without them the lines have no circuit.
        """
        states = circuits or {}
        found = [
            _line(of, memory, now_ms, states)
            for (of_mode, *of), memory in self._lines.items()
            if of_mode == mode
        ]
        return sorted(found, key=lambda line: (line.subject, line.uf, line.source))

    def line(self, mode: str, line: tuple[str, str, str], now_ms: int, circuit: str) -> Line:
        """Return one source for a subject and UF; `circuit` as in `Line`. Takes microseconds."""
        memory = self._lines.get((mode, *line))
        return _line(line, memory or _Memory(), now_ms, {line: circuit})


def standing(line: Line) -> Standing:
    """Return a source's status; `quiet`: it was not asked within the hour."""
    if line.circuit == "open":
        return "down"
    known = Counts(line.calls, line.successes).standing
    # Half-open: it failed several times in a row, and was not tried since.
    return "degraded" if line.circuit == "half-open" and known != "down" else known


def of_subject(lines: Iterable[Line]) -> Mapping[tuple[str, str], Standing]:
    """Return the status of each (subject, UF): that of its best source, since one is enough.

    A line for all UFs counts for each of the subject's UFs.
    """
    known = list(lines)
    standings: dict[tuple[str, str], Standing] = {}
    for subject, uf in sorted({(line.subject, line.uf) for line in known}):
        serving = {uf, ALL_UFS} if uf else {uf}
        standings[subject, uf] = min(
            (standing(line) for line in known if line.subject == subject and line.uf in serving),
            key=BEST_FIRST.index,
        )
    return standings


def _line(of: Sequence[str], memory: _Memory, now_ms: int, circuits: Circuits) -> Line:
    source, subject, uf = of
    recent = [call for call in memory.calls if call[0] > now_ms - WINDOW_MS]
    seconds = sorted(taken for _, taken, success in recent if success)
    return Line(
        source=source,
        subject=subject,
        uf=uf,
        calls=len(recent),
        successes=len(seconds),
        success_share=len(seconds) / len(recent) if recent else None,
        p50_ms=_percentile_ms(seconds, 50),
        p95_ms=_percentile_ms(seconds, 95),
        last_success_ms=memory.last_success_ms,
        last_failure_ms=memory.last_failure_ms,
        last_outcome=memory.last_outcome,
        cost_micros=memory.cost_micros,
        circuit=circuits.get((source, subject, uf), ""),
    )


def _percentile_ms(ascending: Sequence[float], percent: int) -> float | None:
    """Return the nearest-rank percentile: a measured value, never interpolated."""
    if not ascending:
        return None
    rank = -(-percent * len(ascending) // 100)  # rounded up, in integers
    return round(ascending[rank - 1] * 1000, 2)
