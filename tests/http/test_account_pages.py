""" "Was I charged?": `/conta/v1/saldo`, `/conta/v1/consumo` and `/conta/v1/operacoes/{request_id}`.

Over the real service. Answers are compared with the ledger's own entries; instants that matter
are written into the ledger, never waited for.
"""

import asyncio
import csv
import datetime
import io
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import SecretStr

from balcao.accounts.keys import issue_key
from balcao.core.ledger import Charge, TopUp
from balcao.home import Home
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.service.clock import system_now_ms
from balcao.storage.contract import NewAccount
from tests.providers import PROVIDERS, Wire
from tests.records import company, federal_of, producer, sintegra, state_of
from tests.service import CREDITS, Client, Reply, Service, assert_refused, open_service

BALANCE, USAGE, OPERATIONS = "/conta/v1/saldo", "/conta/v1/consumo", "/conta/v1/operacoes/"
CNPJ = "90010001000100"
BRASILIA = ZoneInfo("America/Sao_Paulo")
DAY_MS = 86_400_000


def ok(answer: Reply) -> Any:
    """Return a page's body: a success with its `request_id`, and not cacheable."""
    body = answer.json
    assert answer.status == 200, body
    assert (body["success"], body["error"]) == (True, False)
    assert body["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "ratelimit" in answer.headers
    return body


def operation(house: Service, request_id: str, by: Client) -> Any:
    answer = ok(house.get(f"{OPERATIONS}{request_id}", by))
    assert answer["operacao_id"] == request_id
    return answer


def assert_unknown(answer: Reply) -> None:
    assert_refused(answer, 404, "OPERACAO_NAO_ENCONTRADA")


def at(text: str) -> int:
    """Return an instant on a Brasília wall clock."""
    moment = datetime.datetime.fromisoformat(text).replace(tzinfo=BRASILIA)
    return round(moment.timestamp() * 1000)


def charge(
    house: Service,
    of: Client,
    at_ms: int,
    credits: int = 1,
) -> str:
    """Write a charge of a certain instant into the ledger, and return its request."""
    request_id = str(uuid.uuid4())
    entry = Charge(
        of.account_id, of.key_id, request_id, "sintegra", credits, "regra", "online", at_ms
    )
    assert house.desk.commit_now([entry]) is None
    return request_id


def another_key(house: Service, of: Client, name: str) -> Client:
    account = house.balance(of)
    home = Home(house.settings.home)
    text, key = issue_key(house.desk, home, account, name, system_now_ms())
    return Client(of.account_id, key.key_id, text)


# All three


@pytest.mark.parametrize("path", [BALANCE, USAGE, f"{USAGE}?formato=csv", OPERATIONS + "x"])
def test_a_key_is_required(house: Service, path: str) -> None:
    """Without a key, or with an unknown one, it is 401."""
    assert_refused(house.request("GET", path, None), 401, "API_KEY_INVALIDA")
    bad = house.request("GET", path, None, x_api_key="balcao_test_nonsense")
    assert_refused(bad, 401, "API_KEY_INVALIDA")


def test_they_cost_nothing(house: Service, who: Client) -> None:
    """No page moves a credit, and an account without any may ask."""
    asked = house.get(federal_of(CNPJ), who).json["request_id"]
    before, entries = house.money(who), list(house.charges(who))
    for _ in range(3):
        for path in (BALANCE, USAGE, f"{USAGE}?formato=csv", OPERATIONS + asked, OPERATIONS + "x"):
            answer = house.get(path, who)
            assert answer.headers.get("x-creditos-cobrados", "0") == "0"
    assert house.money(who) == before
    assert list(house.charges(who)) == entries
    poor = house.account("sem-creditos", credits=0)
    assert ok(house.get(BALANCE, poor))["creditos_disponiveis"] == 0
    assert ok(house.get(USAGE, poor))["linhas"] == []


def test_they_count_against_the_limits(house: Service) -> None:
    """They are counted together with the lookups; beyond the limit it is 429 with a wait."""
    hurried = house.account("apressada", per_minute=4)
    paths = (BALANCE, USAGE, OPERATIONS + str(uuid.uuid4()), company(CNPJ))
    left = []
    for path in paths:
        found = re.search(r'"chave-minuto";r=(\d+)', house.get(path, hurried).headers["ratelimit"])
        assert found
        left.append(int(found[1]))
    assert left == [3, 2, 1, 0]
    for path in paths[:3]:
        assert_refused(house.get(path, hurried), 429, "LIMITE_EXCEDIDO")


@pytest.mark.parametrize("path", [BALANCE, USAGE, OPERATIONS + "x"])
def test_methods(house: Service, path: str) -> None:
    """OPTIONS asks no key, HEAD has no content, and others are not allowed."""
    preflight = house.request("OPTIONS", path, None)
    assert (preflight.status, preflight.raw) == (204, b"")
    assert preflight.headers["access-control-allow-origin"] == "*"
    got = house.get(path)
    head = house.request("HEAD", path, house.client)
    assert (head.status, head.raw) == (got.status, b"")
    for method in ("POST", "PUT", "DELETE"):
        answer = house.request(method, path, house.client)
        assert_refused(answer, 405, "METODO_NAO_PERMITIDO")
        assert "GET" in answer.headers["allow"].split(", ")


@pytest.mark.parametrize(
    "path", ["/conta/v1/", "/conta/v1", "/conta/v1/saldos", "/conta/v1/saldo/x", "/conta/v2/saldo"]
)
def test_other_addresses(house: Service, path: str) -> None:
    """There is nothing else below `/conta/v1/`."""
    assert_refused(house.get(path), 404, "ROTA_NAO_ENCONTRADA")


def test_no_personal_data(house: Service, who: Client) -> None:
    """No page contains a document, name or birth date of a lookup."""
    paths = [
        federal_of(CNPJ),
        federal_of("90010000100"),
        state_of(CNPJ),
        producer(),
        sintegra(),
        company(),
    ]
    answers = [house.get(path, who) for path in paths]
    pages = [house.get(path, who).body for path in (BALANCE, USAGE, f"{USAGE}?formato=csv")]
    for answer in answers:
        assert answer.status == 200
        pages.append(house.get(OPERATIONS + answer.json["request_id"], who).body)
    reply = b"\n".join(pages).decode()
    name = answers[1].json["corporate_name"]
    assert name
    for secret in (CNPJ, "90.010.001", "90010000100", "900.100.001", "1980", name, "FICTICIA"):
        assert secret not in reply
    assert who.key not in reply


# The balance


def test_the_balance_of_a_prepaid_account(house: Service, who: Client) -> None:
    """Balance, holds and what is left are the ledger's; the month's sum is its entries'."""
    for path in (federal_of(CNPJ), federal_of(CNPJ), state_of(CNPJ), federal_of("90020003000180")):
        house.get(path, who)
    answer = ok(house.get(BALANCE, who))
    spent = -sum(entry.credits for entry in house.charges(who))
    balance, held = house.money(who)
    assert (answer["plano"], answer["modo"]) == ("pre_pago", "test")
    assert answer["saldo_creditos"] == answer["creditos_disponiveis"] == balance == CREDITS - spent
    assert answer["creditos_reservados"] == held == 0
    assert answer["creditos_gastos_no_mes"] == spent
    assert answer["teto_mensal_creditos"] is None
    assert re.fullmatch(r"\d{4}-\d\d", answer["mes"])


def test_the_balance_of_a_postpaid_account(house: Service) -> None:
    """There is no balance; with a ceiling, what is left of it, without one, no bound."""
    desk, now_ms = house.desk, system_now_ms()
    for name, ceiling in (("sem-teto", None), ("com-teto", 5)):
        new = NewAccount(name, "pos_pago", "test", True, ceiling_credits=ceiling)
        account = desk.create_account(new, now_ms)
        text, key = issue_key(desk, Home(house.settings.home), account, "k", now_ms)
        who = Client(account.account_id, key.key_id, text)
        assert house.get(federal_of(CNPJ, "cache_strategy=SO_ONLINE"), who).credits == 2
        answer = ok(house.get(BALANCE, who))
        assert answer["plano"] == "pos_pago"
        assert answer["saldo_creditos"] is None
        assert answer["teto_mensal_creditos"] == ceiling
        assert answer["creditos_disponiveis"] == (None if ceiling is None else 3)
        assert answer["creditos_gastos_no_mes"] == 2


def test_last_month_s_credits_are_not_this_month_s(house: Service) -> None:
    """Credits spent in an earlier month are not counted in this one."""
    desk, long_ago_ms = house.desk, system_now_ms() - 40 * DAY_MS
    account = desk.create_account(NewAccount("antiga", "pre_pago", "test"), long_ago_ms)
    desk.commit_now([TopUp(account.account_id, 10, "teste", long_ago_ms)])
    who = another_key(house, Client(account.account_id, 0, ""), "teste")
    charge(house, who, long_ago_ms, credits=7)
    answer = ok(house.get(BALANCE, who))
    assert answer["creditos_gastos_no_mes"] == 0
    assert answer["saldo_creditos"] == 3


# Consumption


def rows(body: Any) -> list[tuple[str, str, str, str, int, int, str | None, str | None]]:
    columns = (
        *("dia", "operacao", "chave", "origem", "consultas", "creditos"),
        *("cliente", "referencia"),
    )
    for each in body["linhas"]:
        assert tuple(each) == columns
    return [tuple(each.values()) for each in body["linhas"]]


def in_csv(answer: Reply) -> list[list[str]]:
    """Read a CSV as spreadsheets in Brazil do: BOM and semicolons."""
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["cache-control"] == "no-store"
    assert re.fullmatch(r"[0-9a-f-]{36}", answer.headers["x-request-id"])
    text = answer.body.decode("utf-8")
    assert text.startswith("\ufeff")
    header, *lines = csv.reader(io.StringIO(text[1:]), delimiter=";")
    usual = ["dia", "operacao", "chave", "origem", "consultas", "creditos"]
    assert header == [*usual, "cliente", "referencia"]
    return lines


def test_consumption_adds_up_to_the_ledger(house: Service, who: Client) -> None:
    """In JSON and CSV, by day, operation, key and origin, the sums are the ledger's."""
    second = another_key(house, who, "loja")
    paths = [
        federal_of(CNPJ, "cache_strategy=SO_ONLINE"),
        federal_of(CNPJ),
        federal_of(CNPJ),
        state_of(CNPJ),
    ]
    paths += [federal_of("90010003000107", "cache_strategy=SO_ONLINE"), company(), sintegra()]
    failed = [federal_of("90020003000180"), federal_of("1"), federal_of("90020001000190")]
    for path in [*paths, *failed]:
        house.get(path, who)
        house.get(path, second)
    answer = ok(house.get(USAGE, who))
    entries = house.charges(who)
    assert answer["total_creditos"] == -sum(entry.credits for entry in entries)
    assert answer["total_consultas"] == len(entries) == 2 * len(paths)
    found = rows(answer)
    assert found == sorted(found, key=lambda row: (row[0], row[1]))
    assert {row[2] for row in found} == {"teste", "loja"}
    for origin in ("cache", "online"):
        mine = [entry for entry in entries if entry.origin == origin]
        assert sum(row[5] for row in found if row[3] == origin) == -sum(e.credits for e in mine)
        assert sum(row[4] for row in found if row[3] == origin) == len(mine)
    assert len({row[:4] for row in found}) == len(found)
    lines = in_csv(house.get(f"{USAGE}?formato=csv", who))
    assert lines == [["" if value is None else str(value) for value in row] for row in found]
    # Whichever key asks, it is the account's.
    assert rows(ok(house.get(USAGE, second))) == found


def test_consumption_is_the_account_s_own(house: Service, who: Client) -> None:
    """The consumption of other accounts is not in it."""
    house.get(federal_of(CNPJ))
    assert ok(house.get(USAGE, who))["linhas"] == []
    assert in_csv(house.get(f"{USAGE}?formato=CSV", who)) == []


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_long_consumption_has_the_same_content_in_pieces(
    house: Service, who: Client, form: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (federal_of(CNPJ), company(), sintegra()):
        house.get(path, who)

    def content() -> tuple[bytes, bool]:
        reply = house.get(f"{USAGE}?formato={form}", who, accept_encoding=encoding)
        assert reply.status == 200
        body = reply.body.replace(reply.headers["x-request-id"].encode(), b"")
        return body, "content-length" in reply.headers

    whole, has_length = content()
    assert has_length
    assert whole.count(b"credito") > 3 or form == "csv"
    monkeypatch.setattr("balcao.http.streaming.WHOLE_BYTES_MAX", 10)
    monkeypatch.setattr("balcao.http.json_bodies._ITEMS_AT_ONCE", 1)
    monkeypatch.setattr("balcao.core.csv_table._BYTES_AT_ONCE", 10)
    assert content() == (whole, False)


@pytest.mark.parametrize("accept", ["text/csv", "text/csv;q=0.9, application/json;q=0.5"])
def test_consumption_is_csv_if_accept_prefers_it(house: Service, who: Client, accept: str) -> None:
    house.get(company(), who)
    asked = house.get(f"{USAGE}?formato=csv", who)
    negotiated = house.get(USAGE, who, accept=accept)
    assert in_csv(negotiated) == in_csv(asked) != []
    assert house.get(f"{USAGE}?formato=", who, accept=accept).body == asked.body
    assert (
        house.request("HEAD", USAGE, who, accept=accept).headers["content-type"].startswith("text")
    )


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html, */*;q=0.8", "image/png"])
def test_consumption_is_json_by_default(house: Service, who: Client, accept: str) -> None:
    ok(house.get(USAGE, who, accept=accept))


def test_formato_takes_precedence_over_accept(house: Service, who: Client) -> None:
    ok(house.get(f"{USAGE}?formato=json", who, accept="text/csv"))
    in_csv(house.get(f"{USAGE}?formato=csv", who, accept="application/json"))
    refused = house.get(f"{USAGE}?formato=xml", who, accept="text/csv")
    assert_refused(refused, 400, "PARAMETRO_INVALIDO")


def test_vary_names_accept(house: Service, who: Client) -> None:
    for path in (USAGE, f"{USAGE}?formato=csv", f"{USAGE}?formato=json"):
        varies = house.get(path, who).headers["vary"].split(", ")
        assert {"accept", "accept-encoding"} <= set(varies)


@pytest.mark.parametrize(
    ("day", "first", "last"),
    [
        ("2026-03-10", "2026-03-10T00:00:00.000", "2026-03-10T23:59:59.999"),
        ("2025-12-31", "2025-12-31T00:00:00.000", "2025-12-31T23:59:59.999"),
        ("2024-02-29", "2024-02-29T00:00:00.000", "2024-02-29T23:59:59.999"),
        # Summer time began at midnight: the day's first hour did not exist.
        ("2018-11-04", "2018-11-04T01:00:00.000", "2018-11-04T23:59:59.999"),
    ],
)
def test_days_are_civil_days_in_brasilia(
    house: Service, who: Client, day: str, first: str, last: str
) -> None:
    """A day has its first and its last millisecond in Brasília, and none of its neighbours'."""
    outside = [charge(house, who, at(first) - 1, 100), charge(house, who, at(last) + 1, 1000)]
    charge(house, who, at(first), 1)
    charge(house, who, at(last), 10)
    answer = ok(house.get(f"{USAGE}?de={day}&ate={day}", who))
    assert (answer["de"], answer["ate"]) == (day, day)
    assert (answer["total_creditos"], answer["total_consultas"]) == (11, 2)
    assert rows(answer) == [(day, "sintegra", "teste", "online", 2, 11, None, None)]
    assert len(in_csv(house.get(f"{USAGE}?de={day}&ate={day}&formato=csv", who))) == 1
    date = datetime.date.fromisoformat(day)
    around = [date - datetime.timedelta(1), date, date + datetime.timedelta(1)]
    wide = ok(house.get(f"{USAGE}?de={around[0]}&ate={around[2]}", who))
    assert [row[0] for row in rows(wide)] == [each.isoformat() for each in around]
    assert [row[5] for row in rows(wide)] == [100, 11, 1000]
    assert len(outside) == 2


def test_the_default_period(house: Service, who: Client) -> None:
    """Thirty days to today, both included; one end alone moves the other."""
    before = datetime.datetime.now(BRASILIA).date()
    answer = ok(house.get(USAGE, who))
    later = datetime.datetime.now(BRASILIA).date()
    last = datetime.date.fromisoformat(answer["ate"])
    assert before <= last <= later
    assert answer["de"] == (last - datetime.timedelta(29)).isoformat()
    only_end = ok(house.get(f"{USAGE}?ate=2026-01-31", who))
    assert (only_end["de"], only_end["ate"]) == ("2026-01-02", "2026-01-31")
    assert ok(house.get(f"{USAGE}?de={answer['ate']}&ate=", who))["de"] == answer["ate"]
    longest = ok(house.get(f"{USAGE}?de=2024-01-01&ate=2024-12-31", who))
    assert (longest["de"], longest["ate"]) == ("2024-01-01", "2024-12-31")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("de=ontem", "PARAMETRO_INVALIDO"),
        ("de=20260101", "PARAMETRO_INVALIDO"),
        ("de=2026-1-1", "PARAMETRO_INVALIDO"),
        ("de=2026-02-30", "PARAMETRO_INVALIDO"),
        ("ate=2026-13-01", "PARAMETRO_INVALIDO"),
        ("ate=2026-01-01T00:00", "PARAMETRO_INVALIDO"),
        ("ate=%D9%A2%D9%A0%D9%A2%D9%A6-01-01", "PARAMETRO_INVALIDO"),
        ("de=0000-01-01", "PARAMETRO_INVALIDO"),
        ("de=9999-12-31", "PARAMETRO_INVALIDO"),
        ("ate=9999-12-31", "PARAMETRO_INVALIDO"),
        ("ate=0001-01-01", "PARAMETRO_INVALIDO"),
        ("de=2026-02-01&ate=2026-01-31", "PARAMETRO_INVALIDO"),
        ("de=2024-01-01&ate=2025-01-01", "PARAMETRO_INVALIDO"),
        ("formato=xml", "PARAMETRO_INVALIDO"),
        ("de=2026-01-01&de=2026-01-01", "PARAMETRO_REPETIDO"),
        ("formato=csv&formato=json", "PARAMETRO_REPETIDO"),
    ],
)
def test_invalid_parameters(house: Service, query: str, code: str) -> None:
    """A day that is none, a period without days or of more than 366, another format: 400."""
    assert_refused(house.get(f"{USAGE}?{query}"), 400, code)


def test_unknown_parameters_are_ignored(house: Service, who: Client) -> None:
    """As everywhere (contract 2.6)."""
    assert ok(house.get(f"{USAGE}?pagina=2&x=1&x=2", who))["linhas"] == []


def test_a_key_s_name_is_no_formula(house: Service, who: Client) -> None:
    """Names of keys come whole in JSON and cannot run in a spreadsheet."""
    for name in ("=1+1", 'a;"b', "@x"):
        charge(house, another_key(house, who, name), at("2026-03-10T12:00:00"))
    query = "de=2026-03-10&ate=2026-03-10"
    names = sorted(row[2] for row in rows(ok(house.get(f"{USAGE}?{query}", who))))
    assert names == ["=1+1", "@x", 'a;"b']
    lines = in_csv(house.get(f"{USAGE}?{query}&formato=csv", who))
    assert sorted(line[2] for line in lines) == ["'=1+1", "'@x", 'a;"b']


# Operations


FEDERAL_ONLINE = ("federal_certificate/online", "certidão federal: 2 por resultado da fonte")


@pytest.mark.parametrize(
    ("paths", "price", "rule"),
    [
        ([federal_of(CNPJ, "cache_strategy=SO_ONLINE")], (2, "online"), FEDERAL_ONLINE),
        (
            [federal_of(CNPJ), federal_of(CNPJ)],
            (1, "cache"),
            ("federal_certificate/cache", "certidão federal: 1 por resultado do cache"),
        ),
        (
            [federal_of("90010003000107", "cache_strategy=SO_ONLINE")],
            (2, "online"),
            FEDERAL_ONLINE,
        ),
        (
            [state_of("90010003000107")],
            (2, "online"),
            ("state_certificate/online", "certidão estadual: 2 por consulta à fonte"),
        ),
        (
            [sintegra(CNPJ, "uf=BR&endereco=true")],
            (28, "online"),
            (
                "state_registration/uf+addresses",
                "sintegra: 1 por UF respondida + 1 por endereco",
            ),
        ),
        (
            [company(CNPJ)],
            (1, "online"),
            ("company/lookup", "cnpj-receita-federal: 1 por consulta concluída"),
        ),
    ],
)
def test_a_charged_operation(
    house: Service,
    who: Client,
    paths: Sequence[str],
    price: tuple[int, str],
    rule: tuple[str, str],
) -> None:
    """State, price, rule, key and instant are those of the entry."""
    *before, path = paths
    credits, origin = price
    for each in before:
        house.get(each, who)
    answer = house.get(path, who)
    assert answer.credits == credits
    body = operation(house, answer.json["request_id"], who)
    entry = next(e for e in house.charges(who) if e.request_id == answer.json["request_id"])
    assert (body["estado"], body["creditos"], body["creditos_reservados"]) == (
        "cobrada",
        credits,
        0,
    )
    assert (body["regra_codigo"], body["regra"]) == rule
    assert entry.rule == rule[0]
    assert body["origem"] == entry.origin == origin
    assert body["operacao"] == entry.operation == path.split("/")[3].partition("?")[0]
    assert body["chave"] == "teste"
    begun, ended = (
        datetime.datetime.fromisoformat(body[name]) for name in ("iniciada_em", "concluida_em")
    )
    assert begun.utcoffset() == datetime.timedelta(hours=-3)
    assert begun <= ended
    assert body["request_id"] != body["operacao_id"]


def test_a_rule_of_a_newer_version_is_shown_as_it_is(house: Service, who: Client) -> None:
    answer = operation(house, charge(house, who, system_now_ms()), who)
    assert (answer["regra"], answer["regra_codigo"]) == ("regra", "regra")


@pytest.mark.parametrize("path", [federal_of("90020003000180"), federal_of("90020001000190")])
def test_a_failed_operation_cost_nothing(house: Service, who: Client, path: str) -> None:
    """A source that failed during a hold: not charged, and nothing held."""
    answer = house.get(path, who)
    assert answer.credits == 0
    body = operation(house, answer.json["request_id"], who)
    assert (body["estado"], body["creditos"], body["creditos_reservados"]) == ("nao_cobrada", 0, 0)
    assert (body["regra"], body["regra_codigo"]) == ("erro", "error")
    assert body["concluida_em"] is not None


def test_a_replay_is_the_first_operation(house: Service, who: Client) -> None:
    """A replay has the request_id of the execution, which was charged once."""
    first, again = (
        house.get(federal_of(CNPJ), who, idempotency_key="pedido-0001") for _ in range(2)
    )
    assert again.json["request_id"] == first.json["request_id"]
    body = operation(house, first.json["request_id"], who)
    assert (body["estado"], body["creditos"]) == ("cobrada", first.credits)
    assert len(house.charges(who)) == 1


INFOSIMPLES = InfosimplesSettings(
    url=f"{PROVIDERS}/infosimples", token=SecretStr("chave"), receipt_origins=(PROVIDERS,)
)


def test_a_running_operation(tmp_path: Path) -> None:
    """While a source is asked: running, with its credits held; then charged."""
    wire = Wire()
    with open_service(tmp_path, mode="live", transport=wire, infosimples=INFOSIMPLES) as house:
        ids: list[str] = []
        new_id = house.front.new_id

        def remembered(at_ms: int | None = None) -> str:
            ids.append(new_id(at_ms))
            return ids[-1]

        house.front.new_id = remembered

        async def scenario() -> None:
            wire.hold()
            lookup = asyncio.create_task(house.aget(federal_of(CNPJ)))
            await house.until(lambda: bool(wire.sent))
            request_id = ids[0]
            running = ok(await house.aget(OPERATIONS + request_id))
            assert running["estado"] == "em_andamento"
            assert (running["creditos"], running["creditos_reservados"]) == (0, 2)
            assert running["regra"] is running["regra_codigo"] is running["concluida_em"] is None
            balance = ok(await house.aget(BALANCE))
            assert balance["saldo_creditos"] == CREDITS
            assert balance["creditos_reservados"] == 2
            assert balance["creditos_disponiveis"] == CREDITS - 2
            assert ok(await house.aget(USAGE))["total_creditos"] == 0
            wire.release()
            answer = await lookup
            assert answer.json["request_id"] == request_id
            done = ok(await house.aget(OPERATIONS + request_id))
            assert (done["estado"], done["creditos"]) == ("cobrada", 2)
            assert done["creditos_reservados"] == 0

        house.run(scenario())
        house.assert_books_agree()


def test_operations_that_are_not_found(house: Service, who: Client) -> None:
    """Unknown, another account's, refused and invalid numbers are all 404."""
    theirs = house.get(federal_of(CNPJ)).json["request_id"]
    refused = house.get(federal_of("1"), who).json["request_id"]
    page = house.get(BALANCE, who).json["request_id"]
    texts = set()
    for number in (theirs, refused, page, str(uuid.uuid4()), "x", "", "1" * 500, f"{theirs}/x"):
        answer = house.get(OPERATIONS + number, who)
        assert_unknown(answer)
        texts.add(answer.json["message"])
    assert len(texts) == 1


def test_a_refusal_for_lack_of_credits_is_no_operation(house: Service) -> None:
    """A 402 held nothing, so there is no operation."""
    poor = house.account("um-so", credits=1)
    answer = house.get(federal_of(CNPJ, "cache_strategy=SO_ONLINE"), poor)
    assert (answer.status, answer.code) == (402, "SALDO_INSUFICIENTE")
    assert_unknown(house.get(OPERATIONS + answer.json["request_id"], poor))


def test_operations_are_found_for_90_days(house: Service, who: Client) -> None:
    """Up to 90 days old they are found, later not; the consumption still has them."""
    now_ms = system_now_ms()
    house.desk.commit_now([TopUp(who.account_id, 1, "teste", now_ms)])
    young = charge(house, who, now_ms - 89 * DAY_MS)
    old = charge(house, who, now_ms - 90 * DAY_MS - 1)
    assert operation(house, young, who)["estado"] == "cobrada"
    assert_unknown(house.get(OPERATIONS + old, who))
    day = datetime.datetime.fromtimestamp((now_ms - 90 * DAY_MS - 1) / 1000, BRASILIA).date()
    assert ok(house.get(f"{USAGE}?de={day}&ate={day}", who))["total_creditos"] == 1


def test_all_operations_add_up(house: Service, who: Client) -> None:
    """The charges of single operations are those of the consumption and of the ledger."""
    paths = [
        federal_of(CNPJ),
        federal_of(CNPJ),
        state_of(CNPJ),
        federal_of("90020003000180"),
        company(),
    ]
    ids = [house.get(path, who).json["request_id"] for path in paths]
    body = sum(operation(house, each, who)["creditos"] for each in ids)
    assert body == ok(house.get(USAGE, who))["total_creditos"] == CREDITS - house.money(who)[0]
