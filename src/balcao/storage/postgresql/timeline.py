"""Timelines of PostgreSQL servers, and refusal of a server that was left behind by a fail-over.

Each promotion of a standby begins a new timeline with a greater number. A server with a smaller one
than this installation has already used is an old primary: what is written there is lost. The
greatest number is remembered per cluster (system identifier), in memory and in the data folder
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

# Readable by every user. A standby, which has no timeline to write on, returns no number.
_PLACE = (
    "SELECT system_identifier, CASE WHEN NOT pg_is_in_recovery() THEN"
    " ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END"
    " FROM pg_control_system()"
)


class OldTimeline(psycopg.OperationalError):
    """The server is an old primary: another one was promoted after it."""


class Timelines:
    """The greatest timeline of each cluster. Used by any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: dict[int, int] = {}
        self._file: Path | None = None

    def keep_in(self, file: Path) -> None:
        """Remember them in this file too, once its folder exists."""
        with self._lock:
            self._file = file

    def check(self, connection: psycopg.Connection[Any]) -> Place | None:
        """Return the place of the server, and remember it. Raises `OldTimeline`.

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
        """Return whether a newer timeline was seen since a connection was made there."""
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
        """Write the file whole or not at all. A full disk is no reason to refuse a database."""
        if self._file is None or not self._file.parent.is_dir():
            return
        try:
            _write_whole(self._file, json.dumps(timelines).encode())
        except OSError as error:
            log.warning("timeline not written to the data folder: %s", type(error).__name__)


def _write_whole(path: Path, content: bytes) -> None:
    """Replace a file, and leave nothing else behind if that fails. Raises `OSError`."""
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


# Of this process: whatever one connection learns holds for all of them.
TIMELINES: Final = Timelines()
