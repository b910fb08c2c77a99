"""Repeated registrations, and texts in place of a number."""

import pytest

from balcao.core.registration import (
    RegisteredAddress,
    Registration,
    Registrations,
    has_number,
    once_each,
)

ONE = Registration("0250000008", "SC", ativa=True, data_status="2021-06-15")
ADDRESS = RegisteredAddress(logradouro="RUA DAS ACACIAS", uf="SC")


def told(*registrations: Registration) -> Registrations:
    return Registrations("11222333000181", "SC", inscricoes=registrations)


@pytest.mark.parametrize(
    ("told_once_more", "answered"),
    [
        (ONE, ONE),
        (Registration("250000008", "SC", ativa=True), ONE),  # a zero lost, and the date left out
        (
            Registration("025.000.000-8", "SC", ativa=True, endereco=ADDRESS),
            Registration(
                "0250000008", "SC", ativa=True, data_status="2021-06-15", endereco=ADDRESS
            ),
        ),
        (Registration("0250000008", "SC", ativa=True, updated_at="2026-08-05 10:15:30"), None),
    ],
)
def test_the_same_registration_twice_is_one(
    told_once_more: Registration, answered: Registration | None
) -> None:
    record = once_each(told(ONE, told_once_more))
    assert record is not None
    assert len(record.inscricoes) == 1
    if answered is not None:
        assert record.inscricoes == (answered,)


@pytest.mark.parametrize(
    "other",
    [
        Registration("0250000008", "SC", ativa=False),
        Registration("250000008", "SC", ativa=True, data_status="2022-01-01"),
        Registration("0250000008", "SC", ativa=True, tipo_ie="IE Normal"),
        Registration("0250000008", "SC", ativa=True, situacao_pj="Emitente bloqueado no destino"),
        Registration("0250000008", "SC", ativa=True, endereco=RegisteredAddress(uf="SC")),
    ],
)
def test_a_registration_that_contradicts_itself(other: Registration) -> None:
    whole = Registration(
        "0250000008",
        "SC",
        ativa=True,
        tipo_ie="IE Substituto Tributário",
        situacao_pj="Sem restrição",
        data_status="2021-06-15",
        endereco=ADDRESS,
    )
    assert once_each(told(whole, other)) is None
    assert once_each(told(other, whole)) is None


def test_several_registrations_stay_as_they_are() -> None:
    record = told(ONE, Registration("250000016", "SC", ativa=False))
    assert once_each(record) is record


@pytest.mark.parametrize(
    "said",
    [
        "ISENTO", " isento ", "ISENTA", "ISENTOS", "NAO CONTRIBUINTE", "Não contribuinte",
        "NÃO OBRIGADO", "DISPENSADA", "BAIXADA", "-", "**********",
    ],
)  # fmt: skip
def test_without_a_digit_there_is_no_number(said: str) -> None:
    assert not has_number(said)


@pytest.mark.parametrize("said", ["1", "P-01100424.3/002", "", "  ", None, "ISENTO " * 10])
def test_what_has_a_number_or_lacks_it(said: str | None) -> None:
    assert has_number(said)
