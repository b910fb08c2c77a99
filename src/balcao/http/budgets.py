"""`/conta/v1/orcamentos`: an account's budgets, read and changed through its keys (decisions 12).

A key that administers sees and changes all of them; any other sees those of its own, which are the
only ones that tell nothing of what else the account does (12.2).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from balcao.core.access import Caller
from balcao.core.budgets import (
    MADE_WITH_OWNER,
    WARN_PERCENT,
    Budget,
    BudgetUse,
    OwnerKind,
    PeriodKind,
    checked,
    instant,
    period_of,
    usual_name,
    whose,
)
from balcao.core.errors import (
    BudgetNotFound,
    BudgetOfItsOwner,
    InvalidParameter,
    NotAdministering,
)
from balcao.core.people import signed_by
from balcao.http.account import PREFIX
from balcao.http.creating import Creation
from balcao.http.json_bodies import JSON_BODY, body_of, free_answer, page_of
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.lookup.context import Parts
from balcao.operations.parameters import read_marks
from balcao.storage.desk.budgets import BudgetNow

_ADDRESS = f"{PREFIX}orcamentos"


class OwnerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose a budget is: a key by its number, a client by its mark."""

    tipo: OwnerKind
    id: str | int | None = None
    valor: str | None = None


class NewBudgetBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a POST says."""

    de: OwnerBody
    periodo: PeriodKind
    nome: str = ""
    teto_creditos: int | None = None
    teto_consultas: int | None = None
    operacoes: tuple[str, ...] | None = None
    aviso_percentual: int = WARN_PERCENT


class ChangeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a PATCH says: what is not there stays as it is."""

    nome: str | msgspec.UnsetType = msgspec.UNSET
    teto_creditos: int | msgspec.UnsetType | None = msgspec.UNSET
    teto_consultas: int | msgspec.UnsetType | None = msgspec.UNSET
    operacoes: tuple[str, ...] | msgspec.UnsetType | None = msgspec.UNSET
    aviso_percentual: int | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class BudgetPages:
    """The two addresses."""

    parts: Parts
    new_id: Callable[[], str]

    def routes(self) -> Sequence[Route]:
        """What the front serves."""
        return (
            Route(
                _ADDRESS,
                "orcamentos",
                self.all,
                ("GET", "HEAD", "POST"),
                JSON_BODY,
                needs_key=True,
            ),
            Route(
                f"{_ADDRESS}/{{id}}",
                "orcamento",
                self.one,
                ("GET", "HEAD", "PATCH", "DELETE"),
                JSON_BODY,
                needs_key=True,
            ),
        )

    async def all(self, request: Request) -> Answer:
        """The list, or a new one."""
        return await self._make(request) if request.method == "POST" else self._list(request)

    async def one(self, request: Request) -> Answer:
        """One of them: read, changed or removed."""
        caller = _caller(request)
        now = self.parts.desk.budgets.one(caller.account_id, request.rest, self.parts.now_ms())
        if not _may_see(caller, now.budget):
            raise BudgetNotFound
        if request.method in {"GET", "HEAD"}:
            return free_answer(fields_of(now))
        _refuse_who_does_not_administer(caller)
        return await (self._change if request.method == "PATCH" else self._end)(request, now)

    def _list(self, request: Request) -> Answer:
        caller, page = _caller(request), page_of(request)
        owner: tuple[OwnerKind, str] | None = None
        if not caller.administers:
            owner = "chave", str(caller.key_id)
        found = self.parts.desk.budgets.of_account(
            caller.account_id,
            self.parts.now_ms(),
            owner=owner,
            after=page.after,
            limit=page.limit + 1,
        )
        cursor = page.cursor([each.budget.budget_id for each in found])
        items = [fields_of(each) for each in found[: page.limit]]
        return free_answer({"itens": items, "cursor": cursor})

    async def _make(self, request: Request) -> Answer:
        caller = _caller(request)
        _refuse_who_does_not_administer(caller)
        body, now_ms = body_of(request, NewBudgetBody), self.parts.now_ms()
        budget = self._read(caller, body, now_ms)
        make = partial(self.parts.desk.budgets.make, budget, signed_by(caller))

        def told(made: Budget) -> Answer:
            untouched = BudgetNow(made, BudgetUse(), period_of(made.period, now_ms))
            where = (b"location", f"{_ADDRESS}/{made.number}".encode())
            return free_answer(fields_of(untouched), 201, where)

        return await Creation(self.parts).once(request, make, told)

    async def _change(self, request: Request, now: BudgetNow) -> Answer:
        body, caller = body_of(request, ChangeBody), _caller(request)
        changed = await self.parts.desk.budgets.change(
            caller.account_id,
            now.budget.number,
            partial(self._edited, body),
            signed_by(caller),
            self.parts.now_ms(),
        )
        return free_answer(fields_of(changed))

    async def _end(self, request: Request, now: BudgetNow) -> Answer:
        if now.budget.owner_kind in MADE_WITH_OWNER:
            raise BudgetOfItsOwner
        caller = _caller(request)
        last = await self.parts.desk.budgets.end(
            caller.account_id, now.budget.number, signed_by(caller), self.parts.now_ms()
        )
        return free_answer(fields_of(last))

    def _read(self, caller: Caller, body: NewBudgetBody, now_ms: int) -> Budget:
        kind, owner = _owner(body.de)
        return checked(
            Budget(
                budget_id=0,
                account_id=caller.account_id,
                number=self.new_id(),
                name=body.nome.strip() or usual_name(kind, owner),
                owner_kind=kind,
                owner=owner,
                period=body.periodo,
                credits_max=body.teto_creditos,
                calls_max=body.teto_consultas,
                operations=body.operacoes,
                warn_percent=body.aviso_percentual,
                created_ms=now_ms,
            ),
            self._paths(),
        )

    def _edited(self, body: ChangeBody, before: Budget) -> Budget:
        said = {
            "name": body.nome,
            "credits_max": body.teto_creditos,
            "calls_max": body.teto_consultas,
            "operations": body.operacoes,
            "warn_percent": body.aviso_percentual,
        }
        changes: dict[str, Any] = {
            name: value for name, value in said.items() if value is not msgspec.UNSET
        }
        return checked(msgspec.structs.replace(before, **changes), self._paths())

    def _paths(self) -> Sequence[str]:
        return [operation.path for operation in self.parts.operations.values()]


def fields_of(now: BudgetNow) -> Mapping[str, object]:
    """A budget as the API tells it."""
    budget, use = now.budget, now.use
    return {
        "id": budget.number,
        "nome": budget.name,
        "de": whose(budget.owner_kind, budget.owner),
        "periodo": budget.period,
        "teto_creditos": budget.credits_max,
        "teto_consultas": budget.calls_max,
        "operacoes": budget.operations,
        "aviso_percentual": budget.warn_percent,
        "usado_creditos": use.spent_credits,
        "reservado_creditos": use.held_credits,
        "usadas_consultas": use.calls,
        "volta_em": instant(now.back_ms),
        "criado_em": instant(budget.created_ms),
    }


def _caller(request: Request) -> Caller:
    assert request.caller is not None, "the route wants a key"
    return request.caller


def _may_see(caller: Caller, budget: Budget) -> bool:
    own = budget.owner_kind == "chave" and budget.owner == str(caller.key_id)
    return own or caller.administers


def _refuse_who_does_not_administer(caller: Caller) -> None:
    if not caller.administers:
        raise NotAdministering


def _owner(said: OwnerBody) -> tuple[OwnerKind, str]:
    """Whose it is. Raises `InvalidParameter`."""
    match said:
        case OwnerBody(tipo="chave", id=str() | int() as number, valor=None):
            return "chave", str(number)
        case OwnerBody(tipo="cliente", id=None, valor=str(sent)):
            client = read_marks({b"x-cliente": sent.encode()}).client
            if client is not None:
                return "cliente", client
            raise InvalidParameter("de.valor: o cliente, como em X-Cliente.")
        case OwnerBody(tipo="lote" | "carteira"):
            raise InvalidParameter("de.tipo: o orçamento de um lote ou carteira nasce com ele.")
        case _:
            raise InvalidParameter("de: uma chave diz o seu id; um cliente, o seu valor.")
