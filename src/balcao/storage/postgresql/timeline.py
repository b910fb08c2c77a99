"""Timelines of PostgreSQL servers, and refusal of an old primary after a fail-over.

Each promotion of a standby begins a new timeline with a higher number. A server with a lower one
than this installation has used is an old primary: writes to it are lost. The highest number of each
cluster (system identifier) is kept in memory and in the data folder
(docs/adr/0070-the-newest-timeline.md).
"""

import json
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeAlias

import psycopg

log = logging.getLogger(__name__)

# A server's cluster and its timeline.
Place: TypeAlias = tuple[int, int]

# Readable by every user. NULL on a standby, which does not write to a timeline.
_PLACE = (
    "SELECT system_identifier, CASE WHEN NOT pg_is_in_recovery() THEN"
    " ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END"
    " FROM pg_control_system()"
)


class OldTimeline(psycopg.OperationalError):
    """The server is an old primary: a standby has been promoted since."""


class Timelines:
    """The highest timeline of each cluster. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: dict[int, int] = {}
        self._file: Path | None = None

    def keep_in(self, file: Path) -> None:
        """Also store them in this file, once its folder exists."""
        with self._lock:
            self._file = file

    def check(self, connection: psycopg.Connection[Any]) -> Place | None:
        """Return the server's cluster and timeline, and store it. Raises `OldTimeline`.

        None: the server does not reveal it, as some hosted ones do not.
        """
        place = place_of(connection)
        if place is None:
            return None
        cluster, timeline = place
        with self._lock:
            kept = self._kept()
            newest = max(self._seen.get(cluster, 0), kept.get(cluster, 0))
            if timeline < newest:
                self._seen[cluster] = newest
                raise OldTimeline(f"old timeline: the server has {timeline}, {newest} was seen")
            self._seen[cluster] = timeline
            if kept.get(cluster) != timeline:
                self._keep({**kept, cluster: timeline})
        return place

    def is_old(self, place: Place | None) -> bool:
        """Return whether a newer timeline of the cluster is known."""
        return place is not None and place[1] < self._seen.get(place[0], 0)

    def _kept(self) -> dict[int, int]:
        if self._file is None:
            return {}
        try:
            kept = json.loads(self._file.read_bytes())
            return {int(cluster): int(timeline) for cluster, timeline in kept.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, TypeError):
            log.warning("the file of timelines cannot be read; it is written anew")
            return {}

    def _keep(self, timelines: Mapping[int, int]) -> None:
        """Write the file atomically. Failures are logged, since the database can be used anyway."""
        if self._file is None or not self._file.parent.is_dir():
            return
        try:
            _write_whole(self._file, json.dumps(timelines).encode())
        except OSError as error:
            log.warning("timeline not written to the data folder: %s", type(error).__name__)


def _write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically, without leaving temporary files. Raises `OSError`."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix="timelines.")
    staged = Path(name)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(path)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def place_of(connection: psycopg.Connection[Any]) -> Place | None:
    """Return the cluster and timeline of a server; None where it does not reveal them."""
    try:
        row = connection.execute(_PLACE).fetchone()
    except (
        psycopg.errors.InsufficientPrivilege,
        psycopg.errors.UndefinedFunction,
        psycopg.errors.FeatureNotSupported,
        psycopg.errors.ObjectNotInPrerequisiteState,
    ):
        return None
    return None if row is None or row[1] is None else (row[0], row[1])


# Shared by all connections of the process.
TIMELINES: Final = Timelines()
