"""Masking of CPFs inside texts of the registry (contract 9.11).

In names every number that may be a CPF is masked. Addresses and e-mails contain other numbers too:
telephones, lots, years. There a CPF is masked if it is also in a name of the same record, if it is
punctuated, or if its check digits are right.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from balcao.core.characters import plain_text, plain_text_with_offsets
from balcao.core.check_digits import cpf_check_digits

AnyStruct = TypeVar("AnyStruct", bound=msgspec.Struct)

# Eleven bare digits, and the forms in which CPFs are typed in names (`rfb-open-data.md`, section
# 9): 123.456.789-01, 123 456 789 01, 123456789-01, 123.456.789/01, and ten digits without the
# leading zero. A formatted company root (41.273.592) has eight and is not masked, nor are groups
# that are part of a longer number.
_CPF_IN_TEXT = re.compile(
    r"(?<![0-9])[0-9]{11}(?![0-9])"
    r"|(?<![0-9])(?<![0-9][.\-/])"
    r"(?:[0-9]{3}[.\-_ ]?[0-9]{3}[.\-_ ]?[0-9]{3} ?[.\-_/ ]? ?[0-9]{2}"
    r"|[0-9]{2,3}\.[0-9]{3}\.[0-9]{3}-[0-9]{1,3}"
    r"|[0-9]{8}[-/]?[0-9]{2})"
    r"(?![0-9])"
)
_DIGIT = re.compile(r"[0-9]")
_NO_DIGIT = re.compile(r"[^0-9]")
_CPF_LENGTH = 11

# As many digits as a CPF has without its check digits, in any punctuation.
_MANY_DIGITS = re.compile(r"[0-9](?:[.\-_/ ]{0,3}[0-9]){8}")
_PUNCTUATED = re.compile(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}[-_/ ]")
_PUBLISHED = re.compile(r"\*{3}([0-9]{6})\*{2}")


def mask_cpf_in_text(text: str | None) -> str | None:
    """Mask every CPF inside a name as `***456789**`."""
    return _replaced(text, _CPF_IN_TEXT, _masked_match) if text else text


def _replaced(
    text: str, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]
) -> str:
    """Replace the matches of a pattern in the plain characters of a text; keep the rest."""
    plain, places = plain_text_with_offsets(text)
    digit = _DIGIT.search(plain)
    if digit is None:
        return text
    # Searching from the first digit is quicker than from the first letter.
    start = digit.start()
    if plain is text:
        return text[:start] + pattern.sub(replacement, text[start:])
    parts, kept = [], 0
    for match in pattern.finditer(plain, start):
        parts += [text[kept : places[match.start()]], replacement(match)]
        kept = places[match.end() - 1] + 1
    return "".join([*parts, text[kept:]])


def _masked_match(match: re.Match[str]) -> str:
    digits = _NO_DIGIT.sub("", match[0]).rjust(11, "0")
    return f"***{digits[3:9]}**"


def with_masked_texts(
    record: AnyStruct, fields: Sequence[str], sources: Iterable[str | None]
) -> AnyStruct:
    """Return the record with CPFs masked in these text fields, or the same object if unchanged.

    `sources`: texts of the same record; their CPFs, even if masked there, are masked in the fields.
    """
    texts: list[Any] = [getattr(record, field) for field in fields]
    joined = plain_text("\n".join([text for text in texts if text]))
    if _MANY_DIGITS.search(joined) is None:  # in nearly all records
        return record
    own = own_cpfs(sources)
    changed = {
        field: hidden
        for field, text in zip(fields, texts, strict=True)
        if (hidden := mask_cpf_in_free_text(text, own)) != text
    }
    return msgspec.structs.replace(record, **changed) if changed else record


def own_cpfs(sources: Iterable[str | None]) -> frozenset[str]:
    """Return the six unmasked digits of every CPF in these texts."""
    return frozenset(
        six for text in sources if text for six in _PUBLISHED.findall(mask_cpf_in_text(text) or "")
    )


def mask_cpf_in_free_text(text: str | None, own: Iterable[str] = ()) -> str | None:
    """Mask CPFs in a text that contains other numbers too. `own`: see `own_cpfs`."""
    if not text or _MANY_DIGITS.search(plain_text(text)) is None:
        return text
    for six in own:
        # Also without its check digits, which follow from the others, or its leading zero.
        shown = rf"[0-9]{{2,3}}[.\-_ ]?{six[:3]}[.\-_ ]?{six[3:]}(?: ?[.\-_/ ]? ?[0-9]{{2}})?"
        text = _replaced(text, re.compile(shown), _masked_as(six))
    return _replaced(text, _CPF_IN_TEXT, _masked_if_a_cpf)


def _masked_as(six: str) -> Callable[[re.Match[str]], str]:
    return lambda _: f"***{six}**"


def _masked_if_a_cpf(match: re.Match[str]) -> str:
    digits = _NO_DIGIT.sub("", match[0])
    right = (
        len(digits) == _CPF_LENGTH
        and cpf_check_digits(digits[:9]) == digits[9:]
        and digits != digits[0] * _CPF_LENGTH
    )
    return _masked_match(match) if right or _PUNCTUATED.match(match[0]) else match[0]
