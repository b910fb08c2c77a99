"""Making one end what the other is at this moment, and adding both up."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from balcao.backup.moving.difference import Difference, compare
from balcao.backup.moving.marks import Proven
from balcao.storage.transfer.copying import months_of
from balcao.storage.transfer.end import End
from balcao.storage.transfer.lines import Sum, counted
from balcao.storage.transfer.tables import MovedTable, all_tables


class MoveProgress:
    """Receives the steps of a move, in order, and the rows that each gets through. Does nothing."""

    def begin(self, step: str, rows_total: int) -> None:
        """A step starts (the one before is over)."""

    def advance(self, rows: int) -> None:
        """So many more rows are done."""


@dataclass(slots=True)
class Moved:
    """What became of one table."""

    table: MovedTable
    after: int | None = None  # what comes before was proven earlier
    difference: Difference | None = None  # None: the target had nothing of it
    here: Sum | None = None
    there: Sum | None = None
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class Copying:
    """One run. `proofs` tells what earlier ones have proven of tables that only grow."""

    source: End
    target: End
    proofs: Mapping[str, Proven]
    progress: MoveProgress

    def run(self) -> Sequence[Moved]:
        """Do it, table by table; whatever was done stays when it is killed."""
        with ExitStack() as stack:
            self.target.make_room(months_of(self.source))
            tables = [self._look(table, stack) for table in all_tables()]
            for one in reversed(tables):  # those that refer to others go first
                if one.difference is not None and one.difference.extra.count:
                    self.target.delete(one.table, one.difference.extra)
                    one.deleted = one.difference.extra.count
            for one in tables:
                self._bring(one)
            for one in tables:
                self._prove(one)
                if one.table.numbered:
                    self.target.go_on_after(one.table, self.source.last_number(one.table))
        return tables

    def _look(self, table: MovedTable, stack: ExitStack) -> Moved:
        """What has to be done. A table of which the target has nothing is not compared."""
        one = Moved(table, self._proven_up_to(table))
        if self.target.count(table, after=one.after):
            count = self.source.count(table, after=one.after)
            self.progress.begin(f"Comparando {table.label}", count)
            one.here = self._begun(one)
            one.difference = stack.enter_context(closing(Difference()))
            compare(
                table,
                counted(self.source.lines(table, after=one.after), self.progress.advance),
                self.target.lines(table, after=one.after),
                one.here,
                one.difference,
            )
        return one

    def _proven_up_to(self, table: MovedTable) -> int | None:
        """The number up to which the target has what the source has, as was proven before.

        Rows of such tables never change and never go. On PostgreSQL some with lesser numbers may
        have been committed since: then the counts differ, and everything is compared again.
        """
        known = self.proofs.get(table.name)
        if known is None or not table.appended:
            return None
        counts = {end.count(table, up_to=known.number) for end in (self.source, self.target)}
        return known.number if counts == {known.rows} else None

    def _begun(self, one: Moved) -> Sum:
        if one.after is None:
            return Sum()
        known = self.proofs[one.table.name]
        return Sum(known.rows, known.total)

    def _bring(self, one: Moved) -> None:
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
        one.here = self._begun(one)
        before = one.here.rows
        lines = counted(
            self.source.lines(table, after=one.after, ordered=False), self.progress.advance
        )
        self.target.insert(table, one.here.through(lines))
        one.inserted = one.here.rows - before

    def _prove(self, one: Moved) -> None:
        """Add the target up, as it is written there now."""
        table = one.table
        assert one.here is not None
        if one.difference is not None and not one.difference:
            one.there = one.here  # line by line the same, when they were compared a moment ago
            return
        self.progress.begin(f"Conferindo {table.label}", one.here.rows)
        one.there = self._begun(one)
        lines = self.target.lines(table, after=one.after, ordered=False)
        for line in counted(lines, self.progress.advance):
            one.there.add(line)
