"""State of the automatic download: a small file in the store, for other processes.

`fetch.json` also has the data from which the next run continues: the last listing, the month that
was published last, the one that the import refused.
"""

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

import msgspec

from balcao.core.calendar import from_ms, to_ms
from balcao.opendata.errors import FetchRunning
from balcao.opendata.fetching.month_selection import MonthListing
from balcao.opendata.fetching.schedule import LastRun

STATE = "fetch.json"
_LOCK = "fetch.lock"
_WRITE_SECONDS = 0.5

Standing: TypeAlias = Literal[
    "esperando_mes", "incompleto", "baixando", "importando", "trocado", "falhou"
]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
_AT_WORK = {"baixando", "importando"}

_Instant: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]


class FetchState(msgspec.Struct, frozen=True):
    """Result or progress of fetching. `running` is computed by the reader, not stored."""

    standing: Standing
    updated_at: _Instant
    month: str | None = None  # the folder's name, `2026-10`
    bytes_done: int = 0  # of downloaded zips
    bytes_total: int = 0
    reason: str = ""  # in Portuguese; no folders, nothing personal
    again_at: _Instant | None = None  # when to look again; None: the next night
    seen: MonthListing | None = None  # the last listing, with the instant it was first seen
    fetched: str | None = None  # the month that was published last
    refused: str | None = None  # digest of the listing that the import refused
    running: bool = False

    @property
    def percent(self) -> int:
        """Downloaded share of the zips, rounded down: 100 only when complete."""
        return 100 * self.bytes_done // self.bytes_total if self.bytes_total else 0

    @property
    def interrupted(self) -> bool:
        """Whether its process died while working: the same command resumes."""
        return self.standing in _AT_WORK and not self.running

    @property
    def last_run(self) -> LastRun:
        """The last search, for scheduling the next one."""
        retry_at = None if self.again_at is None else to_ms(self.again_at)
        return LastRun(to_ms(self.updated_at), retry_at, self.interrupted)


def sentence(state: FetchState) -> str:
    """Describe the state in Portuguese, as one sentence without its full stop."""
    month = f"o mês {state.month}"
    match state.standing:
        case "esperando_mes":
            return "Aguardando o próximo mês: nenhum mais novo foi publicado"
        case "incompleto":
            return f"Aguardando {month} ficar completo: {state.reason}"
        case "baixando" if state.running:
            return f"Baixando {month}: {state.percent}%"
        case "baixando":
            return (
                f"O download foi interrompido em {state.percent}% d{month} e continua desse ponto"
            )
        case "importando" if state.running:
            return f"Importando {month}, que já foi baixado"
        case "importando":
            return f"A importação foi interrompida: {month} já está baixado"
        case "trocado":
            return f"{month.capitalize()} foi baixado, verificado e colocado em uso"
        case _ if state.month is None:
            return f"Não foi possível procurar um mês: {state.reason}"
        case _:
            return f"{month.capitalize()} não foi colocado em uso: {state.reason}"


def read_state(store: Path) -> FetchState | None:
    """Return the state of the last or running fetch; None: there was none. Reads a small file."""
    try:
        state = msgspec.json.decode((store / STATE).read_bytes(), type=FetchState)
    except (OSError, msgspec.DecodeError):
        return None
    return msgspec.structs.replace(state, running=is_fetching(store))


def is_fetching(store: Path) -> bool:
    """Return whether a process fetches into the store at this moment."""
    try:
        lock = os.open(store / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)  # which releases it
    return False


class StateFile:
    """Writes the state, by replacing the file; as a context manager, holds the lock."""

    def __init__(
        self,
        store: Path,
        now_ms: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: a monotonic clock, in seconds."""
        self._store = store
        self._now_ms = now_ms
        self._clock = clock
        self._next_write_at = float("-inf")
        self._lock = -1
        self.state = FetchState("esperando_mes", from_ms(now_ms()))

    def __enter__(self) -> Self:
        """Take the lock. Raises `FetchRunning`."""
        self._store.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._store / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _acquire(self._lock)
        except OSError:
            os.close(self._lock)
            raise FetchRunning("outro processo já está baixando o mês") from None
        self.state = read_state(self._store) or self.state
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)  # which releases it

    def update(self, standing: Standing, reason: str = "", **more: Any) -> None:
        """Write a new state. `more`: fields to change; the others stay."""
        fields = {"again_at": None} | more
        self.state = msgspec.structs.replace(
            self.state, standing=standing, reason=reason, running=False, **fields
        )
        self._write()

    def count(self, more: int) -> None:
        """Add downloaded bytes. Written if the last write is long enough ago."""
        done = self.state.bytes_done + more
        self.state = msgspec.structs.replace(self.state, bytes_done=done)
        if self._clock() >= self._next_write_at:
            self._write()

    def _write(self) -> None:
        self._next_write_at = self._clock() + _WRITE_SECONDS
        now = from_ms(self._now_ms())
        self.state = msgspec.structs.replace(self.state, updated_at=now)
        temporary = self._store / f"{STATE}.new"
        with suppress(OSError):  # if the disk is full, the download itself will fail
            temporary.write_bytes(msgspec.json.encode(self.state))
            temporary.replace(self._store / STATE)


def _acquire(lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # perhaps by `is_fetching`, for a moment
        time.sleep(0.02)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
