"""Tokens of many rows at once equal those of each row alone, for rows of any form."""

import random
from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zstandard import ZstdDecompressor

from balcao.core.search_record import (
    CAPITAL,
    CAPITAL_STEP,
    CODED,
    OPENED,
    PERSON,
    POSTAL,
    STATUS_CHANGED,
    partner_tokens,
    tokens_of,
)
from balcao.core.words import indexed_words_of
from balcao.opendata.errors import OpenDataError
from balcao.opendata.layout import EMPRESAS, ESTABELECIMENTOS, SIMPLES, SOCIOS, TableLayout
from balcao.opendata.rows import tidy
from balcao.opendata.search.ordinals import pack_keys, unpack_keys
from balcao.opendata.search.records import RowReader
from balcao.opendata.search.texts import TextMaker
from balcao.opendata.search.words import words_of_lines

EXTRACTION = date(2026, 8, 8)

# Elements of names, and lookalikes.
PIECES = (
    "PADARIA", "da", "PRAÇA", "JOÃO", "s", "S", "a", "A", "S/A", "S.A.", "S. A.", "S /A", "s/a.",
    "CASA/AR", "LTDA", "LTDA.", "ME", "- ME", "EPP", "EIRELI", "CIA", "SA", "ESMERALDA", "E",
    "12345678901", "123.456.789-01", "123 456 789 01", "123456789-01", "12345678-90", "1234567890",
    "12.345.678", "12345678", "12.345678", "12.345.678/0001-95", "12.345.678-X", "1", "2000",
    "***456789**", "*", "24", "ß", "STRASSE", "GROß", "Nº", "ª", "½", "²", "µ", "Ø", "ÿ", "ÆON",
    "D'ÁGUA", "A&B", "(X)", ".", "/", "-", "\x80", "\x9f", "Ã\x83",
    "&", "e", "E", "D", "d", "SANT", "ANA", "sant'ana", "'", "´", "`", "\x92", "OESTE", "J.", "M",
    "A.B.C.",
)  # fmt: skip
names = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", " ", " ", "  ", "\xa0"])),
    max_size=6,
).map(lambda some: "".join(piece + gap for piece, gap in some))


def tidy_name(name: str) -> str:
    """Return the name as in tidy rows."""
    return tidy(f"\x1f{name}\x1f".encode("latin-1"))[1:-1]


latin = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=30)


@settings(max_examples=300, deadline=None)
@given(st.lists(names | latin, max_size=30))
def test_names_have_the_same_words(some: Sequence[str]) -> None:
    read = [
        line.split()
        for line in words_of_lines("".join(f"{name}\n" for name in some).encode("latin-1"))
    ]
    assert read == [list(indexed_words_of(tidy_name(name))) for name in some]


def test_a_great_many_names() -> None:
    drawn = random.Random(5)
    some = [
        "".join(
            drawn.choice(PIECES) + drawn.choice(["", " ", " ", " ", "  "])
            for _ in range(drawn.randrange(6))
        )
        for _ in range(20_000)
    ]
    read = [
        line.split()
        for line in words_of_lines("".join(f"{name}\n" for name in some).encode("latin-1"))
    ]
    assert read == [list(indexed_words_of(tidy_name(name))) for name in some]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("12.345.678 FULANA DE TAL", "fulana de tal"),
        ("12345678 FULANA", "fulana"),
        ("12.345.678", ""),
        ("12.345.678-FULANA", "12 345 678 fulana"),
        ("12.345678 FULANA", "fulana"),
        ("12.345.678 LOJA 2", "loja 2"),
        ("FULANA DE TAL 12345678901", "fulana de tal"),
        ("12345678901", ""),
        ("FULANA 123.456.789-01", "fulana"),
        ("CAFÉ & PÃO S. A.", "cafe pao"),
        ("GROß LTDA ME", "gross"),
        ("LTDA ME.", "ltda"),
        ("FULANA /SA", "fulana"),
        ("", ""),
    ],
)
def test_words_of_a_name_among_others(name: str, words: str) -> None:
    read = words_of_lines(f"OUTRA S/A\n{name}\nMAIS UMA\n".encode("latin-1"))
    assert [line.split() for line in read] == [["outra"], words.split(), ["mais", "uma"]]


# For each column some usual values and some odd ones. Other columns are empty.
CODES = ["", "", "01", "02", "08", "8", "002", " 2", "A1", "\xb2\xb3"]
DAYS = ["", "0", "00000000", "20190228", "20190229", "20281231", "18491231", "18500101", " 2019022",
        "2019022", "201902281", "2019O228", "20190228 "]  # fmt: skip
VALUES: Mapping[str, Mapping[str, Sequence[str]]] = {
    ESTABELECIMENTOS.name: {
        "cnpj_dv": ["00"],
        "identificador_matriz_filial": ["1", "1", "2", "", "12", " 1", "1 ", "\xa0"],
        "situacao_cadastral": CODES,
        "motivo_situacao_cadastral": CODES,
        "data_situacao_cadastral": DAYS,
        "data_inicio_atividade": DAYS,
        "cnae_fiscal_principal": [
            "4721102", "4711302", "8888888", "8800600", "", "111301", "47211022", " 4721102", "X",
        ],
        "cnae_fiscal_secundaria": [
            "", "4711302", "4711302,4721102", "4711302, 4721102", ",", "4711302,", ",4711302",
            "4711302,,1", " 4711302", "47x1302", "4711 302",
        ],
        "logradouro": ["RUA  A ", "", " B"],
        "cep": ["01310100", "1310100", "", "00000000", "0000000", "013101", "0131O100", " 1310100"],
        "uf": ["SP", "RJ", "EX", "", "sp", "S", "SPX", "1A", " SP", "É\xc3"],
        "municipio": ["7107", "107", "", "71070", "71O7", " 7107"],
        "ddd_1": ["11", "011", "", "0", "00", "01", "1", "1A", " 11", "(11)"],
        "ddd_2": ["21", "", "021", "11"],
        "correio_eletronico": [
            "", "a@padaria.com.br", "A@PADARIA.COM.BR", "a@b@c.com", "padaria.com.br", "@", "a@",
            " a@x.com ", "a@x.com\xa0", "a@x_y.com", "JOÃO@É.COM",
        ],
    },
    EMPRESAS.name: {
        "natureza_juridica": ["2062", "2135", "4120", "213", "", "21355", "2I35", " 2062", "9999"],
        "capital_social": [
            "1000,00", "0,00", "9,99", "29,99", "30,00", "1061004829,23", "999999999999,99",
            "9999999999999,99", "99999999999999999,99", "", "x", "01,00", "000,00", ",50", "1000",
            "1.000,00", "1000,0", "10,000", "-5,00", " 7,00", "7,00 ", "1e3,00", "12,3,00",
        ],
        "porte": ["01", "03", "05", "", "1", "5 "],
    },
    SIMPLES.name: {
        "opcao_simples": ["S", "N", "", "s", "SS", " S"],
        "opcao_mei": ["S", "N", "", "S "],
    },
    SOCIOS.name: {
        "cnpj_cpf_socio": ["***222333**", "12345678000195", "", "***22233***", " ***222333**", "X"],
    },
}  # fmt: skip
NAMES = {"nome_fantasia", "razao_social", "nome_socio"}
ROOTS = ["00000000", "11222333", "1A22B333", "33683111", "9Z999999", "ZZZZZZZZ"]


def stored(table: TableLayout, key: Sequence[str], drawn: random.Random, odd: float) -> str:
    """Return a row, without its line feed. `odd`: share of values that are not the first one."""
    fields = list(key)
    for column in table.columns[len(key) :]:
        values = VALUES[table.name].get(column, [""])
        if column in NAMES:
            values = ["PADARIA DA PRAÇA LTDA", "", " ".join(drawn.sample(PIECES, 3))]
        fields.append(drawn.choice(values) if drawn.random() < odd else values[0])
    return table.tag + "\x1f".join(fields)


def plain_texts(rows: Mapping[str, Sequence[str]]) -> Sequence[frozenset[str]]:
    """Return the tokens of each establishment, computed one by one."""
    reader = RowReader(EXTRACTION)
    of_table = {
        table.name: {row[1:9]: tidy(row.encode("latin-1")) for row in rows[table.name]}
        for table in (EMPRESAS, SIMPLES)
    }
    records = [
        reader.establishment(
            tidy(row.encode("latin-1")),
            of_table[EMPRESAS.name].get(row[1:9]),
            of_table[SIMPLES.name].get(row[1:9]),
        )
        for row in rows[ESTABELECIMENTOS.name]
    ]
    return [frozenset(tokens_of(record).split()) for record in records]


def plain_partners(rows: Mapping[str, Sequence[str]]) -> Mapping[int, frozenset[str]]:
    """Return each company's partners' tokens, by the ordinal of its first establishment."""
    roots = [row[1:9] for row in rows[ESTABELECIMENTOS.name]]
    found: dict[int, frozenset[str]] = {}
    for row in rows[SOCIOS.name]:
        if row[1:9] in roots:
            at = roots.index(row[1:9])
            _, _, name, document, *_ = tidy(row.encode("latin-1")).split("\x1f")
            found[at] = found.get(at, frozenset()) | set(partner_tokens(name, document))
    return found


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 32), odd=st.sampled_from([0.0, 0.05, 0.5, 1.0]))
def test_rows_have_the_same_tokens(seed: int, odd: float) -> None:
    drawn = random.Random(seed)
    keys = sorted({(drawn.choice(ROOTS), f"{drawn.randrange(4):03d}{drawn.choice('1A')}")
                   for _ in range(drawn.randint(0, 12))})  # fmt: skip
    rows = {ESTABELECIMENTOS.name: [stored(ESTABELECIMENTOS, key, drawn, odd) for key in keys]}
    for table, most in ((EMPRESAS, 1), (SIMPLES, 1), (SOCIOS, 3)):
        roots = [root for root in ROOTS for _ in range(drawn.randint(0, most))]
        rows[table.name] = [stored(table, [root], drawn, odd) for root in roots]
    texts = ["".join(row + "\n" for row in each).encode("latin-1") for each in rows.values()]
    made = TextMaker(EXTRACTION).texts(*texts)
    assert [frozenset(text.split()) for text in made.establishments] == plain_texts(rows)
    partners = dict(zip(made.firsts.tolist(), made.partners, strict=True))
    expected = plain_partners(rows)
    assert {at: frozenset(text.split()) for at, text in partners.items()} == expected
    assert list(partners) == sorted(partners)
    assert made.keys.tolist() == [int(root + order, 36) for root, order in keys]


def test_usual_rows_have_a_token_of_every_kind() -> None:
    """Otherwise the comparisons above might compare empty sets."""
    known = [
        (ESTABELECIMENTOS, {
            0: "11222333", 1: "0001", 2: "81", 3: "1", 4: "PADARIA", 5: "02", 6: "20190228",
            7: "00", 10: "20190228", 11: "4721102", 18: "01310100", 19: "SP", 20: "7107", 21: "11",
            27: "a@padaria.com.br",
        }),
        (EMPRESAS, {0: "11222333", 2: "2062", 4: "1000,00", 5: "05"}),
        (SIMPLES, {0: "11222333", 1: "S"}),
        (SOCIOS, {0: "11222333", 2: "FULANA", 3: "***222333**"}),
    ]  # fmt: skip
    rows = [
        table.tag + "\x1f".join([values.get(at, "") for at in range(table.width)]) + "\n"
        for table, values in known
    ]
    made = TextMaker(EXTRACTION).texts(*(row.encode() for row in rows))
    (text,) = made.establishments
    assert set(text.split()) == {
        "padaria", "_hq1", "_st02", "_sd201", "_sd2019", "_sd201902", "_mt00", "_ab201", "_ab2019",
        "_ab201902", "_cn4721102", "_ca4721102", "_cd47", "_ce013101", "_ufsp", "_mu7107", "_dd11",
        "_dmpadaria.com.br", "_nj2062", "_pe0", "_po05", "_sx1", "_me0", "_kc07",
        "_ks04100",
    }  # fmt: skip
    others = {PERSON, POSTAL, OPENED, STATUS_CHANGED, CAPITAL, CAPITAL_STEP}
    prefixes = {each.prefix for each in CODED.values()} | others
    assert {each[1:3] for each in text.split() if each[0] == "_"} == prefixes
    assert [each.split() for each in made.partners] == [["fulana", "_pf222333"]]


@given(st.sets(st.integers(0, 36**12 - 1), min_size=1, max_size=50))
def test_keys_come_back_from_their_block(some: set[int]) -> None:
    keys = np.array(sorted(some), np.uint64)
    assert unpack_keys(pack_keys(keys), ZstdDecompressor()).tolist() == sorted(some)


def test_rows_of_another_table_are_refused() -> None:
    with pytest.raises(OpenDataError):
        TextMaker(EXTRACTION).texts(b"E11222333\x1f0001\n", b"", b"", b"")
