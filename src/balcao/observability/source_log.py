"""Log of sources' failures: warnings, limited in rate for each reason.

A failing source fails for all callers; the metrics count, the log has the reasons.
"""

from collections.abc import Callable

import structlog

REPEAT_SECONDS = 10.0
REASONS_MAX = 1_000

_SUCCESSES = frozenset({"found", "absent"})


class SourceLog:
    """Logs conversations with sources. `detail` must hold no personal data."""

    def __init__(self, clock: Callable[[], float], *, level: str = "debug") -> None:
        """`clock`: a monotonic clock, in seconds. `level`: the lowest level that is written."""
        self._clock = clock
        self._logs_all = level == "debug"
        self._logged_at: dict[tuple[str, ...], float] = {}
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
        """Log one conversation; successes at debug level only.

        The sandbox's sources fail on purpose and cause no warning.
        """
        if outcome in _SUCCESSES:
            if (
                self._logs_all
            ):  # letting the logger drop it would cost more than everything else here
                self._log.debug(
                    "source.call", mode=mode, source=source, subject=subject, uf=uf, outcome=outcome
                )
            return
        reason = (mode, source, subject, uf, detail)
        now = self._clock()
        logged_at = self._logged_at.get(reason)
        if logged_at is not None and now - logged_at < REPEAT_SECONDS:
            return
        if len(self._logged_at) >= REASONS_MAX:
            self._logged_at.clear()
        self._logged_at[reason] = now
        log = self._log.warning if mode == "live" else self._log.info
        log(
            "source.call",
            mode=mode,
            source=source,
            subject=subject,
            uf=uf,
            outcome=outcome,
            detail=detail,
            took_ms=round(seconds * 1000, 2),
        )
