"""Input of lookups (specification, "Endpoints"; contract 2): what several share, and the company
registry's own. Other operations' input is tested in their own files.
"""

from collections.abc import Callable

import pytest

from balcao.core.access import KeyRestrictions
from tests.lookups import SAMPLES, Sample
from tests.records import CNPJ, a_company, company, sintegra, state, suframa
from tests.service import Client, Service

of_a_cnpj = pytest.mark.parametrize("path", [company, sintegra, suframa, state])

# Those with `cache`, and its greatest value (contract 2.4).
DAYS_MAX = {"cnpj-receita-federal": 365, "sintegra": 365, "produtor-rural": 365, "suframa": 45}
aged = pytest.mark.parametrize(
    ("of", "days_max"), [(SAMPLES[name], most) for name, most in DAYS_MAX.items()], ids=DAYS_MAX
)
WITH_STRATEGY = ["cnpj-receita-federal", "sintegra", "produtor-rural"]
with_strategy = pytest.mark.parametrize(
    "of", [SAMPLES[name] for name in WITH_STRATEGY], ids=WITH_STRATEGY
)


def assert_refused(world: Service, path: str, code: str, **headers: str) -> None:
    """Check that it is refused before any source is asked, and free."""
    asked = world.source.asked
    answer = world.get(path, world.client, **headers)
    assert (answer.status, answer.code, answer.credits) == (400, code, 0), path
    assert world.source.asked == asked


@pytest.fixture
def opted_in(world: Service) -> Client:
    return world.account("bia", credits=100, partner_optin=True)


WRITTEN = [
    ("90010001000100", CNPJ),
    ("90.010.001/0001-00", CNPJ),
    ("90.010.001%2F0001-00", CNPJ),
    ("90.010.001%2f0001-00", CNPJ),
    ("90010001%2F0001-00", CNPJ),
    ("%2090010001000100%20", CNPJ),
    ("%0990.010.001/0001-00%20%20", CNPJ),
    ("9001000100010%30", CNPJ),
    ("12ABC34501DE35", "12ABC34501DE35"),
    ("12abc34501de35", "12ABC34501DE35"),
    ("12.aBc.345/01dE-35", "12ABC34501DE35"),
    ("12.ABC.345%2F01DE-35", "12ABC34501DE35"),
    ("00000000E08G12", "00000000E08G12"),
]


@of_a_cnpj
def test_a_cnpj_may_be_written_in_many_ways(world: Service, path: Callable[..., str]) -> None:
    """And the answer has no punctuation (contract 1.6, 2.1, 2.2)."""
    for written, means in WRITTEN:
        answer = world.get(path(written))
        assert answer.status == 200, written
        body = answer.json.get("response") or answer.json
        assert body.get("cnpj", means) == means
    assert {inquiry.document.text for inquiry in world.source.inquiries} == set(
        dict(WRITTEN).values()
    )


NO_CNPJ = [
    "9001000100010",  # 13 characters
    "900100010001000",  # 15
    "90010001000101",  # wrong check digits
    "90010001000199",
    "9001000100010A",  # a letter in the check digits
    "12ABC34501DE3A",
    "12ABC34501DE36",
    "00000000000000",  # all characters equal
    "11111111111111",
    "90010001%20000100",  # white space inside
    "9.0010001000100",  # punctuation where it does not belong
    "90.010.001.0001.00",
    "90,010,001/0001-00",
    "CNPJ90010001000100",  # letters are never stripped
    "90010001000100X",
    "90010001A000100",
    "%EF%BC%99%EF%BC%90010001000100",  # digits of another script
    "90010001000100%00",
    "90010001000100/",
    "90010001000100/x",
    "%20",
    "..%2F..%2Fmetrics",
    "%FF%FE",
    "0" * 5000,
    # Reading these letters as I or S would query another company (contract 2.2).
    "12%C4%B1BC34501DE10",
    "12%C5%BFBC34501DE48",
]


@of_a_cnpj
def test_anything_else_is_an_invalid_cnpj(world: Service, path: Callable[..., str]) -> None:
    for written in NO_CNPJ:
        assert_refused(world, path(written), "CNPJ_INVALIDO")
    assert not world.charges()


# cache


@aged
def test_cache_is_a_number_of_days(world: Service, of: Sample, days_max: int) -> None:
    """In the query, or in a header."""
    for days in (0, 1, 7, 10, 30, days_max):
        assert world.get(of.asking(f"cache={days}")).status == 200
        assert world.get(of.path, cache=str(days)).status == 200
    assert world.get(of.asking("cache=%207%20")).status == 200


WRONG_DAYS = ["-1", "9999999999", "7.5", "7,5", "abc", "1e1", "0x7", "7d", "true", "null"]


@aged
def test_cache_outside_its_range_is_refused(world: Service, of: Sample, days_max: int) -> None:
    for days in (*WRONG_DAYS, str(days_max + 1)):
        assert_refused(world, of.asking(f"cache={days}"), "PARAMETRO_INVALIDO")
        assert_refused(world, of.path, "PARAMETRO_INVALIDO", cache=days)
    for days in ("", "%D9%A7", "7%207"):
        assert_refused(world, of.asking(f"cache={days}"), "PARAMETRO_INVALIDO")


@with_strategy
def test_cache_as_a_header_works_and_is_deprecated(world: Service, of: Sample) -> None:
    """Answers to the header form are marked as deprecated; those to the query are not."""
    of.keep(world, days=20)
    by_query = world.get(of.asking("cache_strategy=CACHE_PREFERENCIAL&cache=30"))
    by_header = world.get(of.asking("cache_strategy=CACHE_PREFERENCIAL"), cache="30")

    assert (by_query.status, by_header.status, world.source.asked) == (200, 200, 0)
    assert "deprecation" not in by_query.headers
    # RFC 9745: a structured-field date.
    assert by_header.headers["deprecation"].startswith("@")
    assert by_header.headers["deprecation"][1:].isdecimal()
    world.source.fails()
    assert "deprecation" in world.get(of.path, cache="0").headers
    assert "deprecation" not in world.get(of.path).headers


@aged
def test_the_query_takes_precedence_over_the_header(
    world: Service, of: Sample, days_max: int
) -> None:
    """The header's value is not even read. An entry of 20 days is within 30 and not within 1."""
    of.keep(world, days=20)
    for query, header in (("30", "1"), ("30", "abc"), ("1", "30")):
        path = of.asking(f"cache_strategy=CACHE_PREFERENCIAL&cache={query}")
        assert world.get(path, cache=header).status == 200
    assert [charge.origin for charge in world.charges()] == ["cache", "cache", "online"]


def test_the_default_is_seven_days(world: Service) -> None:
    """Contract 2.4; counted from when the source was asked, 24 hours each (4.1)."""
    world.keep(days=7)
    world.get(company(query="cache_strategy=CACHE_PREFERENCIAL"))
    assert world.source.asked == 0

    world.clock.advance(seconds=0.001)
    world.get(company(query="cache_strategy=CACHE_PREFERENCIAL"))
    assert world.source.asked == 1


# cache_strategy


@with_strategy
def test_strategies_are_read_in_any_case_and_others_refused(world: Service, of: Sample) -> None:
    """Four names; SO_CACHE is the federal certificate's (contract 2.5)."""
    for name in ("CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"):
        for written in (name, name.lower(), name.title()):
            assert world.get(of.asking(f"cache_strategy={written}")).status == 200
    spent = len(world.charges())
    for name in (
        *("SO_CACHE", "so_cache", "SO-ONLINE", "SOONLINE", "ONLINE", "7", "", "SO_ONLINE%00"),
        "%C5%BFO_ONLINE",  # a letter that only looks like one
    ):
        assert_refused(world, of.asking(f"cache_strategy={name}"), "ESTRATEGIA_INVALIDA")
    assert len(world.charges()) == spent


# optin


@pytest.mark.parametrize("optin", ["2", "-1", "true", "sim", "01", "", "1,1"])
def test_optin_is_0_or_1(world: Service, opted_in: Client, optin: str) -> None:
    answer = world.get(company(query=f"optin={optin}"), opted_in)
    assert (answer.status, answer.code) == (400, "PARAMETRO_INVALIDO")


def test_optin_0_is_the_default(world: Service) -> None:
    assert world.get(company(query="optin=0")).status == 200
    assert not world.source.inquiries[0].full_partners


def test_optin_1_needs_the_feature(world: Service) -> None:
    answer = world.get(company(query="optin=1"))

    assert (answer.status, answer.code, answer.credits) == (403, "OPTIN_NAO_HABILITADO", 0)
    assert world.source.asked == 0


def test_optin_1_with_the_feature_asks_for_documents_at_the_same_price(
    world: Service, opted_in: Client
) -> None:
    answer = world.get(company(query="optin=1"), opted_in)

    assert (answer.status, answer.credits) == (200, 1)
    assert world.source.inquiries[0].full_partners


# Repeated and unknown parameters


@aged
def test_a_parameter_of_the_contract_may_be_given_once(
    world: Service, of: Sample, days_max: int
) -> None:
    """A repetition is 400 `PARAMETRO_REPETIDO`, even with the same value (contract 2.6)."""
    for query in ("cache=7&cache=7", "cache=7&cache=8", "cache=&cache=7", "%63ache=7&cache=7"):
        assert_refused(world, of.asking(query), "PARAMETRO_REPETIDO")


def test_its_own_parameters_may_be_given_once(world: Service) -> None:
    for query in (
        "cache_strategy=SO_ONLINE&cache=7&cache_strategy=SO_ONLINE",
        "optin=0&optin=1",
    ):
        assert_refused(world, company(query=query), "PARAMETRO_REPETIDO")


@aged
def test_unknown_parameters_are_ignored(world: Service, of: Sample, days_max: int) -> None:
    for query in (
        *("x=1", "x=1&x=2", "utm_source=a&cache=7", "Cache=9999", "CACHE_STRATEGY=NADA"),
        *("cnpj=1&request_id=2", "=&=&;", "%", "%FF=%FF", "atualizar_online=talvez"),
    ):
        assert world.get(of.asking(query)).status == 200, query


def test_parameters_of_other_operations_are_unknown(world: Service) -> None:
    query = "error_fallback=talvez&uf=XX&endereco=abc"
    assert world.get(company(query=query)).status == 200


def test_an_empty_query_is_accepted(world: Service) -> None:
    world.source.finds(a_company(nome_empresarial="X LTDA"))
    assert world.get(company() + "?").json["response"]["nome_empresarial"] == "X LTDA"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/eventos/v1?item=%00", 400, "PARAMETRO_INVALIDO"),
        ("/carteira/v1/itens?cliente=%00", 400, "PARAMETRO_INVALIDO"),
        ("/conta/v1/orcamentos?cursor=1%00", 400, "PARAMETRO_INVALIDO"),
        ("/carteira/v1/itens/%00", 404, "ITEM_NAO_ENCONTRADO"),
        ("/webhooks/v1/%00", 404, "WEBHOOK_NAO_ENCONTRADO"),
        ("/webhooks/v1/a%00/entregas", 404, "WEBHOOK_NAO_ENCONTRADO"),
        ("/conta/v1/orcamentos/%00", 404, "ORCAMENTO_NAO_ENCONTRADO"),
        ("/lotes/v1/%00", 404, "LOTE_NAO_ENCONTRADO"),
        ("/cotacoes/v2/cnpj-receita-federal/%00", 400, "CNPJ_INVALIDO"),
    ],
)
def test_the_null_character_reaches_no_database(
    world: Service, path: str, status: int, code: str
) -> None:
    administering = KeyRestrictions(administers=True)
    answer = world.get(path, world.another_key(world.client, restrictions=administering))
    assert (answer.status, answer.code) == (status, code)
