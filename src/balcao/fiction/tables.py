"""Readers of the tables of fictitious data: the files in `data/`."""

import csv
import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

_DATA = files("balcao.fiction") / "data"


def rows(name: str, folder: Traversable = _DATA) -> list[dict[str, str]]:
    """Return the rows of a CSV table as dictionaries. `folder`: for the tables of simulators."""
    lines = (folder / f"{name}.csv").read_text("utf-8").splitlines()
    return list(csv.DictReader(lines, delimiter=";"))


def descriptions(name: str, folder: Traversable = _DATA) -> dict[str, str]:
    """Return a table of codes with their descriptions."""
    return {row["code"]: row["description"] for row in rows(name, folder)}


def document(name: str) -> dict[str, Any]:
    """Return a TOML file."""
    return tomllib.loads((_DATA / f"{name}.toml").read_text("utf-8"))


_DECKS = document("decks")


def words(name: str) -> tuple[str, ...]:
    """Return a list of words from `decks.toml`, common ones first."""
    return tuple(" ".join(each.split()) for each in _DECKS["words"][name].split(","))


def shares(name: str) -> list[tuple[str, float]]:
    """Return texts from `decks.toml` with their weights."""
    pairs = (each.rsplit(":", 1) for each in _DECKS["shares"][name].split("|"))
    return [(text.strip(), float(share)) for text, share in pairs]


def cards(name: str) -> dict[str, list[tuple[Any, float]]]:
    """Return a section of `decks.toml`: by name, cards with their weights."""
    return {each: [(card, share) for card, share in pairs] for each, pairs in _DECKS[name].items()}
