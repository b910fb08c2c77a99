"""The free-trade-zone registry in the sandbox, as sandbox.md promises it, row by row."""

import re
import unicodedata
from datetime import date, datetime
from typing import Any

import pytest

from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from tests.records import FAILING, company, suframa
from tests.service import Service, assert_refused

MANAUS = "90010002000154"


def is_cached(house: Service, cnpj: str) -> bool:
    """Return whether the record is in the cache."""
    return house.kept(Inquiry("suframa", Cnpj.parse(cnpj))) is not None


def assert_well_formed(body: Any, cnpj: str) -> None:
    """Check the record's fields, their types and spellings (specification; contract 8)."""
    assert body["success"] is True
    assert body["error"] is False
    assert "error_message" not in body
    assert "is_cache" not in body
    assert body["cnpj"] == cnpj
    assert re.fullmatch(r"\d{9}", body["inscricao"])
    assert isinstance(body["nome"], str)
    assert type(body["matriz"]) is bool
    assert type(body["aprovado"]) is bool
    assert set(body["status"]) == {"codigo", "descricao"}
    assert type(body["status"]["codigo"]) is int
    assert datetime.fromisoformat(body["atualizado_em"]).tzinfo is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", body["desde"])
    nature = body["natureza_juridica"]
    assert type(nature["codigo"]) is int
    assert isinstance(nature["descricao"], str)
    address = body["endereco"]
    assert type(address["codigo_municipio"]) is int
    assert address["codigo_municipio"] // 1_000_000 in range(1, 6)  # IBGE: seven digits
    for part in ("logradouro", "numero", "bairro", "cidade", "estado"):
        assert isinstance(address[part], str)
    assert re.fullmatch(r"\d{8}", address["cep"])
    assert isinstance(address["pais"]["nome"], str)
    assert all(set(phone) == {"ddd", "numero"} for phone in body["telefones"])
    for email in body["emails"]:
        assert email["endereco"].endswith(f"@{email['dominio']}")
    for activity in (body["atividade_principal"], *body["atividades_secundarias"]):
        assert set(activity) == {"codigo", "atividade_exercida", "descricao"}
        assert type(activity["codigo"]) is int
        assert type(activity["atividade_exercida"]) is bool
    for incentive in body["incentivos"]:
        assert set(incentive) == {"fundamento_legal", "beneficio", "finalidade", "tributo"}
        assert all(isinstance(part, str) and part for part in incentive.values())
    assert unicodedata.is_normalized("NFC", str(body))


# Companies: the table's column "Suframa".


def test_an_active_registration(sandbox: Service) -> None:
    """90010002000154: active and approved, with two exemptions, IPI and ICMS."""
    answer = sandbox.get(suframa(MANAUS, "cache=0"))
    assert (answer.status, answer.credits) == (200, 1)
    body = answer.json
    assert_well_formed(body, MANAUS)
    assert body["inscricao"] == "200000012"
    assert body["status"] == {"codigo": 1, "descricao": "Ativa"}
    assert body["aprovado"] is True
    assert date.fromisoformat(body["data_aprovacao"]) >= date.fromisoformat(body["desde"])
    assert sorted(incentive["tributo"] for incentive in body["incentivos"]) == ["ICMS", "IPI"]
    assert {incentive["beneficio"] for incentive in body["incentivos"]} == {"Isenção"}


def test_a_cancelled_registration(sandbox: Service) -> None:
    """90010003000107: cancelled, not approved, and without a date of approval."""
    answer = sandbox.get(suframa("90010003000107"))
    assert (answer.status, answer.credits) == (200, 1)
    assert_well_formed(answer.json, "90010003000107")
    assert answer.json["status"] == {"codigo": 4, "descricao": "Cancelada"}
    assert answer.json["aprovado"] is False
    assert answer.json.get("data_aprovacao") is None


def test_a_blocked_registration(sandbox: Service) -> None:
    """90010005000198: blocked."""
    answer = sandbox.get(suframa("90010005000198"))
    assert (answer.status, answer.credits) == (200, 1)
    assert_well_formed(answer.json, "90010005000198")
    assert answer.json["status"] == {"codigo": 3, "descricao": "Bloqueada"}


@pytest.mark.parametrize("cnpj", [MANAUS, "90010003000107", "90010005000198"])
def test_the_record_is_the_company_s(sandbox: Service, cnpj: str) -> None:
    """One company has one name and one address in every subject."""
    body, registry = sandbox.get(suframa(cnpj)).json, sandbox.get(company(cnpj)).json["response"]
    assert body["nome"] == registry["nome_empresarial"]
    assert body["matriz"] == (registry["identificador_matriz_filial"] == "MATRIZ")
    assert body["endereco"]["estado"] == registry["uf"]
    assert body["endereco"]["cidade"] == registry["municipio"]
    assert body["endereco"]["cep"] == registry["cep"]
    assert body["natureza_juridica"]["codigo"] == int(registry["natureza_juridica"]["codigo"])


NONE = (
    "90010001000100",
    "90010004000143",
    "90010006000132",
    "90010007000268",
    "90010008000121",
    "90010009000176",
    "90010010000109",
    "90010011000145",
    "90010012000190",
    "12ABC34501DE35",
    "00000000E08G12",
    "99999999000191",
)


@pytest.mark.parametrize("cnpj", NONE)
def test_no_registration(sandbox: Service, cnpj: str) -> None:
    """It is a 404 without the key `inscricao`, free, and nothing is cached."""
    before = sandbox.money()
    for _ in range(2):
        answer = sandbox.get(suframa(cnpj))
        assert_refused(answer, 404, "INSCRICAO_NAO_ENCONTRADA", cnpj)
        assert "inscricao" not in answer.json
    assert sandbox.money() == before
    assert not is_cached(sandbox, cnpj)


# Sources that misbehave


@pytest.mark.parametrize(("cnpj", "expected"), FAILING.items())
def test_sources_that_misbehave(sandbox: Service, cnpj: str, expected: tuple[int, str]) -> None:
    """A failure is never a 404, has no `inscricao`, is free and not cached."""
    before = sandbox.money()
    for query in ("", "cache=45", "cache=0"):
        answer = sandbox.get(suframa(cnpj, query))
        assert_refused(answer, *expected, cnpj)
        assert "inscricao" not in answer.json
    assert sandbox.money() == before
    assert before[1] == 0
    assert not is_cached(sandbox, cnpj)


def test_a_source_that_never_answers(hasty: Service) -> None:
    """The deadline makes it a failure that costs nothing."""
    cnpj, before = "90020002000135", hasty.money()
    answer = hasty.get(suframa(cnpj))
    assert_refused(answer, 500, "ERRO_INTERNO", cnpj)
    assert "inscricao" not in answer.json
    assert hasty.money() == before
    assert not is_cached(hasty, cnpj)


@pytest.mark.parametrize("cnpj", ["90020006000113", "90020008000102"])
def test_a_slow_source_and_one_that_fails_in_some_ufs_answer(sandbox: Service, cnpj: str) -> None:
    """An answer well after 3 s is waited for; Suframa has no UFs."""
    answer = sandbox.get(suframa(cnpj))
    assert (answer.status, answer.credits) == (200, 1)
    assert_well_formed(answer.json, cnpj)


def test_a_source_that_answers_once(fresh: Service) -> None:
    """It answers, then it fails without a fallback; strategies that accept the cache get it."""
    cnpj = "90020007000168"
    first, second, cached = (fresh.get(suframa(cnpj, query)) for query in ("", "cache=0", ""))

    assert (first.status, first.credits) == (200, 1)
    assert_refused(second, 500, "ERRO_INTERNO", cnpj)
    assert (cached.status, cached.credits) == (200, 1)
    assert cached.headers["cache-status"].endswith("; hit")
    assert cached.json["inscricao"] == first.json["inscricao"]
    assert len(fresh.charges()) == 2


def test_the_first_time_is_one_of_each_subject(fresh: Service) -> None:
    """Having answered about the company once does not use up Suframa's first time."""
    cnpj = "90020007000168"
    assert fresh.get(company(cnpj)).status == 200
    assert fresh.get(suframa(cnpj)).status == 200


def test_misbehaving_documents_do_not_affect_others(sandbox: Service) -> None:
    """Intended failures open no circuit of the sandbox."""
    for _ in range(10):
        sandbox.get(suframa("90020003000180", "cache=0"))
    assert sandbox.get(suframa(MANAUS, "cache=0")).status == 200
