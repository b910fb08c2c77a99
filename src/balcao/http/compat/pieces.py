"""Values as the originals write them. What is not known stays None."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date

from balcao.core.calendar import day_starts_ms, from_ms
from balcao.core.company import AGE_BAND_TEXTS, IDENTIFIER_TEXTS, SIZE_TEXTS, STATUS_TEXTS, Company

NOBODY = "***000000**"  # in place of a representative's CPF, where there is none
NO_REASON = "00"
BRAZIL = "105"  # the Receita's code


def _codes(texts: Mapping[str, str]) -> Mapping[str | None, str]:
    return {text: code for code, text in texts.items()}


IDENTIFIERS = _codes(IDENTIFIER_TEXTS)
STATUSES = _codes(STATUS_TEXTS)
SIZES = _codes(SIZE_TEXTS)
AGE_BANDS = _codes(AGE_BAND_TEXTS)


def number(code: str | None) -> int | None:
    """A code as a number. What has letters is none."""
    return int(code) if code is not None and code.isascii() and code.isdecimal() else None


def phones_of(company: Company) -> Sequence[tuple[str, str]]:
    """Area code and number of each telephone; without an area code, that is empty."""
    found = []
    for phone in (company.telefone or "").split(" / "):
        if phone:
            found.append(("", phone) if len(phone) < 10 else (phone[:2], phone[2:]))
    return found


def day_of(moment: str | None) -> str | None:
    """The day of a day with or without its time."""
    return None if moment is None else moment[: len("AAAA-MM-DD")]


def slashed(day: str | None) -> str | None:
    """`dd/mm/aaaa`."""
    return None if day is None else f"{day[8:10]}/{day[5:7]}/{day[:4]}"


def midnight(day: str | None) -> str | None:
    """The instant at which a day begins in Brasília, in UTC."""
    if day is None:
        return None
    at = from_ms(day_starts_ms(date.fromisoformat(day))).astimezone(UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def activity(code: str | None, pattern: str) -> str | None:
    """An activity's seven digits in a pattern in which each `#` stands for one of them."""
    if code is None or len(code) != 7 or number(code) is None:
        return code
    digits = iter(code)
    return "".join(next(digits) if each == "#" else each for each in pattern)
