"""Writing an account's own certificates to its portfolio, with the charge (contract 20.5)."""

import logging
from collections.abc import Sequence
from typing import Any, Final

from balcao.core.extensions import Extension
from balcao.core.item_events import ItemHead
from balcao.core.observations import Observation
from balcao.core.observed_items import FindInMonth
from balcao.core.paper_updates import PaperUpdate, item_events, paper_update
from balcao.core.papers import Paper, PaperKey
from balcao.core.questions import Mode
from balcao.storage.connection import Statements
from balcao.storage.desk.item_events import HEAD_COLUMNS, head_of, write_item_events
from balcao.storage.desk.wallet.papers import PAPER_COLUMNS, paper_of

log = logging.getLogger(__name__)

EXTENSION_COLUMNS: Final = "subject, uf, issued_from, issued_to, until_day, days, act"

_CHANGING = (
    "verdict", "issued_on", "validity", "extended_until", "act", "last_day", "answered_ms",
    "request_id", "receipt_id", "media_type", "purchases", "attempts", "failures", "reason",
    "renewing_ms", "next_ms", "told",
)  # fmt: skip
_PAPER = (
    f"SELECT {', '.join(PAPER_COLUMNS)} FROM wallet_paper"  # noqa: S608 - columns of ours
    " WHERE account_id = ? AND kind = ? AND uf = ? AND {of}"
)
_PAPER_OF_COMPANY = _PAPER.format(of="subject = ?")
_PAPER_OF_PERSON = _PAPER.format(of="document_hash = ?")
_UPDATE = (
    f"UPDATE wallet_paper SET {', '.join(f'{name} = ?' for name in _CHANGING)}"  # noqa: S608 - ours
    " WHERE paper_id = ?"
)
_HEADS = (
    f"SELECT {', '.join(f'i.{name}' for name in HEAD_COLUMNS)} FROM wallet_item_paper AS l"  # noqa: S608
    " JOIN wallet_item AS i ON i.item_id = l.item_id"
    " WHERE l.paper_id = ? AND i.ended_ms IS NULL ORDER BY i.item_id"
)
_VERIFIED = (
    "UPDATE wallet_item SET verified_ms = ? WHERE item_id IN"
    " (SELECT item_id FROM wallet_item_paper WHERE paper_id = ?)"
    " AND (verified_ms IS NULL OR verified_ms < ?)"
)
_ACTS = f"SELECT {EXTENSION_COLUMNS} FROM certificate_extension"  # noqa: S608 - ours


def write_certificate(
    connection: Statements, seen: Observation, find_in_month: FindInMonth
) -> None:
    """Update the certificate that an answer is about, within the transaction of its charge."""
    assert seen.certificate is not None
    paper = _find(connection, seen.account_id, seen.certificate.key)
    if paper is None:
        return
    updated: PaperUpdate | None = None
    try:
        updated = paper_update(paper, seen, read_acts(connection))
    except Exception as error:  # a bug: the charge does not fail
        log.error("certificate not updated: %s", type(error).__name__)
    if updated is None:
        return
    update_paper(connection, updated.paper)
    asked_ms = seen.certificate.asked_ms
    connection.execute(_VERIFIED, (asked_ms, paper.paper_id, asked_ms))
    if updated.event is not None:
        heads = heads_of(connection, paper.paper_id)
        person = is_natural_person(seen.mode, seen.cnpj, find_in_month)
        events = item_events(
            updated.event, updated.paper, heads, seen.at_ms, seen=seen, is_person=person
        )
        for head, event in events:
            write_item_events(connection, head, [event])


def update_paper(connection: Statements, paper: Paper) -> None:
    """Write what lookups, acts and renewals change of a certificate."""
    values = [getattr(paper, name) for name in _CHANGING]
    connection.execute(_UPDATE, (*values, paper.paper_id))


def heads_of(connection: Statements, paper_id: str) -> Sequence[ItemHead]:
    """Return the items in force that have a certificate, in the order of their ids."""
    return [head_of(row) for row in connection.execute(_HEADS, (paper_id,)).fetchall()]


def read_acts(connection: Statements) -> Sequence[Extension]:
    """Return the acts that extend certificates."""
    rows: Any = connection.execute(_ACTS).fetchall()
    return [Extension(*row) for row in rows]


def _find(connection: Statements, account_id: int, key: PaperKey) -> Paper | None:
    values = account_id, key.kind, key.uf
    if key.document_hash is None:
        row = connection.execute(_PAPER_OF_COMPANY, (*values, key.subject)).fetchone()
    else:
        row = connection.execute(_PAPER_OF_PERSON, (*values, key.document_hash)).fetchone()
    return None if row is None else paper_of(row)


def is_natural_person(mode: Mode, cnpj: str | None, find_in_month: FindInMonth) -> bool:
    """Return whether a company is one, according to the month in use. None: a CPF, which is."""
    if cnpj is None:
        return True
    try:
        found = find_in_month(mode, cnpj)
    except Exception as error:  # a damaged month: the charge does not fail
        log.error("company not read: %s", type(error).__name__)
        return False
    return found is not None and found.record.is_person
