"""All movements of credits, in ledger entries and charged lookups alike, on either engine.

Entries are found by their instant. Charged lookups are found by their request numbers, which lie
within an hour of it (the schema enforces that), and then by their instant, so none is missed.
"""

from collections.abc import Sequence
from typing import Final

from balcao.storage.numbers import NUMBERED_BEFORE_MS_MAX, least_number

# All movements, for use after FROM.
LEDGER: Final = (
    "(SELECT account_id, at_ms, month, kind, balance_change, held_change, request_id"
    " FROM ledger_entry UNION ALL"
    " SELECT account_id, opened_ms, month, 'charge', -credits, 0, request_id FROM charged_lookup)"
)

# An account's movements in a period, likewise. `number` is that of an entry, in their order.
PERIOD: Final = (
    "(SELECT entry_id AS number, at_ms, kind, balance_change, request_id, key_id, operation, rule,"
    " origin, reason, client, reference"
    " FROM ledger_entry WHERE account_id = ? AND at_ms >= ? AND at_ms < ?"
    " UNION ALL SELECT CAST(9223372036854775807 AS BIGINT), opened_ms, 'charge', -credits,"
    " request_id, key_id, operation, rule, origin, NULL, client, reference"
    " FROM charged_lookup WHERE account_id = ?"
    " AND request_id >= ? AND request_id < ? AND opened_ms >= ? AND opened_ms < ?)"
)


def in_period(account_id: int, from_ms: int, to_ms: int) -> Sequence[object]:
    """Return the parameters of `PERIOD` for [from, to)."""
    return (
        *(account_id, from_ms, to_ms, account_id),
        least_number(from_ms - NUMBERED_BEFORE_MS_MAX),
        least_number(to_ms + NUMBERED_BEFORE_MS_MAX),
        *(from_ms, to_ms),
    )
