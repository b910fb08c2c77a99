"""Classification of texts in a document's field."""

import pytest

from balcao.core.recognition import Recognition, recognise

CNPJ, OTHER, LETTERS = "90010001000100", "90010002000154", "12ABC34501DE35"
CPF, OTHER_CPF = "90010000100", "52998224725"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", Recognition("nothing")),
        (" \n", Recognition("nothing")),
        (CNPJ, Recognition("cnpj")),
        (" 90.010.001/0001-00 ", Recognition("cnpj")),
        ("90 010 001 0001 00", Recognition("cnpj")),
        ("12.abc.345/01de-35", Recognition("cnpj")),
        ("12 ABC 345 01DE 35", Recognition("cnpj")),
        (CPF, Recognition("cpf")),
        ("900.100.001-00", Recognition("cpf")),
        ("90.010.000/100", Recognition("cpf")),  # as the mask of a CNPJ leaves it
        ("90010001000101", Recognition("digits", 14)),
        ("11111111111111", Recognition("digits", 14)),
        ("90010000101", Recognition("digits", 11)),
        ("900100010001", Recognition("length", 12)),
        ("900100010001001", Recognition("length", 15)),
        ("12ABC34501DE3", Recognition("length", 13)),
        (f"{CNPJ} {OTHER}", Recognition("several", 2)),
        (f"{CNPJ}\n{OTHER}\n{LETTERS}", Recognition("several", 3)),
        ("90.010.001/0001-00; 90.010.002/0001-54,12ABC34501DE35", Recognition("several", 3)),
        (f"{CNPJ} 90010002000155", Recognition("several", 2)),  # one with a typing error
        (f"{CNPJ} {CPF}", Recognition("several", 2)),
        (f"{CPF}\t{OTHER_CPF}", Recognition("several", 2)),
        (CNPJ + OTHER, Recognition("several", 2)),  # line breaks that a field swallowed
        (CPF + OTHER_CPF + CPF, Recognition("several", 3)),
        ("9" * 28, Recognition("length", 28)),
        (f"CNPJ: {CNPJ}", Recognition("cnpj", alone=False)),
        ("João, CPF 900.100.001-00.", Recognition("cpf", alone=False)),
        ("padaria do joão", Recognition("words")),
        ("padaria", Recognition("words")),
        ("PADARIA 2000", Recognition("words")),
        ("abcdefghijklmn", Recognition("words")),  # 14 of them, and no check digits
        ("３４", Recognition("length", 2)),  # full-width
        ("٣٤", Recognition("words")),  # digits of another script
        ("ana@balcao.test", Recognition("words")),
        ("01a202e1-a061-7653-8263-9d4b2f084f6b", Recognition("request")),
        ("01A202E1-A061-7653-8263-9D4B2F084F6B", Recognition("request")),
    ],
)
def test_what_a_text_is(text: str, seen: Recognition) -> None:
    assert recognise(text) == seen


def test_long_texts_are_read_at_once() -> None:
    assert recognise("padaria " * 4_000) == Recognition("words")
    assert recognise(f"{CNPJ}\n{OTHER}\n" * 1_000) == Recognition("several", 2_000)
