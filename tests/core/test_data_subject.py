"""Finding a CPF in texts."""

import pytest

from balcao.core.data_subject import CpfFinder
from balcao.core.documents import Cpf


@pytest.mark.parametrize(
    "text",
    [
        "52998224725",
        "529.982.247-25",
        "529 982 247 25",
        "529. 982. 247 -25",
        "529\u00a0982\u00a0247/25",
        "529982247-25",
        "sócio: 529.982.247-25 (50%)",
        "CPF52998224725",
        "52998224725.0",
        "a;52998224725;b",
        "00052998224725",
        "529.982.247–25",
        "529.982.247 - 25",
        "５２９９８２２４７２５",
        "\u200b5299822\u200b4725",
        "5 2 9 9 8 2 2 4 7 2 5",
    ],
)
def test_a_person_is_named(text: str) -> None:
    assert CpfFinder(Cpf.parse("52998224725")).is_in(text)
    assert CpfFinder(Cpf.parse("52998224725")).is_in_any(["x", text, "y"])


@pytest.mark.parametrize(
    "text", ["", "5299822472", "152998224725", "529982247250", "529.982.247-26", "529\n982\n24725"]
)
def test_others_are_not(text: str) -> None:
    assert not CpfFinder(Cpf.parse("52998224725")).is_in(text)


def test_every_spelling_goes() -> None:
    person = CpfFinder(Cpf.parse("52998224725"))
    assert person.redact("de 529.982.247 - 25, sócio") == "de apagado, sócio"
    assert person.redact("de ５２９９８２２４７２５") == "de apagado"
    assert person.redact("São Paulo") == "São Paulo"


def test_cells_are_not_read_together() -> None:
    assert not CpfFinder(Cpf.parse("52998224725")).is_in_any(["529982", "24725"])


@pytest.mark.parametrize(
    ("cpf", "text", "named"),
    [
        ("00123456797", "123456797", True),
        ("00123456797", "1234567970", False),
        ("00000000191", "191", False),  # a number like others
        ("00000000191", "000.000.001-91", True),
    ],
)
def test_zeros_that_were_cut_off(cpf: str, text: str, named: bool) -> None:
    assert CpfFinder(Cpf.parse(cpf)).is_in(text) is named


def test_a_company_is_nobody() -> None:
    bank = CpfFinder(Cpf.parse("00000000191"))
    assert bank.is_in("000.000.001-91")
    assert bank.is_in("0000000000191")
    assert not bank.is_in("00000000000191"), "the number of a company"
