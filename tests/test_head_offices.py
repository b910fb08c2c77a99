"""The establishment that a source is asked about for the whole company (contract 4.13)."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from balcao.core.check_digits import cnpj_check_digits
from balcao.core.documents import Cnpj
from balcao.core.freshness import CacheEntry
from balcao.core.questions import Inquiry
from balcao.lookup.head_offices import HeadOffices
from tests.records import a_company


def establishment(order: str) -> Cnpj:
    base = f"90010007{order}"
    return Cnpj(base + cnpj_check_digits(base))


FIRST, SECOND, THIRD = (establishment(order) for order in ("0001", "0002", "00E3"))


class AMonth:
    """Some establishments of one company, with their flags."""

    def __init__(self, flags: Mapping[Cnpj, bool], *, damaged: bool = False) -> None:
        self.flags, self.damaged, self.searched = flags, damaged, 0

    def is_head_office(self, cnpj: Cnpj) -> bool | None:
        if self.damaged:
            raise OSError
        return self.flags.get(cnpj)

    def has_company(self, root: str) -> bool:
        return bool(self.flags)

    def find_head_office(self, root: str) -> Cnpj | None:
        self.searched += 1
        return next((cnpj for cnpj, flag in self.flags.items() if flag), None)


class ACache:
    """A cache with answers of company sources."""

    def __init__(self, *head_offices: Cnpj) -> None:
        self.kept = {
            Inquiry("company", cnpj).cache_key: CacheEntry(
                msgspec.json.encode(a_company(cnpj.text, identificador_matriz_filial="MATRIZ")),
                1,
                "fonte",
            )
            for cnpj in head_offices
        }

    async def read(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        return {key: self.kept[key] for key in keys if key in self.kept}


def found(month: AMonth, *kept: Cnpj, of: Cnpj = SECOND) -> Cnpj:
    return asyncio.run(HeadOffices(month, ACache(*kept)).head_office_of(of))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flags", "head_office", "searches"),
    [
        ({FIRST: True, SECOND: False}, FIRST, 0),
        ({FIRST: False, SECOND: True}, SECOND, 0),
        ({FIRST: False, SECOND: False, THIRD: True}, THIRD, 1),
        ({THIRD: True}, THIRD, 1),  # the branch is younger than the month
        ({FIRST: False, SECOND: False}, FIRST, 1),  # nobody has the flag
        ({}, FIRST, 0),
    ],
)
def test_the_flag_of_the_month_counts(
    flags: Mapping[Cnpj, bool], head_office: Cnpj, searches: int
) -> None:
    month = AMonth(flags)
    assert found(month) == head_office
    assert month.searched == searches


def test_without_a_month_an_answer_of_the_registry_counts() -> None:
    assert found(AMonth({}), SECOND) == SECOND
    assert found(AMonth({}), THIRD) == FIRST


def test_a_damaged_month_is_ignored() -> None:
    assert found(AMonth({}, damaged=True)) == FIRST


def test_a_guessed_order_has_no_letters() -> None:
    assert found(AMonth({}), of=THIRD) == FIRST
    base = "12ABC34500E3"
    branch = Cnpj(base + cnpj_check_digits(base))
    assert found(AMonth({}), of=branch).text[:12] == "12ABC3450001"
