"""Moving everything to the other engine. Read this file first; `docs/moving.md` tells operators.

Each run makes the target what the source is at one moment, and proves it by adding both up. While
a service serves, a run can be repeated as often as one likes: it only brings over what is new. The
last one (`final`) lets nobody write to the source, brings over the rest, proves it, and closes the
source for good in the same transaction. Killed at whatever instant, it is simply run again: until
its end the target says of itself that it is not whole, and from then on the source says that it is
no longer the place. There is no instant at which both could be opened.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from balcao.backup.moving import marks
from balcao.backup.moving.copying import Copying, Moved, MoveProgress
from balcao.backup.moving.marks import Mark, Proven
from balcao.home import Home
from balcao.settings import Settings
from balcao.storage.contract import LedgerCheck
from balcao.storage.places import place_at, place_of
from balcao.storage.transfer.end import End
from balcao.storage.transfer.errors import MoveRefused

SQLITE = "sqlite"


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


def move(
    settings: Settings, to: str, *, final: bool, now_ms: int, progress: MoveProgress
) -> Report:
    """Bring everything from where the settings say to `to`, an address or `sqlite`.

    What does not agree is told in the report; then nothing was closed. Raises `MoveRefused`,
    `PepperDiffers`, `StorageNewer`, `StorageFailed`, `psycopg.Error`, `apsw.Error`.
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
            tables = Copying(source, target, there.proven or {}, progress).run()
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
    return place_of(settings).end(target=False)


def _open_target(settings: Settings, to: str) -> End:
    home = Home(settings.home)
    if to == SQLITE:
        if place_of(settings).desk_file is not None:
            raise MoveRefused("Os dados já estão em SQLite, na pasta de dados.")
        return place_at("", home).end(target=True)
    if not to.startswith(("postgresql://", "postgres://")):
        raise MoveRefused(
            "O destino deve ser o endereço de um PostgreSQL (postgresql://…) ou a palavra sqlite."
        )
    return place_at(to, home).end(target=True)


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
