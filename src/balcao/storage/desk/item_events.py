"""Writing the events of a watched subject, within the transaction of their cause."""

from collections.abc import Sequence

import msgspec

from balcao.core.item_events import ItemEvent, ItemHead, numbered
from balcao.storage.connection import Statements
from balcao.storage.desk.events import lock_account, write_events

_SEQUENCE = (
    "SELECT i.sequence, w.clock_ms, w.clock_run"
    " FROM wallet_item AS i LEFT JOIN wallet AS w ON w.account_id = i.account_id"
    " WHERE i.item_id = ? AND i.ended_ms IS NULL"
)
_HAS_CAUSE = "SELECT 1 FROM event WHERE account_id = ? AND cause = ?"
# A person's mark lasts until the next event.
_ADVANCE = "UPDATE wallet_item SET sequence = ?, handled_ms = NULL WHERE item_id = ?"


def write_item_events(
    connection: Statements, head: ItemHead, events: Sequence[ItemEvent]
) -> Sequence[int]:
    """Write an item's events, numbered without holes; return the numbers of those written.

    An event whose cause has one already is left out, and so are events of a removed item. Locks the
    account.
    """
    if not events:
        return ()
    lock_account(connection, head.account_id)
    row = connection.execute(_SEQUENCE, (head.item_id,)).fetchone()
    if row is None:
        return ()
    sequence, clock_ms, clock_run = row
    new = []
    for event in events:
        if connection.execute(_HAS_CAUSE, (head.account_id, event.cause)).fetchone() is None:
            sequence += 1
            one = numbered(head, event, sequence)
            if clock_ms is not None:  # of a test portfolio: its time, not the writer's
                one = msgspec.structs.replace(one, at_ms=clock_ms, clock_run=clock_run)
            new.append(one)
    numbers = write_events(connection, new)
    if new:
        connection.execute(_ADVANCE, (sequence, head.item_id))
    assert None not in numbers, "the causes of one call differ"
    return [number for number in numbers if number is not None]


def head_of(row: Sequence[object]) -> ItemHead:
    """Return the head of a row of `HEAD_COLUMNS`."""
    item_id, account_id, document, document_hash, reference, client, tags, sequence = row
    return msgspec.convert(
        {
            "item_id": item_id,
            "account_id": account_id,
            "document": document,
            "is_cpf": document_hash is not None,
            "reference": reference,
            "client": client or None,
            "tags": msgspec.json.decode(str(tags)),
            "sequence": sequence,
        },
        ItemHead,
    )


HEAD_COLUMNS = (
    "item_id", "account_id", "document", "document_hash", "reference", "client", "tags",
    "sequence",
)  # fmt: skip
