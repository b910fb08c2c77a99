"""The router: order of sources, deadlines, and shared requests."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from balcao.core.errors import NotServed, SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.providers.minha_receita.adapter import MinhaReceitaAdapter
from balcao.sources.contract import Absent, Answer, Found, LocalSource
from balcao.sources.online import AdapterSource
from balcao.sources.router import Source, SourceRouter
from balcao.sources.single_flight import SingleFlight
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
from tests.sources.multi_uf_world import FOREVER, run

DOWN = SourceUnavailable("acme: fora", 20)
BROKEN = SourceFailed("acme: HTTP 500")


def the_sources(*order: Source, **settings: Any) -> SourceRouter:
    return SourceRouter({"company": order}, **settings)


def ask(*order: Source, inquiry: Inquiry | None = None) -> Answer:
    return asyncio.run(the_sources(*order).ask(inquiry or an_inquiry()))


# --- order -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        [],
        [FakeOnline(error=DOWN)],
        [FakeOnline(error=BROKEN)],
        [FakeOnline(absent=False)],
        [FakeOnline(serves=False)],
        [FakeLocal()],
        [FakeLocal(able=False)],
        [FakeLocal(broken=True)],
        [FakeLocal(), FakeOnline(error=DOWN), FakeOnline(error=BROKEN), FakeLocal(able=False)],
    ],
)
def test_first_source_that_finds_it_answers(before: list[Source]) -> None:
    last = FakeOnline("last", record=a_company(nome_empresarial="X"))
    never = FakeOnline("never")
    answer = ask(*before, last, never)
    assert answer == Found(a_company(nome_empresarial="X"), "last", NOW)
    assert never.asked == 0


def test_local_copy_after_an_online_source() -> None:
    answer = ask(FakeOnline(error=DOWN), FakeLocal(known=(CNPJ,)))
    assert isinstance(answer, Found)
    assert answer.source == "snapshot"


def test_proof_of_absence_ends_the_search() -> None:
    never = FakeOnline("never")
    assert ask(FakeLocal(), FakeOnline(absent=True), never) == Absent("acme", conclusive=True)
    assert never.asked == 0


@pytest.mark.parametrize(
    ("order", "error", "retry_in_seconds"),
    [
        ([], NotServed, 3600),
        ([FakeOnline(serves=False)], NotServed, 3600),
        ([FakeLocal(able=False)], NotServed, 3600),
        ([FakeOnline(error=DOWN)], SourceUnavailable, 20),
        (
            [FakeOnline(error=SourceUnavailable("", 9)), FakeOnline(error=DOWN)],
            SourceUnavailable,
            9,
        ),
        ([FakeOnline(error=BROKEN), FakeOnline(error=DOWN)], SourceFailed, None),
        ([FakeLocal(), FakeOnline(error=DOWN)], SourceUnavailable, 20),
        ([FakeLocal(), FakeOnline(absent=False)], SourceUnavailable, 300),
        ([FakeLocal(), FakeOnline(serves=False)], SourceUnavailable, 300),
        ([FakeLocal(broken=True)], SourceFailed, None),
        ([FakeOnline(absent=False), FakeLocal(able=False)], SourceUnavailable, 300),
    ],
)
def test_no_answer(
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
    assert ask(FakeLocal(), FakeLocal(able=False)) == Absent("snapshot", conclusive=True)


# --- local answers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ([FakeLocal(known=(CNPJ,))], "found"),
        ([FakeLocal(known=(CNPJ,)), FakeOnline()], "found"),
        ([FakeLocal(able=False), FakeLocal(known=(CNPJ,)), FakeOnline()], "found"),
        ([FakeLocal(broken=True), FakeLocal(known=(CNPJ,)), FakeOnline()], "found"),
        ([FakeOnline(), FakeLocal(known=(CNPJ,))], None),  # it is not first in the order
        ([FakeLocal()], "absent"),
        ([FakeLocal(), FakeLocal()], "absent"),
        ([FakeLocal(), FakeOnline()], None),
        ([FakeLocal(), FakeOnline(serves=False)], None),
        ([FakeLocal(able=False)], None),
        ([FakeLocal(broken=True)], None),
        ([FakeOnline()], None),
        ([], None),
    ],
)
def test_local_answer(order: Sequence[Source], answer: str | None) -> None:
    found = Found(a_company(), "snapshot", NOW)
    absent = Absent("snapshot", conclusive=True)
    expected = {"found": found, "absent": absent, None: None}[answer]
    assert the_sources(*order).local_answer(an_inquiry()) == expected


def test_asking_looks_up_local_sources_again() -> None:
    """A new month may have been published between the two."""
    local = FakeLocal(known=(CNPJ,))
    sources = the_sources(local, FakeOnline())
    answer = asyncio.run(sources.ask(an_inquiry()))
    assert isinstance(answer, Found)
    assert answer.source == "snapshot"


def test_subject_without_sources() -> None:
    sources = SourceRouter({})
    assert sources.local_answer(an_inquiry()) is None
    with pytest.raises(SourceUnavailable, match="nenhuma fonte configurada"):
        asyncio.run(sources.ask(an_inquiry()))


def test_local_sources_are_measured_when_they_are_asked() -> None:
    measured = Measured()
    sources = the_sources(FakeLocal(), FakeOnline(), observe=measured.append)
    assert sources.local_answer(an_inquiry()) is None
    assert measured == [], "it is about to be asked again"
    asyncio.run(sources.ask(an_inquiry()))
    assert [(call.source, call.outcome) for call in measured] == [("snapshot", "absent")]

    the_sources(FakeLocal(known=(CNPJ,)), observe=measured.append).local_answer(an_inquiry())
    the_sources(FakeLocal(), observe=measured.append).local_answer(an_inquiry())
    assert measured.outcomes == ["absent", "found", "absent"]
    assert all(isinstance(call, SourceCall) for call in measured)


def test_error_of_a_local_source_names_its_type_only() -> None:
    measured = Measured()
    sources = the_sources(FakeLocal(broken=True), FakeOnline(), observe=measured.append)
    asyncio.run(sources.ask(an_inquiry()))
    (call,) = measured
    assert (call.outcome, call.detail) == ("failed", "snapshot: OSError")


# --- deadlines ---------------------------------------------------------------------------------


def test_hanging_source_leaves_time_for_the_next() -> None:
    async def scenario() -> None:
        slow = FakeOnline("slow", delay_seconds=FOREVER)
        sources = the_sources(slow, FakeOnline("next"), source_timeout_seconds=0.05)
        answer = await sources.ask(an_inquiry())
        assert isinstance(answer, Found)
        assert answer.source == "next"
        assert slow.finished == 0, "it is given up, not left running"

    run(scenario())


def test_last_source_has_all_remaining_time() -> None:
    """Sources for which `serves` is false do not count as successors."""

    async def scenario() -> None:
        sources = the_sources(
            FakeOnline("patient", delay_seconds=0.2),
            FakeOnline("other", serves=False),
            source_timeout_seconds=0.05,
        )
        answer = await sources.ask(an_inquiry())
        assert isinstance(answer, Found)
        assert answer.source == "patient"

    run(scenario())


def test_all_sources_share_the_deadline() -> None:
    async def scenario() -> None:
        never = FakeOnline("never")
        sources = the_sources(FakeOnline("a", delay_seconds=FOREVER), never)
        deadline = asyncio.get_running_loop().time() + 0.05
        with pytest.raises(SourceFailed, match="a: tempo esgotado"):
            await sources.ask(an_inquiry(), deadline=deadline)
        assert never.asked == 0

    run(scenario())


def test_hanging_upstream_times_out_and_is_measured() -> None:
    """Down to the transport: the failure is measured, with the source's name."""

    async def scenario() -> None:
        measured = Measured()

        async def hang(request: httpx2.Request) -> httpx2.Response:
            await asyncio.sleep(FOREVER)
            raise AssertionError

        upstream = an_upstream(hang, observe=measured.append, timeout_seconds=FOREVER)
        source = AdapterSource("acme", MinhaReceitaAdapter(), lambda _: upstream, now=lambda: NOW)
        sources = the_sources(source, FakeOnline("next"), source_timeout_seconds=0.1)
        answer = await sources.ask(an_inquiry())
        assert isinstance(answer, Found)
        assert measured.outcomes == ["failed"]

    run(scenario())


# --- shared requests ---------------------------------------------------------------------------


def test_hundred_concurrent_inquiries_share_a_call() -> None:
    async def scenario() -> None:
        online = FakeOnline()
        sources = the_sources(FakeLocal(), online)
        answers = await asyncio.gather(*(sources.ask(an_inquiry()) for _ in range(100)))
        assert online.asked == 1
        assert set(map(id, answers)) == {id(answers[0])}

        await sources.ask(an_inquiry())
        assert online.asked == 2, "what is over is not shared any more"

    run(scenario())


def test_different_inquiries_are_different_calls() -> None:
    async def scenario() -> None:
        online = FakeOnline()
        sources = the_sources(online)
        inquiries = [an_inquiry(), an_inquiry(full_partners=True), an_inquiry(OTHER_CNPJ)]
        await asyncio.gather(*(sources.ask(inquiry) for inquiry in inquiries))
        assert online.asked == 3

    run(scenario())


@pytest.mark.parametrize("error", [DOWN, BROKEN])
def test_failure_reaches_all_callers_as_copies(error: SourceError) -> None:
    async def scenario() -> None:
        online = FakeOnline(error=error)
        sources = the_sources(online)
        asks = (sources.ask(an_inquiry()) for _ in range(100))
        outcomes = await asyncio.gather(*asks, return_exceptions=True)
        assert online.asked == 1
        assert {type(outcome) for outcome in outcomes} == {type(error)}
        assert {str(outcome) for outcome in outcomes} == {error.detail}
        assert len(set(map(id, outcomes))) == 100
        if isinstance(error, SourceUnavailable):
            assert {getattr(outcome, "retry_in_seconds", None) for outcome in outcomes} == {20}

    run(scenario())


def test_cancelled_caller_does_not_affect_others() -> None:
    async def scenario() -> None:
        gate = asyncio.Event()
        online = FakeOnline(gate=gate)
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

    run(scenario())


@pytest.mark.parametrize("failure", [{"error": BROKEN}, {"bug": RuntimeError("a bug")}])
def test_task_without_callers_ends_silently(failure: dict[str, Any]) -> None:
    async def scenario() -> None:
        gate = asyncio.Event()
        online = FakeOnline(gate=gate, **failure)
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

    run(scenario())


def test_bug_is_raised_to_the_caller() -> None:
    async def scenario() -> None:
        sources = the_sources(FakeOnline(bug=RuntimeError("a bug")))
        with pytest.raises(RuntimeError, match="a bug"):
            await sources.ask(an_inquiry())

    run(scenario())


def test_shutdown_raises_to_callers() -> None:
    async def scenario() -> None:
        online = FakeOnline(delay_seconds=FOREVER)
        sources = the_sources(online)
        caller = asyncio.create_task(sources.ask(an_inquiry()))
        await online.was_asked.wait()
        await sources.close()
        with pytest.raises(SourceUnavailable, match="encerrando"):
            await caller
        await sources.close()

    run(scenario())


def test_single_flight_of_anything() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_fakes_implement_the_protocols() -> None:
    assert isinstance(FakeLocal(), LocalSource)
    assert not isinstance(FakeOnline(), LocalSource)


def test_joining_caller_has_its_own_deadline() -> None:
    """A batch's certificate may take longer than a person waits (contract 9.16)."""

    async def scenario() -> None:
        gate = asyncio.Event()
        source = FakeOnline(gate=gate)
        sources = the_sources(source)
        first = asyncio.create_task(sources.ask(an_inquiry()))
        await source.was_asked.wait()
        now = asyncio.get_running_loop().time()
        for joining in (sources.in_flight(an_inquiry()), None):
            with pytest.raises(SourceFailed, match="tempo esgotado"):
                await sources.ask(an_inquiry(), joining, deadline=now)
        gate.set()
        assert isinstance(await first, Found)
        assert source.asked == 1

    run(scenario())
