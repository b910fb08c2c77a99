"""Fictitious people, recognisable by names like `... DA FICCAO ...`."""

from datetime import date

from balcao.fiction.dice import deck, draws, skewed
from balcao.fiction.places import HOME_DECK
from balcao.fiction.records import Person
from balcao.fiction.sandbox import PEOPLE
from balcao.fiction.tables import words

MARK = "DA FICCAO"

_FIRST_BIRTH_DAY = date(1930, 1, 1).toordinal()
_LAST_BIRTH_DAY = date(2006, 12, 31).toordinal()

_first = skewed(words("first_names"))
_surname = skewed(words("surnames"))
# One person in four has a second name.
_seconds = words("middle_names")
_middle = deck([("", 3.0), *((f" {name}", 1 / len(_seconds)) for name in _seconds)])


def name_of(first: int, middle: int, last: int) -> str:
    """Return a fictitious person's name, selected by three random numbers."""
    return f"{_first[first & 4095]}{_middle[middle & 4095]} {MARK} {_surname[last & 4095]}"


def person_of(cpf: str) -> Person:
    """Return the person with a CPF (11 digits). Every CPF has one."""
    if (fixed := PEOPLE.get(cpf)) is not None:
        return fixed
    d = draws(cpf)
    days = _LAST_BIRTH_DAY - _FIRST_BIRTH_DAY
    born = date.fromordinal(_FIRST_BIRTH_DAY + d[3] * days // 65536)
    return Person(cpf, name_of(d[0], d[1], d[2]), born, HOME_DECK[d[4]])
