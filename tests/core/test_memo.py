"""A memo is bounded, and a doorkeeper distinguishes repeated keys from single ones."""

import pytest

from balcao.core.memo import Doorkeeper, Memo


def test_what_is_not_used_for_two_turns_is_forgotten() -> None:
    memo: Memo[str, int] = Memo(100)
    memo.put("used", 1)
    memo.put("unused", 2)
    memo.rotate()
    assert memo.get("used") == 1
    memo.rotate()
    assert memo.get("used") == 1
    assert memo.get("unused") is None


def test_a_memo_stays_small() -> None:
    memo: Memo[int, int] = Memo(10)
    for number in range(1_000):
        memo.put(number, number)
    assert sum(memo.get(number) is not None for number in range(1_000)) <= 10
    assert memo.get(999) == 999


def test_a_doorkeeper_knows_who_came_before() -> None:
    doorkeeper = Doorkeeper(1_024)
    assert not doorkeeper.seen_before("a")
    assert doorkeeper.seen_before("a")
    assert doorkeeper.seen_before("a")


def test_few_strangers_pass() -> None:
    """A key is a stranger whose mark another one made: the marks are eight times the keys."""
    doorkeeper = Doorkeeper(1_024)
    keys = [f"{number}".encode() for number in range(1_024)]
    assert sum(map(doorkeeper.seen_before, keys)) < 200
    assert all(map(doorkeeper.seen_before, keys))


def test_a_doorkeeper_forgets_all_when_it_has_seen_as_many_as_it_may() -> None:
    doorkeeper = Doorkeeper(2)
    seen = [doorkeeper.seen_before(each) for each in (1, 2, 3, 1)]
    assert seen == [False, False, False, False], "the third began anew"
    with pytest.raises(AssertionError):
        Doorkeeper(3)
