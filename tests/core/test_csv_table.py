"""CSV that no spreadsheet evaluates, with any delimiter."""

import csv
import io
import re

import pytest

from balcao.core.csv_table import csv_pieces, escape_formula, write_rows

FORMULAS = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠x",
    "x,=1+1", "x;=1+1", "x|@a", "x\n=1", "a,＝b", 'x",=1', "=1;=2,=3",
)  # fmt: skip
PLAIN = ("", "1", "EMPRESA LTDA", "a-b", "a, b", "R$ 1,50; à vista", "x = y", "12/2026", '"', "'=x")


@pytest.mark.parametrize("cell", FORMULAS)
@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_no_reader_finds_a_formula(cell: str, delimiter: str) -> None:
    """Neither one that parts where the writer does, nor one that parts elsewhere."""
    text = b"".join(csv_pieces(["nome"], [[cell, "fim"]])).decode("utf-8-sig")
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        for found in row:
            for line in re.split("[\r\n]", found):
                assert not re.match("[=+@＝＋－＠-]", line.lstrip('"')), row


@pytest.mark.parametrize("cell", PLAIN)
def test_what_is_none_stays_as_it_is(cell: str) -> None:
    assert escape_formula(cell) == cell


def test_every_cell_is_quoted_and_numbers_stay_numbers() -> None:
    table = b"".join(csv_pieces(["chave", "créditos"], [["a;b", -3], [None, 0]]))
    assert table.startswith(b"\xef\xbb\xbf")
    assert table.decode("utf-8-sig") == '"chave";"créditos"\r\n"a;b";"-3"\r\n"";"0"\r\n'


def test_rows_for_programs() -> None:
    text = io.StringIO()
    write_rows(text, [["key", "credits"], ["=HYPERLINK(1)", -2]])
    assert text.getvalue() == '"key","credits"\n"\'=HYPERLINK(1)","-2"\n'
