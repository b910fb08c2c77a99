"""Measure the plainness of the repository's English, and draw docstrings to be judged by people.

    python -m tools.language                  # figures for docstrings, comments and docs
    python -m tools.language --markers PATH   # each marker and forbidden first word, with its line
    python -m tools.language --draw 100 --seed 101

`CONTRIBUTING.md` ("How we write") has the rules; `tests/test_language.py` keeps the figures.
"""

import argparse
import ast
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = ("src", "tests", "bench", "tools")
PORTUGUESE = (ROOT / "docs" / "pt", ROOT / "LEIAME.md")

# Words that plain technical English does without: programs do not speak, hear or want.
MARKERS = re.compile(
    r"\b(tells?|told|telling|says?|said|saying|hears?|heard|knows?|wants?|wanted"
    r"|whom|who(?:so)?ever|whatever|besides?|anew|nobody|somebody|anybody|everybody"
    r"|deeds?|errands?|purses?|strokes?|at hand|for ever|once more|lets? go)\b",
    re.IGNORECASE,
)
FORBIDDEN_FIRST = {
    *("what", "who", "whom", "whose", "whoever", "where", "of", "by", "those", "both"),
}
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_END = 1 << 30
_CODE_SPAN = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_LINK_TARGET = re.compile(r"\]\([^)]*\)")


@dataclass
class Figures:
    """Counts over a set of texts."""

    texts: int = 0
    words: int = 0
    forbidden: int = 0
    markers: list[tuple[str, int, str]] = field(default_factory=list)  # file, line, word

    def add(self, file: str, line: int, text: str) -> None:
        """Count a text that begins at a line of a file, without code spans and link targets."""
        prose = _CODE_SPAN.sub(lambda span: "\n" * span[0].count("\n"), text)
        prose = _LINK_TARGET.sub("]", prose)
        self.texts += 1
        self.words += len(_WORD.findall(prose))
        for found in MARKERS.finditer(prose):
            self.markers.append((file, line + prose.count("\n", 0, found.start()), found[0]))

    @property
    def per_thousand(self) -> float:
        """Markers per 1,000 words."""
        return 1000 * len(self.markers) / max(1, self.words)

    @property
    def forbidden_share(self) -> float:
        """Share of the texts that begin with a forbidden word, from 0 to 1."""
        return self.forbidden / max(1, self.texts)


def begins_forbidden(docstring: str) -> bool:
    """Return whether the first sentence begins with a word that names nothing."""
    words = _WORD.findall(docstring.lstrip()[:40])
    lowered = [word.lower() for word in words[:2]]
    return bool(lowered) and (lowered[0] in FORBIDDEN_FIRST or lowered == ["the", "same"])


def python_files() -> list[Path]:
    """Return every Python file of the repository's own, in order."""
    return sorted(path for tree in CODE for path in (ROOT / tree).rglob("*.py"))


@cache
def _texts_of(path: Path) -> tuple[Sequence[tuple[int, str]], Sequence[tuple[int, str]]]:
    """Return line and text of each docstring in a file, and of each comment without its `#`.

    A `#` within a string begins no comment. The standard tokenizer takes ten times as long.
    """
    source = path.read_text("utf-8")
    docstrings, strings = list[tuple[int, str]](), dict[int, list[tuple[int, int]]]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if found := ast.get_docstring(node, clean=False):
                docstrings.append((node.body[0].lineno, found))
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            first, last = node.lineno, node.end_lineno or node.lineno
            for line in range(first, last + 1):
                begin = node.col_offset if line == first else 0
                end = node.end_col_offset if line == last else None
                strings.setdefault(line, []).append((begin, _END if end is None else end))
    comments = []
    for number, text in enumerate(source.encode().split(b"\n"), 1):
        at = text.find(b"#")
        while at >= 0 and any(begin <= at < end for begin, end in strings.get(number, ())):
            at = text.find(b"#", at + 1)
        if at >= 0 and b"noqa" not in text[at:]:
            comments.append((number, text[at:].decode().lstrip("#: ")))
    return docstrings, comments


def docstrings_of(path: Path) -> Sequence[tuple[int, str]]:
    """Return line and text of each docstring in a file."""
    return _texts_of(path)[0]


def comments_of(path: Path) -> Sequence[tuple[int, str]]:
    """Return line and text of each comment in a file, without its `#`."""
    return _texts_of(path)[1]


def documents() -> list[Path]:
    """Return the English pages: `docs/` and the repository's own."""
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    return sorted(
        page for page in pages if not any(each in (page, *page.parents) for each in PORTUGUESE)
    )


def of_docstrings() -> Figures:
    """Return the figures of every docstring in the repository."""
    figures = Figures()
    for path in python_files():
        for line, text in docstrings_of(path):
            figures.add(str(path.relative_to(ROOT)), line, text)
            figures.forbidden += begins_forbidden(text)
    return figures


def of_comments() -> Figures:
    """Return the figures of every comment in the repository."""
    figures = Figures()
    for path in python_files():
        for line, text in comments_of(path):
            figures.add(str(path.relative_to(ROOT)), line, text)
    return figures


def of_documents() -> Figures:
    """Return the figures of every English page."""
    figures = Figures()
    for page in documents():
        figures.add(str(page.relative_to(ROOT)), 1, page.read_text("utf-8"))
    return figures


def draw(count: int, seed: int) -> list[tuple[str, int, str]]:
    """Return file, line and text of docstrings of `src/`, drawn at random."""
    everything = [
        (str(path.relative_to(ROOT)), line, text)
        for path in sorted((ROOT / "src").rglob("*.py"))
        for line, text in docstrings_of(path)
    ]
    return random.Random(seed).sample(everything, count)  # noqa: S311 - for readers


def show_markers(paths: list[Path]) -> None:
    """Print each marker and each docstring with a forbidden first word, as `file:line: word`."""
    files = [
        each for path in paths for each in (sorted(path.rglob("*")) if path.is_dir() else [path])
    ]
    for path in files:
        name, figures = str(path), Figures()
        if path.suffix == ".md":
            figures.add(name, 1, path.read_text("utf-8"))
        elif path.suffix == ".py":
            for line, text in docstrings_of(path):
                figures.add(name, line, text)
                if begins_forbidden(text):
                    print(f"{name}:{line}: begins with {text.split()[0]!r}")
            for line, text in comments_of(path):
                figures.add(name, line, text)
        for file, line, word in sorted(figures.markers, key=lambda each: each[1]):
            print(f"{file}:{line}: {word}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--markers", nargs="+", type=Path, metavar="FILE", help="files or folders")
    parser.add_argument("--draw", type=int, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=101)
    arguments = parser.parse_args()
    if arguments.markers:
        show_markers(arguments.markers)
        return
    if arguments.draw:
        for number, (file, line, text) in enumerate(draw(arguments.draw, arguments.seed), 1):
            print(f"--- {number}. {file}:{line}\n{text.strip()}\n")
        return
    for name, figures in (
        ("docstrings", of_docstrings()),
        ("comments", of_comments()),
        ("documents", of_documents()),
    ):
        print(
            f"{name:11} {figures.texts:6} texts  {figures.words:7} words "
            f"{figures.per_thousand:6.2f} markers per 1,000 words"
        )
        if name == "docstrings":
            print(
                f"{'':11} {figures.forbidden:6} begin with a forbidden word "
                f"({100 * figures.forbidden_share:.1f} %)"
            )


if __name__ == "__main__":
    main()
