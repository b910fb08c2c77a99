"""Company search: `/buscas/v1/empresas`, its count, and `/buscas/v1/socios` (decisions 14).

Charged like a lookup whose answer is at hand: the price and the recorded answer in one commit, then
the answer. What was searched for is kept nowhere but under an idempotency key.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Annotated, Protocol, TypeAlias

import msgspec

from balcao.core import idempotency
from balcao.core.access import Caller
from balcao.core.calendar import HOUR_MS, civil_day
from balcao.core.company import Coded
from balcao.core.described import described, said
from balcao.core.errors import (
    CeilingOfRequest,
    InvalidIdempotencyKey,
    PeopleNotEnabled,
    RepeatedParameter,
    StillRunning,
)
from balcao.core.idempotency import Recorded, is_valid_key
from balcao.core.ledger import Change, Charge, Finish, KeyBound
from balcao.core.outcomes import Reply
from balcao.core.questions import Mode
from balcao.core.search import (
    NAMES,
    PARTNER_NAMES,
    Filters,
    HitCount,
    PartnerFilters,
    read_filters,
    read_limit,
    read_partner,
)
from balcao.core.search_answers import CompaniesPage, CompanyFound, PartnerFound, PartnersPage
from balcao.core.tariff import SEARCH_COUNT, SEARCH_PAGE, SEARCH_PARTNERS
from balcao.http.read import Request
from balcao.http.routes import Route
from balcao.lookup.admission import AdmissionControl
from balcao.lookup.booking import told_of
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId
from balcao.operations.parameters import CREDITS_MAX, Parameters
from balcao.storage.desk.desk import Desk

PREFIX = "/buscas/v1/"
COMPANIES, COUNT, PARTNERS = "empresas", "empresas/contagem", "socios"
# As the ledger and the statement have them.
OPERATIONS = {
    COMPANIES: "busca-de-empresas",
    COUNT: "contagem-de-empresas",
    PARTNERS: "busca-de-socios",
}
_HEADERS = frozenset({b"idempotency-key", b"x-creditos-maximos"})
# At once, of all accounts and of one: the others wait for less than a second.
_PLACES, _PLACES_PER_ACCOUNT = 32, 8

# In both answers about companies (decisions 14.4).
_PeopleIncluded: TypeAlias = Annotated[
    bool,
    said(
        "`false`: sem empresários individuais, MEI nem outras pessoas físicas, que só"
        " `pessoas=true` inclui."
    ),
]

_encode = msgspec.json.Encoder(decimal_format="number").encode


class Searcher(Protocol):
    """Who looks. Raises `SearchUnavailable` where the month in use has no index."""

    async def companies(
        self, mode: Mode, filters: Filters, cursor: str | None, limit: int
    ) -> CompaniesPage:
        """One page. Raises `InvalidParameter`, `CursorOfAnotherMonth`."""

    async def count(self, mode: Mode, filters: Filters) -> HitCount:
        """How many there are. Raises `InvalidParameter`."""

    async def partners(self, mode: Mode, filters: PartnerFilters, limit: int) -> PartnersPage:
        """The first partners of that name or document."""


@described("RespostaBuscaEmpresas", "Uma página de uma busca.")
class CompaniesAnswer(msgspec.Struct, frozen=True):
    """The body."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    itens: Annotated[
        Sequence[CompanyFound],
        said("Em ordem de CNPJ; com `q` sozinho, os mais relevantes primeiro."),
    ]
    parcial: Annotated[
        bool, said("`true`: a página levaria tempo demais e veio curta; siga com `cursor`.")
    ]
    cursor: Annotated[str | None, said("Para a página seguinte; nulo na última.")]
    competencia: Annotated[str, said("Mês dos dados, `AAAA-MM`.")]
    data_base: Annotated[str, said("Dia dos dados.", format="date")]
    inclui_pessoas: _PeopleIncluded


@described("RespostaContagem", "Quantos estabelecimentos atendem aos filtros.")
class CountAnswer(msgspec.Struct, frozen=True):
    """The body."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    total: Annotated[int, said("Quantos são; se não `exato`, ao menos estes.", minimum=0)]
    exato: Annotated[bool, said("`false`: são mais do que se conta, ou mais do que se pôde ver.")]
    inclui_pessoas: _PeopleIncluded


@described("RespostaBuscaSocios", "Sócios com um nome ou documento, e as suas empresas.")
class PartnersAnswer(msgspec.Struct, frozen=True):
    """The body."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    itens: Annotated[Sequence[PartnerFound], said("No máximo 100, em ordem de CNPJ.")]
    parcial: Annotated[bool, said("`true`: há, ou pode haver, mais do que isto.")]
    competencia: Annotated[str, said("Mês dos dados, `AAAA-MM`.")]
    data_base: Annotated[str, said("Dia dos dados.", format="date")]


AnySearchAnswer: TypeAlias = CompaniesAnswer | CountAnswer | PartnersAnswer

_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8"
EXAMPLES: dict[str, AnySearchAnswer] = {
    COMPANIES: CompaniesAnswer(
        _ID,
        True,
        False,
        [
            CompanyFound(
                cnpj="90010002000154",
                nome_empresarial="PADARIA FICTICIA LTDA",
                nome_fantasia="PADARIA DA PRACA",
                situacao="ATIVA",
                data_situacao="2015-03-02",
                uf="SP",
                municipio="SAO PAULO",
                cnae_principal=Coded("4721102", "Padaria e confeitaria"),
                natureza=Coded("2062", "Sociedade Empresária Limitada"),
                porte="MICRO EMPRESA",
                data_de_abertura="2015-03-02",
                matriz=True,
                capital_social=Decimal("10000.00"),
            )
        ],
        False,
        "5f0c19ab.c48211",
        "2026-08",
        "2026-08-08",
        inclui_pessoas=False,
    ),
    COUNT: CountAnswer(_ID, True, False, 4_213, True, inclui_pessoas=False),
    PARTNERS: PartnersAnswer(
        _ID,
        True,
        False,
        [
            PartnerFound(
                nome="FULANA FICTICIA",
                documento="***222333**",
                qualificacao="Sócio-Administrador",
                data_de_entrada="2016-06-16",
                cnpj="90010002000154",
                nome_empresarial="PADARIA FICTICIA LTDA",
            )
        ],
        False,
        "2026-08",
        "2026-08-08",
    ),
}


class _Sought(msgspec.Struct, frozen=True):
    """What is said in the end, and whether there is anything to pay for."""

    answer: AnySearchAnswer
    found: bool
    asked_day: str | None = None


_Seek: TypeAlias = Callable[[Caller, Parameters, str], Awaitable[_Sought]]


@dataclass(frozen=True, slots=True)
class Searches:
    """The three addresses."""

    desk: Desk
    searcher: Searcher
    now_ms: Callable[[], int]
    price_credits: int
    idempotency_hours: int
    surely_past_ms: Callable[[], int]
    places: AdmissionControl = field(
        default_factory=lambda: AdmissionControl(_PLACES, _PLACES_PER_ACCOUNT, 1)
    )

    def routes(self) -> Sequence[Route]:
        """What the front serves."""
        return [
            Route(
                PREFIX + path,
                operation,
                partial(self.answer, path),
                ("GET",),
                needs_key=True,
                charged=True,
            )
            for path, operation in OPERATIONS.items()
        ]

    async def answer(self, path: str, request: Request, beside: Sequence[Change] = ()) -> Reply:
        """Look, charge, answer. `path`: one of the three, below `PREFIX`; `beside`: what shares
        the commit that records the answer.

        Raises `CallerError`, `SearchUnavailable`, `StorageFailed`.
        """
        rule, seek, own_names = self._served(path)
        operation, names = OPERATIONS[path], (*own_names, CREDITS_MAX.name)
        caller = request.caller
        assert caller is not None, "the route takes requests without a key"
        for name in request.repeated:
            if name in _HEADERS:
                raise RepeatedParameter(f"O cabeçalho {name.decode()} foi enviado mais de uma vez.")
        sent = Parameters(request.query, request.headers, names)
        credits_max = CREDITS_MAX.read(sent)
        once = self._once(operation, names, sent, caller)
        if once is not None and (replayed := await self._replay(once)) is not None:
            return replayed
        at_ms = self.now_ms()
        today = civil_day(at_ms).isoformat()
        if credits_max is not None and self.price_credits > credits_max:
            # Before anything is read; but what makes no sense is said first.
            self._judge(names, sent, today)
            raise CeilingOfRequest(self.price_credits, credits_max)
        with self.places.place(caller):
            sought = await seek(caller, sent, today)
        price = self.price_credits if sought.found else 0
        body = _encode(msgspec.structs.replace(sought.answer, request_id=request.request_id))
        changes: list[Change] = []
        if price:
            changes.append(
                Charge(
                    caller.account_id,
                    caller.key_id,
                    request.request_id,
                    operation,
                    price,
                    rule,
                    "cache",
                    at_ms,
                )
            )
        if once is not None:
            recorded = Recorded(request.request_id, 200, body, at_ms)
            changes += (once.finish(recorded, at_ms, self.idempotency_hours), *beside)
        if changes and (declined := await self.desk.commit(changes)) is not None:
            if once is not None and isinstance(declined, KeyBound):
                if (replayed := await self._replay(once)) is not None:
                    return replayed
                raise StillRunning(idempotency.COMMIT_SECONDS)
            raise told_of(declined)
        return Reply(request.request_id, 200, body, price, "cache", asked_ms=at_ms)

    def _served(self, path: str) -> tuple[str, _Seek, Sequence[str]]:
        """The rule of its price, who looks, and what it may be sent."""
        if path == COMPANIES:
            return SEARCH_PAGE, self._companies, NAMES
        if path == COUNT:
            return SEARCH_COUNT, self._count, NAMES
        return SEARCH_PARTNERS, self._partners, PARTNER_NAMES

    def _judge(self, names: Sequence[str], sent: Parameters, today: str) -> None:
        if "q" in names:
            read_filters(sent.text, today)
        else:
            read_partner(sent.text)

    async def _companies(self, caller: Caller, sent: Parameters, today: str) -> _Sought:
        filters, limit = _allowed(read_filters(sent.text, today), caller), read_limit(sent.text)
        page = await self.searcher.companies(caller.mode, filters, sent.text("cursor"), limit)
        answer = CompaniesAnswer(
            "",
            True,
            False,
            page.itens,
            page.parcial,
            page.cursor,
            page.data_base[: len("AAAA-MM")],
            page.data_base,
            filters.people,
        )
        return _Sought(answer, bool(page.itens))

    async def _count(self, caller: Caller, sent: Parameters, today: str) -> _Sought:
        filters = _allowed(read_filters(sent.text, today), caller)
        tally = await self.searcher.count(caller.mode, filters)
        answer = CountAnswer("", True, False, tally.total, tally.exact, filters.people)
        return _Sought(answer, tally.total > 0)

    async def _partners(self, caller: Caller, sent: Parameters, today: str) -> _Sought:
        if not sees_people(caller):
            raise PeopleNotEnabled
        filters, limit = read_partner(sent.text), read_limit(sent.text)
        page = await self.searcher.partners(caller.mode, filters, limit)
        month = page.data_base[: len("AAAA-MM")]
        answer = PartnersAnswer("", True, False, page.itens, page.parcial, month, page.data_base)
        return _Sought(answer, bool(page.itens))

    def _once(
        self, operation: str, names: Sequence[str], sent: Parameters, caller: Caller
    ) -> "_Once | None":
        key = sent.header(b"idempotency-key")
        if key is None:
            return None
        if not is_valid_key(key):
            raise InvalidIdempotencyKey
        asked = [f"{name}={sent.text(name)}" for name in names if name != CREDITS_MAX.name]
        fingerprint = idempotency.digest("\n".join((operation, *asked)))
        return _Once(caller.account_id, idempotency.digest(key), fingerprint)

    async def _replay(self, once: "_Once") -> Reply | None:
        """The answer this very request was given before. Raises what forbids both (6.2, 6.3)."""
        attempt = await self.desk.earlier(
            once.account_id, once.key_digest, min(self.now_ms(), self.surely_past_ms())
        )
        recorded = idempotency.admit(attempt, once.fingerprint, self.now_ms(), 0)
        if recorded is None:
            return None
        return Reply(
            recorded.request_id,
            recorded.status,
            recorded.body,
            credits=0,
            origin="cache",
            asked_ms=recorded.fresh_ms,
            replayed=True,
        )


class _Once(msgspec.Struct, frozen=True):
    """An idempotency key, and what is asked with it."""

    account_id: int
    key_digest: str
    fingerprint: str

    def finish(self, recorded: Recorded, at_ms: int, hours: int) -> Finish:
        """What records the answer."""
        expires_ms = at_ms + hours * HOUR_MS
        return Finish(
            self.account_id, self.key_digest, self.fingerprint, recorded, at_ms, expires_ms
        )


def sees_people(caller: Caller) -> bool:
    """Whether natural persons are told of (decisions 14.4). Never to the free plan: nobody knows
    who they are.
    """
    return caller.partner_optin and caller.plan != "gratuito"


def _allowed(filters: Filters, caller: Caller) -> Filters:
    """Natural persons are for accounts that opted in (decisions 14.4).

    Asking for them alone is refused as asking for them too is: an answer would say that there are
    none.
    """
    if filters.about_people and not sees_people(caller):
        raise PeopleNotEnabled(filters.asks_people_by)
    return filters
