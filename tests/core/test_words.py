"""Names and towns are compared by words, whichever way they are written."""

from itertools import permutations

import pytest

from balcao.core.errors import InvalidParameter
from balcao.core.search import read_filters, resolved
from balcao.core.words import indexed_words_of, state_behind, town_words, words_of

SPELLINGS = [
    ["SILVA & SOUZA LTDA", "Silva e Souza", "SILVA&SOUZA", "silva  &  souza ltda."],
    ["LIMA E COSTA", "lima & costa", "LIMA &COSTA ME"],
    ["A.B.C. FICTÍCIA", "abc ficticia", "A B C FICTICIA", "A. B. C. FICTICIA", "a.b.c ficticia"],
    ["D'ÁGUA", "dagua", "D AGUA", "d’agua", "D´AGUA", "d`água", "D' AGUA", "DʼAGUA"],
    ["SANT'ANA MODAS", "santana modas", "SANT ANA MODAS", "Sant’Ana Modas"],
    ["J. E. TRANSPORTES", "je transportes", "J E TRANSPORTES", "J.E TRANSPORTES"],
    ["E.C.A. MODAS", "eca modas", "E C A MODAS"],
    ["A & C MODAS", "a e c modas", "A&C MODAS"],
    ["J D ALMEIDA", "j.d. almeida", "J. D. ALMEIDA"],
    ["PADARIA S/A", "padaria sa", "PADARIA S.A.", "Padaria S A", "padaria"],
    ["MARIA M E", "maria me", "MARIA M.E.", "maria"],
    ["O'BRIEN BAR", "obrien bar", "O’Brien Bar"],
    ["CAFÉ DO JOÃO'S", "cafe do joaos"],
]


@pytest.mark.parametrize(
    ("published", "asked"),
    [pair for names in SPELLINGS for pair in permutations(names, 2)],
)
def test_a_name_is_found_by_each_of_its_spellings(published: str, asked: str) -> None:
    assert set(indexed_words_of(published)).issuperset(words_of(asked))


@pytest.mark.parametrize(
    ("published", "asked", "found"),
    [
        ("COPO D'AGUA", "agua", True),
        ("COPO D'AGUA", "d agua copo", True),
        ("O'BRIEN", "o brien", True),
        ("JOSE A SILVA", "jose silva", True),
        ("JOSE A SILVA", "jose a silva", True),
        ("J R SILVA", "j silva", True),
        ("J D ALMEIDA", "jd almeida", True),
        ("A & C MODAS", "a c modas", True),
        ("MARIA E J MODAS", "maria j modas", True),
        ("SILVA & SOUZA", "silva ou souza", False),
        ("ABC", "a b d", False),
        ("DAGUA", "d oeste", False),
    ],
)
def test_the_parts_of_a_name_find_it_too(published: str, asked: str, found: bool) -> None:
    assert set(indexed_words_of(published)).issuperset(words_of(asked)) is found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("E", ["e"]),
        ("& LTDA", ["ltda"]),
        ("SILVA E CIA LTDA", ["silva"]),
        ("EMPRESA 1 A", ["empresa", "1", "a"]),
        ("", []),
        ("&", ["e"]),
    ],
)
def test_e_is_a_word_only_where_there_is_no_other(name: str, words: list[str]) -> None:
    assert list(words_of(name)) == words


@pytest.mark.parametrize(
    ("typed", "words", "prefix"),
    [
        ("silva e sou*", ("silva",), "sou"),
        ("copo d'ag*", ("copo",), "dag"),
        ("padaria eireli*", ("padaria",), "eireli"),
        ("pad*", (), "pad"),
    ],
)
def test_the_word_that_is_only_begun(typed: str, words: tuple[str, ...], prefix: str) -> None:
    filters = read_filters({"q": typed}.get, "2026-08-20")
    assert (tuple(filters.words), filters.prefix) == (words, prefix)


@pytest.mark.parametrize("typed", ["silva e*", "*", "silva *&"])
def test_a_beginning_is_three_letters_or_more(typed: str) -> None:
    with pytest.raises(InvalidParameter):
        read_filters({"q": typed + "*"}.get, "2026-08-20")


TOWNS = [
    ["ALTA FLORESTA D'OESTE", "Alta Floresta D Oeste", "alta floresta d’oeste"],
    ["HERVAL D'OESTE", "HERVAL DOESTE", "Herval d` Oeste"],
    ["SANTA BARBARA D OESTE", "Santa Bárbara d'Oeste", "Sta. Bárbara d’Oeste"],
    ["XIQUE-XIQUE", "Xique Xique", "xique - xique"],
    ["SAO PAULO", "São Paulo", "Sao Paulo/SP", "S. Paulo - SP", "São Paulo (SP)", "sao  paulo-sp"],
    ["DIAS D'AVILA", "Dias d´Ávila/BA", "dias davila"],
]  # fmt: skip


@pytest.mark.parametrize("spellings", TOWNS)
def test_towns_are_compared_by_words(spellings: list[str]) -> None:
    assert len({tuple(town_words(each)) for each in spellings}) == 1
    names = {"0001": spellings[0], "0002": "OUTRA"}
    for sent in spellings:
        filters = read_filters(
            {"municipio": sent.replace(",", " "), "uf": "SP,BA"}.get, "2026-08-20"
        )
        assert resolved(filters, names, {}, ()).coded["municipio"] == {"0001"}


def test_a_state_behind_a_town_is_its_uf() -> None:
    names = {"7107": "SAO PAULO", "3849": "SALVADOR"}
    filters = read_filters({"municipio": "São Paulo/SP,salvador - ba"}.get, "2026-08-20")
    assert resolved(filters, names, {}, ()).coded == {
        "uf": {"SP", "BA"}, "municipio": {"7107", "3849"}
    }  # fmt: skip
    for sent in ({"municipio": "São Paulo"}, {"municipio": "São Paulo/SP", "uf": "RJ"}):
        with pytest.raises(InvalidParameter, match="informe também a uf"):
            resolved(read_filters(sent.get, "2026-08-20"), names, {}, ())
    assert state_behind("XIQUE-XIQUE") is None
    assert state_behind("EMBU-GU") is None
