"""Combined inquiries about several UFs of one document."""

import asyncio

import pytest

from balcao.core.errors import SourceFailed
from balcao.core.federation import UFS
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.sources.contract import Found
from balcao.sources.router import SourceRouter
from tests.records import CNPJ as OTHER_CNPJ
from tests.records import CPF
from tests.sources.adapters import CNPJ, NOW, Measured, a_uf, a_zone_inquiry, record_of
from tests.sources.multi_uf_world import (
    Provider,
    ask,
    fixed_source,
    loop_turns,
    multi_uf_source,
    number_in,
    run,
)


def test_all_ufs_in_one_turn_share_a_call() -> None:
    async def scenario() -> None:
        provider, measured, inquiries = Provider(), Measured(), list[Inquiry]()
        source = multi_uf_source(provider, measured=measured, inquiries=inquiries)
        answers = await ask(source, *map(a_uf, UFS))
        assert provider.asked == [(CNPJ, ",".join(UFS))]
        assert measured.outcomes == ["found"]
        assert [inquiry.uf for inquiry in inquiries] == ["BR"]
        for uf, answer in zip(UFS, answers, strict=True):
            assert isinstance(answer, Found)
            assert (answer.source, answer.as_of) == ("cnpja", NOW)
            record = record_of(answer, Registrations)
            assert (record.documento, record.uf) == (CNPJ, uf)
            assert [each.inscricao_estadual for each in record.inscricoes] == [number_in(uf)]

    run(scenario())


def test_combined_through_the_router() -> None:
    async def scenario() -> None:
        provider = Provider()
        sources = SourceRouter({"state_registration": [multi_uf_source(provider)]})
        answers = await asyncio.gather(*(sources.ask(a_uf(uf)) for uf in UFS))
        assert provider.asked == [(CNPJ, ",".join(UFS))]
        assert [record_of(answer, Registrations).uf for answer in answers] == list(UFS)

    run(scenario())


def test_cached_uf_is_not_requested() -> None:
    async def scenario() -> None:
        provider = Provider()
        ufs = [uf for uf in UFS if uf != "SP"]
        answers = await ask(multi_uf_source(provider), *map(a_uf, ufs))
        assert provider.asked == [(CNPJ, ",".join(ufs))]
        assert [record_of(answer, Registrations).uf for answer in answers] == ufs

    run(scenario())


def test_single_inquiry_is_not_combined() -> None:
    async def scenario() -> None:
        provider, inquiries = Provider(), list[Inquiry]()
        (answer,) = await ask(multi_uf_source(provider, inquiries=inquiries), a_uf("SC"))
        assert provider.asked == [(CNPJ, "SC")]
        assert inquiries == [a_uf("SC")]
        assert record_of(answer, Registrations).uf == "SC"

    run(scenario())


def test_equal_inquiries_share_a_request() -> None:
    async def scenario() -> None:
        provider = Provider()
        answers = await ask(multi_uf_source(provider), a_uf("SC"), a_uf("SC"))
        assert provider.asked == [(CNPJ, "SC")]
        assert answers[0] == answers[1]

    run(scenario())


def test_later_inquiry_is_another_call() -> None:
    async def scenario() -> None:
        provider = Provider()
        provider.gate = asyncio.Event()
        source = multi_uf_source(provider)
        first = asyncio.create_task(ask(source, a_uf("SC"), a_uf("RS")))
        await loop_turns()
        second = asyncio.create_task(ask(source, a_uf("SC"), a_uf("PR")))
        await loop_turns()
        provider.gate.set()
        await asyncio.gather(first, second)
        assert provider.asked == [(CNPJ, "SC,RS"), (CNPJ, "SC,PR")]

    run(scenario())


def test_different_inquiries_are_not_combined() -> None:
    async def scenario() -> None:
        provider = Provider()
        await ask(
            multi_uf_source(provider),
            *(a_uf(uf, cnpj) for uf in ("SC", "RS") for cnpj in (CNPJ, OTHER_CNPJ)),
            a_uf("PR", subject="rural_producer"),
            a_uf("SP", addresses=True),
        )
        assert sorted(provider.asked) == [
            (CNPJ, "PR"),
            (CNPJ, "SC,RS"),
            (CNPJ, "SP"),
            (OTHER_CNPJ, "SC,RS"),
        ]

    run(scenario())


def test_inquiries_that_cannot_be_combined() -> None:
    async def scenario() -> None:
        provider = Provider()
        await ask(multi_uf_source(provider), a_uf("SC", CPF), a_uf("RS", CPF))
        assert sorted(provider.asked) == [(CPF, "RS"), (CPF, "SC")]

    run(scenario())


def test_inquiry_without_uf_is_not_combined() -> None:
    source = fixed_source(None)
    with pytest.raises(SourceFailed):
        asyncio.run(source.ask(a_zone_inquiry()))
    assert asyncio.run(source.probe(a_uf())) == "respondeu"
