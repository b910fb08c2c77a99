"""Texts, dates and flags as the provider copies them from the origins' pages."""

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

# A day in ISO form or as `dd/mm/yyyy`; what follows may be a time of day.
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


def stated(raw: str | None) -> str | None:
    """A text; nothing where there is nothing, which the pages also write as asterisks."""
    said = text(raw)
    return None if said is None or not said.strip("*") else said


def first(*raws: str | None) -> str | None:
    """The first text that is there, of several fields for the same thing."""
    return next((said for raw in raws if (said := stated(raw)) is not None), None)


def flag(raw: Flag) -> bool | None:
    """Return a truth value, also where it is written in words; None for anything else."""
    return raw if isinstance(raw, bool) else _FLAGS.get(words(None if raw is None else str(raw)))


def day(raw: str | None) -> str | None:
    """`YYYY-MM-DD` of a text that begins with a day, in either form; None for anything else."""
    found = _DAY.match(stated(raw) or "")
    return None if found is None else _iso(found)


def validity(source: str, raw: str | None, issued_on: str | None) -> str | None:
    """Return the last day of a certificate, `YYYY-MM-DD`; None where none can be known.

    Some treasuries write it in words: a day is looked for in them, else a period that begins on
    the day of issue. What is not in words must be a day: a validity that cannot be read may be
    over, and must not pass for none. Raises `SourceFailed`.
    """
    said = stated(raw)
    if said is None or not said.strip("0/-:T "):  # 00/00/0000
        return None
    if (found := day(said)) is not None:
        return found
    if _LETTER.search(said) is None or _DAY.match(said) is not None or denies(said):
        raise SourceFailed(f"{source}: validade em outra forma")
    plain = words(said)
    days = [each for match in _DAY.finditer(said) if (each := _iso(match)) is not None]
    if days and "ATE" in plain.split():
        return max(days)
    if (period := _PERIOD.search(plain)) is not None:
        return _after(issued_on, int(period[1]), period[2])
    return max(days, default=None)


def moment_if_valid(raw: str | None) -> str | None:
    """`YYYY-MM-DD HH:mm:ss` of `dd/mm/yyyy HH:MM:SS`: both are Brasília's civil time.

    None for anything else: nothing is lost over the time at which it was looked for.
    """
    said = stated(raw)
    if said is None:
        return None
    try:
        at = datetime.datetime.strptime(said, _MOMENT)  # noqa: DTZ007 - civil time in, and out
    except ValueError:
        return None
    return at.isoformat(" ", "seconds")


def document(said: Envelope, asked: Cnpj | Cpf, cnpjs: Texts, cpfs: Texts) -> str:
    """Whom an answer is about; wherever anybody else is named, it is about them.

    They repeat the document they were asked. Where nothing names any, the one that was asked.
    """
    if isinstance(asked, Cnpj):
        named, heard, same = _plain(*cnpjs) or _plain(*cpfs), "cnpj", asked.root
    else:
        named, heard, same = _plain(*cpfs) or _plain(*cnpjs), "cpf", asked.text
    named += _plain(said.parameters.get(heard))
    strangers = (each for each in named if not each.startswith(same))
    others = (each for each in named if each not in (asked.text, same))  # establishments
    return next(strangers, None) or next(others, None) or asked.text


def _plain(*raws: str | None) -> list[str]:
    return [plain for raw in raws if (plain := replies.plain(raw)) is not None]


def _iso(found: re.Match[str]) -> str | None:
    year, month, on = found[1] or found[6], found[2] or found[5], found[3] or found[4]
    try:
        return datetime.date(int(year), int(month), int(on)).isoformat()
    except ValueError:
        return None


def _after(issued_on: str | None, count: int, unit: str) -> str | None:
    """Return the day that is so many days, months or years after another."""
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
