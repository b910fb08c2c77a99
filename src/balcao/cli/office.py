"""Opening the data folder for a command."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed

if TYPE_CHECKING:
    from balcao.core.access import Account
    from balcao.home import Home
    from balcao.settings import Settings
    from balcao.storage.sqlite.desk import SqliteDesk

AccountName: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONTA", help="Nome ou número da conta.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class Office:
    """The data folder, open."""

    settings: "Settings"
    home: "Home"
    desk: "SqliteDesk"

    def account(self, wanted: str) -> "Account":
        """The account of this name or number. Raises `CommandFailed`."""
        from balcao.core.access import find_account

        accounts = self.desk.accounts()
        account = find_account(accounts, wanted)
        if account is None:
            names = ", ".join(account.name for account in accounts) or "nenhuma ainda"
            raise CommandFailed(f"Não há conta {wanted!r}. As contas desta pasta: {names}.")
        return account


def now_ms() -> int:
    """The system's clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@contextmanager
def opened(*, create: bool = False) -> Iterator[Office]:
    """The office, beside a running server or without one. `create` makes what is missing."""
    from balcao.home import Home
    from balcao.storage.sqlite.desk import SqliteDesk

    settings = read_settings()
    home = Home(settings.home)
    if create:
        home.create()
    elif not home.desk.is_file():
        raise CommandFailed(
            f"Não há dados do Balcão em {home.path}. Indique a pasta com BALCAO_HOME=PASTA, ou"
            " comece uma nova com balcao serve."
        )
    home.pepper()  # before there is a database that needs it
    desk = SqliteDesk(home.desk)
    try:
        yield Office(settings, home, desk)
    finally:
        desk.close()
