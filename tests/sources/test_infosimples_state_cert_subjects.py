"""Infosimples: holders and UFs of state certificates (`infosimples.md` section 5)."""

from typing import Any
from urllib.parse import parse_qs

import pytest

from balcao.providers.infosimples.adapter import InfosimplesAdapter
from tests.records import CNPJ as OTHER_CNPJ
from tests.sources.adapters import CNPJ, LETTERS, a_uf, run_conversation
from tests.sources.certificates_world import (
    TOKEN,
    certified,
    enveloped,
    federal,
    state,
    the_state,
)
from tests.sources.test_infosimples_state_cert import SAVED, read


@pytest.mark.parametrize(
    "changes", [{"cnpj": OTHER_CNPJ}, {"normalizado_cnpj": OTHER_CNPJ, "cnpj": CNPJ}]
)
def test_another_document(changes: dict[str, Any]) -> None:
    assert read(**changes).document == OTHER_CNPJ


def test_another_establishment() -> None:
    assert read(cnpj="11.222.333/0002-62").document == "11222333000262"
    assert read(cnpj="11.222.333").document == CNPJ  # the company, without any


@pytest.mark.parametrize("code", [200, 612])
def test_the_answer_to_another_question(code: int) -> None:
    reply = enveloped(code, SAVED, header={"parameters": {"uf": "MG", "cnpj": CNPJ}})
    assert the_state(certified(state("SP"), reply)).uf == "MG"
    assert the_state(certified(state("MG", OTHER_CNPJ), reply)).document == CNPJ


def test_another_ufs() -> None:
    assert read(uf="MG").uf == "MG"
    assert read(uf="São Paulo").uf == "SP"
    assert read(uf="").uf == "SP"


def test_capabilities() -> None:
    may = InfosimplesAdapter(TOKEN, certificate_ufs=frozenset({"SP"})).capabilities
    assert may.include(state("SP"))
    assert not may.include(state("MG"))
    assert may.include(a_uf("MG"))
    assert may.include(federal())
    some = InfosimplesAdapter(TOKEN, ufs=frozenset({"SC"})).capabilities
    assert some.include(state("MG"))
    assert not some.include(a_uf("MG"))
    assert not some.include(state("MG", LETTERS))


def test_a_probe() -> None:
    requests, result = run_conversation(
        InfosimplesAdapter(TOKEN).probe(state("MG")), enveloped(604)
    )
    assert result == "respondeu"
    assert requests[0].path == "/api/v2/consultas/sefaz/certidao-debitos"
    assert parse_qs((requests[0].within(25).body or b"").decode()) == {
        "token": [TOKEN],
        "uf": ["MG"],
        "ignore_site_receipt": ["1"],
        "timeout": ["sonda"],
    }
