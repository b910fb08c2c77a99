"""Results as CSV."""

from collections.abc import Iterable
from typing import IO

from balcao.batches.writing.contract import ResultColumns, ResultRow
from balcao.core import csv_table


def write_csv(file: IO[bytes], columns: ResultColumns, rows: Iterable[ResultRow]) -> None:
    """Write all rows as they come. Blocking."""
    csv_table.write_csv(file, columns.names, map(columns.cells, rows))
