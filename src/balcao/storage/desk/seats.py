"""Seats on any engine: an operator's places in accounts, and which of them a browser wears.

Contract 7.6. A seat that is taken away is worn nowhere any more, from the next page on: the
schema sees to it.
"""

from collections.abc import Sequence
from typing import Any

from balcao.core.people import ROLE_WORDS, Seat, SeatRole, Signature
from balcao.core.questions import Mode
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.office import deed, note
from balcao.storage.engine import Engine

# Of `seat AS t`.
SEAT_COLUMNS = "t.seat_id, t.user_id, t.account_id, t.role, t.given_ms"
_SEATS = f"SELECT {SEAT_COLUMNS} FROM seat AS t"  # noqa: S608 - columns of ours
_PLACES = (
    f"SELECT {SEAT_COLUMNS}, a.name, a.mode"  # noqa: S608 - columns of ours
    " FROM seat AS t JOIN account AS a ON a.account_id = t.account_id"
    " WHERE t.user_id = ? ORDER BY t.seat_id"
)


class Seats:
    """Given and taken away by operators, taken away by an account's managers, too."""

    def __init__(self, engine: Engine) -> None:
        self._in_place = engine.here
        self._in_turn = engine.in_turn

    def of(self, user_id: int) -> Sequence[Seat]:
        """Those that a person holds, the oldest first."""
        return _found(self._in_place, "t.user_id = ?", user_id)

    def places_of(self, user_id: int) -> Sequence[tuple[Seat, str, Mode]]:
        """The same, with the name and the mode of each one's account: for every page."""
        rows: Any = self._in_place.execute(_PLACES, (user_id,)).fetchall()
        return [(Seat(*seat), name, mode) for *seat, name, mode in rows]

    def within(self, account_id: int) -> Sequence[Seat]:
        """Those in an account, the oldest first."""
        return _found(self._in_place, "t.account_id = ?", account_id)

    async def give(
        self, user_id: int, account_id: int, role: SeatRole, signed: Signature, now_ms: int
    ) -> Seat:
        """A seat, or another role in the one that there is.

        Raises `LookupError` for who is no operator and for an unknown account, and `FormDone`.
        """

        def work(connection: SqlConnection) -> Seat:
            with deed(connection, signed):
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
                note(
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

        return await self._in_turn(work)

    async def take(self, user_id: int, account_id: int, signed: Signature, now_ms: int) -> None:
        """Take a seat away; fine if there is none. Raises `FormDone`."""

        def work(connection: SqlConnection) -> None:
            with deed(connection, signed):
                seat = _one(connection, user_id, account_id)
                if seat is None:
                    return
                connection.execute("DELETE FROM seat WHERE seat_id = ?", (seat.seat_id,))
                note(
                    connection,
                    signed,
                    "seat.take",
                    now_ms,
                    account_id=account_id,
                    target=f"usuário {user_id}",
                    detail=f"papel {ROLE_WORDS[seat.role]}",
                )

        await self._in_turn(work)

    async def wear(self, session_id: int, user_id: int, account_id: int | None) -> bool:
        """Act in this browser by one's seat in an account, or as an operator again (None).

        False: there is no such seat; then nothing changed.
        """

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                seat = None if account_id is None else _one(connection, user_id, account_id)
                if account_id is not None and seat is None:
                    return False
                changed = connection.execute(
                    "UPDATE web_session SET seat_id = ? WHERE session_id = ? AND user_id = ?"
                    " RETURNING 1",
                    (None if seat is None else seat.seat_id, session_id, user_id),
                ).fetchall()
                return bool(changed)

        return await self._in_turn(work)


def seat_of(row: Sequence[Any]) -> Seat | None:
    """A seat from `SEAT_COLUMNS`; None where they are empty."""
    return None if row[0] is None else Seat(*row)


def _one(connection: SqlConnection, user_id: int, account_id: int) -> Seat | None:
    row: Any = connection.execute(
        f"{_SEATS} WHERE t.user_id = ? AND t.account_id = ?", (user_id, account_id)
    ).fetchone()
    return None if row is None else Seat(*row)


def _found(connection: SqlConnection, where: str, value: int) -> Sequence[Seat]:
    rows: Any = connection.execute(
        f"{_SEATS} WHERE {where} ORDER BY t.seat_id",
        (value,),
    ).fetchall()
    return [Seat(*row) for row in rows]
