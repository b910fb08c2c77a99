"""Make the target equal to the source as of now, and compare the sums of both."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from balcao.backup.moving.difference import Difference, compare
from balcao.backup.moving.marks import Proven
from balcao.storage.transfer.copying import months_of
from balcao.storage.transfer.endpoint import MoveEndpoint
from balcao.storage.transfer.lines import Sum, counted
from balcao.storage.transfer.tables import MovedTable, all_tables


class MoveProgress:
    """Receives the steps and rows of a move. This base class ignores them."""

    def begin(self, step: str, rows_total: int) -> None:
        """Start a step; the one before has ended."""

    def advance(self, rows: int) -> None:
        """Add processed rows."""


@dataclass(slots=True)
class TableMove:
    """The changes made to one table, and its sums."""

    table: MovedTable
    after: int | None = None  # rows up to this number were proven equal earlier
    difference: Difference | None = None  # None: the target had none of its rows
    source_sum: Sum | None = None
    target_sum: Sum | None = None
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class TableCopier:
    """One run of copying. `proofs`: the results of earlier runs about append-only tables."""

    source: MoveEndpoint
    target: MoveEndpoint
    proofs: Mapping[str, Proven]
    progress: MoveProgress

    def run(self) -> Sequence[TableMove]:
        """Copy table by table; finished parts persist when it is killed."""
        with ExitStack() as stack:
            self.target.make_partitions(months_of(self.source))
            tables = [self._compare(table, stack) for table in all_tables()]
            for one in reversed(tables):  # referring tables first
                if one.difference is not None and one.difference.extra.count:
                    self.target.delete(one.table, one.difference.extra)
                    one.deleted = one.difference.extra.count
            for one in tables:
                self._copy(one)
            for one in tables:
                self._verify(one)
                if one.table.numbered:
                    self.target.continue_after(one.table, self.source.last_number(one.table))
        return tables

    def _compare(self, table: MovedTable, stack: ExitStack) -> TableMove:
        """Compare a table, unless the target has none of its rows."""
        one = TableMove(table, self._proven_up_to(table))
        if self.target.count(table, after=one.after):
            count = self.source.count(table, after=one.after)
            self.progress.begin(f"Comparando {table.label}", count)
            one.source_sum = self._proven_sum(one)
            one.difference = stack.enter_context(closing(Difference()))
            compare(
                table,
                counted(self.source.lines(table, after=one.after), self.progress.advance),
                self.target.lines(table, after=one.after),
                one.source_sum,
                one.difference,
            )
        return one

    def _proven_up_to(self, table: MovedTable) -> int | None:
        """Return the number up to which an earlier run proved source and target equal.

        Rows of such tables never change or disappear. On PostgreSQL rows with lower numbers may
        have been committed since: then the counts differ, and everything is compared again.
        """
        proven = self.proofs.get(table.name)
        if proven is None or not table.appended:
            return None
        counts = {end.count(table, up_to=proven.number) for end in (self.source, self.target)}
        return proven.number if counts == {proven.rows} else None

    def _proven_sum(self, one: TableMove) -> Sum:
        if one.after is None:
            return Sum()
        proven = self.proofs[one.table.name]
        return Sum(proven.rows, proven.total)

    def _copy(self, one: TableMove) -> None:
        table, difference = one.table, one.difference
        if difference is not None:
            if difference.changed.count:
                self.target.update(table, difference.changed)
            if difference.missing.count:
                self.target.insert(table, difference.missing)
            one.updated, one.inserted = difference.changed.count, difference.missing.count
            return
        count = self.source.count(table, after=one.after)
        self.progress.begin(f"Copiando {table.label}", count)
        one.source_sum = self._proven_sum(one)
        before = one.source_sum.rows
        lines = counted(
            self.source.lines(table, after=one.after, ordered=False), self.progress.advance
        )
        self.target.insert(table, one.source_sum.through(lines))
        one.inserted = one.source_sum.rows - before

    def _verify(self, one: TableMove) -> None:
        """Add up the target as it is stored now."""
        table = one.table
        assert one.source_sum is not None
        if one.difference is not None and not one.difference:
            one.target_sum = one.source_sum  # compared line by line a moment ago
            return
        self.progress.begin(f"Conferindo {table.label}", one.source_sum.rows)
        one.target_sum = self._proven_sum(one)
        lines = self.target.lines(table, after=one.after, ordered=False)
        for line in counted(lines, self.progress.advance):
            one.target_sum.add(line)
