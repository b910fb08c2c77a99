"""Birth dates and states as people write them in files."""

import re
from collections.abc import Callable, Mapping

from balcao.core.federation import UF_NAMES, UFS
from balcao.core.text import unaccented

_DAY = re.compile(r"([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4})(?:[ T].*)?", re.ASCII)
_ISO_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T].*)?", re.ASCII)
# A cell that ends with a date: what comes before it, and the date.
BEFORE_DAY = re.compile(
    r"(.*[^\s,;|])[\s,;|]+([0-9]{1,2}/[0-9]{1,2}/[0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})", re.ASCII
)


def day_written(text: str) -> str:
    """Return `31/12/1980`, `1980-12-31` and their kind as `19801231`; others as they are."""
    if (found := _DAY.fullmatch(text)) is not None:
        return f"{found[3]}{found[2]:0>2}{found[1]:0>2}"
    if (found := _ISO_DAY.fullmatch(text)) is not None:
        return f"{found[1]}{found[2]}{found[3]}"
    return text


def is_day(text: str) -> bool:
    """Return whether a text is a date, also one that does not exist."""
    return (_DAY.fullmatch(text) or _ISO_DAY.fullmatch(text)) is not None


def _uf(text: str) -> str:
    return UF_NAMES.get(" ".join(unaccented(text).split()), text)


def _is_uf(text: str) -> bool:
    return text.upper() in UFS


# How people write parameters in files, and what requests call them.
WRITTEN: Mapping[str, Callable[[str], str]] = {"uf": _uf, "data_nascimento": day_written}

# Parameters that are recognised by the values of a column without a name.
LOOKS_LIKE: Mapping[str, Callable[[str], bool]] = {"uf": _is_uf, "data_nascimento": is_day}
