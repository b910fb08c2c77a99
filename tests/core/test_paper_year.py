"""A year of certificates that renew themselves, in simulated time (contract 20.6).

2018 has the last two days on which Brasília's zone changed.
"""

import pytest
from bench.year import KINDS, Year


@pytest.mark.parametrize("seed", [1, 2])
def test_a_year_with_faults_misses_nothing(seed: int) -> None:
    year = Year(40, seed)
    year.run()  # checks itself
    assert year.events["certidao.mesma"] > 0
    assert year.events["certidao.prorrogada"] == 40
    assert year.events["certidao.nao_renovada"] > 100
    assert year.missed == []
    assert year.questions["certidao_federal", "nova", True] > 60


def test_the_ceiling_of_a_month_is_never_passed() -> None:
    year = Year(40, ceiling=41)
    year.run()
    assert max(year.spent.values()) == 40
    assert year.events["carteira.parada"] >= 11
    assert year.expired > 0


def test_without_a_ceiling_nothing_is_asked_and_all_notices_are_written() -> None:
    year = Year(40, ceiling=0)
    year.run()
    assert (year.attempts, sum(year.spent.values())) == (0, 0)
    assert year.events["certidao.vencida"] >= 40 * len(KINDS)
    assert year.events["certidao.a_vencer"] > year.events["certidao.vencida"]


def test_a_source_that_issues_nothing_new_is_asked_after_the_end() -> None:
    year = Year(40, reissues=False)
    year.run()
    assert year.questions["certidao_federal", "", False] > 40
    assert year.questions["certidao_federal", "", True] == 0
