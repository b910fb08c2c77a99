"""Certificates of the states: the promised rows, and drawn ones."""

from collections import Counter
from datetime import date, timedelta

import pytest

from balcao.core.federation import UFS
from balcao.fiction import company_of, establishment_of, state_certificate_of
from balcao.fiction.digits import cnpj
from balcao.fiction.records import ReceiptKind, StateFiction
from balcao.fiction.sandbox import MISBEHAVING_COMPANIES
from tests.fiction.test_certificates import TODAYS, in_days

# CNPJ, UF, negative, days left (None: some), receipt
STATE = [
    ("90010001000100", "SP", True, 60, "pdf"),
    ("90010002000154", "AM", True, None, "pdf"),
    ("90010003000107", "SP", False, None, ""),
    ("90010004000143", "SP", False, None, ""),
    ("90010006000132", "SP", True, None, ""),
    ("90010007000187", "SP", True, None, "pdf"),
    ("90010007000268", "SP", True, None, "pdf"),
    ("90010008000121", "SP", True, None, "pdf"),
    ("90010009000176", "SP", True, 1, "pdf"),
    ("90010010000109", "SP", True, 0, "pdf"),
    ("90010011000145", "SP", True, None, "html"),
    ("90010012000190", "SP", True, None, "pdf"),
    ("12ABC34501DE35", "SP", True, None, "pdf"),
    ("00000000E08G12", "SP", True, None, "pdf"),
    ("99999999000191", "SP", False, None, ""),
    ("99999999000191", "MG", False, None, ""),
    *((document, "SP", True, None, "pdf") for document in MISBEHAVING_COMPANIES),
]


@pytest.mark.parametrize("today", TODAYS, ids=str)
@pytest.mark.parametrize("row", STATE, ids=lambda row: f"{row[0]} {row[1]}")
def test_state_row(row: tuple[str, str, bool, int | None, str], today: date) -> None:
    document, uf, negative, days, receipt = row
    found = state_certificate_of(document, uf, today)

    assert (found.document, found.uf) == (document, uf)
    assert found.negative is negative
    assert found.receipt.value == receipt
    assert found.name == company_of(document[:8]).name
    assert found == state_certificate_of(document, uf, today)
    if negative:
        assert found.code
        assert found.issued_on is not None
        assert found.issued_on <= today
        assert found.fiscal_message == "não constam débitos"
        left = in_days(found.validity, today)
        assert left == days if days is not None else 1 <= left <= 180
    else:
        assert found.message
        assert (found.code, found.number, found.validity) == ("", "", None)


def test_a_state_certificate_without_validity() -> None:
    found = state_certificate_of("90010005000198", "SP", TODAYS[-1])

    assert found.negative
    assert found.validity is None
    assert found.receipt is ReceiptKind.PDF


def test_some_ufs_need_an_answer_from_all() -> None:
    for uf in UFS:
        assert state_certificate_of("90020008000102", uf, TODAYS[-1]).negative


def test_elsewhere_a_promised_company_has_what_is_drawn() -> None:
    found = [state_certificate_of("90010003000107", uf, TODAYS[-1]) for uf in UFS if uf != "SP"]

    assert {each.negative for each in found} == {True, False}


def test_state_certificates_stay_the_same_while_in_force() -> None:
    days = [date(2026, 1, 1) + timedelta(n) for n in range(200)]
    found = [state_certificate_of("90010001000100", "PR", day) for day in days]
    assert all(each.negative for each in found)

    def named(each: StateFiction) -> tuple[str, str]:
        return each.code, each.number

    assert len({named(each) for each in found}) in (4, 5)
    left = [in_days(each.validity, day) for each, day in zip(found, days, strict=True)]
    assert (min(left), max(left)) == (1, 60)


def test_shares_of_the_drawn() -> None:
    found: dict[bool, Counter[bool]] = {True: Counter(), False: Counter()}
    for n in range(1, 3001):
        document = cnpj(f"{n * 7919:08d}", "0001")
        active = establishment_of(document).status == "02"
        found[active][state_certificate_of(document, "SP", TODAYS[0]).negative] += 1

    assert found[True][True] / found[True].total() > 0.85
    assert found[False][True] / found[False].total() < 0.6


def test_written_down() -> None:
    """The values never change, as in `test_determinism.py`."""
    found = state_certificate_of("90010001000100", "SP", date(2026, 8, 20))

    assert (found.code, found.issued_on) == ("26043328001-56", date(2026, 4, 22))
