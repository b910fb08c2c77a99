"""The reader of documents: every spelling that people's files and clipboards have."""

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.batches.files import FEDERAL, mapped

from balcao.batches.columns import ValidRow
from balcao.batches.names import guess_role, is_known_name
from balcao.batches.tables.contract import BOUNDS, TableRow
from balcao.batches.tables.heading import find_heading
from balcao.core.check_digits import cnpj_check_digits, cpf_check_digits
from balcao.core.document_reader import BOTH, DocumentKind, cell_text, check_digits_of, read, shown
from balcao.core.documents import Cnpj, Cpf
from balcao.core.personal import mask_cpf_in_free_text, mask_cpf_in_text
from balcao.core.recognition import document_of
from balcao.core.request_tags import contains_cpf, tag_problem
from balcao.core.search_box import interpret
from balcao.core.words import indexed_words_of, state_behind, town_words

A, B, CPF = "90010001000100", "90010002000154", "90010000100"
LETTERS = "12ABC34501DE35"
CNPJS: frozenset[DocumentKind] = frozenset({"cnpj"})
CPFS: frozenset[DocumentKind] = frozenset({"cpf"})
NBSP, ZERO_WIDTH, MARK = "\u00a0", "\u200b", "\ufeff"


@pytest.mark.parametrize(
    ("text", "document"),
    [
        # Letters that look like an exponent.
        ("7700003400E139", "7700003400E139"),
        ("77000034000E49", "77000034000E49"),
        ("7700003401e525", "7700003401E525"),
        ("77.000.034/00E1-39", "7700003400E139"),
        # Texts of spreadsheets.
        (f'="{A}"', A),
        (f'=T("{A}")', A),
        (f'\'="{A}"', A),  # as this service writes it into a CSV
        ('="90.010.001/0001-00"', A),
        (f"={A}", A),
        (f"'{A}", A),
        (f'"{A}"', A),
        (f"“{A}”", A),
        (f"{A}.0", A),
        (f"{A},00", A),
        ("90,010,001,000,100", A),
        ("90.010.001.000.100,00", A),
        # Zeros.
        ("00090010000100", CPF),
        ("000090010000100", CPF),
        ("000.900.100.001-00", CPF),
        ("090010001000100", A),
        ("00000000000191", "00000000000191"),
        ("9001000000180", "09001000000180"),
        ("9.001.000/0001-80", "09001000000180"),  # with the mask that is left
        # Characters that are not seen, or look alike.
        (f"{NBSP}{A}{NBSP}", A),
        (f"{MARK}{A}", A),
        (f"9001{ZERO_WIDTH}0001000100", A),
        ("９００１０００１０００１００", A),
        ("９０．０１０．００１／０００１－００", A),
        ("90.010.001∕0001‑00", A),
        ("900.100.001–00", CPF),
        ("900.100.001−00", CPF),
        ("90.010.001\\0001-00", A),
        ("90_010_001_0001_00", A),
        (f"\t{A}\r\n", A),
        # Names of documents.
        (f"CNPJ: {A}", A),
        (f"CNPJ{A}", A),
        (f"CNPJ/MF nº {A}", A),
        (f"nº{A}", A),
        ("C.N.P.J. 90.010.001/0001-00", A),
        ("CGC 90.010.003/0001-07", "90010003000107"),
        ("CGC(MF) 90.010.001/0001-00", A),
        ("CPF nº 900.100.001-00", CPF),
        (f"cpf:{CPF}", CPF),
        ("CNPJ 9001000000180", "09001000000180"),
        # Words beside.
        ("90.010.001/0001-00 - EMPRESA FICTICIA", A),
        ("REDE FICTICIA (90.010.002/0001-54)", B),
        ("90 010 001 0001 00 Padaria", A),
        ("Padaria 900 100 001 00", CPF),
        (f"Loja 24 horas, {A}, tel. 11987654321", A),
        (f"{A}/Padaria", A),
        ("Padaria 090010001000100", A),
        (f"90.010.001/0001-00 ({A})", A),  # twice the same
        ("João, 12.abc.345/01de-35.", LETTERS),
        ("90.010.001 / 0001-00", A),
    ],
)
def test_spellings_of_one_document(text: str, document: str) -> None:
    reading = read(text)
    assert reading.document is not None, reading
    assert reading.document.text == document


@pytest.mark.parametrize(
    ("text", "kinds", "flaw"),
    [
        ("", BOTH, "nothing"),
        (f" {NBSP}{ZERO_WIDTH}", BOTH, "nothing"),
        ("-", BOTH, "nothing"),
        ('=""', BOTH, "nothing"),
        ("00000000000000", BOTH, "nothing"),
        ("0", BOTH, "nothing"),
        ("0,00", BOTH, "nothing"),
        ("abc", BOTH, "words"),
        ("Padaria São João", BOTH, "words"),
        ("N/D", BOTH, "words"),
        ("EMPRESA FICT 123", BOTH, "words"),  # 14 characters without its blanks
        ("(11) 98765-4321", BOTH, "words"),
        ("٣٤", BOTH, "words"),
        ("900100010001", BOTH, "length"),
        ("900.100.001-0", BOTH, "length"),  # no zero is missing before it
        ("000000090010001000100", BOTH, "length"),  # more zeros than fields are filled up with
        ("9001000100010.0", BOTH, "length"),
        ("1E5", BOTH, "length"),
        ("90010001000101", BOTH, "digits"),
        ("900.100.001-01", BOTH, "digits"),
        ("090010001000101", BOTH, "digits"),
        ("12ABC34501DE36", BOTH, "digits"),
        ("7700003400E138", BOTH, "digits"),  # no spreadsheet writes a number so
        ("Padaria 90.010.001/0001-01", BOTH, "digits"),
        ("11111111111111", BOTH, "digits"),
        ("90010001", BOTH, "root"),
        ("10000046", CNPJS, "root"),  # 00000010000046 has the check digits of a CNPJ
        ("90.010.001", CNPJS, "root"),
        ("12.ABC.345", CNPJS, "root"),
        ("CNPJ: 90010001", CNPJS, "root"),
        ("90010001", CPFS, "length"),
        ("01/01/1980", BOTH, "length"),
        ("90.010.001/0001-00 / 90.010.002/0001-54", BOTH, "several"),
        (f"{A}{B}", BOTH, "several"),
        (f"{A}, 90010002000155", BOTH, "several"),  # one with a typing error
        (f"Maria {CPF} {A}", BOTH, "several"),
        ("1000136", BOTH, "ambiguous"),
        ("1,23E+13", BOTH, "cut"),
        ("7.7E13", BOTH, "cut"),
        ("9,001e+13", BOTH, "cut"),
        ("9E13", BOTH, "cut"),
        ("9,0010001000E13", BOTH, "cut"),  # 14 characters without its sign
        (CPF, CNPJS, "other_kind"),
        ("00090010000100", CNPJS, "other_kind"),
        (f"Padaria {A}", CPFS, "other_kind"),
    ],
)
def test_what_a_text_without_a_document_has(
    text: str, kinds: frozenset[DocumentKind], flaw: str
) -> None:
    assert (read(text, kinds).document, read(text, kinds).flaw) == (None, flaw)


def test_only_the_accepted_kind_counts_where_there_is_one_of_each() -> None:
    text = f"90.010.001/0001-00 MARIA DAS DORES {CPF}"  # a sole trader's name
    assert read(text, CNPJS).document == Cnpj(A)
    assert read(text, CPFS).document == Cpf(CPF)


def test_a_whole_document_of_another_kind_is_not_a_shortened_one() -> None:
    cpf = "00000000191"  # with zeros before it also a CNPJ
    assert read(cpf, CNPJS).document == Cnpj("00000000000191")
    assert read(cpf, CNPJS, only=False).flaw == "ambiguous"


def test_short_numbers_get_no_zeros_where_a_number_may_be_anything() -> None:
    assert read("191", CNPJS).document == Cnpj("00000000000191")
    assert read("191", CNPJS, digits_least=9).flaw == "length"


def test_right_check_digits_of_wrong_ones() -> None:
    assert check_digits_of("Padaria 90.010.001/0001-01") == ("01", "00")
    assert check_digits_of("090010001000101") == ("01", "00")
    assert check_digits_of("11111111111111") is None
    assert check_digits_of(A) is None


def test_what_a_cell_shows() -> None:
    assert cell_text(f'{MARK}="01/01/1980"') == "01/01/1980"
    assert cell_text("'SP") == "SP"
    assert cell_text("D'Oeste") == "D'Oeste"
    assert cell_text("=A1+1") == "=A1+1"
    assert cell_text(f"São{NBSP}Paulo ") == "São Paulo"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("90.010.001/0001-01", "90.010.001/0001-01"),
        ("  Padaria\n 90010001 ", "Padaria 90010001"),
        ("900.100.001-01", "***.100.001-**"),
        ("Maria 90010000101", "Maria ***100001**"),
        ("00090010000101", "**************"),
        ("90010001000100 90010000100", "************** ***********"),
        ('="9001"', "9001"),
        ("a" * 100, "a" * 59 + "…"),
    ],
)
def test_a_cell_is_shown_without_anybodys_cpf(cell: str, text: str) -> None:
    assert shown(cell) == text


@pytest.mark.parametrize("text", ["", "=", "'", '"', '="', "='", '=""', "'\"=", '="="" "'])
def test_wrappings_of_nothing_end(text: str) -> None:
    assert read(text).flaw == "nothing"


# One cell holds up the event loop for as long as it is read.
_RUNS = ("", " ", "-", ".", "/", "0", "1", "A", "a ", "É", '"', "'", "=", "'\"", "1-", "0.", " -")
_BEGINNINGS = ("", "CNPJ", "CPF nº", '="', "São Paulo/")
_READERS: dict[str, Callable[[str], object]] = {
    "reader": read,
    "check digits": check_digits_of,
    "shown": shown,
    "state": state_behind,
    "town": town_words,
    "name": indexed_words_of,
    "column": is_known_name,
    "role": guess_role,
    "heading": lambda text: find_heading([TableRow(1, (text,)), TableRow(2, ("Nome", text))]),
    "mark": tag_problem,
    "CPF in a name": contains_cpf,
    "mask": mask_cpf_in_text,
    "mask of a text": lambda text: mask_cpf_in_free_text(text, ["100001"]),
}


@pytest.mark.parametrize("reader", _READERS)
def test_the_longest_cells_take_no_time(reader: str) -> None:
    """Processor time, with a generous bound: quadratic work takes minutes."""
    begun = time.process_time()
    for begin in _BEGINNINGS:
        for run in _RUNS:
            text = begin + run * (BOUNDS.cell_characters // max(1, len(run)) - len(begin)) + "!1"
            _READERS[reader](text)
            assert time.process_time() - begun < 10, text[:20]


def test_long_texts_have_no_document() -> None:
    for text in ("PADARIA12345678 " * 2_000, "90.010.001/0001-0 " * 2_000, "0" * 32_000):
        assert read(text).document is None


# ---- Every decoration, every consumer ----

_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
_BASES = st.one_of(
    st.text("0123456789", min_size=12, max_size=12),
    st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=12, max_size=12),
    st.tuples(st.text("0123456789", min_size=11, max_size=11), st.integers(7, 11)).map(
        lambda made: f"{made[0][: made[1]]}E{made[0][made[1] :]}"
    ),
)
CNPJ_TEXTS = _BASES.map(lambda base: base + cnpj_check_digits(base)).filter(
    lambda text: len(set(text)) > 1
)
CPF_TEXTS = (
    st.text("0123456789", min_size=9, max_size=9)
    .map(lambda base: base + cpf_check_digits(base))
    .filter(lambda text: len(set(text)) > 1)
)
DOCUMENTS = st.one_of(CNPJ_TEXTS.map(Cnpj), CPF_TEXTS.map(Cpf))

_FULL_WIDTH = {0x21 + at: 0xFF01 + at for at in range(0x5E)}
_WRITTEN: dict[str, Callable[[str], str]] = {
    "bare": lambda text: re.sub(r"[./-]", "", text),
    "mask": lambda text: text,
    "blanks": lambda text: re.sub(r"[./-]", " ", text),
    "dashes": lambda text: text.replace("-", "\u2013"),
    "loose": lambda text: text.replace("/", " / ").replace("-", " - "),
    "lower": lambda text: text.lower(),
    "full-width": lambda text: text.translate(_FULL_WIDTH),
    "zero-width": ZERO_WIDTH.join,
}
_AROUND: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "formula": lambda text: f'="{text}"',
    "apostrophe": lambda text: f"'{text}",
    "quotes": lambda text: f'"{text}"',
    "curly": lambda text: f"“{text}”",
    "mark": lambda text: MARK + text,
    "nbsp": lambda text: f"{NBSP}{text}{NBSP}",
    "tab": lambda text: f"\t{text}\t",
    "line": lambda text: f"{text}\r\n",
    "parentheses": lambda text: f"({text})",
    "full stop": lambda text: f"{text}.",
    "label": lambda text: f"Documento: {text}",
    "cnpj": lambda text: f"CNPJ/CPF nº {text}",
    "cgc": lambda text: f"C.G.C. {text}",
}
_BESIDE: dict[str, Callable[[str], str]] = {
    "behind": lambda text: f"{text} - Padaria São João",
    "before": lambda text: f"Padaria São João ({text})",
    "slash": lambda text: f"Padaria / {text}",
    "comma": lambda text: f"{text}, Rua 24",
}


def everywhere(text: str, document: Cnpj | Cpf) -> None:
    """Assert that each consumer reads the text as this document."""
    assert read(text).document == document
    assert document_of(text) == document  # forms, advice, filters
    assert interpret(text).document == document  # the search box
    row = mapped(["documento", "data_nascimento"], FEDERAL).read(TableRow(2, (text, "01/01/1980")))
    assert isinstance(row, ValidRow)
    assert row.document == document


@_PATIENT
@given(DOCUMENTS, st.sampled_from(sorted(_WRITTEN)), st.sampled_from(sorted(_AROUND)))
def test_any_document_in_any_decoration_is_read_as_itself(
    document: Cnpj | Cpf, written: str, around: str
) -> None:
    everywhere(_AROUND[around](_WRITTEN[written](document.punctuated)), document)


@_PATIENT
@given(
    DOCUMENTS,
    st.sampled_from(["bare", "mask", "dashes", "loose", "lower", "full-width", "zero-width"]),
    st.sampled_from(sorted(_BESIDE)),
)
def test_any_document_with_words_beside_it_is_read_as_itself(
    document: Cnpj | Cpf, written: str, beside: str
) -> None:
    everywhere(_BESIDE[beside](_WRITTEN[written](document.punctuated)), document)


@_PATIENT
@given(DOCUMENTS.filter(lambda each: each.text.isdigit()), st.integers(12, 16), st.booleans())
def test_numbers_padded_with_zeros(document: Cnpj | Cpf, size: int, masked: bool) -> None:
    text = document.text.zfill(size)
    reading = read(f"{text}.0" if masked else text)
    if reading.document is None:
        assert reading.flaw == "ambiguous"
    elif reading.document != document:  # a whole document, which is no filled one
        assert reading.document.text == text
    kind: DocumentKind = "cnpj" if isinstance(document, Cnpj) else "cpf"
    alone = read(text, {kind})
    assert alone.document == document
