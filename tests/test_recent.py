"""The memory of what was just said never outlives the copy it was read from."""

from balcao.core.outcomes import Delivered
from balcao.lookup.recent import RecentAnswers


def said(text: bytes) -> Delivered:
    return Delivered(text, "online", "snapshot", 0)


def twice(recent: RecentAnswers, cache_key: str, edition: int, answer: Delivered) -> None:
    """It was read, and read again: so it is worth remembering."""
    recent.put(cache_key, edition, answer)
    recent.put(cache_key, edition, answer)


def test_what_was_said_twice_is_said_again() -> None:
    recent = RecentAnswers()
    assert recent.get("a", 1) is None
    recent.put("a", 1, said(b"1"))
    assert recent.get("a", 1) is None, "most are asked for once"
    recent.put("a", 1, said(b"1"))
    assert recent.get("a", 1) == said(b"1")
    assert recent.get("b", 1) is None


def test_another_edition_is_another_answer() -> None:
    recent = RecentAnswers()
    recent.get("a", 1)
    twice(recent, "a", 1, said(b"1"))
    assert recent.get("a", 1) == said(b"1")
    assert recent.get("a", 2) is None
    assert recent.get("a", 1) is None, "nor does the old one come back"


def test_what_was_read_before_the_switch_is_not_remembered_after_it() -> None:
    recent = RecentAnswers()
    recent.get("a", 1)
    recent.get("a", 2)
    twice(recent, "a", 1, said(b"old"))
    assert recent.get("a", 2) is None


def test_it_stays_small() -> None:
    recent = RecentAnswers(answers_max=2)
    for number, key in enumerate("abc"):
        recent.get(key, 1)
        twice(recent, key, 1, said(str(number).encode()))
    assert [recent.get(key, 1) is not None for key in "abc"] == [False, True, True]
