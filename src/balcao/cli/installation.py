"""The installation that a command works on, backed up before a newer version migrates it."""

import difflib
import errno
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed, explain
from balcao.cli.output import program
from balcao.service.clock import Clock, system_now_ms

if TYPE_CHECKING:
    from pathlib import Path

    from balcao.core.access import Account
    from balcao.home import Home
    from balcao.settings import Settings
    from balcao.storage.desk.desk import Desk

T = TypeVar("T")

AccountName: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONTA", help="Nome ou número da conta.")
]


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation: its settings, data folder and open desk."""

    settings: "Settings"
    home: "Home"
    desk: "Desk"
    now_ms: Callable[[], int]  # the database's clock if it has one

    @property
    def address(self) -> str:
        """Return the public address, by default that on which the service listens."""
        from balcao.examination.service import running_address

        if self.settings.public_url:
            return self.settings.address
        return running_address(self.settings, self.home) or self.settings.address

    def account(self, name: str) -> "Account":
        """Return the account with this name or number. Raises `CommandFailed`."""
        from balcao.core.access import find_account

        accounts = self.desk.accounts()
        account = find_account(accounts, name)
        if account is None:
            names = [account.name for account in accounts]
            near = " ou ".join(map(repr, difflib.get_close_matches(name, names)))
            raise CommandFailed(
                f"Não há conta {name!r}."
                + (f" Seria {near}?" if near else "")
                + f" Contas existentes: {program()} account list."
            )
        return account


def existing_home(settings: "Settings") -> "Home":
    """Return the data folder, which must contain data of a service.

    Commands never create one: with a mistyped folder they would seem to work. Raises
    `CommandFailed`.
    """
    from balcao.home import Home
    from balcao.storage.places import place_of

    home = Home(settings.home)
    if home.path.exists() and not home.path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(home.path))
    home.check_restored()
    if not place_of(settings).is_initialized():
        raise CommandFailed(
            f"Não há dados do Balcão em {home.path}. Indique a pasta com BALCAO_HOME=PASTA ou"
            f" crie uma nova com {program()} serve."
        )
    return home


@contextmanager
def open_installation() -> Iterator[Installation]:
    """Open the installation, whether its service runs or not. Raises as `existing_home`."""
    from balcao.storage.places import place_of

    settings = read_settings()
    home = existing_home(settings)
    save_before_migration(settings)
    pepper = home.pepper()  # before a database is created that needs it
    desk = place_of(settings).open_desk(pepper=pepper)
    try:
        clock = Clock()
        clock.begin(wait_for(desk.database_clock(clock.steady_ms)), None)
        yield Installation(settings, home, desk, clock.now_ms)
    finally:
        desk.close()


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, such as a write to the desk, and return its result."""
    import asyncio

    return asyncio.run(work)


def save_before_migration(settings: "Settings") -> None:
    """Make a backup and migrate if the desk has an older schema: migrations cannot be undone.

    Raises `CommandFailed` without a backup, `HomeInUse`, `OlderNodesRunning`, `StorageFailed`,
    `apsw.Error`.
    """
    from balcao.examination.wording import decimal
    from balcao.storage.places import place_of
    from balcao.storage.transfer.tables import newest_schema

    place_of(settings).migrate_saved(
        lambda has: _save_desk(settings, has, newest_schema()),
        lambda: _print_note("Outro nó está fazendo o backup anterior à migração. Aguardando."),
        lambda number, seconds: _print_note(
            f"Migração {number:04} aplicada em {decimal(seconds)} s."
        ),
    )


def _save_desk(settings: "Settings", has: int, newest: int) -> "Path | None":
    step = f"da versão {has} do esquema à {newest}"
    if settings.own_backup_of_schema == has:
        _print_note(f"O banco de dados passa {step}. Backup anterior: o que você informou ter.")
        return None
    from balcao.backup.making import make

    try:
        made = make(settings, system_now_ms, occasion="before-migration")
    except Exception as error:
        why = explain(error)
        if why is None:
            raise
        raise CommandFailed(
            f"{why} Sem um backup anterior, o banco de dados não passa {step}. Nada foi alterado."
            " Se você já tem um backup feito por outros meios, repita com"
            f" BALCAO_OWN_BACKUP_OF_SCHEMA={has}."
        ) from error
    _print_note(f"O banco de dados passa {step}. Backup anterior: {made.path}")
    return made.path


def _print_note(text: str) -> None:
    typer.echo(text, err=True)
    sys.stderr.flush()
