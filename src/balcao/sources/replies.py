"""What adapters share in reading replies: decoding at the door, texts, dates, refusals."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec

from balcao.core.calendar import BRASILIA
from balcao.core.company import PARTNERS_MAX, Coded
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.registration import REGISTRATIONS_MAX, Registration
from balcao.core.text import clean
from balcao.sources.contract import HttpReply

RETRY_SECONDS = 30  # when a source that is down does not say for how long
RETRY_SECONDS_MAX = 3600  # whatever it says: nobody shall be sent away for a day
MISCONFIGURED_RETRY_SECONDS = 600  # a key, a contract, an account: a person has to act

# How the detail begins of whoever is well and refuses us.
MISCONFIGURED = "VERIFIQUE A CONFIGURAÇÃO DESTA FONTE: "

# Before anything is made of a text, these are counted in it: reading JSON holds up all threads,
# by some hundred nanoseconds for every value. A company with ten thousand partners has fewer.
CONTAINERS_MAX = 100_000
COMMAS_MAX = 250_000

LIST_MAX = 1_000  # of lists that are short: activities, telephones, incentives
NUMBER_MAX = 9_999_999  # codes of official tables have seven digits at the most

T = TypeVar("T")

# Lists as they may be at the most (contract 9.5), to be used in the types that are decoded.
ShortList = Annotated[list[T], msgspec.Meta(max_length=LIST_MAX)]
RegistrationList = Annotated[list[T], msgspec.Meta(max_length=REGISTRATIONS_MAX)]
PartnerList = Annotated[list[T], msgspec.Meta(max_length=PARTNERS_MAX)]
Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]


def parse(kind: type[T], body: bytes) -> T:
    """Read JSON into its type. Raises `msgspec.DecodeError` for whatever is wrong with it."""
    if body.count(b"{") + body.count(b"[") > CONTAINERS_MAX or body.count(b",") > COMMAS_MAX:
        raise msgspec.DecodeError("Too many values")
    try:
        if not body.isascii():
            body.decode()  # also what is not read must be text
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError:  # names the place and the kinds, never a value
        raise
    except (ValueError, RecursionError) as error:  # the text of the first may quote a value
        raise msgspec.DecodeError(type(error).__name__) from None


def decode(source: str, kind: type[T], body: bytes) -> T:
    """Read JSON into its type. Raises `SourceFailed`; unknown fields are let through."""
    try:
        return parse(kind, body)
    except msgspec.DecodeError as error:
        # The message names the place and the types ("Expected `str`, got `int` - at `$.uf`"),
        # never a value.
        raise SourceFailed(f"{source}: resposta em outra forma ({error})") from None


def decode_what_can_be(source: str, kind: type[T], body: bytes) -> T:
    """Read JSON into a record, in which an optional value may be absent: see `converted`."""
    try:
        try:
            return parse(kind, body)
        except msgspec.ValidationError:  # raised before what follows was read
            content = parse(object, body)
        return converted(source, kind, content)
    except msgspec.DecodeError as error:
        raise SourceFailed(f"{source}: resposta em outra forma ({error})") from None


def converted(source: str, kind: type[T], content: object) -> T:
    """Untyped JSON as its type; an optional value that is null or of another kind is absent.

    So is an object that lacks what it requires. What `kind` itself requires must be there, and
    lists and their items must be what they are (contract 9.6): one that was dropped would pass for
    an empty one, or a shorter one. Changes `content`. Raises `SourceFailed`.
    """
    first, dropped = "", 0
    while True:
        try:
            return msgspec.convert(content, kind)
        except msgspec.ValidationError as error:
            told = str(error)
        first = first or told
        if _without_nulls(content):
            continue
        dropped += 1
        if dropped > _DROPPED_MAX or not _without_what_is_told(content, told):
            raise SourceFailed(f"{source}: resposta em outra forma ({first})") from None


# msgspec's message where the value should not be a list: the types and the path.
_NOT_UNDERSTOOD = re.compile(
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
_DROPPED_MAX = 5  # fields; with more of them it is another form altogether


def _without_nulls(content: object) -> bool:
    """Drop every null field, which is as good as an absent one; return whether there was any.

    An optional field may have a type without null: a struct that has a default.
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


def _without_what_is_told(content: object, told: str) -> bool:
    """Drop what an error is about; return whether there was anything.

    What is required is missed at the next attempt.
    """
    if (found := _OUT_OF_BOUNDS.fullmatch(told)) is not None:
        return _drop(content, found["path"], int, everywhere=False)
    if (found := _INCOMPLETE.fullmatch(told)) is not None:
        return _drop(content, found["path"], dict, everywhere=False)
    found = _NOT_UNDERSTOOD.fullmatch(told)
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


def refusal(source: str, reply: HttpReply) -> SourceError:
    """What a status means that the adapter does not know better: an error to raise."""
    detail = f"{source}: HTTP {reply.status}"
    match reply.status:
        case 429 | 502 | 503:  # slow down; a proxy that finds nobody behind it; maintenance
            return SourceUnavailable(detail, retry_seconds(reply))
        case 401 | 402 | 403 | 407:
            return misconfigured(source, f"acesso recusado, HTTP {reply.status}")
        case _:
            return SourceFailed(detail)


def misconfigured(source: str, what: str) -> SourceUnavailable:
    """The source is well and refuses us: loud, since only the operator can mend it."""
    return SourceUnavailable(f"{source}: {MISCONFIGURED}{what}", MISCONFIGURED_RETRY_SECONDS)


def retry_seconds(reply: HttpReply, default: int = RETRY_SECONDS) -> int:
    """`Retry-After` in seconds, where the source sends one."""
    stated = reply.headers.get("retry-after", "").strip()
    if not re.fullmatch(r"[0-9]{1,9}", stated):
        return default
    return min(max(int(stated), 1), RETRY_SECONDS_MAX)


def known_ones(
    source: str, found: Sequence[Registration | None]
) -> tuple[tuple[Registration, ...], int]:
    """Return the registrations that can be read, and how many cannot: those that are None.

    One in words that nobody knows does not discard the others; but without any other it must not
    pass for an empty list. Raises `SourceFailed`.
    """
    known = tuple(each for each in found if each is not None)
    if found and not known:
        raise SourceFailed(f"{source}: situação desconhecida")
    return known, len(found) - len(known)


def text(raw: str | None) -> str | None:
    """Clean (`core.text`); nothing where there is nothing."""
    return None if raw is None else clean(raw) or None


# Dates that a record may lack: one in another form is absent, like none (contract 9.6).


def day(raw: str | None) -> str | None:
    """`YYYY-MM-DD` of a date or date-time; None for anything else."""
    stated = text(raw)
    if stated is None:
        return None
    try:
        return datetime.date.fromisoformat(stated[:10]).isoformat()
    except ValueError:
        return None


def entry_day(raw: str | None) -> str | None:
    """A partner's entry as `YYYY-MM-DD 00:00:00`: no source knows the time of day."""
    on = day(raw)
    return None if on is None else f"{on} 00:00:00"


def instant(raw: str | None) -> datetime.datetime | None:
    """An ISO 8601 date-time, with its zone or without; None for anything else."""
    stated = text(raw)
    if stated is None:
        return None
    try:
        return datetime.datetime.fromisoformat(stated)
    except ValueError:
        return None


def civil(raw: str | None, *, without_zone: bool = False) -> str | None:
    """`YYYY-MM-DD HH:mm:ss` in Brasília, of an ISO 8601 date-time; None for anything else.

    `without_zone`: a time without its zone is Brasília's already; otherwise it is not understood.
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


def civil_day(raw: str | None) -> str | None:
    """`YYYY-MM-DD` in Brasília of an ISO 8601 date or date-time; None for anything else."""
    at = instant(raw)
    if at is None:
        return None
    try:
        return (at if at.tzinfo is None else at.astimezone(BRASILIA)).date().isoformat()
    except OverflowError:  # within hours of the year 1 or 9999
        return None


def plain(raw: str | None) -> str | None:
    """A document or CEP without punctuation. `***000000**` is the registry's way to say "none"."""
    stated = _bare(raw).upper()
    return None if stated in ("", "***000000**") or not stated.strip("0") else stated


def code(raw: int | str | None, width: int) -> str | None:
    """A code of an official table at its full width; zero stands for none."""
    stated = _bare(None if raw is None else str(raw))
    return stated.rjust(width, "0") if stated.strip("0") else None


def coded(raw: int | str | None, width: int, description: str | None) -> Coded | None:
    """A code with its text; None when there is no code."""
    stated = code(raw, width)
    return None if stated is None else Coded(stated, text(description))


def telephone(*numbers: str | None) -> str | None:
    """Area code and number, digits only; the first two there are, joined by ` / `."""
    digits = (re.sub(r"[^0-9]", "", clean(number or "")) for number in numbers)
    return " / ".join([number for number in digits if number.strip("0")][:2]) or None


def _bare(raw: str | None) -> str:
    """Without the punctuation of documents and codes."""
    return re.sub(r"[./\-\s]", "", clean(raw or ""))
