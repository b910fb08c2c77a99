"""Receipts lie at absolute addresses for an hour (`infosimples.md`, sections 2 and 8)."""

import asyncio
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from balcao.providers.simulation.messages import simulated_request
from tests.simulator.certificates import infosimples, receipt_of, text_of
from tests.simulator.world import NOW, an_app, get, post

SERVICE = "receita-federal/pgfn"


def ask(app: ASGIApp | None = None, /, **parameters: str) -> Any:
    return infosimples(SERVICE, app, **parameters)


def test_receipts_are_absolute_and_can_be_fetched() -> None:
    app = an_app()
    result = ask(app, cnpj="90010001000100")
    url = result["data"][0]["site_receipt"]

    assert result["site_receipts"] == [url]
    assert url.startswith("http://simulator/infosimples/receipts/")
    assert "90010001000100" not in url
    reply = get(url, app)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/pdf"
    assert result["data"][0]["certidao_codigo"] in text_of(reply.content)
    # any process can serve them
    assert get(url).content == reply.content


def test_receipt_addresses_use_the_request_host() -> None:
    path = f"/infosimples/api/v2/consultas/{SERVICE}?token=t&cnpj=90010001000100"

    result = post(path, headers={"host": "sandbox.invalid"}).json()
    assert result["site_receipts"][0].startswith("http://sandbox.invalid/infosimples/receipts/")
    result = get(f"https://simulator:8443{path}").json()
    assert result["site_receipts"][0].startswith("https://simulator:8443/infosimples/receipts/")


def test_html_receipt() -> None:
    app = an_app()
    result = ask(app, cnpj="90010011000145")

    assert result["data"][0]["comprovante_tipo"] == "html"
    url = result["site_receipts"][0]
    assert url.endswith(".html")
    reply = get(url, app)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert result["data"][0]["certidao_codigo"] in reply.text


def test_receipts_expire_after_an_hour() -> None:
    clock = [NOW]
    app = an_app(clock=lambda: clock[0])
    url = ask(app, cnpj="90010001000100")["site_receipts"][0]

    clock[0] = NOW + timedelta(minutes=59)
    assert get(url, app).status_code == 200
    clock[0] = NOW + timedelta(hours=1)
    assert get(url, app).status_code == 404
    assert ask(app, cnpj="90010001000100")["site_receipts"] != [url]


def test_the_same_certificate_has_the_same_bytes_at_all_its_addresses() -> None:
    app = an_app(clock=lambda: NOW + timedelta(1))
    today, tomorrow = ask(cnpj="90010001000100"), ask(app, cnpj="90010001000100")

    assert today["site_receipts"] != tomorrow["site_receipts"]
    assert receipt_of(today) == receipt_of(tomorrow, app)


def test_receipts_can_be_omitted() -> None:
    for cnpj in ("90010001000100", "90010004000143"):
        result = ask(cnpj=cnpj, ignore_site_receipt="1")
        assert result["site_receipts"] == []
        assert [each["site_receipt"] for each in result["data"]] in ([None], [])
    assert ask(cnpj="90010001000100", ignore_site_receipt="0")["site_receipts"]
    parameters = {"uf": "SP", "cnpj": "90010001000100", "ignore_site_receipt": "1"}
    result = infosimples("sefaz/certidao-debitos", **parameters)
    assert (result["site_receipts"], result["data"][0]["site_receipt"]) == ([], None)


def test_forged_addresses_are_rejected() -> None:
    url = ask(cnpj="90010001000100")["site_receipts"][0]
    stem, _, suffix = url.rpartition(".")

    for other in (
        f"{stem[:-1]}{'A' if stem[-1] != 'A' else 'B'}.{suffix}",
        f"{stem}.html",
        f"{stem}.",
        stem,
        "/infosimples/receipts/",
        "/infosimples/receipts/x.pdf",
        "/infosimples/receipts/%C3%A9.pdf",
    ):
        assert get(other).status_code == 404
    assert post(url).status_code == 404


def test_bad_receipts_are_served() -> None:
    for cnpj in ("90080001000186", "90080002000120", "90080003000175"):
        app = an_app()
        result = ask(app, cnpj=cnpj)
        assert result["data"][0]["comprovante_tipo"] == "pdf"
        assert receipt_of(result, app).startswith(b"%PDF-")


def test_request_has_its_scheme() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    for scheme in ("http", "https"):
        scope = {"type": "http", "method": "GET", "path": "/x", "headers": [(b"host", b"h:1")]}
        asked = Request({**scope, "query_string": b"", "scheme": scheme}, receive)
        assert asyncio.run(simulated_request(asked)).origin == f"{scheme}://h:1"
