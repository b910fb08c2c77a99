"""Recording changes of the month once for the installation (contract 20.3)."""

import pytest

from balcao.core.month_comparison import starts_with_new_month
from balcao.core.month_switch import MonthSwitch, month_left

A, B, C = "2026-07", "2026-08", "2026-09"


@pytest.mark.parametrize(
    ("seen", "now", "last", "left"),
    [
        (None, A, None, None),  # the first month of all
        (None, B, A, A),  # a new node with a newer month
        (None, A, B, None),
        (A, A, None, None),
        (A, B, None, A),
        (A, B, A, A),
        (A, B, B, None),  # another node was first
        (A, B, C, None),  # the node is behind
        (A, C, B, B),  # the node was down for a month
        (B, A, None, B),  # a return
        (B, A, B, B),
        (B, A, A, None),
        (B, A, C, None),
        (C, A, B, None),
    ],
)
def test_the_first_node_records_a_change(
    seen: str | None, now: str, last: str | None, left: str | None
) -> None:
    assert month_left(seen, now, last) == left


@pytest.mark.parametrize(
    ("created", "month", "skipped"),
    [
        (50, "2026-07", False),  # compared at the change before
        (50, "2026-08", False),
        (150, "2026-07", False),
        (150, "2026-08", True),  # by a node that had changed, before the change was recorded
        (150, None, False),
        (250, "2026-08", True),
        (250, None, True),
        (250, "2026-07", False),  # by a node that had not changed yet
    ],
)
def test_the_baseline_of_a_new_item(created: int, month: str | None, skipped: bool) -> None:
    """The change before was at 100, this one is recorded at 200."""
    switch = MonthSwitch(2, "2026-07", "2026-08", "2026-08-08", 200)
    assert starts_with_new_month(switch, created, month, 100) is skipped
