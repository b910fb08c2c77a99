"""A copy of the books before a newer version changes their form: there is no way back in place."""

import sys
from typing import TYPE_CHECKING

import typer

from balcao.cli.failures import CommandFailed, explain
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.settings import Settings


def save_before_migration(settings: "Settings") -> None:
    """Make a backup if the desk has an older schema, and say so.

    On PostgreSQL the schema is brought up to date right away, so that of nodes that start
    together one makes the backup. A failure keeps the program from going on: it would migrate
    without one. Raises `CommandFailed`, `StorageFailed`, `apsw.Error`.
    """
    from balcao.storage.places import place_of

    copies = place_of(settings).copies()
    copies.migrate_saved(
        lambda has: _save(settings, has, copies.newest_schema()),
        lambda: _say("Outro nó faz a cópia de antes da migração; esperando por ele."),
    )


def _save(settings: "Settings", has: int, newest: int) -> None:
    step = f"da versão {has} do esquema à {newest}"
    if settings.own_backup_of_schema == has:
        _say(f"O banco de dados passa {step}. Cópia de antes: a que você diz ter.")
        return
    from balcao.backup.making import make

    try:
        made = make(settings, system_now_ms, occasion="before-migration")
    except Exception as error:
        why = explain(error)
        if why is None:
            raise
        raise CommandFailed(
            f"{why} Sem uma cópia de antes, o banco de dados não passa {step}; nada foi alterado."
            " Se você já tem a sua, feita por outros meios, repita com"
            f" BALCAO_OWN_BACKUP_OF_SCHEMA={has}."
        ) from error
    _say(f"O banco de dados passa {step}. Cópia de antes: {made.path}")


def _say(text: str) -> None:
    typer.echo(text, err=True)
    sys.stderr.flush()
