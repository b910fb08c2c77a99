"""SERPRO's gateway as `serpro-cnd.md`, sections 1, 3 and 4, describes it."""

from datetime import datetime, timedelta

import pytest

from tests.simulator.world import NOW, an_app, get, post, serpro_token

FORM = {"grant_type": "client_credentials"}
PATH = "/serpro/consulta-cnpj-df/v2"


def test_a_token_is_given_for_basic_credentials_and_a_form() -> None:
    reply = post("/serpro/token", data=FORM, auth=("key", "secret"))
    result = reply.json()

    assert reply.status_code == 200
    assert result["token_type"] == "Bearer"
    assert result["expires_in"] == 3600
    assert result["scope"] == "am_application_scope default"
    assert result["access_token"]


def test_without_the_form_s_content_type_there_is_no_token() -> None:
    reply = post(
        "/serpro/token",
        content=b"grant_type=client_credentials",
        headers={"content-type": "application/json"},
        auth=("key", "secret"),
    )

    assert reply.status_code == 415


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
def test_requests_require_a_token(authorization: str) -> None:
    reply = get(f"{PATH}/qsa/90010001000100", headers={"authorization": authorization})

    assert reply.status_code == 401
    assert reply.json()["fault"]["code"] == 900901


def test_modified_token_is_rejected() -> None:
    token = serpro_token()["authorization"]
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")

    assert get(f"{PATH}/qsa/90010001000100", headers={"authorization": changed}).status_code == 401


def test_refusals() -> None:
    token = serpro_token()

    assert get(f"{PATH}/qsa/99999999000191", headers=token).status_code == 404
    assert "fault" not in get(f"{PATH}/qsa/99999999000191", headers=token).json()
    assert get(f"{PATH}/qsa/11222333000182", headers=token).status_code == 400
    assert get("/serpro/other-product/v2/qsa/90010001000100", headers=token).status_code == 404
    assert get(f"{PATH}/everything/90010001000100", headers=token).status_code == 404


def test_an_incomplete_answer_is_a_206() -> None:
    reply = get(f"{PATH}/qsa/90020009000157", headers=serpro_token())

    assert reply.status_code == 206
    assert "nomeEmpresarial" not in reply.json()


def test_trial_product_answers_too() -> None:
    path = "/serpro/consulta-cnpj-df-trial/v2/qsa/90010001000100"

    assert get(path, headers=serpro_token()).json()["ni"] == "90010001000100"


@pytest.mark.parametrize("auth", [None, ("invalid", "secret"), ("key", ""), ("", "secret")])
def test_bad_credentials(auth: tuple[str, str] | None) -> None:
    reply = post("/serpro/token", data=FORM, auth=auth)

    assert reply.status_code == 401
    assert reply.json()["error"] == "invalid_client"


def test_a_contract_may_not_include_empresa() -> None:
    token = serpro_token(key="without-empresa")

    assert get(f"{PATH}/qsa/90010001000100", headers=token).status_code == 200
    assert get(f"{PATH}/empresa/90010001000100", headers=token).status_code == 403
