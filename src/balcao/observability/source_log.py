"""Why a source let us down: a warning, at most one in a while for the same reason.

A source that is down fails for everybody who asks; the measurements count, the log says why.
"""

from collections.abc import Callable

import structlog

REPEAT_SECONDS = 10.0
REASONS_MAX = 1_000

_WELL = frozenset({"found", "absent"})


class SourceLog:
    """Logs conversations with sources. `detail` must hold no personal data."""

    def __init__(self, clock: Callable[[], float], *, level: str = "debug") -> None:
        """`clock` counts seconds and never goes back. `level`: the least that is written."""
        self._clock = clock
        self._tells_all = level == "debug"
        self._said: dict[tuple[str, ...], float] = {}
        self._log = structlog.get_logger()

    def note(
        self,
        mode: str,
        source: str,
        outcome: str,
        detail: str,
        seconds: float,
        *,
        subject: str = "company",
        uf: str = "",
    ) -> None:
        """Log one conversation; what went well only where everything is logged.

        The sandbox's sources fail on purpose: no reason to warn anybody.
        """
        if outcome in _WELL:
            if self._tells_all:  # to have the logger find out costs more than all the rest
                self._log.debug(
                    "source.call", mode=mode, source=source, subject=subject, uf=uf, outcome=outcome
                )
            return
        reason = (mode, source, subject, uf, detail)
        now = self._clock()
        said_at = self._said.get(reason)
        if said_at is not None and now - said_at < REPEAT_SECONDS:
            return
        if len(self._said) >= REASONS_MAX:
            self._said.clear()
        self._said[reason] = now
        say = self._log.warning if mode == "live" else self._log.info
        say(
            "source.call",
            mode=mode,
            source=source,
            subject=subject,
            uf=uf,
            outcome=outcome,
            detail=detail,
            took_ms=round(seconds * 1000, 2),
        )
