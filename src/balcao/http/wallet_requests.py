"""Parts that the routes of the portfolio share (contract 20)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from balcao.core import errors
from balcao.core.access import Caller
from balcao.core.papers import Paper
from balcao.core.wallet import WalletItem, WalletSettings
from balcao.http.json_bodies import free_answer
from balcao.http.paper_types import paper_view
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import TAG_WALLET
from balcao.http.wallet_types import ItemAnswer, ItemsAnswer, item_answer
from balcao.lookup.context import Parts
from balcao.operations.parameters import read_tags
from balcao.storage.desk.wallet import Added, ItemFilter, ItemPage

ADDRESS = "/carteira/v1"
ITEMS = f"{ADDRESS}/itens"

WRITING = (
    errors.InvalidParameter,
    errors.InvalidBody,
    errors.UnsupportedMediaType,
    errors.StorageFailed,
    errors.CommitUncertain,
)
CREATING = (
    errors.InvalidIdempotencyKey,
    errors.IdempotencyKeyReused,
    errors.StillRunning,
    errors.RepeatedParameter,
    errors.ResultUnavailable,
)
TERMS = (
    errors.TagWithCpf,
    errors.InvalidUf,
    errors.BirthDateRequired,
    errors.InvalidBirthDate,
    errors.BirthDateInFuture,
    errors.OperationNotAllowed,
    errors.CertificatesNotEnabled,
)
WalletRoute = partial(Route, needs_key=True, tag=TAG_WALLET)


@dataclass(frozen=True, slots=True)
class ItemAnswers:
    """Answers with items and their certificates."""

    parts: Parts

    def added(self, added: Added) -> Answer:
        """Return the answer to a request that added an item."""
        papers = {added.item.item_id: added.papers}
        (answer,) = self._shown([added.item], papers, added.settings, new=added.new)
        return free_answer(answer, 201 if added.new else 200)

    def one(self, item: WalletItem) -> Answer:
        """Return the answer with one item."""
        wallets = self.parts.desk.wallets
        papers, settings = wallets.papers([item.item_id]), wallets.settings(item.account_id)
        (answer,) = self._shown([item], papers, settings)
        return free_answer(answer)

    def ended(self, item: WalletItem, papers: Mapping[str, Sequence[Paper]]) -> Answer:
        """Return the answer with an item that was removed, as it was."""
        settings = self.parts.desk.wallets.settings(item.account_id)
        (answer,) = self._shown([item], papers, settings)
        return free_answer(answer)

    async def page(self, account_id: int, chosen: ItemFilter, after: str, limit: int) -> Answer:
        """Return the answer with a page of items, read and encoded off the event loop."""

        def answer(page: ItemPage) -> Answer:
            found = page.items[:limit]
            cursor = found[-1].item_id if len(page.items) > limit else None
            shown = self._shown(found, page.papers, page.settings)
            return free_answer(ItemsAnswer(shown, cursor))

        wallets = self.parts.desk.wallets
        return await wallets.read_page(account_id, chosen, answer, after=after, limit=limit + 1)

    def _shown(
        self,
        items: Sequence[WalletItem],
        papers: Mapping[str, Sequence[Paper]],
        settings: WalletSettings,
        *,
        new: bool | None = None,
    ) -> Sequence[ItemAnswer]:
        view = paper_view(self.parts, settings)
        return [
            item_answer(item, view.answers(papers.get(item.item_id, ()), item.item_id), new=new)
            for item in items
        ]


def needs_client(caller: Caller) -> bool:
    """Return whether the key requires the client to be named."""
    return caller.restrictions is not None and caller.restrictions.client_required


def client_of(request: Request) -> str:
    """Return the client in `X-Cliente`. Raises `ClientRequired`."""
    client = read_tags(request.headers).client
    if client is None:
        raise errors.ClientRequired
    return client


def listed_client(request: Request, named: str | None) -> str | None:
    """Return the client whose items a list has; None: of all, and of none.

    `named`: by the parameter. Raises `ClientRequired`.
    """
    if not named and needs_client(caller_of(request)):
        return client_of(request)
    return named or None


def caller_of(request: Request) -> Caller:
    """Return the caller of a route that needs a key."""
    assert request.caller is not None, "the route wants a key"
    return request.caller
