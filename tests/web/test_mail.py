"""Pages that send e-mail: an invitation, a forgotten password, the notice of a low balance."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from balcao.core.people import normal_email
from balcao.service.clock import system_now_ms
from balcao.service.mail_delivery import MailDelivery
from balcao.web.kit.throttle import RESET_LIMIT
from tests.mail import Sink, mail_sink
from tests.service import Service, open_service
from tests.web.browser import Browser, signed_in

PASSWORD = "uma frase que serve bem"


@pytest.fixture(scope="module")
def sink() -> Iterator[Sink]:
    with mail_sink() as sink:
        yield sink


@pytest.fixture(scope="module")
def mailing(tmp_path_factory: pytest.TempPathFactory, sink: Sink) -> Iterator[Service]:
    settings: dict[str, Any] = {
        "smtp_host": "127.0.0.1",
        "smtp_port": sink.port,
        "smtp_tls": "none",
        "smtp_from": "balcao@exemplo.test",
        "public_url": "http://balcao.test",
    }
    with open_service(tmp_path_factory.mktemp("mailing"), **settings) as house:
        yield house


def deliver(house: Service) -> None:
    """Run the jobs that are due, as the service does."""
    tools = house.front.web._tools  # type: ignore[union-attr]
    delivery = MailDelivery(house.desk, tools.outbox, house.settings.mail_server, system_now_ms)

    async def work() -> None:
        now = system_now_ms()
        for job in await house.desk.jobs.claim("mail", "test", now, now + 1000, 99, 8):
            await delivery.deliver(job.about)

    house.run(work())


def link_in(sink: Sink) -> str:
    found = re.search(r"https?://balcao\.test(/app/convite/\S+)", sink.texts()[0])
    assert found is not None
    return found[1]


def choose(house: Service, link: str) -> Browser:
    theirs = Browser(house)
    done = theirs.post(link, {"senha": PASSWORD, "de_novo": PASSWORD})
    assert done.status == 303, done.words
    return theirs


def test_an_invitation_is_sent(mailing: Service, sink: Sink) -> None:
    manager = signed_in(mailing)
    form_id = manager.get("/app/usuarios").field("form_id")
    fields = {"nome": "Maria", "email": "maria@empresa.test", "papel": "manager"}
    answer = manager.post("/app/usuarios", {**fields, "form_id": form_id})
    assert answer.status == 201
    assert "Um e-mail com o link segue para maria@empresa.test." in answer.words
    deliver(mailing)
    assert sink.accepted[-1]["To"] == "maria@empresa.test"
    link = link_in(sink)
    assert link in answer.text  # the same, for another way
    assert choose(mailing, link).get("/app").status == 200


def test_a_forgotten_password_is_replaced(mailing: Service, sink: Sink) -> None:
    assert "Esqueci minha senha" in Browser(mailing).get("/app/entrar").words
    browser, before = Browser(mailing), len(sink.accepted)
    assert browser.get("/app/esqueci").status == 200
    assert browser.post("/app/esqueci", {"email": "sem arroba"}).status == 422
    known, unknown = "Maria@Empresa.test", "ninguem@empresa.test"
    pages = [browser.post("/app/esqueci", {"email": email}) for email in (known, unknown)]
    assert [page.status for page in pages] == [202, 202]
    alike = {
        page.words.replace(email, "") for page, email in zip(pages, (known, unknown), strict=True)
    }
    assert len(alike) == 1
    deliver(mailing)
    assert [message["To"] for message in sink.accepted[before:]] == [normal_email(known)]
    link = link_in(sink)
    choose(mailing, link)
    assert Browser(mailing).get(link).status == 404  # valid once


def test_one_address_gets_few_messages(mailing: Service) -> None:
    answers = [
        Browser(mailing).post("/app/esqueci", {"email": "quem@empresa.test"}).status
        for _ in range(RESET_LIMIT.quota + 1)
    ]
    assert answers == [202] * RESET_LIMIT.quota + [429]


def test_a_threshold_is_saved(mailing: Service) -> None:
    manager, page = signed_in(mailing), "/app/aviso-de-saldo"
    form_id = manager.get(page).field("form_id")
    wrong = manager.post(page, {"abaixo_de": "muito", "form_id": form_id})
    assert (wrong.status, "número inteiro de créditos" in wrong.words) == (422, True)
    done = manager.post(page, {"abaixo_de": "1.500", "form_id": form_id})
    assert manager.get(done.location).field("abaixo_de") == "1500"
    assert manager.post(page, {"abaixo_de": "9", "form_id": form_id}).location.endswith("feito=ja")
    operator = signed_in(mailing, role="operator")
    base = f"/app/operador/contas/{mailing.client.account_id}/aviso-de-saldo"
    assert operator.get(base).field("abaixo_de") == "1500"
    assert signed_in(mailing, role="consultant").get(page).status == 403
    cross = manager.post(page, {"abaixo_de": "9"}, sec_fetch_site="cross-site")
    assert cross.status == 403


def test_without_a_server_links_are_copied(house: Service) -> None:
    page = Browser(house).get("/app/entrar")
    assert "Esqueci minha senha" not in page.words
    assert Browser(house).get("/app/esqueci").status == 404
    assert Browser(house).post("/app/esqueci", {"email": "ana@empresa.test"}).status == 404
    assert "ainda não envia e-mails" in signed_in(house).get("/app/aviso-de-saldo").words
