"""A batch's file on disk, for as long as it is read; readable by our user alone."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from balcao.batches.sealing import BatchSeal


def unsealed(folder: Path, seal: BatchSeal, pieces: Iterable[bytes]) -> Path:
    """Where it is now; who asked removes it. In a thread."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(number, "wb") as file:
        for piece, content in enumerate(pieces):
            file.write(seal.open_piece(piece, content))
    return Path(name)
