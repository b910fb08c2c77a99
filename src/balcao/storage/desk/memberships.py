"""Operators' memberships of accounts (table `seat`), and the one that a session acts by.

Contract 7.6. When a membership is removed, the schema removes it from all sessions at once.
"""

from collections.abc import Sequence
from typing import Any

from balcao.core.access import Account
from balcao.core.people import ROLE_WORDS, Membership, MembershipRole, Signature
from balcao.core.questions import Mode
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.account_admin import signed_transaction, write_audit
from balcao.storage.desk.queries import find_account
from balcao.storage.engine import Engine

# In queries with `seat AS t`.
MEMBERSHIP_COLUMNS = "t.seat_id, t.user_id, t.account_id, t.role, t.given_ms"
_MEMBERSHIPS = f"SELECT {MEMBERSHIP_COLUMNS} FROM seat AS t"  # noqa: S608 - columns of ours
_PLACES = (
    f"SELECT {MEMBERSHIP_COLUMNS}, a.name, a.mode"  # noqa: S608 - columns of ours
    " FROM seat AS t JOIN account AS a ON a.account_id = t.account_id"
    " WHERE t.user_id = ? ORDER BY t.seat_id"
)


# Of `person AS p` and `account AS a`: the person is active and a member, or has a role in it.
MAY_ACT = (
    "p.suspended_ms IS NULL AND (p.account_id = a.account_id"
    " OR EXISTS (SELECT 1 FROM seat WHERE user_id = p.user_id AND account_id = a.account_id))"
)
_ACTS = (
    "SELECT 1 FROM person AS p, account AS a"  # noqa: S608 - ours
    f" WHERE p.user_id = ? AND a.account_id = ? AND {MAY_ACT}"
)


class Memberships:
    """Operators' memberships of accounts.

    Operators give and remove them; managers of an account remove them.
    """

    def __init__(self, engine: Engine) -> None:
        self._connection = engine.connection
        self._run_in_writer = engine.run_in_writer

    def of(self, user_id: int) -> Sequence[Membership]:
        """Return the memberships of a user, oldest first."""
        return _found(self._connection, "t.user_id = ?", user_id)

    def places_of(self, user_id: int) -> Sequence[tuple[Membership, str, Mode]]:
        """Return the memberships of a user with each account's name and mode.

        Called for each page.
        """
        rows: Any = self._connection.execute(_PLACES, (user_id,)).fetchall()
        return [(Membership(*membership), name, mode) for *membership, name, mode in rows]

    def within(self, account_id: int) -> Sequence[Membership]:
        """Return the memberships of an account, oldest first."""
        return _found(self._connection, "t.account_id = ?", account_id)

    async def give(
        self, user_id: int, account_id: int, role: MembershipRole, signed: Signature, now_ms: int
    ) -> Membership:
        """Give a user a membership, or change the role of the existing one.

        Raises `FormDone`, and `LookupError` for an unknown account, or a user who is not an
        operator.
        """

        def work(connection: SqlConnection) -> Membership:
            with signed_transaction(connection, signed):
                known = "SELECT 1 FROM person WHERE user_id = ? AND role = 'operator'"
                account = "SELECT 1 FROM account WHERE account_id = ?"
                if not (
                    connection.execute(known, (user_id,)).fetchone()
                    and connection.execute(account, (account_id,)).fetchone()
                ):
                    raise LookupError(user_id, account_id)
                before = _one(connection, user_id, account_id)
                if before is not None and before.role == role:
                    return before
                if before is None:
                    connection.execute(
                        "INSERT INTO seat (user_id, account_id, role, given_ms)"
                        " VALUES (?, ?, ?, ?)",
                        (user_id, account_id, role, now_ms),
                    )
                else:
                    connection.execute(
                        "UPDATE seat SET role = ? WHERE seat_id = ?", (role, before.seat_id)
                    )
                write_audit(
                    connection,
                    signed,
                    "seat.give" if before is None else "seat.change",
                    now_ms,
                    account_id=account_id,
                    target=f"usuário {user_id}",
                    detail=f"papel {ROLE_WORDS[role]}",
                )
                given = _one(connection, user_id, account_id)
                assert given is not None
                return given

        return await self._run_in_writer(work)

    async def take(self, user_id: int, account_id: int, signed: Signature, now_ms: int) -> None:
        """Remove a membership, if there is one. Raises `FormDone`."""

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                membership = _one(connection, user_id, account_id)
                if membership is None:
                    return
                connection.execute("DELETE FROM seat WHERE seat_id = ?", (membership.seat_id,))
                write_audit(
                    connection,
                    signed,
                    "seat.take",
                    now_ms,
                    account_id=account_id,
                    target=f"usuário {user_id}",
                    detail=f"papel {ROLE_WORDS[membership.role]}",
                )

        await self._run_in_writer(work)

    async def act_in(self, session_id: int, user_id: int, account_id: int | None) -> bool:
        """Make a session act by the user's membership of an account; None: as an operator again.

        False: there is no such membership, and nothing changed.
        """

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                membership = None if account_id is None else _one(connection, user_id, account_id)
                if account_id is not None and membership is None:
                    return False
                changed = connection.execute(
                    "UPDATE web_session SET seat_id = ? WHERE session_id = ? AND user_id = ?"
                    " RETURNING 1",
                    (None if membership is None else membership.seat_id, session_id, user_id),
                ).fetchall()
                return bool(changed)

        return await self._run_in_writer(work)


def acting_account(
    connection: SqlConnection, account_id: int, user_id: int | None
) -> Account | None:
    """Return an account in which this user, or the terminal, may act; None: not any more."""
    account = find_account(connection, account_id)
    if account.suspended_ms:
        return None
    if user_id is None or connection.execute(_ACTS, (user_id, account_id)).fetchone():
        return account
    return None


def membership_of(row: Sequence[Any]) -> Membership | None:
    """Return the membership in a row of `SEAT_COLUMNS`; None if they are NULL."""
    return None if row[0] is None else Membership(*row)


def _one(connection: SqlConnection, user_id: int, account_id: int) -> Membership | None:
    row: Any = connection.execute(
        f"{_MEMBERSHIPS} WHERE t.user_id = ? AND t.account_id = ?", (user_id, account_id)
    ).fetchone()
    return None if row is None else Membership(*row)


def _found(connection: SqlConnection, where: str, value: int) -> Sequence[Membership]:
    rows: Any = connection.execute(
        f"{_MEMBERSHIPS} WHERE {where} ORDER BY t.seat_id",
        (value,),
    ).fetchall()
    return [Membership(*row) for row in rows]
