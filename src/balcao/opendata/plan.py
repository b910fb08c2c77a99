"""The plan of an import: sizes and cache keys, computed from the zips' directories alone."""

import hashlib
from dataclasses import dataclass
from datetime import date

from balcao.opendata.archive import Inputs, Part
from balcao.opendata.layout import ESTABLISHMENT_GROUP, GROUPS, TableGroup
from balcao.opendata.snapshot import FORMAT

# Bytes that one worker sorts at a time. Smaller ranges sort faster (more of them fits into the
# processor's caches); in the full month there would be too many of them to distribute rows to.
_RANGE_BYTES = 3 * 1024 * 1024
_RANGES_MAX = 2048

# Spill files of a month of this size stay in the memory that the system has for files, and
# compressing them would cost a sixth of the whole import. Larger ones must not fill the disk.
PLAIN_SPILL_CSV_BYTES_MAX = 2 * 1024 * 1024 * 1024

# Keys per block. More of them compress better and take longer to unpack.
ROWS_PER_BLOCK = 16

SAMPLE_ROWS = 10_000
_ESTABLISHMENT_BYTES = 234  # of one record, on average (`rfb-open-data.md`, section 7)


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The month to build, and the sizes chosen for it."""

    extraction: date
    inputs: Inputs
    ranges: int  # of roots, at most: each group's rows are distributed over them
    sample_one_in: int  # establishments; a power of two
    compress_spill: bool

    def parts(self, group: TableGroup) -> tuple[Part, ...]:
        """Return the group's zips, in the order in which a key's rows are stored."""
        return tuple(
            part for table in group.tables for part in self.inputs.rows if part.table == table.name
        )

    @property
    def reading_key(self) -> str:
        """A digest that changes when a zip that was read would be read differently."""
        return _digest(
            FORMAT, self.extraction, self.ranges, self.sample_one_in, self.compress_spill
        )

    @property
    def key(self) -> str:
        """A digest that changes when the snapshot would be different."""
        return _digest(self.reading_key, [part.identity for part in self.inputs.rows])


def make_plan(inputs: Inputs, extraction: date) -> ImportPlan:
    """Choose the sizes: the same for the same files, so that a resumed build fits."""
    largest = max(
        sum(
            part.bytes
            for part in inputs.parts
            if part.table in {each.name for each in group.tables}
        )
        for group in GROUPS
    )
    ranges = min(_power_of_two(largest // _RANGE_BYTES), _RANGES_MAX)
    tables = {table.name for table in ESTABLISHMENT_GROUP.tables}
    size = sum(part.bytes for part in inputs.parts if part.table in tables)
    # Rounded up, then halved: at least SAMPLE_ROWS rows, at most four times as many.
    one_in = _power_of_two(size // _ESTABLISHMENT_BYTES // SAMPLE_ROWS) // 2
    compress = sum(part.bytes for part in inputs.parts) > PLAIN_SPILL_CSV_BYTES_MAX
    return ImportPlan(extraction, inputs, ranges, max(one_in, 1), compress)


def _power_of_two(at_least: int) -> int:
    return 1 << max(at_least - 1, 0).bit_length()


def _digest(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
