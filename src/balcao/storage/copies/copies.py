"""What an engine does for backups. The files that they are made of are `balcao.backup`'s."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from balcao.core.errors import PepperDiffers
from balcao.storage.copies.sums import Sums
from balcao.storage.pepper import mark_of

Stopped: TypeAlias = Callable[[], bool]


def never() -> bool:
    """Nobody stops this."""
    return False


@dataclass(frozen=True, slots=True)
class DeskSums:
    """What one moment of a desk adds up to."""

    schema: int
    sums: Sums
    digests: Mapping[str, int]
    mark: bytes | None

    def check_pepper(self, pepper: bytes) -> None:
        """Refuse the keys of another secret. Raises `PepperDiffers`."""
        if self.mark not in (None, mark_of(pepper)):
            raise PepperDiffers


@dataclass(frozen=True, slots=True)
class CopySeen:
    """What came of a look into a copy: its sums (None: it could not be opened), complaints."""

    sums: DeskSums | None
    complaints: Sequence[str]


class Maker(Protocol):
    """Whether this process makes the backups of a place."""

    def is_ours(self) -> bool:
        """Whether it does, or will from now on. Raises `StorageFailed`."""
        ...

    def close(self) -> None:
        """Let another one."""
        ...


class Copies(Protocol):
    """Copies of the desk of one place. Raises `StorageFailed` and the engine's own errors."""

    @property
    def where(self) -> str:
        """Where the desk is, for a sentence to the operator."""
        ...

    def newest_schema(self) -> int:
        """What this program brings a schema up to."""
        ...

    def dump(
        self,
        target: Path,
        stopped: Stopped = never,
        *,
        pepper: bytes | None = None,
        moved_too: bool = False,
    ) -> tuple[DeskSums, Mapping[str, Any]]:
        """Copy the desk as it is at one moment, beside those who serve.

        Gives its sums of the very same moment, and what else to know for bringing it back.
        `pepper`: what the keys must be of; `moved_too`: a desk whose data are elsewhere, too.
        Raises `BackupRefused`, `BackupStopped`, `PepperDiffers`, `StorageMoved`,
        `StorageIncomplete`.
        """
        ...

    def examine(self, copy: Path, told: Mapping[str, Any]) -> CopySeen:
        """Look into a copy without changing it. `told`: what `dump` gave besides the sums.

        Raises `BackupDamaged`, `BackupRefused`, `StorageNewer`.
        """
        ...

    def occupied(self) -> bool:
        """Whether there are data in the place. Raises `BackupRefused` where it is in use."""
        ...

    def load(self, copy: Path, told: Mapping[str, Any], *, replace: bool) -> None:
        """Bring a copy back where no file can be put in place, all of it or nothing.

        `replace`: instead of what is there. Raises `BackupDamaged`, `BackupRefused`.
        """
        ...

    def migrate_saved(self, save: Callable[[int], None], wait: Callable[[], None]) -> None:
        """Have an older desk saved before it is brought up to date. `save` is told its schema.

        Nothing is migrated when it raises. `wait` is called before waiting for another node that
        does the same.
        """
        ...

    def maker(self) -> Maker:
        """Who makes the backups of this place, as this process sees it."""
        ...
