"""A copy of the books before a newer version changes their form: there is no way back in place."""

import sys
from typing import TYPE_CHECKING

import typer

from balcao.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.settings import Settings


def save_before_migration(settings: "Settings") -> None:
    """Make a backup if the desk in the data folder has an older schema, and say so.

    A failure keeps the program from going on: it would migrate without one. Raises
    `BackupError`, `apsw.Error`, `OSError`.
    """
    from balcao.home import Home

    desk = Home(settings.home).desk
    if settings.database.get_secret_value() or not desk.is_file():
        return
    from balcao.backup import sqlite

    has, newest = sqlite.schema_of(desk), sqlite.newest_schema()
    if not 0 < has < newest:
        return
    from balcao.backup.making import make

    made = make(settings, system_now_ms, occasion="before-migration")
    typer.echo(
        f"O banco de dados passa da versão {has} do esquema à {newest}. Cópia de antes:"
        f" {made.path}",
        err=True,
    )
    sys.stderr.flush()
