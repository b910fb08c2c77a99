"""When a month is plausible: decisions over counts (`rfb-open-data.md`, section 10)."""

import pytest

from balcao.opendata.tally import ColumnTally
from balcao.opendata.verify import (
    ProbeResult,
    bad_dates,
    compare,
    evenly_spaced,
    judge_sample,
    rejects_allowed,
    unknown_values,
)


@pytest.mark.parametrize(
    ("records", "allowed"), [(0, 10), (1_000_000, 10), (2_000_000, 20), (72_790_000, 727)]
)
def test_one_reject_in_a_hundred_thousand_and_ten_in_any_case(records: int, allowed: int) -> None:
    assert rejects_allowed(records) == allowed


@pytest.mark.parametrize(
    ("now", "fine"),
    [(1_000_000, True), (995_000, True), (994_999, False), (1_050_000, True), (1_050_001, False)],
)
def test_months_change_little(now: int, fine: bool) -> None:
    assert (compare({"Socios": now}, {"Socios": 1_000_000}) == []) is fine


def test_a_table_that_is_gone_shrank() -> None:
    assert compare({}, {"Socios": 7}) == ["Socios tem 0 linhas, o mês anterior tinha 7"]


MILLIONS = 72_000_000


@pytest.mark.parametrize(
    ("probed", "establishments", "believed"),
    [
        (ProbeResult(10_000), MILLIONS, True),
        (ProbeResult(10_000, missing=("33683111000280",)), MILLIONS, False),
        (ProbeResult(10_000, without_company=1), MILLIONS, True),
        (ProbeResult(10_000, without_company=2), MILLIONS, False),
        (ProbeResult(10_000, without_city=100), MILLIONS, True),
        (ProbeResult(10_000, without_city=101), MILLIONS, False),
        (ProbeResult(10_000, without_activity=101), MILLIONS, False),
        (ProbeResult(20, without_company=5), 20, True),
        (ProbeResult(20, without_company=6), 20, False),
        (ProbeResult(20, without_city=20, without_activity=20), 20, True),
        (ProbeResult(0), 0, True),
    ],
)
def test_the_sample(probed: ProbeResult, establishments: int, believed: bool) -> None:
    assert (judge_sample(probed, establishments).problems == []) is believed


def test_missing_texts_of_an_extract_are_warned_about() -> None:
    verdict = judge_sample(ProbeResult(20, without_city=3), 20)
    assert verdict.warnings == ["3 de 20 CNPJs vêm sem o município"]


def test_samples_add_up() -> None:
    total = sum((ProbeResult(2, ("a",), 1), ProbeResult(3, ("b",), 0, 1, 2)), ProbeResult())
    assert total == ProbeResult(5, ("a", "b"), 1, 1, 2)


def test_values_outside_the_closed_lists() -> None:
    tally = ColumnTally(values={5: {"02": 7, "09": 2, "": 1}, 3: {"1": 9}}, bad_dates={10: 4})
    assert unknown_values("Estabelecimentos", tally) == {
        "Estabelecimentos.situacao_cadastral=09": 2,
        "Estabelecimentos.situacao_cadastral=": 1,
    }
    assert bad_dates("Estabelecimentos", tally) == {"Estabelecimentos.data_inicio_atividade": 4}


def test_an_empty_size_is_allowed() -> None:
    assert unknown_values("Empresas", ColumnTally(values={5: {"": 4063, "01": 1}})) == {}


def test_keys_are_sampled_evenly() -> None:
    keys = [str(n) for n in range(1000)]
    assert evenly_spaced(keys, 4) == ["0", "250", "500", "750"]
    assert evenly_spaced(keys[:3], 4) == ["0", "1", "2"]
    assert evenly_spaced([], 4) == []
