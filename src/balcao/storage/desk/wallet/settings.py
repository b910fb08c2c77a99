"""Settings of portfolios, with the budget of their purchases (contract 20.1)."""

from collections.abc import Callable, Sequence

import msgspec

from balcao.core.budgets import WARN_PERCENT, Budget, OwnerKind
from balcao.core.errors import InvalidParameter
from balcao.core.people import Signature
from balcao.core.wallet import Notices, WalletSettings
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.budgets import BudgetNow, change_budget, make_budget, owned_budgets
from balcao.storage.desk.events import lock_account
from balcao.storage.desk.purchases import plan_again
from balcao.storage.desk.wallet.rows import WALLET_COLUMNS, json_text, settings_of

_SETTINGS = f"SELECT {', '.join(WALLET_COLUMNS)} FROM wallet WHERE account_id = ?"  # noqa: S608
# The row exists from the first item or setting on.
_BEGIN = (
    "INSERT INTO wallet (account_id, created_ms) VALUES (?, ?) ON CONFLICT (account_id) DO NOTHING"
)
_CHANGE = (
    "UPDATE wallet SET renew = ?, recheck = ?, notices = ?, buyer_key_id = ?, buyer_user_id = ?"
    " WHERE account_id = ?"
)
_MAY_READ = (
    "SELECT user_id FROM person WHERE account_id = ? AND user_id IN ({places})"
    " UNION SELECT user_id FROM seat WHERE account_id = ? AND user_id IN ({places})"
)
OWNER_KIND: OwnerKind = "carteira"


def begin(connection: SqlConnection, account_id: int, now_ms: int) -> None:
    """Create the portfolio of an account if it has none, within a transaction."""
    connection.execute(_BEGIN, (account_id, now_ms))


def read_settings(connection: SqlConnection, account_id: int) -> WalletSettings:
    """Return the settings of an account's portfolio; those of a new one if it has none."""
    row = connection.execute(_SETTINGS, (account_id,)).fetchone()
    return WalletSettings(account_id) if row is None else settings_of(row)


def change_settings(  # noqa: PLR0917
    connection: SqlConnection,
    account_id: int,
    edit: Callable[[WalletSettings], WalletSettings],
    ceiling: int | None,
    new_number: Callable[[], str],
    signed: Signature,
    now_ms: int,
) -> WalletSettings:
    """Change settings within a signed transaction. `ceiling`: of a month; None: it stays.

    The key or person that sets the ceiling is the buyer from then on. People who left the account
    may stay listed. Raises `InvalidParameter`: a person to add is not of the account.
    """
    lock_account(connection, account_id)
    begin(connection, account_id, now_ms)
    before = read_settings(connection, account_id)
    after = edit(before)
    added = frozenset(after.notices.pessoas) - frozenset(before.notices.pessoas)
    _check_people(connection, account_id, sorted(added))
    if ceiling is not None or (after.recheck, after.renew) != (before.recheck, before.renew):
        plan_again(connection, account_id)
    if ceiling is not None:
        _set_ceiling(connection, account_id, ceiling, new_number, signed, now_ms)
        buyer = {"buyer_key_id": signed.key_id, "buyer_user_id": signed.user_id}
        after = msgspec.structs.replace(after, **buyer)
    if after != before:
        connection.execute(
            _CHANGE,
            (
                None if after.renew is None else json_text(after.renew),
                None if after.recheck is None else json_text(after.recheck),
                None if after.notices == Notices() else json_text(after.notices),
                after.buyer_key_id,
                after.buyer_user_id,
                account_id,
            ),
        )
    return after


def ceiling_of(found: Sequence[BudgetNow]) -> int:
    """Return the ceiling of a month, from the budgets of a portfolio; without any it is 0."""
    return next((now.budget.credits_max or 0 for now in found), 0)


def _set_ceiling(  # noqa: PLR0917
    connection: SqlConnection,
    account_id: int,
    ceiling: int,
    new_number: Callable[[], str],
    signed: Signature,
    now_ms: int,
) -> None:
    owner = OWNER_KIND, str(account_id)
    found = owned_budgets(connection, account_id, owner, now_ms)
    if found:
        change_budget(
            connection,
            account_id,
            found[0].budget.number,
            lambda budget: msgspec.structs.replace(budget, credits_max=ceiling),
            signed,
            now_ms,
        )
        return
    new = Budget(
        budget_id=0,
        account_id=account_id,
        number=new_number(),
        name="Carteira",
        owner_kind=OWNER_KIND,
        owner=str(account_id),
        period="mes",
        credits_max=ceiling,
        calls_max=None,
        operations=None,
        warn_percent=WARN_PERCENT,
        created_ms=now_ms,
    )
    make_budget(connection, new, signed)


def _check_people(connection: SqlConnection, account_id: int, people: Sequence[int]) -> None:
    if not people:
        return
    sql = _MAY_READ.format(places=", ".join("?" * len(people)))
    values = (account_id, *people, account_id, *people)
    known = {user_id for (user_id,) in connection.execute(sql, values).fetchall()}
    if unknown := set(people) - known:
        raise InvalidParameter(f"avisos.pessoas: {min(unknown)} não é uma pessoa desta conta.")
