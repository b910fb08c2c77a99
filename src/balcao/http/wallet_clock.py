"""`/carteira/v1/relogio`: the clock of a test account's portfolio (contract 20.8)."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Literal

import msgspec

from balcao.core import errors
from balcao.core.budgets import iso_instant
from balcao.core.described import described, doc
from balcao.core.portfolio_clock import DAYS_MAX, PortfolioClock
from balcao.http.contents import Json, RequestBody
from balcao.http.creating import CREATION_KEY, Creation
from balcao.http.json_bodies import JSON_BODY, body_of, free_answer, instant_of
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import TAG_WALLET
from balcao.lookup.context import Parts

_ADDRESS = "/carteira/v1/relogio"


@described("AvancoDoRelogio", "Até quando o relógio deve avançar.")
class ClockBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body that moves the clock."""

    ate: Annotated[datetime, doc(f"Um momento depois de agora, no máximo {DAYS_MAX} dias.")]


@described("RespostaRelogio", "O relógio da carteira de teste.")
class ClockAnswer(msgspec.Struct, frozen=True):
    """The clock of a portfolio."""

    agora: Annotated[str, doc("A hora da carteira.", format="date-time")]
    estado: Annotated[Literal["parado", "avancando"], doc("Se ele está avançando.")]
    real: Annotated[bool, doc("Se a carteira está na hora real.")]


_CLOCK = Json(ClockAnswer("2026-08-23T10:00:00.000-03:00", "parado", real=False), envelope=True)
_Route = partial(Route, _ADDRESS, "carteira_relogio", needs_key=True, tag=TAG_WALLET)
_LIVE = " Só contas de teste têm relógio; nas outras, 404."


@dataclass(frozen=True, slots=True)
class WalletClockRoutes:
    """The routes of the clock."""

    parts: Parts

    @_Route(
        id="relogio_da_carteira",
        summary="Consultar relógio de teste",
        text=f"A hora da carteira e se o relógio está avançando.{_LIVE}",
        gives=[_CLOCK],
        problems=(errors.RouteNotFound, errors.StorageFailed),
    )
    async def show(self, request: Request) -> Answer:
        """Return the clock."""
        _require_test(request)
        clock = await self.parts.desk.portfolio_clocks.find(request.account_id)
        return self._answer(clock)

    @_Route(
        method="POST",
        body=JSON_BODY,
        id="avancar_relogio",
        summary="Avançar relógio de teste",
        text=(
            "Avança o relógio da carteira. Tudo o que venceria no caminho acontece, em ordem:"
            " reconsultas, renovações, avisos e meses da sandbox. Cada evento traz em `em` a hora"
            " da carteira, e `carteira.relogio` é o último. As compras são cobradas em créditos de"
            f" teste.{_LIVE}"
        ),
        parameters=(CREATION_KEY,),
        takes=RequestBody(
            [Json(ClockBody(datetime.fromisoformat("2026-08-23T10:00:00.000-03:00")))]
        ),
        gives=[
            Json(
                ClockAnswer("2026-08-08T10:00:00.000-03:00", "avancando", real=False),
                envelope=True,
            )
        ],
        status=202,
        problems=(
            errors.RouteNotFound,
            errors.InvalidParameter,
            errors.InvalidBody,
            errors.UnsupportedMediaType,
            errors.ClockMoving,
            errors.InvalidIdempotencyKey,
            errors.IdempotencyKeyReused,
            errors.StillRunning,
            errors.RepeatedParameter,
            errors.StorageFailed,
            errors.CommitUncertain,
        ),
    )
    async def move(self, request: Request) -> Answer:
        """Let the clock move."""
        _require_test(request)
        until_ms = instant_of("ate", body_of(request, ClockBody).ate)
        clocks, account_id = self.parts.desk.portfolio_clocks, request.account_id
        return await Creation(self.parts).once(
            request,
            lambda keep: clocks.move(account_id, until_ms, self.parts.now_ms(), keep),
            partial(self._answer, status=202),
        )

    @_Route(
        method="DELETE",
        id="devolver_relogio",
        summary="Voltar à hora real",
        text=(
            "Devolve a carteira à hora real. Certidões e eventos feitos com o relógio são"
            f" esquecidos; a `sequencia` dos itens continua de onde está.{_LIVE}"
        ),
        gives=[Json(ClockAnswer("2026-08-08T10:00:00.000-03:00", "parado", True), envelope=True)],
        problems=(
            errors.RouteNotFound,
            errors.ClockMoving,
            errors.StorageFailed,
            errors.CommitUncertain,
        ),
    )
    async def give_up(self, request: Request) -> Answer:
        """Return the portfolio to the real time."""
        _require_test(request)
        await self.parts.desk.portfolio_clocks.give_up(request.account_id)
        return self._answer(None)

    def _answer(self, clock: PortfolioClock | None, status: int = 200) -> Answer:
        now_ms = self.parts.now_ms() if clock is None else clock.now_ms
        moving = clock is not None and clock.until_ms is not None
        return free_answer(
            ClockAnswer(
                iso_instant(now_ms) or "", "avancando" if moving else "parado", clock is None
            ),
            status,
        )


def _require_test(request: Request) -> None:
    """Raise `RouteNotFound` for live accounts."""
    assert request.caller is not None, "the route wants a key"
    if request.caller.mode != "test":
        raise errors.RouteNotFound
