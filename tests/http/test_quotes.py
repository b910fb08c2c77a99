"""Quotes: `/cotacoes/v2/` and `X-Creditos-Maximos` (contract 10.1, 10.2).

The main promise: with nothing changed in between, the charge is within the quote, and equals an
exact quote.
"""

import os
import random
from collections.abc import Callable
from urllib.parse import urlsplit

from balcao.core.calendar import civil_day
from balcao.core.check_digits import cpf_check_digits
from balcao.operations import OPERATIONS
from balcao.storage.people import TraceFilter
from tests.lookups import Sample, every
from tests.records import (
    BIRTH,
    CNPJ,
    CPF,
    NOW_MS,
    OTHER_CNPJ,
    a_company,
    a_federal,
    a_registration,
    a_state,
    a_zone_record,
    company,
    federal,
    producer,
    registrations,
    sintegra,
    state,
    suframa,
)
from tests.service import Client, Reply, Service

NEVER = "cache_strategy=SO_CACHE"
ALL_TRACES = TraceFilter(0, NOW_MS + 1)


def quoted(path: str) -> str:
    """Return the path of a lookup's quote."""
    return path.replace("/consultas/v2/", "/cotacoes/v2/", 1)


def said(reply: Reply) -> tuple[int, int, str]:
    """Return the essence of a quote."""
    assert reply.status == 200, reply.body
    assert reply.json["exato"] is (reply.json["creditos_min"] == reply.json["creditos_max"])
    return reply.json["creditos_min"], reply.json["creditos_max"], reply.json["caminho"]


@every
def test_a_quote_has_no_other_effect(world: Service, of: Sample) -> None:
    reply = world.get(quoted(of.path))

    way = "misto" if of.inquiry.document.text == CPF else "fonte"
    assert said(reply) == (0, of.price, way)
    assert reply.credits == 0
    assert [*reply.json][:3] == ["request_id", "success", "error"]
    assert reply.json["request_id"] == reply.headers["x-request-id"]
    assert "ratelimit" in reply.headers
    assert reply.json["operacao"] == urlsplit(of.path).path.split("/")[3]
    assert reply.json["saldo_apos_maximo"] == 1000 - reply.json["creditos_max"]
    assert (reply.json["regra"], reply.json["recusa"], reply.json["tetos"]) == (None, None, [])
    assert reply.json["fontes"] == [{"nome": "fonte", "estado": "desconhecida"}]
    assert reply.json["cotado_em"] == "2026-08-05T12:00:00.000-03:00"
    assert world.source.asked == 0
    assert world.balance().balance_credits == 1000
    traces = world.desk.people.traces(world.client.account_id, ALL_TRACES, 10)
    assert traces == []
    assert not world.charges()


@every
def test_cached_answers_have_exact_quotes(world: Service, of: Sample) -> None:
    if of.inquiry.document.text == CPF:
        world.get(of.path)  # else there would be no status
        world.clock.advance(days=3)
    else:
        of.keep(world, days=3)
    reply = world.get(quoted(of.cached))

    assert said(reply) == (1, 1, "cache")
    assert reply.json["idade_dias"] == 3
    assert reply.json["regra"] is not None
    certificate = {
        "federal_certificate": "2026-12-17",
        "state_certificate": "2026-10-04",
        "labour_certificate": "2027-02-01",
        "fgts_regularity": "2026-08-30",
    }
    assert reply.json["valida_ate"] == certificate.get(of.inquiry.subject)
    charged = world.get(of.cached)
    assert charged.credits == 1
    assert world.charges()[-1].rule in {code for each in OPERATIONS.values() for code in each.rules}


def test_partly_cached_answers(world: Service) -> None:
    """Two of 27 UFs are cached: those are charged even if the rest fails."""
    for uf in ("SP", "RJ"):
        world.keep(registrations(CNPJ, uf))
    path = sintegra(query="uf=BR&cache_strategy=CACHE_SE_EXISTIR")
    assert said(world.get(quoted(path))) == (0, 27, "misto")
    world.keep(registrations(CNPJ, "SP", a_registration()))
    assert said(world.get(quoted(path))) == (2, 27, "misto")
    world.source.fails()
    assert world.get(path).credits == 2


def test_the_code_that_the_lookup_would_get(world: Service) -> None:
    poor = world.account("eva", credits=1)

    def refusal(path: str, by: Client | None = None, **headers: str) -> tuple[str | None, str]:
        """Return the refusal, as quoted and as answered."""
        by = by or world.client
        quote = world.get(quoted(path), by, **headers)
        return quote.json["recusa"], world.get(path, by, **headers).code or ""

    assert refusal(federal(f"cnpj={CNPJ}&{NEVER}")) == ("SEM_RESULTADO_EM_CACHE",) * 2
    assert refusal(federal(), poor) == ("SALDO_INSUFICIENTE",) * 2
    assert refusal(federal(), x_creditos_maximos="1") == ("TETO_DA_REQUISICAO",) * 2
    assert world.source.asked == 0


@every
def test_a_lookup_without_a_source_is_quoted_as_refused(world: Service, of: Sample) -> None:
    world.source.serves_it = False
    quote, lookup = world.get(quoted(of.path)), world.get(of.path)
    assert lookup.code == "SERVICO_INDISPONIVEL"
    body = quote.json
    if of.inquiry.document.text == CPF:  # else it would reveal the cache
        assert (*said(quote), body["recusa"]) == (0, of.price, "misto", None)
    else:
        assert (*said(quote), body["recusa"]) == (0, of.price, "fonte", lookup.code)
    assert body["fontes"] == []


def test_an_unknown_uf_without_a_source_is_quoted_as_refused(world: Service) -> None:
    world.source.serves_it = False
    quote = world.get(quoted(sintegra(query="")))
    assert quote.json["recusa"] == world.get(sintegra(query="")).code == "UF_OBRIGATORIA"


def test_one_uf_with_a_source_is_enough(world: Service) -> None:
    world.source.serves = lambda inquiry: inquiry.uf == "SP"  # type: ignore[method-assign]
    path = sintegra(query="uf=BR")
    quote = world.get(quoted(path))
    assert (said(quote), quote.json["recusa"]) == ((0, 27, "fonte"), None)
    assert world.source.asked == 0
    assert world.get(path).credits == 1


def test_a_cached_answer_replaces_a_missing_source(world: Service) -> None:
    world.source.serves_it = False
    world.keep(registrations(CNPJ, "SP", a_registration()))
    path = sintegra(query="uf=SP&error_fallback=true&cache_strategy=SO_ONLINE")
    quote = world.get(quoted(path))
    assert (said(quote), quote.json["recusa"]) == ((0, 1, "fonte"), None)
    assert world.get(path).credits == 1


def test_invalid_requests_are_answered_as_the_lookups_are(world: Service) -> None:
    free = world.account("ivo", plan="gratuito", credits=5)
    for path, by, status, code in (
        (company("123"), world.client, 400, "CNPJ_INVALIDO"),
        (company(query="optin=1"), world.client, 403, "OPTIN_NAO_HABILITADO"),
        (company(query="creditos_maximos=muito"), world.client, 400, "PARAMETRO_INVALIDO"),
        (producer(query=""), world.client, 400, "UF_OBRIGATORIA"),
        (federal(), free, 403, "CND_POS_PAGO_NAO_HABILITADO"),
        (federal(), None, 401, "API_KEY_INVALIDA"),
        (company(""), world.client, 404, "ROTA_NAO_ENCONTRADA"),
    ):
        quote, lookup = world.get(quoted(path), by), world.get(path, by)
        assert (quote.status, quote.code) == (lookup.status, lookup.code) == (status, code), path
        quote.json.pop("request_id")
        assert {**quote.json, "request_id": ""} == {**lookup.json, "request_id": ""}


def test_a_quote_counts_against_the_limits(world: Service) -> None:
    client = world.another_key(world.client, per_minute=2)
    statuses = [world.get(quoted(company()), client).status for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_status_of_the_sources(world: Service) -> None:
    for standing, word in (
        ("ok", "respondendo"),
        ("degraded", "instavel"),
        ("down", "parada"),
        ("quiet", "desconhecida"),
    ):
        world.standing = standing  # type: ignore[assignment]
        assert world.get(quoted(company())).json["fontes"] == [{"nome": "fonte", "estado": word}]


def test_the_accounts_own_ceiling(world: Service) -> None:
    client = world.account("rui", plan="pos_pago", ceiling_credits=10, credits=0)
    world.get(company(), client)
    reply = world.get(quoted(company(OTHER_CNPJ)), client)
    assert reply.json["saldo_apos_maximo"] == 8
    assert reply.json["tetos"] == [
        {
            "de": "conta",
            "teto": 10,
            "usado": 1,
            "reservado": 0,
            "resta": 9,
            "volta_em": "2026-09-01T00:00:00.000-03:00",
        }
    ]
    unlimited = world.account("rei", plan="pos_pago", credits=0)
    assert world.get(quoted(company()), unlimited).json["saldo_apos_maximo"] is None


def test_quotes_do_not_reveal_lookups_of_others_about_a_person(world: Service) -> None:
    """Every field is independent of the cache, except for callers who asked before."""
    other = world.account("oto", credits=10, certificates=True)
    birth = BIRTH.replace("-", "")
    for path in (
        producer(query="uf=SP&cache_strategy=CACHE_SE_EXISTIR"),
        federal(f"cpf={CPF}&data_nascimento={birth}"),
        federal(f"cpf={CPF}&data_nascimento={birth}&{NEVER}"),
    ):
        before = world.get(quoted(path)).json
        assert world.get(path.replace(NEVER, ""), other).status == 200
        after = world.get(quoted(path)).json
        assert {**before, "request_id": ""} == {**after, "request_id": ""}
        assert (after["idade_dias"], after["creditos_min"], after["caminho"]) == (None, 0, "misto")
        assert said(world.get(quoted(path), other))[:2] == (1, 1)


# X-Creditos-Maximos


@every
def test_a_lookup_never_costs_more_than_its_maximum(world: Service, of: Sample) -> None:
    needed = said(world.get(quoted(of.path)))[1]
    refused = world.get(of.path, x_creditos_maximos=str(needed - 1), idempotency_key="pedido-0001")
    assert (refused.status, refused.code, refused.credits) == (402, "TETO_DA_REQUISICAO", 0)
    assert refused.json["creditos_necessarios"] == needed
    assert refused.json["creditos_maximos"] == needed - 1
    assert world.source.asked == 0
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)

    # The key was not taken, and the ceiling is no part of the request that it names.
    answer = world.get(of.path, x_creditos_maximos=str(needed), idempotency_key="pedido-0001")
    assert (answer.status, answer.credits) == (200, of.price)
    again = world.get(of.path, x_creditos_maximos="0", idempotency_key="pedido-0001")
    assert (again.status, again.credits, again.headers["idempotent-replayed"]) == (200, 0, "true")


def test_one_credit_is_enough_for_a_cached_certificate(world: Service) -> None:
    world.keep(a_federal())
    assert world.get(federal(), x_creditos_maximos="1").credits == 1
    assert world.get(federal(), x_creditos_maximos="0").code == "TETO_DA_REQUISICAO"


def test_the_query_takes_precedence_over_the_header(world: Service) -> None:
    path = company(query="creditos_maximos=1")
    assert world.get(path, x_creditos_maximos="0").status == 200
    assert world.get(company(query="creditos_maximos=0"), x_creditos_maximos="1").status == 402
    twice = world.get(company(query="creditos_maximos=1&creditos_maximos=1"))
    assert twice.code == "PARAMETRO_REPETIDO"
    for wrong in ("", "-1", "1.5", "10000", "um"):
        assert world.get(company(), x_creditos_maximos=wrong).code == "PARAMETRO_INVALIDO", wrong
    preflight = world.request("OPTIONS", company(), None)
    assert "x-creditos-maximos" in preflight.headers["access-control-allow-headers"]


# The property


# 10,000 of them were made for the figure in the changelog; each costs a commit or two.
CASES = int(os.environ.get("BALCAO_TEST_QUOTES", "2000"))
PEOPLE = [base + cpf_check_digits(base) for base in map(str, range(900_100_000, 900_100_400))]


def _paths(chance: random.Random) -> str:
    cnpj, cpf = chance.choice((CNPJ, OTHER_CNPJ)), chance.choice(PEOPLE)
    strategy = chance.choice(
        ("CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL")
    )
    by_age = f"cache_strategy={strategy}&cache={chance.choice((0, 1, 7, 365))}"
    more = chance.choice(("", "&endereco=true", "&error_fallback=true"))
    birth = chance.choice(("19800101", "19800102"))
    of_certificate = chance.choice((strategy, "SO_CACHE"))
    who = chance.choice((f"cnpj={cnpj}", f"cpf={cpf}&data_nascimento={birth}"))
    nova = chance.choice(("", "", "&preferencia_emissao=nova"))
    return chance.choice(
        (
            company(cnpj, by_age),
            sintegra(cnpj, f"{by_age}{more}&uf={chance.choice(('SP', 'RJ', '', 'BR'))}"),
            producer(cpf, f"{by_age}{more}&uf={chance.choice(('SP', 'MG'))}"),
            suframa(cnpj, f"cache={chance.choice((0, 25, 45))}"),
            federal(f"{who}&cache_strategy={of_certificate}{nova}"),
            state(cnpj, f"uf={chance.choice(('SP', 'RJ'))}&atualizar_online={chance.choice('01')}"),
        )
    )


def _something_changes(world: Service, chance: random.Random) -> None:
    source = world.source
    ways: list[Callable[[], None]] = [
        source.finds,
        source.finds,
        source.finds,
        source.fails,
        source.is_down,
        source.says_absent,
        lambda: setattr(source, "serves_it", chance.random() < 0.6),
        lambda: source.fails_in("RJ", "MG"),
        lambda: world.clock.advance(days=chance.choice((0.01, 1, 30))),
        lambda: world.keep(a_company(chance.choice((CNPJ, OTHER_CNPJ))), days=chance.random() * 9),
        lambda: world.keep(a_zone_record(), days=chance.random() * 50),
        lambda: world.keep(a_federal(validity=str(civil_day(world.clock() + 30 * 86_400_000)))),
        lambda: world.keep(a_state(validity=str(civil_day(world.clock() + 20 * 86_400_000)))),
        lambda: world.keep(registrations(CNPJ, "RJ", com_endereco=chance.random() < 0.5)),
    ]
    chance.choice(ways)()


def _is_about_a_person(path: str) -> bool:
    return "produtor-rural" in path or "cpf=" in path


def test_the_charge_is_within_the_quote(world: Service) -> None:
    """Random requests, quoted and then made, by two accounts in a changing world."""
    chance, source = random.Random(20261122), world.source
    world.top_up(world.client, 1_000_000)
    clients = [world.client, world.account("bia", credits=1_000_000)]
    exact = charged = refused = 0
    for _ in range(CASES):
        if chance.random() < 0.3:
            _something_changes(world, chance)
        path, by = _paths(chance), chance.choice(clients)
        headers = {"x_creditos_maximos": "1"} if chance.random() < 0.1 else {}
        quote, asked = world.get(quoted(path), by, **headers), source.asked
        lookup = world.get(path, by, **headers)
        if quote.status != 200:
            assert (quote.status, quote.code) == (lookup.status, lookup.code)
            continue
        least, greatest, _ = said(quote)
        code = quote.json["recusa"]
        if code is not None:
            assert lookup.code == code, (path, headers)
            assert lookup.credits == 0
            refused += 1
        elif lookup.code == "TETO_DA_REQUISICAO":
            assert _is_about_a_person(path)  # about an unknown person
            assert lookup.credits == 0
        else:
            assert least <= lookup.credits <= greatest, (path, quote.json, lookup.body)
            body = source.asked > asked or lookup.code is None or lookup.credits
            assert body or _is_about_a_person(path), (path, quote.json, lookup.body)
            assert not quote.json["exato"] or lookup.credits == least
        exact += quote.json["exato"]
        charged += lookup.credits > 0
    assert min(exact, charged, refused) > CASES // 50, "what is random must happen"
    assert not world.check().complaints
