"""How far an import is: told to whoever wants to know, and drawn on a terminal."""

from typing import Protocol, Self

from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Column

from balcao.core.writing import whole

# The phase that gets through CNPJs, and not through bytes and rows.
VERIFYING = "Verificando"


# The phase that gets through bytes alone, before an import.
_DOWNLOADING = "Baixando"
_MEGABYTE = 1_000_000


def downloading(month: str) -> str:
    """The phase in which a month's zips come (`fetching`)."""
    return f"{_DOWNLOADING} {month}"


def unit_of(phase: str) -> str:
    """What the rows of a phase are called."""
    return "CNPJs" if phase == VERIFYING else "linhas"


class ProgressListener(Protocol):
    """Is told of an import's phases, in order, and of what each one gets through."""

    def begin(self, phase: str, bytes_total: int) -> None:
        """A phase starts (the one before is over)."""

    def advance(self, file: str, bytes_done: int, rows: int) -> None:
        """So many more bytes of the phase, and rows, are done; `file` is worked on."""


class Listeners:
    """Tells all of them, in order; none is quite right too."""

    def __init__(self, *listeners: ProgressListener | None) -> None:
        self._listeners = [each for each in listeners if each is not None]

    def begin(self, phase: str, bytes_total: int) -> None:
        """Tell all."""
        for each in self._listeners:
            each.begin(phase, bytes_total)

    def advance(self, file: str, bytes_done: int, rows: int) -> None:
        """Tell all."""
        for each in self._listeners:
            each.advance(file, bytes_done, rows)


class RichProgress:
    """One bar per phase, with rows per second and the time left. Use it with `with`.

    A line fits into 80 columns.
    """

    def __init__(self) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(None, table_column=Column(ratio=1)),  # what the texts leave of the width
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
        """Start a new bar; the one before is full."""
        self._end_phase()
        self._task = self._bars.add_task(phase, total=bytes_total, rows=0, counts="")

    def advance(self, file: str, bytes_done: int, rows: int) -> None:
        """Move the bar."""
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
        pace = int(total / task.elapsed) if task.elapsed else 0
        unit = unit_of(task.description)
        rate = f"{pace // 1000} mil/s" if pace >= 1000 else f"{pace}/s"
        counts = f"{whole(total)} {unit}, {rate}"
        self._bars.update(self._task, advance=bytes_done, rows=total, counts=counts)

    def _end_phase(self) -> None:
        if self._task is not None:
            task = self._bars.tasks[self._task]
            self._bars.update(self._task, completed=task.total or 0)
