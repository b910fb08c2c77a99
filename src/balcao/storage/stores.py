"""The stores of a serving process: desk, caches and receipts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from balcao.core.questions import Mode
from balcao.storage.blobs import open_blobs
from balcao.storage.contract import Blobs, Cache
from balcao.storage.desk.desk import Desk
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.places import DataPlace


@dataclass(frozen=True, slots=True)
class Stores:
    """The open stores of one process."""

    desk: Desk
    caches: Mapping[Mode, Cache]
    blobs: Blobs
    disk_reserve: DiskReserve

    def wrapped(self, desk: Callable[[Desk], Desk], cache: Callable[[Cache], Cache]) -> "Stores":
        """Return these stores with desk and caches wrapped by these functions."""
        caches = {mode: cache(each) for mode, each in self.caches.items()}
        return replace(self, desk=desk(self.desk), caches=caches)

    def close(self) -> None:
        """Close desk and caches."""
        self.desk.close()
        for cache in self.caches.values():
            cache.close()


def build(
    place: DataPlace,
    pepper: bytes,
    receipts: str | Path,
    *,
    disk_reserve_mb: int,
    now_ms: Callable[[], int],
    observe_batch: Callable[[int], None],
) -> Stores:
    """Open the stores. Raises what `DataPlace.open_desk` raises.

    `receipts`: the folder or address of receipts. `observe_batch`: called with the size of each
    commit.
    """
    reserve = place.disk_reserve(disk_reserve_mb)
    desk = place.open_desk(pepper=pepper, observe_batch=observe_batch, reserve=reserve)
    caches = {
        mode: place.open_cache(mode, pepper=pepper, reserve=reserve, now_ms=now_ms)
        for mode in get_args(Mode)
    }
    return Stores(desk, caches, open_blobs(receipts), reserve)
