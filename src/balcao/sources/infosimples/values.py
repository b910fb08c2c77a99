"""Texts and dates as the provider copies them from the origins' pages."""

import datetime

from balcao.errors import SourceFailed
from balcao.sources.replies import text


def stated(raw: str | None) -> str | None:
    """A text; nothing where there is nothing, which the pages also write as asterisks."""
    said = text(raw)
    return None if said is None or not said.strip("*") else said


def day(source: str, raw: str | None) -> str | None:
    """`YYYY-MM-DD` of `dd/mm/yyyy`. Raises `SourceFailed` for anything else."""
    at = _read(source, raw, "%d/%m/%Y")
    return None if at is None else at.date().isoformat()


def moment(source: str, raw: str | None) -> str | None:
    """`YYYY-MM-DD HH:mm:ss` of `dd/mm/yyyy HH:MM:SS`: both are Brasília's civil time."""
    at = _read(source, raw, "%d/%m/%Y %H:%M:%S")
    return None if at is None else at.isoformat(" ", "seconds")


def _read(source: str, raw: str | None, form: str) -> datetime.datetime | None:
    said = stated(raw)
    if said is None or not said.strip("0/: "):  # 00/00/0000
        return None
    try:
        return datetime.datetime.strptime(said, form)  # noqa: DTZ007 - civil time in, and out
    except ValueError:
        raise SourceFailed(f"{source}: data em outra forma") from None
