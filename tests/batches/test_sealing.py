"""Sealing of rows and answers of batches, and compression of long ones."""

import msgspec

from balcao.batches.sealing import BatchSeal

SEAL = BatchSeal(b"p" * 32, "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8")


def test_a_long_row_is_compressed_and_restored() -> None:
    cells = ("90010001000100", "x" * 30_000, "ção")
    sealed = SEAL.cells(7, cells)
    assert len(sealed) < 1_000
    assert SEAL.open_cells(7, sealed) == cells


def test_short_and_incompressible_rows_are_restored() -> None:
    odd = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    for cells in ((), ("90010001000100", "SP"), (odd,)):
        assert SEAL.open_cells(1, SEAL.cells(1, cells)) == cells


def test_uncompressed_older_rows_can_be_read() -> None:
    for cells in (("a",) * 3, ("x" * 200,), ("b",) * 200, ("c",) * 70_000):
        old = SEAL._encrypt(b"c1", msgspec.msgpack.encode(cells))
        assert SEAL.open_cells(1, old) == cells
