"""A document that was read was checked; letters are kept; people hide themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import InvalidCnpj, InvalidCpf

# `cnpj-alfanumerico.md`, section 2: valid ones with the form they are read as, invalid ones why.
VALID = {
    "12ABC34501DE35": "12ABC34501DE35",  # official example
    "12.ABC.345/01DE-35": "12ABC34501DE35",  # masked
    "12abc34501de35": "12ABC34501DE35",  # lower case
    "11222333000181": "11222333000181",
    "11.222.333/0001-81": "11222333000181",
    "00000000000191": "00000000000191",  # leading zeros
    "A1B2C3D4000193": "A1B2C3D4000193",
    "ZZZZZZZZZZZZ62": "ZZZZZZZZZZZZ62",
    "1345C3A5000106": "1345C3A5000106",
    "R55231B3000757": "R55231B3000757",
    "AAAAAAAA000191": "AAAAAAAA000191",
    "IOUQF000000114": "IOUQF000000114",  # all letters are legal
    "00000000E08G12": "00000000E08G12",  # numeric root, letters in the order part
    "93ZB0VRYV6KA67": "93ZB0VRYV6KA67",
}
INVALID = {
    "12ABC34501DE34": "wrong second digit",
    "12ABC34501DE25": "wrong first digit",
    "12ABC34501DE3A": "letter in a check digit",
    "12ABC34501D35": "13 characters",
    "00000000000000": "all zeros",
    "11222333000182": "numeric, wrong digit",
}


@pytest.mark.parametrize("raw", VALID)
def test_every_valid_vector_is_read(raw: str) -> None:
    assert Cnpj.parse(raw).text == VALID[raw]
    assert Cnpj.parse(f" \t{raw}\n").text == VALID[raw]


@pytest.mark.parametrize("raw", INVALID)
def test_every_invalid_vector_is_refused(raw: str) -> None:
    with pytest.raises(InvalidCnpj):
        Cnpj.parse(raw)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        " ",
        "11222333000181 11222333000181",
        "112223330001811",
        "1122233300018",
        "11.222.333/000181x",
        "11-222-333/0001.81",  # punctuation in the wrong places
        "11..222.333/0001-81",
        "11 222 333 0001 81",
        "11222333000181\x00",
        "１１２２２３３３０００１８１",  # digits, but not ours
        "١١٢٢٢٣٣٣٠٠٠١٨١",
        "11.222.333/0001-81" + " " * 100,  # longer than any document with its white space
        *(str(digit) * 14 for digit in range(10)),
    ],
)
def test_nothing_else_is_a_cnpj(raw: str) -> None:
    with pytest.raises(InvalidCnpj):
        Cnpj.parse(raw)


VALUES = {character: ord(character) - 48 for character in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def check_digits(body: str) -> str:
    """The rule of the joint technical note, from its own words."""
    digits = ""
    for weights in ([5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]):
        total = sum(
            VALUES[character] * weight
            for character, weight in zip(body + digits, weights, strict=True)
        )
        rest = total % 11
        digits += "0" if rest < 2 else str(11 - rest)
    return digits


bodies = st.text(alphabet=sorted(VALUES), min_size=12, max_size=12).filter(
    lambda body: set(body) != {"0"}
)


@given(bodies)
def test_whatever_carries_the_right_digits_is_read_in_every_form(body: str) -> None:
    text = body + check_digits(body)
    cnpj = Cnpj.parse(text)
    assert cnpj.text == text
    assert cnpj.root == text[:8]
    assert Cnpj.parse(cnpj.punctuated) == cnpj
    assert Cnpj.parse(cnpj.punctuated.lower()) == cnpj


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ("\N{LATIN SMALL LETTER LONG S}", "S"),
        ("\N{LATIN SMALL LETTER DOTLESS I}", "I"),
        ("\N{LATIN SMALL LIGATURE FI}", "FI"),
        ("\N{LATIN SMALL LETTER SHARP S}", "SS"),
    ],
)
def test_a_foreign_letter_does_not_become_one_of_ours(foreign: str, ours: str) -> None:
    """Upper-casing would make a valid CNPJ of it, and of another company at that."""
    body = ours.ljust(12, "7")
    assert Cnpj.parse(body + check_digits(body)).text.startswith(ours)
    with pytest.raises(InvalidCnpj):
        Cnpj.parse(foreign + body[len(ours) :] + check_digits(body))


@given(bodies, st.integers(0, 99))
def test_of_a_hundred_endings_one_is_right(body: str, ending: int) -> None:
    text = f"{body}{ending:02}"
    if text[12:] == check_digits(body):
        assert Cnpj.parse(text).text == text
    else:
        with pytest.raises(InvalidCnpj):
            Cnpj.parse(text)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        cnpj = Cnpj.parse(text)
    except InvalidCnpj:
        return
    assert set(cnpj.text) <= set(VALUES)
    assert len(cnpj.text) == 14


@pytest.mark.parametrize("raw", ["52998224725", "529.982.247-25", " 529.982.247-25\n"])
def test_a_cpf_is_read_with_and_without_punctuation(raw: str) -> None:
    cpf = Cpf.parse(raw)
    assert cpf.text == "52998224725"
    assert cpf.punctuated == "529.982.247-25"


@pytest.mark.parametrize(
    "raw",
    [
        "52998224726",
        "52998224735",
        "5299822472",
        "529982247255",
        "529.982.247/25",
        "5299822472A",
        "",
        "５２９９８２２４７２５",
        *(str(digit) * 11 for digit in range(10)),
    ],
)
def test_nothing_else_is_a_cpf(raw: str) -> None:
    with pytest.raises(InvalidCpf):
        Cpf.parse(raw)


def test_a_cpf_that_is_printed_hides_itself() -> None:
    cpf = Cpf.parse("52998224725")
    assert cpf.masked == "***982247**"
    for shown in (str(cpf), repr(cpf), f"{cpf}", f"{[cpf]}"):
        assert "***982247**" in shown
        assert "529" not in shown
