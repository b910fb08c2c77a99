"""Remembered answers never outlive the copy that they were read from."""

from balcao.core.outcomes import Delivered
from balcao.lookup.recent import RecentAnswers


def said(text: bytes) -> Delivered:
    return Delivered(text, "online", "snapshot", 0)


def put_twice(recent: RecentAnswers, cache_key: str, edition: int, answer: Delivered) -> None:
    """Put an answer twice, since only repeated ones are remembered."""
    recent.put(cache_key, edition, answer)
    recent.put(cache_key, edition, answer)


def test_repeated_answers_are_remembered() -> None:
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
    put_twice(recent, "a", 1, said(b"1"))
    assert recent.get("a", 1) == said(b"1")
    assert recent.get("a", 2) is None
    assert recent.get("a", 1) is None, "nor does the old one come back"


def test_answers_read_before_a_switch_are_not_remembered_after_it() -> None:
    recent = RecentAnswers()
    recent.get("a", 1)
    recent.get("a", 2)
    put_twice(recent, "a", 1, said(b"old"))
    assert recent.get("a", 2) is None


def test_its_size_is_bounded() -> None:
    recent = RecentAnswers(answers_max=2)
    for number, key in enumerate("abc"):
        recent.get(key, 1)
        put_twice(recent, key, 1, said(str(number).encode()))
    assert [recent.get(key, 1) is not None for key in "abc"] == [False, True, True]
