"""Reasons of sources' failures are logged, but not repeatedly."""

import pytest
from structlog.testing import capture_logs

from balcao.observability import source_log
from balcao.observability.source_log import SourceLog


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_same_reason_is_rate_limited() -> None:
    clock = Clock()
    log = SourceLog(clock)
    with capture_logs() as events:
        for _ in range(3):
            log.note("live", "acme", "failed", "acme: HTTP 500", 0.25)
        log.note("live", "acme", "failed", "acme: HTTP 501", 0.25)
        log.note("live", "other", "unavailable", "acme: HTTP 500", 0.25)
    assert len(events) == 3
    assert events[0] == {
        "event": "source.call",
        "log_level": "warning",
        "mode": "live",
        "source": "acme",
        "subject": "company",
        "uf": "",
        "outcome": "failed",
        "detail": "acme: HTTP 500",
        "took_ms": 250.0,
    }

    clock.now += 10
    with capture_logs() as events:
        log.note("live", "acme", "failed", "acme: HTTP 500", 0.25)
    assert len(events) == 1


def test_no_warnings_for_the_sandbox_and_successes() -> None:
    log = SourceLog(Clock())
    with capture_logs() as events:
        log.note("test", "acme", "failed", "acme: HTTP 500", 0.25)
        log.note("live", "acme", "found", "", 0.25)
        log.note("live", "acme", "absent", "", 0.25)
    assert [line["log_level"] for line in events] == ["info", "debug", "debug"]


def test_the_number_of_reasons_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source_log, "REASONS_MAX", 2)
    log = SourceLog(Clock())
    with capture_logs() as events:
        for number in range(10):
            log.note("live", "acme", "failed", f"acme: HTTP {number}", 0.1)
    assert len(events) == 10
    assert len(log._logged_at) <= 2
