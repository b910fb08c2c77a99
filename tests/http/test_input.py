"""What the company registry takes as input (specification, endpoint 6; decisions 2)."""

import pytest

from tests.world import CNPJ, Client, World, a_company, company


@pytest.fixture
def opted_in(world: World) -> Client:
    return world.account("bia", credits=100, partner_optin=True)


@pytest.mark.parametrize(
    ("written", "means"),
    [
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
    ],
)
def test_a_cnpj_may_be_written_in_many_ways(world: World, written: str, means: str) -> None:
    answer = world.get(company(written))

    assert answer.status == 200
    assert answer.json["response"]["cnpj"] == means
    assert [inquiry.document.text for inquiry in world.source.inquiries] == [means]


@pytest.mark.parametrize(
    "written",
    [
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
    ],
)
def test_anything_else_is_no_cnpj(world: World, written: str) -> None:
    answer = world.get(company(written))

    assert (answer.status, answer.code, answer.credits) == (400, "CNPJ_INVALIDO", 0)
    assert world.source.asked == 0
    assert not world.charges()


@pytest.mark.parametrize("written", ["12%C4%B1BC34501DE10", "12%C5%BFBC34501DE48"])
def test_a_letter_that_only_looks_like_one_is_not_taken_for_another(
    world: World, written: str
) -> None:
    """Reading it as I or S would query another company (decisions 2.2)."""
    assert world.get(company(written)).code == "CNPJ_INVALIDO"


# cache


@pytest.mark.parametrize("days", ["0", "1", "7", "10", "30", "365", "%207%20"])
def test_cache_is_a_number_of_days(world: World, days: str) -> None:
    assert world.get(company(query=f"cache={days}")).status == 200


WRONG_DAYS = ["-1", "366", "9999999999", "7.5", "7,5", "abc", "1e1", "0x7", "7d", "true", "null"]


@pytest.mark.parametrize("days", [*WRONG_DAYS, "", "%D9%A7", "7%207"])
def test_cache_outside_its_range_is_refused(world: World, days: str) -> None:
    answer = world.get(company(query=f"cache={days}"))

    assert (answer.status, answer.code, answer.credits) == (400, "PARAMETRO_INVALIDO", 0)
    assert world.source.asked == 0


@pytest.mark.parametrize("days", WRONG_DAYS)
def test_cache_as_a_header_has_the_same_range(world: World, days: str) -> None:
    assert world.get(company(), cache=days).code == "PARAMETRO_INVALIDO"


def test_cache_as_a_header_works_and_is_deprecated(world: World) -> None:
    world.keep(days=20)

    by_query = world.get(company(query="cache_strategy=CACHE_PREFERENCIAL&cache=30"))
    by_header = world.get(company(query="cache_strategy=CACHE_PREFERENCIAL"), cache="30")

    assert by_query.json["response"] == by_header.json["response"]
    assert world.source.asked == 0
    assert "deprecation" not in by_query.headers
    # RFC 9745: a structured-field date.
    assert by_header.headers["deprecation"].startswith("@")
    assert by_header.headers["deprecation"][1:].isdecimal()


def test_cache_as_a_header_is_deprecated_on_errors_too(world: World) -> None:
    world.source.fails()
    assert "deprecation" in world.get(company(), cache="7").headers
    assert "deprecation" not in world.get(company()).headers


@pytest.mark.parametrize(
    ("query", "header", "served"), [("30", "1", "cache"), ("1", "30", "online")]
)
def test_of_both_forms_the_query_wins(world: World, query: str, header: str, served: str) -> None:
    world.keep(days=20)

    world.get(company(query=f"cache_strategy=CACHE_PREFERENCIAL&cache={query}"), cache=header)

    assert world.charges()[0].origin == served


def test_a_wrong_header_does_not_matter_when_the_query_has_the_parameter(world: World) -> None:
    assert world.get(company(query="cache=7"), cache="abc").status == 200


def test_the_default_is_seven_days(world: World) -> None:
    """Decisions 2.4; counted from when the source was asked, 24 hours each (4.1)."""
    world.keep(days=7)
    world.get(company(query="cache_strategy=CACHE_PREFERENCIAL"))
    assert world.source.asked == 0

    world.clock.advance(seconds=0.001)
    world.get(company(query="cache_strategy=CACHE_PREFERENCIAL"))
    assert world.source.asked == 1


# cache_strategy


@pytest.mark.parametrize(
    "name",
    [
        "CACHE_SE_EXISTIR",
        "CACHE_PREFERENCIAL",
        "SO_ONLINE",
        "ONLINE_PREFERENCIAL",
        "so_online",
        "So_Online",
        "online_preferencial",
    ],
)
def test_strategies_are_read_in_any_case(world: World, name: str) -> None:
    assert world.get(company(query=f"cache_strategy={name}")).status == 200


@pytest.mark.parametrize(
    "name", ["SO_CACHE", "so_cache", "SO-ONLINE", "SOONLINE", "ONLINE", "7", "", "SO_ONLINE%00"]
)
def test_other_strategies_are_refused(world: World, name: str) -> None:
    world.keep()

    answer = world.get(company(query=f"cache_strategy={name}"))

    assert (answer.status, answer.code, answer.credits) == (400, "ESTRATEGIA_INVALIDA", 0)
    assert not world.charges()


# optin


@pytest.mark.parametrize("optin", ["2", "-1", "true", "sim", "01", "", "1,1"])
def test_optin_is_0_or_1(world: World, opted_in: Client, optin: str) -> None:
    answer = world.get(company(query=f"optin={optin}"), opted_in)
    assert (answer.status, answer.code) == (400, "PARAMETRO_INVALIDO")


def test_optin_0_asks_for_nothing_special(world: World) -> None:
    assert world.get(company(query="optin=0")).status == 200
    assert not world.source.inquiries[0].full_partners


def test_optin_1_needs_the_feature(world: World) -> None:
    answer = world.get(company(query="optin=1"))

    assert (answer.status, answer.code, answer.credits) == (403, "OPTIN_NAO_HABILITADO", 0)
    assert world.source.asked == 0


def test_optin_1_with_the_feature_asks_for_documents_at_the_same_price(
    world: World, opted_in: Client
) -> None:
    answer = world.get(company(query="optin=1"), opted_in)

    assert (answer.status, answer.credits) == (200, 1)
    assert world.source.inquiries[0].full_partners


# Repeated and unknown parameters


@pytest.mark.parametrize(
    "query",
    [
        "cache=7&cache=7",
        "cache=7&cache=8",
        "cache=&cache=7",
        "cache_strategy=SO_ONLINE&cache=7&cache_strategy=SO_ONLINE",
        "optin=0&optin=1",
        "%63ache=7&cache=7",
    ],
)
def test_a_parameter_of_the_contract_may_be_given_once(world: World, query: str) -> None:
    answer = world.get(company(query=query))

    assert (answer.status, answer.code, answer.credits) == (400, "PARAMETRO_REPETIDO", 0)
    assert world.source.asked == 0


@pytest.mark.parametrize(
    "query",
    [
        "x=1",
        "x=1&x=2",
        "utm_source=a&cache=7",
        "error_fallback=talvez",  # a parameter of other operations
        "uf=XX&endereco=abc",
        "Cache=9999",  # names are exact
        "CACHE_STRATEGY=NADA",
        "cnpj=1&request_id=2",
        "=&=&;",
        "%",
        "%FF=%FF",
    ],
)
def test_unknown_parameters_are_ignored(world: World, query: str) -> None:
    assert world.get(company(query=query)).status == 200


def test_an_empty_query_is_no_query(world: World) -> None:
    world.source.finds(a_company(nome_empresarial="X LTDA"))
    assert world.get(company() + "?").json["response"]["nome_empresarial"] == "X LTDA"
