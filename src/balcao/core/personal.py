"""Hide CPFs inside texts of the registry (decisions 9.11).

In names every number that may be a CPF is hidden. Addresses and e-mails hold other numbers too:
telephones, lots, years. There a CPF is hidden that a name of the same record shows, and any other
that has its punctuation or right check digits.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from balcao.core.check_digits import checks_cpf

AnyStruct = TypeVar("AnyStruct", bound=msgspec.Struct)

# Eleven digits alone, and in the forms people type a CPF inside a name (`rfb-open-data.md`,
# section 9): 123.456.789-01, 123 456 789 01, 123456789-01, 123.456.789/01, and ten digits, with a
# zero lost in front. A formatted company root (41.273.592) has eight and is left alone; so are
# groups that are the rest of a longer number.
_CPF_IN_TEXT = re.compile(
    r"(?<![0-9])[0-9]{11}(?![0-9])"
    r"|(?<![0-9])(?<![0-9][.\-/])"
    r"(?:[0-9]{3}[.\- ]?[0-9]{3}[.\- ]?[0-9]{3} ?[.\-/ ]? ?[0-9]{2}"
    r"|[0-9]{2,3}\.[0-9]{3}\.[0-9]{3}-[0-9]{1,3}"
    r"|[0-9]{8}[-/]?[0-9]{2})"
    r"(?![0-9])"
)
_DIGIT = re.compile(r"[0-9]")
_NO_DIGIT = re.compile(r"[^0-9]")
_CPF_LENGTH = 11
_ALL_ALIKE = 11_111_111_111

# As many digits as a CPF has without its check digits, however they are written.
_MANY_DIGITS = re.compile(r"[0-9](?:[.\-/ ]{0,3}[0-9]){8}")
_PUNCTUATED = re.compile(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}[-/ ]")
_PUBLISHED = re.compile(r"\*{3}([0-9]{6})\*{2}")


def mask_cpf_in_text(text: str | None) -> str | None:
    """Hide every CPF inside a name as `***456789**`."""
    digit = _DIGIT.search(text) if text else None
    if text is None or digit is None:
        return text
    # From there on: quicker than to look for a CPF at every letter.
    before = digit.start()
    return text[:before] + _CPF_IN_TEXT.sub(_masked_match, text[before:])


def _masked_match(match: re.Match[str]) -> str:
    digits = _NO_DIGIT.sub("", match[0]).rjust(11, "0")
    return f"***{digits[3:9]}**"


def with_masked_texts(
    record: AnyStruct, fields: Sequence[str], sources: Iterable[str | None]
) -> AnyStruct:
    """Return the record with CPFs hidden in these text fields; the same one if there are none.

    `sources` are masked texts of the same record: the six digits that they show tell its own CPFs.
    """
    texts: list[Any] = [getattr(record, field) for field in fields]
    if _MANY_DIGITS.search("\n".join([text for text in texts if text])) is None:  # of nearly all
        return record
    own = own_cpfs(sources)
    changed = {
        field: hidden
        for field, text in zip(fields, texts, strict=True)
        if (hidden := mask_cpf_in_free_text(text, own)) != text
    }
    return msgspec.structs.replace(record, **changed) if changed else record


def own_cpfs(sources: Iterable[str | None]) -> frozenset[str]:
    """Return the six published digits of every CPF in these texts."""
    return frozenset(
        six for text in sources if text for six in _PUBLISHED.findall(mask_cpf_in_text(text) or "")
    )


def mask_cpf_in_free_text(text: str | None, own: Iterable[str] = ()) -> str | None:
    """Hide CPFs in a text that holds other numbers too. `own`: see `own_cpfs`."""
    if not text or _MANY_DIGITS.search(text) is None:
        return text
    for six in own:
        # Also without its check digits, which follow from the others, and a zero lost in front.
        shown = rf"[0-9]{{2,3}}[.\- ]?{six[:3]}[.\- ]?{six[3:]}(?: ?[.\-/ ]? ?[0-9]{{2}})?"
        text = re.sub(shown, f"***{six}**", text)
    return _CPF_IN_TEXT.sub(_masked_if_a_cpf, text)


def _masked_if_a_cpf(match: re.Match[str]) -> str:
    digits = _NO_DIGIT.sub("", match[0])
    number = int(digits)
    right = len(digits) == _CPF_LENGTH and checks_cpf(number) and number % _ALL_ALIKE
    return _masked_match(match) if right or _PUNCTUATED.match(match[0]) else match[0]
