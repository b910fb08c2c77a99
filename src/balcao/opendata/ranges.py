"""Between which roots a month's ranges lie, so that all are about as large.

Nothing says in which order the publisher's rows come, so some of all companies' are looked at
before any is read: a zip is inflated in a tenth of the time in which it is read.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from balcao.opendata.archive import Part, read_chunks
from balcao.opendata.keys import (
    ROOT_CHARACTERS,
    Numbers,
    are_key_characters,
    numbers_of,
    read_numbers,
    written_numbers,
)
from balcao.opendata.team import Report

_EVERY_BYTES = 8 * 1024
_LINE = b'\n"'  # and a root


@dataclass(frozen=True, slots=True)
class SampleTask:
    """A zip whose lines begin with roots."""

    part: Part


def sample_roots(task: SampleTask, report: Report) -> Numbers:
    """The roots of some lines, as they come. Raises `BadInput` for a damaged zip."""
    found: list[bytes] = []
    for chunk, packed_bytes in read_chunks(task.part):
        for at in range(0, len(chunk), _EVERY_BYTES):
            begin = chunk.find(_LINE, at) + len(_LINE)
            root = chunk[begin : begin + ROOT_CHARACTERS]
            if begin >= len(_LINE) and len(root) == ROOT_CHARACTERS:
                found.append(root)
        report(task.part.file, packed_bytes, 0)
    matrix = np.frombuffer(b"".join(found), np.uint8).reshape(-1, ROOT_CHARACTERS)
    return numbers_of(matrix[are_key_characters(matrix).all(axis=1)])


def cut(roots: Numbers, ranges: int) -> Numbers:
    """The first roots of at most so many ranges, but of the first one."""
    if not len(roots):
        return roots
    cuts = np.arange(1, ranges) * len(roots) // ranges
    return np.unique(np.sort(roots)[cuts])


def save_bounds(path: Path, bounds: Numbers) -> None:
    """Write them, at once or not at all."""
    beside = path.with_suffix(".tmp")
    beside.write_bytes(written_numbers(bounds))
    beside.replace(path)


def load_bounds(path: Path) -> Numbers | None:
    """What was saved there; None: nothing."""
    return read_numbers(path.read_bytes()) if path.exists() else None
