"""Reader of CNPJs and CPFs as people, spreadsheets and programs write them (ADR 0086).

Every input for people uses `read`: cells of batches, the search box, forms, filters. The documents
it returns come from `Cnpj.parse` or `Cpf.parse`; the API's paths use these strict parsers alone
(contract 2.1).
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from balcao.core.check_digits import cnpj_check_digits, cpf_check_digits
from balcao.core.documents import CNPJ_CHARACTERS, CPF_CHARACTERS, Cnpj, Cpf
from balcao.core.errors import InvalidCnpj, InvalidCpf

DocumentKind: TypeAlias = Literal["cnpj", "cpf"]
BOTH: frozenset[DocumentKind] = frozenset({"cnpj", "cpf"})

Flaw: TypeAlias = Literal[
    "nothing",  # neither letters nor digits, or zeros only, as in empty cells of some files
    "words",  # neither a CNPJ nor a CPF
    "length",  # the characters of a document, but more or fewer of them
    "digits",  # as long as a document, with wrong check digits
    "root",  # the first eight characters of a CNPJ
    "several",  # more than one document
    "ambiguous",  # more than one document is possible
    "other_kind",  # a document of a kind that is not accepted here
    "cut",  # a number in scientific notation, whose last digits are lost
]


class Reading(msgspec.Struct, frozen=True, gc=False):
    """Result of reading one text: a document, or a flaw.

    `padded`: leading zeros that a spreadsheet had removed were restored. `alone`: the text contains
    nothing else. `count`: of characters (`length`, `digits`) or documents (`several`).
    """

    document: Cnpj | Cpf | None = None
    flaw: Flaw | None = None
    padded: bool = False
    alone: bool = True
    count: int = 0


def kind_of(document: Cnpj | Cpf) -> DocumentKind:
    """Return the name of the document's kind in parameters and columns."""
    return "cnpj" if isinstance(document, Cnpj) else "cpf"


# Characters.

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u2e3a\u2e3b\ufe58\ufe63"
_SLASHES = "\u2044\u2215\u29f8"
_DOTS = "\u00b7\u2022\u2024\u2027\u2219\u22c5\u30fb"
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033"
_APOSTROPHES = "\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`"
_BLANKS = "\u00a0\u1680\u202f\u205f\u3000\u2028\u2029\u0085"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\ufeff\x7f",
    *map(chr, range(0x00, 0x09)), *map(chr, range(0x0E, 0x1C)), *map(chr, range(0x80, 0x85)),
    *map(chr, range(0x86, 0xA0)), *map(chr, range(0x200B, 0x2010)),
    *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2060, 0x2070)),
    *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0xFFF9, 0xFFFC)),
)  # fmt: skip

# No letter becomes a digit or another letter (contract 2.2).
_PLAIN = {
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _SLASHES), "/"),
    **dict.fromkeys(map(ord, _DOTS), "."),
    **dict.fromkeys(map(ord, _QUOTES), '"'),
    **dict.fromkeys(map(ord, _APOSTROPHES), "'"),
    **dict.fromkeys(map(ord, _BLANKS), " "),
    **dict.fromkeys(range(0x2000, 0x200B), " "),
    **{0xFF01 + at: 0x21 + at for at in range(0x5E)},  # full-width
    **{0x1D7CE + at: 0x30 + at % 10 for at in range(50)},  # digits of mathematical alphabets
    **dict.fromkeys(map(ord, "".join(_INVISIBLE)), None),
}
_UPPER = {ord(lower): ord(lower.upper()) for lower in "abcdefghijklmnopqrstuvwxyz"}
_ORDINALS = dict.fromkeys(map(ord, "\u00ba\u00aa\u00b0"), " ")  # of `n\u00ba`, before a number
_UNSURE = re.compile("[\x00-\x08\x0e-\x1b\x7f]")  # invisible ASCII

# `="00012"` in a CSV makes spreadsheets keep the zeros of a text.
_FORMULA = re.compile(r'=\s*(?:T\(\s*)?"((?:[^"]|"")*)"\s*\)?', re.IGNORECASE)
_WRAPPED = ("'", '"', "=")


def text_of_formula(cell: str) -> str:
    """Return the text of a formula that is only a text, `="90010001000100"`; else the cell.

    Other formulas are not evaluated.
    """
    if cell.lstrip()[:1] != "=":
        return cell
    found = _FORMULA.fullmatch(cell.strip())
    return cell if found is None else found[1].replace('""', '"')


def cell_text(cell: str) -> str:
    """Return the visible text of a cell or pasted text, trimmed.

    Surrounding quotes, the apostrophe by which spreadsheets mark a text, and the formula around a
    text are removed. Letters keep their accents and case.
    """
    if not cell.isascii() or _UNSURE.search(cell):
        cell = cell.translate(_PLAIN)
    cell = cell.strip()
    while cell.startswith(_WRAPPED):
        inner = text_of_formula(cell)
        if inner == cell and cell[0] == "'":
            inner = cell[1:].removesuffix("'")
        elif inner == cell and cell[0] == '"':
            inner = cell[1:].removesuffix('"')
        if inner == cell:
            break
        cell = inner.strip()
    return cell


_NUMBER = re.compile(r"[0-9](?:[\s./\\_-]?[0-9])*", re.ASCII)
_SHOWN_CHARACTERS = 60


def shown(cell: str) -> str:
    """Return the text of a cell without a document for display: short, with CPFs masked."""
    text = " ".join(cell_text(cell).split())
    text = _NUMBER.sub(lambda number: _hidden(number[0]), text)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _hidden(number: str) -> str:
    """Return a number with its first three digits and those after the ninth masked, like a CPF.

    A CNPJ, and a number that is too short to identify a person, are returned as they are.
    """
    digits = sum(map(str.isdigit, number))
    if digits < CPF_CHARACTERS - 2 or (digits == CNPJ_CHARACTERS and not number.startswith("000")):
        return number
    kept = range(3, 9) if digits < CNPJ_CHARACTERS else ()
    at = -1
    masked = []
    for character in number:
        at += character.isdigit()
        masked.append(character if not character.isdigit() or at in kept else "*")
    return "".join(masked)


# Forms.

_ALNUM = re.compile("[0-9A-Z]", re.ASCII)
_SIGNS = re.compile(r"[\s./\\'_-]+")
# Removed around a document.
_AROUND = " \t\r\n.,;:()[]{}<>=\"'#*|/\\_-"
_CHARACTERS = re.compile(r"[0-9A-Z\s./\\'_-]*", re.ASCII)
_WORD_APART = re.compile(r"[A-Z]\s|\s[A-Z]", re.ASCII)
_SEP = r"(?:\s*[./\\_-]\s*|\s)?"

# A number with letters has blanks and signs only where the mask has them; other texts are names.
_SHAPE = re.compile(
    rf"[0-9A-Z]{{2}}{_SEP}[0-9A-Z]{{3}}{_SEP}[0-9A-Z]{{3}}{_SEP}[0-9A-Z]{{4}}{_SEP}[0-9A-Z]{{2}}",
    re.ASCII,
)
_ROOT = re.compile(r"[0-9A-Z]{2}\.?[0-9A-Z]{3}\.?[0-9A-Z]{3}", re.ASCII)
_ROOT_DIGITS_LEAST = 4
_ROOT_CHARACTERS = 8
_FORM_DIGITS_LEAST = 4  # of a CNPJ with wrong check digits; with fewer it is a word

# As spreadsheets write numbers of ten digits and more: a mantissa below 1,000, and `+` or not.
_SCIENTIFIC = re.compile(
    r"[0-9]{1,3}(?:([.,])[0-9]*)?E(\+?)(?:0?[1-9][0-9]|0{0,2}9|[1-9][0-9]{2})", re.ASCII
)
# A number with decimals, as of a price.
_DECIMALS = re.compile(r"([0-9]{1,20}|[0-9]{1,3}(?:[., ][0-9]{3})+)[.,](0{1,2})", re.ASCII)
# A number without its leading zeros; it may still have the punctuation of its end.
_CUT = re.compile(
    r"[0-9]+(?:[., ][0-9]{3})*(?:\s?/\s?[0-9]{4})?(?:\s?-\s?[0-9]{2})?(?:[.,]0{1,2})?", re.ASCII
)
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+", re.ASCII)

_NAME = (
    r"(?:C\.?N\.?P\.?J\.?|C\.?P\.?F\.?|C\.?G\.?C\.?|DOC(?:UMENTO)?\.?)"
    r"(?:\s*[/(-]?\s*(?:MF|ME|CPF|CNPJ)\b\)?)?"
)
_LABEL = re.compile(rf"{_NAME}[\s:.=#-]*(?=[0-9A-Z])", re.ASCII)
_LABEL_NO = re.compile(
    rf"{_NAME}[\s:.=#-]*(?:N[.:OR]{{0,3}}|NUM(?:ERO)?)[\s:.=#-]+(?=[0-9A-Z])", re.ASCII
)
_GLUED_LABEL = re.compile(r"(?<![^\W_])(?:CNPJ|CPF|CGC)(?:/?M[FE])?(?:NO?\.?)?(?=[0-9])", re.ASCII)

# Within a text: not adjacent to other letters and digits.
_BEGIN, _END = r"(?<![^\W_])", r"(?![^\W_])"
_S = r"(?:\s?[./\\_-]\s?)?"
_WITHIN = re.compile(
    rf"{_BEGIN}(?:"
    rf"(?:[0-9A-Z]{{2}}{_S}[0-9A-Z]{{3}}{_S}[0-9A-Z]{{3}}{_S}[0-9A-Z]{{4}}{_S}[0-9]{{2}})"
    rf"|(?:[0-9]{{3}}{_S}[0-9]{{3}}{_S}[0-9]{{3}}{_S}[0-9]{{2}})"
    rf"|(?:0[0-9]{{11,19}})"
    rf"){_END}"
)
# With blanks alone, tried last: numbers of any kind are written like this.
_BLANKED = re.compile(
    rf"{_BEGIN}(?:(?:[0-9]{{2}}\s[0-9]{{3}}\s[0-9]{{3}}\s[0-9]{{4}}\s[0-9]{{2}})"
    rf"|(?:[0-9]{{3}}\s[0-9]{{3}}\s[0-9]{{3}}\s[0-9]{{2}})){_END}"
)

_ALONE_CHARACTERS_MAX = 64  # a longer text contains more than a document
_DIGITS_MAX = 20  # of a field padded with zeros
# The shortest document without its leading zeros has three digits: 191, Banco do Brasil.
DIGITS_LEAST = 3


def read(
    text: str,
    kinds: Collection[DocumentKind] = BOTH,
    *,
    only: bool = True,
    digits_least: int = DIGITS_LEAST,
) -> Reading:
    """Return the document of the accepted kinds in a text, or the reason why there is none.

    `only` False: the text may also be a document of another kind, and a complete one is then never
    read as a shortened one of these. `digits_least`: shorter numbers are not padded with zeros.
    """
    strict = _strict(text)
    if strict is not None and kind_of(strict) in kinds:
        return Reading(strict)
    plain = _plain(text)
    if not _ALNUM.search(plain):
        return Reading(flaw="words" if any(map(str.isalnum, plain)) else "nothing")
    if len(plain) <= _ALONE_CHARACTERS_MAX:
        alone = _read_alone(plain, kinds, only=only, digits_least=digits_least)
        if alone is not None:
            return alone
    within = _read_within(plain, kinds)
    return within if within is not None else _flawed(plain, kinds)


def check_digits_of(text: str) -> tuple[str, str] | None:
    """Return the wrong check digits of a text with the flaw `digits`, and the right ones.

    None: it has another flaw, or all its characters are the same, which no check digits make valid.
    """
    if read(text).flaw != "digits":
        return None
    plain = _plain(text)
    _, wrong = _within(_WITHIN, _GLUED_LABEL.sub(" ", plain), BOTH)
    bare = _SIGNS.sub("", wrong[0] if wrong else _forms(plain)[-1])
    if len(bare) > CNPJ_CHARACTERS:
        bare = bare.lstrip("0")
    if len(set(bare)) == 1:
        return None
    right = cnpj_check_digits if len(bare) == CNPJ_CHARACTERS else cpf_check_digits
    return bare[-2:], right(bare[:-2])


def unlabelled(text: str) -> str:
    """Return a text without a label at its beginning (`CNPJ nº 90010001000100`)."""
    plain = _plain(text)
    return _forms(plain)[-1] if len(plain) <= _ALONE_CHARACTERS_MAX else plain


def _plain(text: str) -> str:
    plain = cell_text(text)
    if not plain.isascii():
        plain = plain.translate(_ORDINALS)
    return plain.strip(_AROUND).translate(_UPPER)


def _read_alone(
    plain: str, kinds: Collection[DocumentKind], *, only: bool, digits_least: int
) -> Reading | None:
    """Read a text that is only a document; None: it contains more, or is flawed."""
    scientific = _SCIENTIFIC.fullmatch(plain)
    if scientific is not None and (scientific[1] or scientific[2]):
        return Reading(flaw="cut")
    if plain.isdigit():
        named, written = [plain], {plain: plain}
    else:
        named = _forms(plain)
        written = {bare: form for form in named for bare in _bare_forms(form)}
    forms = list(written)
    exact = list(dict.fromkeys(each for each in map(_exact, forms) if each is not None))
    allowed = [each for each in exact if kind_of(each) in kinds]
    if len(allowed) == 1:
        return Reading(allowed[0], alone=len(named) == 1)
    if allowed:
        return Reading(flaw="ambiguous")
    numbers = [form for form in forms if form.isdigit()]
    if numbers and not any(form.strip("0") for form in numbers):
        return Reading(flaw="nothing")
    if "cnpj" in kinds:  # eight digits are a root; padded with zeros they could be another company
        numbers = [form for form in numbers if len(form) != _ROOT_CHARACTERS]
    whole_ended = [form for form in numbers if _CUT.fullmatch(written[form])]
    filled = list(
        dict.fromkeys(each for form in whole_ended for each in _filled(form, digits_least))
    )
    allowed = [each for each in filled if kind_of(each) in kinds]
    if len(allowed) == 1 and (only or not exact):
        padded = all(len(form) < len(allowed[0].text) for form in numbers)
        return Reading(allowed[0], padded=padded, alone=len(named) == 1)
    if allowed:
        return Reading(flaw="ambiguous")
    if exact or filled:
        return Reading(flaw="other_kind")
    return Reading(flaw="cut") if scientific is not None else None


def _forms(plain: str) -> list[str]:
    """Return the text and, if it begins with a label, the rest of it."""
    found = [plain]
    for label in (_LABEL, _LABEL_NO):
        if (match := label.match(plain)) is not None:
            found.append(plain[match.end() :])
    return found


def _bare_forms(form: str) -> Iterator[str]:
    """Yield the possible documents written by a text, without punctuation."""
    if _THOUSANDS.fullmatch(form):
        yield form.replace(",", "")
    decimals = _DECIMALS.fullmatch(form)
    if decimals is not None:
        yield _SIGNS.sub("", decimals[1]).replace(",", "")
        if len(decimals[2]) == 1:
            return
    bare = _SIGNS.sub("", form)
    if not bare.isascii() or not bare.isalnum():
        return
    # Letters with blanks elsewhere are words of matching length.
    if bare.isdigit() or _SHAPE.fullmatch(form):
        yield bare


def _filled(number: str, digits_least: int) -> Iterator[Cnpj | Cpf]:
    """Yield the valid documents that a number is after adding or removing leading zeros."""
    digits = number.lstrip("0")
    if not digits or len(number) > _DIGITS_MAX:
        return
    for size in (CNPJ_CHARACTERS, CPF_CHARACTERS):
        if len(digits) > size or (len(number) < size and len(number) < digits_least):
            continue
        document = _exact(digits.zfill(size))
        if document is not None:
            yield document


def _read_within(plain: str, kinds: Collection[DocumentKind]) -> Reading | None:
    """Read a text that may contain a document among other words; None: there is none."""
    text = _GLUED_LABEL.sub(" ", plain)
    for pattern in (_WITHIN, _BLANKED):
        found, wrong = _within(pattern, text, kinds)
        if any(len(each) > 1 for each in found):
            return Reading(flaw="ambiguous")
        documents = list(dict.fromkeys(document for each in found for document in each))
        allowed = [each for each in documents if kind_of(each) in kinds]
        if len(allowed) == 1 and not wrong:
            return Reading(allowed[0], alone=False)
        if len(allowed) + len(wrong) > 1:
            return Reading(flaw="several", count=len(found) + len(wrong))
        if wrong:
            return Reading(
                flaw="digits", count=len(_SIGNS.sub("", wrong[0])), alone=wrong[0] == plain
            )
        if documents:
            return Reading(flaw="other_kind")
    joined = _joined(_SIGNS.sub("", plain))
    return Reading(flaw="several", count=joined) if joined > 1 else None


def _within(
    pattern: re.Pattern[str], text: str, kinds: Collection[DocumentKind]
) -> tuple[list[Sequence[Cnpj | Cpf]], list[str]]:
    """Return the parts of a text that look like documents: the possible documents of each, and the
    text of those with wrong check digits.
    """
    found: list[Sequence[Cnpj | Cpf]] = []
    wrong: list[str] = []
    at = 0
    while (match := pattern.search(text, at)) is not None:
        bare = _SIGNS.sub("", match[0])
        document = _exact(bare)
        possible = [] if document is None else [document]
        if not possible and bare.isdigit() and bare.startswith("0"):
            possible = [each for each in _filled(bare, _DIGITS_MAX) if kind_of(each) in kinds]
        if possible:
            found.append(possible)
        elif pattern is _WITHIN and _is_written_as_document(match[0], bare, kinds):
            wrong.append(match[0])
        else:
            at = match.start() + 1
            continue
        at = match.end()
    return found, wrong


def _is_written_as_document(written: str, bare: str, kinds: Collection[DocumentKind]) -> bool:
    """Return whether the text is most likely a document; 11 bare digits may be a telephone."""
    if len(bare) == CNPJ_CHARACTERS:
        return "cnpj" in kinds and (bare.isdigit() or len(written) > len(bare) + 2)
    return len(bare) == CPF_CHARACTERS and "cpf" in kinds and len(written) > len(bare) + 1


def _joined(bare: str) -> int:
    """Return how many documents follow each other without separators; 1: not several."""
    if not bare.isascii():
        return 1
    for size in (CNPJ_CHARACTERS, CPF_CHARACTERS):
        count, over = divmod(len(bare), size)
        if count > 1 and not over:
            parts = (bare[at : at + size] for at in range(0, len(bare), size))
            if all(_exact(part) is not None for part in parts):
                return count
    return 1


def _flawed(plain: str, kinds: Collection[DocumentKind]) -> Reading:
    """Return the flaw of a text that contains no document."""
    if len(plain) > _ALONE_CHARACTERS_MAX:  # `_forms` is for short texts only
        return Reading(flaw="words")
    form = _forms(plain)[-1]
    decimals = _DECIMALS.fullmatch(form)
    if decimals is not None and len(decimals[2]) == 1:  # no digit of the number
        form = decimals[1]
    bare = _SIGNS.sub("", form)
    count, digits = len(bare), sum(map(str.isdigit, bare))
    if not _CHARACTERS.fullmatch(form) or not digits:
        return Reading(flaw="words")
    if "cnpj" in kinds and _ROOT.fullmatch(form) and digits >= _ROOT_DIGITS_LEAST:
        return Reading(flaw="root", count=count)
    if bare.isdigit():
        filled = bare.lstrip("0") if count > CNPJ_CHARACTERS else bare
        # A valid document with too many leading zeros has the flaw `length` instead.
        if len(filled) in {CNPJ_CHARACTERS, CPF_CHARACTERS} and _exact(filled) is None:
            return Reading(flaw="digits", count=len(filled))
    elif _SHAPE.fullmatch(form) and digits >= _FORM_DIGITS_LEAST:
        return Reading(flaw="digits", count=count)
    if digits * 2 < count or _WORD_APART.search(form):
        return Reading(flaw="words")
    return Reading(flaw="length", count=count)


def _exact(bare: str) -> Cnpj | Cpf | None:
    if len(bare) == CNPJ_CHARACTERS:
        return _parsed(Cnpj, bare)
    return _parsed(Cpf, bare) if len(bare) == CPF_CHARACTERS else None


def _strict(text: str) -> Cnpj | Cpf | None:
    """Return the document by the strict rules of the API's paths."""
    if len(text) < CNPJ_CHARACTERS:
        return _parsed(Cpf, text)
    return _parsed(Cnpj, text) or (None if text.isdigit() else _parsed(Cpf, text))


def _parsed(kind: type[Cnpj] | type[Cpf], text: str) -> Cnpj | Cpf | None:
    try:
        return kind.parse(text)
    except (InvalidCnpj, InvalidCpf):
        return None
