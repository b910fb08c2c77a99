"""The addresses of all states."""

import csv
import typing

import pytest

from balcao.core.federation import UFS
from balcao.providers.sefaz.settings import UFS_SERVED, Environment, endpoint
from tests import official
from tests.sefaz.addresses import ADDRESSES

ENVIRONMENTS: tuple[Environment, ...] = typing.get_args(Environment)


def test_all_but_maranhao() -> None:
    assert set(UFS) - UFS_SERVED == {"MA"}
    assert all(endpoint(environment, "MA") is None for environment in ENVIRONMENTS)
    assert endpoint("production", "BR") is None


@pytest.mark.parametrize("uf", sorted(UFS_SERVED))
def test_addresses_match_their_environment(uf: str) -> None:
    production, trial = (endpoint(environment, uf) for environment in ENVIRONMENTS)
    assert production
    assert trial
    assert production.startswith("https://")
    assert trial.startswith("https://")
    assert production != trial
    assert production.lower().removesuffix(".asmx").endswith("/cadconsultacadastro4")


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_address(environment: Environment) -> None:
    at = ENVIRONMENTS.index(environment)
    expected = {uf: ADDRESSES[uf][at] if uf in ADDRESSES else None for uf in UFS}
    assert {uf: endpoint(environment, uf) for uf in UFS} == expected


def test_published_table_agrees() -> None:
    with official.needed(official.ADDRESSES).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for at, environment in enumerate(ENVIRONMENTS):
        published = {row["uf"]: row["url"] for row in rows if row["environment"] == environment}
        assert published == {uf: ADDRESSES[uf][at] if uf in ADDRESSES else "" for uf in UFS}
