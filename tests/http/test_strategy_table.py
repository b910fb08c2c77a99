"""Strategy, cache entry and outcome of the source, on all operations: origin and price.

The expected values stand in `TABLE`, a literal read off the texts:

- CACHE_SE_EXISTIR "uses any stored result regardless of age"; CACHE_PREFERENCIAL "within the age
  given by `cache`"; SO_ONLINE "always queries online"; ONLINE_PREFERENCIAL "queries online first;
  on failure may use cache" (specification, "Cache strategies"), with age <= `cache` (contract
  4.2). An entry as old as `cache` is therefore within it.
- `error_fallback=true`: on failure an entry of any age, whatever the strategy (contract 4.2); a
  parameter of the state registrations and the rural producer only (specification, "Endpoints").
- `cache=0` never matches by age (contract 4.2); "any age" and `error_fallback` do not look at it.
- Suframa: an entry within `cache`, else online, no fallback (contract 4.3).
- Failures and absence are not stored (contract 4.4), and cost nothing (contract 1.8).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from stdnum.br import cpf as stdnum_cpf

from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry, Record, Subject
from balcao.fiction.digits import cnpj as a_cnpj
from tests import records
from tests.records import NAME, a_company, a_registration, a_zone_record, registrations
from tests.service import Reply, Service

OLD_NAME = "GUARDADA LTDA"
A_MILLISECOND = 1 / 86_400_000

SAYS = ("finds", "fails", "is_down", "says_absent")

# A document for each entry and each thing the source may say, so that one world has them all.
PLACES = range(9 * len(SAYS))


def a_cpf(nine: str) -> str:
    """Return the valid CPF of these nine digits."""
    return next(nine + f"{n:02}" for n in range(100) if stdnum_cpf.is_valid(nine + f"{n:02}"))


CNPJS = tuple(a_cnpj(f"9003{place:04}", "0001") for place in PLACES)
CPFS = tuple(a_cpf(f"9003{place:05}") for place in PLACES)


class Operation(NamedTuple):
    """One operation's rules by the specification."""

    subject: Subject
    path: Callable[..., str]
    documents: tuple[str, ...]
    default_days: int  # contract 2.4
    absent_code: str | None  # contract 3; a person is never absent
    error_fallback: bool
    tells_is_cache: bool  # specification, "Common envelope"


OPERATIONS = {
    "company": Operation("company", records.company, CNPJS, 7, "CNPJ_NAO_ENCONTRADO", False, False),
    "sintegra": Operation(
        "state_registration", records.sintegra, CNPJS, 7, "CNPJ_NAO_ENCONTRADO", True, True
    ),
    "producer": Operation("rural_producer", records.producer, CPFS, 7, None, True, True),
    "suframa": Operation(
        "suframa", records.suframa, CNPJS, 25, "INSCRICAO_NAO_ENCONTRADA", False, False
    ),
}

# The entries: how old, and the `cache` that is sent. Ages are in days; "limit" is the default.
ENTRIES: Mapping[str, tuple[float | str | None, int | None]] = {
    "none": (None, None),
    "fresh": (1.0, None),
    "at the limit": ("limit", None),
    "just over": ("over", None),
    "very old": (400.0, None),
    "at cache=2": (2.0, 2),
    "over cache=2": (2.0 + A_MILLISECOND, 2),
    "new, cache=0": (0.0, 0),
    "young, cache=0": (1.0, 0),
}

# Per entry, in the order above:
#   C  from the cache, no source is asked
#   F  the source is asked; when it fails, the entry is delivered
#   O  the source is asked; when it fails, that is the answer
TABLE: Mapping[tuple[str | None, bool], str] = {
    # strategy, error_fallback    none fresh limit over old  =2  >2 new=0 young=0
    ("CACHE_SE_EXISTIR", False): " O    C     C    C    C   C   C   C     C",
    ("CACHE_SE_EXISTIR", True): "  O    C     C    C    C   C   C   C     C",
    ("CACHE_PREFERENCIAL", False): "O   C     C    O    O   C   O   O     O",
    ("CACHE_PREFERENCIAL", True): " O   C     C    F    F   C   F   F     F",
    ("SO_ONLINE", False): "        O    O     O    O    O   O   O   O     O",
    ("SO_ONLINE", True): "         O    F     F    F    F   F   F   F     F",
    ("ONLINE_PREFERENCIAL", False): "O  F     F    O    O   F   O   O     O",
    ("ONLINE_PREFERENCIAL", True): " O  F     F    F    F   F   F   F     F",
    (None, False): "               O    C     C    O    O   C   O   O     O",  # suframa
}
STRATEGIES = ("CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL")


class Expected(NamedTuple):
    """The expected outcome of one request."""

    origin: str | None
    status: int
    code: str | None
    credits: int
    is_cache: bool | None  # None: the operation does not tell, or it is an error
    cache_status: str  # hit, forwarded, or none
    age_seconds: int | None
    name: str | None  # the old entry's or the source's
    asked: int
    entry_afterwards: str  # none, old, new


def days_of(operation: Operation, entry: str) -> float | None:
    days = ENTRIES[entry][0]
    match days:
        case "limit":
            return float(operation.default_days)
        case "over":
            return operation.default_days + A_MILLISECOND
        case _:
            assert not isinstance(days, str)
            return days


def expected(operation: Operation, entry: str, letter: str, says: str) -> Expected:
    days = days_of(operation, entry)
    left = "none" if days is None else "old"
    if letter == "C" or (letter == "F" and says in ("fails", "is_down")):
        assert days is not None
        return Expected(
            "cache",
            200,
            None,
            1,  # "cache, online ... 1 per request"; suframa 1; 1 per UF (contract 5.2)
            True if operation.tells_is_cache else None,
            "hit",
            int(days * 86_400),
            OLD_NAME,
            0 if letter == "C" else 1,
            "old",
        )
    match says:
        case "finds":
            body = False if operation.tells_is_cache else None
            return Expected("online", 200, None, 1, body, "forwarded", 0, NAME, 1, "new")
        case "fails":  # "a source that was asked and failed" (contract 3)
            status, code = 500, "ERRO_INTERNO"
        case "is_down":
            status, code = 503, "SERVICO_INDISPONIVEL"
        case _:
            assert operation.absent_code is not None
            status, code = 404, operation.absent_code
    return Expected(None, status, code, 0, None, "none", None, None, 1, left)


def a_record(operation: Operation, document: str, name: str) -> Record:
    match operation.subject:
        case "company":
            return a_company(document, nome_empresarial=name)
        case "suframa":
            return a_zone_record(document, nome=name)
    return registrations(document, "SP", a_registration(), nome=name)


def an_inquiry(operation: Operation, document: str) -> Inquiry:
    if operation.subject == "rural_producer":
        return Inquiry(operation.subject, Cpf.parse(document), "SP")
    uf = "SP" if operation.subject == "state_registration" else None
    return Inquiry(operation.subject, Cnpj.parse(document), uf)


def name_in(body: Any) -> str | None:
    text: str | None = (
        (body.get("response") or {}).get("nome_empresarial")
        or body.get("razao_social")
        or body.get("nome")
    )
    return text


def cache_status_of(answer: Reply) -> str:
    """RFC 9211: `hit`, or forwarded for a reason."""
    header = answer.headers.get("cache-status")
    if header is None:
        return "none"
    parts = [part.strip() for part in header.split(";")]
    forwarded = any(part.startswith("fwd=") for part in parts)
    assert ("hit" in parts) != forwarded
    return "forwarded" if forwarded else "hit"


def seen(
    world: Service, operation: Operation, document: str, entry: str, query: list[str]
) -> Expected:
    days, cache = days_of(operation, entry), ENTRIES[entry][1]
    if days is not None:
        world.keep(a_record(operation, document, OLD_NAME), days=days)
    inquiry = an_inquiry(operation, document)
    before, asked_before = world.kept(inquiry), world.source.asked
    if cache is not None:
        query = [*query, f"cache={cache}"]

    answer = world.get(operation.path(document, "&".join(["uf=SP", *query])))

    after = world.kept(inquiry)
    if after is None:
        left = "none"
    elif after == before:
        left = "old"
    else:
        assert NAME.encode() in after.body
        assert after.asked_ms == world.clock()
        left = "new"
    charge = {each.request_id: each for each in world.charges()}.get(answer.json["request_id"])
    assert (charge.credits if charge else 0) == -answer.credits
    result = answer.status == 200
    return Expected(
        charge.origin if charge else None,
        answer.status,
        answer.code,
        answer.credits,
        answer.json.get("is_cache") if result else None,
        cache_status_of(answer),
        int(answer.headers["age"]) if "age" in answer.headers else None,
        name_in(answer.json) if result else None,
        world.source.asked - asked_before,
        left,
    )


def assert_outcomes(
    world: Service, operation: Operation, row: str, query: list[str], says: tuple[str, ...] = SAYS
) -> None:
    """Check each entry of the row with each outcome of the source."""
    documents = iter(operation.documents)
    spent = 0
    for say in says:
        if say == "says_absent" and operation.absent_code is None:
            continue
        getattr(world.source, say)()
        for entry, letter in zip(ENTRIES, row.split(), strict=True):
            fate = seen(world, operation, next(documents), entry, query)
            assert fate == expected(operation, entry, letter, say), (entry, say)
            spent += fate.credits
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000 - spent, 0)
    assert not world.check().complaints


CASES = [
    (name, strategy, fallback)
    for name in OPERATIONS
    for strategy in ((None,) if name == "suframa" else STRATEGIES)
    for fallback in (False, True)
]


@pytest.mark.parametrize(("name", "strategy", "fallback"), CASES)
def test_the_table(world: Service, name: str, strategy: str | None, fallback: bool) -> None:
    """Each combination has the specified origin, price, status and traces."""
    operation = OPERATIONS[name]
    query = [] if strategy is None else [f"cache_strategy={strategy}"]
    if fallback:
        query.append("error_fallback=true")
    # Where it is no parameter it is ignored like any unknown one (contract 2.6).
    row = TABLE[strategy, fallback and operation.error_fallback]

    assert_outcomes(world, operation, row, query)


@pytest.mark.parametrize("name", ["company", "sintegra", "producer"])
def test_online_is_preferred_by_default(world: Service, name: str) -> None:
    """`uf` alone equals ONLINE_PREFERENCIAL, 7 days and no `error_fallback`."""
    assert_outcomes(world, OPERATIONS[name], TABLE["ONLINE_PREFERENCIAL", False], [])


@pytest.mark.parametrize("strategy", [*STRATEGIES, "SO_CACHE", "NADA"])
def test_suframa_has_no_strategy(world: Service, strategy: str) -> None:
    """On Suframa `cache_strategy` is an unknown parameter, with any value."""
    query = [f"cache_strategy={strategy}"]
    assert_outcomes(world, OPERATIONS["suframa"], TABLE[None, False], query, ("finds",))


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_age_counts_from_when_the_source_was_asked(world: Service, name: str) -> None:
    """An answer that took ten minutes is ten minutes old when it is stored (contract 4.1)."""
    operation = OPERATIONS[name]
    document = operation.documents[0]
    began = world.clock()

    async def scenario() -> None:
        world.source.waits()
        task = world.begin(operation.path(document, "uf=SP"))
        await world.until(lambda: world.source.asked == 1)
        world.clock.advance(seconds=600)
        world.source.answers_now()
        assert (await task).status == 200

    world.run(scenario())
    kept = world.kept(an_inquiry(operation, document))
    assert kept is not None
    assert kept.asked_ms == began


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_absence_that_proves_nothing_is_a_failure(world: Service, name: str) -> None:
    """A 404 proves absence only where its documentation says so (contract 3)."""
    operation = OPERATIONS[name]
    world.source.says_absent(conclusive=False)

    answer = world.get(operation.path(operation.documents[0], "uf=SP&cache=0"))

    assert answer.status in (500, 503)
    assert answer.credits == 0
    assert world.kept(an_inquiry(operation, operation.documents[0])) is None
