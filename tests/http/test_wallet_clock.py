"""`/carteira/v1/relogio`: the clock of a test account's portfolio (contract 20.8)."""

import json
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from balcao.core.access import KeyRestrictions
from balcao.core.calendar import next_month_ms
from balcao.core.documents import Cnpj
from balcao.core.errors import StorageFailed
from balcao.core.questions import Inquiry
from balcao.home import Home
from balcao.service.clock_months import PassingMonths
from tests.service import CREDITS, Client, Reply, Service, StandingClock, open_service

MOVES = "carteira_relogio"  # the kind of job
WALLET, CLOCK, ITEMS = "/carteira/v1", "/carteira/v1/relogio", "/carteira/v1/itens"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("clock")
    with open_service(folder, establishments=60, clock=StandingClock()) as house:
        yield house


def send(house: Service, method: str, path: str, body: object, by: Client, **headers: str) -> Reply:
    text = json.dumps(body).encode()
    named = {"content_type": "application/json", "content_length": str(len(text)), **headers}
    return house.request(method, path, by, body=text, **named)


def advance(house: Service, by: Client, days: float) -> str:
    """Move the clock by some days, as the job does. Return the time at the end."""
    now = datetime.fromisoformat(house.get(CLOCK, by).json["agora"])
    until = (now + timedelta(days=days)).isoformat()
    assert send(house, "POST", CLOCK, {"ate": until}, by).status == 202
    house.work(MOVES, by.account_id)
    shown = house.get(CLOCK, by).json
    assert (shown["estado"], shown["real"]) == ("parado", False)
    return str(shown["agora"])


def told(house: Service, by: Client) -> list[Any]:
    events: list[Any] = house.get("/eventos/v1?limite=1000", by).json["itens"]
    return events


def test_the_clock_is_of_test_accounts_alone(house: Service) -> None:
    live = house.account("producao", mode="live")
    sent = send(house, "POST", CLOCK, {"ate": "2099-01-01T00:00:00-03:00"}, live)
    for refused in (sent, house.get(CLOCK, live), house.request("DELETE", CLOCK, live)):
        assert (refused.status, refused.code) == (404, "ROTA_NAO_ENCONTRADA")


def test_it_moves_forward_by_400_days_at_most(house: Service) -> None:
    by = house.account("limites")
    shown = house.get(CLOCK, by)
    assert (shown.credits, shown.json["estado"], shown.json["real"]) == (0, "parado", True)
    now = datetime.fromisoformat(shown.json["agora"])
    for days in (-1, 0, 401):
        refused = send(house, "POST", CLOCK, {"ate": (now + timedelta(days)).isoformat()}, by)
        assert (refused.status, refused.code) == (400, "PARAMETRO_INVALIDO"), days
    for body in ({}, {"ate": "amanha"}, {"ate": "2030-01-01T00:00:00"}, {"ate": None, "x": 1}):
        assert send(house, "POST", CLOCK, body, by).code == "PARAMETRO_INVALIDO", body
    until = (now + timedelta(399)).isoformat()
    key = {"idempotency_key": "relogio-0001"}
    moving = send(house, "POST", CLOCK, {"ate": until}, by, **key)
    assert (moving.status, moving.json["estado"], moving.json["real"]) == (202, "avancando", False)
    assert send(house, "POST", CLOCK, {"ate": until}, by, **key).body == moving.body
    later = {"ate": (now + timedelta(401)).isoformat()}
    assert send(house, "POST", CLOCK, later, by).code == "RELOGIO_AVANCANDO"
    assert house.request("DELETE", CLOCK, by).code == "RELOGIO_AVANCANDO"
    house.work(MOVES, by.account_id)
    assert house.get(CLOCK, by).json["agora"] == moving_until(until)
    assert send(house, "POST", CLOCK, {"ate": until}, by).code == "PARAMETRO_INVALIDO"


def moving_until(until: str) -> str:
    return datetime.fromisoformat(until).isoformat(timespec="milliseconds")


def test_months_follow_each_other(house: Service) -> None:
    by = house.account("meses")
    watched = {"vigiar": ["cadastro", "socios", "simples", "filiais"]}
    for document in ("90030001000171", "90030007000149", "90030009000138", "90030006"):
        added = send(house, "POST", ITEMS, {"documento": document, **watched}, by)
        assert added.status == 201, added.body
    advance(house, by, 62)  # the first days of two months at least
    events = told(house, by)
    first, second = (
        [each for each in events if each["dados"].get("competencia") == month]
        for month in ("2026-09", "2026-10")
    )
    assert first[0]["tipo"] == second[0]["tipo"] == "base.trocada"
    assert first[-1]["tipo"] == second[-1]["tipo"] == "carteira.comparada"
    first_changes, second_changes = (
        {each["tipo"]: each["dados"] for each in of_month[1:-1]} for of_month in (first, second)
    )
    common = {"empresa.situacao", "empresa.filial"}
    assert first_changes.keys() == {*common, "empresa.apareceu"}
    assert second_changes.keys() == {*common, "empresa.sumiu"}
    situations = [each["empresa.situacao"] for each in (first_changes, second_changes)]
    assert [(each["para"], each["sequencia"]) for each in situations] == [
        ("ATIVA", 1),
        ("INAPTA", 2),
    ]
    assert all(each["em"][8:] == "01T00:00:00.000-03:00" for each in (*first, *second))
    counts = {"itens": 4, "comparados": 4, "com_mudanca": 3, "nao_verificados": 0}
    assert first[-1]["dados"].items() >= counts.items()
    assert house.get(WALLET, by).json["ultima_comparacao"]["comparados"] == 4
    assert events[-1]["tipo"] == "carteira.relogio"
    (item,) = house.get(f"{ITEMS}?documento=90030001000171", by).json["itens"]
    assert item["cadastro"]["competencia"] >= "2026-10"

    assert house.request("DELETE", CLOCK, by).json["real"] is True
    assert told(house, by) == []
    (item,) = house.get(f"{ITEMS}?documento=90030001000171", by).json["itens"]
    assert (item["cadastro"]["situacao"], item["cadastro"]["competencia"]) == ("INAPTA", "2026-08")
    assert item["sequencia"] >= 2


def test_a_comparison_that_is_repeated_writes_nothing_twice(house: Service) -> None:
    by = house.account("de-novo")
    send(house, "POST", ITEMS, {"documento": "90030001000171"}, by)
    advance(house, by, 31)
    events = told(house, by)
    clocks, stored = house.desk.portfolio_clocks, house.desk.clock_months
    clock = house.run(clocks.find(by.account_id))
    assert clock is not None
    first = next_month_ms(clock.from_ms)
    again = msgspec.structs.replace(clock, now_ms=first, until_ms=first + 1)
    house.run(PassingMonths(Home(house.folder).opendata("test"), stored).compare(again))
    assert told(house, by) == events


def an_account(house: Service, name: str, *documents: tuple[str, list[str]], **more: Any) -> Client:
    """Return the client of an account with items that are renewed and looked up again."""
    by = house.account(name)
    administrator = house.another_key(by, restrictions=KeyRestrictions(administers=True))
    settings = {
        "teto_creditos_mes": 1_000,
        "renovar_padrao": {"dias_antes": 10, "dias_uteis": False},
        "reconsultar_padrao": {"a_cada_dias": 7},
        **more,
    }
    changed = send(house, "PATCH", WALLET, settings, administrator)
    assert changed.status == 200, changed.body
    for document, watched in documents:
        body: dict[str, Any] = {"documento": document, "vigiar": watched}
        if len(document) == 11:
            body["data_nascimento"] = "1980-01-01"
        added = send(house, "POST", ITEMS, body, by)
        assert added.status == 201, added.body
    return by


FEDERAL = ["certidao_federal"]


def by_subject(events: list[Any]) -> dict[str, list[str]]:
    """Return the kinds of events, with the days of notices, by CNPJ; of a person by `pessoa`."""
    found: dict[str, list[str]] = {}
    for each in events:
        data = each["dados"]
        if "item" in data:
            kind = " ".join(filter(None, (each["tipo"], str(data.get("aviso", "")))))
            found.setdefault(data["cnpj"] or "pessoa", []).append(kind)
    return found


def test_certificates_age_as_the_sandbox_promises(house: Service) -> None:
    by = an_account(
        house,
        "certidoes",
        *((f"{root}{rest}", FEDERAL) for root, rest in (
            ("90030012", "000151"), ("90030013", "000104"), ("90030014", "000140"),
            ("90030015", "000195"), ("90020001", "000190"),
        )),
        ("90010001000100", ["inscricoes:SP"]),
        ("90030000181", ["certidao_federal", "produtor:SP"]),
    )  # fmt: skip
    now = datetime.fromisoformat(house.get(CLOCK, by).json["agora"])
    advance(house, by, 17)
    events = told(house, by)
    vencer = [f"certidao.a_vencer {days}" for days in (10, 5, 1)]
    renewed, failed, expired = "certidao.renovada", "certidao.nao_renovada", "certidao.vencida"
    assert by_subject(events) == {
        "90030012000151": [vencer[0], renewed],
        "90030013000104": [
            vencer[0], "certidao.mesma", *vencer[1:], "certidao.mesma", expired
        ],
        "90030014000140": [vencer[0], "certidao.positiva"],
        "90030015000195": [vencer[0], failed, vencer[1], failed, vencer[2], expired],
        "90020001000190": [failed],
        "90010001000100": ["inscricao.situacao"],
        "pessoa": [vencer[0], renewed, "inscricao.situacao"],
    }  # fmt: skip
    days = {
        each["dados"]["cnpj"]: (datetime.fromisoformat(each["em"]).date() - now.date()).days
        for each in events
        if each["tipo"] in {renewed, "certidao.positiva", expired, "inscricao.situacao"}
    }
    assert [days[f"9003001{number}"] for number in ("2000151", "4000140", "5000195")] == [5, 5, 16]
    assert 10 <= days["90010001000100"] <= 17
    (blocked,) = [each["dados"] for each in events if each["dados"].get("cnpj") == "90010001000100"]
    assert (blocked["grave"], blocked["para"]["situacao_pj"]) == (
        True, "Bloqueado como destinatário na UF",
    )  # fmt: skip
    assert "90030000181" not in json.dumps(events)
    house.assert_books_agree()
    # Nothing of it is kept for other lookups.
    assert house.kept(Inquiry("federal_certificate", Cnpj("90030012000151"))) is None

    paid = house.desk.account(by.account_id).balance_credits
    house.request("DELETE", CLOCK, by)
    assert told(house, by) == []
    assert house.desk.account(by.account_id).balance_credits == paid


def test_a_purchase_on_request_is_answered_by_the_clock(house: Service) -> None:
    by = an_account(house, "a-pedido", ("90030013000104", FEDERAL))
    advance(house, by, 16)
    assert by_subject(told(house, by))["90030013000104"][-1] == "certidao.vencida"
    body = {"papel": "certidao_federal", "filtro": {}, "teto_creditos": 10}
    made = send(house, "POST", f"{WALLET}/renovar", body, by)
    assert made.status == 201, made.body
    for kind in ("lote_validar", "lote_executar"):
        house.work(kind, made.json["id"])
    (renewed,) = [each for each in told(house, by) if each["tipo"] == "certidao.renovada"]
    assert renewed["em"] == house.get(CLOCK, by).json["agora"]
    day = datetime.fromisoformat(renewed["em"]).date()
    assert renewed["dados"]["valida_ate"] == str(day + timedelta(180))


def test_a_process_that_dies_repeats_nothing(
    house: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps die before their commit, or after it."""
    items = [(document, FEDERAL) for document in ("90030012000151", "90030013000104")]
    items += [("90010001000100", ["inscricoes:SP"]), ("90030001000171", ["cadastro"])]
    calm, troubled = (an_account(house, name, *items) for name in ("calma", "agitada"))
    advance(house, calm, 32)
    desk, draws = house.desk, random.Random(7)
    steps: Sequence[tuple[object, str]] = (
        (desk.portfolio_clocks, "advance"), (desk.portfolio_clocks, "arrive"),
        (desk.rechecks, "finish"), (desk.rechecks, "note_asked"), (desk.renewals, "finish"),
        (desk.renewals, "begin"), (desk.paper_notices, "write"), (desk.clock_months, "write"),
        (desk.clock_months, "end"),
    )  # fmt: skip
    for of, name in steps:
        monkeypatch.setattr(of.__class__, name, deadly(getattr(of.__class__, name), draws))
    now = datetime.fromisoformat(house.get(CLOCK, troubled).json["agora"])
    until = (now + timedelta(32)).isoformat()
    assert send(house, "POST", CLOCK, {"ate": until}, troubled).status == 202
    deaths = 0
    while house.get(CLOCK, troubled).json["estado"] == "avancando":
        try:
            house.work(MOVES, troubled.account_id)
        except StorageFailed:
            deaths += 1
        assert deaths < 1_000
    monkeypatch.undo()
    assert deaths > 30
    assert summary(told(house, troubled)) == summary(told(house, calm))
    paid = [house.desk.account(by.account_id).balance_credits for by in (calm, troubled)]
    assert paid[0] == paid[1] < CREDITS
    house.assert_books_agree()


def deadly(step: Callable[..., Awaitable[Any]], draws: random.Random) -> Any:
    """Return a step that sometimes dies, before its work or after it."""

    async def dies(*values: Any) -> Any:
        drawn = draws.random()
        if drawn < 0.2:
            raise StorageFailed
        done = await step(*values)
        if drawn > 0.8:
            raise StorageFailed
        return done

    return dies


def summary(events: list[Any]) -> list[tuple[str, ...]]:
    """Return what happened to each subject, in its order; days depend on an item's id."""
    names = ("cnpj", "sequencia", "competencia")
    return sorted(
        (*(str(each["dados"].get(name)) for name in names), each["tipo"]) for each in events
    )


def test_companies_share_their_certificate(house: Service) -> None:
    by = an_account(
        house,
        "raizes",
        *((document, FEDERAL) for document in (
            "90010002000154", "90010008000121", "90010007000187", "90010007000268",
        )),
    )  # fmt: skip
    advance(house, by, 190)
    events = told(house, by)
    vencer = [f"certidao.a_vencer {days}" for days in (10, 5, 1)]
    failed, shared = "certidao.nao_renovada", [vencer[0], "certidao.renovada"]
    assert by_subject(events) == {
        # A new one is refused while it is in force: the next one is bought after its end.
        "90010002000154": [
            vencer[0], failed, vencer[1], failed, *vencer[2:], "certidao.vencida",
            "certidao.renovada",
        ],
        "90010008000121": shared,  # 10 days before the end of its extension
        "90010007000187": shared,
        "90010007000268": shared,
    }  # fmt: skip
    renewed = [each["dados"] for each in events if each["tipo"] == "certidao.renovada"]
    assert sorted(each["creditos"] for each in renewed) == [0, 2, 2, 2]


def test_a_calendar_shows_what_is_at_risk(house: Service) -> None:
    by = an_account(house, "parada", ("90030012000151", FEDERAL), teto_creditos_mes=3)
    made = send(house, "POST", f"{WALLET}/calendarios", {}, by).json["endereco"]
    path = made[made.index("/app/") :]
    advance(house, by, 4)
    assert b"SUMMARY:Vence: " in house.get(path).body
    advance(house, by, 2)
    assert house.get(WALLET, by).json["parada"]["motivo"] == "teto"
    feed = house.get(path).body
    assert b"SUMMARY:Em risco: " in feed
    assert b"a partir de" not in feed.replace(b"\r\n ", b"")
