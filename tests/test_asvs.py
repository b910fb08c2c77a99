"""`docs/security/asvs.md` covers OWASP ASVS 5.0 and names tests that exist."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "security" / "asvs.md"

# The levels of the requirements of each section, in the order of their numbers (ASVS 5.0.0).
LEVELS = {
    "1.1": "22", "1.2": "1111122223", "1.3": "112222222223", "1.4": "222", "1.5": "123",
    "2.1": "122", "2.2": "112", "2.3": "12223", "2.4": "23",
    "3.1": "3", "3.2": "113", "3.3": "12223", "3.4": "11222233", "3.5": "11122333", "3.6": "3",
    "3.7": "22333",
    "4.1": "12233", "4.2": "23333", "4.3": "22", "4.4": "1222",
    "5.1": "2", "5.2": "112333", "5.3": "113", "5.4": "222",
    "6.1": "122", "6.2": "111111112222", "6.3": "11223333", "6.4": "112233", "6.5": "22222333",
    "6.6": "2223", "6.7": "33", "6.8": "2222",
    "7.1": "222", "7.2": "1111", "7.3": "22", "7.4": "11222", "7.5": "223", "7.6": "22",
    "8.1": "1233", "8.2": "1123", "8.3": "133", "8.4": "23",
    "9.1": "111", "9.2": "1222",
    "10.1": "22", "10.2": "223", "10.3": "22223", "10.4": "1111122222233333", "10.5": "22222",
    "10.6": "22", "10.7": "222",
    "11.1": "2233", "11.2": "22233", "11.3": "11233", "11.4": "1222", "11.5": "23", "11.6": "23",
    "11.7": "33",
    "12.1": "12233", "12.2": "11", "12.3": "22223",
    "13.1": "2333", "13.2": "222223", "13.3": "2233", "13.4": "1222233",
    "14.1": "22", "14.2": "12223333", "14.3": "122",
    "15.1": "12233", "15.2": "12233", "15.3": "1222222", "15.4": "3333",
    "16.1": "2", "16.2": "22222", "16.3": "2222", "16.4": "222", "16.5": "2223",
    "17.1": "23", "17.2": "22223333", "17.3": "22",
}  # fmt: skip
REQUIRED = [
    (f"{section}.{place}", level)
    for section, levels in LEVELS.items()
    for place, level in enumerate(levels, 1)
    if level in "12"
]

_ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| (\d) \| ([^|]+) \| (\w+) \| (.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


class Row(NamedTuple):
    """A requirement, its state, and the tests or the reason."""

    number: str
    level: str
    subject: str
    state: str
    evidence: str


@cache
def rows() -> list[Row]:
    return [Row(*found) for found in _ROW.findall(PAGE.read_text("utf-8"))]


def test_every_requirement_of_both_levels_has_one_row() -> None:
    assert len(REQUIRED) == 253
    assert [(row.number, row.level) for row in rows()] == REQUIRED
    chapter = ""
    for heading, number in re.findall(r"^## V(\d+) |^\| (\d+)\.", PAGE.read_text("utf-8"), re.M):
        chapter = heading or chapter
        assert heading or number == chapter


def test_each_state_has_its_evidence() -> None:
    for row in rows():
        tests = _TEST.findall(row.evidence)
        match row.state:
            case "test":
                assert tests, row.number
                assert not re.sub(r"[,. ]", "", _TEST.sub("", row.evidence)), row.number
            case "reason" | "open":
                assert "](" in row.evidence or len(row.evidence.split()) >= 3, row.number
                assert row.evidence.endswith("."), row.number
            case _:
                raise AssertionError(row)


def test_the_named_tests_exist() -> None:
    named = _TEST.findall(PAGE.read_text("utf-8"))
    assert len(named) > 100
    for file, name in set(named):
        assert name in functions_of(file), f"{file}::{name}"


@cache
def functions_of(file: str) -> frozenset[str]:
    """Return the names of a file's functions."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, functions))


def test_the_counts_are_those_of_the_rows() -> None:
    counted = Counter((row.state, row.level) for row in rows())
    table = re.findall(
        r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    for row in rows():
        counted["all", row.level] += 1
    states = ("test", "reason", "open", "all")
    expected = [(state, counted[state, "1"], counted[state, "2"]) for state in states]
    assert [(state, int(one), int(two)) for state, one, two, _ in table] == expected
    assert all(int(one) + int(two) == int(both) for _, one, two, both in table)


def test_open_requirements_are_listed_for_everybody() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    section = text.partition("## Open points")[2].partition("\n## ")[0]
    listed = re.findall(r"\b\d+\.\d+\.\d+\b", section)
    assert listed
    assert sorted(listed) == sorted(row.number for row in rows() if row.state == "open")
