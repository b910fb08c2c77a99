"""Health of sources: what is counted, for how long, and the resulting status."""

import dataclasses

import pytest

from balcao.core.availability import Standing
from balcao.observability import health
from balcao.observability.health import Health, Line, of_subject, standing

NOW = 1_800_000_000_000
HOUR = 3_600_000


def line(
    calls: int = 0,
    successes: int = 0,
    circuit: str = "closed",
    *,
    source: str = "acme",
    subject: str = "company",
    uf: str = "",
) -> Line:
    """Return a line with defaults for irrelevant fields."""
    return Line(
        source=source,
        subject=subject,
        uf=uf,
        calls=calls,
        successes=successes,
        success_share=successes / calls if calls else None,
        p50_ms=None,
        p95_ms=None,
        last_success_ms=None,
        last_failure_ms=None,
        last_outcome="found",
        cost_micros=None,
        circuit=circuit,
    )


OK = line(10, 10)
DEGRADED = line(10, 8)
DOWN = line(10, 0)
QUIET = line()


@pytest.mark.parametrize(
    ("outcome", "success"),
    [("found", True), ("absent", True), ("unavailable", False), ("failed", False)],
)
def test_any_answer_counts_as_success(outcome: str, success: bool) -> None:
    seen = Health()
    seen.note("live", "acme", "company", "", outcome=outcome, seconds=(0.25,), at_ms=NOW)
    (only,) = seen.lines("live", NOW)
    assert (only.calls, only.successes) == (1, int(success))
    assert only.success_share == float(success)
    assert only.last_outcome == outcome
    assert only.last_success_ms == (NOW if success else None)
    assert only.last_failure_ms == (None if success else NOW)
    assert only.p50_ms == only.p95_ms == (250.0 if success else None)


def test_costs_are_summed_by_line() -> None:
    seen = Health()
    for uf in ("SP", "SP", "RJ"):
        seen.note("live", "acme", "company", uf, outcome="failed", seconds=(0.25,), at_ms=NOW)
        seen.spend("live", "acme", "company", uf, 260_000)
    seen.note("live", "acme", "company", "MG", outcome="found", seconds=(0.25,), at_ms=NOW)
    seen.spend("live", "acme", "company", "MG", 0)
    seen.spend("live", "nobody", "company", "", 260_000)
    found = {line.uf: line.cost_micros for line in seen.lines("live", NOW + 2 * HOUR)}
    assert found == {"SP": 520_000, "RJ": 260_000, "MG": None}


def test_only_the_last_hour_counts_and_the_last_instants_stay() -> None:
    seen = Health()
    seen.note("live", "acme", "company", "", outcome="found", seconds=(1.0,), at_ms=NOW)
    seen.note("live", "acme", "company", "", outcome="failed", seconds=(9.0,), at_ms=NOW + 1)
    (both,) = seen.lines("live", NOW + HOUR - 1)
    assert (both.calls, both.success_share) == (2, 0.5)
    (second,) = seen.lines("live", NOW + HOUR)
    assert (second.calls, second.success_share, second.p50_ms) == (1, 0.0, None)
    (neither,) = seen.lines("live", NOW + HOUR + 1)
    assert (neither.calls, neither.successes, neither.success_share) == (0, 0, None)
    assert (neither.last_success_ms, neither.last_failure_ms) == (NOW, NOW + 1)
    assert neither.last_outcome == "failed"


@pytest.mark.parametrize(
    ("milliseconds", "p50", "p95"),
    [
        ([7], 7.0, 7.0),
        ([1, 2], 1.0, 2.0),
        ([3, 1, 2], 2.0, 3.0),
        (range(1, 21), 10.0, 19.0),
        (range(1, 22), 11.0, 20.0),
        (range(100, 0, -1), 50.0, 95.0),
    ],
)
def test_percentiles_are_measured_values(milliseconds: list[int], p50: float, p95: float) -> None:
    seen = Health()
    for taken in milliseconds:
        seen.note(
            "live", "acme", "company", "", outcome="found", seconds=(taken / 1000,), at_ms=NOW
        )
    # Timed out: not a success.
    seen.note("live", "acme", "company", "", outcome="failed", seconds=(25.0,), at_ms=NOW)
    (only,) = seen.lines("live", NOW)
    assert (only.p50_ms, only.p95_ms) == (p50, p95)


def test_a_busy_line_keeps_its_last_calls() -> None:
    seen = Health()
    for number in range(300):
        outcome = "failed" if number < 150 else "found"
        seen.note(
            "live", "acme", "company", "", outcome=outcome, seconds=(0.1,), at_ms=NOW + number
        )
    (only,) = seen.lines("live", NOW + 300)
    assert (only.calls, only.successes) == (200, 150)
    assert only.last_failure_ms == NOW + 149


def test_the_number_of_lines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LINES_MAX", 3)
    seen = Health()
    for at, source in enumerate(["a", "b", "c", "a", "d", "e"]):
        seen.note("live", source, "company", "", outcome="found", seconds=(0.1,), at_ms=NOW + at)
    # b answered least recently, then c.
    assert [one.source for one in seen.lines("live", NOW)] == ["a", "d", "e"]


def test_lines_are_separate_and_ordered() -> None:
    seen = Health()
    for mode, source, subject, uf in [
        ("live", "sefaz", "state_registration", "SP"),
        ("live", "cnpja", "state_registration", "SP"),
        ("live", "cnpja", "state_registration", "BR"),
        ("live", "cnpja", "company", ""),
        ("test", "cnpja", "company", ""),
        ("live", "cnpja", "company", ""),
    ]:
        seen.note(mode, source, subject, uf, outcome="found", seconds=(0.1,), at_ms=NOW)
    circuits = {
        ("cnpja", "state_registration", "SP"): "half-open",
        ("cnpja", "suframa", ""): "open",
    }
    found = seen.lines("live", NOW, circuits)
    assert [(one.subject, one.uf, one.source, one.calls, one.circuit) for one in found] == [
        ("company", "", "cnpja", 2, ""),
        ("state_registration", "BR", "cnpja", 1, ""),
        ("state_registration", "SP", "cnpja", 1, "half-open"),
        ("state_registration", "SP", "sefaz", 1, ""),
    ]
    assert seen.lines("live", NOW, circuits) == found  # reading changes nothing
    assert [one.calls for one in seen.lines("test", NOW)] == [1]
    assert Health().lines("live", NOW) == []


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (line(), "quiet"),
        (line(circuit=""), "quiet"),
        (line(circuit="open"), "down"),
        (line(circuit="half-open"), "degraded"),
        (line(100, 100, "open"), "down"),
        (line(100, 100, "half-open"), "degraded"),
        (line(100, 100), "ok"),
        (line(1, 1, ""), "ok"),
        (line(20, 19), "ok"),
        (line(200, 189), "degraded"),
        (line(1, 0), "degraded"),
        (line(4, 0), "degraded"),
        (line(5, 0), "down"),
        (line(5, 2), "down"),
        (line(6, 3), "degraded"),
        (line(5, 2, "half-open"), "down"),
    ],
)
def test_status_of_a_source(seen: Line, expected: Standing) -> None:
    assert standing(seen) == expected


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([DOWN, OK], "ok"),
        ([QUIET, OK], "ok"),
        ([DEGRADED, OK], "ok"),
        ([DOWN, DEGRADED], "degraded"),
        ([QUIET, DEGRADED], "degraded"),
        ([QUIET, DOWN], "down"),
        ([DOWN], "down"),
        ([QUIET, QUIET], "quiet"),
    ],
)
def test_one_source_is_enough(sources: list[Line], expected: Standing) -> None:
    for order in (sources, sources[::-1]):
        assert of_subject(order) == {("company", ""): expected}


def test_subjects_and_ufs_are_served_one_by_one() -> None:
    lines = [
        dataclasses.replace(OK, subject="state_registration", uf="SP"),
        dataclasses.replace(DOWN, subject="state_registration", uf="RJ"),
        dataclasses.replace(DOWN, subject="rural_producer", uf="SP"),
    ]
    assert of_subject(lines) == {
        ("state_registration", "SP"): "ok",
        ("state_registration", "RJ"): "down",
        ("rural_producer", "SP"): "down",
    }
    assert of_subject([]) == {}


def test_a_call_for_all_ufs_counts_for_each() -> None:
    lines = [
        dataclasses.replace(DOWN, subject="state_registration", uf="SP"),
        dataclasses.replace(OK, subject="state_registration", uf="BR"),
        dataclasses.replace(DOWN, subject="rural_producer", uf="SP"),
    ]
    assert of_subject(lines) == {
        ("state_registration", "SP"): "ok",
        ("state_registration", "BR"): "ok",
        ("rural_producer", "SP"): "down",
    }
