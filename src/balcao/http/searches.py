"""Company search: `/buscas/v1/empresas`, its count, and `/buscas/v1/socios` (contract 14).

Charged like a lookup from the cache: the charge and the recorded answer are one commit, and then
the answer is sent. Filters are stored nowhere but under an idempotency key.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Annotated, Protocol, TypeAlias

import msgspec

from balcao.core import errors, idempotency
from balcao.core.access import Caller
from balcao.core.calendar import HOUR_MS, civil_day
from balcao.core.company import Coded
from balcao.core.described import described, doc
from balcao.core.idempotency import RecordedAnswer, is_valid_key
from balcao.core.ledger import Change, Charge, Finish, KeyBound
from balcao.core.outcomes import Reply
from balcao.core.questions import Mode
from balcao.core.search import (
    LIMIT_MAX,
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
from balcao.http.contents import Json
from balcao.http.read import Request
from balcao.http.routes import IDEMPOTENCY_KEY, Route
from balcao.http.texts import TAG_SEARCHES, TEXT
from balcao.lookup.admission import AdmissionControl
from balcao.lookup.billing import error_for
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId
from balcao.operations.parameters import CREDITS_MAX, CREDITS_MAX_HEADER, Parameter, Parameters
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
# Concurrent searches of all accounts and of one account.
_PLACES, _PLACES_PER_ACCOUNT = 32, 8

# In both answers about companies (contract 14.4).
_PeopleIncluded: TypeAlias = Annotated[
    bool,
    doc(
        "`false`: sem empresários individuais, MEI e outras pessoas físicas, incluídos só com"
        " `pessoas=true`."
    ),
]

_encode = msgspec.json.Encoder(decimal_format="number").encode


class Searcher(Protocol):
    """A search engine. Raises `SearchUnavailable` if the month in use has no index."""

    async def companies(
        self, mode: Mode, filters: Filters, cursor: str | None, limit: int
    ) -> CompaniesPage:
        """Return one page. Raises `InvalidParameter`, `CursorOfAnotherMonth`."""

    async def count(self, mode: Mode, filters: Filters) -> HitCount:
        """Return the number of hits. Raises `InvalidParameter`."""

    async def counts(self, mode: Mode, several: Sequence[Filters]) -> Sequence[HitCount]:
        """Return the numbers of hits; of those that time did not suffice for, 0, not exact.

        Raises `InvalidParameter`.
        """

    async def partners(self, mode: Mode, filters: PartnerFilters, limit: int) -> PartnersPage:
        """Return the first partners of that name or document."""


@described("RespostaBuscaEmpresas", "Uma página de uma busca.")
class CompaniesAnswer(msgspec.Struct, frozen=True):
    """The page of a search."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    itens: Annotated[
        Sequence[CompanyFound],
        doc("Em ordem de CNPJ. Só com `q`, por relevância."),
    ]
    parcial: Annotated[
        bool,
        doc(
            "`true`: página parcial, porque a completa levaria tempo demais. Continue com `cursor`."
        ),
    ]
    cursor: Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]
    competencia: Annotated[str, doc("Mês dos dados, `AAAA-MM`.")]
    data_base: Annotated[str, doc("Dia dos dados.", format="date")]
    inclui_pessoas: _PeopleIncluded


@described("RespostaContagem", "Quantos estabelecimentos atendem aos filtros.")
class CountAnswer(msgspec.Struct, frozen=True):
    """The number of hits."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    total: Annotated[int, doc("O total. Se não `exato`, o mínimo.", minimum=0)]
    exato: Annotated[
        bool, doc("`false`: o total passa do máximo contado ou do que foi possível verificar.")
    ]
    inclui_pessoas: _PeopleIncluded


@described("RespostaBuscaSocios", "Sócios com um nome ou documento e as empresas deles.")
class PartnersAnswer(msgspec.Struct, frozen=True):
    """The partners found."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    itens: Annotated[Sequence[PartnerFound], doc("Até 100, em ordem de CNPJ.")]
    parcial: Annotated[bool, doc("`true`: há ou pode haver mais resultados.")]
    competencia: Annotated[str, doc("Mês dos dados, `AAAA-MM`.")]
    data_base: Annotated[str, doc("Dia dos dados.", format="date")]


AnySearchAnswer: TypeAlias = CompaniesAnswer | CountAnswer | PartnersAnswer

_REQUEST_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8"
_COMPANIES_EXAMPLE = CompaniesAnswer(
    _REQUEST_ID,
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
)
_COUNT_EXAMPLE = CountAnswer(_REQUEST_ID, True, False, 4_213, True, inclui_pessoas=False)
_PARTNERS_EXAMPLE = PartnersAnswer(
    _REQUEST_ID,
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
)

_DAY = {"type": "string", "format": "date"}
_FLAG = {"type": "boolean"}
_REAIS = {"type": "number", "minimum": 0}
_PARAMETERS = {
    each.name: each
    for each in (
        Parameter(
            "q",
            "Palavras do nome empresarial ou do nome fantasia, com ou sem acentos. A última pode"
            " terminar em `*`, depois de ao menos três letras.",
            TEXT,
            example="padaria pra*",
        ),
        Parameter("uf", "Siglas de UF; `EX`, exterior.", TEXT, example="SP"),
        Parameter(
            "municipio",
            "Nomes (com `uf`), códigos da Receita Federal (4 dígitos) ou do IBGE (7 dígitos).",
            TEXT,
        ),
        Parameter(
            "cnae",
            "Atividades principais ou secundárias, 7 dígitos. Os primeiros dígitos são as de uma"
            " divisão (2), um grupo (3) ou uma classe (5).",
            TEXT,
        ),
        Parameter(
            "cnae_principal", "Atividades principais, 7 dígitos ou os primeiros deles.", TEXT
        ),
        Parameter("divisao", "Divisões da atividade principal, 2 dígitos.", TEXT),
        Parameter("natureza", "Naturezas jurídicas, 4 dígitos.", TEXT),
        Parameter(
            "situacao", "`ATIVA`, `BAIXADA`, `INAPTA`, `SUSPENSA`, `NULA`.", TEXT, example="ATIVA"
        ),
        Parameter("motivo", "Motivos da situação, 2 dígitos.", TEXT),
        Parameter("porte", "`ME`, `EPP`, `DEMAIS`.", TEXT),
        Parameter("matriz", "`true`: só matrizes; `false`: só filiais.", _FLAG),
        Parameter("simples", "Optante pelo Simples Nacional.", _FLAG),
        Parameter(
            "mei",
            "Optante pelo MEI. `true` só para contas habilitadas a `pessoas`. Quase todos são"
            " empresários individuais, incluídos só com `pessoas=true`.",
            _FLAG,
        ),
        Parameter("ddd", "DDDs dos telefones.", TEXT),
        Parameter("dominio", "Domínios do e-mail de contato.", TEXT),
        Parameter("aberta_desde", "Primeiro dia de abertura.", _DAY),
        Parameter("aberta_ate", "Último dia de abertura.", _DAY),
        Parameter("situacao_desde", "Primeiro dia da situação cadastral.", _DAY),
        Parameter("situacao_ate", "Último dia da situação cadastral.", _DAY),
        Parameter("capital_min", "Menor capital social, em reais.", _REAIS),
        Parameter("capital_max", "Maior capital social, em reais.", _REAIS),
        Parameter("cep", "CEPs ou inícios de CEP: de 5 a 8 dígitos.", TEXT),
        Parameter("raiz", "Raízes de CNPJ, 8 caracteres.", TEXT),
        Parameter("pessoas", "Inclui pessoas físicas. Só para contas habilitadas.", _FLAG),
        Parameter("nome", "Palavras do nome do sócio.", TEXT),
        Parameter(
            "documento",
            "Os seis dígitos publicados de um CPF (`***456789**`), um CNPJ ou a sua raiz.",
            TEXT,
            example="***456789**",
        ),
        Parameter(
            "limite",
            "Resultados por página.",
            {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_MAX},
        ),
        Parameter("cursor", "O `cursor` da página anterior.", TEXT),
    )
}


def _parameters(names: Sequence[str]) -> Sequence[Parameter]:
    own = (_PARAMETERS[name] for name in names)
    return (*own, CREDITS_MAX, CREDITS_MAX_HEADER, IDEMPOTENCY_KEY)


_PROBLEMS = (
    errors.InvalidParameter,
    errors.RepeatedParameter,
    errors.FilterRequired,
    errors.InvalidIdempotencyKey,
    errors.IdempotencyKeyReused,
    errors.InsufficientCredits,
    errors.CeilingOfRequest,
    errors.PeopleNotEnabled,
    errors.StillRunning,
    errors.ResultUnavailable,
    errors.SearchUnavailable,
    errors.Overloaded,
    errors.StorageFailed,
    errors.CommitUncertain,
)
_SearchRoute = partial(Route, needs_key=True, charged=True, tag=TAG_SEARCHES)


class _Sought(msgspec.Struct, frozen=True):
    """An answer, and whether it has results: an empty one costs nothing."""

    answer: AnySearchAnswer
    found: bool
    asked_day: str | None = None


_Seek: TypeAlias = Callable[[Caller, Parameters, str], Awaitable[_Sought]]


@dataclass(frozen=True, slots=True)
class Searches:
    """The routes of the searches."""

    desk: Desk
    searcher: Searcher
    now_ms: Callable[[], int]
    price_credits: int
    idempotency_hours: int
    safe_past_ms: Callable[[], int]
    slots: AdmissionControl = field(
        default_factory=lambda: AdmissionControl(_PLACES, _PLACES_PER_ACCOUNT, 1)
    )

    @_SearchRoute(
        PREFIX + COMPANIES,
        OPERATIONS[COMPANIES],
        id="busca_de_empresas",
        summary="Busca de empresas",
        text=(
            "Os estabelecimentos do mês de dados abertos em uso que atendem a todos os filtros."
            " Informe ao menos um. Vários valores de um filtro, separados por vírgula, são"
            " alternativas. Em ordem de CNPJ; só com `q`, por relevância entre os primeiros"
            " 1.000. Empresários individuais (natureza 2135), MEI e outras pessoas físicas (4xxx)"
            " só com `pessoas=true`; `inclui_pessoas` informa se estão incluídos. Uma página com"
            " resultados custa o preço da busca (padrão: 1 crédito). Páginas vazias não são"
            " cobradas."
        ),
        parameters=_parameters(NAMES),
        gives=[Json(_COMPANIES_EXAMPLE)],
        problems=(*_PROBLEMS, errors.CursorOfAnotherMonth),
    )
    async def companies(self, request: Request) -> Reply:
        return await self.answer(COMPANIES, request)

    @_SearchRoute(
        PREFIX + COUNT,
        OPERATIONS[COUNT],
        id="contagem_de_empresas",
        summary="Contar empresas",
        text=(
            "O total de empresas com os mesmos filtros, exato até 10.000. Custa o preço da busca."
            " Contagens sem resultado não são cobradas."
        ),
        parameters=_parameters(NAMES),
        gives=[Json(_COUNT_EXAMPLE)],
        problems=_PROBLEMS,
    )
    async def count(self, request: Request) -> Reply:
        return await self.answer(COUNT, request)

    @_SearchRoute(
        PREFIX + PARTNERS,
        OPERATIONS[PARTNERS],
        id="busca_de_socios",
        summary="Busca de sócios",
        text=(
            "Busca sócios pelo nome ou pelos dígitos publicados do documento, para contas com a"
            " busca de pessoas habilitada. O CPF nunca mostra mais do que a Receita Federal"
            " publica. Custa o preço da busca se houver resultado."
        ),
        parameters=_parameters(PARTNER_NAMES),
        gives=[Json(_PARTNERS_EXAMPLE)],
        problems=_PROBLEMS,
    )
    async def partners(self, request: Request) -> Reply:
        return await self.answer(PARTNERS, request)

    async def answer(
        self, path: str, request: Request, other_changes: Sequence[Change] = ()
    ) -> Reply:
        """Search, charge and answer. `path`: one of the three, below `PREFIX`. `other_changes`:
        committed together with the charge.

        Raises `CallerError`, `SearchUnavailable`, `StorageFailed`.
        """
        rule, seek, own_names = self._served(path)
        operation, names = OPERATIONS[path], (*own_names, CREDITS_MAX.name)
        caller = request.caller
        assert caller is not None, "the route takes requests without a key"
        for name in request.repeated:
            if name in _HEADERS:
                raise errors.RepeatedParameter(
                    f"O cabeçalho {name.decode()} foi enviado mais de uma vez."
                )
        sent = Parameters(request.query, request.headers, names)
        credits_max = CREDITS_MAX.read(sent)
        once = self._once(operation, names, sent, caller)
        if once is not None and (replayed := await self._replay(once)) is not None:
            return replayed
        at_ms = self.now_ms()
        today = civil_day(at_ms).isoformat()
        if credits_max is not None and self.price_credits > credits_max:
            # Before the index is read; but errors in the filters come first.
            self._judge(names, sent, today)
            raise errors.CeilingOfRequest(self.price_credits, credits_max)
        with self.slots.slot(caller):
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
            recorded = RecordedAnswer(request.request_id, 200, body, at_ms)
            changes += (once.finish(recorded, at_ms, self.idempotency_hours), *other_changes)
        if changes and (declined := await self.desk.commit(changes)) is not None:
            if once is not None and isinstance(declined, KeyBound):
                if (replayed := await self._replay(once)) is not None:
                    return replayed
                raise errors.StillRunning(idempotency.COMMIT_SECONDS)
            raise error_for(declined)
        return Reply(request.request_id, 200, body, price, "cache", asked_ms=at_ms)

    async def counts(
        self, caller: Caller, several: Sequence[Mapping[str, str]]
    ) -> Sequence[HitCount]:
        """Count the hits of several filters, free of charge, for a page that was paid for.

        Raises `CallerError`, `SearchUnavailable`.
        """
        today = civil_day(self.now_ms()).isoformat()
        filters = [allowed(read_filters(each.get, today), caller) for each in several]
        with self.slots.slot(caller):
            return await self.searcher.counts(caller.mode, filters)

    def _served(self, path: str) -> tuple[str, _Seek, Sequence[str]]:
        """Return the tariff rule, the search and its parameters."""
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
        filters, limit = allowed(read_filters(sent.text, today), caller), read_limit(sent.text)
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
        filters = allowed(read_filters(sent.text, today), caller)
        tally = await self.searcher.count(caller.mode, filters)
        answer = CountAnswer("", True, False, tally.total, tally.exact, filters.people)
        return _Sought(answer, tally.total > 0)

    async def _partners(self, caller: Caller, sent: Parameters, today: str) -> _Sought:
        if not sees_people(caller):
            raise errors.PeopleNotEnabled
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
            raise errors.InvalidIdempotencyKey
        asked = [f"{name}={sent.text(name)}" for name in names if name != CREDITS_MAX.name]
        fingerprint = idempotency.digest("\n".join((operation, *asked)))
        return _Once(caller.account_id, idempotency.digest(key), fingerprint)

    async def _replay(self, once: "_Once") -> Reply | None:
        """Return the recorded answer of this request. Raises the errors of 6.2 and 6.3."""
        attempt = await self.desk.find_attempt(
            once.account_id, once.key_digest, min(self.now_ms(), self.safe_past_ms())
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
    """An idempotency key and the fingerprint of its request."""

    account_id: int
    key_digest: str
    fingerprint: str

    def finish(self, recorded: RecordedAnswer, at_ms: int, hours: int) -> Finish:
        """Return the change that records the answer."""
        expires_ms = at_ms + hours * HOUR_MS
        return Finish(
            self.account_id, self.key_digest, self.fingerprint, recorded, at_ms, expires_ms
        )


def sees_people(caller: Caller) -> bool:
    """Return whether results may include natural persons (contract 14.4).

    Never for the free plan, whose users are unknown.
    """
    return caller.partner_optin and caller.plan != "gratuito"


def allowed(filters: Filters, caller: Caller) -> Filters:
    """Refuse filters about natural persons to accounts that did not opt in (contract 14.4).

    A filter that selects only them is refused too: an empty answer would claim that there are none.
    """
    if filters.about_people and not sees_people(caller):
        raise errors.PeopleNotEnabled(filters.people_parameter)
    return filters
