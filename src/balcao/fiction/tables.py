"""The tables that fiction is drawn from, as people read and mend them: the files in `data/`."""

import csv
import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

_DATA = files("balcao.fiction") / "data"


def rows(name: str, folder: Traversable = _DATA) -> list[dict[str, str]]:
    """The rows of a table, by the names of its columns; simulators have some of their own."""
    lines = (folder / f"{name}.csv").read_text("utf-8").splitlines()
    return list(csv.DictReader(lines, delimiter=";"))


def descriptions(name: str, folder: Traversable = _DATA) -> dict[str, str]:
    """A table of codes: what each of them means."""
    return {row["code"]: row["description"] for row in rows(name, folder)}


def document(name: str) -> dict[str, Any]:
    """A table of tables."""
    return tomllib.loads((_DATA / f"{name}.toml").read_text("utf-8"))


_DECKS = document("decks")


def words(name: str) -> tuple[str, ...]:
    """A list of `decks.toml`, the common ones first."""
    return tuple(" ".join(each.split()) for each in _DECKS["words"][name].split(","))


def shares(name: str) -> list[tuple[str, float]]:
    """Texts of `decks.toml`, and how likely each of them is."""
    pairs = (each.rsplit(":", 1) for each in _DECKS["shares"][name].split("|"))
    return [(text.strip(), float(share)) for text, share in pairs]


def cards(name: str) -> dict[str, list[tuple[Any, float]]]:
    """A section of `decks.toml`: by name, cards and how likely each of them is."""
    return {each: [(card, share) for card, share in pairs] for each, pairs in _DECKS[name].items()}
