"""`/app`: where people arrive."""

import uuid
from datetime import timedelta
from pathlib import Path

import pytest

from balcao.core.calendar import civil_day
from balcao.core.certificates import CertificateGiven
from balcao.core.check_digits import cnpj_check_digits
from balcao.core.ledger import Hold, Settle
from balcao.core.people import Signature
from balcao.service.clock import system_now_ms
from tests.records import federal_of
from tests.service import CREDITS, Service, open_service
from tests.web.browser import Browser, Said, signed_in
from tests.web.consulting import a_trace

CNPJ = "90010001000100"


def stats(said: Said) -> dict[str, str]:
    """The figures at the top, by their names."""
    return {
        stat.findtext("dt"): " ".join(" ".join(stat.find("dd").itertext()).split())
        for stat in said.tree.xpath("//dl[@class='stats']/div")
    }


def test_strangers_are_sent_to_the_door_and_operators_to_their_own_page(house: Service) -> None:
    assert Browser(house).get("/app").location.startswith("/app/entrar")
    said = signed_in(house, role="operator").get("/app")
    assert (said.status, said.location) == (303, "/app/operador")


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
def test_a_slash_at_the_end_is_none(house: Service, typed: str, meant: str) -> None:
    for method in ("GET", "HEAD"):
        said = house.request(method, typed, None)
        assert (said.status, said.headers["location"]) == (308, meant)
        assert "content-security-policy" in said.headers
    assert house.request("POST", typed, None).status == 404


@pytest.mark.parametrize(
    "path", ["/app/nada/", "/app/arquivos/", "/app//evil.example/", "/app/%0d%0aX:1/", "/app/%3F/"]
)
def test_where_nothing_is_a_slash_leads_nowhere(house: Service, path: str) -> None:
    assert house.request("GET", path, None).status == 404


def test_a_manager_sees_balance_month_and_requests(house: Service) -> None:
    who = house.account("gestora")
    asked = [house.get(federal_of(CNPJ), who).json["request_id"] for _ in range(2)]
    said = signed_in(house, who).get("/app")
    assert said.status == 200
    told = stats(said)
    assert told["Disponíveis"] == "99.997 créditos"  # 2 of the source, 1 cached
    assert "Saldo" not in told  # the same, while nothing is held
    assert told["Usados neste mês"] == "3 créditos"
    assert said.tree.xpath("//svg[contains(@class, 'days')]")
    links = said.tree.xpath("//table//th/a/@href")
    assert links == [f"/app/consultas/resultado/{number}" for number in reversed(asked)]
    forms = set(said.tree.xpath("//main//a/@href"))
    assert {"/app/consultas/certidao-federal", "/app/consultas/certidao-estadual"} <= forms
    assert "/app/consultas" in forms


def test_a_consultant_sees_what_is_left_and_no_more(house: Service) -> None:
    who = house.account("consultora")
    house.get(federal_of(CNPJ), who)
    said = signed_in(house, who, "consultant").get("/app")
    assert said.status == 200
    assert set(stats(said)) == {"Disponíveis"}
    assert "Consumo deste mês" not in said.words
    assert "Extrato" not in said.words
    # What others asked is not theirs to see.
    assert not said.tree.xpath("//table//a")


def test_a_postpaid_account_sees_what_it_used_of_its_ceiling(house: Service) -> None:
    who = house.account("pos", plan="pos_pago", credits=0)
    house.get(f"/consultas/v2/cnpj-receita-federal/{CNPJ}", who)
    said = signed_in(house, who).get("/app")
    assert stats(said)["Disponíveis"] == "sem limite"
    assert stats(said)["Usados neste mês"] == "1 sem teto mensal"
    assert said.words.count("não incluída no plano") == 2  # certificates, without a contract
    assert "/app/consultas/certidao-federal" not in said.tree.xpath("//main//a/@href")


def test_limits_are_those_of_the_plan(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        who = house.account("livre", plan="gratuito", credits=0)
        said = signed_in(house, who).get("/app")
        assert stats(said)["Limite de consultas"] == "20 por minuto, e 500 por dia"
        assert stats(said)["Plano"] == "gratuito conta de teste"


def test_credits_that_are_held_make_balance_and_available_differ(house: Service) -> None:
    who, now = house.account("reserva"), system_now_ms()
    hold = Hold(who.account_id, who.key_id, str(uuid.uuid4()), "suframa", 4, now)
    assert house.desk.commit_now([hold]) is None
    told = stats(signed_in(house, who).get("/app"))
    assert (told["Saldo"], told["Disponíveis"]) == ("100.000 créditos", "99.996 créditos")
    assert told["Reservados agora"].startswith("4 ")
    void = Settle(who.account_id, hold.request_id, 0, "error", None, now)
    assert house.desk.commit_now([void]) is None


def test_certificates_that_end_within_a_week(house: Service) -> None:
    who, now = house.account("prazos"), system_now_ms()
    colleague = signed_in(house, who, "consultant")
    today = civil_day(now)
    stems = [f"{90010000 + n}0001" for n in range(1, 7)]
    given = [
        # The first was renewed, by its head office; and the last is a person's.
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
            certificate=CertificateGiven("CND", until, f"EMPRESA {n}", None, None),
        )  # fmt: skip
        assert house.desk.commit_now([trace]) is None
    page = signed_in(house, who).get("/app")
    (panel,) = page.tree.xpath("//section[.//h2[contains(., 'vencem em até 7 dias')]]")
    told = [" ".join(each.text_content().split()) for each in panel.xpath(".//li")]
    assert ["EMPRESA 4" in told[0], "vence hoje" in told[0]] == [True, True]
    assert ["EMPRESA 3" in told[1], "faltam 7 dias" in told[1]] == [True, True]
    assert len(told) == 2
    assert "vencem em até" not in colleague.get("/app").words  # not theirs


@pytest.mark.parametrize(
    ("credits", "said"),
    [(0, "Sem créditos disponíveis"), (1, "Créditos quase no fim"), (2, None)],
)
def test_few_credits_are_told(house: Service, credits: int, said: str | None) -> None:
    who = house.account(f"com {credits}", credits=credits)
    page = signed_in(house, who, "consultant").get("/app")
    assert ("mais créditos a quem opera este serviço" in page.words) == (said is not None)
    assert said is None or said in page.words


def test_a_test_account_is_shown_the_sandbox(house: Service) -> None:
    who = house.account("teste")
    said = signed_in(house, who, "consultant").get("/app")
    assert "/docs/sandbox" in said.tree.xpath("//main//a/@href")


def test_a_suspended_account_is_told(house: Service) -> None:
    who = house.account("parada")
    own = signed_in(house, who)
    assert "suspensa" not in own.get("/app").words
    people = house.desk.people
    house.run(people.suspend_account(who.account_id, True, Signature("cli"), system_now_ms()))
    said = own.get("/app")
    assert said.status == 200
    assert "Conta suspensa desde" in said.words
    assert house.purse(who).balance_credits == CREDITS
