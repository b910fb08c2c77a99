"""Helpers for adapters that read replies: strict decoding, texts, dates, errors."""

import datetime
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, TypeVar

import msgspec

from balcao.core.calendar import BRASILIA
from balcao.core.company import PARTNERS_MAX, Coded, TaxOption, capital_of
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.registration import REGISTRATIONS_MAX, Registration
from balcao.core.text import clean
from balcao.sources.contract import HttpReply

RETRY_SECONDS = 30  # for a source that is down and sends no Retry-After
RETRY_SECONDS_MAX = 3600  # of any Retry-After
MISCONFIGURED_RETRY_SECONDS = 600  # a key, a contract, an account: a person has to act

# Prefix of the detail if a source works and refuses us.
MISCONFIGURED = "VERIFIQUE A CONFIGURAÇÃO DESTA FONTE: "

# Checked before parsing, since parsing JSON blocks all threads for some hundred nanoseconds per
# value. A company with ten thousand partners has fewer.
CONTAINERS_MAX = 100_000
COMMAS_MAX = 250_000

LIST_MAX = 1_000  # of short lists: activities, telephones, incentives
NUMBER_MAX = 9_999_999  # codes of official tables have at most seven digits

_REASON_DIGITS = 2

T = TypeVar("T")

# Bounded lists (contract 9.5), for the types that are decoded.
ShortList = Annotated[list[T], msgspec.Meta(max_length=LIST_MAX)]
RegistrationList = Annotated[list[T], msgspec.Meta(max_length=REGISTRATIONS_MAX)]
PartnerList = Annotated[list[T], msgspec.Meta(max_length=PARTNERS_MAX)]
Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]


def parse(kind: type[T], body: bytes) -> T:
    """Decode JSON into a type. Raises `msgspec.DecodeError` for any fault."""
    if body.count(b"{") + body.count(b"[") > CONTAINERS_MAX or body.count(b",") > COMMAS_MAX:
        raise msgspec.DecodeError("Too many values")
    try:
        if not body.isascii():
            body.decode()  # ignored fields must be valid UTF-8, too
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError:  # its message has the path and the types, never a value
        raise
    except (ValueError, RecursionError) as error:  # a ValueError's message may quote a value
        raise msgspec.DecodeError(type(error).__name__) from None


def decode(source: str, kind: type[T], body: bytes) -> T:
    """Decode JSON into a type, ignoring unknown fields. Raises `SourceFailed`."""
    try:
        return parse(kind, body)
    except msgspec.DecodeError as error:
        # the message has the path and the types ("Expected `str`, got `int` - at `$.uf`"), never a
        # value
        raise SourceFailed(f"{source}: resposta em outra forma ({error})") from None


def decode_lenient(source: str, kind: type[T], body: bytes) -> T:
    """Decode JSON into a type, dropping invalid optional values: see `convert_lenient`."""
    try:
        try:
            return parse(kind, body)
        except msgspec.ValidationError:  # raised before the rest was parsed
            content = parse(object, body)
        return convert_lenient(source, kind, content)
    except msgspec.DecodeError as error:
        raise SourceFailed(f"{source}: resposta em outra forma ({error})") from None


def convert_lenient(source: str, kind: type[T], content: object) -> T:
    """Convert untyped JSON into a type, dropping optional values that are null or of a wrong type.

    So are optional objects that lack a required field. Required fields of `kind`, lists and their
    items are never dropped (contract 9.6): the record would seem to have none, or fewer. Modifies
    `content`. Raises `SourceFailed`.
    """
    first_message, dropped = "", 0
    while True:
        try:
            return msgspec.convert(content, kind)
        except msgspec.ValidationError as error:
            message = str(error)
        first_message = first_message or message
        if _drop_nulls(content):
            continue
        dropped += 1
        if dropped > _DROPPED_MAX or not _drop_reported(content, message):
            raise SourceFailed(f"{source}: resposta em outra forma ({first_message})") from None


# msgspec's message if the value should not be a list: the types and the path.
_WRONG_TYPE = re.compile(
    r"Expected `(?:(?:str|int|float|bool|object|null)(?: \| )?)+`, got `(?P<got>\w+)`"
    r" - at `\$(?P<path>[.\w\[\]]+)`"
)
_OUT_OF_BOUNDS = re.compile(r"Expected `int` [<>]= -?\d+ - at `\$(?P<path>[.\w\[\]]+)`")
_INCOMPLETE = re.compile(r"Object missing required field `\w+` - at `\$(?P<path>[.\w\[\]]+)`")
_KINDS: Mapping[str, type] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "array": list,
    "object": dict,
}
_DROPPED_MAX = 5  # fields; with more it is a different format


def _drop_nulls(content: object) -> bool:
    """Drop every null field, and return whether there was any.

    Null means absent, also if the type of an optional field has no null: a struct with a default.
    """
    found = False
    level = [content]
    while level:
        each = level.pop()
        if isinstance(each, dict):
            nulls = [name for name, value in each.items() if value is None]
            for name in nulls:
                del each[name]
            found = found or bool(nulls)
            level += [value for value in each.values() if isinstance(value, dict | list)]
        elif isinstance(each, list):
            level += [value for value in each if isinstance(value, dict | list)]
    return found


def _drop_reported(content: object, message: str) -> bool:
    """Drop the value that an error message reports, and return whether there was one.

    If it was required, the next attempt to convert fails.
    """
    if (found := _OUT_OF_BOUNDS.fullmatch(message)) is not None:
        return _drop(content, found["path"], int, everywhere=False)
    if (found := _INCOMPLETE.fullmatch(message)) is not None:
        return _drop(content, found["path"], dict, everywhere=False)
    found = _WRONG_TYPE.fullmatch(message)
    return found is not None and _drop(content, found["path"], _KINDS.get(found["got"], str))


def _drop(content: object, path: str, kind: type, *, everywhere: bool = True) -> bool:
    """Drop the value of this kind at a path; `everywhere`: in all items of the lists on the way."""
    *steps, last = re.findall(r"\w+|\[\d+\]", path)
    level = [content]
    for step in steps:
        if not step.startswith("["):
            level = [each[step] for each in level if isinstance(each, dict) and step in each]
        elif everywhere:
            level = [item for each in level if isinstance(each, list) for item in each]
        else:
            level = [each[int(step[1:-1])] for each in level if isinstance(each, list)]
    found = [each for each in level if isinstance(each, dict) and type(each.get(last)) is kind]
    for each in found:
        del each[last]
    return bool(found)


def error_for_status(source: str, reply: HttpReply) -> SourceError:
    """Return the error for an HTTP status, by its usual meaning."""
    detail = f"{source}: HTTP {reply.status}"
    match reply.status:
        case 429 | 502 | 503:  # slow down; a proxy without its backend; maintenance
            return SourceUnavailable(detail, retry_seconds(reply))
        case 401 | 402 | 403 | 407:
            return misconfigured(source, f"acesso recusado, HTTP {reply.status}")
        case _:
            return SourceFailed(detail)


def misconfigured(source: str, what: str) -> SourceUnavailable:
    """Return the error of a source that refuses us, marked, since only the operator can act."""
    return SourceUnavailable(f"{source}: {MISCONFIGURED}{what}", MISCONFIGURED_RETRY_SECONDS)


def retry_seconds(reply: HttpReply, default: int = RETRY_SECONDS) -> int:
    """Return `Retry-After` in seconds, at most `RETRY_SECONDS_MAX`, or the default."""
    value = reply.headers.get("retry-after", "").strip()
    if not re.fullmatch(r"[0-9]{1,9}", value):
        return default
    return min(max(int(value), 1), RETRY_SECONDS_MAX)


def readable_registrations(
    source: str, found: Sequence[Registration | None]
) -> tuple[tuple[Registration, ...], int]:
    """Return the readable registrations, and the number of unreadable ones (None).

    Raises `SourceFailed` if all are unreadable: the result must not seem an empty list.
    """
    known = tuple(each for each in found if each is not None)
    if found and not known:
        raise SourceFailed(f"{source}: situação desconhecida")
    return known, len(found) - len(known)


def text(raw: str | None) -> str | None:
    """Return the clean text (`core.text`), or None if it is empty."""
    return None if raw is None else clean(raw) or None


# Dates are optional in records: one in another form is absent (contract 9.6).


def day(raw: str | None) -> str | None:
    """Return `YYYY-MM-DD` of a date or date-time; None for anything else."""
    value = text(raw)
    if value is None:
        return None
    try:
        return datetime.date.fromisoformat(value[:10]).isoformat()
    except ValueError:
        return None


def entry_day(raw: str | None) -> str | None:
    """Return a partner's entry as `YYYY-MM-DD 00:00:00`: no source has a time of day."""
    on = day(raw)
    return None if on is None else f"{on} 00:00:00"


def instant(raw: str | None) -> datetime.datetime | None:
    """Parse an ISO 8601 date-time, aware or naive; None for anything else."""
    value = text(raw)
    if value is None:
        return None
    try:
        return datetime.datetime.fromisoformat(value)
    except ValueError:
        return None


def brasilia_time(raw: str | None, *, without_zone: bool = False) -> str | None:
    """Return `YYYY-MM-DD HH:mm:ss` in Brasília of an ISO 8601 date-time; None for anything else.

    `without_zone`: a time without a zone is Brasília's; by default it is rejected.
    """
    at = instant(raw)
    if at is None or (at.tzinfo is None and not without_zone):
        return None
    if at.tzinfo is not None:
        try:
            at = at.astimezone(BRASILIA)
        except OverflowError:  # within hours of the year 1 or 9999
            return None
    return at.replace(tzinfo=None).isoformat(" ", "seconds")


def brasilia_day(raw: str | None) -> str | None:
    """Return `YYYY-MM-DD` in Brasília of an ISO 8601 date or date-time; None for anything else."""
    at = instant(raw)
    if at is None:
        return None
    try:
        return (at if at.tzinfo is None else at.astimezone(BRASILIA)).date().isoformat()
    except OverflowError:  # within hours of the year 1 or 9999
        return None


def without_punctuation(raw: str | None) -> str | None:
    """Return a document or CEP without punctuation; None for zeros and `***000000**`."""
    value = _stripped(raw).upper()
    return None if value in ("", "***000000**") or not value.strip("0") else value


def code(raw: int | str | None, width: int) -> str | None:
    """Return a code of an official table at its full width; None for zero."""
    value = _stripped(None if raw is None else str(raw))
    return value.rjust(width, "0") if value.strip("0") else None


def coded(raw: int | str | None, width: int, description: str | None) -> Coded | None:
    """Return a code with its text; None without a code."""
    value = code(raw, width)
    return None if value is None else Coded(value, text(description))


def reason(raw: int | str | None, description: str | None) -> Coded | None:
    """Return the reason of a status, 2 digits (`00`: no reason); None for anything else."""
    value = _stripped(None if raw is None else str(raw))
    if not value.isascii() or not value.isdecimal() or len(value) > _REASON_DIGITS:
        return None
    return Coded(value.zfill(_REASON_DIGITS), text(description))


def tax_option(opted: bool | None, since: str | None, until: str | None) -> TaxOption | None:
    """Return the option for Simples or MEI; None if the source does not give it."""
    option = TaxOption(opted, day(since), day(until))
    return None if option == TaxOption() else option


def capital(raw: float | str | None) -> Decimal | None:
    """Return a capital in reais, as text with a point or as a number; None for anything else."""
    return None if raw is None else capital_of(str(raw))


def telephone(*numbers: str | None) -> str | None:
    """Return the first two telephone numbers, digits with area code, joined by ` / `."""
    digits = (re.sub(r"[^0-9]", "", clean(number or "")) for number in numbers)
    return " / ".join([number for number in digits if number.strip("0")][:2]) or None


def _stripped(raw: str | None) -> str:
    return re.sub(r"[./\-\s]", "", clean(raw or ""))
