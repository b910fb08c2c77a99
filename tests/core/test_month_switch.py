"""Recording changes of the month once for the installation (contract 20.3)."""

import pytest

from balcao.core.month_switch import month_left

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
