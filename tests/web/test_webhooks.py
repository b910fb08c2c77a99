"""`/app/webhooks`: created with a secret shown once, tested, switched, resent, removed."""

import asyncio

import pytest

from balcao.accounts.webhooks import resolving
from balcao.service.webhooks.sending import Sender
from balcao.storage.desk.desk import Desk
from tests.service import Client, Service
from tests.web.browser import Browser, PageResponse, signed_in

PATH = "/app/webhooks"
URL = "https://erp.test/balcao"


@pytest.fixture(autouse=True)
def resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"erp.test": ["8.8.8.8"], "inner.test": ["10.0.0.1"]}
    monkeypatch.setattr(resolving, "_addresses", lambda host, port: names.get(host, []))
    monkeypatch.setattr(Sender, "send", hang)


async def hang(*_: object) -> None:
    """Send nothing, for as long as the test lasts."""
    await asyncio.Event().wait()


def add_webhook(desk: Desk, account_id: int) -> None:
    """Add a webhook that was switched off, with a delivery in each state."""
    run = desk.engine.connection.execute
    run(
        "INSERT INTO webhook (webhook_id, account_id, url, state, reason, secret, secret_tail,"
        " created_ms, planned_event) VALUES ('w1', ?, ?, 'desligado', 'http_410', X'00', 'abcd',"
        " 1786158000000, 0) ON CONFLICT DO NOTHING",
        (account_id, URL + "/" + "x" * 80),
    )
    for number, state in enumerate(("esperando", "entregue", "falhou", "desistiu")):
        run(
            "INSERT INTO webhook_delivery (webhook_id, event_id, state, attempts, created_ms,"
            " next_ms, at_ms, status, duration_ms, response) VALUES ('w1', ?, ?, 3, ?, ?, ?, 503,"
            " 212, ?) ON CONFLICT DO NOTHING",
            (
                number, state, 4_000_000_000_000,
                4_000_000_000_000 if state in ("esperando", "falhou") else None,
                1_786_158_000_000, "Em manutenção. " * 12,
            ),
        )  # fmt: skip


def create(browser: Browser, url: str = URL, **fields: str) -> PageResponse:
    form_id = browser.get(PATH).field("form_id")
    return browser.post(PATH, {"url": url, "form_id": form_id, **fields})


def only(house: Service, who: Client) -> str:
    (webhook,) = asyncio.run(house.desk.webhooks.of_account(who.account_id))
    return webhook.webhook_id


def test_lifecycle_of_a_webhook(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    made = create(browser, tipos="certidao.*\nempresa.situacao", descricao="ERP da matriz")
    assert made.status == 201
    assert "whsec_" in made.words
    assert "whsec_" not in browser.get(PATH).words
    assert "ERP da matriz" in browser.get(PATH).words
    one = f"{PATH}/{only(house, who)}"
    page = browser.get(one)
    assert "Nenhuma entrega" in page.words
    assert "whsec_" not in page.words
    assert browser.post(f"{one}/testar", {}).status == 303
    assert "balcao.ping" in browser.get(one).words
    assert "na fila" in browser.get(f"{one}?estado=esperando").words
    assert browser.post(one, {"ativo": "0"}).status == 303
    assert "Webhook desativado por um usuário" in browser.get(one).words
    refused = browser.post(f"{one}/reenviar", {"dias": "7"})
    assert (refused.status, "está desativado" in refused.words) == (422, True)
    assert browser.post(one, {"ativo": "1"}).status == 303
    assert browser.post(f"{one}/reenviar", {"dias": "7"}).headers["location"].endswith("feito=nada")
    wrong = browser.post(one, {"url": "https://inner.test/", "form_id": "f1"})
    assert "não é público" in wrong.words
    assert browser.post(one, {"url": URL, "descricao": "Outro", "form_id": "f2"}).status == 303
    rotated = browser.post(f"{one}/segredo", {"horas": "24", "form_id": "f3"})
    assert "Segredo trocado" in rotated.words
    assert browser.post(f"{one}/segredo", {"horas": "999", "form_id": "f4"}).status == 422
    asked = browser.get(f"{one}/remover")
    form = {"form_id": asked.field("form_id")}
    assert browser.post(f"{one}/remover", form).status == 303
    assert browser.get(one).status == 404


def test_what_is_refused_is_shown_at_its_field(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    for url, fields, text in (
        ("http://erp.test/", {}, "deve começar com https"),
        ("https://nada.test/", {}, "não tem endereço"),
        (URL, {"tipos": "qualquer"}, "não é um tipo de evento"),
        (URL, {"clientes": "529.982.247-25"}, "CPF"),
    ):
        refused = create(browser, url, **fields)
        assert (refused.status, text in refused.words) == (422, True), refused.words
    form_id = browser.get(PATH).field("form_id")
    for status in (201, 409):
        assert browser.post(PATH, {"url": URL, "form_id": form_id}).status == status
