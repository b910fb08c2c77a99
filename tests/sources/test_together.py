"""Inquiries about several UFs of one document that travel together."""

import asyncio

import pytest

from balcao.core.errors import SourceFailed
from balcao.core.federation import UFS
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.sources.asking import Sources
from balcao.sources.contract import Found
from tests.records import CNPJ as OTHER_CNPJ
from tests.records import CPF
from tests.sources.adapters import CNPJ, NOW, Measured, a_uf, a_zone_inquiry, record_of
from tests.sources.together_world import Provider, ask, number_in, odd, run, together, turns


def test_all_ufs_asked_in_one_turn_are_one_call() -> None:
    async def story() -> None:
        provider, measured, asked_for = Provider(), Measured(), list[Inquiry]()
        source = together(provider, measured=measured, asked_for=asked_for)
        answers = await ask(source, *map(a_uf, UFS))
        assert provider.asked == [(CNPJ, ",".join(UFS))]
        assert measured.outcomes == ["found"]
        assert [inquiry.uf for inquiry in asked_for] == ["BR"]
        for uf, answer in zip(UFS, answers, strict=True):
            assert isinstance(answer, Found)
            assert (answer.source, answer.as_of) == ("cnpja", NOW)
            record = record_of(answer, Registrations)
            assert (record.documento, record.uf) == (CNPJ, uf)
            assert [each.inscricao_estadual for each in record.inscricoes] == [number_in(uf)]

    run(story())


def test_the_same_through_all_that_asks() -> None:
    async def story() -> None:
        provider = Provider()
        sources = Sources({"state_registration": [together(provider)]})
        answers = await asyncio.gather(*(sources.ask(a_uf(uf)) for uf in UFS))
        assert provider.asked == [(CNPJ, ",".join(UFS))]
        assert [record_of(answer, Registrations).uf for answer in answers] == list(UFS)

    run(story())


def test_a_uf_that_is_known_already_is_left_out() -> None:
    async def story() -> None:
        provider = Provider()
        ufs = [uf for uf in UFS if uf != "SP"]
        answers = await ask(together(provider), *map(a_uf, ufs))
        assert provider.asked == [(CNPJ, ",".join(ufs))]
        assert [record_of(answer, Registrations).uf for answer in answers] == ufs

    run(story())


def test_one_alone_is_asked_as_one() -> None:
    async def story() -> None:
        provider, asked_for = Provider(), list[Inquiry]()
        (answer,) = await ask(together(provider, asked_for=asked_for), a_uf("SC"))
        assert provider.asked == [(CNPJ, "SC")]
        assert asked_for == [a_uf("SC")]
        assert record_of(answer, Registrations).uf == "SC"

    run(story())


def test_the_same_uf_twice_is_asked_once() -> None:
    async def story() -> None:
        provider = Provider()
        answers = await ask(together(provider), a_uf("SC"), a_uf("SC"))
        assert provider.asked == [(CNPJ, "SC")]
        assert answers[0] == answers[1]

    run(story())


def test_who_comes_later_travels_later() -> None:
    async def story() -> None:
        provider = Provider()
        provider.gate = asyncio.Event()
        source = together(provider)
        first = asyncio.create_task(ask(source, a_uf("SC"), a_uf("RS")))
        await turns()
        second = asyncio.create_task(ask(source, a_uf("SC"), a_uf("PR")))
        await turns()
        provider.gate.set()
        await asyncio.gather(first, second)
        assert provider.asked == [(CNPJ, "SC,RS"), (CNPJ, "SC,PR")]

    run(story())


def test_another_document_subject_or_wish_is_another_call() -> None:
    async def story() -> None:
        provider = Provider()
        await ask(
            together(provider),
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

    run(story())


def test_what_the_provider_takes_one_by_one_is_asked_one_by_one() -> None:
    async def story() -> None:
        provider = Provider()
        await ask(together(provider), a_uf("SC", CPF), a_uf("RS", CPF))
        assert sorted(provider.asked) == [(CPF, "RS"), (CPF, "SC")]

    run(story())


def test_a_question_without_a_uf_is_asked_as_ever() -> None:
    source = odd(None)
    with pytest.raises(SourceFailed):
        asyncio.run(source.ask(a_zone_inquiry()))
    assert asyncio.run(source.probe(a_uf())) == "respondeu"
