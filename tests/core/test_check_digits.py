"""The check digits against a library's: python-stdnum is the judge, and no part of the service."""

from hypothesis import given
from hypothesis import strategies as st
from stdnum.br import cnpj as stdnum_cnpj
from stdnum.br import cpf as stdnum_cpf

from balcao.core.check_digits import cnpj_check_digits, cpf_check_digits


@given(st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=12, max_size=12))
def test_of_companies(base: str) -> None:
    assert cnpj_check_digits(base) == stdnum_cnpj.calc_check_digits(base)


@given(st.text("0123456789", min_size=9, max_size=9))
def test_of_people(base: str) -> None:
    assert cpf_check_digits(base) == stdnum_cpf._calc_check_digits(base)


def test_of_every_remainder() -> None:
    """0 and 1 have a digit of their own; of all others it is what is missing to 11."""
    for number in range(2_000):
        assert cpf_check_digits(f"{number:09}") == stdnum_cpf._calc_check_digits(f"{number:09}")
        company = f"{number:012}"
        assert cnpj_check_digits(company) == stdnum_cnpj.calc_check_digits(company)
