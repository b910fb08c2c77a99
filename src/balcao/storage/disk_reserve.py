"""A reserve of disk space, released when the disk is full (ADR 0025).

SQLite needs free space to checkpoint its write-ahead log into the database file, and only the
checkpoint frees the log. The reserve is a file without meaning whose removal provides that space.
"""

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

_BLOCK_BYTES = 1 << 20


class DiskReserve:
    """The reserve file in the data folder. Size 0 disables it. Thread-safe."""

    def __init__(self, folder: Path, size_bytes: int = 0) -> None:
        self.path = folder / "ballast"
        self.size_bytes = size_bytes
        self.times_released = 0

    @property
    def exists(self) -> bool:
        """Whether the reserve is in place."""
        return self.path.exists()

    def create(self) -> None:
        """Write the file if twice its size is free. Failures are logged and retried next time."""
        if self.size_bytes == 0 or self.exists:
            return
        half = self.path.with_suffix(".new")
        try:
            if shutil.disk_usage(self.path.parent).free < 2 * self.size_bytes:
                return
            # Random bytes: no file system can compress them or store them as a hole.
            block = os.urandom(_BLOCK_BYTES)
            with half.open("wb") as file:
                for _ in range(self.size_bytes // _BLOCK_BYTES):
                    file.write(block)
            half.rename(self.path)
        except OSError as error:
            log.warning("no room set aside on disk: %s", type(error).__name__)
            with suppress(OSError):
                half.unlink(missing_ok=True)

    def release(self) -> None:
        """Remove the file because the disk is full."""
        with suppress(OSError):
            self.path.unlink()
            self.times_released += 1
            log.error("disk full: the room that was set aside is given up")

    def remove(self) -> None:
        """Remove the file at the end of the process."""
        if self.size_bytes:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
