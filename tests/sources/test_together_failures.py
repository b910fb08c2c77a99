"""Travelling together when it goes wrong, or when somebody leaves."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.federation import UFS
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.providers.cnpja.adapter import CnpjaAdapter
from balcao.sources.contract import Absent, Found
from balcao.sources.together import Together
from tests.records import CNPJ as OTHER_CNPJ
from tests.sources.adapters import CNPJ, NOW, Measured, a_uf, record_of, registrations
from tests.sources.together_world import (
    Provider,
    ask,
    ask_and_fail,
    number_in,
    odd,
    run,
    together,
    turns,
)


@pytest.mark.parametrize(
    ("status", "kind"), [(500, SourceFailed), (503, SourceUnavailable), (401, SourceUnavailable)]
)
def test_a_failure_goes_to_all_who_wait(status: int, kind: type[SourceError]) -> None:
    async def story() -> None:
        provider, measured = Provider(), Measured()
        provider.status = status
        source = together(provider, measured=measured)
        errors = await ask_and_fail(source, *map(a_uf, UFS), a_uf("SC"))
        assert len(provider.asked) == len(measured) == 1
        assert {type(error) for error in errors} == {kind}
        assert len({error.detail for error in errors}) == 1
        assert len(set(map(id, errors))) >= len(UFS), "a copy each"
        provider.status = 200
        assert len(await ask(source, a_uf("SC"), a_uf("RS"))) == 2, "it is tried again"

    run(story())


def test_an_empty_answer_of_theirs_is_an_answer_in_every_uf() -> None:
    async def story() -> None:
        provider = Provider()
        provider.status = 404
        answers = await ask(together(provider), a_uf("SC"), a_uf("RS"))
        assert [record_of(answer, Registrations).inscricoes for answer in answers] == [(), ()]

    run(story())


def test_an_absence_goes_to_all_who_wait() -> None:
    answers = asyncio.run(ask(odd(None), a_uf("SC"), a_uf("RS")))
    assert answers == [Absent("odd", conclusive=True)] * 2


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ({"SC": registrations("SC")}, "sem uma UF"),
        ({}, "sem uma UF"),
        ({"SC": registrations("SC"), "RS": registrations("SC")}, "outra UF"),
        (
            {"SC": registrations("SC"), "RS": registrations("RS", document=OTHER_CNPJ)},
            "outro documento",
        ),
    ],
)
def test_one_wrong_uf_makes_the_whole_answer_unusable(
    says: Mapping[str, Registrations], text: str
) -> None:
    for error in asyncio.run(ask_and_fail(odd(says), a_uf("SC"), a_uf("RS"))):
        assert type(error) is SourceFailed
        assert text in error.detail
        assert CNPJ not in error.detail


def test_a_uf_that_nobody_asked_for_harms_nobody() -> None:
    says = {uf: registrations(uf, number_in(uf)) for uf in ("SC", "RS", "PR")}
    answers = asyncio.run(ask(odd(says), a_uf("SC"), a_uf("RS")))
    assert [record_of(answer, Registrations) for answer in answers] == [says["SC"], says["RS"]]


def test_a_cpf_in_a_name_is_masked() -> None:
    says = {uf: Registrations(CNPJ, uf, nome="FULANA DE TAL 11122233344") for uf in ("SC", "RS")}
    for answer in asyncio.run(ask(odd(says), a_uf("SC"), a_uf("RS"))):
        assert record_of(answer, Registrations).nome == "FULANA DE TAL ***222333**"


def test_a_bug_is_raised_where_it_is_waited_for() -> None:
    async def story() -> None:
        def no_upstream(inquiry: Inquiry) -> Any:
            raise KeyError(inquiry.uf)

        source = Together("cnpja", CnpjaAdapter("the-key"), no_upstream, now=lambda: NOW)
        outcomes = await asyncio.gather(
            source.ask(a_uf("SC")), source.ask(a_uf("RS")), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [KeyError, KeyError]

    run(story())


def test_who_goes_away_leaves_the_others_alone() -> None:
    async def story() -> None:
        provider, measured = Provider(), Measured()
        provider.gate = asyncio.Event()
        source = together(provider, measured=measured)
        asking = [asyncio.create_task(source.ask(a_uf(uf))) for uf in ("SC", "RS", "PR")]
        await asyncio.sleep(0)  # aboard, not yet under way
        asking[0].cancel()
        await turns()
        asking[1].cancel()
        await turns()
        provider.gate.set()
        assert record_of(await asking[2], Registrations).uf == "PR"
        assert asking[0].cancelled()
        assert asking[1].cancelled()
        assert provider.asked == [(CNPJ, "SC,RS,PR")]
        assert measured.outcomes == ["found"]

    run(story())


def test_a_failure_that_nobody_waits_for_any_more_complains_to_nobody() -> None:
    async def story() -> None:
        provider = Provider()
        provider.gate, provider.status = asyncio.Event(), 500
        source = together(provider)
        asking = [asyncio.create_task(source.ask(a_uf(uf))) for uf in ("SC", "RS")]
        await turns()
        for task in asking:
            task.cancel()
        await turns()
        provider.gate.set()
        await turns(50)
        assert all(task.cancelled() for task in asking)

    run(story())


def test_when_the_process_stops_nobody_waits_for_ever() -> None:
    async def story() -> None:
        provider = Provider()
        provider.gate = asyncio.Event()
        source = together(provider)
        asking = asyncio.create_task(source.ask(a_uf("SC")))
        await turns()
        (travelling,) = source._travelling
        travelling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await turns()
        assert travelling.cancelled()
        assert source._travelling == set()

    run(story())


def test_it_was_asked_when_the_call_set_out() -> None:
    ticks = iter(NOW + timedelta(seconds=seconds) for seconds in range(9))
    source = together(Provider(), now=lambda: next(ticks))
    answers = asyncio.run(ask(source, a_uf("SC"), a_uf("RS")))
    assert [answer.as_of for answer in answers if isinstance(answer, Found)] == [NOW, NOW]
