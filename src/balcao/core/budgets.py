"""Budgets: ceilings on the credits and charges of a part of an account (ADR 0043).

A budget belongs to a key, a batch, a wallet or an end client. Its period is a day or month of
Brasília, or unlimited. Credits spent, credits held and charges are counted per period, so nothing
has to be reset. Whole credits.

An operation counts in the period in which it was opened, whenever it is settled. With a wrong clock
it counts in the period that the clock shows: every period keeps its ceiling, in any order, and one
that was used too early has less left when it begins.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Final, Literal, TypeAlias

import msgspec

from balcao.core.calendar import civil_day_text, civil_month, day_starts_ms, from_ms
from balcao.core.errors import InvalidParameter
from balcao.core.names import check_name

OwnerKind: TypeAlias = Literal["chave", "lote", "carteira", "cliente"]
PeriodKind: TypeAlias = Literal["uma_vez", "dia", "mes"]
EventKind: TypeAlias = Literal["teto.aviso", "teto.atingido"]

# In the order in which budgets are checked; the first refusal is reported.
OWNER_KINDS: tuple[OwnerKind, ...] = ("chave", "lote", "carteira", "cliente")
# Created and ended with their owner; the ceiling was confirmed with it (contract 12.2).
MADE_WITH_OWNER: Final[frozenset[OwnerKind]] = frozenset({"lote", "carteira"})
PERIOD_KINDS: tuple[PeriodKind, ...] = ("uma_vez", "dia", "mes")

# How many budgets of one owner may cover the same operation. An operation has a key, a client and
# either a batch or a wallet, so that never more than four cover it.
COVERING_MAX: Final[Mapping[OwnerKind, int]] = {"chave": 2, "lote": 1, "carteira": 1, "cliente": 1}
OWNED_MAX: Final = 20  # of one owner, for different operations

CEILING_MAX: Final = 999_999_999_999
NAME_CHARACTERS_MAX: Final = 80
WARN_PERCENT: Final = 80  # the default
REACHED_PERCENT: Final = 100


class Budget(msgspec.Struct, frozen=True, gc=False):
    """A budget. At least one of the two ceilings is set."""

    budget_id: int
    account_id: int
    number: str  # its public id
    name: str
    owner_kind: OwnerKind
    owner: str  # the number of a key, batch or wallet, or the client's `X-Cliente`
    period: PeriodKind
    credits_max: int | None
    calls_max: int | None  # operations that cost something
    operations: tuple[str, ...] | None  # paths; None: all
    warn_percent: int  # 1 to 100; at 100 there is only one event
    created_ms: int
    ended_ms: int | None = None

    def covers(self, operation: str) -> bool:
        """Return whether this operation counts against the budget."""
        return self.operations is None or operation in self.operations


class BudgetUse(msgspec.Struct, gc=False):
    """The use of a budget in one of its periods."""

    spent_credits: int = 0
    held_credits: int = 0
    calls: int = 0  # charged or open
    warned_percent: int = 0  # the greatest threshold that was notified


class OverBudget(msgspec.Struct, frozen=True, gc=False):
    """Refusal: a budget does not cover the request.

    Amounts are credits or, with `counts="calls"`, operations; open ones then count as `used`.
    """

    owner_kind: OwnerKind
    ceiling: int
    used: int
    held: int
    needed: int
    next_period_ms: int | None  # None: there is only one period
    counts: Literal["credits", "calls"] = "credits"


def owners_of(
    key_id: int | None, client: str | None, batch_id: str | None, wallet: int | None = None
) -> Sequence[tuple[OwnerKind, str]]:
    """Return the owners whose budgets may cover an operation, in the order of the checks.

    `wallet`: the account's number, if its portfolio buys.
    """
    owners: list[tuple[OwnerKind, str]] = []
    if key_id is not None:
        owners.append(("chave", str(key_id)))
    if batch_id is not None:
        owners.append(("lote", batch_id))
    if wallet is not None:
        owners.append(("carteira", str(wallet)))
    if client is not None:
        owners.append(("cliente", client))
    return owners


def period_of(kind: PeriodKind, at_ms: int) -> str:
    """Return the period of an instant: empty, `YYYY-MM-DD` or `YYYY-MM` in Brasília."""
    match kind:
        case "uma_vez":
            return ""
        case "dia":
            return civil_day_text(at_ms)
        case "mes":
            return civil_month(at_ms)


def periods_of(at_ms: int) -> tuple[str, ...]:
    """Return the periods of an instant, one per kind."""
    return tuple(period_of(kind, at_ms) for kind in PERIOD_KINDS)


def next_period_ms(period: str) -> int | None:
    """Return when the period after this one begins; None: there is no other."""
    match period.split("-"):
        case [year, month]:
            return day_starts_ms(date(int(year) + int(month) // 12, int(month) % 12 + 1, 1))
        case [_, _, _]:
            return day_starts_ms(date.fromisoformat(period) + timedelta(days=1))
        case _:
            return None


def excess(budget: Budget, use: BudgetUse, period: str, credits: int) -> OverBudget | None:
    """Return None if the budget covers one more operation at this price, else the refusal.

    Neither `spent + held` nor the number of operations exceeds its ceiling (contract 12.3).
    """
    ceiling, kind = budget.credits_max, budget.owner_kind
    if ceiling is not None and use.spent_credits + use.held_credits + credits > ceiling:
        spent, held = use.spent_credits, use.held_credits
        return OverBudget(kind, ceiling, spent, held, credits, next_period_ms(period))
    ceiling = budget.calls_max
    if ceiling is not None and use.calls >= ceiling:
        return OverBudget(kind, ceiling, use.calls, 0, 1, next_period_ms(period), "calls")
    return None


def percent_used(budget: Budget, use: BudgetUse) -> int:
    """Return the used percentage of the ceiling that is closer to being reached.

    It is rounded down; a ceiling of 0 counts as unused.
    """
    credits = use.spent_credits * 100 // budget.credits_max if budget.credits_max else 0
    calls = use.calls * 100 // budget.calls_max if budget.calls_max else 0
    return credits if credits > calls else calls


def threshold_reached(budget: Budget, use: BudgetUse, *, refused: bool = False) -> int:
    """Return the greatest threshold reached: 0, `warn_percent` or 100; a refusal counts as 100."""
    percent = percent_used(budget, use)
    if refused or percent >= REACHED_PERCENT:
        return REACHED_PERCENT
    return budget.warn_percent if percent >= budget.warn_percent else 0


def warnings_due(budget: Budget, use: BudgetUse, *, refused: bool = False) -> Sequence[EventKind]:
    """Return the events that are due: each threshold once per period (contract 12.5).

    The caller then raises the use's `warned_percent` to `threshold_reached`.
    """
    notified, due = use.warned_percent, list[EventKind]()
    if notified < budget.warn_percent < REACHED_PERCENT and (
        percent_used(budget, use) >= budget.warn_percent
    ):
        due.append("teto.aviso")
    if notified < REACHED_PERCENT == threshold_reached(budget, use, refused=refused):
        due.append("teto.atingido")
    return due


def event_body(budget: Budget, use: BudgetUse, period: str) -> str:
    """Return the JSON body of an event, with the budget's numbers at that moment."""
    counts = use.spent_credits, budget.credits_max, "creditos"
    # The ceiling that is closer to its end.
    if budget.calls_max is not None and (
        budget.credits_max is None
        or use.calls * budget.credits_max > use.spent_credits * budget.calls_max
    ):
        counts = use.calls, budget.calls_max, "consultas"
    used, ceiling, unit = counts
    body = {
        "de": owner_fields(budget.owner_kind, budget.owner),
        "usado": used,
        "teto": ceiling,
        "unidade": unit,
        "orcamento": budget.number,
        "nome": budget.name,
        "periodo": budget.period,
        "quando": period or None,
        "teto_creditos": budget.credits_max,
        "teto_consultas": budget.calls_max,
        "usado_creditos": use.spent_credits,
        "reservado_creditos": use.held_credits,
        "usadas_consultas": use.calls,
        "aviso_percentual": budget.warn_percent,
        "percentual": percent_used(budget, use),
        "volta_em": iso_instant(next_period_ms(period)),
    }
    return msgspec.json.encode(body).decode()


def event_cause(budget: Budget, period: str, kind: EventKind) -> str:
    """Return what identifies an event: budget, period and threshold, in credits or charges."""
    percent = budget.warn_percent if kind == "teto.aviso" else REACHED_PERCENT
    return f"teto/{budget.budget_id}/{period}/{percent}/{budget.credits_max}/{budget.calls_max}"


def owner_fields(kind: OwnerKind, owner: str) -> Mapping[str, str]:
    """Return an owner as in the API: a client by its value, all others by their number."""
    return {"tipo": kind, "valor" if kind == "cliente" else "id": owner}


def iso_instant(at_ms: int | None) -> str | None:
    """Return an instant in the API's format."""
    return None if at_ms is None else from_ms(at_ms).isoformat(timespec="milliseconds")


def exceeds_limits(
    new_kind: OwnerKind, new_operations: Sequence[str] | None, others: Iterable[Budget]
) -> bool:
    """Return whether one more budget of the same owner would be too many (contract 12.1)."""
    scopes = [budget.operations for budget in others]
    everywhere = sum(scope is None for scope in scopes)
    named = {path for scope in scopes if scope is not None for path in scope}
    affected = named if new_operations is None else new_operations
    most = max(
        (sum(scope is not None and path in scope for scope in scopes) for path in affected),
        default=0,
    )
    return everywhere + most >= COVERING_MAX[new_kind] or len(scopes) >= OWNED_MAX


def default_name(kind: OwnerKind, owner: str) -> str:
    """Return the name of a budget that was given none."""
    return f"{_OWNERS[kind]} {owner}"[:NAME_CHARACTERS_MAX]


_OWNERS: Mapping[OwnerKind, str] = {
    "chave": "Chave",
    "lote": "Lote",
    "carteira": "Carteira",
    "cliente": "Cliente",
}


def validated(budget: Budget, paths: Sequence[str]) -> Budget:
    """Return a new budget in normal form. `paths`: of all operations.

    Raises `InvalidParameter` and `TagWithCpf`, which name the field of the API (contract 12.1).
    """
    name = budget.name.strip()
    check_name(name, NAME_CHARACTERS_MAX, "nome")
    if budget.owner_kind in MADE_WITH_OWNER:
        # Its ceiling is the one confirmed for the owner: in credits, for all its operations.
        if budget.credits_max is None:
            raise InvalidParameter("teto_creditos: um lote ou carteira sempre tem este teto.")
        if budget.operations is not None:
            raise InvalidParameter("operacoes: o de um lote ou carteira vale para todas.")
    ceilings = {"teto_creditos": budget.credits_max, "teto_consultas": budget.calls_max}
    if set(ceilings.values()) == {None}:
        raise InvalidParameter("teto_creditos: informe este teto, teto_consultas ou os dois.")
    for member, ceiling in ceilings.items():
        if ceiling is not None and not 0 <= ceiling <= CEILING_MAX:
            raise InvalidParameter(f"{member}: um número inteiro, de 0 a {CEILING_MAX}.")
    if not 1 <= budget.warn_percent <= REACHED_PERCENT:
        raise InvalidParameter("aviso_percentual: um número inteiro, de 1 a 100.")
    scope = budget.operations
    if scope is not None:
        unknown = [path for path in scope if path not in paths]
        if unknown or not scope:
            raise InvalidParameter("operacoes: os caminhos das operações, ou nulo para todas.")
        scope = tuple(path for path in paths if path in scope)
    return msgspec.structs.replace(budget, name=name, operations=scope)
