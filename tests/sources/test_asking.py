"""Asking in turn, once for everybody, within the time there is."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from balcao.core.errors import NotServed, SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.providers.minha_receita.adapter import MinhaReceitaAdapter
from balcao.sources.asking import Source, Sources
from balcao.sources.contract import Absent, Answer, Found, LocalSource
from balcao.sources.flight import SingleFlight
from balcao.sources.online import Online
from balcao.sources.upstream import SourceCall
from tests.records import CNPJ as OTHER_CNPJ
from tests.sources.adapters import (
    CNPJ,
    NOW,
    FakeLocal,
    FakeOnline,
    Measured,
    a_company,
    an_inquiry,
    an_upstream,
)
from tests.sources.together_world import FOREVER, run

DOWN = SourceUnavailable("acme: fora", 20)
BROKEN = SourceFailed("acme: HTTP 500")


def the_sources(*order: Source, **settings: Any) -> Sources:
    return Sources({"company": order}, **settings)


def ask(*order: Source, inquiry: Inquiry | None = None) -> Answer:
    return asyncio.run(the_sources(*order).ask(inquiry or an_inquiry()))


# --- in turn -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        [],
        [FakeOnline(fails=DOWN)],
        [FakeOnline(fails=BROKEN)],
        [FakeOnline(absent=False)],
        [FakeOnline(serves=False)],
        [FakeLocal()],
        [FakeLocal(can=False)],
        [FakeLocal(broken=True)],
        [FakeLocal(), FakeOnline(fails=DOWN), FakeOnline(fails=BROKEN), FakeLocal(can=False)],
    ],
)
def test_the_first_that_finds_it_answers(before: list[Source]) -> None:
    last = FakeOnline("last", says=a_company(nome_empresarial="X"))
    never = FakeOnline("never")
    answer = ask(*before, last, never)
    assert answer == Found(a_company(nome_empresarial="X"), "last", NOW)
    assert never.asked == 0


def test_a_local_copy_after_an_online_source_answers_too() -> None:
    answer = ask(FakeOnline(fails=DOWN), FakeLocal(has=(CNPJ,)))
    assert isinstance(answer, Found)
    assert answer.source == "snapshot"


def test_a_proof_of_absence_ends_it() -> None:
    never = FakeOnline("never")
    assert ask(FakeLocal(), FakeOnline(absent=True), never) == Absent("acme", conclusive=True)
    assert never.asked == 0


@pytest.mark.parametrize(
    ("order", "error", "retry_in_seconds"),
    [
        ([], NotServed, 3600),
        ([FakeOnline(serves=False)], NotServed, 3600),
        ([FakeLocal(can=False)], NotServed, 3600),
        ([FakeOnline(fails=DOWN)], SourceUnavailable, 20),
        (
            [FakeOnline(fails=SourceUnavailable("", 9)), FakeOnline(fails=DOWN)],
            SourceUnavailable,
            9,
        ),
        ([FakeOnline(fails=BROKEN), FakeOnline(fails=DOWN)], SourceFailed, None),
        ([FakeLocal(), FakeOnline(fails=DOWN)], SourceUnavailable, 20),
        ([FakeLocal(), FakeOnline(absent=False)], SourceUnavailable, 300),
        ([FakeLocal(), FakeOnline(serves=False)], SourceUnavailable, 300),
        ([FakeLocal(broken=True)], SourceFailed, None),
        ([FakeOnline(absent=False), FakeLocal(can=False)], SourceUnavailable, 300),
    ],
)
def test_when_nobody_answers(
    order: list[Source], error: type[SourceError], retry_in_seconds: int | None
) -> None:
    with pytest.raises(SourceError) as caught:
        ask(*order)
    assert type(caught.value) is error
    assert getattr(caught.value, "retry_in_seconds", None) == retry_in_seconds
    assert CNPJ not in caught.value.detail


def test_the_full_registry_alone_proves_absence() -> None:
    absent = Absent("snapshot", conclusive=True)
    assert ask(FakeLocal()) == absent
    assert ask(FakeLocal(), FakeLocal(can=False)) == Absent("snapshot", conclusive=True)


# --- at hand -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ([FakeLocal(has=(CNPJ,))], "found"),
        ([FakeLocal(has=(CNPJ,)), FakeOnline()], "found"),
        ([FakeLocal(can=False), FakeLocal(has=(CNPJ,)), FakeOnline()], "found"),
        ([FakeLocal(broken=True), FakeLocal(has=(CNPJ,)), FakeOnline()], "found"),
        ([FakeOnline(), FakeLocal(has=(CNPJ,))], None),  # it is not first in the order
        ([FakeLocal()], "absent"),
        ([FakeLocal(), FakeLocal()], "absent"),
        ([FakeLocal(), FakeOnline()], None),
        ([FakeLocal(), FakeOnline(serves=False)], None),
        ([FakeLocal(can=False)], None),
        ([FakeLocal(broken=True)], None),
        ([FakeOnline()], None),
        ([], None),
    ],
)
def test_at_hand(order: Sequence[Source], answer: str | None) -> None:
    found = Found(a_company(), "snapshot", NOW)
    absent = Absent("snapshot", conclusive=True)
    expected = {"found": found, "absent": absent, None: None}[answer]
    assert the_sources(*order).at_hand(an_inquiry()) == expected


def test_asking_after_at_hand_had_nothing_looks_again() -> None:
    """Between the two a new month may have come into use."""
    local = FakeLocal(has=(CNPJ,))
    sources = the_sources(local, FakeOnline())
    answer = asyncio.run(sources.ask(an_inquiry()))
    assert isinstance(answer, Found)
    assert answer.source == "snapshot"


def test_a_subject_without_any_source() -> None:
    sources = Sources({})
    assert sources.at_hand(an_inquiry()) is None
    with pytest.raises(SourceUnavailable, match="nenhuma fonte configurada"):
        asyncio.run(sources.ask(an_inquiry()))


def test_local_sources_are_measured_when_they_are_asked() -> None:
    measured = Measured()
    sources = the_sources(FakeLocal(), FakeOnline(), observe=measured.append)
    assert sources.at_hand(an_inquiry()) is None
    assert measured == [], "it is about to be asked again"
    asyncio.run(sources.ask(an_inquiry()))
    assert [(call.source, call.outcome) for call in measured] == [("snapshot", "absent")]

    the_sources(FakeLocal(has=(CNPJ,)), observe=measured.append).at_hand(an_inquiry())
    the_sources(FakeLocal(), observe=measured.append).at_hand(an_inquiry())
    assert measured.outcomes == ["absent", "found", "absent"]
    assert all(isinstance(call, SourceCall) for call in measured)


def test_a_local_source_that_breaks_says_how_and_not_over_what() -> None:
    measured = Measured()
    sources = the_sources(FakeLocal(broken=True), FakeOnline(), observe=measured.append)
    asyncio.run(sources.ask(an_inquiry()))
    (call,) = measured
    assert (call.outcome, call.detail) == ("failed", "snapshot: OSError")


# --- within the time there is ------------------------------------------------------------------


def test_a_source_that_hangs_leaves_time_for_the_next() -> None:
    async def story() -> None:
        slow = FakeOnline("slow", takes_seconds=FOREVER)
        sources = the_sources(slow, FakeOnline("next"), source_timeout_seconds=0.05)
        answer = await sources.ask(an_inquiry())
        assert isinstance(answer, Found)
        assert answer.source == "next"
        assert slow.finished == 0, "it is given up, not left running"

    run(story())


def test_the_last_one_has_all_the_time_that_is_left() -> None:
    """`serves` decides who is last: the one after it cannot answer such an inquiry."""

    async def story() -> None:
        sources = the_sources(
            FakeOnline("patient", takes_seconds=0.2),
            FakeOnline("other", serves=False),
            source_timeout_seconds=0.05,
        )
        answer = await sources.ask(an_inquiry())
        assert isinstance(answer, Found)
        assert answer.source == "patient"

    run(story())


def test_all_together_take_no_longer_than_the_deadline() -> None:
    async def story() -> None:
        never = FakeOnline("never")
        sources = the_sources(FakeOnline("a", takes_seconds=FOREVER), never)
        until = asyncio.get_running_loop().time() + 0.05
        with pytest.raises(SourceFailed, match="a: tempo esgotado"):
            await sources.ask(an_inquiry(), until=until)
        assert never.asked == 0

    run(story())


def test_a_hanging_upstream_is_given_up_by_its_own_clock_and_counted() -> None:
    """The whole way down to the transport: who fails is measured and named."""

    async def story() -> None:
        measured = Measured()

        async def hang(request: httpx2.Request) -> httpx2.Response:
            await asyncio.sleep(FOREVER)
            raise AssertionError

        upstream = an_upstream(hang, observe=measured.append, timeout_seconds=FOREVER)
        source = Online("acme", MinhaReceitaAdapter(), lambda _: upstream, now=lambda: NOW)
        sources = the_sources(source, FakeOnline("next"), source_timeout_seconds=0.1)
        answer = await sources.ask(an_inquiry())
        assert isinstance(answer, Found)
        assert measured.outcomes == ["failed"]

    run(story())


# --- once for everybody ------------------------------------------------------------------------


def test_a_hundred_at_once_are_one_call() -> None:
    async def story() -> None:
        online = FakeOnline()
        sources = the_sources(FakeLocal(), online)
        answers = await asyncio.gather(*(sources.ask(an_inquiry()) for _ in range(100)))
        assert online.asked == 1
        assert set(map(id, answers)) == {id(answers[0])}

        await sources.ask(an_inquiry())
        assert online.asked == 2, "what is over is not shared any more"

    run(story())


def test_different_inquiries_are_different_calls() -> None:
    async def story() -> None:
        online = FakeOnline()
        sources = the_sources(online)
        inquiries = [an_inquiry(), an_inquiry(full_partners=True), an_inquiry(OTHER_CNPJ)]
        await asyncio.gather(*(sources.ask(inquiry) for inquiry in inquiries))
        assert online.asked == 3

    run(story())


@pytest.mark.parametrize("error", [DOWN, BROKEN])
def test_a_failure_goes_to_all_who_wait_each_with_a_copy(error: SourceError) -> None:
    async def story() -> None:
        online = FakeOnline(fails=error)
        sources = the_sources(online)
        asks = (sources.ask(an_inquiry()) for _ in range(100))
        outcomes = await asyncio.gather(*asks, return_exceptions=True)
        assert online.asked == 1
        assert {type(outcome) for outcome in outcomes} == {type(error)}
        assert {str(outcome) for outcome in outcomes} == {error.detail}
        assert len(set(map(id, outcomes))) == 100
        if isinstance(error, SourceUnavailable):
            assert {getattr(outcome, "retry_in_seconds", None) for outcome in outcomes} == {20}

    run(story())


def test_a_caller_that_leaves_does_not_take_the_others_along() -> None:
    async def story() -> None:
        gate = asyncio.Event()
        online = FakeOnline(waits_for=gate)
        sources = the_sources(online)
        callers = [asyncio.create_task(sources.ask(an_inquiry())) for _ in range(10)]
        await online.was_asked.wait()
        for caller in callers[:5]:  # the first of them started it
            caller.cancel()
        await asyncio.wait(callers[:5])
        gate.set()
        outcomes = await asyncio.gather(*callers, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes[:5]] == [asyncio.CancelledError] * 5
        assert all(isinstance(outcome, Found) for outcome in outcomes[5:])
        assert (online.asked, online.finished) == (1, 1)

    run(story())


@pytest.mark.parametrize("failure", [{"fails": BROKEN}, {"bug": RuntimeError("a bug")}])
def test_when_all_leave_it_still_ends_and_nobody_complains(failure: dict[str, Any]) -> None:
    async def story() -> None:
        gate = asyncio.Event()
        online = FakeOnline(waits_for=gate, **failure)
        sources = the_sources(online)
        caller = asyncio.create_task(sources.ask(an_inquiry()))
        await online.was_asked.wait()
        caller.cancel()
        await asyncio.wait([caller])
        gate.set()
        for _ in range(10):  # turns of the loop, not time
            await asyncio.sleep(0)
        assert online.finished == 1
        await sources.close()

    run(story())


def test_a_bug_is_raised_to_who_waits() -> None:
    async def story() -> None:
        sources = the_sources(FakeOnline(bug=RuntimeError("a bug")))
        with pytest.raises(RuntimeError, match="a bug"):
            await sources.ask(an_inquiry())

    run(story())


def test_when_the_process_stops_those_who_wait_are_told() -> None:
    async def story() -> None:
        online = FakeOnline(takes_seconds=FOREVER)
        sources = the_sources(online)
        caller = asyncio.create_task(sources.ask(an_inquiry()))
        await online.was_asked.wait()
        await sources.close()
        with pytest.raises(SourceUnavailable, match="encerrando"):
            await caller
        await sources.close()

    run(story())


def test_single_flight_of_anything() -> None:
    async def story() -> None:
        flights: SingleFlight[int] = SingleFlight()
        started = 0

        async def work() -> int:
            nonlocal started
            started += 1
            await asyncio.sleep(0)
            return started

        assert await asyncio.gather(*(flights.do("a", work) for _ in range(5))) == [1] * 5
        assert await flights.do("a", work) == 2
        both = await asyncio.gather(flights.do("a", work), flights.do("b", work))
        assert sorted(both) == [4, 4]

    run(story())


def test_the_fakes_are_what_they_pretend_to_be() -> None:
    assert isinstance(FakeLocal(), LocalSource)
    assert not isinstance(FakeOnline(), LocalSource)


def test_who_joins_waits_no_longer_than_his_own_time() -> None:
    """A batch's certificate may take longer than a person waits (contract 9.16)."""

    async def story() -> None:
        gate = asyncio.Event()
        source = FakeOnline(waits_for=gate)
        sources = the_sources(source)
        first = asyncio.create_task(sources.ask(an_inquiry()))
        await source.was_asked.wait()
        now = asyncio.get_running_loop().time()
        for joining in (sources.in_flight(an_inquiry()), None):
            with pytest.raises(SourceFailed, match="tempo esgotado"):
                await sources.ask(an_inquiry(), joining, until=now)
        gate.set()
        assert isinstance(await first, Found)
        assert source.asked == 1

    run(story())
