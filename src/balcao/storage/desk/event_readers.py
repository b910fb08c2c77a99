"""People as readers of events: messages by e-mail, and visits of the page of changes.

A person's position moves in the commit that queues the message (ADR 0108).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from balcao.core.digests import (
    DueMail,
    MailableEvent,
    MailPosition,
    due_mail,
    first_position,
    is_due,
    is_read,
)
from balcao.core.event_words import URGENT_KINDS
from balcao.core.wallet import Notices
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.mail import NewMail, queue
from balcao.storage.desk.memberships import MAY_ACT
from balcao.storage.engine import Engine

# Read for one message, and as many grave ones after them. It names fewer, and the page has all.
EVENTS_AT_ONCE = 10_000
# A visit that begins later than this after the last one is another visit.
VISIT_MS = 30 * 60_000

_NOTICES = "SELECT account_id, notices FROM wallet WHERE notices IS NOT NULL ORDER BY account_id"
_LAST = "SELECT coalesce(max(event_id), 0) FROM event WHERE account_id = ?"
_POSITION = (
    "SELECT mailed_event, urgent_event, digest_day, urgent_ms FROM event_reader"
    " WHERE account_id = ? AND user_id = ?"
)
_READING = "SELECT account_id, user_id FROM event_reader WHERE digest_day IS NOT NULL"
# Reading begins again, if it does, with the events of that time.
_STOP = "UPDATE event_reader SET digest_day = NULL WHERE account_id = ? AND user_id = ?"
_BEGIN = (
    "INSERT INTO event_reader (account_id, user_id) VALUES (?, ?)"
    " ON CONFLICT (account_id, user_id) DO NOTHING"
)
_MOVE = (
    "UPDATE event_reader SET mailed_event = ?, urgent_event = ?, digest_day = ?, urgent_ms = ?"
    " WHERE account_id = ? AND user_id = ?"
)
_RECIPIENT = (
    "SELECT p.email, a.name FROM person AS p, account AS a"  # noqa: S608 - ours
    " WHERE p.user_id = ? AND a.account_id = ?"
    f" AND p.password_hash IS NOT NULL AND {MAY_ACT}"
)
_EVENTS = (
    "SELECT e.event_id, e.kind, e.at_ms, e.body, e.item_id, i.document, i.document_hash,"
    " i.registry, i.reference FROM event AS e LEFT JOIN wallet_item AS i ON i.item_id = e.item_id"
    " WHERE e.account_id = ? AND e.event_id > ? AND e.event_id <= ? AND e.silent = 0"
    " AND e.webhook_id IS NULL AND (e.item_id IS NULL"
    " OR (i.item_id IS NOT NULL AND i.handled_ms IS NULL AND i.ended_ms IS NULL))"
    " ORDER BY e.event_id LIMIT ?"
)
_IS_GRAVE = f"(e.kind IN ({', '.join('?' * len(URGENT_KINDS))}) OR {{grave}})"
_GRAVE = '"grave":true'  # a member: quotes within texts are escaped
_SEEN = (
    "SELECT seen_event, visit_event, visit_ms FROM event_reader"
    " WHERE account_id = ? AND user_id = ?"
)
_VISIT = (
    "UPDATE event_reader SET seen_event = ?, visit_event = ?, visit_ms = ?"
    " WHERE account_id = ? AND user_id = ?"
)
# Stops counting there: a page shows "more than".
COUNTED_MAX = 1_000
_UNSEEN = (
    "SELECT count(*) FROM (SELECT 1 FROM event WHERE account_id = ? AND event_id > ?"
    " AND item_id IS NOT NULL AND webhook_id IS NULL LIMIT ?) AS counted"
)


class Recipient(NamedTuple):
    """The person to send a message to, with the name of the account. Its `repr` shows neither."""

    account_id: int
    user_id: int
    email: str
    account: str

    def __repr__(self) -> str:
        return "Recipient(***)"


# Returns the message of due events to a person.
ComposeMail = Callable[[Recipient, DueMail], NewMail]


class EventReaders:
    """What each person has seen and was sent. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._open_reader = engine.open_reader

    # Messages

    def due(self, now_ms: int) -> Sequence[tuple[int, int, Notices]]:
        """Return accounts, people and settings for which `send` may have something to do."""
        found = []
        with self._open_reader() as reading:
            for account_id, text in reading.execute(_NOTICES).fetchall():
                notices = msgspec.json.decode(text, type=Notices)
                if not notices.pessoas or not is_read(notices):
                    continue
                ((last,),) = reading.execute(_LAST, (account_id,)).fetchall()
                for user_id in notices.pessoas:
                    position = _position(reading, account_id, user_id)
                    if position is None or is_due(position, notices, last, now_ms):
                        found.append((account_id, user_id, notices))
        return found

    async def send(
        self, account_id: int, user_id: int, notices: Notices, compose: ComposeMail, now_ms: int
    ) -> str | None:
        """Queue the message that is due to a person; return its kind. None: nothing is new.

        The position moves in the same commit, so no event is sent twice, or never.
        """

        def work(connection: SqlConnection) -> str | None:
            with connection.transaction():
                found = connection.execute(_RECIPIENT, (user_id, account_id)).fetchone()
                if found is None:
                    return None
                connection.execute(_BEGIN, (account_id, user_id))
                ((last,),) = connection.execute(_LAST, (account_id,)).fetchall()
                position = _position(connection, account_id, user_id)
                if position is None:
                    first = first_position(notices, last, now_ms)
                    _move(connection, account_id, user_id, first)
                    return None
                if not is_due(position, notices, last, now_ms):
                    return None
                events = _events(connection, account_id, position.mailed, last)
                due = due_mail(position, notices, last, events, now_ms)
                if due is None:
                    return None
                _move(connection, account_id, user_id, due.position)
                if not due.events:
                    return None
                recipient = Recipient(account_id, user_id, *found)
                queue(connection, [compose(recipient, due)])
                return due.kind

        return await self._run_in_writer(work)

    async def stop_others(self) -> None:
        """Forget the positions of people who are no longer sent messages."""

        def work(connection: SqlConnection) -> None:
            reading = {(one, other) for one, other in connection.execute(_READING).fetchall()}
            if not reading:
                return
            with connection.transaction():
                for account_id, text in connection.execute(_NOTICES).fetchall():
                    notices = msgspec.json.decode(text, type=Notices)
                    if is_read(notices):
                        reading -= {(account_id, user_id) for user_id in notices.pessoas}
                for account_id, user_id in sorted(reading):
                    connection.execute(_STOP, (account_id, user_id))

        await self._run_in_writer(work)

    # Visits

    async def unseen(self, account_id: int, user_id: int) -> int:
        """Return the number of events about items since the last visit, at most `COUNTED_MAX`."""

        def work(connection: SqlConnection) -> int:
            row = connection.execute(_SEEN, (account_id, user_id)).fetchone()
            after = 0 if row is None else row[1]
            values = (account_id, after, COUNTED_MAX)
            return int(connection.execute(_UNSEEN, values).fetchall()[0][0])

        return await self._run_in_writer(work)

    async def visit(self, account_id: int, user_id: int, now_ms: int) -> int:
        """Note a visit of the page of changes; return the number up to which they were seen before.

        A page that is opened again soon belongs to the same visit, and shows the same changes.
        """

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                connection.execute(_BEGIN, (account_id, user_id))
                ((last,),) = connection.execute(_LAST, (account_id,)).fetchall()
                seen, visit, visit_ms = connection.execute(
                    _SEEN, (account_id, user_id)
                ).fetchone()  # fmt: skip
                if visit_ms is None or now_ms - visit_ms > VISIT_MS:
                    seen = visit
                connection.execute(_VISIT, (seen, last, now_ms, account_id, user_id))
                return int(seen)

        return await self._run_in_writer(work)


def _position(connection: SqlConnection, account_id: int, user_id: int) -> MailPosition | None:
    """Return a person's position; None: they were not sent messages until now."""
    row = connection.execute(_POSITION, (account_id, user_id)).fetchone()
    return None if row is None or row[2] is None else MailPosition(*row)


def _move(connection: SqlConnection, account_id: int, user_id: int, position: MailPosition) -> None:
    values = msgspec.structs.astuple(position)
    connection.execute(_MOVE, (*values, account_id, user_id))


def _events(
    connection: SqlConnection, account_id: int, after: int, last: int
) -> Sequence[MailableEvent]:
    rows: Any = connection.execute(_EVENTS, (account_id, after, last, EVENTS_AT_ONCE)).fetchall()
    if len(rows) == EVENTS_AT_ONCE:
        is_grave = _IS_GRAVE.format(grave=connection.contains.format(column="e.body"))
        values = (account_id, rows[-1][0], last, *URGENT_KINDS, _GRAVE, EVENTS_AT_ONCE)
        sql = _EVENTS.replace(" ORDER BY", f" AND {is_grave} ORDER BY")
        rows += connection.execute(sql, values).fetchall()
    return [_event(*row) for row in rows]


def _event(  # noqa: PLR0917 - the columns of `_EVENTS`
    number: int,
    kind: str,
    at_ms: int,
    body: str,
    item_id: str | None,
    document: str | None,
    document_hash: bytes | None,
    registry: str | None,
    reference: str | None,
) -> MailableEvent:
    data = msgspec.json.decode(body)
    is_cpf = document_hash is not None
    name = None
    if registry is not None and not is_cpf and data.get("pessoa") is not True:
        name = msgspec.json.decode(registry).get("nome_empresarial")
    shown = None if is_cpf else document
    return MailableEvent(number, kind, at_ms, data, item_id, shown, name, reference)
