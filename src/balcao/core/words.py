"""Words of names and towns, normalized over different spellings (contract 14.2).

Names are written with `&` or `e`, initials with or without dots, and an apostrophe, a blank or
nothing. `words_of` returns the words of a query; `indexed_words_of` those of the index, which
include other spellings.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from balcao.core.federation import UFS
from balcao.core.personal import mask_cpf_in_text
from balcao.core.text import unaccented

# Forms of companies, ignored at the end of a name.
FORMS = frozenset(("ltda", "eireli", "epp", "cia", "sa", "me"))
AND = "e"  # not indexed, unless it is the only word

_MASKED_CPF = re.compile(r"\*{3}[0-9]{6}\*{2}")
_ROOT_BEFORE = re.compile(r"\A\s*[0-9]{2}\.?[0-9]{3}\.?[0-9]{3}(?=\s|$)")
_SOCIEDADE_ANONIMA = re.compile(r"\bs\s?[./]\s?a\b\.?")
APOSTROPHES = "'`´‘’ʼ\x91\x92"
_WORD = re.compile(rf"[a-z0-9]+(?:[{APOSTROPHES}]+[a-z0-9]+)*")
_PLAIN_WORD = re.compile("[a-z0-9]+")
_BETWEEN = re.compile(f"[{APOSTROPHES}]+")
# Of `D'ÁGUA`, `L'ART`, `SANT'ANNA`, if written without the sign: D AGUA, L ART, SANT ANNA.
ELIDED = frozenset(("d", "l", "sant"))
_VOWELS = frozenset("aeiouh")
_SEVERAL_SPELLINGS = re.compile(rf"[&{APOSTROPHES}]|(?<![a-z0-9])(?:[a-z]|sant)(?![a-z0-9])")
_INITIALS = re.compile(r"(?<![^ ])[a-z](?: [a-z])+(?![^ ])")

# For a text with single blanks, since a search for `\s*` is quadratic.
_STATE_BEHIND = re.compile(r" ?[/(,-] ?([A-Za-z]{2}) ?\)?$")
_SHORT_IN_TOWNS: Mapping[str, str] = {"s": "sao", "sto": "santo", "sta": "santa", "gde": "grande"}


def words_of(name: str) -> Sequence[str]:
    """Return the words of a name for a query: lower-case letters and digits, without accents.

    A sole trader's CPF or root, the forms of companies at the end, and `e` are left out.
    """
    return _telling(spelled(_without_numbers(name)))


def indexed_words_of(name: str) -> Sequence[str]:
    """Return the words of a name for the index: its own, then those of its other spellings."""
    others: list[str] = []
    words = _telling(spelled(_without_numbers(name), others))
    return [*words, *dict.fromkeys(each for each in others if each not in words)]


def words_and_prefix(text: str) -> tuple[Sequence[str], str | None]:
    """Return the words of a typed text; the last one, separately, as a prefix."""
    words = spelled(_without_numbers(text))
    return [word for word in words[:-1] if word != AND], words[-1] if words else None


def town_words(text: str) -> Sequence[str]:
    """Return the words of a town, without a UF after it (`São Paulo/SP`)."""
    town = text if state_behind(text) is None else _STATE_BEHIND.sub("", _on_one_line(text))
    return [_SHORT_IN_TOWNS.get(word, word) for word in spelled(town)]


def state_behind(town: str) -> str | None:
    """Return the UF written after a town, or None."""
    found = _STATE_BEHIND.search(_on_one_line(town))
    uf = found[1].upper() if found is not None else None
    return uf if uf in UFS else None


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def spelled(text: str, others: list[str] | None = None) -> Sequence[str]:
    """Return all words of a text in one spelling; add those of other spellings to `others`."""
    plain = _SOCIEDADE_ANONIMA.sub("sa", unaccented(text))
    if _SEVERAL_SPELLINGS.search(plain) is None:  # most names have only one
        return _PLAIN_WORD.findall(plain)
    plain = plain.replace("&", f" {AND} ")
    pieces: list[str] = []
    for piece in _WORD.findall(plain):
        parts = _BETWEEN.split(piece)
        if others is not None and len(parts) > 1:
            others += parts
        pieces.append("".join(parts))
    if others is not None:
        others += _of_initials(pieces)
    words: list[str] = []
    initials, elided = "", ""
    for piece, following in pairwise([*pieces, ""]):
        if piece in ELIDED and len(following) > 1 and following[0] in _VOWELS:
            elided = piece
        elif _is_letter(piece):
            initials += piece
            continue
        if initials:
            words.append(initials)
            initials = ""
        if elided == piece:
            continue
        if elided and others is not None:
            others += (elided, piece)
        words.append(elided + piece)
        elided = ""
    if initials:
        words.append(initials)
    return words


def _of_initials(pieces: Sequence[str]) -> Sequence[str]:
    """Return index words for runs of single letters: joined, without `e`, and one by one."""
    found: list[str] = []
    for letters in _INITIALS.findall(" ".join(pieces)):
        each = letters.split()
        joined = "".join(each)
        found += [joined, joined.replace(AND, ""), *each]
    return [word for word in found if word]


def _is_letter(piece: str) -> bool:
    return len(piece) == 1 and piece.isalpha()


def _telling(words: Sequence[str]) -> list[str]:
    telling = [word for word in words if word != AND] or list(words[:1])
    while len(telling) > 1 and telling[-1] in FORMS:
        telling.pop()
    return telling


def _without_numbers(name: str) -> str:
    return _ROOT_BEFORE.sub("", _MASKED_CPF.sub(" ", mask_cpf_in_text(name) or ""))
