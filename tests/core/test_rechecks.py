"""When watched subjects are looked up again (contract 20.4)."""

from datetime import UTC, datetime

import pytest

from balcao.core.calendar import from_ms, to_ms
from balcao.core.idempotency import is_valid_key
from balcao.core.observed_items import Checked
from balcao.core.purchases import retry_ms
from balcao.core.rechecks import (
    Lookup,
    due_lookups,
    idempotency_key,
    lookups_of,
    next_ms,
)

NOW = to_ms(datetime(2026, 8, 5, 15, 0, tzinfo=UTC))  # noon in Brasília
DAY = 86_400_000
WATCHED = ("cadastro", "socios", "inscricoes:SP", "suframa", "produtor:MG", "certidao_federal")


def test_what_only_lookups_answer_is_asked_and_the_registry_if_it_is_named() -> None:
    assert lookups_of(WATCHED, None) == [
        Lookup("state_registration", "SP", ("inscricoes:SP",)),
        Lookup("suframa", None, ("suframa",)),
        Lookup("rural_producer", "MG", ("produtor:MG",)),
    ]
    assert lookups_of(WATCHED, ("cadastro", "socios", "suframa", "inscricoes:RJ")) == [
        Lookup("suframa", None, ("suframa",)),
        Lookup("company", None, ["cadastro", "socios"]),
    ]


def test_a_lookup_is_due_so_many_days_after_its_last_answer() -> None:
    registrations, zone, _ = lookups = lookups_of(WATCHED, None)
    checked = {
        "inscricoes:SP": Checked(data_ms=NOW - 7 * DAY),
        "suframa": Checked(data_ms=NOW - 20 * DAY, asked_ms=NOW - 6 * DAY),
        "produtor:MG": Checked(data_ms=NOW - 3 * DAY),
    }
    assert due_lookups(lookups, checked, 7, NOW) == [registrations]
    assert due_lookups(lookups, {}, 7, NOW) == lookups
    at_ms = next_ms("i", [zone], checked, 7, NOW)
    assert at_ms is not None
    assert from_ms(at_ms).date().isoformat() == "2026-08-06"
    assert next_ms("i", (), checked, 7, NOW) is None


@pytest.mark.parametrize("hour", [0, 7, 12, 19, 23])
def test_items_are_spread_over_the_hours_of_a_day(hour: int) -> None:
    now = NOW + (hour - 12) * 3_600_000
    lookups = lookups_of(WATCHED, None)
    instants = [next_ms(f"item {number}", lookups, {}, 7, now) or 0 for number in range(600)]
    assert all(now < at_ms <= now + DAY for at_ms in instants)
    hours = [from_ms(at_ms).hour for at_ms in instants]
    assert set(hours) == set(range(8, 20))
    assert max(map(hours.count, set(hours))) < 100


def test_failures_are_tried_again_three_times_in_a_day_and_then_daily() -> None:
    minutes = [(retry_ms(attempts, NOW) - NOW) // 60_000 for attempts in range(1, 7)]
    assert minutes == [20, 60, 180, 1440, 1440, 1440]


def test_no_client_can_send_the_key_of_a_scheduled_lookup() -> None:
    key = idempotency_key("i", Lookup("suframa", None, ("suframa",)), 5)
    assert key.strip() == "carteira/i/suframa/5"
    assert not is_valid_key(key)
    assert is_valid_key(key.strip())
