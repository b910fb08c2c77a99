"""The `.sql` files of each engine: migrations by number, statements by name.

SQL that is the same for both engines is in `storage/desk/`. SQL that differs is in each engine's
`queries.sql`, under the same names: a test compares them.
"""

import re
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable

# Raised with every change of `0001_*.sql` before the first release, so that a database made by an
# earlier version of the file is refused, instead of failing in the middle of a request.
EDITION = 5

_MIGRATION = re.compile(r"(\d{4})_\w+\.sql")
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


def queries(engine: str) -> Mapping[str, str]:
    """Return the statements of `storage/{engine}/queries.sql`, each by the name above it."""
    text = resources.files(f"balcao.storage.{engine}").joinpath("queries.sql").read_text("utf-8")
    _, *parts = _NAME.split(text)
    bodies = (_COMMENT.sub("", body).strip().removesuffix(";") for body in parts[1::2])
    found = dict(zip(parts[::2], bodies, strict=True))
    assert len(found) == len(parts) // 2, f"{engine}: a name stands twice"
    return found
