"""Receipts lie at absolute addresses for an hour (`infosimples.md`, sections 2 and 8)."""

import asyncio
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from balcao.providers.simulation.exchange import read
from tests.simulator.certificates import infosimples, receipt_of, text_of
from tests.simulator.world import NOW, an_app, get, post

SERVICE = "receita-federal/pgfn"


def ask(app: ASGIApp | None = None, /, **parameters: str) -> Any:
    return infosimples(SERVICE, app, **parameters)


def test_receipts_are_absolute_and_can_be_fetched() -> None:
    app = an_app()
    said = ask(app, cnpj="90010001000100")
    url = said["data"][0]["site_receipt"]

    assert said["site_receipts"] == [url]
    assert url.startswith("http://simulator/infosimples/receipts/")
    assert "90010001000100" not in url
    reply = get(url, app)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/pdf"
    assert said["data"][0]["certidao_codigo"] in text_of(reply.content)
    # Any process has them.
    assert get(url).content == reply.content


def test_they_are_where_the_client_found_us() -> None:
    path = f"/infosimples/api/v2/consultas/{SERVICE}?token=t&cnpj=90010001000100"

    said = post(path, headers={"host": "sandbox.invalid"}).json()
    assert said["site_receipts"][0].startswith("http://sandbox.invalid/infosimples/receipts/")
    said = get(f"https://simulator:8443{path}").json()
    assert said["site_receipts"][0].startswith("https://simulator:8443/infosimples/receipts/")


def test_html_where_it_is_promised() -> None:
    app = an_app()
    said = ask(app, cnpj="90010011000145")

    assert said["data"][0]["comprovante_tipo"] == "html"
    url = said["site_receipts"][0]
    assert url.endswith(".html")
    reply = get(url, app)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert said["data"][0]["certidao_codigo"] in reply.text


def test_they_expire_after_an_hour() -> None:
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


def test_they_can_be_left_out() -> None:
    for cnpj in ("90010001000100", "90010004000143"):
        said = ask(cnpj=cnpj, ignore_site_receipt="1")
        assert said["site_receipts"] == []
        assert [each["site_receipt"] for each in said["data"]] in ([None], [])
    assert ask(cnpj="90010001000100", ignore_site_receipt="0")["site_receipts"]
    parameters = {"uf": "SP", "cnpj": "90010001000100", "ignore_site_receipt": "1"}
    said = infosimples("sefaz/certidao-debitos", **parameters)
    assert (said["site_receipts"], said["data"][0]["site_receipt"]) == ([], None)


def test_nobody_makes_an_address_up() -> None:
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


def test_bad_ones_are_delivered_like_good_ones() -> None:
    for cnpj in ("90080001000186", "90080002000120", "90080003000175"):
        app = an_app()
        said = ask(app, cnpj=cnpj)
        assert said["data"][0]["comprovante_tipo"] == "pdf"
        assert receipt_of(said, app).startswith(b"%PDF-")


def test_a_request_knows_its_scheme() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    for scheme in ("http", "https"):
        scope = {"type": "http", "method": "GET", "path": "/x", "headers": [(b"host", b"h:1")]}
        asked = Request({**scope, "query_string": b"", "scheme": scheme}, receive)
        assert asyncio.run(read(asked)).origin == f"{scheme}://h:1"
