"""The portfolio's desk, built for a server process or a command."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from balcao.accounts.seal import WALLET_PERSON, Seal
from balcao.accounts.secrets import secrets_of
from balcao.batches.desk import BatchDesk
from balcao.batches.paper_purchases import PaperPurchases
from balcao.core.access import Account
from balcao.core.papers import PaperKind
from balcao.core.wallet import ItemRequest
from balcao.examination.inventory import configured
from balcao.home import Home
from balcao.lookup.wallet import ItemLine, WalletDesk
from balcao.operations import operations
from balcao.service.new_items import NewItems
from balcao.service.parts import MODES, new_request_ids
from balcao.settings import Settings
from balcao.storage.batches import StoredBatch
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.wallet import Added
from balcao.storage.desk.wallet.paper_list import PaperFilter


class WalletInstallation(NamedTuple):
    """The parts of an installation that a command has opened."""

    settings: Settings
    home: Home
    desk: Desk
    now_ms: Callable[[], int]


def wallet_desk(
    settings: Settings, home: Home, desk: Desk, seal: Seal, now_ms: Callable[[], int]
) -> WalletDesk:
    """Return the desk of portfolios of an installation."""
    return WalletDesk(
        desk,
        operations(configured.ufs(settings)),
        now_ms,
        new_request_ids(now_ms),
        home.pepper(),
        lambda value: seal.close(WALLET_PERSON, value),
        lambda value: seal.open(WALLET_PERSON, value),
        settings.wallet_items_max,
        NewItems({mode: home.opendata(mode) for mode in MODES}).read,
    )


async def add_items(
    settings: Settings,
    home: Home,
    desk: Desk,
    now_ms: Callable[[], int],
    account: Account,
    *,
    documents: Sequence[str],
    request: ItemRequest,
    birth: str | None,
) -> Sequence[Added]:
    """Add items at the terminal, one by one. Raises `CallerError`."""
    wallet = wallet_desk(settings, home, desk, Seal(secrets_of(home, desk)), now_ms)
    return [
        await wallet.add(account.caller(), ItemLine(document, request, birth))
        for document in documents
    ]


async def renew_papers(  # noqa: PLR0917 - what the command was given
    local: WalletInstallation,
    batches: BatchDesk,
    account: Account,
    kind: PaperKind,
    chosen: PaperFilter,
    ceiling: int,
) -> StoredBatch:
    """Make the batch that buys certificates at the terminal. Raises `CallerError`."""
    settings, home, desk, now_ms = local
    wallet = wallet_desk(settings, home, desk, Seal(secrets_of(home, desk)), now_ms)
    return await PaperPurchases(batches, wallet).buy(account.caller(), kind, chosen, ceiling)
