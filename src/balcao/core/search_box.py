"""Interpretation of a text typed into the search box of the page header (ADR 0018).

Each text has one meaning; the table in `tests/core/test_search_box.py` lists all kinds. It depends
on the text alone, not on the account's data.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from balcao.core.document_reader import check_digits_of
from balcao.core.documents import Cnpj, Cpf
from balcao.core.recognition import Kind, Recognition, document_of, recognise, separate_documents
from balcao.core.words import indexed_words_of

Meaning: TypeAlias = Literal[
    "nothing",
    "company",  # a CNPJ
    "person",  # a CPF
    "request",  # a request_id
    "certificate",  # its control code
    "several",  # documents: a batch
    "wrong",  # an invalid document
    "words",  # a name
]

# `BCF6.24B5.98D7.4E50`, as in a federal certificate, alone or in a sentence; or without points.
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
    "root": "Esta é a raiz de um CNPJ, os 8 primeiros caracteres. Digite o número completo, com"
    " 14.",
    "cut": "A planilha cortou este número e os últimos dígitos se perderam. Copie o número de uma"
    " coluna formatada como texto.",
    "ambiguous": "Sem os zeros à esquerda, há mais de um documento possível. Digite o número"
    " completo.",
}

# A text with letters and fewer characters than this is a name rather than a document.
_NAMES_END = 11


class Interpretation(msgspec.Struct, frozen=True):
    """The meaning of a text, with the parts needed to act on it."""

    meaning: Meaning
    document: Cnpj | Cpf | None = None  # of a company or a person
    text: str = ""  # request_id, control code or words
    count: int = 0  # number of documents, if several
    complaint: str = ""  # the error in a wrong document, without repeating a CPF


def interpret(text: str) -> Interpretation:
    """Return the meaning of a text."""
    text = " ".join(text.split()) if "\n" not in text.strip() else text.strip()
    if not text:
        return Interpretation("nothing")
    if (number := _REQUEST.search(text.lower())) is not None:
        return Interpretation("request", text=number[0])
    seen = recognise(text)
    bare_code = _BARE_CODE.fullmatch(text.upper())
    if bare_code is not None and text.isdigit() and seen.kind in {"cnpj", "cpf"}:
        bare_code = None  # a document with leading zeros
    if (code := _CODE.search(text.upper()) or bare_code) is not None:
        return Interpretation("certificate", text=".".join(code.groups()))
    if len(listed := separate_documents(text)) > 1:  # also where one of them is too short
        return Interpretation("several", text=text, count=len(listed))
    match seen.kind:
        case "cnpj":
            return Interpretation("company", document_of(text))
        case "cpf":
            return Interpretation("person", document_of(text))
        case "several":
            return Interpretation("several", text=text, count=seen.count)
        case "length" | "root" if seen.count < _NAMES_END and any(map(str.isalpha, text)):
            return Interpretation("words", text=text)  # 3M, B2W
        case "digits" | "length" | "root" | "cut" | "ambiguous":
            return Interpretation("wrong", complaint=_complaint(text, seen))
        case _:
            return Interpretation("words", text=text)


def check_digit_message(text: str) -> str | None:
    """Return the message about a document's wrong check digits; None if they are not the error."""
    seen = recognise(text)
    return _complaint(text, seen) if seen.kind == "digits" else None


def invalid_lines(listed: str) -> Sequence[tuple[int, str]]:
    """Return line number and error of each invalid document in a list with one per line."""
    seen = [(recognise(part), part) for part in separate_documents(listed)]
    return [
        (line, _complaint(part, one))
        for line, (one, part) in enumerate(seen, 1)
        if one.kind in {"digits", "length", "ambiguous", "cut"}
    ]


def _complaint(text: str, seen: Recognition) -> str:
    """Return which part of a document is wrong; for a CNPJ, which is public, the right digits."""
    if seen.kind in _SENTENCES:
        return _SENTENCES[seen.kind]
    if seen.kind != "digits":
        return f"Um CNPJ tem 14 caracteres e um CPF, 11 dígitos. Aqui há {seen.count}."
    name = "CNPJ" if seen.count == 14 else "CPF"
    digits = check_digits_of(text)
    if digits is None:
        return f"Um {name} não pode ter todos os caracteres iguais."
    given, right = digits
    if "O" in text.upper() and document_of(text.upper().replace("O", "0")) is not None:
        return f"Parece haver a letra O no lugar de um zero neste {name}. Confira."
    if not given.isdigit():
        letters = " e ".join(dict.fromkeys(filter(str.isalpha, given)))
        return (
            f"Os dois últimos caracteres de um {name} são dígitos, não letras. Aqui há {letters}."
        )
    wrong = [place for place in (0, 1) if given[place] != right[place]]
    if not wrong:
        return f"Os dígitos deste {name} não conferem. Confira todos."
    which = (
        "Os dois últimos dígitos não conferem"
        if len(wrong) == 2
        else f"O {('penúltimo', 'último')[wrong[0]]} dígito não confere"
    )
    if name == "CPF":
        return f"{which} com os outros nove deste CPF. Confira todos."
    return (
        f"{which}: com os outros doze caracteres, este CNPJ terminaria em {right}, e não em"
        f" {given}. Confira-os todos."
    )


def normalized_code(text: str | None) -> str:
    """Return a certificate's code without its punctuation, which differs by state."""
    return "".join(filter(str.isalnum, text or "")).upper()


def name_matches(wanted: Sequence[str], name: str) -> bool:
    """Return whether each word is the beginning of a word in the name, in any order."""
    known = indexed_words_of(name)
    return bool(wanted) and all(any(word.startswith(each) for word in known) for each in wanted)
