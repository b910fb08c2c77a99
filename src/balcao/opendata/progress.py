"""Progress of an import: the listeners' protocol, and bars on a terminal."""

from typing import Protocol, Self

from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Column

from balcao.core.writing import whole

# The phase that counts CNPJs, not bytes and rows.
VERIFYING = "Verificando"


# The phase that counts bytes alone, before an import.
_DOWNLOADING = "Baixando"
_MEGABYTE = 1_000_000


def downloading(month: str) -> str:
    """Return the name of the phase in which a month's zips are downloaded (`fetching`)."""
    return f"{_DOWNLOADING} {month}"


def unit_of(phase: str) -> str:
    """Return the unit of a phase's rows, in Portuguese."""
    return "CNPJs" if phase == VERIFYING else "linhas"


class ProgressListener(Protocol):
    """Receives an import's phases, in order, and the progress of each."""

    def begin(self, phase: str, bytes_total: int) -> None:
        """Start a phase; the one before has ended."""

    def advance(self, file: str, bytes_done: int, rows: int) -> None:
        """Add bytes and rows done in the phase; `file` is in progress."""


class Listeners:
    """A listener that calls others in order; there may be none."""

    def __init__(self, *listeners: ProgressListener | None) -> None:
        self._listeners = [each for each in listeners if each is not None]

    def begin(self, phase: str, bytes_total: int) -> None:
        for each in self._listeners:
            each.begin(phase, bytes_total)

    def advance(self, file: str, bytes_done: int, rows: int) -> None:
        for each in self._listeners:
            each.advance(file, bytes_done, rows)


class RichProgress:
    """A `ProgressListener` and context manager that draws a bar per phase, with its speed.

    A line fits into 80 columns.
    """

    def __init__(self) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(None, table_column=Column(ratio=1)),  # the width that the texts leave
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[counts]}"),
            TimeRemainingColumn(),
            expand=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_phase()
        self._bars.stop()

    def begin(self, phase: str, bytes_total: int) -> None:
        """Fill the previous bar and start a new one."""
        self._end_phase()
        self._task = self._bars.add_task(phase, total=bytes_total, rows=0, counts="")

    def advance(self, file: str, bytes_done: int, rows: int) -> None:
        if self._task is None:
            return
        task = self._bars.tasks[self._task]
        if task.description.startswith(_DOWNLOADING):
            self._bars.update(self._task, advance=bytes_done)
            speed = f"{(task.speed or 0) / _MEGABYTE:.1f}".replace(".", ",")
            counts = f"{whole(int(task.completed / _MEGABYTE))} MB, {speed} MB/s"
            self._bars.update(self._task, counts=counts)
            return
        total = task.fields["rows"] + rows
        per_second = int(total / task.elapsed) if task.elapsed else 0
        unit = unit_of(task.description)
        rate = f"{per_second // 1000} mil/s" if per_second >= 1000 else f"{per_second}/s"
        counts = f"{whole(total)} {unit}, {rate}"
        self._bars.update(self._task, advance=bytes_done, rows=total, counts=counts)

    def _end_phase(self) -> None:
        if self._task is not None:
            task = self._bars.tasks[self._task]
            self._bars.update(self._task, completed=task.total or 0)
