"""Where each state answers."""

import csv
import typing

import pytest

from balcao.core.federation import UFS
from balcao.sources.sefaz.endpoints import UFS_SERVED, Environment, endpoint
from tests.sources.sefaz.world import OFFICIAL

ENVIRONMENTS: tuple[Environment, ...] = typing.get_args(Environment)


def test_all_but_maranhao() -> None:
    assert set(UFS) - UFS_SERVED == {"MA"}
    assert all(endpoint(environment, "MA") is None for environment in ENVIRONMENTS)
    assert endpoint("production", "BR") is None


@pytest.mark.parametrize("uf", sorted(UFS_SERVED))
def test_addresses_are_whole_and_of_their_environment(uf: str) -> None:
    production, trial = (endpoint(environment, uf) for environment in ENVIRONMENTS)
    assert production
    assert trial
    assert production.startswith("https://")
    assert trial.startswith("https://")
    assert production != trial
    assert production.lower().removesuffix(".asmx").endswith("/cadconsultacadastro4")


def test_the_ones_that_share_and_the_ones_that_do_not() -> None:
    shared = "https://cad.svrs.rs.gov.br/ws/cadconsultacadastro/cadconsultacadastro4.asmx"
    assert endpoint("production", "SC") == endpoint("production", "RS") == shared
    assert endpoint("homologation", "BA") == (
        "https://hnfe.sefaz.ba.gov.br/webservices/CadConsultaCadastro4/CadConsultaCadastro4.asmx"
    )


def test_every_address_of_the_table() -> None:
    path = OFFICIAL / "endpoints-consulta-cadastro.csv"
    if not path.is_file():
        pytest.skip("the table is not at hand")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(UFS)
    for row in rows:
        environment = next(each for each in ENVIRONMENTS if each == row["environment"])
        assert endpoint(environment, row["uf"]) == (row["url"] or None)
