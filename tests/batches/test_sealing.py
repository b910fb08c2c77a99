"""Sealing of rows and answers of batches, and compression of long ones."""

import msgspec

from balcao.batches.sealing import BatchSeal

SEAL = BatchSeal(b"p" * 32, "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8")


def test_a_long_row_takes_less_room_and_comes_back() -> None:
    cells = ("90010001000100", "x" * 30_000, "ção")
    sealed = SEAL.cells(7, cells)
    assert len(sealed) < 1_000
    assert SEAL.open_cells(7, sealed) == cells


def test_a_short_row_and_one_that_gets_no_shorter_come_back() -> None:
    odd = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    for cells in ((), ("90010001000100", "SP"), (odd,)):
        assert SEAL.open_cells(1, SEAL.cells(1, cells)) == cells


def test_rows_of_before_they_were_compressed_can_be_read() -> None:
    for cells in (("a",) * 3, ("x" * 200,), ("b",) * 200, ("c",) * 70_000):
        old = SEAL._close(b"c1", msgspec.msgpack.encode(cells))
        assert SEAL.open_cells(1, old) == cells
