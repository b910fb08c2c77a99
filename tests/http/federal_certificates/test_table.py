"""Strategy, entry, source, `preferencia_emissao`, `atualizar_online`: origin and price.

The expected values stand in `TABLE`, a literal read off the texts:

- CACHE_PREFERENCIAL "uses a still-valid cache entry; otherwise queries the source";
  CACHE_SE_EXISTIR "accepts only still-valid content"; SO_CACHE "only the service's own stored
  data"; SO_ONLINE "ignores local cache"; ONLINE_PREFERENCIAL "queries the source first; on
  technical failure may deliver a still-valid cache entry" (specification, "Cache strategies
  (federal certificate)").
- CND and CPEND with code and validity: until the end of the day before the effective validity.
  CPD, impossible, unclassified: 60 minutes and not after midnight, for CACHE_PREFERENCIAL,
  CACHE_SE_EXISTIR and SO_CACHE; never as a fallback (contract 4.6).
- `nova` "forces the online path"; `atualizar_online` "ignores the local cache for the decision";
  neither goes with SO_CACHE (contract 2.8).
- 1 credit from the cache, 2 from the source, 0 for everything else.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from balcao.core.calendar import to_ms
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.fiction.digits import cnpj as a_cnpj
from tests.records import CNPJ, DAY_SECONDS, a_federal, federal
from tests.service import Reply, Service, assert_refused

HOUR = 3600
OLD, NEW = "GUARDADA", "DA-FONTE"
CPD: Mapping[str, Any] = {"kind": "CPD", "issued": False, "validity": None}
IMPOSSIBLE: Mapping[str, Any] = {"kind": None, "title": "", "validity": None, "issued": False}
UNCLASSIFIED: Mapping[str, Any] = {"kind": None, "kind_text": "Outra", "issued": False}


def brasilia(text: str) -> int:
    """Return an instant of 2026 in Brasília, three hours behind UTC."""
    return to_ms(datetime.fromisoformat(text).replace(tzinfo=UTC)) + 3 * HOUR * 1000


NOON = brasilia("2026-08-05T12:00:00")
AFTER_MIDNIGHT = brasilia("2026-08-06T00:15:00")


class Entry(NamedTuple):
    """A cache entry, its age, and when it is asked for."""

    fields: Mapping[str, Any] | None
    age_seconds: int = 30 * DAY_SECONDS
    now_ms: int = NOON


ENTRIES: Mapping[str, Entry] = {
    "none": Entry(None),
    "usable": Entry({"validity": "2026-12-17"}),
    "usable CPEND": Entry({"validity": "2026-12-17", "kind": "CPEND", "rfb_debts": True}),
    "last day": Entry({"validity": "2026-08-06"}),
    "expires today": Entry({"validity": "2026-08-05"}),
    "expired": Entry({"validity": "2026-08-04"}, 200 * DAY_SECONDS),
    "extended": Entry({"validity": "2026-08-01", "extended_validity": "2026-09-01"}),
    "extended, expired": Entry({"validity": "2026-07-01", "extended_validity": "2026-08-05"}),
    "no code": Entry({"validity": "2026-12-17", "code": None}),
    "no validity": Entry({"validity": None}),
    "CPD 59:59": Entry(CPD, HOUR - 1),
    "CPD 60:00": Entry(CPD, HOUR),
    "CPD of a year": Entry({**CPD, "validity": "2026-12-17"}, 2 * HOUR),
    "impossible 59:59": Entry(IMPOSSIBLE, HOUR - 1),
    "impossible 60:00": Entry(IMPOSSIBLE, HOUR),
    "unclassified 59:59": Entry(UNCLASSIFIED, HOUR - 1),
    "unclassified 60:00": Entry(UNCLASSIFIED, HOUR),
    # From here on it is a quarter past midnight.
    "usable, by night": Entry({"validity": "2026-08-07"}, 60, AFTER_MIDNIGHT),
    "expires by night": Entry({"validity": "2026-08-06"}, HOUR // 2, AFTER_MIDNIGHT),
    "CPD of this day": Entry(CPD, 14 * 60, AFTER_MIDNIGHT),
    "CPD of yesterday": Entry(CPD, 16 * 60, AFTER_MIDNIGHT),
    "impossible of yesterday": Entry(IMPOSSIBLE, 16 * 60, AFTER_MIDNIGHT),
    "unclassified of yesterday": Entry(UNCLASSIFIED, 16 * 60, AFTER_MIDNIGHT),
}

# Per entry, in the order above:
#   C  from the cache, no source is asked
#   F  the source is asked; when it fails, the entry is delivered
#   O  the source is asked; when it fails, that is the answer
#   N  no source is asked, and there is nothing
TABLE: Mapping[tuple[str, bool], str] = {
    # strategy, online path forced
    #  none, usable 2, last, expired 2, extended 2, no code, no validity; CPD 3; imp.; uncl.; night
    ("CACHE_PREFERENCIAL", False): "O CC C OO CO O O COO CO CO C O C O O O",
    ("CACHE_SE_EXISTIR", False): "  O CC C OO CO O O COO CO CO C O C O O O",
    ("SO_CACHE", False): "          N CC C NN CN N N CNN CN CN C N C N N N",
    ("SO_ONLINE", False): "         O OO O OO OO O O OOO OO OO O O O O O O",
    ("ONLINE_PREFERENCIAL", False): "O FF F OO FO O O OOO OO OO F O O O O O",
    ("CACHE_PREFERENCIAL", True): " O OO O OO OO O O OOO OO OO O O O O O O",
    ("CACHE_SE_EXISTIR", True): "   O OO O OO OO O O OOO OO OO O O O O O O",
    ("SO_ONLINE", True): "          O OO O OO OO O O OOO OO OO O O O O O O",
    ("ONLINE_PREFERENCIAL", True): "O FF F OO FO O O OOO OO OO F O O O O O",
}
SAYS = ("CND", "CPD", "fails", "is_down", "refuses")
FORCED = {
    "": False,
    "preferencia_emissao=2via": False,
    "atualizar_online=false": False,
    "atualizar_online=true": True,
    "preferencia_emissao=nova": True,
    "preferencia_emissao=nova&atualizar_online=true": True,
}
STRATEGIES = (
    "CACHE_PREFERENCIAL",
    "CACHE_SE_EXISTIR",
    "SO_CACHE",
    "SO_ONLINE",
    "ONLINE_PREFERENCIAL",
)
CASES = [
    (strategy, query)
    for strategy in STRATEGIES
    for query, forced in FORCED.items()
    if (strategy, forced) in TABLE
]


class Expected(NamedTuple):
    """The expected outcome of one request."""

    status: int
    code: str | None
    credits: int
    source: str | None
    age_seconds: int | None
    certificate: str | None  # the old one's name or the source's
    asked: int
    entry_afterwards: str  # none, old, new


def expected(entry: Entry, letter: str, says: str) -> Expected:
    left = "none" if entry.fields is None else "old"
    if letter == "N":
        return Expected(400, "SEM_RESULTADO_EM_CACHE", 0, None, None, None, 0, left)
    if letter == "C" or (letter == "F" and says in ("fails", "is_down")):
        assert entry.fields is not None
        status = 200 if entry.fields.get("kind", "CND") in ("CND", "CPEND") else 404
        asked = 0 if letter == "C" else 1
        return Expected(status, None, 1, "cache", entry.age_seconds, OLD, asked, "old")
    match says:
        case "CND":
            return Expected(200, None, 2, "online", 0, NEW, 1, "new")
        case "CPD":
            return Expected(404, None, 2, "online", 0, NEW, 1, "new")
        case "fails":
            return Expected(400, "FALHA_TECNICA", 0, None, None, None, 1, left)
        case "is_down":
            return Expected(503, "SERVICO_INDISPONIVEL", 0, None, None, None, 1, left)
    return Expected(400, "DADOS_RECUSADOS_PELA_FONTE", 0, None, None, None, 1, left)


def seen(world: Service, cnpj: str, entry: Entry, query: str) -> tuple[Expected, Reply]:
    inquiry = Inquiry("federal_certificate", Cnpj.parse(cnpj))
    world.clock.at_ms = entry.now_ms
    if entry.fields is not None:
        kept = a_federal(cnpj, **{"name": OLD, **entry.fields})
        world.keep(kept, days=entry.age_seconds / DAY_SECONDS)
    before, asked, money = world.kept(inquiry), world.source.asked, world.balance()

    answer = world.get(federal(f"cnpj={cnpj}&{query}"))

    after, body = world.kept(inquiry), answer.json
    left = "none" if after is None else "old" if after == before else "new"
    assert money.balance_credits - world.balance().balance_credits == answer.credits
    assert world.balance().held_credits == 0
    result = body["error"] is False
    if result:
        assert body["billing"] == {"credits": answer.credits, "source": body["source"]}
    else:
        assert_refused(answer, answer.status, answer.code)
    fate = Expected(
        answer.status,
        answer.code,
        answer.credits,
        body["source"] if result else None,
        int(answer.headers["age"]) if "age" in answer.headers else None,
        body["corporate_name"] if result else None,
        world.source.asked - asked,
        left,
    )
    return fate, answer


def set_source(world: Service, says: str) -> None:
    match says:
        case "CND" | "CPD":
            kind = {"CND": {}, "CPD": CPD}[says]
            world.source.says(
                lambda inquiry: world.source._find(
                    inquiry, a_federal(inquiry.document.text, name=NEW, **kind)
                )
            )
        case _:
            getattr(world.source, says)()


@pytest.mark.parametrize(("strategy", "query"), CASES)
def test_the_table(world: Service, strategy: str, query: str) -> None:
    """Each combination has the specified status, price, origin and traces."""
    row = TABLE[strategy, FORCED[query]].replace(" ", "")
    place = 0
    for (name, entry), letter in zip(ENTRIES.items(), row, strict=True):
        for says in SAYS:
            if letter == "F" and says == "refuses":
                continue  # `test_refused_data_is_no_technical_failure`
            set_source(world, says)
            place += 1
            cnpj = a_cnpj(f"9003{place:04}", "0001")
            fate, answer = seen(world, cnpj, entry, f"cache_strategy={strategy}&{query}")
            assert fate == expected(entry, letter, says), (name, says)
            if fate.asked:
                nova = "nova" in query
                assert world.source.inquiries[-1].reissue == nova, (name, says)
            if answer.status == 200:
                now = datetime.fromtimestamp((world.clock() - 3 * HOUR * 1000) / 1000, UTC)
                assert answer.json["effective_validity"] > f"{now:%Y-%m-%d}", (name, says)
    assert not world.check().complaints


def test_the_cache_is_preferred_by_default(world: Service) -> None:
    """Without a strategy an entry is served, and a missing one is asked for."""
    row = TABLE["CACHE_PREFERENCIAL", False].replace(" ", "")
    set_source(world, "CND")
    for place, (entry, letter) in enumerate(zip(ENTRIES.values(), row, strict=True)):
        fate, _ = seen(world, a_cnpj(f"9003{place:04}", "0001"), entry, "")
        assert fate == expected(entry, letter, "CND")


@pytest.mark.parametrize("query", [query for query, forced in FORCED.items() if forced])
def test_so_cache_and_the_online_path_exclude_each_other(world: Service, query: str) -> None:
    """400 PARAMETROS_CONFLITANTES, whether or not there is an entry."""
    path = federal(f"cnpj={CNPJ}&cache_strategy=SO_CACHE&{query}")
    assert_refused(world.get(path), 400, "PARAMETROS_CONFLITANTES")
    world.keep(a_federal())
    assert_refused(world.get(path), 400, "PARAMETROS_CONFLITANTES")
    assert world.source.asked == 0


@pytest.mark.parametrize("entry", ["usable", "extended"])
def test_refused_data_is_no_technical_failure(world: Service, entry: str) -> None:
    """The fallback is for technical failures; refused data has its own 400 (contract 3)."""
    set_source(world, "refuses")
    query = "cache_strategy=ONLINE_PREFERENCIAL"
    fate, _ = seen(world, CNPJ, ENTRIES[entry], query)
    assert fate == expected(ENTRIES[entry], "F", "refuses")


# Around midnight.

LAST_DAY = brasilia("2026-08-06T00:00:00")  # when an entry valid on 2026-08-06 is over


@pytest.mark.parametrize("strategy", ["CACHE_PREFERENCIAL", "CACHE_SE_EXISTIR", "SO_CACHE"])
@pytest.mark.parametrize(
    ("before_ms", "from_cache"),
    [(3 * HOUR * 1000 + 1, True), (3 * HOUR * 1000, True), (1, True), (0, False), (-1, False)],
)
def test_the_last_instant(world: Service, strategy: str, before_ms: int, from_cache: bool) -> None:
    """Served until the last millisecond of the day in Brasília, which is not that of UTC."""
    world.clock.at_ms = LAST_DAY - before_ms
    world.keep(a_federal(validity="2026-08-06"), days=2)
    world.source.finds(a_federal(name=NEW))

    answer = world.get(federal(f"cnpj={CNPJ}&cache_strategy={strategy}"))

    if from_cache:
        assert (answer.json["source"], answer.json["valid_until"]) == ("cache", "2026-08-05")
    elif strategy == "SO_CACHE":
        assert answer.code == "SEM_RESULTADO_EM_CACHE"
    else:
        assert (answer.json["source"], answer.json["corporate_name"]) == ("online", NEW)


@pytest.mark.parametrize("before_ms", [1, 0])
def test_the_last_instant_of_a_fallback(world: Service, before_ms: int) -> None:
    """A fallback, too, ends with the day."""
    world.clock.at_ms = LAST_DAY - before_ms
    world.keep(a_federal(validity="2026-08-06"), days=2)
    world.source.fails()
    answer = world.get(federal(f"cnpj={CNPJ}&cache_strategy=ONLINE_PREFERENCIAL"))
    assert answer.status == (200 if before_ms else 400)


def test_a_fallback_is_checked_when_it_is_delivered(world: Service) -> None:
    """Asked before midnight and failed after it: the entry has expired by then."""
    world.clock.at_ms = LAST_DAY - 5000
    world.keep(a_federal(validity="2026-08-06"), days=2)
    world.source.fails()

    async def scenario() -> Reply:
        world.source.waits()
        task = world.begin(federal(f"cnpj={CNPJ}&cache_strategy=ONLINE_PREFERENCIAL"))
        await world.until(lambda: world.source.asked == 1)
        world.clock.advance(seconds=10)
        world.source.answers_now()
        return await task

    assert_refused(world.run(scenario()), 400, "FALHA_TECNICA")


def test_a_fallback_may_be_an_entry_that_another_lookup_just_stored(world: Service) -> None:
    """An entry stored while one waits is used if its source fails."""

    async def scenario() -> Reply:
        world.source.waits()
        task = world.begin(federal(f"cnpj={CNPJ}&cache_strategy=ONLINE_PREFERENCIAL"))
        await world.until(lambda: world.source.asked == 1)
        world.keep(a_federal(name=OLD))
        world.source.fails()
        world.source.answers_now()
        return await task

    answer = world.run(scenario())
    assert (answer.status, answer.credits, answer.json["corporate_name"]) == (200, 1, OLD)


def test_a_fallback_holds_2_and_costs_1(world: Service) -> None:
    """The path needs 2 credits; the delivery costs 1 and the rest is released."""
    poor = world.account("edu", credits=2)
    almost = world.account("eva", credits=1)
    world.keep(a_federal())
    world.source.fails()
    path = federal(f"cnpj={CNPJ}&cache_strategy=ONLINE_PREFERENCIAL")

    assert world.get(path, almost).status == 402
    answer = world.get(path, poor)

    assert (answer.status, answer.json["source"], answer.credits) == (200, "cache", 1)
    assert (world.balance(poor).balance_credits, world.balance(poor).held_credits) == (1, 0)


def test_many_deliveries_of_one_entry_over_its_last_days(world: Service) -> None:
    """Each day's delivery has its own time and the same dates, until the entry expires."""
    world.keep(a_federal(validity="2026-08-09"))
    for day in (5, 5, 6, 7, 8):
        world.clock.at_ms = brasilia(f"2026-08-0{day}T20:59:59")
        body = world.get(federal()).json
        assert body["served_at"] == f"2026-08-0{day}T20:59:59-03:00"
        assert body["source_queried_at"] == "2026-08-05T12:00:00-03:00"
        assert (body["valid_until"], body["source"]) == ("2026-08-08", "cache")
    world.clock.at_ms = brasilia("2026-08-09T00:00:00")
    assert world.get(federal()).json["source"] == "online"
