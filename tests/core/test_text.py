"""Texts of others as they are kept (contract 1.6, 9.5)."""

import re
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.company import Company, Partner
from balcao.core.text import TEXT_CHARACTERS_MAX, TextTooLong, clean, cleaned

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", ""),
        ("  FULANA   DE TAL ", "FULANA DE TAL"),
        ("FULANA\x00 DE\x1b TAL\x7f", "FULANA DE TAL"),
        ("FULA\x00NA", "FULANA"),
        ("FULA\x1cNA", "FULANA"),
        ("A\x80B\x84C\x86D\x9fE", "ABCDE"),
        ("RUA A\r\nCENTRO", "RUA A CENTRO"),
        ("RUA A\n\n\tCENTRO", "RUA A CENTRO"),
        ("RUA A\x85CENTRO\u2028X\u2029Y\vZ\f", "RUA A CENTRO X Y Z"),
        ("RUA\u00a0A", "RUA A"),
        ("\x00\n\x00", ""),
        ("A\ud800B\udfff", "AB"),
        ("ACA\u0303O", "AC\u00c3O"),
        ("A\x00\u0303", "\u00c3"),  # composed when nothing is between them any more
    ],
)
def test_clean(raw: str, expected: str) -> None:
    assert clean(raw) == expected


@given(ANY_TEXT)
def test_a_clean_text(raw: str) -> None:
    text = clean(raw)
    assert clean(text) == text == unicodedata.normalize("NFC", text)
    assert re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]|^ | $|  ", text) is None


def test_too_long() -> None:
    assert clean("x" * TEXT_CHARACTERS_MAX) == "x" * TEXT_CHARACTERS_MAX
    with pytest.raises(TextTooLong):
        clean(" " * (TEXT_CHARACTERS_MAX + 1))


def test_a_clean_record_is_the_same() -> None:
    record = Company(cnpj="1", nome_fantasia='"A" / É', socios=(Partner(nome="A"),))
    assert cleaned(record) is record
    suspicious = msgspec.structs.replace(record, nome_fantasia="A\\B")
    assert cleaned(suspicious) == suspicious


@given(ANY_TEXT, ANY_TEXT)
def test_all_texts_of_a_record(name: str, partner: str) -> None:
    record = cleaned(Company(cnpj="1", cep=name, socios=(Partner(nome="A"), Partner(nome=partner))))
    body = msgspec.json.encode(record)
    assert re.search(rb"\\[a-z]|\x7f|\xc2[\x80-\x9f]", body.replace(b"\\\\", b"")) is None
    assert len(record.socios) == 2
