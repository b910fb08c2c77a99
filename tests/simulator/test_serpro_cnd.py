"""SERPRO's Consulta CND as `serpro-cnd.md`, sections 2 and 4, describes it."""

import base64
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp

from balcao.fiction import federal_certificate_of
from balcao.fiction.digits import cnpj as full_cnpj
from balcao.providers.serpro.simulator.cnd import KEYS_MAX
from tests.simulator.certificates import text_of
from tests.simulator.world import NOW, an_app, post, serpro_token

PATH = "/serpro/consulta-cnd/v1/certidao"
TODAY = NOW.date()


def ask(document: str, app: ASGIApp | None = None, **more: Any) -> httpx2.Response:
    company = len(document) == 14
    body = {
        "TipoContribuinte": 1 if company else 2,
        "ContribuinteConsulta": document,
        "CodigoIdentificacao": "9001" if company else "9002",
        **more,
    }
    return post(PATH, app, json=body, headers=serpro_token())


def test_found() -> None:
    reply = ask("90010001000100")
    result = reply.json()
    found = federal_certificate_of("90010001000100", TODAY)

    assert reply.status_code == 200
    assert result["Status"] == 1
    assert result["Mensagem"]
    assert "Chave" not in result
    assert list(result["Certidao"]) == [
        "TipoContribuinte",
        "ContribuinteCertidao",
        "TipoCertidao",
        "CodigoControle",
        "DataEmissao",
        "DataValidade",
    ]
    assert result["Certidao"]["TipoContribuinte"] == 1
    assert result["Certidao"]["ContribuinteCertidao"] == "90010001000100"
    assert result["Certidao"]["TipoCertidao"] == 1
    assert result["Certidao"]["CodigoControle"] == found.code
    assert result["Certidao"]["DataEmissao"][:10] == "2026-08-19"
    assert result["Certidao"]["DataValidade"][:10] == "2027-02-15"


@pytest.mark.parametrize(
    ("document", "http_status", "status", "kind"),
    [
        ("90010002000154", 200, 1, 2),
        ("90010003000107", 200, 3, None),
        ("90010004000143", 200, 4, None),
        ("90010005000198", 200, 1, 4),
        ("90010006000132", 200, 1, 1),
        ("90010011000145", 200, 1, 1),
        ("12ABC34501DE35", 200, 1, 1),
        ("00000000E08G12", 200, 1, 1),
        ("99999999000191", 404, 8, None),
        ("90010000100", 200, 1, 1),
        ("90010000291", 200, 1, 2),
        ("90010000372", 200, 3, None),
        ("90010000453", 200, 4, None),
        ("90070001000103", 202, 5, None),
    ],
)
def test_rows(document: str, http_status: int, status: int, kind: int | None) -> None:
    reply = ask(document)
    result = reply.json()

    assert (reply.status_code, result["Status"]) == (http_status, status)
    assert result["Mensagem"]
    assert (result["Certidao"]["TipoCertidao"] if "Certidao" in result else None) == kind


def test_validities() -> None:
    def validity(document: str) -> str:
        return str(ask(document).json()["Certidao"]["DataValidade"][:10])

    assert validity("90010008000121") == "2026-08-30"  # replies have no extended validity
    assert validity("90010009000176") == "2026-08-21"
    assert validity("90010010000109") == "2026-08-20"
    assert ask("90010006000132").json()["Certidao"]["CodigoControle"] == ""


def test_a_branch_is_answered_with_the_head_office() -> None:
    result = ask("90010007000268").json()

    assert result["Certidao"]["ContribuinteCertidao"] == "90010007000187"


def test_certificate_issued_today() -> None:
    issued_on = federal_certificate_of("90010001000100", TODAY).issued_on
    assert issued_on is not None
    that_day = datetime(issued_on.year, issued_on.month, issued_on.day, 15, tzinfo=UTC)
    app = an_app(clock=lambda: that_day)

    assert post(PATH, app, json=BODY, headers=serpro_token(app)).json()["Status"] == 2


BODY: dict[str, object] = {
    "TipoContribuinte": 1,
    "ContribuinteConsulta": "90010001000100",
    "CodigoIdentificacao": "9001",
    "GerarCertidaoPdf": False,
}


def test_both_forms_of_dates() -> None:
    forms = set()
    for n in range(1, 60):
        result = ask(full_cnpj(f"9006{n:04d}", "0001")).json()["Certidao"]
        for name in ("DataEmissao", "DataValidade"):
            datetime.fromisoformat(result[name])
            forms.add((name, len(result[name])))

    assert forms == {("DataEmissao", 10), ("DataEmissao", 19)} | {
        ("DataValidade", 10),
        ("DataValidade", 19),
    }


def test_pdf_only_on_request() -> None:
    assert "DocumentoPdf" not in ask("90010001000100", GerarCertidaoPdf=False).json()["Certidao"]
    result = ask("90010001000100", GerarCertidaoPdf=True).json()["Certidao"]

    written = text_of(base64.b64decode(result["DocumentoPdf"], validate=True))
    assert result["CodigoControle"] in written
    assert "DOCUMENTO FICTÍCIO, SEM VALOR LEGAL" in written
    # a receipt in another format is omitted
    assert "DocumentoPdf" not in ask("90010011000145", GerarCertidaoPdf=True).json()["Certidao"]


def test_two_spellings_of_one_field() -> None:
    result = ask("90060001000114").json()["Certidao"]

    assert result["TipoCertidão"] == 1
    assert "TipoCertidao" not in result


def test_processing_twice_and_then_issued() -> None:
    app = an_app()
    first = ask("90050001000133", app, GerarCertidaoPdf=True)
    key = first.json()["Chave"]

    assert first.status_code == 201
    assert first.json()["Status"] == 7
    assert "Certidao" not in first.json()
    assert re.fullmatch(r"[0-9a-f-]{36}", key)
    second = ask("90050001000133", app, GerarCertidaoPdf=True, Chave=key)
    assert (second.status_code, second.json()["Status"]) == (201, 7)
    assert second.json()["Chave"] == key
    third = ask("90050001000133", app, GerarCertidaoPdf=True, Chave=key)
    assert (third.status_code, third.json()["Status"]) == (200, 2)
    assert third.json()["Certidao"]["DataEmissao"][:10] == "2026-08-20"
    assert third.json()["Certidao"]["DocumentoPdf"]
    # the key is used up
    again = ask("90050001000133", app, Chave=key)
    assert (again.status_code, again.json()["Status"]) == (400, 14)


def test_call_without_a_key_starts_again() -> None:
    app = an_app()
    keys = [ask("90050001000133", app).json()["Chave"] for _ in range(4)]

    assert len(set(keys)) == 4
    assert ask("90050001000133", app, Chave=keys[2]).json()["Status"] == 7
    assert ask("90050001000133", app, Chave=keys[0]).json()["Status"] == 7
    assert ask("90050001000133", app, Chave=keys[2]).json()["Status"] == 2


def test_a_key_is_of_its_document() -> None:
    app = an_app()
    key = ask("90050001000133", app).json()["Chave"]

    for document in ("90010001000100", full_cnpj("90050002", "0001")):
        assert ask(document, app, Chave=key).json()["Status"] == 14
    assert ask("90050001000133", app, Chave="nothing").json()["Status"] == 14


def test_keys_are_not_remembered_without_end() -> None:
    from balcao.providers.serpro.simulator.cnd import ConsultaCnd
    from balcao.providers.simulation.faults import FaultInjector

    service = ConsultaCnd(
        FaultInjector(delay_seconds=0, never_seconds=0, slow_seconds=0), clock=lambda: NOW
    )
    for _ in range(KEYS_MAX + 10):
        service._good("90050001000133", key=None, with_pdf=False)
    assert len(service._keys) == KEYS_MAX


def test_numbers_and_text_are_the_same() -> None:
    expected = ask("90010001000100").json()

    assert ask("90010001000100", TipoContribuinte="1").json() == expected
    assert ask("90010001000100", CodigoIdentificacao=9001).json() == expected
    assert ask("90010001000100", ContribuinteConsulta=90010001000100).json() == expected
    assert ask("90010001000100", CodigoControle="").json() == expected
    assert ask("90.010.001/0001-00", TipoContribuinte=1, CodigoIdentificacao="9001").json() == (
        expected
    )


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"TipoContribuinte": 4}, 9),
        ({"TipoContribuinte": None}, 15),
        ({"ContribuinteConsulta": ""}, 10),
        ({"ContribuinteConsulta": "90010000100"}, 10),
        ({"ContribuinteConsulta": "90010001000101"}, 13),
        ({"CodigoIdentificacao": "9002"}, 11),
        ({"GerarCertidaoPdf": "sim"}, 12),
        ({"TipoContribuinte": 2, "CodigoIdentificacao": "9002"}, 10),
        (
            {
                "TipoContribuinte": 2,
                "CodigoIdentificacao": "9002",
                "ContribuinteConsulta": "90010000101",
            },
            13,
        ),
    ],
)
def test_parameter_errors(change: dict[str, object], status: int) -> None:
    reply = post(PATH, json={**BODY, **change}, headers=serpro_token())

    assert reply.status_code == 400
    assert reply.json()["Status"] == status
    assert reply.json()["Mensagem"]


def test_unreadable_bodies() -> None:
    for content in (b"", b"{", b"[]", b"\xff"):
        reply = post(PATH, content=content, headers=serpro_token())
        assert (reply.status_code, reply.json()["Status"]) == (400, 15)


def test_rural_properties_are_unknown() -> None:
    reply = post(
        PATH,
        json={**BODY, "TipoContribuinte": 3, "ContribuinteConsulta": "12345678",
              "CodigoIdentificacao": "9003"},
        headers=serpro_token(),
    )  # fmt: skip

    assert (reply.status_code, reply.json()["Status"]) == (404, 8)


def test_trial() -> None:
    reply = post("/serpro/consulta-cnd-trial/v1/certidao", json=BODY, headers=serpro_token())

    assert reply.json()["Status"] == 1


def test_tokens() -> None:
    clock = [NOW]
    app = an_app(clock=lambda: clock[0])
    token = serpro_token(app)

    assert post(PATH, app, json=BODY).status_code == 401
    assert post(PATH, app, json=BODY, headers={"authorization": "Bearer x"}).status_code == 401
    assert post(PATH, app, json=BODY, headers=token).status_code == 200
    clock[0] = NOW + timedelta(hours=1)
    assert post(PATH, app, json=BODY, headers=token).status_code == 401
    without = serpro_token(app, key="without-cnd")
    assert post(PATH, app, json=BODY, headers=without).status_code == 403


def test_other_methods_and_paths() -> None:
    from tests.simulator.world import get

    assert get(PATH, headers=serpro_token()).status_code == 404
    other = "/serpro/consulta-cnd/v3/certidao"
    assert post(other, json=BODY, headers=serpro_token()).status_code == 404


@pytest.mark.parametrize(
    ("version", "code", "status"),
    [("v1", "9001", 1), ("v1", "9201", 11), ("v2", "9201", 1), ("v2", "9001", 11)],
)
def test_each_version_has_its_codes(version: str, code: str, status: int) -> None:
    body = BODY | {"CodigoIdentificacao": code}
    path = f"/serpro/consulta-cnd/{version}/certidao"
    assert post(path, json=body, headers=serpro_token()).json()["Status"] == status
