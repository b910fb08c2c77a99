"""SERPRO's gateway as `serpro-cnd.md`, sections 1, 3 and 4, describes it."""

import re
from datetime import datetime, timedelta

import pytest
from stdnum.br import cpf as stdnum_cpf

from tests.simulator.world import NOW, an_app, get, post, serpro_token

FORM = {"grant_type": "client_credentials"}
PATH = "/serpro/consulta-cnpj-df/v2"


def test_a_token_is_given_for_basic_credentials_and_a_form() -> None:
    reply = post("/serpro/token", data=FORM, auth=("key", "secret"))
    said = reply.json()

    assert reply.status_code == 200
    assert said["token_type"] == "Bearer"
    assert said["expires_in"] == 3600
    assert said["scope"] == "am_application_scope default"
    assert said["access_token"]


def test_without_the_form_s_content_type_there_is_no_token() -> None:
    reply = post(
        "/serpro/token",
        content=b"grant_type=client_credentials",
        headers={"content-type": "application/json"},
        auth=("key", "secret"),
    )

    assert reply.status_code == 415


@pytest.mark.parametrize("auth", [None, ("invalid", "secret"), ("key", ""), ("", "secret")])
def test_bad_credentials(auth: tuple[str, str] | None) -> None:
    reply = post("/serpro/token", data=FORM, auth=auth)

    assert reply.status_code == 401
    assert reply.json()["error"] == "invalid_client"


def test_another_grant_is_refused() -> None:
    reply = post("/serpro/token", data={"grant_type": "password"}, auth=("key", "secret"))

    assert reply.status_code == 400


def test_tokens_expire() -> None:
    clock = [NOW]

    def now() -> datetime:
        return clock[0]

    app = an_app(clock=now)
    token = serpro_token(app)

    clock[0] = NOW + timedelta(seconds=3599)
    assert get(f"{PATH}/qsa/90010001000100", app, token).status_code == 200
    clock[0] = NOW + timedelta(seconds=3600)
    assert get(f"{PATH}/qsa/90010001000100", app, token).status_code == 401
    assert get(f"{PATH}/qsa/90010001000100", app, serpro_token(app)).status_code == 200


def test_any_process_takes_a_token_of_another() -> None:
    token = serpro_token(an_app())

    assert get(f"{PATH}/qsa/90010001000100", an_app(), token).status_code == 200


@pytest.mark.parametrize(
    "authorization", ["", "Bearer x", "Bearer !!!", "Basic a2V5OnNlY3JldA==", "Bearer "]
)
def test_without_a_token_of_theirs_nothing_is_said(authorization: str) -> None:
    reply = get(f"{PATH}/qsa/90010001000100", headers={"authorization": authorization})

    assert reply.status_code == 401
    assert reply.json()["fault"]["code"] == 900901


def test_a_token_that_was_changed_is_not_theirs() -> None:
    token = serpro_token()["authorization"]
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")

    assert get(f"{PATH}/qsa/90010001000100", headers={"authorization": changed}).status_code == 401


def test_basica_has_no_partners() -> None:
    said = get(f"{PATH}/basica/90010001000100", headers=serpro_token()).json()

    assert "socios" not in said
    assert said["ni"] == "90010001000100"
    assert said["tipoEstabelecimento"] == "1"
    assert said["nomeEmpresarial"] == "EMPRESA ATIVA FICTICIA LTDA"
    assert said["situacaoCadastral"] == {"codigo": "2", "data": "2015-03-02", "motivo": "0"}
    assert said["porte"] == "05"
    assert said["capitalSocial"] == 100_000
    assert said["naturezaJuridica"] == {
        "codigo": "2062",
        "descricao": "Sociedade Empresária Limitada",
    }
    assert said["cnaePrincipal"]["codigo"] == "6201501"
    assert [activity["codigo"] for activity in said["cnaeSecundarias"]] == ["6204000", "6209100"]
    assert said["endereco"]["municipio"] == {"codigo": "7107", "descricao": "SAO PAULO"}
    assert said["endereco"]["pais"] == {"codigo": "105", "descricao": "BRASIL"}
    assert said["telefones"] == [{"ddd": "11", "numero": "10000001"}]


def test_qsa_masks_people_and_empresa_does_not() -> None:
    token = serpro_token()
    masked = get(f"{PATH}/qsa/90010001000100", headers=token).json()["socios"]
    full = get(f"{PATH}/empresa/90010001000100", headers=token).json()["socios"]

    assert [partner["tipoSocio"] for partner in full] == ["2", "1", "3"]
    assert re.fullmatch(r"\*{3}[0-9]{6}\*{2}", masked[0]["cpf"])
    assert re.fullmatch(r"[0-9]{11}", full[0]["cpf"])
    assert masked[0]["cpf"][3:9] == full[0]["cpf"][3:9]
    assert masked[1]["cnpj"] == full[1]["cnpj"] == "90010007000187"
    assert "cpf" not in full[2]
    assert "cnpj" not in full[2]
    assert full[2]["pais"] == {"codigo": "249", "descricao": "ESTADOS UNIDOS"}
    assert re.fullmatch(r"\*{3}[0-9]{6}\*{2}", masked[2]["representanteLegal"]["cpf"])
    assert re.fullmatch(r"[0-9]{11}", full[2]["representanteLegal"]["cpf"])


def test_full_cpfs_are_nobodys() -> None:
    partners = get(f"{PATH}/empresa/90010001000100", headers=serpro_token()).json()["socios"]

    assert not stdnum_cpf.is_valid(partners[0]["cpf"])


def test_refusals() -> None:
    token = serpro_token()

    assert get(f"{PATH}/qsa/99999999000191", headers=token).status_code == 404
    assert "fault" not in get(f"{PATH}/qsa/99999999000191", headers=token).json()
    assert get(f"{PATH}/qsa/11222333000182", headers=token).status_code == 400
    assert get("/serpro/other-product/v2/qsa/90010001000100", headers=token).status_code == 404
    assert get(f"{PATH}/everything/90010001000100", headers=token).status_code == 404


def test_a_contract_may_not_include_empresa() -> None:
    token = serpro_token(key="without-empresa")

    assert get(f"{PATH}/qsa/90010001000100", headers=token).status_code == 200
    assert get(f"{PATH}/empresa/90010001000100", headers=token).status_code == 403


def test_an_incomplete_answer_is_a_206() -> None:
    reply = get(f"{PATH}/qsa/90020009000157", headers=serpro_token())

    assert reply.status_code == 206
    assert "nomeEmpresarial" not in reply.json()


def test_trial_product_answers_too() -> None:
    path = "/serpro/consulta-cnpj-df-trial/v2/qsa/90010001000100"

    assert get(path, headers=serpro_token()).json()["ni"] == "90010001000100"
