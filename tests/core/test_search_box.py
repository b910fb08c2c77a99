"""The meaning of a text in the header's search box."""

import pytest

from balcao.core.documents import Cnpj, Cpf
from balcao.core.search_box import Interpretation, interpret, invalid_lines, name_matches
from balcao.core.words import words_of

CNPJ, LETTERS, CPF = Cnpj("90010001000100"), Cnpj("12ABC34501DE35"), Cpf("90010000100")
NUMBER = "01a202e1-a061-7653-8263-9d4b2f084f6b"
SHORT = "Um CNPJ tem 14 caracteres e um CPF, 11 dígitos. Aqui há 10."
CODE = Interpretation("certificate", text="BCF6.24B5.98D7.4E50")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", Interpretation("nothing")),
        (" \n ", Interpretation("nothing")),
        ("90010001000100", Interpretation("company", CNPJ)),
        (" 90.010.001/0001-00 ", Interpretation("company", CNPJ)),
        ("90 010 001 0001 00", Interpretation("company", CNPJ)),
        ("12abc34501de35", Interpretation("company", LETTERS)),
        ("12.abc.345/01de-35", Interpretation("company", LETTERS)),
        ("CNPJ: 12.ABC.345/01DE-35, matriz", Interpretation("company", LETTERS)),
        ("90010000100", Interpretation("person", CPF)),
        ("900.100.001-00", Interpretation("person", CPF)),
        ("João, CPF 900.100.001-00.", Interpretation("person", CPF)),
        (NUMBER, Interpretation("request", text=NUMBER)),
        (NUMBER.upper(), Interpretation("request", text=NUMBER)),
        (f"consulta nº {NUMBER}.", Interpretation("request", text=NUMBER)),
        ("BCF6.24B5.98D7.4E50", CODE),
        ("bcf6.24b5.98d7.4e50", CODE),
        ("BCF624B598D74E50", CODE),
        ("BCF6 24B5 98D7 4E50", CODE),
        ("Código de controle: BCF6.24B5.98D7.4E50.", CODE),
        ("1234.5678.9012.3456", Interpretation("certificate", text="1234.5678.9012.3456")),
        (
            "90010001000100 90010002000154",
            Interpretation("several", text="90010001000100 90010002000154", count=2),
        ),
        (
            "90010001000100\r\n900.100.001-00;01/01/1980",
            Interpretation("several", text="90010001000100\r\n900.100.001-00;01/01/1980", count=2),
        ),
        (
            "90010001000100 9001000200015",
            Interpretation("several", text="90010001000100 9001000200015", count=2),
        ),
        ("900100001 90010000100", Interpretation("several", text="900100001 90010000100", count=2)),
        ("90010001000100 SP 1234", Interpretation("company", CNPJ)),
        ("padaria do joão", Interpretation("words", text="padaria do joão")),
        ("  padaria   2000 ", Interpretation("words", text="padaria 2000")),
        ("ana@balcao.test", Interpretation("words", text="ana@balcao.test")),
        ("3M", Interpretation("words", text="3M")),
        ("b2w", Interpretation("words", text="b2w")),
        ("1E5", Interpretation("words", text="1E5")),  # no spreadsheet cuts so short a number
        ("900.100.001-0", Interpretation("wrong", complaint=SHORT)),
        ("decada facada", Interpretation("words", text="decada facada")),
    ],
)
def test_what_is_meant(text: str, meant: Interpretation) -> None:
    assert interpret(text) == meant


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("90.010.001/0001-01", ("O último dígito não confere", "em 00, e não em 01")),
        ("90010001000110", ("O penúltimo dígito não confere", "em 00, e não em 10")),
        ("12.ABC.345/01DE-53", ("Os dois últimos dígitos não conferem", "em 35, e não em 53")),
        ("90.010.001/0002-00", ("em 90, e não em 00",)),
        ("11.111.111/1111-11", ("Um CNPJ não pode ter todos os caracteres iguais.",)),
        ("900.100.001-01", ("O último dígito não confere", "deste CPF")),
        ("000.000.000-00", ("Um CPF não pode ter todos os caracteres iguais.",)),
        ("CPF 000.000.000-00", ("Um CPF não pode ter todos os caracteres iguais.",)),
        ("9001000100010O", ("Parece haver a letra O no lugar de um zero neste CNPJ.",)),
        ("90.010.001/0OO1-00", ("Parece haver a letra O no lugar de um zero neste CNPJ.",)),
        ("900100010001I0", ("são dígitos, não letras. Aqui há I.",)),
        ("900100010001BB", ("são dígitos, não letras. Aqui há B.",)),
        ("000000090010001000100", ("Aqui há 21.",)),
        ("9001000100010.0", ("Aqui há 13.",)),  # its signs left out, it is another's number
        ("9E13", ("A planilha cortou",)),
        ("12ABC34501DE3", ("Aqui há 13.",)),
        ("9001000100010", ("14 caracteres", "Aqui há 13")),
        ("7", ("14 caracteres", "Aqui há 1.")),
    ],
)
def test_what_is_wrong_is_said(text: str, says: tuple[str, ...]) -> None:
    meant = interpret(text)
    assert meant.meaning == "wrong"
    for each in says:
        assert each in meant.complaint


def test_of_a_list_it_is_said_which_line_is_wrong() -> None:
    listed = "90010001000100\n9001000200015\n900.100.001-01\n900.100.001-00"
    assert invalid_lines(listed) == [
        (2, "Um CNPJ tem 14 caracteres e um CPF, 11 dígitos. Aqui há 13."),
        (3, "O último dígito não confere com os outros nove deste CPF. Confira todos."),
    ]
    assert not invalid_lines("90010001000100\tSP\n9001000200015\tRJ")


def test_a_cpf_is_never_repeated() -> None:
    """The right digits are not shown either: they follow from the other nine."""
    complaint = interpret("900.100.001-09").complaint
    assert not any(character.isdigit() for character in complaint)
    assert "900100001" not in repr(interpret("900.100.001-00"))


@pytest.mark.parametrize(
    ("typed", "name", "found"),
    [
        ("padaria joao", "PADARIA DO JOÃO LTDA", True),
        ("joão pad", "PADARIA DO JOAO LTDA", True),
        ("PADARIA", "Padaria e Confeitaria", True),
        ("daria", "PADARIA DO JOAO", False),
        ("padaria maria", "PADARIA DO JOAO", False),
        ("...", "PADARIA DO JOAO", False),
    ],
)
def test_names_by_the_beginnings_of_their_words(typed: str, name: str, found: bool) -> None:
    assert name_matches(words_of(typed), name) is found
