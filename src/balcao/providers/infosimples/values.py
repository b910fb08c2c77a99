"""Parsers of texts, dates and flags that the provider copies from the origins' pages."""

import calendar
import datetime
import re
from typing import TypeAlias

from balcao.core.certificate_words import denies, words
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import SourceFailed
from balcao.providers.infosimples.envelope import Envelope
from balcao.sources import replies
from balcao.sources.replies import text

_MOMENT = "%d/%m/%Y %H:%M:%S"

# A day in ISO format or `dd/mm/yyyy`; a time of day may follow.
_DAY = re.compile(
    r"(?<![0-9])(?:(\d{4})-(\d{2})-(\d{2})|(\d{2})[/-](\d{2})[/-](\d{4}))(?![0-9])", re.ASCII
)
# "6 (seis) meses", "180 dias": a period that begins on the day of issue.
_PERIOD = re.compile(r"\b([0-9]{1,4}) (?:[A-Z]+ ){0,4}?(DIAS?|MES|MESES|ANOS?)\b")
_LETTER = re.compile(r"[^\W\d_]")

_FLAGS = {"TRUE": True, "SIM": True, "S": True, "1": True} | {
    "FALSE": False, "NAO": False, "N": False, "0": False,
}  # fmt: skip

Texts: TypeAlias = tuple[str | None, ...]
Flag: TypeAlias = bool | int | str | None


def nonempty(raw: str | None) -> str | None:
    """Return a clean text; None if it is empty or asterisks, as some pages write."""
    value = text(raw)
    return None if value is None or not value.strip("*") else value


def first(*raws: str | None) -> str | None:
    """Return the first text that is not empty, of several fields with the same meaning."""
    return next((value for raw in raws if (value := nonempty(raw)) is not None), None)


def flag(raw: Flag) -> bool | None:
    """Return a Boolean, also from words; None for anything else."""
    return raw if isinstance(raw, bool) else _FLAGS.get(words(None if raw is None else str(raw)))


def day(raw: str | None) -> str | None:
    """Return `YYYY-MM-DD` of a text that begins with a day, in either format, or None."""
    found = _DAY.match(nonempty(raw) or "")
    return None if found is None else _iso(found)


def validity(source: str, raw: str | None, issued_on: str | None) -> str | None:
    """Return the last day of a certificate, `YYYY-MM-DD`; None if there is none.

    Some treasuries write a sentence: it is searched for a day, or for a period from the day of
    issue. Anything else must be a day: an unreadable validity may be over, and must not pass for
    none. Raises `SourceFailed`.
    """
    value = nonempty(raw)
    if value is None or not value.strip("0/-:T "):  # 00/00/0000
        return None
    if (found := day(value)) is not None:
        return found
    if _LETTER.search(value) is None or _DAY.match(value) is not None or denies(value):
        raise SourceFailed(f"{source}: validade em outra forma")
    plain = words(value)
    days = [each for match in _DAY.finditer(value) if (each := _iso(match)) is not None]
    if days and "ATE" in plain.split():
        return max(days)
    if (period := _PERIOD.search(plain)) is not None:
        return _after(issued_on, int(period[1]), period[2])
    return max(days, default=None)


def moment_if_valid(raw: str | None) -> str | None:
    """Convert `dd/mm/yyyy HH:MM:SS` to `YYYY-MM-DD HH:mm:ss`, both in Brasília's civil time.

    None for anything else: the time of a query is optional.
    """
    value = nonempty(raw)
    if value is None:
        return None
    try:
        at = datetime.datetime.strptime(value, _MOMENT)  # noqa: DTZ007 - civil time in, and out
    except ValueError:
        return None
    return at.isoformat(" ", "seconds")


def document(reply: Envelope, requested: Cnpj | Cpf, cnpjs: Texts, cpfs: Texts) -> str:
    """Return the document that the reply is about, preferring one that contradicts the inquiry.

    Fields of the reply and the repeated parameter are compared.
    """
    if isinstance(requested, Cnpj):
        named, parameter, expected_prefix = _plain(*cnpjs) or _plain(*cpfs), "cnpj", requested.root
    else:
        named, parameter, expected_prefix = _plain(*cpfs) or _plain(*cnpjs), "cpf", requested.text
    named += _plain(reply.parameters.get(parameter))
    other_holders = (each for each in named if not each.startswith(expected_prefix))
    other_establishments = (each for each in named if each not in (requested.text, expected_prefix))
    return next(other_holders, None) or next(other_establishments, None) or requested.text


def _plain(*raws: str | None) -> list[str]:
    return [plain for raw in raws if (plain := replies.without_punctuation(raw)) is not None]


def _iso(found: re.Match[str]) -> str | None:
    year, month, on = found[1] or found[6], found[2] or found[5], found[3] or found[4]
    try:
        return datetime.date(int(year), int(month), int(on)).isoformat()
    except ValueError:
        return None


def _after(issued_on: str | None, count: int, unit: str) -> str | None:
    """Return the day that is a number of days, months or years after another."""
    if issued_on is None:
        return None
    begins = datetime.date.fromisoformat(issued_on)
    try:
        if unit.startswith("DIA"):
            return (begins + datetime.timedelta(count)).isoformat()
        months = begins.year * 12 + begins.month - 1 + count * (12 if "ANO" in unit else 1)
        year, month = divmod(months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        return begins.replace(year=year, month=month + 1, day=min(begins.day, last)).isoformat()
    except (OverflowError, ValueError):  # beyond the year 9999
        return None
