"""The repository's English stays plain. The limits only decrease; `tools/language.py` measures."""

import pytest
from tools.language import Figures, begins_forbidden, of_comments, of_docstrings, of_documents

# Markers per 1,000 words, and the share of docstrings that begin with a forbidden word.
DOCSTRING_MARKERS_MAX = 0.5
COMMENT_MARKERS_MAX = 1.2
DOCUMENT_MARKERS_MAX = 0.3
FORBIDDEN_SHARE_MAX = 0.004


def worst(figures: Figures) -> str:
    """Return the files with the most markers, for the message of a failure."""
    files = [file for file, _, _ in figures.markers]
    ranked = sorted({(files.count(file), file) for file in files}, reverse=True)[:10]
    return "\n".join(f"{count:4} {file}" for count, file in ranked)


def test_docstrings_are_plain() -> None:
    figures = of_docstrings()
    assert figures.per_thousand <= DOCSTRING_MARKERS_MAX, worst(figures)
    assert figures.forbidden_share <= FORBIDDEN_SHARE_MAX


def test_comments_are_plain() -> None:
    figures = of_comments()
    assert figures.per_thousand <= COMMENT_MARKERS_MAX, worst(figures)


def test_documents_are_plain() -> None:
    figures = of_documents()
    assert figures.per_thousand <= DOCUMENT_MARKERS_MAX, worst(figures)


@pytest.mark.parametrize(
    ("text", "markers"),
    [
        ("Return the price of a lookup, in credits.", 0),
        ("Whoever asks is told of it.", 2),
        ("Give `told` a callback.", 0),
        ("See [the rule](#told-by-nobody).", 0),
        ("Let go of what nobody wants any more.", 3),
    ],
)
def test_markers_are_counted(text: str, markers: int) -> None:
    figures = Figures()
    figures.add("page", 1, text)
    assert len(figures.markers) == markers


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        ("What it costs.", True),
        ("The same for rows.", True),
        ("The price of a row.", False),
        ("Return what it costs.", False),
    ],
)
def test_a_forbidden_first_word_is_found(text: str, forbidden: bool) -> None:
    assert begins_forbidden(text) is forbidden
