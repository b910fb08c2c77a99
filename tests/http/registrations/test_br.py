"""`uf=BR`: all UFs at once, each with its own cache entry, decision and price.

Specification, endpoints 2 and 3 and "Credits"; contract 3 (the paragraph on `uf=BR`), 4.2, 4.5,
5.1, 5.2, 7.5.
"""

import asyncio
from math import inf
from pathlib import Path

import pytest

from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.sources.contract import Absent, Answer, Found
from balcao.storage.contract import LedgerEntry
from tests.http.registrations.shared import (
    AT,
    PRODUCER,
    SINTEGRA,
    Lookup,
    asked_about,
    both,
    br,
    inquiry,
    origins,
)
from tests.records import CNPJ, a_registration, registrations, sintegra
from tests.service import FakeSource, Service, open_with_source

BOTH_FAIL = pytest.mark.parametrize(
    ("error", "status"), [(SourceFailed(""), 500), (SourceUnavailable("", 40), 503)]
)


def the_charge(world: Service) -> LedgerEntry:
    (charge,) = world.charges()
    return charge


@both
def test_all_ufs_online(world: Service, of: Lookup) -> None:
    """Each UF is asked once and costs 1 credit: 27, or 26 for a producer (contract 5.2)."""
    answer = world.get(br(of))

    price = 27 if of is SINTEGRA else 26
    assert (answer.status, answer.credits) == (200, price)
    assert answer.json["ufs"] == [{"uf": uf, "origem": "online"} for uf in of.ufs]
    assert [each["uf"] for each in answer.json["inscricoes_estaduais"]] == ["SP"]
    assert answer.json["is_cache"] is False
    assert answer.json["uf"] == ("SP" if of is SINTEGRA else "BR")  # principal UF; UF queried
    assert sorted(map(str, asked_about(world))) == of.ufs
    assert (the_charge(world).credits, the_charge(world).origin) == (-price, "online")
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000 - price, 0)
    assert not world.check().complaints


@both
def test_br_is_read_in_any_case(world: Service, of: Lookup) -> None:
    """`uf= br` is BR (contract 2.3)."""
    assert len(world.get(of.path(of.document, "uf=%20br")).json["ufs"]) == len(of.ufs)


@both
def test_one_uf_has_no_list_of_ufs(world: Service, of: Lookup) -> None:
    """The field belongs to BR."""
    assert "ufs" not in world.get(of.path(of.document, "uf=SP")).json


@both
def test_failed_ufs_are_reported_and_not_charged(world: Service, of: Lookup) -> None:
    """UFs that failed are `indisponivel`, free, and not in the cache; the rest is charged."""
    world.source.fails_in("BA", "MG", "RS")

    answer = world.get(br(of))

    assert (answer.status, answer.credits) == (200, len(of.ufs) - 3)
    assert answer.json["ufs"] == [
        {"uf": uf, "origem": "indisponivel" if uf in ("BA", "MG", "RS") else "online"}
        for uf in of.ufs
    ]
    assert answer.json["success"] is True
    assert answer.json["error"] is False
    assert [uf for uf in of.ufs if world.kept(inquiry(of, uf)) is None] == ["BA", "MG", "RS"]
    assert world.balance().balance_credits == 1000 - len(of.ufs) + 3
    assert world.balance().held_credits == 0


@both
def test_one_uf_is_enough(world: Service, of: Lookup) -> None:
    """200 when at least one UF answered, and only that one is charged."""
    world.source.fails_in(*(uf for uf in of.ufs if uf != "SP"))

    answer = world.get(br(of))

    assert (answer.status, answer.credits) == (200, 1)
    assert [uf for uf, origin in origins(answer).items() if origin == "online"] == ["SP"]
    assert set(origins(answer).values()) == {"online", "indisponivel"}


@both
@BOTH_FAIL
def test_when_all_fail_it_is_an_error(
    world: Service, of: Lookup, error: Exception, status: int
) -> None:
    """500 or 503 by the kind of failure, with an empty list and no `ufs`; nothing is charged."""
    world.source.fails_in(*of.ufs, error=error)

    answer = world.get(br(of))

    assert (answer.status, answer.credits) == (status, 0)
    assert answer.code == ("ERRO_INTERNO" if status == 500 else "SERVICO_INDISPONIVEL")
    assert answer.json["inscricoes_estaduais"] == []
    assert answer.json["success"] is False
    assert "ufs" not in answer.json
    assert answer.headers.get("retry-after") == (None if status == 500 else "40")
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    assert all(world.kept(inquiry(of, uf)) is None for uf in of.ufs)


@both
def test_the_wait_is_the_shortest_one(world: Service, of: Lookup) -> None:
    """One UF is enough for an answer (contract 1.8)."""

    def say(about: Inquiry) -> Answer:
        raise SourceUnavailable("", 20 if about.uf == "SE" else 900)

    world.source.says(say)
    answer = world.get(br(of))
    assert (answer.status, answer.headers["retry-after"]) == (503, "20")


def test_a_mix_of_failures_and_outages_is_a_failure(world: Service) -> None:
    """Some UFs down and one asked and failed: an error either way, and free."""

    def say(about: Inquiry) -> Answer:
        raise SourceFailed("") if about.uf == "SE" else SourceUnavailable("", 900)

    world.source.says(say)
    answer = world.get(br(SINTEGRA))
    assert (answer.status in (500, 503), answer.credits) == (True, 0)


# The cache


@both
def test_all_ufs_from_the_cache(world: Service, of: Lookup) -> None:
    """Cached UFs cost what online ones cost; no source is asked, and `is_cache` is true."""
    for days, uf in enumerate(of.ufs):
        world.keep(registrations(of.document, uf), days=days)

    answer = world.get(br(of, "cache_strategy=CACHE_SE_EXISTIR"))

    assert (answer.status, answer.credits) == (200, len(of.ufs))
    assert set(origins(answer).values()) == {"cache"}
    assert answer.json["is_cache"] is True
    assert answer.headers["cache-status"].endswith("; hit")
    assert (world.source.asked, the_charge(world).origin) == (0, "cache")


@both
def test_each_uf_is_decided_alone(world: Service, of: Lookup) -> None:
    """A recent entry is served, an old one and a missing one are asked; `is_cache` is false."""
    world.keep(registrations(of.document, "AC", nome="GUARDADA"), days=6.9)
    world.keep(registrations(of.document, "AL", nome="GUARDADA"), days=7.1)
    young, old = (world.kept(inquiry(of, uf)) for uf in ("AC", "AL"))

    answer = world.get(br(of, "cache_strategy=CACHE_PREFERENCIAL"))

    assert (answer.status, answer.credits) == (200, len(of.ufs))
    assert [uf for uf, origin in origins(answer).items() if origin == "cache"] == ["AC"]
    assert answer.json["is_cache"] is False
    assert "hit" not in answer.headers["cache-status"]
    assert sorted(map(str, asked_about(world))) == of.ufs[1:]
    assert world.kept(inquiry(of, "AC")) == young
    assert world.kept(inquiry(of, "AL")) != old
    assert the_charge(world).origin == "online"


FALLBACKS = {
    "": ["AC"],
    "cache=10": ["AC", "AL"],
    "cache=0": [],
    "error_fallback=true&cache=0": ["AC", "AL", "TO"],
    "cache_strategy=SO_ONLINE": [],
    "cache_strategy=SO_ONLINE&error_fallback=1": ["AC", "AL", "TO"],
    "cache_strategy=CACHE_PREFERENCIAL": ["AC"],
    "cache_strategy=CACHE_PREFERENCIAL&error_fallback=1": ["AC", "AL", "TO"],
    "cache_strategy=CACHE_SE_EXISTIR&cache=0": ["AC", "AL", "TO"],
}


@both
def test_each_uf_falls_back_alone(world: Service, of: Lookup) -> None:
    """If all sources fail, the usable entries make a 200 and only they are charged."""
    for uf, days in (("AC", 6.9), ("AL", 7.1), ("TO", 300)):
        world.keep(registrations(of.document, uf), days=days)
    world.source.fails()

    for query, cached in FALLBACKS.items():
        answer = world.get(br(of, query))
        assert (answer.status, answer.credits) == (200 if cached else 500, len(cached)), query
        if cached:
            assert origins(answer) == {
                uf: "cache" if uf in cached else "indisponivel" for uf in of.ufs
            }
            assert answer.json["is_cache"] is True  # nothing came online
    assert world.balance().balance_credits == 1000 - sum(map(len, FALLBACKS.values()))


@both
def test_some_online_and_some_as_a_fallback(world: Service, of: Lookup) -> None:
    """A failed UF with an entry is served from it, together with those online."""
    world.keep(registrations(of.document, "BA"), days=3)
    world.source.fails_in("BA", "MG")

    answer = world.get(br(of))

    assert origins(answer) == {
        uf: {"BA": "cache", "MG": "indisponivel"}.get(uf, "online") for uf in of.ufs
    }
    assert (answer.credits, answer.json["is_cache"]) == (len(of.ufs) - 1, False)


@both
def test_the_entries_of_br_are_those_of_single_ufs(world: Service, of: Lookup) -> None:
    """Entries of BR answer lookups of one UF, and vice versa."""
    one = of.path(of.document, "uf=RJ&cache_strategy=CACHE_SE_EXISTIR")
    world.get(of.path(of.document, "uf=AC"))
    everywhere = world.get(br(of, "cache_strategy=CACHE_SE_EXISTIR"))
    asked = world.source.asked

    assert origins(everywhere) == {uf: "cache" if uf == "AC" else "online" for uf in of.ufs}
    assert world.get(one).json["is_cache"] is True
    assert world.source.asked == asked


# The answer


@both
def test_the_order_is_active_then_uf_then_number(world: Service, of: Lookup) -> None:
    """Active ones of all UFs come first, then the UF decides, then the number (contract 1.7)."""
    those = {"TO": [("1", True), ("2", False)], "AC": [("9", False), ("8", True), ("7", True)]}
    those["RJ"] = [("5", False), ("4", True)]

    def say(about: Inquiry) -> Answer:
        uf = about.uf or ""
        found = registrations(
            of.document,
            uf,
            *(
                a_registration(uf, inscricao_estadual=number, ativa=active)
                for number, active in those.get(uf, ())
            ),
        )
        return Found(found, "fonte", AT)

    world.source.says(say)
    shown = world.get(br(of)).json["inscricoes_estaduais"]

    assert [(each["uf"], each["inscricao_estadual"], each["ativa"]) for each in shown] == [
        ("AC", "7", True),
        ("AC", "8", True),
        ("RJ", "4", True),
        ("TO", "1", True),
        ("AC", "9", False),
        ("RJ", "5", False),
        ("TO", "2", False),
    ]


# UFs that never answer


class SomeHang(FakeSource):
    """A source that never answers about these UFs."""

    async def ask(self, inquiry: Inquiry, until: float = inf) -> Answer:
        if inquiry.uf in ("BA", "MG"):
            await asyncio.Event().wait()
        return await super().ask(inquiry, until)


@both
def test_hanging_ufs_are_unavailable_at_the_deadline(tmp_path: Path, of: Lookup) -> None:
    """The deadline is for BR as a whole (contract 7.5); UFs that answered are delivered."""

    def sources(fake: FakeSource) -> list[FakeSource]:
        return [fake, SomeHang(fake.now_ms, "lenta")]

    with open_with_source(tmp_path, deadline=1.0, sources=sources) as world:
        world.source.serves_it = False
        answer = world.get(br(of))

        assert (answer.status, answer.credits) == (200, len(of.ufs) - 2)
        assert origins(answer) == {
            uf: "indisponivel" if uf in ("BA", "MG") else "online" for uf in of.ufs
        }


# A CNPJ that does not exist


def test_absent_everywhere_is_404(world: Service) -> None:
    """The source proves that the CNPJ does not exist: nothing is charged or cached."""
    world.source.says(lambda about: Absent("fonte", conclusive=True))

    answer = world.get(sintegra(query="uf=BR"))

    assert (answer.status, answer.code, answer.credits) == (404, "CNPJ_NAO_ENCONTRADO", 0)
    assert "ufs" not in answer.json
    assert answer.json["cnpj"] == CNPJ
    assert all(world.kept(inquiry(SINTEGRA, uf)) is None for uf in SINTEGRA.ufs)


def test_a_producer_of_no_uf_is_an_empty_list(world: Service) -> None:
    """A valid CPF without any registration is a result, charged for 26 UFs."""
    world.source.says(
        lambda about: Found(registrations(PRODUCER.document, about.uf or ""), "fonte", AT)
    )
    answer = world.get(br(PRODUCER))

    assert (answer.status, answer.credits) == (200, 26)
    assert answer.json["inscricoes_estaduais"] == []
    assert answer.json["success"] is True
