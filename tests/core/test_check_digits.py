"""The check digits against a library's: python-stdnum is the judge, and no part of the service."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum.br import cnpj as stdnum_cnpj
from stdnum.br import cpf as stdnum_cpf

from balcao.core.check_digits import (
    cnpj_check_digits,
    cpf_check_digits,
    zone_check_digit,
)
from balcao.core.suframa import is_zone_number


@given(st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=12, max_size=12))
def test_of_companies(base: str) -> None:
    assert cnpj_check_digits(base) == stdnum_cnpj.calc_check_digits(base)


@given(st.text("0123456789", min_size=9, max_size=9))
def test_of_people(base: str) -> None:
    assert cpf_check_digits(base) == stdnum_cpf._calc_check_digits(base)


def test_of_every_remainder() -> None:
    """0 and 1 have a digit of their own; of all others it is what is missing to 11."""
    for number in range(2_000):
        digits = stdnum_cpf._calc_check_digits(f"{number:09}")
        assert cpf_check_digits(f"{number:09}") == digits
        company = f"{number:012}"
        digits = stdnum_cnpj.calc_check_digits(company)
        assert cnpj_check_digits(company) == digits


# The first two as a vendor prints them, the others out of public test tables.
ZONE_NUMBERS = ["200000012", "200000020", "123456789", "143456784", "148456782", "088451780"]


@pytest.mark.parametrize("number", ZONE_NUMBERS)
def test_of_suframas_numbers(number: str) -> None:
    assert zone_check_digit(number[:8]) == number[8]
    assert is_zone_number(number)
    assert is_zone_number(f"{number[:2]}.{number[2:6]}.{number[6:]}")
    assert [digit for digit in "0123456789" if is_zone_number(number[:8] + digit)] == [number[8]]
    assert not is_zone_number(f"1{number}")


def test_suframas_numbers_may_lack_the_zero_in_front() -> None:
    assert is_zone_number("88451780")
    assert not is_zone_number("88451788")
    for other in ("", "0", "000000000", "1234567", "20000001A", "ISENTO"):
        assert not is_zone_number(other)
