"""Keys that expire soon, by the last moment of a day in Brasília (contract 18.5)."""

from dataclasses import replace
from datetime import date

import pytest

from balcao.core.access import Key
from balcao.core.calendar import day_starts_ms
from balcao.core.freshness import DAY_MS
from balcao.core.key_expiry import expiring, is_in_force, notice_due

NOW = day_starts_ms(date(2026, 11, 10))


def a_key(number: int, expires_ms: int | None, revoked_ms: int | None = None) -> Key:
    return Key(
        number, 1, f"k{number}", "balcao_live_A", 0, expires_ms, revoked_ms, None, None, None
    )


@pytest.mark.parametrize(
    ("expires_ms", "in_force", "soon"),
    [
        (None, True, False),
        (NOW, False, False),
        (NOW + 1, True, True),
        (NOW + 14 * DAY_MS, True, True),
        (NOW + 14 * DAY_MS + 1, True, False),
    ],
)
def test_a_key_is_announced_within_fourteen_days(
    expires_ms: int | None, in_force: bool, soon: bool
) -> None:
    key = a_key(1, expires_ms)
    assert is_in_force(key, NOW) is in_force
    assert [one.key for one in expiring([key], NOW)] == [key] * soon
    assert not expiring([a_key(1, expires_ms, revoked_ms=NOW - 1)], NOW)


def test_the_next_one_comes_first_with_its_last_day() -> None:
    late, next_ = a_key(1, day_starts_ms(date(2026, 11, 13))), a_key(2, NOW + 1)
    assert [(one.key.key_id, one.last_day) for one in expiring([late, next_], NOW)] == [
        (2, date(2026, 11, 10)),
        (1, date(2026, 11, 12)),
    ]


@pytest.mark.parametrize(
    ("days_left", "created_days_before", "due"),
    [
        (15, 100, None),
        (14, 100, 14),
        (4, 100, 14),
        (3, 100, 3),
        (1, 100, 1),
        (0.1, 100, 1),
        (0, 100, None),
        (2, 2, None),  # the threshold of 3 days had passed before it was created
        (1, 2, 1),
    ],
)
def test_the_smallest_threshold_is_due(
    days_left: float, created_days_before: int, due: int | None
) -> None:
    expires_ms = NOW + round(days_left * DAY_MS)
    key = replace(a_key(1, expires_ms), created_ms=expires_ms - created_days_before * DAY_MS)
    assert notice_due(key, NOW) == due
