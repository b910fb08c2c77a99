"""Every command shown anywhere is valid.

Commands in templates, documentation, messages and hints are passed to the parser of the command
line with their options and number of arguments. Values are not checked.
"""

import ast
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any, TypeGuard

import pytest
import typer

from balcao.cli.app import app, loaded

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "balcao"
PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "adr"),
    *(ROOT / "deploy").rglob("*.md"),
    *(ROOT / "clients").glob("**/README.md"),
    *SOURCE.rglob("*.md"),
    *SOURCE.rglob("*.html"),
    *SOURCE.rglob("*.toml"),
    *(ROOT / "deploy").glob("*.service"),
    *(ROOT / "deploy").glob("*.yaml"),
]
CODE = sorted(SOURCE.rglob("*.py"))

# Commands in quotes, on lines of a terminal, in code blocks.
_QUOTED = re.compile(r"""(?:[`*“«"']|<code>|copy\(")balcao ([a-z][^`*”»"'<\n]*)""")
_TYPED = re.compile(r"^ *\$ balcao ([a-z].*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_IN_BLOCK = re.compile(r"^(?:\$ )?balcao ([a-z].*)$", re.MULTILINE)
# Within a sentence only the first word is checked.
_FIRST = re.compile(r"(?<![\w./@:=-])balcao ([a-z][a-z-]*)\b(?![.@/=])")
_NO_COMMAND = {"balcao", "e", "ou", "and", "or", "is", "está", "for"}

_VALUE = "VALOR"


def in_page(text: str) -> Iterator[str]:
    for line in chain(_QUOTED.findall(text), _TYPED.findall(text)):
        yield unescape(line)
    for block in _BLOCK.findall(text):
        yield from _IN_BLOCK.findall(block)


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def strings(code: Path) -> Iterator[str]:
    """Yield the texts of a module, with a placeholder for each inserted value."""
    tree = ast.parse(code.read_text("utf-8"))
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else _VALUE  # type: ignore[misc]
                for part in node.values
            )
        elif _is_text(node) and id(node) not in parts:
            yield str(node.value)


def in_code(code: Path) -> Iterator[str]:
    for text in strings(code):
        yield from in_page(text)
        if text.startswith("balcao ") and "\n" not in text:
            yield text.removeprefix("balcao ")


def spellings(line: str) -> Iterator[Sequence[str]]:
    """Yield the words of a line without shell syntax, once for each of its alternatives."""
    line = re.split(r" # |  +#| [<>] | \| | && |[;…]", line)[0].strip().rstrip(".,:)")
    words = re.sub(r"[\[\]]", " ", line)
    choice = re.search(r"[a-z-]+(?:\|[a-z-]+)+", words)
    if choice is not None:
        for one in choice[0].split("|"):
            yield from spellings(words.replace(choice[0], one, 1))
        return
    try:
        yield shlex.split(words)
    except ValueError:  # an apostrophe of the text
        yield words.replace('"', "").replace("'", "").split()


@cache
def _balcao() -> Any:
    """Return the command `balcao` with its subcommands."""
    return typer.main.get_command(app)


def usage_error(words: Sequence[str]) -> str | None:
    """Return the parser's error about these words, or None."""
    command = _balcao()
    rest, path = list(words), list[str]()
    while rest and (below := getattr(command, "commands", None)):
        if rest[0].startswith("-") or _VALUE in rest[0]:
            return None
        if rest[0] not in below:
            return f"no command {' '.join([*path, rest[0]])}"
        path.append(rest[0])
        command = loaded(below[rest.pop(0)])
    if hasattr(command, "commands"):
        return None
    parser = command.make_parser(typer.Context(command, **command.context_settings))
    try:
        _, extra, _ = parser.parse_args([*rest])
    except Exception as error:
        # A final option that is only mentioned has no value.
        name_matches = type(error).__name__ == "BadOptionUsage" and rest[-1].startswith("--")
        return None if name_matches else str(error)
    return f"more than it takes: {extra}" if extra else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_a_page(page: Path) -> None:
    for line in in_page(page.read_text("utf-8")):
        for words in spellings(line):
            assert usage_error(words) is None, f"balcao {line}"


def test_commands_in_messages_and_hints() -> None:
    found = 0
    for code in CODE:
        for line in in_code(code):
            for words in spellings(line):
                assert usage_error(words) is None, f"{code.name}: balcao {line}"
                found += 1
    assert found > 100


def test_commands_within_sentences() -> None:
    known = set(_balcao().commands)
    texts = chain.from_iterable(map(strings, CODE))
    for text in chain(texts, (page.read_text("utf-8") for page in PAGES)):
        for first in _FIRST.findall(text):
            assert first in known | _NO_COMMAND, f"balcao {first}"


@pytest.mark.parametrize(
    "wrong",
    [
        "backup verify ARQUIVO",
        "backup restore ARQUIVO --check",
        "backup restore ARQUIVO OUTRO",
        "verify",
        "key list|drop acme",
    ],
)
def test_invalid_commands_are_detected(wrong: str) -> None:
    assert any(map(usage_error, spellings(wrong)))
