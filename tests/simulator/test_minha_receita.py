"""Minha Receita and BrasilAPI as `public-cnpj-apis.md`, sections 1 and 2, describe them."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.simulator.world import an_app, fetch, get, post

# The types of all fields in the table of section 1, by the page's own example.
EXAMPLE = json.loads(Path(__file__).with_name("minha_receita_example.json").read_text("utf-8"))
TYPES: dict[str, tuple[type, ...]] = {
    **{name: (type(value),) for name, value in EXAMPLE.items()},
    # fields with several types
    **dict.fromkeys(("codigo_pais", "codigo_municipio_ibge"), (int, type(None))),
    **dict.fromkeys(("opcao_pelo_simples", "opcao_pelo_mei"), (bool, type(None))),
    **dict.fromkeys(
        (
            "descricao_motivo_situacao_cadastral",
            "pais",
            "email",
            "data_situacao_especial",
            "data_opcao_pelo_simples",
            "data_exclusao_do_simples",
            "data_opcao_pelo_mei",
            "data_exclusao_do_mei",
        ),
        (str, type(None)),
    ),
    "capital_social": (int, float),
    "regime_tributario": (list, type(None)),
}


@pytest.mark.parametrize(
    "cnpj", ["90010001000100", "11222333000181", "12ABC34501DE35", "33683111000280"]
)
def test_every_field_is_there_with_its_type(cnpj: str) -> None:
    result = get(f"/minha-receita/{cnpj}").json()

    assert set(result) == set(TYPES)
    for name, types in TYPES.items():
        assert type(result[name]) in types, name


def test_nothing_is_null_or_empty_text_or_a_placeholder() -> None:
    result = get("/minha-receita/90010006000132").json()

    assert result["qsa"] == []
    assert result["nome_fantasia"] == ""
    assert result["numero"] == ""
    assert result["cnaes_secundarios"] == [{"codigo": 0, "descricao": ""}]
    assert result["pais"] is None


def test_punctuation_is_taken_and_the_path_may_hold_a_slash() -> None:
    assert get("/minha-receita/90.010.001/0001-00").json()["cnpj"] == "90010001000100"
    assert get("/minha-receita/12abc34501de35").json()["cnpj"] == "12ABC34501DE35"


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("99999999000191", 404, "CNPJ 99.999.999/0001-91 não encontrado."),
        ("00000000000000", 404, "CNPJ 00.000.000/0000-00 não encontrado."),
        ("11222333000182", 400, "CNPJ 11222333000182 inválido."),
        ("123", 400, "CNPJ 123 inválido."),
    ],
)
def test_refusals(path: str, status: int, message: str) -> None:
    reply = get(f"/minha-receita/{path}")

    assert reply.status_code == status
    assert reply.json() == {"message": message}
    assert not reply.headers["content-type"].startswith("application/json")


def test_only_get_is_taken() -> None:
    reply = post("/minha-receita/90010001000100")

    assert reply.status_code == 405
    assert reply.json() == {"message": "Essa URL aceita apenas o método GET."}
    options = asyncio.run(fetch(an_app(), "OPTIONS", "/minha-receita/90010001000100"))
    assert options.status_code == 200
    assert options.headers["access-control-allow-origin"] == "*"


def test_other_addresses() -> None:
    assert get("/minha-receita/updated").json() == {"message": "2026-08-08"}
    assert get("/minha-receita/healthz").status_code == 200
    home = get("/minha-receita/")
    assert home.status_code == 302
    assert "location" in home.headers


@pytest.mark.parametrize(
    ("cnpj", "status", "kind", "name"),
    [
        ("11222333000182", 400, "bad_request", "BadRequestError"),
        ("99999999000191", 404, "not_found", "NotFoundError"),
        ("90020003000180", 500, "internal_error", "InternalError"),
    ],
)
def test_brasilapi_errors(cnpj: str, status: int, kind: str, name: str) -> None:
    reply = get(f"/brasilapi/api/cnpj/v1/{cnpj}")

    assert reply.status_code == status
    assert set(reply.json()) == {"message", "type", "name"}
    assert (reply.json()["type"], reply.json()["name"]) == (kind, name)


def test_brasilapi_has_no_other_paths() -> None:
    assert get("/brasilapi/90010001000100").status_code == 404
