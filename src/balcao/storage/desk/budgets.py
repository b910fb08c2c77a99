"""Budgets on any engine: creation, changes, end and queries (ADR 0043).

They are enforced together with the balance (`storage/batch.py`). A change locks its account's row
first, as charges do: so it is in force for the next commit on every node, and never takes effect
between a commit's reads and its writes.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from balcao.core.budgets import (
    PERIOD_KINDS,
    Budget,
    BudgetUse,
    OwnerKind,
    exceeds_limits,
    next_period_ms,
    period_of,
    threshold_reached,
)
from balcao.core.compat_apis import compat_api_among
from balcao.core.errors import (
    BudgetBoundToOwner,
    BudgetNotFound,
    InvalidParameter,
    TooManyBudgets,
)
from balcao.core.people import Action, Signature
from balcao.storage.budgets import BUDGET_COLUMNS, budget_of
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.account_admin import signed_transaction, write_audit
from balcao.storage.desk.purchases import plan_again
from balcao.storage.desk.recorded_answer import MakeAnswer, record_answer
from balcao.storage.engine import Engine

_LOCK = "UPDATE account SET budgets = budgets WHERE account_id = ?"
_BUDGETS = f"SELECT {', '.join(f'b.{name}' for name in BUDGET_COLUMNS)}"
# With the use in the period of an instant.
_NOW = (
    f"{_BUDGETS}, u.spent_credits, u.held_credits, u.calls, u.warned_percent FROM budget AS b"
    " LEFT JOIN budget_use AS u ON u.budget_id = b.budget_id AND u.period ="
    " CASE b.period WHEN 'uma_vez' THEN ? WHEN 'dia' THEN ? ELSE ? END"
    " WHERE b.account_id = ? AND b.ended_ms IS NULL"
)
_OF_OWNER = (
    f"{_BUDGETS} FROM budget AS b"
    " WHERE account_id = ? AND owner_kind = ? AND owner = ? AND ended_ms IS NULL"
)
_OWNED = "AND b.owner_kind = ? AND b.owner = ?"
_WRITTEN = BUDGET_COLUMNS[1:]
_MAKE = (
    f"INSERT INTO budget ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))})"  # noqa: S608 - columns of ours
    " RETURNING budget_id"
)
_CHANGE = (
    "UPDATE budget SET name = ?, credits_max = ?, calls_max = ?, operations = ?, warn_percent = ?"
    " WHERE budget_id = ?"
)
_WARN_AGAIN = (
    "UPDATE budget_use SET warned_percent = ?"
    " WHERE budget_id = ? AND period = ? AND warned_percent > ?"
)
_HAS_KEY = "SELECT 1 FROM api_key WHERE account_id = ? AND key_id = ? AND revoked_ms IS NULL"
_KEYS_OPERATIONS = (
    "SELECT operations FROM api_key WHERE account_id = ? AND key_id = ? AND revoked_ms IS NULL"
)
_COUNT = "SELECT CAST(coalesce(sum(budgets), 0) AS BIGINT) FROM account"


@dataclass(frozen=True, slots=True)
class BudgetNow:
    """A budget with its use in the present period."""

    budget: Budget
    use: BudgetUse
    period: str

    @property
    def next_period_ms(self) -> int | None:
        """When the period ends. None: never."""
        return next_period_ms(self.period)


class Budgets:
    """The budgets of accounts. A signed change is one commit with its entry in the audit log.

    All methods raise `StorageFailed`. Most reads are synchronous.
    """

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._connection = engine.connection

    # Reading

    def of_account(
        self,
        account_id: int,
        now_ms: int,
        *,
        owner: tuple[OwnerKind, str] | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> Sequence[BudgetNow]:
        """Return a page of budgets in force, oldest first, whose `budget_id` is above `after`."""
        return _page(self._connection, account_id, now_ms, owner, after, limit)

    def one(self, account_id: int, number: str, now_ms: int) -> BudgetNow:
        """Return a budget in force. Raises `BudgetNotFound`, also for another account's."""
        return find_budget(self._connection, account_id, number, now_ms)

    def count(self) -> int:
        """Return the number of budgets in force, of all accounts."""
        row: Any = self._connection.execute(_COUNT).fetchone()
        return int(row[0])

    def covering(
        self,
        account_id: int,
        owners: Collection[tuple[OwnerKind, str]],
        operation: str,
        now_ms: int,
    ) -> Sequence[BudgetNow]:
        """Return the budgets that an operation would count against, in order of their checks."""
        return budgets_covering(self._connection, account_id, owners, operation, now_ms)

    # Changing

    async def make(
        self,
        new: Budget,
        signed: Signature,
        keep: MakeAnswer[Budget] = lambda made: None,
    ) -> Budget:
        """Create a budget and record the answer. `new` has no `budget_id` yet.

        Raises `TooManyBudgets`, `InvalidParameter` (no such key), `StillRunning`, `FormDone`.
        """

        def work(connection: SqlConnection) -> Budget:
            with signed_transaction(connection, signed):
                made = make_budget(connection, new, signed)
                record_answer(connection, keep(made))
            return made

        return await self._run_in_writer(work)

    async def change(
        self,
        account_id: int,
        number: str,
        edit: Callable[[Budget], Budget],
        signed: Signature,
        now_ms: int,
    ) -> BudgetNow:
        """Change a budget in force; its use stays.

        A ceiling below the use refuses everything. If the use is below the warning threshold again,
        warnings start again. Raises `BudgetNotFound`, `TooManyBudgets`, `FormDone`, and the errors
        of `edit`.
        """

        def work(connection: SqlConnection) -> BudgetNow:
            with signed_transaction(connection, signed):
                return change_budget(connection, account_id, number, edit, signed, now_ms)

        return await self._run_in_writer(work)

    async def end(self, account_id: int, number: str, signed: Signature, now_ms: int) -> BudgetNow:
        """End a budget permanently, and return its last state.

        Open holds still count against it. Raises `BudgetNotFound`, `FormDone`, and
        `BudgetBoundToOwner` if a compatible API's key would have no daily ceiling (contract 16.4).
        """

        def work(connection: SqlConnection) -> BudgetNow:
            with signed_transaction(connection, signed):
                connection.execute(_LOCK, (account_id,))
                last = find_budget(connection, account_id, number, now_ms)
                _keep_of_face(connection, last.budget)
                end_budget(connection, last.budget, signed, now_ms)
            return last

        return await self._run_in_writer(work)


def make_budget(connection: SqlConnection, new: Budget, signed: Signature) -> Budget:
    """Create a budget within a transaction, such as the one that confirms a batch.

    Raises `TooManyBudgets`, `InvalidParameter`.
    """
    connection.execute(_LOCK, (new.account_id,))
    if new.owner_kind == "chave" and not (
        new.owner.isascii()
        and new.owner.isdigit()
        and connection.execute(_HAS_KEY, (new.account_id, int(new.owner[:18]))).fetchone()
    ):
        raise InvalidParameter("de: esta conta não tem uma chave em vigor com este id.")
    _refuse_crowd(connection, new)
    row: Any = connection.execute(_MAKE, _row(new)[1:]).fetchall()
    ((budget_id,),) = row
    made = msgspec.structs.replace(new, budget_id=budget_id)
    detail = "; ".join(f"{what} {value}" for what, value in _in_words(made))
    _note(connection, signed, "budget.create", made, new.created_ms, detail)
    return made


def change_budget(  # noqa: PLR0917
    connection: SqlConnection,
    account_id: int,
    number: str,
    edit: Callable[[Budget], Budget],
    signed: Signature,
    now_ms: int,
) -> BudgetNow:
    """Change a budget in force within a transaction; see `Budgets.change`."""
    connection.execute(_LOCK, (account_id,))
    before = find_budget(connection, account_id, number, now_ms)
    after = edit(before.budget)
    if after != before.budget:
        _change(connection, before, after, signed, now_ms)
    return find_budget(connection, account_id, number, now_ms)


def end_budget(connection: SqlConnection, budget: Budget, signed: Signature, now_ms: int) -> None:
    """End a budget in force, within a transaction that locked its account."""
    connection.execute(
        "UPDATE budget SET ended_ms = ? WHERE budget_id = ?", (now_ms, budget.budget_id)
    )
    _note(connection, signed, "budget.end", budget, now_ms, "")


def owned_budgets(
    connection: SqlConnection, account_id: int, owner: tuple[OwnerKind, str], now_ms: int
) -> Sequence[BudgetNow]:
    """Return the budgets in force of an owner, oldest first."""
    return _read(connection, account_id, now_ms, f"{_OWNED} ORDER BY b.budget_id", owner)


def find_budget(connection: SqlConnection, account_id: int, number: str, now_ms: int) -> BudgetNow:
    """Return a budget in force. Raises `BudgetNotFound`, also for another account's."""
    found = _read(connection, account_id, now_ms, "AND b.number = ?", (number,))
    if not found:
        raise BudgetNotFound
    return found[0]


def budgets_covering(
    connection: SqlConnection,
    account_id: int,
    owners: Collection[tuple[OwnerKind, str]],
    operation: str,
    now_ms: int,
) -> Sequence[BudgetNow]:
    """See `Budgets.covering`."""
    return [
        each
        for owner in owners
        for each in _page(connection, account_id, now_ms, owner)
        if each.budget.covers(operation)
    ]


def _page(  # noqa: PLR0917
    connection: SqlConnection,
    account_id: int,
    now_ms: int,
    owner: tuple[OwnerKind, str] | None,
    after: int = 0,
    limit: int = 1_000,
) -> Sequence[BudgetNow]:
    where, values = (_OWNED, owner) if owner else ("", ())
    where = f"{where} AND b.budget_id > ? ORDER BY b.budget_id LIMIT ?"
    return _read(connection, account_id, now_ms, where, (*values, after, limit))


def _read(
    connection: SqlConnection,
    account_id: int,
    now_ms: int,
    where: str,
    values: Sequence[object],
) -> Sequence[BudgetNow]:
    periods = {kind: period_of(kind, now_ms) for kind in PERIOD_KINDS}
    rows: Any = connection.execute(
        f"{_NOW} {where}", (*periods.values(), account_id, *values)
    ).fetchall()
    found = []
    for row in rows:
        budget, use = budget_of(row[: len(BUDGET_COLUMNS)]), row[len(BUDGET_COLUMNS) :]
        counted = BudgetUse() if use[0] is None else BudgetUse(*use)
        found.append(BudgetNow(budget, counted, periods[budget.period]))
    return found


def _change(
    connection: SqlConnection,
    before: BudgetNow,
    after: Budget,
    signed: Signature,
    now_ms: int,
) -> None:
    _refuse_crowd(connection, after)
    if after.operations is not None:
        _keep_of_face(connection, before.budget)
    row = dict(zip(BUDGET_COLUMNS, _row(after), strict=True))
    changeable = ("name", "credits_max", "calls_max", "operations", "warn_percent", "budget_id")
    connection.execute(_CHANGE, [row[name] for name in changeable])
    if after.owner_kind == "lote":
        connection.execute(
            "UPDATE batch SET ceiling = ? WHERE batch_id = ? AND account_id = ?",
            (after.credits_max, after.owner, after.account_id),
        )
    if after.owner_kind == "carteira":
        plan_again(connection, after.account_id)
    reached = threshold_reached(after, before.use)
    again = (reached, after.budget_id, before.period, reached)
    connection.execute(_WARN_AGAIN, again)
    changed = "; ".join(
        f"{what} {old} → {new}"
        for (what, old), (_, new) in zip(_in_words(before.budget), _in_words(after), strict=True)
        if old != new
    )
    _note(connection, signed, "budget.change", after, now_ms, changed)


def _refuse_crowd(connection: SqlConnection, budget: Budget) -> None:
    owner = budget.account_id, budget.owner_kind, budget.owner
    others = map(budget_of, connection.execute(_OF_OWNER, owner).fetchall())
    beside = [other for other in others if other.budget_id != budget.budget_id]
    if exceeds_limits(budget.owner_kind, budget.operations, beside):
        raise TooManyBudgets


def _keep_of_face(connection: SqlConnection, budget: Budget) -> None:
    """Raise `BudgetBoundToOwner` if a compatible API's key would be left without a daily ceiling.

    Such keys are part of addresses, which many people see (contract 16.4).
    """
    if budget.owner_kind != "chave" or not _is_daily(budget):
        return
    row: Any = connection.execute(
        _KEYS_OPERATIONS, (budget.account_id, int(budget.owner))
    ).fetchone()
    if row is None or row[0] is None or compat_api_among(msgspec.json.decode(row[0])) is None:
        return
    owner = budget.account_id, budget.owner_kind, budget.owner
    others = map(budget_of, connection.execute(_OF_OWNER, owner).fetchall())
    if not any(_is_daily(other) for other in others if other.budget_id != budget.budget_id):
        raise BudgetBoundToOwner


def _is_daily(budget: Budget) -> bool:
    return budget.period == "dia" and budget.operations is None


def _row(budget: Budget) -> list[Any]:
    """Return a budget's values in the order of `BUDGET_COLUMNS`."""
    paths = budget.operations
    stored = None if paths is None else msgspec.json.encode(paths).decode()
    values = {**msgspec.structs.asdict(budget), "operations": stored}
    return [values[name] for name in BUDGET_COLUMNS]


def _in_words(budget: Budget) -> list[tuple[str, str]]:
    def ceiling(value: int | None) -> str:
        return "nenhum" if value is None else str(value)

    return [
        ("nome", budget.name),
        ("limite em créditos", ceiling(budget.credits_max)),
        ("limite em consultas", ceiling(budget.calls_max)),
        ("operações", "todas" if budget.operations is None else ", ".join(budget.operations)),
        ("aviso em", f"{budget.warn_percent} %"),
    ]


_OWNER_WORDS = {"chave": "da chave", "lote": "do lote", "carteira": "da carteira"}
_PERIOD_WORDS = {"uma_vez": "de uma vez", "dia": "por dia", "mes": "por mês"}


def _note(  # noqa: PLR0917
    connection: SqlConnection,
    signed: Signature,
    action: Action,
    budget: Budget,
    now_ms: int,
    detail: str,
) -> None:
    owner = f"{_OWNER_WORDS.get(budget.owner_kind, 'do cliente')} {budget.owner}"
    write_audit(
        connection,
        signed,
        action,
        now_ms,
        account_id=budget.account_id,
        target=f"orçamento {owner}, {_PERIOD_WORDS[budget.period]}",
        detail="; ".join(filter(None, (f"número {budget.number}", detail))),
    )
