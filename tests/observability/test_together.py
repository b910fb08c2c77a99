"""Requests that are answered together are counted and logged like single ones."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from balcao.observability.metrics import Metrics, RequestCount
from balcao.observability.requests import FLUSH_LINES_MAX, RequestEvent, RequestLog
from balcao.service.spans import TracedRequestLog

NOON = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)

counts = st.lists(
    st.tuples(
        st.sampled_from(["company", "suframa", "outros"]),
        st.sampled_from([200, 404, 503]),
        st.sampled_from(["cache", "online", "nenhuma"]),
        st.one_of(st.floats(0, 30), st.sampled_from([0.0005, 0.001, 25.0])),
        st.integers(0, 12),
    ),
    max_size=100,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counts)
def test_equal_metrics(answered: Sequence[RequestCount]) -> None:
    one_by_one, together = Metrics(), Metrics()
    for one in answered:
        one_by_one.request(*one)
    together.requests(answered)
    assert together.exposition() == one_by_one.exposition()


def an_event(number: int, level: str = "info", detail: str = "") -> RequestEvent:
    return RequestEvent(
        f"id-{number}",
        "company",
        200,
        code=None,
        account=1,
        key=2,
        origin="cache",
        source="acme",
        credits=number,
        replayed=False,
        took_ms=0.25,
        detail=detail or msgspec.UNSET,
        level=level,
    )


def written(events: Sequence[RequestEvent], log_of: type[RequestLog], *, together: bool) -> bytes:
    out = bytearray()

    async def write() -> None:
        log = log_of(as_json=True, level="info", write=out.extend, now=lambda: NOON)
        if together:
            log.note_all(events)
        else:
            for event in events:
                log.note(event)
        log.flush()

    asyncio.run(write())
    return bytes(out)


# Line ends and lookalikes of the timestamp's placeholder are only text.
details = st.sampled_from(["", "sem conexão", '"timestamp":""}\n', "\\"])
events = st.lists(
    st.builds(an_event, st.integers(0, 9), st.sampled_from(["info", "debug"]), details),
    max_size=70,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events)
def test_equal_log_lines(noted: Sequence[RequestEvent]) -> None:
    one_by_one = written(noted, RequestLog, together=False)
    assert written(noted, RequestLog, together=True) == one_by_one
    assert written(noted, TracedRequestLog, together=True) == one_by_one
    expected = [event for event in noted if event.level == "info"]
    assert one_by_one.count(b"\n") == len(expected)
    assert one_by_one.count(b',"timestamp":"2026-07-01T12:00:00.000+00:00"}\n') == len(expected)


def test_a_full_batch_is_written_at_once() -> None:
    """It is written when it is large enough, however many events come at once."""
    out: list[bytes] = []

    async def write() -> None:
        log = RequestLog(as_json=True, write=out.append)
        log.note_all([an_event(number) for number in range(FLUSH_LINES_MAX)])
        assert len(out) == 1

    asyncio.run(write())
    assert out[0].count(b"\n") == FLUSH_LINES_MAX
