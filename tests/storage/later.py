"""A later version of this program: one more migration, in this process and in those it starts."""

import os
from pathlib import Path

import pytest

from balcao.storage import statements
from balcao.storage.sqlite import files

OLD = files.newest_version("desk")
# Nodes of the present version may go on serving with it (ADR 0103).
COMPATIBLE = f"-- oldest compatible schema: {OLD}\n"
COLUMN = f"{COMPATIBLE}ALTER TABLE account ADD COLUMN nickname text NOT NULL DEFAULT ''"

_IN_OTHERS = """
import pathlib
from balcao.storage import statements
of_today = statements.migrations
statements.migrations = lambda engine, folder: {{
    **of_today(engine, folder),
    **({{{number}: pathlib.Path({file!r})}} if folder == "desk" else {{}}),
}}
"""


def add_migration(
    monkeypatch: pytest.MonkeyPatch, folder: Path, sql: str = COLUMN, *, number: int = OLD + 1
) -> None:
    """Add a migration of the desk, on both engines, until the end of the test."""
    file = folder / f"{number:04}_later.sql"
    file.write_text(sql, "utf-8")
    of_today = statements.migrations
    for module in (statements, files):
        monkeypatch.setattr(
            module,
            "migrations",
            lambda engine, folder: {
                **of_today(engine, folder),
                **({number: file} if folder == "desk" else {}),
            },
        )
    start = folder / "at-start"
    start.mkdir(exist_ok=True)
    (start / "sitecustomize.py").write_text(_IN_OTHERS.format(number=number, file=str(file)))
    path = os.pathsep.join(filter(None, (str(start), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
