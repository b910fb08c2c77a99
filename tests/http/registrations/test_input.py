"""State registrations and rural producers: input.

Specification, endpoints 2 and 3; contract 2.1 to 2.6.
"""

import pytest

from tests.http.registrations.shared import PRODUCER, SINTEGRA, Lookup, both
from tests.records import CNPJ, CPF, producer, sintegra
from tests.service import Reply, Service

# The document


@pytest.mark.parametrize(
    ("of", "ways", "means"),
    [
        (PRODUCER, ["900.100.001-00", "900.100.001%2D00", "%2090010000100%20"], CPF),
    ],
)
def test_a_document_may_be_written_in_many_ways(
    world: Service, of: Lookup, ways: list[str], means: str
) -> None:
    """With or without punctuation, and the answer has none (contract 1.6, 2.1, 2.2)."""
    for written in ways:
        answer = world.get(of.path(written))
        assert (answer.status, answer.json[of.field]) == (200, means)
    assert {inquiry.document.text for inquiry in world.source.inquiries} == {means}


@pytest.mark.parametrize(
    ("of", "wrong"),
    [
        (SINTEGRA, ["123", CPF, "90010001000101"]),
        (PRODUCER, ["123", CNPJ, "90010000101", "11111111111", "9001000010", "9001000010A"]),
        (PRODUCER, ["900100001000", "90010000%20100", "%20", "CPF90010000100", "900,100,001-00"]),
    ],
)
def test_anything_else_is_an_invalid_document(world: Service, of: Lookup, wrong: list[str]) -> None:
    """It is refused before any source, and the answer does not repeat it."""
    for written in wrong:
        answer = world.get(of.path(written))
        assert (answer.status, answer.code) == (400, f"{of.field.upper()}_INVALIDO")
        assert of.field not in answer.json
        assert answer.json["inscricoes_estaduais"] == []
        assert (answer.credits, world.source.asked) == (0, 0)


# uf


@both
def test_each_uf_of_the_list_may_be_asked(world: Service, of: Lookup) -> None:
    """27 for companies and 26 for producers; the source is asked about that UF."""
    assert len(of.ufs) == (27 if of is SINTEGRA else 26)
    for uf in of.ufs:
        assert world.get(of.path(of.document, f"uf={uf}")).status == 200
    own = [inquiry.uf for inquiry in world.source.inquiries if inquiry.subject != "company"]
    assert own == of.ufs


@both
def test_uf_is_trimmed_and_read_in_any_case(world: Service, of: Lookup) -> None:
    """`uf= sp` means SP (contract 2.3)."""
    for written in ("sp", "Sp", "%20SP", "sP%20%20", "%09sp%09", "+SP+"):
        answer = world.get(of.path(of.document, f"uf={written}"))
        assert (answer.status, answer.json["uf"]) == (200, "SP")
    assert {inquiry.uf for inquiry in world.source.inquiries} == {"SP"}


@both
def test_other_ufs_are_refused(world: Service, of: Lookup) -> None:
    """An unknown UF costs nothing and asks no source."""
    for written in ("XX", "EX", "BRA", "S", "S%20P", "35", "SP,RJ", "SP%00", "%C5%9AP", "%C5%BFP"):
        answer = world.get(of.path(of.document, f"uf={written}"))
        assert (answer.status, answer.code, answer.credits) == (400, "UF_INVALIDA", 0)
        assert answer.json[of.field] == of.document
    assert world.source.asked == 0


def test_a_producer_cannot_be_asked_about_in_pr(world: Service) -> None:
    """The contract's list leaves PR out (contract 2.3); companies are asked about there."""
    for written in ("PR", "pr", "%20Pr%20"):
        refused = world.get(producer(query=f"uf={written}"))
        assert (refused.status, refused.code, refused.credits) == (400, "UF_INVALIDA", 0)
    assert world.source.asked == 0
    assert world.get(sintegra(query="uf=pr")).status == 200


def test_a_producer_needs_a_uf(world: Service) -> None:
    """Omitted or empty is 400 `UF_OBRIGATORIA`, without any lookup (contract 2.3)."""
    for query in ("", "uf=", "uf=%20", "UF=SP", "cache=7"):
        answer = world.get(producer(query=query))
        assert (answer.status, answer.code, answer.credits) == (400, "UF_OBRIGATORIA", 0)
        assert answer.json["cpf"] == CPF
    assert world.source.asked == 0


# Booleans, repeated and unknown parameters


@both
@pytest.mark.parametrize("name", ["endereco", "error_fallback"])
def test_booleans(world: Service, of: Lookup, name: str) -> None:
    """`true`, `false`, `1`, `0` in any case; anything else is refused (contract 2.6)."""

    def said(text: str) -> Reply:
        return world.get(of.path(of.document, f"uf=SP&cache_strategy=SO_ONLINE&{name}={text}"))

    for text in ("true", "TRUE", "True", "1", "false", "FALSE", "0"):
        assert said(text).status == 200
    asked = world.source.asked
    for text in ("", "2", "sim", "yes", "on", "t", "null", "truE,false", "01", "-1"):
        answer = said(text)
        assert (answer.status, answer.code, answer.credits) == (400, "PARAMETRO_INVALIDO", 0)
    assert world.source.asked == asked


@both
@pytest.mark.parametrize(("text", "means"), [("TRUE", True), ("1", True), ("0", False)])
def test_booleans_have_their_effect(world: Service, of: Lookup, text: str, means: bool) -> None:
    """`endereco=1` asks for addresses and `error_fallback=1` accepts an old entry."""
    with_addresses = world.get(of.path(of.document, f"uf=SP&endereco={text}"))
    assert ("endereco" in with_addresses.json["inscricoes_estaduais"][0]) is means
    assert with_addresses.credits == 1 + means

    world.source.fails()
    world.clock.advance(days=100)
    again = world.get(of.path(of.document, f"uf=SP&error_fallback={text}"))
    assert again.status == (200 if means else 500)


@both
def test_a_parameter_of_the_contract_may_be_given_once(world: Service, of: Lookup) -> None:
    """A repetition is 400 `PARAMETRO_REPETIDO`, even with the same value (contract 2.6)."""
    for query in (
        "uf=SP&uf=SP",
        "uf=&uf=SP",
        "uf=SP&cache_strategy=SO_ONLINE&cache_strategy=SO_ONLINE",
        "uf=SP&endereco=true&endereco=false",
        "uf=SP&error_fallback=0&x=1&error_fallback=0",
    ):
        answer = world.get(of.path(of.document, query))
        assert (answer.status, answer.code, answer.credits) == (400, "PARAMETRO_REPETIDO", 0)
    assert world.source.asked == 0


@both
def test_unknown_parameters_are_ignored(world: Service, of: Lookup) -> None:
    """Names are exact; values of unknown parameters are not checked."""
    query = "uf=SP&optin=9&x=1&x=2&UF=XX&Cache=999&atualizar_online=talvez"
    assert world.get(of.path(of.document, query)).status == 200
