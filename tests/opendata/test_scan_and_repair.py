"""The fast path and the slow path read the same records, for any content of fields."""

import re
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.opendata.keys import (
    block_within,
    blocks_within,
    characters,
    first_keys,
    number_of,
    numbers_of,
    ranges_of,
)
from balcao.opendata.layout import (
    COMPANY_GROUP,
    EMPRESAS,
    ESTABELECIMENTOS,
    ESTABLISHMENT_GROUP,
    SIMPLES,
    SOCIOS,
    TableLayout,
)
from balcao.opendata.repair import read_record, repair
from balcao.opendata.rows import tidy
from balcao.opendata.scan import (
    clean_lines,
    find_fields,
    find_repaired_fields,
    key_numbers,
    stored_lengths,
    stored_rows,
)
from tests.opendata.months import record

LATIN_1 = st.characters(min_codepoint=0, max_codepoint=255)
# Significant characters, much more often than by chance.
TEXT = st.text(st.one_of(st.sampled_from('";\n\0 \\\r\t\x1e\x1f'), LATIN_1), max_size=12)
TABLES = st.sampled_from((EMPRESAS, ESTABELECIMENTOS, SOCIOS, SIMPLES))
KEY = st.text("0123456789ABCXYZ", min_size=8, max_size=8)


@st.composite
def records(draw: st.DrawFn, table: TableLayout) -> list[str]:
    key = [draw(st.text("0123456789AZ", min_size=w, max_size=w)) for w in table.key_widths]
    rest = draw(st.lists(TEXT, min_size=table.width - len(key), max_size=table.width - len(key)))
    return key + rest


@st.composite
def files(draw: st.DrawFn) -> tuple[TableLayout, list[list[str]]]:
    table = draw(TABLES)
    return table, draw(st.lists(records(table), min_size=1, max_size=5))


def normalised(fields: Sequence[str]) -> list[str]:
    """Return the expected fields: no C0 controls, white space collapsed, all else unchanged."""
    tidy = (re.sub(r"[\t\n\x0b\x0c\r]", " ", text) for text in fields)
    return [" ".join(re.sub(r"[\0-\x1f]", "", text).split()) for text in tidy]


def read_back(rows: bytes) -> list[list[str]]:
    return [row[1:].split("\x1f") for row in tidy(rows).split("\n")[:-1]]


@given(files())
def test_any_written_fields_are_read_back(file: tuple[TableLayout, list[list[str]]]) -> None:
    table, written = file
    content = b"".join(map(record, written))
    fields = find_fields(content, table)
    if fields is None:
        repaired = repair(content, table, final=True)
        assert repaired.rejects == ()
        assert repaired.rest == b""
        fields = find_repaired_fields(repaired.lines, table)
    rows = stored_rows(fields, table)
    assert read_back(rows) == [normalised(fields) for fields in written]
    assert [len(row) + 1 for row in rows.split(b"\n")[:-1]] == stored_lengths(
        fields, table
    ).tolist()


@given(files(), st.data())
def test_lines_awaiting_the_next_chunk_are_read_then(
    file: tuple[TableLayout, list[list[str]]], data: st.DataObject
) -> None:
    """Cut the file after any line feed: the same records, none repeated, none lost."""
    table, written = file
    content = b"".join(map(record, written))
    cuts = [match.end() for match in re.finditer(b"\n", content)]
    cut = data.draw(st.sampled_from(cuts))
    first = repair(content[:cut], table, final=False)
    second = repair(first.rest + content[cut:] + b"\n", table, final=True)
    assert first.rejects == second.rejects == ()
    fields = find_repaired_fields(first.lines + second.lines, table)
    assert read_back(stored_rows(fields, table)) == [normalised(fields) for fields in written]


@given(files())
def test_a_clean_line_is_the_same_on_both_paths(file: tuple[TableLayout, list[list[str]]]) -> None:
    """Every line that the fast check accepts is a record, with the same fields."""
    table, written = file
    content = b"".join(map(record, written))
    lines = content.split(b"\n")[:-1]
    for line, clean in zip(lines, clean_lines(content, table).tolist(), strict=True):
        fast = find_fields(line + b"\n", table)
        assert (fast is not None) is clean
        if fast is None:
            continue
        slow = read_record([line], table.key_widths, table.width)
        assert slow is not None
        assert stored_rows(fast, table) == (table.tag.encode() + b"\x1f".join(slow[0]) + b"\n")


@pytest.mark.parametrize(
    "line",
    [
        b'"12345678";"S";"";"";"N";"";""',
        b'"12345678";";";";;";"";"N";"";""',
        b'"12345678";" ";"\xff\x8f";"";"N";"x;y";";z"',
    ],
)
def test_lines_for_the_fast_path(line: bytes) -> None:
    assert find_fields(line + b"\n", SIMPLES) is not None
    assert clean_lines(line + b"\n", SIMPLES).tolist() == [True]


@pytest.mark.parametrize(
    "line",
    [
        b'"12345678";"S";"";"";"N";""',  # a column missing
        b'"12345678";"S";"";"";"N";"";"";""',  # an additional column
        b'"12345678";"S"x"";"";"N";"";"";""',
        b'"12345678";"S";"",";"N";"";""',
        b'"12345678"x"S";"";"";"N";"";""',
        b'"12345678";x"S";"";"";"N";"";""',
        b' "12345678";"S";"";"";"N";"";""',
        b'"12345678";"S";"";"";"N";"";"" ',
        b'"12345678";"S";"";"";"N";"";"\0"',
        b'"12345678";"S";"";"";"N";"";"\x1e"',
        b'"1234567";"S";"";"";"N";"";""',
        b'"1234567a";"S";"";"";"N";"";""',
        b'"12345678";"S"";"";"N";"";""',
        b"12345678;S;;;N;;",
        b"",
        b'""""""""""""""',
    ],
)
def test_lines_not_for_the_fast_path(line: bytes) -> None:
    """Alone, and between clean lines, whose quotes could compensate."""
    good = b'"87654321";"S";"";"";"N";"";""\n'
    assert find_fields(line + b"\n", SIMPLES) is None
    assert find_fields(good + line + b"\n" + good, SIMPLES) is None
    assert clean_lines(good + line + b"\n" + good, SIMPLES).tolist() == [True, False, True]


def test_two_wrong_lines_do_not_make_a_right_sum() -> None:
    """One column more, one less: as many quotes and semicolons as two good lines."""
    short = b'"12345678";"S";"";"";"N";""\n'
    long = b'"12345678";"S";"";"";"N";"";"";""\n'
    for content in (short + long, long + short):
        assert find_fields(content, SIMPLES) is None
        assert clean_lines(content, SIMPLES).tolist() == [False, False]
        assert len(repair(content, SIMPLES, final=True).rejects) == 2


def test_a_cut_record_that_looks_whole_waits_for_its_rest() -> None:
    """Up to its line feed the tolerant reading would find seven columns, wrongly."""
    written = ["12345678", "S", "", "", "", '";"\n', "Z"]
    content = record(written)
    cut = content.index(b"\n") + 1
    alone = read_record([content[: cut - 1]], SIMPLES.key_widths, SIMPLES.width)
    assert alone is not None
    assert alone[0][6] == b""
    first = repair(content[:cut], SIMPLES, final=False)
    assert (first.lines, first.rest) == (b"", content[:cut])
    second = repair(first.rest + content[cut:], SIMPLES, final=True)
    fields = find_repaired_fields(second.lines, SIMPLES)
    assert read_back(stored_rows(fields, SIMPLES)) == [normalised(written)]


def test_an_additional_column_without_quotes_is_refused() -> None:
    line = record(["12345678", "S", "", "", "N", "", ""])[:-1]
    assert repair(line + b";\n", SIMPLES, final=True).rejects == ((1, line + b";"),)


def test_a_quote_in_a_field_is_stored_as_it_is() -> None:
    line = record(["12345678", '"A"', '";"', "", "", "", '"'])
    repaired = repair(line, SIMPLES, final=True)
    rows = stored_rows(find_repaired_fields(repaired.lines, SIMPLES), SIMPLES)
    assert rows == b'S12345678\x1f"A"\x1f";"\x1f\x1f\x1f\x1f"\n'


@given(st.lists(st.tuples(KEY, st.text("0123456789AZ", min_size=4, max_size=4)), min_size=1))
def test_one_key_and_many_keys_give_the_same_block(keys: list[tuple[str, str]]) -> None:
    view = np.frombuffer("".join(root + order for root, order in keys).encode(), np.uint8)
    starts = np.arange(len(keys)) * 12
    roots, orders = characters(view, starts, 8), characters(view, starts + 8, 4)
    both = numbers_of(roots, orders)
    assert both.tolist() == [number_of(root + order) for root, order in keys]
    alone = numbers_of(roots)
    assert alone.tolist() == [number_of(root) for root, _ in keys]
    assert blocks_within(both, 1000).tolist() == [block_within(n, 1000) for n in both.tolist()]
    # An establishment is in the range of its root.
    bounds = np.sort(alone[: len(keys) // 2])
    ranges = ranges_of(alone, bounds).tolist()
    assert ranges_of(both, first_keys(bounds, 12)).tolist() == ranges
    assert ranges == [bisect_right(bounds.tolist(), each) for each in alone.tolist()]


def test_keys_spread_evenly_over_blocks() -> None:
    """Neighbouring roots with one establishment each: nearly sixteen in every block."""
    count = 64_000
    text = "".join(f"{n + 30_000_000:08d}0001" for n in range(count)).encode()
    starts = np.arange(count) * 12
    view = np.frombuffer(text, np.uint8)
    numbers = numbers_of(characters(view, starts, 8), characters(view, starts + 8, 4))
    rows = np.bincount(blocks_within(numbers, count // 16), minlength=count // 16)
    assert rows.min() >= 8
    assert rows.max() <= 32


def test_the_key_is_the_root_or_root_and_order() -> None:
    line = b'"0000000A";"00B1";"77"' + b';""' * 27 + b"\n"
    fields = find_fields(line, ESTABELECIMENTOS)
    assert fields is not None
    assert key_numbers(fields, ESTABLISHMENT_GROUP).tolist() == [number_of("0000000A00B1")]
    assert key_numbers(fields, COMPANY_GROUP).tolist() == [number_of("0000000A")]
