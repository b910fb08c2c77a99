"""Combined calls that fail, or are cancelled by a caller."""

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
from balcao.sources.multi_uf import MultiUfSource
from tests.records import CNPJ as OTHER_CNPJ
from tests.sources.adapters import CNPJ, NOW, Measured, a_uf, record_of, registrations
from tests.sources.multi_uf_world import (
    Provider,
    ask,
    ask_and_fail,
    fixed_source,
    loop_turns,
    multi_uf_source,
    number_in,
    run,
)


@pytest.mark.parametrize(
    ("status", "kind"), [(500, SourceFailed), (503, SourceUnavailable), (401, SourceUnavailable)]
)
def test_failure_reaches_all_callers(status: int, kind: type[SourceError]) -> None:
    async def scenario() -> None:
        provider, measured = Provider(), Measured()
        provider.status = status
        source = multi_uf_source(provider, measured=measured)
        errors = await ask_and_fail(source, *map(a_uf, UFS), a_uf("SC"))
        assert len(provider.asked) == len(measured) == 1
        assert {type(error) for error in errors} == {kind}
        assert len({error.detail for error in errors}) == 1
        assert len(set(map(id, errors))) >= len(UFS), "a copy each"
        provider.status = 200
        assert len(await ask(source, a_uf("SC"), a_uf("RS"))) == 2, "it is tried again"

    run(scenario())


def test_empty_reply_answers_every_uf() -> None:
    async def scenario() -> None:
        provider = Provider()
        provider.status = 404
        answers = await ask(multi_uf_source(provider), a_uf("SC"), a_uf("RS"))
        assert [record_of(answer, Registrations).inscricoes for answer in answers] == [(), ()]

    run(scenario())


def test_absence_reaches_all_callers() -> None:
    answers = asyncio.run(ask(fixed_source(None), a_uf("SC"), a_uf("RS")))
    assert answers == [Absent("odd", conclusive=True)] * 2


@pytest.mark.parametrize(
    ("reply", "text"),
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
def test_one_wrong_uf_fails_the_whole_call(reply: Mapping[str, Registrations], text: str) -> None:
    for error in asyncio.run(ask_and_fail(fixed_source(reply), a_uf("SC"), a_uf("RS"))):
        assert type(error) is SourceFailed
        assert text in error.detail
        assert CNPJ not in error.detail


def test_unrequested_uf_is_ignored() -> None:
    reply = {uf: registrations(uf, number_in(uf)) for uf in ("SC", "RS", "PR")}
    answers = asyncio.run(ask(fixed_source(reply), a_uf("SC"), a_uf("RS")))
    assert [record_of(answer, Registrations) for answer in answers] == [reply["SC"], reply["RS"]]


def test_a_cpf_in_a_name_is_masked() -> None:
    reply = {uf: Registrations(CNPJ, uf, nome="FULANA DE TAL 11122233344") for uf in ("SC", "RS")}
    for answer in asyncio.run(ask(fixed_source(reply), a_uf("SC"), a_uf("RS"))):
        assert record_of(answer, Registrations).nome == "FULANA DE TAL ***222333**"


def test_bug_is_raised_to_the_caller() -> None:
    async def scenario() -> None:
        def no_upstream(inquiry: Inquiry) -> Any:
            raise KeyError(inquiry.uf)

        source = MultiUfSource("cnpja", CnpjaAdapter("the-key"), no_upstream, now=lambda: NOW)
        outcomes = await asyncio.gather(
            source.ask(a_uf("SC")), source.ask(a_uf("RS")), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [KeyError, KeyError]

    run(scenario())


def test_cancelled_caller_does_not_affect_others() -> None:
    async def scenario() -> None:
        provider, measured = Provider(), Measured()
        provider.gate = asyncio.Event()
        source = multi_uf_source(provider, measured=measured)
        asking = [asyncio.create_task(source.ask(a_uf(uf))) for uf in ("SC", "RS", "PR")]
        await asyncio.sleep(0)  # joined the group, not yet sent
        asking[0].cancel()
        await loop_turns()
        asking[1].cancel()
        await loop_turns()
        provider.gate.set()
        assert record_of(await asking[2], Registrations).uf == "PR"
        assert asking[0].cancelled()
        assert asking[1].cancelled()
        assert provider.asked == [(CNPJ, "SC,RS,PR")]
        assert measured.outcomes == ["found"]

    run(scenario())


def test_failure_without_callers_is_not_reported() -> None:
    async def scenario() -> None:
        provider = Provider()
        provider.gate, provider.status = asyncio.Event(), 500
        source = multi_uf_source(provider)
        asking = [asyncio.create_task(source.ask(a_uf(uf))) for uf in ("SC", "RS")]
        await loop_turns()
        for task in asking:
            task.cancel()
        await loop_turns()
        provider.gate.set()
        await loop_turns(50)
        assert all(task.cancelled() for task in asking)

    run(scenario())


def test_shutdown_ends_all_waits() -> None:
    async def scenario() -> None:
        provider = Provider()
        provider.gate = asyncio.Event()
        source = multi_uf_source(provider)
        asking = asyncio.create_task(source.ask(a_uf("SC")))
        await loop_turns()
        (travelling,) = source._tasks
        travelling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await loop_turns()
        assert travelling.cancelled()
        assert source._tasks == set()

    run(scenario())


def test_answer_has_the_time_of_the_call() -> None:
    ticks = iter(NOW + timedelta(seconds=seconds) for seconds in range(9))
    source = multi_uf_source(Provider(), now=lambda: next(ticks))
    answers = asyncio.run(ask(source, a_uf("SC"), a_uf("RS")))
    assert [answer.as_of for answer in answers if isinstance(answer, Found)] == [NOW, NOW]
