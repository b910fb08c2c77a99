"""Promised outcomes as they age under the clock of a test portfolio (`docs/sandbox.md`)."""

from datetime import date, timedelta

import pytest

from balcao.fiction import (
    federal_certificate_of,
    federal_in_maintenance,
    fgts_regularity_of,
    registrations_of,
    registrations_of_person,
    state_certificate_of,
)
from balcao.fiction.days import PassedDays, passing
from balcao.fiction.records import FederalKind

FIRST = date(2026, 11, 28)


def day(number: int) -> date:
    return FIRST + timedelta(number)


def federal(document: str, number: int, *, new: bool = False) -> tuple[FederalKind, int | None]:
    """Return the kind and the last day, counted from the first, of a certificate on a day."""
    with passing(PassedDays(FIRST, day(number))):
        found = federal_certificate_of(document, day(number), new=new)
    last = found.extended_validity or found.validity
    return found.kind, None if last is None else (last - FIRST).days


CND, CPEND, CPD = FederalKind.CND, FederalKind.CPEND, FederalKind.CPD


@pytest.mark.parametrize(
    ("document", "number", "new", "kind", "last"),
    [
        ("90030012000151", 0, False, CND, 15),
        ("90030012000151", 14, False, CND, 15),
        ("90030012000151", 15, False, CND, 15),
        ("90030012000151", 16, False, CND, 196),
        ("90030012000151", 5, True, CND, 185),
        ("90030013000104", 0, True, CND, 15),
        ("90030013000104", 15, True, CND, 15),
        ("90030013000104", 16, True, CND, 196),
        ("90030014000140", 0, False, CND, 15),
        ("90030014000140", 5, True, CPD, None),
        ("90030014000140", 16, False, CPD, None),
        ("90010008000121", 0, False, CND, 40),
        ("90010008000121", 40, False, CND, 40),
        ("90010008000121", 41, False, CND, 221),
        ("90030000181", 0, False, CND, 20),
        ("90030000181", 10, True, CND, 190),
    ],
)
def test_federal_certificates(
    document: str, number: int, new: bool, kind: FederalKind, last: int | None
) -> None:
    assert federal(document, number, new=new) == (kind, last)


def test_an_issuer_in_maintenance() -> None:
    with passing(PassedDays(FIRST, day(15))):
        assert not federal_in_maintenance("90030015000195", day(15))
        assert federal_in_maintenance("90030015000195", day(15), new=True)
        assert not federal_in_maintenance("90030012000151", day(15), new=True)
    with passing(PassedDays(FIRST, day(16))):
        assert federal_in_maintenance("90030015000195", day(16))


def test_a_cpend_has_a_next_one_after_its_end() -> None:
    _, last = federal("90010002000154", 0)
    assert last is not None
    kind, following = federal("90010002000154", last + 1)
    assert kind is CPEND
    assert following is not None
    assert following > last + 1


def test_state_certificates() -> None:
    ends = []
    for number in (0, 60, 61, 241):
        with passing(PassedDays(FIRST, day(number))):
            found = state_certificate_of("90010001000100", "SP", day(number))
        assert found.validity is not None
        ends.append((found.validity - FIRST).days)
    assert ends == [60, 60, 241, 421]


def test_regularity_is_renewed_ten_days_before_its_end() -> None:
    ends = []
    for number in (0, 9, 10, 28, 29):
        with passing(PassedDays(FIRST, day(number))):
            found = fgts_regularity_of("90010001000100", day(number))
        ends.append((found.validity[0] - FIRST).days)
    assert ends == [20, 20, 39, 39, 58]


def test_registrations_change_on_day_10() -> None:
    def now(number: int) -> list[tuple[bool, int, date]]:
        with passing(PassedDays(FIRST, day(number))):
            found = (*registrations_of("90010001000100"), *registrations_of_person("90030000181"))
        return [(each.active, each.situation, each.status_date) for each in found]

    since = date(2015, 3, 2)
    assert now(9) == [(True, 1, since), (True, 1, since)]
    assert now(10) == [(True, 2, day(10)), (False, 1, day(10))]
    assert now(400) == now(10)
    assert registrations_of("90010001000100")[0].situation == 1
