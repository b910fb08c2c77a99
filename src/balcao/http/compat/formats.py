"""Formats of values in compatible APIs. Unknown values stay None."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date

from balcao.core.calendar import day_starts_ms, from_ms
from balcao.core.company import AGE_BAND_TEXTS, IDENTIFIER_TEXTS, SIZE_TEXTS, STATUS_TEXTS, Company

NO_CPF = "***000000**"  # in place of a representative's CPF, where there is none
BRAZIL = "105"  # the Receita's code


def _codes(texts: Mapping[str, str]) -> Mapping[str | None, str]:
    return {text: code for code, text in texts.items()}


IDENTIFIERS = _codes(IDENTIFIER_TEXTS)
STATUSES = _codes(STATUS_TEXTS)
SIZES = _codes(SIZE_TEXTS)
AGE_BANDS = _codes(AGE_BAND_TEXTS)


def number(code: str | None) -> int | None:
    """Return a code as a number; None if it has letters."""
    return int(code) if code is not None and code.isascii() and code.isdecimal() else None


def phones_of(company: Company) -> Sequence[tuple[str, str]]:
    """Return area code (empty if unknown) and number of each telephone."""
    found = []
    for phone in (company.telefone or "").split(" / "):
        if phone:
            found.append(("", phone) if len(phone) < 10 else (phone[:2], phone[2:]))
    return found


def day_of(moment: str | None) -> str | None:
    """Return the date of a date or instant."""
    return None if moment is None else moment[: len("AAAA-MM-DD")]


def slashed(day: str | None) -> str | None:
    """Return a date as `dd/mm/aaaa`."""
    return None if day is None else f"{day[8:10]}/{day[5:7]}/{day[:4]}"


def midnight(day: str | None) -> str | None:
    """Return the start of a day in Brasília, as an instant in UTC."""
    if day is None:
        return None
    at = from_ms(day_starts_ms(date.fromisoformat(day))).astimezone(UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def activity(code: str | None, pattern: str) -> str | None:
    """Format an activity's seven digits; each `#` of the pattern is one of them."""
    if code is None or len(code) != 7 or number(code) is None:
        return code
    digits = iter(code)
    return "".join(next(digits) if each == "#" else each for each in pattern)
