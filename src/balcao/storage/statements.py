"""The `.sql` files beside each engine: migrations by number, statements by name."""

import re
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable

_MIGRATION = re.compile(r"(\d{4})_\w+\.sql")


def migrations(engine: str, folder: str) -> Mapping[int, Traversable]:
    """The files of `storage/{engine}/migrations/{folder}`, by their number."""
    files = resources.files(f"balcao.storage.{engine}").joinpath("migrations", folder)
    return {
        int(match[1]): entry
        for entry in files.iterdir()
        if (match := _MIGRATION.fullmatch(entry.name))
    }
