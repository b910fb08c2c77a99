"""How the sources have been of late, for a person who looks: the last hour, line by line.

A line is one source for one subject (and UF): what fails, fails there. Memory is bounded, and
forgotten with the process: counts are what is kept for longer (`core/availability.py`).
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from balcao.core.availability import ALL_UFS, BEST_FIRST, Counts, Standing
from balcao.observability.metrics import Circuits

WINDOW_MS = 3_600_000

# Of a line that is asked more often than this in an hour, the last ones say how it is now.
CALLS_MAX = 200

# Four sources of companies, three of registrations in 27 UFs and one call for all of them, for two
# kinds of registration, and certificates: some 220 in each of two modes.
LINES_MAX = 500

# An answer of any kind, "there is no such thing" and "your data are wrong" (which the sources tell
# as `absent`) included: whoever gives it is up.
SUCCESSES = frozenset({"found", "absent"})


@dataclass(frozen=True, slots=True)
class Line:
    """One source for one subject and UF. Counts are of the last hour, instants of ever since."""

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
    cost_micros: int | None  # since this process began, in millionths of a real; None: never told
    circuit: str  # closed, open, half-open; "": it has none (our own copies, the sandbox)


class _Memory:
    """What is remembered of one line."""

    __slots__ = (
        "calls",
        "cost_micros",
        "last_failure_ms",
        "last_ms",
        "last_outcome",
        "last_success_ms",
    )

    def __init__(self) -> None:
        # When, how many seconds, and whether it was a success.
        self.calls: deque[tuple[int, float, bool]] = deque(maxlen=CALLS_MAX)
        self.last_ms = 0
        self.last_success_ms: int | None = None
        self.last_failure_ms: int | None = None
        self.last_outcome = ""
        self.cost_micros: int | None = None


class Health:
    """The last conversations with every source. Used on the event loop's thread only."""

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
        """Remember conversations that came to the same; `outcome` as the sources tell it.

        Each once, however many callers shared it. Microseconds, no I/O.
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
        """Add what a provider charged for a conversation that was noted."""
        line = self._lines.get((mode, source, subject, uf))
        if micros and line is not None:
            line.cost_micros = (line.cost_micros or 0) + micros

    def lines(self, mode: str, now_ms: int, circuits: Circuits | None = None) -> Sequence[Line]:
        """Every line of the mode, by subject, UF and source. Changes nothing; some milliseconds.

        `circuits`: the state by source, subject and UF, as the measurements get it. They belong
        to live sources; without them, nothing is said of circuits.
        """
        states = circuits or {}
        found = [
            _line(of, memory, now_ms, states)
            for (of_mode, *of), memory in self._lines.items()
            if of_mode == mode
        ]
        return sorted(found, key=lambda line: (line.subject, line.uf, line.source))

    def line(self, mode: str, line: tuple[str, str, str], now_ms: int, circuit: str) -> Line:
        """One source for a subject and UF; `circuit` as in `Line`. Microseconds."""
        memory = self._lines.get((mode, *line))
        return _line(line, memory or _Memory(), now_ms, {line: circuit})


def standing(line: Line) -> Standing:
    """How a source is, in one word; `quiet`: nobody asked it within the hour."""
    if line.circuit == "open":
        return "down"
    known = Counts(line.calls, line.successes).standing
    # Half-open: it failed several times in a row, and nobody has tried it since.
    return "degraded" if line.circuit == "half-open" and known != "down" else known


def of_subject(lines: Iterable[Line]) -> Mapping[tuple[str, str], Standing]:
    """How each (subject, UF) is served: as its best source is, since one is enough.

    A line for all UFs at once speaks for each of the subject's UFs, too.
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
    """Nearest rank: a value that was measured, never one between two."""
    if not ascending:
        return None
    rank = -(-percent * len(ascending) // 100)  # rounded up, in whole numbers
    return round(ascending[rank - 1] * 1000, 2)
