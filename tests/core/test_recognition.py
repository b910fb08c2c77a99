"""What a text in a document's field is taken for."""

import pytest

from balcao.core.recognition import Seen, recognise

CNPJ, OTHER, LETTERS = "90010001000100", "90010002000154", "12ABC34501DE35"
CPF, OTHER_CPF = "90010000100", "52998224725"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", Seen("nothing")),
        (" \n", Seen("nothing")),
        (CNPJ, Seen("cnpj")),
        (" 90.010.001/0001-00 ", Seen("cnpj")),
        ("90 010 001 0001 00", Seen("cnpj")),
        ("12.abc.345/01de-35", Seen("cnpj")),
        ("12 ABC 345 01DE 35", Seen("cnpj")),
        (CPF, Seen("cpf")),
        ("900.100.001-00", Seen("cpf")),
        ("90.010.000/100", Seen("cpf")),  # as the mask of a CNPJ leaves it
        ("90010001000101", Seen("digits", 14)),
        ("11111111111111", Seen("digits", 14)),
        ("90010000101", Seen("digits", 11)),
        ("900100010001", Seen("length", 12)),
        ("900100010001001", Seen("length", 15)),
        ("12ABC34501DE3", Seen("length", 13)),
        (f"{CNPJ} {OTHER}", Seen("several", 2)),
        (f"{CNPJ}\n{OTHER}\n{LETTERS}", Seen("several", 3)),
        ("90.010.001/0001-00; 90.010.002/0001-54,12ABC34501DE35", Seen("several", 3)),
        (f"{CNPJ} 90010002000155", Seen("several", 2)),  # one with a typing error
        (f"{CNPJ} {CPF}", Seen("several", 2)),
        (f"{CPF}\t{OTHER_CPF}", Seen("several", 2)),
        (CNPJ + OTHER, Seen("several", 2)),  # line breaks that a field swallowed
        (CPF + OTHER_CPF + CPF, Seen("several", 3)),
        ("9" * 28, Seen("length", 28)),
        (f"CNPJ: {CNPJ}", Seen("cnpj", alone=False)),
        ("João, CPF 900.100.001-00.", Seen("cpf", alone=False)),
        ("padaria do joão", Seen("words")),
        ("padaria", Seen("words")),
        ("PADARIA 2000", Seen("words")),
        ("abcdefghijklmn", Seen("words")),  # 14 of them, and no check digits
        ("３４", Seen("length", 2)),  # full-width
        ("٣٤", Seen("words")),  # digits of another script
        ("ana@balcao.test", Seen("words")),
        ("01a202e1-a061-7653-8263-9d4b2f084f6b", Seen("request")),
        ("01A202E1-A061-7653-8263-9D4B2F084F6B", Seen("request")),
    ],
)
def test_what_a_text_is(text: str, seen: Seen) -> None:
    assert recognise(text) == seen


def test_long_texts_are_read_at_once() -> None:
    assert recognise("padaria " * 4_000) == Seen("words")
    assert recognise(f"{CNPJ}\n{OTHER}\n" * 1_000) == Seen("several", 2_000)
