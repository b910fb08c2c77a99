"""The page that explains one request, for every way that a request can go."""

import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from msgspec.structs import replace

from balcao.core.documents import Cpf
from balcao.core.ledger import Charge, Hold, Settle, Trace
from balcao.core.questions import Strategy
from balcao.core.tariff import NOT_CHARGED
from balcao.operations import tariff
from balcao.operations.names import SHORT
from balcao.service.clock import system_now_ms
from balcao.storage.contract import Consultation
from balcao.web.kit.words import explaining, vocabulary
from balcao.web.kit.words.explaining import Explanation, RequestRecords, explain
from tests.records import company, federal_of, sintegra
from tests.service import Client, Reply, Service
from tests.web.browser import PageResponse, signed_in
from tests.web.lookups import a_trace

SOURCE = Path(__file__).parents[2] / "src" / "balcao"
CNPJ = "90010001000100"
POSITIVE = "90010003000107"  # CPD: concluded, charged, and yet no clearance
ONCE = "90020007000168"  # answers the first time, then fails
SOME_UFS = "90020008000102"  # in all UFs but three
BROKEN = "90020003000180"
ABSENT = "99999999000191"

NOW = 1_785_942_000_000
ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8"


# Every code has a text.


def test_every_operation_and_strategy_has_a_text() -> None:
    assert set(vocabulary.STRATEGIES) == set(Strategy)
    for code in set(tariff.RULES) - set(NOT_CHARGED):
        assert str(vocabulary.price_of(code)).startswith(tuple(SHORT.values())), code
    names = vocabulary.price_of("state_registration/uf+addresses")
    assert names == "Inscrições estaduais: 1 por UF respondida + 1 por endereço"
    assert vocabulary.price_of("simples/lookup") == "simples/lookup"  # of a newer version


def test_every_source_has_a_name() -> None:
    found = set()
    for file in SOURCE.joinpath("providers").rglob("*.py"):
        found |= set(re.findall(r'^ +name: str = "(\w+)"$', file.read_text("utf-8"), re.MULTILINE))
    assert len(found) >= 6
    assert found <= set(vocabulary.SOURCES)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("infosimples", "Infosimples"),
        ("cnpja,sefaz", "CNPJá; SEFAZ (Consulta Cadastro)"),
        ("cnpja,cnpja+sefaz(addresses)", "CNPJá; endereços: SEFAZ (Consulta Cadastro)"),
        ("alguém", "alguém"),
    ],
)
def test_sources_by_name(source: str, names: str) -> None:
    assert vocabulary.source_names(source) == names


# The pure function: a table of cases.


def test_templates_use_only_known_values() -> None:
    records = set(
        explaining._values(explaining.RequestFacts(RequestRecords(trace(), booked(), False, "ERP")))
    )
    for way in explaining._WAYS.values():
        templates = [
            way.summary,
            *(text for text, _, _ in way.steps),
            *(n for _, n, _ in way.steps),
        ]
        named = {field for each in templates for _, field, *_ in Formatter().parse(each) if field}
        assert named <= records


def trace(**fields: Any) -> Trace:
    times = {"opened_ms": NOW, "asked_ms": NOW + 400, "settled_ms": NOW + 1_200}
    return a_trace(request_id=ID, **(times | fields))


def booked(**fields: Any) -> Consultation:
    usual: dict[str, Any] = {
        "request_id": ID,
        "operation": "sintegra",
        "key_id": 1,
        "state": "charged",
        "held_credits": 0,
        "charged_credits": 1,
        "rule": "state_registration/uf",
        "origin": "online",
        "opened_ms": NOW,
        "settled_ms": NOW + 1_200,
    }
    return Consultation(**(usual | fields))


FREE = booked(state="free", charged_credits=0, rule="error", origin=None)
FAILED = trace(
    status=503, code="SERVICO_INDISPONIVEL", origin=None, source=None, asked_ms=None, credits=0
)


REFUSED = replace(FAILED, status=402, code="SALDO_INSUFICIENTE", rule="refused")
ABSENT_HERE = replace(FAILED, status=404, code="CNPJ_NAO_ENCONTRADO", rule="error")
FROM_CACHE = booked(origin="cache")
OWN_COPY = trace(operation="cnpj-receita-federal", source="snapshot")
BR: dict[str, Any] = {"credits": 25, "rule": "state_registration/uf+addresses"}
NO_CLEARANCE = trace(
    operation="certidao-negativa-de-debitos-federal", status=404, credits=2, source="infosimples"
)
RUNNING = booked(state="running", charged_credits=0, held_credits=2, settled_ms=None, rule=None)


def seen(
    of: Trace | None, in_books: Consultation | None = None, *ufs: tuple[str, str]
) -> RequestRecords:
    """Return a request with a hold, made with a key."""
    return RequestRecords(of, in_books, False, "ERP", ufs)


@pytest.mark.parametrize(
    ("records", "summary", "steps"),
    [
        pytest.param(
            seen(trace(), booked()),
            "A consulta foi respondida pela fonte, na hora (SEFAZ (Consulta Cadastro))."
            " Custou 1 crédito.",
            "Créditos reservados / A fonte respondeu / Cobrança: 1 crédito",
            id="online",
        ),
        pytest.param(
            RequestRecords(trace(origin="cache", asked_ms=NOW), FROM_CACHE, True, "ERP"),
            "A consulta foi respondida com um resultado guardado, obtido da fonte em 05/08/2026"
            " às 12:00, sem nova consulta à fonte. Custou 1 crédito.",
            "Resposta com um resultado guardado / Cobrança: 1 crédito",
            id="cache",
        ),
        pytest.param(
            seen(trace(origin="cache", asked_ms=NOW), FROM_CACHE),
            "A consulta foi respondida com um resultado guardado (obtido da fonte em 05/08/2026"
            " às 12:00), porque a fonte não deu um resultado. Custou 1 crédito.",
            "Créditos reservados / Fonte consultada, sem resultado / Resposta com um resultado"
            " guardado / Cobrança: 1 crédito",
            id="fallback",
        ),
        pytest.param(
            seen(
                trace(origin="cache", asked_ms=NOW + 5, strategy="CACHE_PREFERENCIAL"), FROM_CACHE
            ),
            "A consulta foi respondida com o resultado que outra consulta igual acabava de obter"
            " da fonte. Custou 1 crédito.",
            "Créditos reservados / Resultado recém-obtido por outra consulta / Cobrança: 1 crédito",
            id="meanwhile",
        ),
        pytest.param(
            seen(
                trace(
                    origin="cache",
                    document=Cpf("90010000100").masked,
                    asked_ms=NOW - 86_400_000,
                    strategy="CACHE_PREFERENCIAL",
                ),
                FROM_CACHE,
            ),
            "A consulta foi respondida com um resultado guardado, obtido da fonte em 04/08/2026"
            " às 12:00, sem nova consulta à fonte. Custou 1 crédito.",
            "Créditos reservados / Resposta com um resultado guardado / Cobrança: 1 crédito",
            id="the first about a person",
        ),
        pytest.param(
            RequestRecords(OWN_COPY, booked(), True, "ERP"),
            "A consulta foi respondida com a nossa cópia do mês (de 05/08/2026), sem consultar"
            " outra fonte. Custou 1 crédito.",
            "Resposta da nossa cópia do mês / Cobrança: 1 crédito",
            id="our own copy",
        ),
        pytest.param(
            seen(FAILED, FREE),
            "Não houve resultado (indisponível). Nada foi cobrado.",
            "Créditos reservados / Fonte consultada, sem resultado / Reserva liberada: nada foi"
            " cobrado",
            id="failed",
        ),
        pytest.param(
            seen(REFUSED),
            "A consulta foi recusada: créditos insuficientes. Nada foi cobrado.",
            "Recusada: créditos insuficientes",
            id="refused",
        ),
        pytest.param(
            seen(ABSENT_HERE),
            "A consulta terminou sem resultado: CNPJ não encontrado. Nada foi cobrado.",
            "CNPJ não encontrado / Nada foi cobrado",
            id="absent, by our own copy",
        ),
        pytest.param(
            seen(trace(uf="BR", **BR), booked(charged_credits=25, rule=BR["rule"])),
            "24 UFs responderam pela fonte, na hora (SEFAZ (Consulta Cadastro))."
            " Custou 25 créditos.",
            "Créditos reservados / A fonte respondeu / Cobrança: 25 créditos",
            id="BR",
        ),
        pytest.param(
            seen(NO_CLEARANCE, booked(charged_credits=2, rule="federal_certificate/online")),
            "A consulta foi concluída com o resultado “Nem CND nem CPEND” pela fonte, na hora"
            " (Infosimples). Custou 2 créditos.",
            "Créditos reservados / A fonte respondeu / Cobrança: 2 créditos",
            id="functional negative",
        ),
        pytest.param(
            seen(None, RUNNING),
            "A consulta ainda está em andamento. A cobrança é definida no fim.",
            "Créditos reservados / Aguardando a fonte",
            id="running",
        ),
        pytest.param(
            seen(None, booked(state="free", charged_credits=0, rule="interrupted", origin=None)),
            "O serviço parou no meio da consulta e a reserva foi liberada. Nada foi cobrado.",
            "Créditos reservados / O serviço parou e voltou / Reserva liberada: nada foi cobrado",
            id="interrupted",
        ),
        pytest.param(
            seen(None, booked()),
            "A consulta foi respondida pela fonte, na hora. Custou 1 crédito.",
            "Créditos reservados / A fonte respondeu / Cobrança: 1 crédito",
            id="from the ledger alone",
        ),
    ],
)
def test_explanations(records: RequestRecords, summary: str, steps: str) -> None:
    explanation = explain(records)
    assert explanation.summary == summary
    assert " / ".join(step.text for step in explanation.steps) == f"Consulta recebida / {steps}"
    assert (explanation.facts.trace is None) is (records.trace is None)
    lines = sum(int(credits) for _, credits in explanation.charge)
    assert lines == explanation.facts.credits  # the listed lines add up to the charge


def test_the_ledger_s_price_counts() -> None:
    """If trace and ledger disagree on the price, the ledger's counts."""
    explanation = explain(seen(trace(credits=7), booked(charged_credits=2)))
    assert explanation.facts.credits == 2
    assert "Custou 2 créditos." in explanation.summary


def test_a_bypassed_cache_is_shown() -> None:
    def passed(explanation: Explanation) -> Any:
        return dict(explanation.path)["Ignorou o resultado guardado"]

    assert passed(explain(seen(trace(refresh=True), booked()))).startswith("sim, a pedido")
    assert passed(explain(seen(trace(), booked()))) == "não"


# The page, over the real service.


def page(house: Service, answer: Reply, by: Client, role: Any = "manager") -> PageResponse:
    """Return the page of a request, once it is recorded."""
    number = answer.json["request_id"]
    people = house.desk.people
    house.run(house.until(lambda: people.trace(by.account_id, number) is not None))
    return signed_in(house, by, role).get(f"/app/historico/{number}")


def facts(response: PageResponse) -> Mapping[str, str]:
    """Return the names and values of the list "path"."""
    pairs = response.tree.xpath("//dl[@class='definition']/div")
    return {pair.findtext("dt"): pair.findtext("dd") for pair in pairs}


def test_online_then_cache(house: Service) -> None:
    who = house.account("duas")
    online = page(house, house.get(federal_of(CNPJ), who), who)
    assert online.status == 200
    assert "pela fonte, na hora (Infosimples). Custou 2 créditos." in online.words
    assert "2 créditos por consulta à fonte" in online.words
    rule = "Regra: “certidão federal: 2 por resultado da fonte”. No livro-razão:"
    assert f"{rule} federal_certificate/online." in online.words
    assert facts(online)["Origem da resposta"] == "fonte, na hora"
    cached = page(house, house.get(federal_of(CNPJ), who), who)
    assert "sem nova consulta à fonte. Custou 1 crédito." in cached.words
    assert "Créditos reservados" not in cached.words
    assert facts(cached)["Origem da resposta"] == "guardado"


def test_a_fallback(house: Service) -> None:
    who = house.account("reserva")
    assert house.get(sintegra(ONCE), who).status == 200
    again = house.get(sintegra(ONCE), who)
    assert (again.status, again.json["is_cache"]) == (200, True)
    response = page(house, again, who)
    assert "porque a fonte não deu um resultado. Custou 1 crédito." in response.words
    assert facts(response)["Origem da resposta"].startswith("resultado guardado, porque")


def test_times_are_counted_from_the_first_line() -> None:
    explanation = explain(seen(trace(), booked(opened_ms=NOW + 12)))
    assert [step.at for step in explanation.steps] == ["12:00:00", "+12 ms", "+1,2 s", "+1,2 s"]


def test_ufs_of_a_recorded_answer() -> None:
    """While the answer is recorded, each UF is listed."""
    ufs = [("SP", "online"), ("MG", "cache"), ("BA", "indisponivel")]
    br = trace(uf="BR", credits=2)
    explanation = explain(seen(br, booked(charged_credits=2), *ufs))
    assert explanation.summary.endswith("BA não respondeu e não foi cobrada. Custou 2 créditos.")
    assert [step.text for step in explanation.steps][2:-1] == [
        "A fonte respondeu",
        "1 UF com resultado guardado",
        "1 UF sem resposta",
    ]
    path = dict(explanation.path)
    assert path["UFs respondidas pela fonte"] == "1: SP"
    assert path["UFs com resultado guardado"] == "1: MG"
    assert path["UFs sem resposta"] == "1: BA"


def test_our_own_copy_has_a_day_and_no_hour() -> None:
    path = dict(explain(RequestRecords(OWN_COPY, booked(), True, "ERP")).path)
    assert path["Origem da resposta"] == "nossa cópia do mês"
    assert path["Dados de"] == "05/08/2026"
    assert "Fonte consultada em" not in path


def test_without_any_answer() -> None:
    def who(records: RequestRecords) -> Any:
        return dict(explain(records).path)["Quem respondeu"]

    assert who(seen(FAILED, FREE)) == "nenhuma fonte respondeu"
    assert who(seen(REFUSED)) == "nenhuma fonte foi consultada"
    assert who(seen(ABSENT_HERE)) == "não ficou registrado"


def test_the_strategy_is_in_small_print(house: Service) -> None:
    response = page(house, house.get(federal_of(CNPJ), house.client), house.client)
    assert "CACHE" not in facts(response)["Prioridade"]
    assert "cache_strategy=" in response.tree.xpath("//p[contains(@class, 'small')]/code/text()")[0]


def test_a_used_form_is_called_a_form() -> None:
    code = "IDEMPOTENCY_KEY_REUTILIZADA"
    used = trace(status=422, code=code, origin=None, key_id=None, user_id=1)
    assert vocabulary.outcome_of(used).text == "Formulário já usado"
    assert "Idempotency-Key" in vocabulary.outcome_of(replace(used, key_id=1)).text


def test_a_failure(house: Service) -> None:
    who = house.account("falha")
    response = page(house, house.get(sintegra(BROKEN), who), who)
    assert "Nada foi cobrado." in response.words
    assert "Reserva liberada" in response.words
    assert "ERRO_INTERNO" in response.words


def test_refusals_of_known_callers_are_explained(house: Service) -> None:
    poor = house.account("pobre", credits=0)
    response = page(house, house.get(company(CNPJ), poor), poor)
    assert "A consulta foi recusada: créditos insuficientes. Nada foi cobrado." in response.words
    response = page(house, house.get(federal_of(ABSENT, "cache_strategy=SO_CACHE"), house.client),
                house.client)  # fmt: skip
    assert "A consulta foi recusada: nada guardado." in response.words


def test_br(house: Service) -> None:
    who = house.account("todas")
    answer = house.get(sintegra(SOME_UFS, "uf=BR"), who)
    response = page(house, answer, who)
    assert answer.credits == 24
    assert "24 UFs responderam" in response.words
    assert "todas as UFs" in response.words
    assert "Custou 24 créditos." in response.words
    assert facts(response)["Origem da resposta"] == "fonte, na hora"
    assert "UFs sem resposta" not in facts(response)  # without a key, the answer is not recorded
    kept = house.get(sintegra(SOME_UFS, "uf=BR"), who, idempotency_key="todas-as-ufs")
    response = page(house, kept, who)
    assert "BA, MG e RS não responderam e não foram cobradas. Custou 24" in response.words
    assert facts(response)["UFs sem resposta"] == "3: BA, MG e RS"


def test_a_certificate_with_debts(house: Service) -> None:
    who = house.account("positiva")
    response = page(house, house.get(federal_of(POSITIVE), who), who)
    assert "CPD" in response.words
    assert "Custou 2 créditos." in response.words


def test_a_replay_is_the_first_request_again(house: Service) -> None:
    """One number, one charge, and a link to the result; never the key itself."""
    who = house.account("repetida")
    key = "minha-chave-de-repeticao"
    first = house.get(federal_of(CNPJ, "preferencia_emissao=nova"), who, idempotency_key=key)
    second = house.get(federal_of(CNPJ, "preferencia_emissao=nova"), who, idempotency_key=key)
    assert first.json["request_id"] == second.json["request_id"]
    response = page(house, second, who)
    assert "Custou 2 créditos." in response.words
    assert facts(response)["Ignorou o resultado guardado"].startswith("sim, a pedido")
    assert facts(response)["Repetição protegida"].startswith("sim: com a mesma Idempotency-Key")
    assert key not in response.text
    number = first.json["request_id"]
    assert f"/app/consultas/resultado/{number}" in response.tree.xpath("//a/@href")
    without = page(house, house.get(federal_of(CNPJ), who), who)
    assert facts(without)["Repetição protegida"].startswith("não:")
    assert not [a for a in without.tree.xpath("//a/@href") if "resultado" in a]


def test_a_request_without_a_trace(house: Service) -> None:
    """Older than the traces: still explained, also while it runs."""
    who, now = house.account("antiga"), system_now_ms()
    desk = house.desk
    rule = "suframa/lookup"
    at_once, held = f"{ID[:-1]}1", f"{ID[:-1]}2"
    charge = Charge(who.account_id, who.key_id, at_once, "suframa", 1, rule, "cache", now - 5)
    assert desk.commit_now([charge]) is None
    assert desk.commit_now([Hold(who.account_id, who.key_id, held, "suframa", 1, now)]) is None
    browser = signed_in(house, who)
    old = browser.get(f"/app/historico/{at_once}")
    assert "com um resultado guardado, sem nova consulta à fonte. Custou 1 crédito." in old.words
    assert "vêm do livro-razão" in old.words
    running = browser.get(f"/app/historico/{held}")
    assert "ainda está em andamento" in running.words
    assert "Reservados, por enquanto" in running.words
    assert desk.commit_now([Settle(who.account_id, held, 0, "error", None, now + 9)]) is None
    over = browser.get(f"/app/historico/{held}")
    assert "A consulta terminou sem um resultado cobrável. Nada foi cobrado." in over.words


def test_an_unknown_number_is_explained(house: Service) -> None:
    browser = signed_in(house)
    for number in (ID, "x" * 36, "nada"):
        response = browser.get(f"/app/historico/{number}")
        assert response.status == 404
        assert "Essas recusas não são cobradas nem registradas" in response.words
        assert all(status in response.words for status in ("(400)", "(401)", "(403)", "(429)"))


def test_another_accounts_request_is_unknown(house: Service) -> None:
    who, other = house.account("dona"), house.account("alheia")
    number = house.get(company(CNPJ), who).json["request_id"]
    browser = signed_in(house, other)
    assert browser.get(f"/app/historico/{number}").status == 404
    # A consultant sees only their own requests.
    browser.sign_in_as("consultant", who.account_id)
    assert browser.get(f"/app/historico/{number}").status == 404
    browser.sign_in_as("manager", who.account_id)
    assert browser.get(f"/app/historico/{number}").status == 200
    assert browser.get(f"/app/historico/{number.upper()}").status == 200


def test_operators_see_requests_of_every_account(house: Service) -> None:
    who = house.account("cliente-de-alguem")
    number = house.get(company(CNPJ), who).json["request_id"]
    browser = signed_in(house, role="operator")
    response = browser.get(f"/app/operador/requisicoes?id={number}")
    assert response.location == f"/app/operador/requisicoes/{number}"
    response = browser.get(response.location)
    assert response.status == 200
    assert "cliente-de-alguem" in response.words
    assert "Custou 1 crédito." in response.words
    assert browser.get(f"/app/operador/requisicoes/{ID}").status == 404
    assert browser.get("/app/operador/requisicoes/nada").status == 404
    assert browser.get("/app/operador/requisicoes").status == 200
    assert browser.get("/app/operador/requisicoes?id=nada").status == 422
