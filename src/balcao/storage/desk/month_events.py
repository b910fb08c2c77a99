"""Events of an item after a change of the month in use, and what they correct."""

from collections.abc import Mapping, Sequence

from balcao.core.events import event_id
from balcao.core.item_events import ItemEvent, ItemHead
from balcao.core.month_comparison import CORRECTED, RETROACTIVE, SOURCE, Comparison, cause
from balcao.core.month_switch import MonthSwitch
from balcao.storage.connection import SqlConnection

_REVERTED = (
    "SELECT switch_id FROM month_switch WHERE from_month = ? AND to_month = ? AND switch_id < ?"
    " AND mode = ? ORDER BY switch_id DESC LIMIT 1"
)
_EVENT_OF = "SELECT event_id FROM event WHERE account_id = ? AND cause = ?"


def reverted(connection: SqlConnection, switch: MonthSwitch) -> int | None:
    """Return the change that a return to the month before reverts."""
    if not switch.is_return:
        return None
    values = (switch.to_month, switch.from_month, switch.switch_id, switch.mode)
    row = connection.execute(_REVERTED, values).fetchone()
    return None if row is None else int(row[0])


def events_of_item(  # noqa: PLR0917
    connection: SqlConnection,
    switch: MonthSwitch,
    head: ItemHead,
    outcome: Comparison,
    reverted: int | None,
    now_ms: int,
) -> Sequence[ItemEvent]:
    """Return the events of an item. `reverted`: the change that this one reverts."""
    events = []
    for change in outcome.changes:
        data: Mapping[str, object] = change.data
        if switch.is_return:
            number = _corrected(connection, head, change.kind, reverted)
            if number is not None:
                data = {**data, "corrige": event_id(number)}
        events.append(
            ItemEvent(
                change.kind,
                cause(head.item_id, change.kind, switch.switch_id),
                now_ms,
                SOURCE,
                data,
                outcome.is_person,
                switch.base_date,
                switch.to_month,
                head_office=outcome.head_office,
            )
        )
    return events


def _corrected(
    connection: SqlConnection, head: ItemHead, kind: str, reverted: int | None
) -> int | None:
    """Return the number of the event that the contrary change wrote."""
    kind = CORRECTED.get(kind, kind)
    for occasion in (reverted, RETROACTIVE):
        if occasion is not None:
            values = (head.account_id, cause(head.item_id, kind, occasion))
            row = connection.execute(_EVENT_OF, values).fetchone()
            if row is not None:
                return int(row[0])
    return None
