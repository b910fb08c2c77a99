"""The `.sql` files of each engine: migrations by number, statements by name.

SQL that is the same for both engines is in `storage/desk/`. SQL that differs is in each engine's
`queries.sql`, under the same names: a test compares them.
"""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable

from balcao import __version__
from balcao.core.errors import StorageNewer

# Raised with every change of `0001_*.sql` before the first release, so that a database made by an
# earlier version of the file is refused, instead of failing in the middle of a request. Since then
# released files never change.
EDITION = 5

# The table in which the runners of both engines record every migration (ADR 0103). They create it,
# not a migration: it is read before any of these.
HISTORY = "schema_history"
LATER_HISTORY = (
    f"SELECT program, saved_in, version, oldest_compatible FROM {HISTORY}"  # noqa: S608 - ours
    " WHERE folder = ? AND version > ? ORDER BY version"
)

_MIGRATION = re.compile(r"(\d{4})_\w+\.sql")
_COMPATIBLE = re.compile(r"^-- oldest compatible schema: (\d+)$", re.MULTILINE)
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


def migrations(engine: str, folder: str) -> Mapping[int, Traversable]:
    """Return the files of `storage/{engine}/migrations/{folder}`, by their number."""
    files = resources.files(f"balcao.storage.{engine}").joinpath("migrations", folder)
    return {
        int(match[1]): entry
        for entry in files.iterdir()
        if (match := _MIGRATION.fullmatch(entry.name))
    }


def oldest_compatible(number: int, sql: str) -> int:
    """Return the oldest schema whose running nodes may serve after a migration.

    A line of the file declares it, as `-- oldest compatible schema: 1`. Without one, nodes of every
    earlier schema have to be stopped first.
    """
    match = _COMPATIBLE.search(sql)
    return number if match is None else int(match[1])


def newer_schema(
    has: int, newest: int, later: Sequence[tuple[str, str | None, int, int]]
) -> StorageNewer:
    """Return the error for a database of schema `has`, with its rows of `LATER_HISTORY`."""
    if not later:
        return StorageNewer(f"schema {has} is newer than this program's {newest}")
    (_, saved_in, _, _), (program, _, _, _) = later[0], later[-1]
    return StorageNewer(
        f"schema {has} of version {program} is newer than this program's {newest}",
        written_by=program,
        this=__version__,
        saved_in=saved_in,
    )


def queries(engine: str) -> Mapping[str, str]:
    """Return the statements of `storage/{engine}/queries.sql`, each by the name above it."""
    text = resources.files(f"balcao.storage.{engine}").joinpath("queries.sql").read_text("utf-8")
    _, *parts = _NAME.split(text)
    bodies = (_COMMENT.sub("", body).strip().removesuffix(";") for body in parts[1::2])
    found = dict(zip(parts[::2], bodies, strict=True))
    assert len(found) == len(parts) // 2, f"{engine}: a name stands twice"
    return found
