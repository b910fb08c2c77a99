"""Codes of municipalities (contract 14.1)."""

import pytest

from balcao.core.federation import IBGE_CODES
from balcao.fiction.places import BY_TOM
from balcao.opendata.municipalities import toms_by_ibge

# IBGE assigned these a wrong check digit, and never changed it.
WRONG_FOR_EVER = {
    *("2201919", "2201988", "2202251", "2611533", "3117836"),
    *("3152131", "4305871", "5203939", "5203962"),
}


def check_digit(six: str) -> str:
    weighed = (int(digit) * weight for digit, weight in zip(six, (1, 2) * 3, strict=True))
    return str(-sum(sum(divmod(each, 10)) for each in weighed) % 10)


def test_codes_are_valid_and_unique() -> None:
    known = toms_by_ibge()
    assert len(known) == len(set(known.values())) == 5_571
    assert all(len(tom) == 4 and tom.isdecimal() for tom in known.values())
    assert {ibge for ibge in known if check_digit(ibge[:6]) != ibge[6]} == WRONG_FOR_EVER


def test_each_state_has_its_municipalities() -> None:
    counts = dict.fromkeys(IBGE_CODES.values(), 0)
    for ibge in toms_by_ibge():
        counts[ibge[:2]] += 1
    by_uf = {uf: counts[code] for uf, code in IBGE_CODES.items()}
    assert (by_uf["MG"], by_uf["SP"], by_uf["RS"], by_uf["RR"], by_uf["DF"]) == (
        *(853, 645, 497, 15, 1),
    )


@pytest.mark.parametrize("tom", [tom for tom, place in BY_TOM.items() if place.ibge])
def test_the_sandbox_has_the_same_codes(tom: str) -> None:
    assert toms_by_ibge()[BY_TOM[tom].ibge] == tom
