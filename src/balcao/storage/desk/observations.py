"""Writing an account's own answers to its watched subjects, with the charge (contract 20.4)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from balcao.core.observations import Observation
from balcao.core.observed_items import (
    Checked,
    FindInMonth,
    ItemState,
    MonthRecord,
    ObservedItem,
    Updated,
    WatchedRegistration,
    WatchedZone,
    update_of,
)
from balcao.core.papers import ROOT_CHARACTERS
from balcao.core.questions import Mode
from balcao.storage.connection import Statements
from balcao.storage.desk.item_events import HEAD_COLUMNS, head_of, write_item_events

log = logging.getLogger(__name__)

STATE_COLUMNS = (
    "registry", "record", "record_ms", "registrations", "suframa", "checked", "verified_ms",
)  # fmt: skip

_ITEMS = (
    f"SELECT watched, {', '.join((*STATE_COLUMNS, *HEAD_COLUMNS))} FROM wallet_item"  # noqa: S608 - ours
    " WHERE account_id = ? AND {of} AND ended_ms IS NULL"
)
# A company's items: of the establishment, and of the whole company, if it is the head office.
_ITEMS_OF_COMPANY = _ITEMS.format(of="document IN (?, ?) AND document_hash IS NULL")
_ITEMS_OF_PERSON = _ITEMS.format(of="document_hash = ?")
_UPDATE = (
    f"UPDATE wallet_item SET {', '.join(f'{name} = ?' for name in STATE_COLUMNS)}"  # noqa: S608 - ours
    " WHERE item_id = ?"
)


def nothing_in_month(mode: Mode, cnpj: str) -> MonthRecord | None:
    """Return None: there is no month."""
    return None


def document_values(seen: Observation) -> tuple[str | None, str | None, bytes | None]:
    """Return the documents of items that an observation may be about: CNPJ, root, hash of a CPF."""
    cnpj = seen.cnpj
    if cnpj is None:
        return None, None, seen.document_hash
    return cnpj, cnpj[:ROOT_CHARACTERS], None


def write_answers(connection: Statements, seen: Observation, find_in_month: FindInMonth) -> None:
    """Update the items that answers are about, within the transaction of their charge."""
    for item in _items_of(connection, seen):
        updated: Updated | None = None
        try:
            month = None
            if seen.cnpj is not None and item.needs_month(seen):
                month = find_in_month(seen.mode, seen.cnpj)
            updated = update_of(item, seen, month)
        except Exception as error:  # a bug, or a damaged month: the charge does not fail
            log.error("observation failed: %s", type(error).__name__)
        if updated is not None:
            _write(connection, item.head.item_id, updated[0])
            write_item_events(connection, item.head, updated[1])


def _items_of(connection: Statements, seen: Observation) -> Sequence[ObservedItem]:
    cnpj, root, person = document_values(seen)
    if cnpj is None:
        rows = connection.execute(_ITEMS_OF_PERSON, (seen.account_id, person)).fetchall()
    else:
        values = seen.account_id, cnpj, root or cnpj
        rows = connection.execute(_ITEMS_OF_COMPANY, values).fetchall()
    states = len(STATE_COLUMNS)
    found = [
        ObservedItem(head_of(row[states:]), _topics(watched), _state_of(row[:states]))
        for watched, *row in rows
    ]
    found.sort(key=lambda item: item.head.item_id)
    return found


def _write(connection: Statements, item_id: str, state: ItemState) -> None:
    connection.execute(
        _UPDATE,
        (
            state.registry,
            state.record,
            state.record_ms,
            _text(state.registrations),
            None if state.suframa is None else _text(state.suframa),
            _text(state.checked),
            state.verified_ms,
            item_id,
        ),
    )


def _state_of(row: Sequence[Any]) -> ItemState:
    registry, record, record_ms, registrations, suframa, checked, verified_ms = row
    return ItemState(
        registry,
        None if record is None else bytes(record),
        record_ms,
        _registrations(registrations),
        None if suframa is None else _zone(suframa),
        checked_of(checked),
        verified_ms,
    )


def checked_of(text: str | None) -> Mapping[str, Checked]:
    """Return the instants of an item's topics from their stored form."""
    return {} if text is None else _checked(text)


def checked_text(checked: Mapping[str, Checked]) -> str:
    """Return the stored form of `checked_of`."""
    return _text(checked)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


_registrations = msgspec.json.Decoder(tuple[WatchedRegistration, ...]).decode
_zone = msgspec.json.Decoder(WatchedZone).decode
_topics = msgspec.json.Decoder(tuple[str, ...]).decode
_checked = msgspec.json.Decoder(dict[str, Checked]).decode
