"""Batches about several establishments of one company (decisions 4.13, 13.4)."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from balcao.core.check_digits import cnpj_check_digits
from balcao.service import batching
from tests.http.batcher import FEDERAL, Batcher, certificates
from tests.http.house import OpenHouse, opened

BASES = [f"90040001000{order}" for order in range(1, 9)]
ESTABLISHMENTS = [base + cnpj_check_digits(base) for base in BASES]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[OpenHouse]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "LOOK_SECONDS", 0.05)
        with opened(tmp_path, establishments=1) as house:
            yield house


@pytest.mark.parametrize(
    "parameters", ["", "&cache_strategy=SO_ONLINE", "&preferencia_emissao=nova"]
)
def test_establishments_are_one_purchase(house: OpenHouse, parameters: str) -> None:
    """The first row buys, and the others cost what a stored certificate does."""
    batcher = Batcher(house, house.account("filiais"))
    file = certificates(*ESTABLISHMENTS)
    number = batcher.create(file, f"operacao={FEDERAL}{parameters}")
    batcher.confirm(number)
    told = batcher.until(number, "concluido")
    rows = batcher.rows(number)
    assert {row["estado"] for row in rows} == {"concluida"}
    assert sorted(row["creditos"] for row in rows) == [1] * 7 + [2]
    assert told["creditos_gastos"] == 9

    result = batcher.call("GET", f"/{number}/resultado.csv").body.decode("utf-8-sig")
    header, *lines = csv.reader(result.splitlines(), delimiter=";")
    certified = header.index("balcao_cnpj_da_certidao")
    assert [line[0] for line in lines] == ESTABLISHMENTS
    assert {line[certified] for line in lines} == {"90.040.001/0001-52"}
