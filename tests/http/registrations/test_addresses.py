"""`endereco=true`: entries with and without addresses, and a second source that has them.

Specification, "Endpoints" 2 and 3; contract 4.5 and 5.2.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.core.registration import Registration
from balcao.sources.contract import Answer, Found
from tests.http.registrations.shared import (
    AT,
    SINTEGRA,
    THE_ADDRESS,
    Lookup,
    both,
    br,
    inquiry,
    origins,
)
from tests.records import AN_ADDRESS, CNPJ, a_record, a_registration, registrations, sintegra
from tests.service import FakeSource, Service, open_with_source

ONLY_CACHE = "cache_strategy=CACHE_SE_EXISTIR"


# Entries


@both
def test_an_entry_without_addresses_is_a_miss(world: Service, of: Lookup) -> None:
    """With `endereco=true` it counts as missing (contract 4.5), and a new one replaces it."""
    world.keep(registrations(of.document, "SP", a_registration(), nome="GUARDADA"), days=1)

    answer = world.get(of.path(of.document, f"uf=SP&endereco=true&{ONLY_CACHE}"))

    assert (answer.status, answer.json["is_cache"], answer.credits) == (200, False, 2)
    assert "endereco" in answer.json["inscricoes_estaduais"][0]
    assert world.source.asked == 1
    again = world.get(of.path(of.document, f"uf=SP&endereco=true&{ONLY_CACHE}"))
    assert (again.json["is_cache"], again.credits, world.source.asked) == (True, 2, 1)
    assert again.json["inscricoes_estaduais"] == answer.json["inscricoes_estaduais"]


@both
@pytest.mark.parametrize("query", ["", "&error_fallback=true", "&cache_strategy=SO_ONLINE"])
def test_an_entry_without_addresses_is_no_fallback(world: Service, of: Lookup, query: str) -> None:
    """An entry without addresses is a miss also when the source fails."""
    world.keep(registrations(of.document, "SP", a_registration()), days=1)
    world.source.fails()

    answer = world.get(of.path(of.document, f"uf=SP&endereco=true{query}"))

    assert (answer.status, answer.credits) == (500, 0)
    assert world.get(of.path(of.document, "uf=SP")).status == 200


@both
def test_an_entry_with_addresses_is_a_fallback(world: Service, of: Lookup) -> None:
    """It costs what an online answer with addresses costs."""
    those = a_registration(endereco=AN_ADDRESS)
    world.keep(registrations(of.document, "SP", those, com_endereco=True), days=1)
    world.source.fails()

    answer = world.get(of.path(of.document, "uf=SP&endereco=true"))

    assert (answer.status, answer.json["is_cache"], answer.credits) == (200, True, 2)
    assert "endereco" in answer.json["inscricoes_estaduais"][0]


@both
def test_an_entry_with_addresses_hides_them_unasked(world: Service, of: Lookup) -> None:
    """`endereco=false` is served from it without them, for 1 credit."""
    those = a_registration(endereco=AN_ADDRESS)
    world.keep(registrations(of.document, "SP", those, com_endereco=True), days=1)

    for query in ("uf=SP", "uf=SP&endereco=false", "uf=SP&endereco=0"):
        answer = world.get(of.path(of.document, f"{query}&{ONLY_CACHE}"))
        assert (answer.status, answer.json["is_cache"], answer.credits) == (200, True, 1)
        assert "endereco" not in answer.json["inscricoes_estaduais"][0]
        assert "ACACIAS" not in answer.body.decode()
    assert world.source.asked == 0


@both
def test_an_empty_entry_stored_without_addresses_is_a_miss(world: Service, of: Lookup) -> None:
    """There is no exception for an empty list: another source may have a registration."""
    world.keep(registrations(of.document, "SP"), days=1)

    answer = world.get(of.path(of.document, f"uf=SP&endereco=true&{ONLY_CACHE}"))

    assert answer.json["is_cache"] is False


@both
def test_with_br_each_uf_needs_an_entry_with_addresses(world: Service, of: Lookup) -> None:
    """UFs without addresses in their entry are asked again."""
    for uf in ("RJ", "SP"):
        those = a_registration(uf, endereco=AN_ADDRESS if uf == "RJ" else None)
        world.keep(registrations(of.document, uf, those, com_endereco=uf == "RJ"), days=1)

    answer = world.get(br(of, f"endereco=true&{ONLY_CACHE}"))

    assert origins(answer) == {uf: "cache" if uf == "RJ" else "online" for uf in of.ufs}
    assert all("endereco" in each for each in answer.json["inscricoes_estaduais"])
    assert answer.credits == len(of.ufs) + 1


# Two sources: types here, addresses there


def of_types(about: Inquiry, *those: Registration, by: str = "fonte") -> Answer:
    """The answer of the source with types and without addresses."""
    if about.subject == "company":
        return Found(a_record(about), by, AT)
    found = those or (a_registration(),)
    uf = about.uf or ""
    kept = found if uf == "SP" else ()
    return Found(registrations(about.document.text, uf, *kept), by, AT)


def of_addresses(about: Inquiry, *those: Registration, by: str = "estado") -> Answer:
    """The answer of the source with addresses and without types."""
    bare = a_registration(tipo_ie=None, situacao_pj=None, endereco=AN_ADDRESS)
    found = registrations(
        about.document.text, about.uf or "", *(those or (bare,)), com_endereco=True
    )
    return Found(found, by, AT)


class Pair(NamedTuple):
    """A world whose first source has types, and whose second has addresses."""

    world: Service
    first: FakeSource
    second: FakeSource


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    seconds: list[FakeSource] = []

    def sources(fake: FakeSource) -> list[FakeSource]:
        seconds.append(FakeSource(fake.now_ms, "estado"))
        return [fake, *seconds]

    with open_with_source(tmp_path, sources=sources) as world:
        world.source.parts = frozenset({"types"})
        world.source.says(of_types)
        seconds[0].parts = frozenset({"addresses"})
        seconds[0].says(of_addresses)
        yield Pair(world, world.source, seconds[0])


@both
def test_addresses_come_from_a_second_source(pair: Pair, of: Lookup) -> None:
    """One source has the registrations and the other their addresses, for 1 credit more."""
    answer = pair.world.get(of.path(of.document, "uf=SP&endereco=true"))

    assert (answer.status, answer.credits) == (200, 2)
    (shown,) = answer.json["inscricoes_estaduais"]
    assert shown["tipo_ie"] == "IE Normal"
    assert shown["situacao_pj"] == "Sem restrição"
    assert {name: shown["endereco"][name] for name in THE_ADDRESS} == THE_ADDRESS
    assert pair.world.kept(inquiry(of, "SP")) is not None
    again = pair.world.get(of.path(of.document, f"uf=SP&endereco=true&{ONLY_CACHE}"))
    assert (again.json["is_cache"], again.credits, pair.second.asked) == (True, 2, 1)


@both
def test_the_second_source_is_asked_only_for_addresses(pair: Pair, of: Lookup) -> None:
    """Without `endereco` it is not asked, and costs nothing."""
    answer = pair.world.get(of.path(of.document, "uf=SP"))
    assert (answer.credits, pair.second.asked) == (1, 0)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("110042490114", "110042490114"),
        ("00110042490", "110042490"),
        ("110042490", "00110042490"),
        ("110042490114", "110.042.490.114"),
    ],
)
def test_registrations_are_matched_by_number(pair: Pair, here: str, there: str) -> None:
    """Leading zeros and punctuation are ignored; the first source's form is shown."""
    pair.first.says(lambda about: of_types(about, a_registration(inscricao_estadual=here)))
    pair.second.says(
        lambda about: of_addresses(
            about, a_registration(inscricao_estadual=there, endereco=AN_ADDRESS)
        )
    )

    (shown,) = pair.world.get(sintegra(query="uf=SP&endereco=true")).json["inscricoes_estaduais"]

    assert shown["inscricao_estadual"] == here
    assert "endereco" in shown


@both
def test_other_numbers_of_the_second_source_are_not_shown(pair: Pair, of: Lookup) -> None:
    """Only the first source determines the registrations; each gets its own address."""
    pair.first.says(
        lambda about: of_types(
            about, a_registration(inscricao_estadual="1"), a_registration(inscricao_estadual="2")
        )
    )
    pair.second.says(
        lambda about: of_addresses(
            about,
            a_registration(inscricao_estadual="2", ativa=False, endereco=AN_ADDRESS),
            a_registration(inscricao_estadual="12", endereco=AN_ADDRESS),
        )
    )

    answer = pair.world.get(of.path(of.document, "uf=SP&endereco=true"))

    shown = answer.json["inscricoes_estaduais"]
    assert [(each["inscricao_estadual"], each["ativa"], "endereco" in each) for each in shown] == [
        ("1", True, False),
        ("2", True, True),
    ]
    assert answer.credits == 2


@both
@pytest.mark.parametrize("error", [SourceFailed("x"), SourceUnavailable("x", 60)])
def test_unavailable_addresses_are_not_charged(pair: Pair, of: Lookup, error: Exception) -> None:
    """The registrations are answered without them, for 1 credit; addresses are asked again."""
    pair.second.has_a_bug(error)
    answer = pair.world.get(of.path(of.document, "uf=SP&endereco=true"))

    assert (answer.status, answer.credits) == (200, 1)
    assert answer.json["success"] is True
    assert "endereco" not in answer.json["inscricoes_estaduais"][0]
    assert (pair.world.balance().balance_credits, pair.world.balance().held_credits) == (999, 0)

    pair.second.says(of_addresses)  # the entry has no addresses: a miss
    again = pair.world.get(of.path(of.document, f"uf=SP&endereco=true&{ONLY_CACHE}"))
    assert (again.json["is_cache"], again.credits) == (False, 2)
    assert "endereco" in again.json["inscricoes_estaduais"][0]


@both
def test_no_source_of_addresses_at_all(world: Service, of: Lookup) -> None:
    """Without a source of addresses they cannot be asked for, and are not charged."""
    world.source.parts = frozenset({"types"})
    world.source.says(of_types)
    answer = world.get(of.path(of.document, "uf=SP&endereco=true"))
    assert (answer.status, answer.credits) == (200, 1)


@both
def test_with_br_unavailable_addresses_are_not_charged(pair: Pair, of: Lookup) -> None:
    """The only UF with a registration has no address, so the extra credit is not charged."""
    pair.second.fails()
    answer = pair.world.get(br(of, "endereco=true"))
    assert (answer.status, answer.credits) == (200, len(of.ufs))


def test_with_br_addresses_of_one_uf_are_charged_once(pair: Pair) -> None:
    """+1 per request in total."""
    answer = pair.world.get(br(SINTEGRA, "endereco=true"))
    assert (answer.status, answer.credits) == (200, 28)
    assert [("endereco" in each) for each in answer.json["inscricoes_estaduais"]] == [True]


# The other order: addresses first, types second


@pytest.fixture
def reversed_pair(pair: Pair) -> Pair:
    """The first source is a state's, without types; the second has nothing else."""
    pair.first.parts = frozenset({"addresses"})
    pair.first.says(lambda about: of_addresses(about, by="fonte"))
    pair.second.parts = frozenset({"types"})
    pair.second.says(lambda about: of_types(about, by="estado"))
    return pair


@both
def test_types_come_from_a_second_source(reversed_pair: Pair, of: Lookup) -> None:
    """They are always asked for, and free."""
    for query, price in (("uf=SP", 1), ("uf=SP&endereco=true", 2)):
        answer = reversed_pair.world.get(of.path(of.document, query))
        (shown,) = answer.json["inscricoes_estaduais"]
        assert (answer.status, answer.credits) == (200, price)
        assert (shown["tipo_ie"], shown["situacao_pj"]) == ("IE Normal", "Sem restrição")
        assert ("endereco" in shown) == (price == 2)


@both
def test_types_without_a_source_are_absent(reversed_pair: Pair, of: Lookup) -> None:
    """The registrations are complete without them: 200, at the usual price."""
    reversed_pair.second.fails()
    answer = reversed_pair.world.get(of.path(of.document, "uf=SP&endereco=true"))

    (shown,) = answer.json["inscricoes_estaduais"]
    assert (answer.status, answer.credits) == (200, 2)
    assert "tipo_ie" not in shown
    assert "situacao_pj" not in shown
    assert "endereco" in shown


# Contents of the log


def test_the_request_event_names_the_sources_of_parts(pair: Pair) -> None:
    """Operators see the two sources and the parts asked of the second; from the cache too."""
    for query in ("uf=SP", "uf=SP&endereco=true", f"uf=SP&endereco=true&{ONLY_CACHE}"):
        pair.world.get(sintegra(query=query))

    plain, with_addresses, cached = pair.world.events()
    assert plain["source"] == "fonte"
    for event in (with_addresses, cached):
        assert event["source"].startswith("fonte")
        assert "estado" in event["source"]
        assert "addresses" in event["source"]
    assert [each["origin"] for each in (plain, with_addresses, cached)] == [
        "online",
        "online",
        "cache",
    ]
    assert CNPJ not in pair.world.logged.decode()
