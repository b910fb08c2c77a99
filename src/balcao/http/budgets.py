"""`/conta/v1/orcamentos`: an account's budgets, read and changed through its keys (contract 12).

A key that administers reads and changes all of them. Any other key reads its own only: they reveal
nothing about the rest of the account (12.2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeAlias

import msgspec

from balcao.core import errors
from balcao.core.access import Caller
from balcao.core.budgets import (
    CEILING_MAX,
    MADE_WITH_OWNER,
    NAME_CHARACTERS_MAX,
    WARN_PERCENT,
    Budget,
    BudgetUse,
    OwnerKind,
    PeriodKind,
    default_name,
    iso_instant,
    owner_fields,
    period_of,
    validated,
)
from balcao.core.described import described, doc
from balcao.core.people import signed_by
from balcao.http.account import PREFIX
from balcao.http.contents import Json, RequestBody
from balcao.http.creating import CREATION_KEY, Creation
from balcao.http.json_bodies import JSON_BODY, PAGE_PARAMETERS, body_of, free_answer, page_of
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import COUNT, TAG_BUDGETS, UUID_SCHEMA, WHEN
from balcao.lookup.context import Parts
from balcao.operations.parameters import Parameter, read_tags
from balcao.storage.desk.budgets import BudgetNow

_ADDRESS = f"{PREFIX}orcamentos"


_NAME = doc("Nome do orçamento.", minLength=1, maxLength=NAME_CHARACTERS_MAX)
_CREDITS_MAX = doc("Limite em créditos. Nulo: sem limite.", minimum=0, maximum=CEILING_MAX)
_CALLS_MAX = doc("Limite em consultas cobradas. Nulo: sem limite.", minimum=0, maximum=CEILING_MAX)
_OPERATIONS = doc("As operações incluídas, como no endereço. Nulo: todas.")
_WARN_PERCENT = doc(
    f"Percentual do limite em que há um aviso. Padrão: {WARN_PERCENT}.", minimum=1, maximum=100
)


@described("DonoDeOrcamento", "O dono de um orçamento.")
class BudgetOwner(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The owner of a budget: a client by its `X-Cliente`, all others by their number."""

    tipo: Annotated[
        OwnerKind, doc("O dono do orçamento. Só é possível criar os de `chave` e de `cliente`.")
    ]
    id: Annotated[
        str | int | None, doc("O número da chave, do lote ou da carteira.", type="string")
    ] = None
    valor: Annotated[str | None, doc("O cliente, como em `X-Cliente`.", type="string")] = None


_Owner: TypeAlias = Annotated[BudgetOwner, doc("O dono do orçamento.")]
_Period: TypeAlias = Annotated[
    PeriodKind, doc("Período, no horário de Brasília: único, por dia ou por mês.")
]


@described(
    "NovoOrcamento", "Um orçamento a criar: com `teto_creditos`, `teto_consultas` ou os dois."
)
class NewBudgetBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body that creates a budget."""

    de: _Owner
    periodo: _Period
    nome: Annotated[str, _NAME] = ""
    teto_creditos: Annotated[int | None, _CREDITS_MAX] = None
    teto_consultas: Annotated[int | None, _CALLS_MAX] = None
    operacoes: Annotated[tuple[str, ...] | None, _OPERATIONS] = None
    aviso_percentual: Annotated[int, _WARN_PERCENT] = WARN_PERCENT


@described("MudancaDeOrcamento", "As alterações de um orçamento.")
class ChangeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body that changes a budget. Members that are left out stay as they are."""

    nome: Annotated[str | msgspec.UnsetType, _NAME] = msgspec.UNSET
    teto_creditos: Annotated[int | msgspec.UnsetType | None, _CREDITS_MAX] = msgspec.UNSET
    teto_consultas: Annotated[int | msgspec.UnsetType | None, _CALLS_MAX] = msgspec.UNSET
    operacoes: Annotated[tuple[str, ...] | msgspec.UnsetType | None, _OPERATIONS] = msgspec.UNSET
    aviso_percentual: Annotated[int | msgspec.UnsetType, _WARN_PERCENT] = msgspec.UNSET


@described("Orcamento", "Um orçamento e o que já foi usado.")
class BudgetAnswer(msgspec.Struct, frozen=True):
    """A budget and its use in the current period."""

    id: Annotated[str, doc("Identificador do orçamento.", format="uuid")]
    de: _Owner
    periodo: _Period
    nome: Annotated[str, _NAME]
    teto_creditos: Annotated[int | None, _CREDITS_MAX]
    teto_consultas: Annotated[int | None, _CALLS_MAX]
    operacoes: Annotated[Sequence[str] | None, _OPERATIONS]
    aviso_percentual: Annotated[int, _WARN_PERCENT]
    usado_creditos: Annotated[int, doc("Créditos gastos no período.", **COUNT)]
    reservado_creditos: Annotated[
        int, doc("Créditos reservados por consultas em andamento.", **COUNT)
    ]
    usadas_consultas: Annotated[int, doc("Consultas cobradas no período e em andamento.", **COUNT)]
    volta_em: Annotated[str | None, doc("Quando começa o próximo período. Nulo: nunca.", **WHEN)]
    criado_em: Annotated[str, doc("Quando foi criado.", **WHEN)]


@described("RespostaOrcamentos", "Uma página de orçamentos.")
class BudgetsAnswer(msgspec.Struct, frozen=True):
    """A page of budgets."""

    itens: Annotated[
        Sequence[BudgetAnswer], doc("Os orçamentos em vigor, do mais antigo ao mais recente.")
    ]
    cursor: Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]


_EXAMPLE = BudgetAnswer(
    id="0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9",
    de=BudgetOwner("chave", id="3"),
    periodo="mes",
    nome="Loja da esquina",
    teto_creditos=500,
    teto_consultas=None,
    operacoes=None,
    aviso_percentual=WARN_PERCENT,
    usado_creditos=120,
    reservado_creditos=2,
    usadas_consultas=61,
    volta_em="2026-09-01T00:00:00.000-03:00",
    criado_em="2026-08-08T10:15:30.120-03:00",
)
_ONE = Json(_EXAMPLE, "RespostaOrcamento", "Um orçamento.", envelope=True)
_ID = Parameter("id", "O `id` do orçamento.", UUID_SCHEMA, place="path", required=True)
_SEEN = (
    "Uma chave de administração vê os orçamentos da conta inteira. As demais só veem os próprios."
    " Inclui o que foi usado no período atual."
)
_WRITING = (
    errors.AdminKeyRequired,
    errors.InvalidParameter,
    errors.InvalidBody,
    errors.UnsupportedMediaType,
    errors.StorageFailed,
    errors.CommitUncertain,
    errors.TagWithCpf,
)
_BudgetRoute = partial(Route, needs_key=True, tag=TAG_BUDGETS)


@dataclass(frozen=True, slots=True)
class BudgetRoutes:
    """The routes of the budgets."""

    parts: Parts
    new_id: Callable[[], str]

    @_BudgetRoute(
        _ADDRESS,
        "orcamentos",
        id="orcamentos",
        summary="Listar orçamentos",
        text=_SEEN,
        parameters=PAGE_PARAMETERS,
        gives=[Json(BudgetsAnswer([_EXAMPLE], None), envelope=True)],
        problems=(errors.InvalidParameter, errors.RepeatedParameter, errors.StorageFailed),
    )
    async def list_budgets(self, request: Request) -> Answer:
        """Return a page of the budgets that this key may read."""
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
        return free_answer(BudgetsAnswer([*map(answer_of, found[: page.limit])], cursor))

    @_BudgetRoute(
        _ADDRESS,
        "orcamentos",
        method="POST",
        body=JSON_BODY,
        id="criar_orcamento",
        summary="Criar orçamento",
        text=(
            "Cria um orçamento para uma chave (`de.id`) ou um cliente de `X-Cliente`"
            " (`de.valor`). A partir da próxima consulta, o que passaria do limite é recusado com"
            " 402, sem consulta nem cobrança. Precisa de uma chave de administração."
        ),
        parameters=(CREATION_KEY,),
        takes=RequestBody(
            [
                Json(
                    NewBudgetBody(
                        BudgetOwner("chave", id="3"), "mes", "Loja da esquina", teto_creditos=500
                    )
                )
            ]
        ),
        gives=[_ONE],
        status=201,
        problems=(
            *_WRITING,
            errors.InvalidIdempotencyKey,
            errors.IdempotencyKeyReused,
            errors.StillRunning,
            errors.TooManyBudgets,
        ),
    )
    async def create(self, request: Request) -> Answer:
        caller = _caller(request)
        _require_administering(caller)
        body, now_ms = body_of(request, NewBudgetBody), self.parts.now_ms()
        budget = self._read(caller, body, now_ms)
        make = partial(self.parts.desk.budgets.make, budget, signed_by(caller))

        def answer(made: Budget) -> Answer:
            untouched = BudgetNow(made, BudgetUse(), period_of(made.period, now_ms))
            where = (b"location", f"{_ADDRESS}/{made.number}".encode())
            return free_answer(answer_of(untouched), 201, where)

        return await Creation(self.parts).once(request, make, answer)

    @_BudgetRoute(
        f"{_ADDRESS}/{{id}}",
        "orcamento",
        id="orcamento",
        summary="Consultar orçamento",
        text=_SEEN,
        parameters=(_ID,),
        gives=[_ONE],
        problems=(errors.BudgetNotFound, errors.StorageFailed),
    )
    async def show(self, request: Request) -> Answer:
        return free_answer(answer_of(self._find(request)))

    @_BudgetRoute(
        f"{_ADDRESS}/{{id}}",
        "orcamento",
        method="PATCH",
        body=JSON_BODY,
        id="mudar_orcamento",
        summary="Alterar orçamento",
        text=(
            "Campos não enviados não mudam, nem o que já foi usado. O limite pode ficar abaixo do"
            " uso: nesse caso, novas consultas são recusadas até o próximo período. Precisa de"
            " uma chave de administração."
        ),
        parameters=(_ID,),
        takes=RequestBody([Json(ChangeBody(teto_creditos=800))]),
        gives=[_ONE],
        problems=(*_WRITING, errors.BudgetNotFound, errors.TooManyBudgets),
    )
    async def change(self, request: Request) -> Answer:
        now, caller = self._find(request), _caller(request)
        _require_administering(caller)
        body = body_of(request, ChangeBody)
        changed = await self.parts.desk.budgets.change(
            caller.account_id,
            now.budget.number,
            partial(self._edited, body),
            signed_by(caller),
            self.parts.now_ms(),
        )
        return free_answer(answer_of(changed))

    @_BudgetRoute(
        f"{_ADDRESS}/{{id}}",
        "orcamento",
        method="DELETE",
        id="remover_orcamento",
        summary="Remover orçamento",
        text=(
            "Remove para sempre. A resposta mostra o último estado. Precisa de uma chave de"
            " administração. O orçamento de um lote ou de uma carteira termina com ele."
        ),
        parameters=(_ID,),
        gives=[_ONE],
        problems=(
            errors.AdminKeyRequired,
            errors.BudgetNotFound,
            errors.BudgetBoundToOwner,
            errors.StorageFailed,
            errors.CommitUncertain,
        ),
    )
    async def end(self, request: Request) -> Answer:
        """End a budget, and return it as it was."""
        now, caller = self._find(request), _caller(request)
        _require_administering(caller)
        if now.budget.owner_kind in MADE_WITH_OWNER:
            raise errors.BudgetBoundToOwner
        last = await self.parts.desk.budgets.end(
            caller.account_id, now.budget.number, signed_by(caller), self.parts.now_ms()
        )
        return free_answer(answer_of(last))

    def _find(self, request: Request) -> BudgetNow:
        """Return the budget of the path. Raises `BudgetNotFound`."""
        caller = _caller(request)
        now = self.parts.desk.budgets.one(caller.account_id, request.rest, self.parts.now_ms())
        if not _may_see(caller, now.budget):
            raise errors.BudgetNotFound
        return now

    def _read(self, caller: Caller, body: NewBudgetBody, now_ms: int) -> Budget:
        kind, owner = _owner(body.de)
        return validated(
            Budget(
                budget_id=0,
                account_id=caller.account_id,
                number=self.new_id(),
                name=body.nome.strip() or default_name(kind, owner),
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
        sent = {
            "name": body.nome,
            "credits_max": body.teto_creditos,
            "calls_max": body.teto_consultas,
            "operations": body.operacoes,
            "warn_percent": body.aviso_percentual,
        }
        changes: dict[str, Any] = {
            name: value for name, value in sent.items() if value is not msgspec.UNSET
        }
        return validated(msgspec.structs.replace(before, **changes), self._paths())

    def _paths(self) -> Sequence[str]:
        return [operation.path for operation in self.parts.operations.values()]


def answer_of(now: BudgetNow) -> BudgetAnswer:
    """Return the API's representation of a budget."""
    budget, use = now.budget, now.use
    return BudgetAnswer(
        id=budget.number,
        de=msgspec.convert(owner_fields(budget.owner_kind, budget.owner), BudgetOwner),
        periodo=budget.period,
        nome=budget.name,
        teto_creditos=budget.credits_max,
        teto_consultas=budget.calls_max,
        operacoes=budget.operations,
        aviso_percentual=budget.warn_percent,
        usado_creditos=use.spent_credits,
        reservado_creditos=use.held_credits,
        usadas_consultas=use.calls,
        volta_em=iso_instant(now.next_period_ms),
        criado_em=iso_instant(budget.created_ms) or "",
    )


def _caller(request: Request) -> Caller:
    assert request.caller is not None, "the route wants a key"
    return request.caller


def _may_see(caller: Caller, budget: Budget) -> bool:
    own = budget.owner_kind == "chave" and budget.owner == str(caller.key_id)
    return own or caller.administers


def _require_administering(caller: Caller) -> None:
    if not caller.administers:
        raise errors.AdminKeyRequired


def _owner(sent: BudgetOwner) -> tuple[OwnerKind, str]:
    """Return kind and name of the owner. Raises `InvalidParameter`."""
    match sent:
        case BudgetOwner(tipo="chave", id=str() | int() as number, valor=None):
            return "chave", str(number)
        case BudgetOwner(tipo="cliente", id=None, valor=str(value)):
            client = read_tags({b"x-cliente": value.encode()}).client
            if client is not None:
                return "cliente", client
            raise errors.InvalidParameter("de.valor: o cliente, como em X-Cliente.")
        case BudgetOwner(tipo="lote" | "carteira"):
            raise errors.InvalidParameter(
                "de.tipo: o orçamento de um lote ou carteira nasce com ele."
            )
        case _:
            raise errors.InvalidParameter("de: uma chave diz o seu id; um cliente, o seu valor.")
