"""Activities and towns that a typed text may mean, by the month's own tables.

A text matches by its words, without accents; the last one may be cut short. Where no town has these
words, those of a similar spelling are suggested.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches

import msgspec

from balcao.core.words import state_behind, town_words, words_of

_SIMILARITY = 0.75
_SIMILAR_MAX = 5


class Town(msgspec.Struct, frozen=True):
    """A municipality of the month."""

    code: str  # the Receita's
    name: str
    uf: str | None  # None: abroad, or founded since our table of IBGE codes

    @property
    def written(self) -> str:
        """The name as the filter accepts it without its UF beside it; else the code."""
        return self.code if self.uf is None else f"{self.name}/{self.uf}"


def activities_like(text: str, names: Mapping[str, str], most: int) -> Sequence[tuple[str, str]]:
    """Return code and description of activities with all words of a text, or with its digits."""
    digits = text.translate(str.maketrans("", "", "-/. "))
    if digits.isdecimal():
        found = [(code, name) for code, name in names.items() if code.startswith(digits)]
        return sorted(found)[:most]
    found = [
        (code, name) for code, name in names.items() if _begins(words_of(text), words_of(name))
    ]
    # Descriptions that begin with the text come first.
    begin = tuple(words_of(text)[:1])
    found.sort(key=lambda each: (not "".join(words_of(each[1])[:1]).startswith(begin), each[0]))
    return found[:most]


def towns_like(text: str, towns: Sequence[Town], ufs: Collection[str], most: int) -> Sequence[Town]:
    """Return the towns whose name has all words of a text, within UFs (none: all)."""
    words = town_words(text)
    within = _within(text, ufs)
    found = [
        town for town in towns if within(town) and words and _begins(words, town_words(town.name))
    ]
    found.sort(
        key=lambda town: (list(town_words(town.name)) != list(words), town.name, town.uf or "")
    )
    return found[:most]


def towns_named(text: str, towns: Sequence[Town], ufs: Collection[str]) -> Sequence[Town]:
    """Return the towns of exactly this name, within UFs (none: all)."""
    words, within = list(town_words(text)), _within(text, ufs)
    return [town for town in towns if within(town) and list(town_words(town.name)) == words]


def similar_towns(text: str, towns: Sequence[Town], ufs: Collection[str]) -> Sequence[Town]:
    """Return the towns of a similar name, within UFs (none: all), the most similar first."""
    within = _within(text, ufs)
    by_words: dict[str, list[Town]] = {}
    for town in filter(within, towns):
        by_words.setdefault(" ".join(town_words(town.name)), []).append(town)
    typed = " ".join(town_words(text))
    similar = get_close_matches(typed, by_words, _SIMILAR_MAX, _SIMILARITY)
    return [town for name in similar for town in by_words[name]][:_SIMILAR_MAX]


def _within(text: str, ufs: Collection[str]) -> Callable[[Town], bool]:
    state = state_behind(text)
    wanted = {state} if state is not None else {*ufs}
    return lambda town: not wanted or town.uf in wanted


def _begins(words: Sequence[str], of: Sequence[str]) -> bool:
    """Return whether each word is one of a name's, or the last one the beginning of one."""
    if not words:
        return False
    return {*words[:-1]} <= {*of} and any(each.startswith(words[-1]) for each in of)
