"""Moving everything to the other engine. Read this file first; `docs/moving.md` tells operators.

Each run makes the target what the source is at one moment, and proves it by adding both up. While
a service serves, a run can be repeated as often as one likes: it only brings over what is new. The
last one (`final`) lets nobody write to the source, brings over the rest, proves it, and closes the
source for good in the same transaction. Killed at whatever instant, it is simply run again: until
its end the target says of itself that it is not whole, and from then on the source says that it is
no longer the place. There is no instant at which both could be opened.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TypeAlias

from balcao.home import Home
from balcao.moving import marks
from balcao.moving.difference import Difference, compare
from balcao.moving.end import End
from balcao.moving.errors import MoveRefused
from balcao.moving.lines import Sum
from balcao.moving.marks import Mark, Proven
from balcao.moving.progress import Progress, counted
from balcao.moving.tables import Table, all_tables
from balcao.settings import Settings
from balcao.storage.contract import LedgerCheck

SQLITE = "sqlite"


@dataclass(slots=True)
class Moved:
    """What became of one table."""

    table: Table
    after: int | None = None  # what comes before was proven earlier
    difference: Difference | None = None  # None: the target had nothing of it
    here: Sum | None = None
    there: Sum | None = None
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, and the proof."""

    source: str
    target: str
    final: bool
    holds_given_back: int
    tables: Sequence[Moved]
    books_here: LedgerCheck
    books_there: LedgerCheck

    @property
    def complaints(self) -> Sequence[str]:
        """What does not agree, one sentence each; none when everything was proven."""
        return [
            *(
                f"{one.table.label}: a origem e o destino não somam o mesmo"
                for one in self.tables
                if one.here != one.there
            ),
            *(f"origem: {complaint}" for complaint in self.books_here.complaints),
            *(f"destino: {complaint}" for complaint in self.books_there.complaints),
        ]


Proofs: TypeAlias = Mapping[str, Proven]


def move(settings: Settings, to: str, *, final: bool, now_ms: int, progress: Progress) -> Report:
    """Bring everything from where the settings say to `to`, an address or `sqlite`.

    What does not agree is told in the report; then nothing was closed. Raises `MoveRefused`,
    `HomeInUse`, `PepperDiffers`, `StorageNewer`, `StorageFailed`, `psycopg.Error`, `apsw.Error`.
    """
    with ExitStack() as stack:
        source = stack.enter_context(closing(open_source(settings)))
        target = stack.enter_context(closing(_open_target(settings, to)))
        here, there = marks.agree(source, target, now_ms)
        given_back = 0
        if here.state == "moved" and not final:
            raise MoveRefused(
                "A origem já foi fechada por uma mudança interrompida no fim: repita com --final."
            )
        if final:
            source.claim()
            if here.state != "moved":  # else done by the run that was interrupted
                given_back = source.recover(now_ms)
        with source.one_moment(alone=final):
            tables = _copy(source, target, there.proven or {}, progress)
            report = Report(
                source.place,
                target.place,
                final,
                given_back,
                tables,
                source.books(),
                target.books(),
            )
            if final and not report.complaints:
                marks.moved_away(source, here, there, target.place, now_ms)
        _conclude(report, target, there)
        return report


def open_source(settings: Settings) -> End:
    """Where the installation's data are now. Raises as `move` does."""
    home = Home(settings.home)
    address = settings.database.get_secret_value()
    if not address:
        from balcao.moving.sqlite import SqliteEnd  # noqa: PLC0415

        return SqliteEnd(home, target=False)
    from balcao.moving.postgresql import PostgresEnd  # noqa: PLC0415 - slow to load

    return PostgresEnd(address, home.pepper(), target=False)


def _open_target(settings: Settings, to: str) -> End:
    home = Home(settings.home)
    if to == SQLITE:
        if not settings.database.get_secret_value():
            raise MoveRefused("Os dados já estão em SQLite, na pasta de dados.")
        from balcao.moving.sqlite import SqliteEnd  # noqa: PLC0415

        return SqliteEnd(home, target=True)
    if not to.startswith(("postgresql://", "postgres://")):
        raise MoveRefused(
            "O destino deve ser o endereço de um PostgreSQL (postgresql://…) ou a palavra sqlite."
        )
    from balcao.moving.postgresql import PostgresEnd  # noqa: PLC0415

    return PostgresEnd(to, home.pepper(), target=True)


def _copy(source: End, target: End, proofs: Proofs, progress: Progress) -> Sequence[Moved]:
    """Make the target what the source is at this moment, and add both up."""
    with ExitStack() as stack:
        tables = [_look(source, target, table, proofs, progress, stack) for table in all_tables()]
        for one in reversed(tables):  # those that refer to others go first
            if one.difference is not None and one.difference.extra.count:
                target.delete(one.table, one.difference.extra)
                one.deleted = one.difference.extra.count
        for one in tables:
            _bring(source, target, one, proofs, progress)
        for one in tables:
            _prove(target, one, proofs, progress)
            if one.table.numbered:
                target.go_on_after(one.table, source.last_number(one.table))
    return tables


def _look(
    source: End, target: End, table: Table, proofs: Proofs, progress: Progress, stack: ExitStack
) -> Moved:
    """What has to be done. A table of which the target has nothing is not compared."""
    one = Moved(table)
    known = proofs.get(table.name)
    if table.appended and known is not None and _stands(source, target, table, known):
        one.after = known.number
    if target.count(table, after=one.after):
        progress.begin(f"Comparando {table.label}", source.count(table, after=one.after))
        one.here = _begun(one, proofs)
        one.difference = stack.enter_context(closing(Difference()))
        compare(
            table,
            counted(source.lines(table, after=one.after), progress.advance),
            target.lines(table, after=one.after),
            one.here,
            one.difference,
        )
    return one


def _stands(source: End, target: End, table: Table, known: Proven) -> bool:
    """Whether what was proven is still all there is up to that number.

    Its rows never change and never go. On PostgreSQL some with lesser numbers may have been
    committed since: then the counts differ, and everything is compared again.
    """
    counts = {source.count(table, up_to=known.number), target.count(table, up_to=known.number)}
    return counts == {known.rows}


def _begun(one: Moved, proofs: Proofs) -> Sum:
    if one.after is None:
        return Sum()
    known = proofs[one.table.name]
    return Sum(known.rows, known.total)


def _bring(source: End, target: End, one: Moved, proofs: Proofs, progress: Progress) -> None:
    table, difference = one.table, one.difference
    if difference is None:
        progress.begin(f"Copiando {table.label}", source.count(table, after=one.after))
        one.here = _begun(one, proofs)
        before = one.here.rows
        lines = counted(source.lines(table, after=one.after, ordered=False), progress.advance)
        target.insert(table, one.here.through(lines))
        one.inserted = one.here.rows - before
    else:
        if difference.changed.count:
            target.update(table, difference.changed)
        if difference.missing.count:
            target.insert(table, difference.missing)
        one.updated, one.inserted = difference.changed.count, difference.missing.count


def _prove(target: End, one: Moved, proofs: Proofs, progress: Progress) -> None:
    """Add the target up again, as it is written there now."""
    table = one.table
    assert one.here is not None
    if one.difference is not None and not one.difference:
        one.there = one.here  # line by line the same, when they were compared a moment ago
        return
    progress.begin(f"Conferindo {table.label}", target.count(table, after=one.after))
    one.there = _begun(one, proofs)
    lines = target.lines(table, after=one.after, ordered=False)
    for line in counted(lines, progress.advance):
        one.there.add(line)


def _conclude(report: Report, target: End, there: Mark) -> None:
    if report.complaints:
        return
    if report.final:
        marks.arrived(target, there)
        return
    proven = {
        one.table.name: Proven(target.greatest(one.table), one.here.rows, one.here.total)
        for one in report.tables
        if one.table.appended and one.here is not None
    }
    with target.together():
        marks.write(target, replace(there, proven=proven))
