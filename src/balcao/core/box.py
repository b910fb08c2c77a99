"""What somebody means who puts a text into the box of every page's header (ADR 0018).

One text, one meaning: the table in `tests/core/test_box.py` is the whole of it. Nothing here knows
what an account has; who answers looks for it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from balcao.core.document_reader import check_digits_of
from balcao.core.documents import Cnpj, Cpf
from balcao.core.recognition import Kind, Seen, document_of, documents_apart, recognise
from balcao.core.words import indexed_words_of

Meaning: TypeAlias = Literal[
    "nothing",
    "company",  # a CNPJ
    "person",  # a CPF
    "request",  # the number of one
    "certificate",  # by its control code
    "several",  # documents: a batch
    "wrong",  # a document that is none
    "words",  # a name
]

# `BCF6.24B5.98D7.4E50`, as a federal certificate says it, alone or in a sentence; or bare.
_CODE = re.compile(
    r"(?<![0-9A-Z.])([0-9A-F]{4})\.([0-9A-F]{4})\.([0-9A-F]{4})\.([0-9A-F]{4})"
    r"(?![0-9A-Z]|\.[0-9A-Z])",
    re.ASCII,
)
_BARE_CODE = re.compile("([0-9A-F]{4}) ?([0-9A-F]{4}) ?([0-9A-F]{4}) ?([0-9A-F]{4})", re.ASCII)
_REQUEST = re.compile(
    r"(?<![0-9a-f-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f-])", re.ASCII
)

_SENTENCES: Mapping[Kind, str] = {
    "root": "Isto é a raiz de um CNPJ, os 8 primeiros caracteres. Escreva o número inteiro, com"
    " 14.",
    "cut": "Este número foi cortado pela planilha, e os últimos dígitos se perderam. Copie-o de uma"
    " coluna formatada como texto.",
    "ambiguous": "Pelos zeros à esquerda, há mais de um documento possível. Escreva o número"
    " inteiro.",
}

# With letters and fewer characters than this it is a name rather than a document.
_NAMES_END = 11


class Meant(msgspec.Struct, frozen=True):
    """What it is, and what is needed to go on with it."""

    meaning: Meaning
    document: Cnpj | Cpf | None = None  # of a company or a person
    text: str = ""  # number of a request, control code, words
    count: int = 0  # documents of several
    complaint: str = ""  # of what is wrong: which part of it, without repeating a CPF


def meant_by(text: str) -> Meant:
    """The meaning of a text."""
    text = " ".join(text.split()) if "\n" not in text.strip() else text.strip()
    if not text:
        return Meant("nothing")
    if (number := _REQUEST.search(text.lower())) is not None:
        return Meant("request", text=number[0])
    seen = recognise(text)
    bare_code = _BARE_CODE.fullmatch(text.upper())
    if bare_code is not None and text.isdigit() and seen.kind in {"cnpj", "cpf"}:
        bare_code = None  # a document filled up with zeros
    if (code := _CODE.search(text.upper()) or bare_code) is not None:
        return Meant("certificate", text=".".join(code.groups()))
    if len(listed := documents_apart(text)) > 1:  # also where one of them is too short
        return Meant("several", text=text, count=len(listed))
    match seen.kind:
        case "cnpj":
            return Meant("company", document_of(text))
        case "cpf":
            return Meant("person", document_of(text))
        case "several":
            return Meant("several", text=text, count=seen.count)
        case "length" | "root" if seen.count < _NAMES_END and any(map(str.isalpha, text)):
            return Meant("words", text=text)  # 3M, B2W
        case "digits" | "length" | "root" | "cut" | "ambiguous":
            return Meant("wrong", complaint=_complaint(text, seen))
        case _:
            return Meant("words", text=text)


def complaint_of(text: str) -> str | None:
    """Return the sentence about a text's wrong check digits; None: something else is wrong."""
    seen = recognise(text)
    return _complaint(text, seen) if seen.kind == "digits" else None


def flaws_of(listed: str) -> Sequence[tuple[int, str]]:
    """Of a list of documents, one a line, those that are none: which line, and what is wrong."""
    seen = [(recognise(part), part) for part in documents_apart(listed)]
    return [
        (line, _complaint(part, one))
        for line, (one, part) in enumerate(seen, 1)
        if one.kind in {"digits", "length", "ambiguous", "cut"}
    ]


def _complaint(text: str, seen: Seen) -> str:
    """Which part of a document is wrong. A CNPJ is nobody's secret: its right end is said."""
    if seen.kind in _SENTENCES:
        return _SENTENCES[seen.kind]
    if seen.kind != "digits":
        return f"Um CNPJ tem 14 caracteres, e um CPF 11 dígitos; aqui há {seen.count}."
    name = "CNPJ" if seen.count == 14 else "CPF"
    digits = check_digits_of(text)
    if digits is None:
        return f"Nenhum {name} tem todos os caracteres iguais."
    given, right = digits
    if "O" in text.upper() and document_of(text.upper().replace("O", "0")) is not None:
        return f"Parece haver a letra O no lugar de um zero deste {name}. Confira-o."
    if not given.isdigit():
        letters = " e ".join(dict.fromkeys(filter(str.isalpha, given)))
        return (
            f"Os dois últimos caracteres de um {name} são dígitos, e não letras; aqui há {letters}."
        )
    wrong = [place for place in (0, 1) if given[place] != right[place]]
    if not wrong:
        return f"Os dígitos deste {name} não conferem. Confira-os todos."
    which = (
        "Os dois últimos dígitos não conferem"
        if len(wrong) == 2
        else f"O {('penúltimo', 'último')[wrong[0]]} dígito não confere"
    )
    if name == "CPF":
        return f"{which} com os outros nove deste CPF. Confira-os todos."
    return (
        f"{which}: com os outros doze caracteres, este CNPJ terminaria em {right}, e não em"
        f" {given}. Confira-os todos."
    )


def plain_code(text: str | None) -> str:
    """What counts of a certificate's code: each state writes its own with other signs."""
    return "".join(filter(str.isalnum, text or "")).upper()


def is_named(wanted: Sequence[str], name: str) -> bool:
    """Whether each of these words begins one of the name's (`indexed_words_of`), in any order."""
    known = indexed_words_of(name)
    return bool(wanted) and all(any(word.startswith(each) for word in known) for each in wanted)
