"""Move all data to the other engine. Read this file first; `docs/moving.md` is for operators.

Each run makes the target equal to the source as of one moment, and proves it by sums. While a
service is running, runs can be repeated and only copy what is new. The last one (`final`) blocks
writes to the source, copies the rest, proves it, and closes the source for good in the same
transaction. A run that was killed is simply repeated: until its end the target is marked as
incomplete, and from then on the source is marked as moved. At no instant could both be opened.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from balcao.backup.moving import marks
from balcao.backup.moving.copying import MoveProgress, TableCopier, TableMove
from balcao.backup.moving.marks import Mark, Proven
from balcao.home import Home
from balcao.settings import Settings
from balcao.storage.contract import LedgerCheck
from balcao.storage.places import place_at, place_of
from balcao.storage.transfer.endpoint import MoveEndpoint
from balcao.storage.transfer.errors import MoveRefused

SQLITE = "sqlite"


@dataclass(frozen=True, slots=True)
class Report:
    """The actions of a run, and its proof."""

    source: str
    target: str
    final: bool
    holds_given_back: int
    tables: Sequence[TableMove]
    source_books: LedgerCheck
    target_books: LedgerCheck

    @property
    def complaints(self) -> Sequence[str]:
        """Discrepancies, one sentence each; none when everything was proven."""
        return [
            *(
                f"{one.table.label}: a origem e o destino têm somas diferentes"
                for one in self.tables
                if one.source_sum != one.target_sum
            ),
            *(f"origem: {complaint}" for complaint in self.source_books.complaints),
            *(f"destino: {complaint}" for complaint in self.target_books.complaints),
        ]


def move(
    settings: Settings, to: str, *, final: bool, now_ms: int, progress: MoveProgress
) -> Report:
    """Copy everything from the settings' storage to `to`, an address or `sqlite`.

    Discrepancies are in the report; then nothing was closed. Raises `MoveRefused`, `PepperDiffers`,
    `StorageNewer`, `StorageFailed`, `psycopg.Error`, `apsw.Error`.
    """
    with ExitStack() as stack:
        source = stack.enter_context(closing(open_source(settings)))
        target = stack.enter_context(closing(_open_target(settings, to)))
        here, there = marks.begin_move(source, target, now_ms)
        holds_released = 0
        if here.state == "moved" and not final:
            raise MoveRefused(
                "A origem já foi fechada por uma mudança interrompida no fim. Repita com --final."
            )
        if final:
            source.claim()
            if here.state != "moved":  # else done by the interrupted run
                holds_released = source.recover(now_ms)
        with source.snapshot(alone=final):
            tables = TableCopier(source, target, there.proven or {}, progress).run()
            report = Report(
                source.place,
                target.place,
                final,
                holds_released,
                tables,
                source.books(),
                target.books(),
            )
            if final and not report.complaints:
                marks.close_source(source, here, there, target.place, now_ms)
        _conclude(report, target, there)
        return report


def open_source(settings: Settings) -> MoveEndpoint:
    """Open the installation's present storage. Raises like `move`."""
    return place_of(settings).endpoint(target=False)


def _open_target(settings: Settings, to: str) -> MoveEndpoint:
    home = Home(settings.home)
    if to == SQLITE:
        if place_of(settings).desk_file is not None:
            raise MoveRefused("Os dados já estão em SQLite, na pasta de dados.")
        return place_at("", home).endpoint(target=True)
    if not to.startswith(("postgresql://", "postgres://")):
        raise MoveRefused(
            "O destino deve ser o endereço de um PostgreSQL (postgresql://…) ou a palavra sqlite."
        )
    return place_at(to, home).endpoint(target=True)


def _conclude(report: Report, target: MoveEndpoint, there: Mark) -> None:
    if report.complaints:
        return
    if report.final:
        marks.activate_target(target, there)
        return
    proven = {
        one.table.name: Proven(
            target.max_number(one.table), one.source_sum.rows, one.source_sum.total
        )
        for one in report.tables
        if one.table.appended and one.source_sum is not None
    }
    with target.transaction():
        marks.write(target, replace(there, proven=proven))
