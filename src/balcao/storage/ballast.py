"""Room set aside on disk, to be given up when the disk is full (ADR 0025).

A full disk does not empty itself: to carry SQLite's write-ahead log over into its file, which frees
the log, takes room. The ballast is that room: a file that is worth nothing.
"""

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

_BLOCK_BYTES = 1 << 20


class Ballast:
    """A file in the data folder; of no bytes: none. May be used by several threads."""

    def __init__(self, folder: Path, size_bytes: int = 0) -> None:
        self.path = folder / "ballast"
        self.size_bytes = size_bytes
        self.given_up = 0  # how often, so far

    @property
    def is_there(self) -> bool:
        """Whether there is something to give up."""
        return self.path.exists()

    def make(self) -> None:
        """Set the room aside if as much is left beside it. What cannot be done now is left."""
        if self.size_bytes == 0 or self.is_there:
            return
        half = self.path.with_suffix(".new")
        try:
            if shutil.disk_usage(self.path.parent).free < 2 * self.size_bytes:
                return
            # Bytes that no file system makes smaller, and that every one of them really keeps.
            block = os.urandom(_BLOCK_BYTES)
            with half.open("wb") as file:
                for _ in range(self.size_bytes // _BLOCK_BYTES):
                    file.write(block)
            half.rename(self.path)
        except OSError as error:
            log.warning("no room set aside on disk: %s", type(error).__name__)
            with suppress(OSError):
                half.unlink(missing_ok=True)

    def give_up(self) -> None:
        """The disk is full: let go of it."""
        with suppress(OSError):
            self.path.unlink()
            self.given_up += 1
            log.error("disk full: the room that was set aside is given up")

    def remove(self) -> None:
        """Nobody needs it any more: whoever made it ends."""
        if self.size_bytes:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
