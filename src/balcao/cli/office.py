"""Opening the data folder for a command."""

import difflib
import errno
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from balcao.cli.before_migration import save_before_migration
from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.output import program
from balcao.service.clock import Clock

if TYPE_CHECKING:
    from balcao.core.access import Account
    from balcao.home import Home
    from balcao.settings import Settings
    from balcao.storage.desk.desk import Desk

T = TypeVar("T")

AccountName: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONTA", help="Nome ou número da conta.")
]


@dataclass(frozen=True, slots=True)
class Office:
    """The data folder, open."""

    settings: "Settings"
    home: "Home"
    desk: "Desk"
    now_ms: Callable[[], int]  # the database's clock, where there is one

    @property
    def address(self) -> str:
        """Where people reach the service: as the settings say, else where it listens now, else
        where it would.
        """
        from balcao.examination.service import running

        if self.settings.public_url:
            return self.settings.address
        return running(self.settings, self.home) or self.settings.address

    def account(self, wanted: str) -> "Account":
        """The account of this name or number. Raises `CommandFailed`."""
        from balcao.core.access import find_account

        accounts = self.desk.accounts()
        account = find_account(accounts, wanted)
        if account is None:
            names = [account.name for account in accounts]
            near = " ou ".join(map(repr, difflib.get_close_matches(wanted, names)))
            raise CommandFailed(
                f"Não há conta {wanted!r}."
                + (f" Seria {near}?" if near else "")
                + f" As que existem: {program()} account list."
            )
        return account


def begun(settings: "Settings") -> "Home":
    """The data folder, in which a service has been started before.

    A command never begins one: in a folder that was mistyped it would seem to work. Raises
    `CommandFailed`, which says how to begin.
    """
    from balcao.home import Home
    from balcao.storage.places import place_of

    home = Home(settings.home)
    if home.path.exists() and not home.path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(home.path))
    if not place_of(settings).is_begun():
        raise CommandFailed(
            f"Não há dados do Balcão em {home.path}. Indique a pasta com BALCAO_HOME=PASTA, ou"
            f" comece uma nova com {program()} serve."
        )
    return home


@contextmanager
def opened() -> Iterator[Office]:
    """The office, beside a running server or without one. Raises as `begun`."""
    from balcao.storage.places import place_of

    settings = read_settings()
    home = begun(settings)
    save_before_migration(settings)
    pepper = home.pepper()  # before there is a database that needs it
    desk = place_of(settings).open_desk(pepper=pepper)
    try:
        clock = Clock()
        clock.begin(wait_for(desk.database_clock(clock.steady_ms)), None)
        yield Office(settings, home, desk, clock.now_ms)
    finally:
        desk.close()


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """What the desk does in its writer's turn, waited for."""
    import asyncio

    return asyncio.run(work)
