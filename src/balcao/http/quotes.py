"""What a lookup would cost: `/cotacoes/v2/` and then just what the lookup itself is sent.

Decisions 10.1. Nobody is asked and nothing is charged; it counts against the limits, or else it
would be a free look into the cache that all clients share.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import msgspec

from balcao.core.access import Account
from balcao.core.calendar import civil_month, from_ms, next_month_ms
from balcao.core.ledger import available_credits, spent_credits
from balcao.core.outcomes import Quote, Way
from balcao.core.problems import problem_of
from balcao.core.questions import Mode, Question, Subject
from balcao.errors import CeilingOfRequest, InsufficientCredits
from balcao.http.lookup_request import read_lookup
from balcao.http.read import Request
from balcao.http.routes import Answer, Route, paths_of
from balcao.lookup.context import Parts
from balcao.lookup.quoting import quote
from balcao.observability.health import ALL_UFS, Standing
from balcao.operations import tariff
from balcao.operations.contract import Operation

PREFIX = "/cotacoes/v2/"

_DAY_MS = 86_400_000

WAYS: Mapping[Way, str] = {
    "own": "proprio",
    "cache": "cache",
    "source": "fonte",
    "mixed": "misto",
}
STANDINGS: Mapping[Standing, str] = {
    "ok": "respondendo",
    "degraded": "instavel",
    "down": "parada",
    "quiet": "desconhecida",
}
_HEADERS = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-creditos-cobrados", b"0"),
]

_encode = msgspec.json.Encoder().encode

# How a source is at this moment: of this mode, for this source, subject and UF.
StandingNow: TypeAlias = Callable[[Mode, str, Subject, str], Standing]


class Source(msgspec.Struct, frozen=True):
    """One of those who may be asked."""

    nome: str
    estado: str


class Ceiling(msgspec.Struct, frozen=True):
    """What may be spent in all, of which this lookup would be a part."""

    de: str
    teto: int
    usado: int
    reservado: int
    resta: int
    volta_em: str | None


class QuoteAnswer(msgspec.Struct, frozen=True):
    """The body, but for its number."""

    success: bool
    error: bool
    operacao: str
    creditos_min: int
    creditos_max: int
    exato: bool
    caminho: str
    regra: str | None
    idade_dias: int | None
    valida_ate: str | None
    fontes: Sequence[Source]
    saldo_apos_maximo: int | None
    tetos: Sequence[Ceiling]
    recusa: str | None
    cotado_em: str


@dataclass(frozen=True, slots=True)
class Quotes:
    """One address an operation."""

    parts: Parts
    standing: StandingNow

    def routes(self) -> Sequence[Route]:
        """What the front serves."""
        return [
            Route(
                path, "cotacao", partial(self.quoted, operation), needs_key=True, quotes=operation
            )
            for operation in self.parts.operations.values()
            for path in paths_of(operation, PREFIX)
        ]

    async def quoted(self, operation: Operation, request: Request) -> Answer:
        """The answer. Raises what the lookup would be refused for as it was sent."""
        caller = request.caller
        assert caller is not None
        sent = read_lookup(operation, request.rest, request, caller)
        said = await quote(sent.question, caller, self.parts)
        now_ms = self.parts.now_ms()
        account = self.parts.desk.account(caller.account_id)
        available = available_credits(account, civil_month(now_ms))
        age_ms = None if said.asked_ms is None else max(0, now_ms - said.asked_ms)
        answer = QuoteAnswer(
            success=True,
            error=False,
            operacao=operation.path,
            creditos_min=said.least,
            creditos_max=said.greatest,
            exato=said.exact,
            caminho=WAYS[said.way],
            regra=tariff.sentence(said.rule),
            idade_dias=None if age_ms is None else age_ms // _DAY_MS,
            valida_ate=said.validity,
            fontes=self._sources(sent.question, caller.mode),
            saldo_apos_maximo=None if available is None else available - said.greatest,
            tetos=_ceilings(account, now_ms),
            recusa=_refusal(said, sent.credits_max, available),
            cotado_em=from_ms(now_ms).isoformat(timespec="milliseconds"),
        )
        return 200, _HEADERS, _encode(answer)

    def _sources(self, question: Question, mode: Mode) -> Sequence[Source]:
        sources = self.parts.environments[mode].sources
        standings: dict[str, set[Standing]] = {}
        for inquiry in question.inquiries:
            for name in sources.who_is_asked(inquiry):
                known = standings.setdefault(name, set())
                for uf in {inquiry.uf or "", ALL_UFS if inquiry.uf else ""}:
                    known.add(self.standing(mode, name, question.subject, uf))
        return [Source(name, STANDINGS[_in_a_word(known)]) for name, known in standings.items()]


def _in_a_word(known: Collection[Standing]) -> Standing:
    """Of one source that may be asked about several UFs."""
    spoken = set(known) - {"quiet"}
    if len(spoken) > 1:
        return "degraded"
    return spoken.pop() if spoken else "quiet"


def _ceilings(account: Account, now_ms: int) -> Sequence[Ceiling]:
    """The account's own, where it has one; no account has more than one yet."""
    if account.ceiling_credits is None:
        return ()
    month = civil_month(now_ms)
    spent = spent_credits(account, month)
    return (
        Ceiling(
            de="conta",
            teto=account.ceiling_credits,
            usado=spent,
            reservado=account.held_credits,
            resta=account.ceiling_credits - spent - account.held_credits,
            volta_em=from_ms(next_month_ms(now_ms)).isoformat(timespec="milliseconds"),
        ),
    )


def _refusal(said: Quote, credits_max: int | None, available: int | None) -> str | None:
    """The code that the lookup would be told now instead of a result."""
    if said.code is not None or said.secret:
        return said.code
    if credits_max is not None and said.greatest > credits_max:
        return problem_of(CeilingOfRequest(said.greatest, credits_max)).code
    if available is not None and said.greatest > available:
        return problem_of(InsufficientCredits(said.greatest, available)).code
    return None
