"""Progress of an import: its phases, and the protocol of listeners."""

from typing import Protocol

# The phase that counts CNPJs, not bytes and rows.
VERIFYING = "Verificando"


# The phase that counts bytes alone, before an import.
_DOWNLOADING = "Baixando"


def downloading(month: str) -> str:
    """Return the name of the phase in which a month's zips are downloaded (`fetching`)."""
    return f"{_DOWNLOADING} {month}"


def is_download(phase: str) -> bool:
    """Return whether zips are downloaded in this phase."""
    return phase.startswith(_DOWNLOADING)


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
