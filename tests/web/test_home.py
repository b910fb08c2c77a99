"""`/app`: the page after signing in."""

import uuid
from datetime import timedelta
from pathlib import Path

import pytest

from balcao.accounts.keys import issue_key
from balcao.core.calendar import civil_day
from balcao.core.certificates import CertificateSummary
from balcao.core.check_digits import cnpj_check_digits
from balcao.core.ledger import Charge, Hold, Settle
from balcao.core.people import Signature
from balcao.home import Home
from balcao.service.clock import system_now_ms
from tests.records import federal_of
from tests.service import CREDITS, Service, open_service
from tests.web.batches import BatchUser
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.lookups import a_trace

CNPJ = "90010001000100"


def stats(answer: PageResponse) -> dict[str, str]:
    """Return the figures at the top, by name."""
    return {
        stat.findtext("dt"): " ".join(" ".join(stat.find("dd").itertext()).split())
        for stat in answer.tree.xpath("//dl[@class='stats']/div")
    }


def test_strangers_are_sent_to_sign_in_and_operators_to_their_page(house: Service) -> None:
    assert Browser(house).get("/app").location.startswith("/app/entrar")
    answer = signed_in(house, role="operator").get("/app")
    assert (answer.status, answer.location) == (303, "/app/operador")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/app/", "/app"),
        ("/app/?fim=1", "/app?fim=1"),
        ("/app//?a=%2F%26&b=", "/app?a=%2F%26&b="),
        ("/app/entrar/", "/app/entrar"),
        ("/app/operador/contas/7/?x=1", "/app/operador/contas/7?x=1"),
        ("/status/", "/status"),
        ("/status/?uf=SP", "/status?uf=SP"),
    ],
)
def test_a_trailing_slash_is_ignored(house: Service, typed: str, meant: str) -> None:
    for method in ("GET", "HEAD"):
        answer = house.request(method, typed, None)
        assert (answer.status, answer.headers["location"]) == (308, meant)
        assert "content-security-policy" in answer.headers
    assert house.request("POST", typed, None).status == 404


@pytest.mark.parametrize(
    "path", ["/app/nada/", "/app/arquivos/", "/app//evil.example/", "/app/%0d%0aX:1/", "/app/%3F/"]
)
def test_a_trailing_slash_on_an_unknown_address_is_not_found(house: Service, path: str) -> None:
    assert house.request("GET", path, None).status == 404


def test_a_manager_sees_balance_month_and_requests(house: Service) -> None:
    who = house.account("gestora")
    asked = [house.get(federal_of(CNPJ), who).json["request_id"] for _ in range(2)]
    answer = signed_in(house, who).get("/app")
    assert answer.status == 200
    texts = stats(answer)
    assert texts["Disponíveis"] == "99.997 créditos"  # 2 from the source, 1 cached
    assert "Saldo" not in texts  # equal, while nothing is held
    assert texts["Usados neste mês"] == "3 créditos"
    assert answer.tree.xpath("//svg[contains(@class, 'days')]")
    links = answer.tree.xpath("//table//th/a/@href")
    assert links == [f"/app/consultas/resultado/{number}" for number in reversed(asked)]
    forms = set(answer.tree.xpath("//main//a/@href"))
    assert {"/app/consultas/certidao-federal", "/app/consultas/certidao-estadual"} <= forms
    assert "/app/consultas" in forms


def test_a_consultant_sees_available_credits_only(house: Service) -> None:
    who = house.account("consultora")
    house.get(federal_of(CNPJ), who)
    answer = signed_in(house, who, "consultant").get("/app")
    assert answer.status == 200
    assert set(stats(answer)) == {"Disponíveis"}
    assert "Consumo deste mês" not in answer.words
    assert "Extrato" not in answer.words
    # Requests of others are hidden.
    assert not answer.tree.xpath("//table//a")


def test_a_postpaid_account_sees_the_use_of_its_ceiling(house: Service) -> None:
    who = house.account("pos", plan="pos_pago", credits=0)
    house.get(f"/consultas/v2/cnpj-receita-federal/{CNPJ}", who)
    answer = signed_in(house, who).get("/app")
    assert stats(answer)["Disponíveis"] == "sem limite"
    assert stats(answer)["Usados neste mês"] == "1 sem limite mensal"
    assert answer.words.count("não incluída no plano") == 4  # certificates, without a contract
    assert "/app/consultas/certidao-federal" not in answer.tree.xpath("//main//a/@href")


def test_limits_are_those_of_the_plan(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        who = house.account("livre", plan="gratuito", credits=0)
        answer = signed_in(house, who).get("/app")
        assert stats(answer)["Limite de consultas"] == "20 por minuto, e 500 por dia"
        assert stats(answer)["Plano"] == "gratuito conta de teste"


def test_credits_that_are_held_make_balance_and_available_differ(house: Service) -> None:
    who, now = house.account("reserva"), system_now_ms()
    hold = Hold(who.account_id, who.key_id, str(uuid.uuid4()), "suframa", 4, now)
    assert house.desk.commit_now([hold]) is None
    texts = stats(signed_in(house, who).get("/app"))
    assert (texts["Saldo"], texts["Disponíveis"]) == ("100.000 créditos", "99.996 créditos")
    assert texts["Reservados agora"].startswith("4 ")
    void = Settle(who.account_id, hold.request_id, 0, "error", None, now)
    assert house.desk.commit_now([void]) is None


def test_certificates_that_expire_within_a_week(house: Service) -> None:
    who, now = house.account("prazos"), system_now_ms()
    colleague = signed_in(house, who, "consultant")
    today = civil_day(now)
    stems = [f"{90010000 + n}0001" for n in range(1, 7)]
    given = [
        # The first was renewed by its head office, and the last is a person's.
        *((f"{stems[0][:8]}0002", 2), (stems[0], 100), (stems[1], 8), (stems[2], 7)),
        *((stems[3], 0), (stems[4], -1), ("***100001**", 3)),
    ]
    for n, (stem, days) in enumerate(given):
        document = stem if "*" in stem else stem + cnpj_check_digits(stem)
        until = (today + timedelta(days)).isoformat()
        trace = a_trace(
            request_id=f"0197-{n}", account_id=who.account_id, key_id=who.key_id, credits=0,
            operation="certidao-negativa-de-debitos-federal", document=document, uf=None,
            opened_ms=now, settled_ms=now, rule="cached",
            certificate=CertificateSummary("CND", until, f"EMPRESA {n}", None, None),
        )  # fmt: skip
        assert house.desk.commit_now([trace]) is None
    page = signed_in(house, who).get("/app")
    (panel,) = page.tree.xpath("//section[.//h2[contains(., 'vencem em até 7 dias')]]")
    texts = [" ".join(each.text_content().split()) for each in panel.xpath(".//li")]
    assert ["EMPRESA 4" in texts[0], "vence hoje" in texts[0]] == [True, True]
    assert ["EMPRESA 3" in texts[1], "faltam 7 dias" in texts[1]] == [True, True]
    assert len(texts) == 2
    assert "vencem em até" not in colleague.get("/app").words  # another person's


@pytest.mark.parametrize(
    ("credits", "shown"),
    [(0, "Sem créditos disponíveis"), (1, "Créditos quase no fim"), (2, None)],
)
def test_few_credits_are_announced(house: Service, credits: int, shown: str | None) -> None:
    who = house.account(f"com {credits}", credits=credits)
    page = signed_in(house, who, "consultant").get("/app")
    assert ("mais créditos ao operador do serviço" in page.words) == (shown is not None)
    assert shown is None or shown in page.words


def test_a_test_account_is_shown_the_sandbox(house: Service) -> None:
    who = house.account("teste")
    answer = signed_in(house, who, "consultant").get("/app")
    assert "/docs/sandbox" in answer.tree.xpath("//main//a/@href")


def test_a_suspended_account_is_notified(house: Service) -> None:
    who = house.account("parada")
    own = signed_in(house, who)
    assert "suspensa" not in own.get("/app").words
    people = house.desk.people
    house.run(people.suspend_account(who.account_id, True, Signature("cli"), system_now_ms()))
    answer = own.get("/app")
    assert answer.status == 200
    assert "Conta suspensa desde" in answer.words
    assert house.balance(who).balance_credits == CREDITS


def attention(answer: PageResponse) -> list[str]:
    """Return the texts of what is pending, which stand above the search box."""
    (box,) = answer.tree.xpath("//main//form[@role='search']")
    before = box.xpath("preceding::ul[@class='pending']/li/span")
    return [each.text_content() for each in before]


def test_what_needs_attention_comes_before_the_box(house: Service) -> None:
    who, now = house.account("pendências", credits=500), system_now_ms()
    browser = signed_in(house, who)
    assert attention(browser.get("/app")) == []
    account = house.balance(who)
    for name, days in (("breve", 10), ("longe", 20), ("sem prazo", None)):
        ends = None if days is None else now + days * 86_400_000 + 1000
        issue_key(house.desk, Home(house.folder), account, name, now, expires_ms=ends)
    charged = Charge(
        who.account_id, who.key_id, str(uuid.uuid4()), "suframa", 400, "suframa/lookup",
        "online", now,
    )  # fmt: skip
    assert house.desk.commit_now([charged]) is None
    day = civil_day(now + 10 * 86_400_000).strftime("%d/%m/%Y")
    credits, *keys = attention(browser.get("/app"))
    assert credits == (
        "Créditos para menos de uma semana: 100 disponíveis, 400 gastos nos últimos 7 dias"
    )
    (soon,) = [text for text in keys if text.startswith(f"Chave “breve” vale até {day}.")]
    assert soon.endswith("Crie uma chave nova, troque-a nos programas e depois revogue a antiga.")
    assert not [text for text in keys if "longe" in text or "sem prazo" in text]
    assert attention(signed_in(house, who, "consultant").get("/app")) == []


def test_batches_that_wait_are_named_on_the_start_page(house: Service) -> None:
    office = BatchUser(signed_in(house, house.account("com lotes")))
    office.open({"lista": CNPJ, "nome": "Novembro"})
    assert attention(office.browser.get("/app")) == ["Lote “Novembro” aguarda confirmação"]


def test_a_new_account_is_told_how_to_begin(house: Service) -> None:
    page = signed_in(house, house.account("nova")).get("/app")
    assert "Comece por aqui" in page.words
    assert {"/app/lotes/novo", "/app/chaves", "/app/usuarios"} <= set(
        page.tree.xpath("//section[.//h2[.='Comece por aqui']]//a/@href")
    )
