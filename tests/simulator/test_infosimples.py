"""Infosimples as `infosimples.md`, sections 1, 2, 3 and 6, describes it."""

import base64
import hashlib
import json
from typing import Any

import pytest
from stdnum.br import cpf as stdnum_cpf

from balcao.core.federation import UFS
from balcao.fiction import registrations_of, registrations_of_person
from tests.simulator.world import get, post

PATH = "/infosimples/api/v2/consultas/sintegra/unificada"


def ask(**parameters: str) -> Any:
    reply = post(PATH, data={"token": "some-token", **parameters})
    assert reply.status_code == 200
    return reply.json()


def test_the_whole_envelope() -> None:
    result = ask(cnpj="90010001000100", uf="SP", timeout="300", ignore_site_receipt="1")
    header = result["header"]

    assert list(result) == [
        "code",
        "code_message",
        "errors",
        "header",
        "data_count",
        "data",
        "site_receipts",
    ]
    assert result["code"] == 200
    assert result["code_message"] == "A requisição foi processada com sucesso."
    assert result["errors"] == []
    assert result["data_count"] == len(result["data"]) == 1
    assert result["site_receipts"] == []
    assert header["api_version"] == "v2"
    assert header["api_version_full"].startswith("2.2.")
    assert header["product"] == "Consultas"
    assert header["service"] == "sintegra/unificada"
    assert header["parameters"] == {
        "cnpj": "90010001000100",
        "uf": "SP",
        "timeout": "300",
        "ignore_site_receipt": "1",
    }
    assert header["client_name"]
    assert header["token_name"]
    assert header["billable"] is True
    assert header["price"] == "0.24"
    assert header["requested_at"] == "2026-08-20T09:30:15.250-03:00"
    assert isinstance(header["elapsed_time_in_milliseconds"], int)
    assert header["remote_ip"] == "203.0.113.10"
    assert base64.b64decode(header["signature"], validate=True)


def test_situation_has_the_wording_of_the_uf() -> None:
    result = {uf: ask(cnpj="90010007000268", uf=uf) for uf in ("SP", "MG", "RJ", "PR", "BA", "RS")}
    words = {uf: each["data"][0]["situacao_cadastral"] for uf, each in result.items()}

    assert words == {
        "SP": "Ativo",
        "MG": "HABILITADO",
        "RJ": "HABILITADA",
        "PR": "ATIVO",
        "BA": "ATIVO",
        "RS": "NÃO HABILITADO",
    }
    assert ask(cnpj="90010003000107", uf="SP")["data"][0]["situacao_cadastral"] == "Inativo"
    assert ask(cpf="90010000291", uf="GO")["data"][0]["situacao_cadastral"] == "Não habilitado"


def test_several_registrations() -> None:
    cpf = next(
        cpf
        for n in range(100_000)
        if len(ufs_of(cpf := a_cpf(n))) == 2 and len(set(ufs_of(cpf))) < 2
    )
    result = ask(cpf=cpf, uf=ufs_of(cpf)[0])

    assert result["code"] == 201
    assert result["data_count"] == len(result["data"]) == 2
    assert result["header"]["billable"] is True
    assert len({each["inscricao_estadual"] for each in result["data"]}) == 2


def a_cpf(n: int) -> str:
    base = f"{n + 1:09d}"
    return base + str(stdnum_cpf._calc_check_digits(base))


def ufs_of(cpf: str) -> list[str]:
    return [each.uf for each in registrations_of_person(cpf)]


def test_a_promised_number_is_found_by_itself() -> None:
    number = registrations_of("90010002000154")[0].number
    farm = registrations_of_person("90010000100")[0].number

    assert ask(ie=number, uf="AM")["data"][0]["normalizado_cnpj"] == "90010002000154"
    assert ask(ie_produtor=farm, uf="SP")["data"][0]["normalizado_cpf"] == "90010000100"


def test_form_json_and_query_are_equivalent() -> None:
    parameters = {"token": "some-token", "cnpj": "90010001000100", "uf": "SP"}
    form = post(PATH, data=parameters).json()

    assert get(PATH, params=parameters).json() == form
    assert post(PATH, params=parameters).json() == form
    assert post(PATH, json=parameters).json() == form
    with_number = post(PATH, json={**parameters, "timeout": 300, "ie": None}).json()
    assert with_number["data"] == form["data"]
    assert with_number["header"]["parameters"]["timeout"] == "300"


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"uf": []}', b"\xff"])
def test_unreadable_body(body: bytes) -> None:
    reply = post(PATH, content=body, headers={"content-type": "application/json"})

    assert reply.status_code == 200
    assert reply.json()["code"] == 604


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"token": ""}, 601),
        ({"token": "invalid"}, 601),
        ({"token": "without-balance"}, 603),
        ({"timeout": "soon"}, 604),
        ({"timeout": ""}, 604),
        ({"uf": ""}, 606),
        ({"uf": "XX"}, 607),
        ({"cnpj": ""}, 606),
        ({"cnpj": "90010001000101"}, 607),
        ({"cnpj": "", "cpf": "90010000101"}, 607),
    ],
)
def test_refusals(parameters: dict[str, str], code: int) -> None:
    result = ask(**{"cnpj": "90010001000100", "uf": "SP", **parameters})

    assert result["code"] == code
    assert result["code_message"]
    assert result["errors"]
    assert result["data"] == []
    assert result["data_count"] == 0
    assert result["header"]["billable"] is False
    assert result["header"]["price"] == "0.0"


def test_token_is_checked_first_and_not_echoed() -> None:
    reply = post("/infosimples/api/v2/consultas/nothing/here", data={"token": "invalid"})
    assert reply.json()["code"] == 601

    result = ask(cnpj="90010001000100", uf="SP")
    assert "some-token" not in json.dumps(result)


def test_secrets_are_echoed_as_digests() -> None:
    result = ask(cnpj="90010001000100", uf="SP", login_senha="segredo")

    digest = hashlib.md5(b"segredo", usedforsecurity=False).hexdigest()
    assert result["header"]["parameters"]["login_senha_md5"] == digest
    assert "segredo" not in json.dumps(result)


def test_an_unknown_service() -> None:
    reply = post("/infosimples/api/v2/consultas/nothing/here", data={"token": "some-token"})

    assert reply.status_code == 200
    assert reply.json()["code"] == 602
    assert reply.json()["header"]["service"] == "nothing/here"


def test_other_addresses_and_methods_are_not_theirs() -> None:
    assert get("/infosimples/").status_code == 404
    assert post("/infosimples/api/v1/sintegra").status_code == 404


def test_every_uf_can_be_asked() -> None:
    for uf in UFS:
        assert ask(cnpj="90020006000113", uf=uf, token="invalid")["code"] == 601
        assert ask(cnpj="90010001000100", uf=uf)["code"] == (200 if uf == "SP" else 612)


@pytest.mark.parametrize(
    "parameters",
    [
        {"cnpj": "90010004000143", "uf": "SP"},
        {"cnpj": "90010001000100", "uf": "MG"},
        {"cnpj": "99999999000191", "uf": "SP"},
        {"cpf": "90010000372", "uf": "SP"},
        {"ie": "1", "uf": "SP"},
    ],
)
def test_no_registration(parameters: dict[str, str]) -> None:
    result = ask(**parameters)

    assert result["code"] == 612
    assert result["data"] == []
    assert result["data_count"] == 0
    assert result["errors"]
    assert result["header"]["billable"] is True
