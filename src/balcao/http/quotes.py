"""`/cotacoes/v2/`: quotes of what a lookup would cost, with the lookup's own parameters.

Contract 10.1. No source is asked and nothing is charged. Quotes count against the limits, or they
would be a free view of the cache that all clients share.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import msgspec

from balcao.core import errors
from balcao.core.access import Account, Caller
from balcao.core.budgets import excess, iso_instant, owners_of
from balcao.core.calendar import civil_month, from_ms, next_month_ms
from balcao.core.described import described, doc
from balcao.core.freshness import DAY_MS
from balcao.core.ledger import RequestTags, available_credits, spent_credits
from balcao.core.outcomes import Quote, Way
from balcao.core.problems import problem_of
from balcao.http.contents import Json
from balcao.http.lookup_request import LookupRequest, read_lookup
from balcao.http.read import Request
from balcao.http.routes import Answer, Route, paths_of
from balcao.http.texts import TAG_QUOTES
from balcao.http.write import deprecation_headers
from balcao.lookup.admit import require_client
from balcao.lookup.billing import error_for
from balcao.lookup.context import Parts
from balcao.lookup.quoting import quote, unserved_code
from balcao.lookup.source_status import (
    QuotedSource,
    StatusReader,
    question_source_lines,
    quoted_sources,
)
from balcao.operations import tariff
from balcao.operations.contract import Operation
from balcao.operations.envelope import WITHOUT_ID, AlwaysFalse, AlwaysTrue, RequestId
from balcao.storage.desk.budgets import BudgetNow

PREFIX = "/cotacoes/v2/"

WAYS: Mapping[Way, Literal["proprio", "cache", "fonte", "misto"]] = {
    "own": "proprio",
    "cache": "cache",
    "source": "fonte",
    "mixed": "misto",
}
_HEADERS = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-creditos-cobrados", b"0"),
]

_encode = msgspec.json.Encoder().encode


@described("TetoCotado", "Um limite que se aplica à consulta.")
class QuotedCeiling(msgspec.Struct, frozen=True):
    """A ceiling that the lookup would count against, in credits."""

    de: Annotated[
        str,
        doc(
            "O dono do limite: `conta`, o limite mensal do pós-pago; `chave`, `cliente`, `lote`"
            " ou `carteira`, um orçamento."
        ),
    ]
    teto: Annotated[int, doc("O teto.")]
    usado: Annotated[int, doc("Créditos gastos no período.")]
    reservado: Annotated[int, doc("Créditos reservados por consultas em andamento.")]
    resta: Annotated[int, doc("O valor restante.")]
    volta_em: Annotated[str | None, doc("Quando começa o próximo período.", format="date-time")]


@described("RespostaCotacao", "O preço atual da consulta.")
class QuoteAnswer(msgspec.Struct, frozen=True):
    """The body of a quote."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    operacao: Annotated[str, doc("Operação, como no endereço.")]
    creditos_min: Annotated[int, doc("Preço mínimo.", minimum=0)]
    creditos_max: Annotated[int, doc("Preço máximo.", minimum=0)]
    exato: Annotated[bool, doc("`true`: o mínimo e o máximo são iguais.")]
    caminho: Annotated[
        Literal["proprio", "cache", "fonte", "misto"],
        doc(
            "Origem prevista da resposta: cópia própria, resultado guardado, fonte ou mais de uma."
        ),
    ]
    regra: Annotated[
        str | None,
        doc("A regra da tabela de preços, se há um resultado guardado. Nulo nos demais casos."),
    ]
    idade_dias: Annotated[
        int | None, doc("Idade do resultado guardado, em dias inteiros. Nulo se não há.")
    ]
    valida_ate: Annotated[
        str | None,
        doc("Último dia de validade da certidão guardada. Nulo se não há.", format="date"),
    ]
    fontes: Annotated[
        Sequence[QuotedSource], doc("As fontes que podem ser consultadas, nesta ordem.")
    ]
    saldo_apos_maximo: Annotated[
        int | None,
        doc(
            "Créditos disponíveis menos o preço máximo. Negativo se faltam créditos. Nulo se a"
            " conta não tem limite."
        ),
    ]
    tetos: Annotated[Sequence[QuotedCeiling], doc("Os limites que se aplicam à consulta.")]
    recusa: Annotated[
        str | None,
        doc("O código de erro que a consulta receberia agora. Nulo se não houver erro previsto."),
    ]
    cotado_em: Annotated[str, doc("Quando isto valia.", format="date-time")]


_EXAMPLE = QuoteAnswer(
    request_id="0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8",
    success=True,
    error=False,
    operacao="certidao-negativa-de-debitos-federal",
    creditos_min=1,
    creditos_max=1,
    exato=True,
    caminho="cache",
    regra=tariff.sentence("federal_certificate/cache"),
    idade_dias=3,
    valida_ate="2026-12-17",
    fontes=(QuotedSource("fonte", "respondendo"),),
    saldo_apos_maximo=996,
    tetos=(),
    recusa=None,
    cotado_em="2026-08-08T10:15:30.120-03:00",
)


# Errors that the request of a quote is refused with, as the lookup's own would be; others are the
# field `recusa` of a quote.
_REFUSED = (
    errors.KeyRefused,
    errors.RateLimited,
    errors.RequestTooLarge,
    errors.AddressNotAllowed,
    errors.OperationNotAllowed,
    errors.CertificatesNotEnabled,
    errors.OptInNotEnabled,
    errors.InvalidCnpj,
    errors.InvalidCpf,
    errors.InvalidParameter,
    errors.RepeatedParameter,
    errors.TagWithCpf,
    errors.InvalidStrategy,
    errors.InvalidUf,
    errors.DocumentRequired,
    errors.DocumentsConflict,
    errors.BirthDateRequired,
    errors.InvalidBirthDate,
    errors.BirthDateInFuture,
    errors.ParametersConflict,
    errors.StorageFailed,
)


def quotes_of(
    operations: Iterable[Operation], handler: Callable[..., Awaitable[Answer]]
) -> Sequence[Route]:
    """Return the routes of the quotes of these operations; `handler` takes one, and the request."""
    return [
        Route(
            path,
            "cotacao",
            partial(handler, operation),
            needs_key=True,
            quotes=operation,
            id="" if path.endswith("/") else f"cotacao_{operation.path.replace('-', '_')}",
            tag=TAG_QUOTES,
            summary=f"Quanto custaria: {operation.title}",
            text=(
                "O preço atual da mesma consulta, com os mesmos parâmetros. Nada é consultado nem"
                " cobrado. Enquanto nada mudar, a cobrança fica entre o mínimo e o máximo, que"
                " são iguais quando `exato`. Para uma pessoa ainda não consultada por esta conta,"
                " traz só o intervalo."
            ),
            parameters=operation.parameters,
            gives=[Json(msgspec.structs.replace(_EXAMPLE, operacao=operation.path))],
            outcome="O preço atual da consulta.",
            problems=[kind for kind in operation.problems if issubclass(kind, _REFUSED)],
        )
        for operation in operations
        for path in paths_of(operation, PREFIX)
    ]


@dataclass(frozen=True, slots=True)
class Quotes:
    """The quotes of all operations."""

    parts: Parts
    now: StatusReader

    def routes(self) -> Sequence[Route]:
        return quotes_of(self.parts.operations.values(), self.quoted)

    async def quoted(self, operation: Operation, request: Request) -> Answer:
        """Answer with the quote. Raises the errors that refuse the lookup as it was sent."""
        caller, sent = _read(operation, request)
        deprecated = sent.question.deprecated
        if deprecated is not None:
            self.parts.count_deprecated(caller, deprecated)
        answer = await self._answer(operation, caller, sent)
        headers = [*_HEADERS, *deprecation_headers(deprecated)]
        return 200, headers, b"{" + _encode(answer).removeprefix(WITHOUT_ID)

    async def answer(self, operation: Operation, request: Request) -> QuoteAnswer:
        """Return the quote. Raises the errors that refuse the lookup as it was sent."""
        return await self._answer(operation, *_read(operation, request))

    async def _answer(
        self, operation: Operation, caller: Caller, sent: LookupRequest
    ) -> QuoteAnswer:
        quoted = await quote(sent.question, caller, self.parts)
        unserved = await unserved_code(sent.question, caller, self.parts, quoted)
        now_ms = self.parts.now_ms()
        account = self.parts.desk.account(caller.account_id)
        available = available_credits(account, civil_month(now_ms))
        owners = owners_of(caller.key_id, sent.tags.client, None)
        budgets = self.parts.desk.budgets.covering(
            caller.account_id, owners, operation.path, now_ms
        )
        lines = question_source_lines(self.parts.environments[caller.mode].sources, sent.question)
        age_ms = None if quoted.asked_ms is None else max(0, now_ms - quoted.asked_ms)
        return QuoteAnswer(
            request_id="",
            success=True,
            error=False,
            operacao=operation.path,
            creditos_min=quoted.least,
            creditos_max=quoted.greatest,
            exato=quoted.exact,
            caminho=WAYS[quoted.way],
            regra=tariff.sentence(quoted.rule),
            idade_dias=None if age_ms is None else age_ms // DAY_MS,
            valida_ate=quoted.validity,
            fontes=quoted_sources(lines, self.now(caller.mode, lines)),
            saldo_apos_maximo=None if available is None else available - quoted.greatest,
            tetos=[*_ceilings(account, now_ms), *filter(None, map(_of_budget, budgets))],
            recusa=_unnamed(caller, sent.tags)
            or _refusal(quoted, sent.credits_max, available, budgets)
            or unserved,
            cotado_em=from_ms(now_ms).isoformat(timespec="milliseconds"),
        )


def _read(operation: Operation, request: Request) -> tuple[Caller, LookupRequest]:
    caller = request.caller
    assert caller is not None
    return caller, read_lookup(operation, request.rest, request, caller, quoted=True)


def _of_budget(now: BudgetNow) -> QuotedCeiling | None:
    """Return a budget's ceiling; None: it does not count credits."""
    budget, use = now.budget, now.use
    if budget.credits_max is None:
        return None
    left = budget.credits_max - use.spent_credits - use.held_credits
    return QuotedCeiling(
        de=budget.owner_kind,
        teto=budget.credits_max,
        usado=use.spent_credits,
        reservado=use.held_credits,
        resta=max(0, left),
        volta_em=iso_instant(now.next_period_ms),
    )


def _ceilings(account: Account, now_ms: int) -> Sequence[QuotedCeiling]:
    """Return the account's own ceiling, if it has one."""
    if account.ceiling_credits is None:
        return ()
    month = civil_month(now_ms)
    spent = spent_credits(account, month)
    return (
        QuotedCeiling(
            de="conta",
            teto=account.ceiling_credits,
            usado=spent,
            reservado=account.held_credits,
            resta=account.ceiling_credits - spent - account.held_credits,
            volta_em=from_ms(next_month_ms(now_ms)).isoformat(timespec="milliseconds"),
        ),
    )


def _unnamed(caller: Caller, tags: RequestTags) -> str | None:
    """Return the error code of a lookup whose key requires an `X-Cliente`, if it has none."""
    try:
        require_client(caller, tags.client)
    except errors.ClientRequired as error:
        return problem_of(error).code
    return None


def _refusal(
    quoted: Quote,
    credits_max: int | None,
    available: int | None,
    budgets: Sequence[BudgetNow],
) -> str | None:
    """Return the code that the lookup would be refused with now."""
    if quoted.code is not None or quoted.secret:
        return quoted.code
    if credits_max is not None and quoted.greatest > credits_max:
        return problem_of(errors.CeilingOfRequest(quoted.greatest, credits_max)).code
    if available is not None and quoted.greatest > available:
        return problem_of(errors.InsufficientCredits(quoted.greatest, available)).code
    for now in budgets if quoted.greatest else ():  # what costs nothing counts against none
        if (refused := excess(now.budget, now.use, now.period, quoted.greatest)) is not None:
            return problem_of(error_for(refused)).code
    return None
