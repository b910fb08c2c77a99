"""Progress of an import as bars on a terminal."""

from typing import Self

from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Column

from balcao.core.writing import whole
from balcao.opendata.progress import is_download, unit_of

_MEGABYTE = 1_000_000


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
        if is_download(task.description):
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
