"""Certificates as the pages of the portfolio show them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from markupsafe import Markup

from balcao.core.certificates import Verdict
from balcao.core.notices import Tone
from balcao.core.paper_words import STATES, share_left, title_of, until_in_words
from balcao.core.papers import NOT_ISSUED, OF_ROOT, Paper
from balcao.core.renewals import AFTER_THE_END
from balcao.storage.desk.portfolio_views import ListedItem
from balcao.storage.desk.wallet.paper_list import ListedPaper, PaperFilter, standing_of
from balcao.web.kit import drawing
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.vocabulary import CODES
from balcao.web.pages.portfolio.views import PATH, ItemView, item_views

CERTIFICATES: Final = f"{PATH}/certidoes"
RECEIPTS: Final = "/app/comprovantes"
OF_ITEM_SHOWN: Final = 200

_REASONS: Final = {
    AFTER_THE_END: "A fonte só emite outra depois do vencimento.",
    NOT_ISSUED: "A última consulta não emitiu a certidão.",
}
_DATED: Final = frozenset[Verdict | None]({"CND", "CPEND", None})


@dataclass(frozen=True, slots=True)
class PaperView:
    """A certificate with the item it is shown for. `others`: further items that share it."""

    listed: ListedPaper
    item: ItemView
    today: date

    @property
    def paper(self) -> Paper:
        return self.listed.paper

    @property
    def others(self) -> int:
        return self.listed.items - 1

    @property
    def title(self) -> str:
        return title_of(self.paper)

    @property
    def state(self) -> str:
        return STATES[self.listed.state][0]

    @property
    def tone(self) -> Tone:
        return STATES[self.listed.state][1]

    @property
    def last_day(self) -> str | None:
        """The last day of validity, if the certificate is, or was, good."""
        return self.paper.last_day if self.paper.verdict in _DATED else None

    @property
    def left(self) -> str:
        """The days left in words; empty if it has no last day."""
        return "" if self.last_day is None else until_in_words(self.last_day, self.today)

    @property
    def bar(self) -> Markup:
        """The part of its validity that is left."""
        tone: Tone = "good" if self.listed.state in _EASY else self.tone
        return drawing.validity_bar(share_left(self.paper, self.today), tone)

    @property
    def receipt(self) -> str | None:
        """The address of its receipt."""
        number = self.paper.receipt_id
        return None if number is None else f"{RECEIPTS}/{number}"

    @property
    def is_bought(self) -> bool:
        """Whether a lookup can renew it."""
        return self.paper.kind != "outra"

    @property
    def of_company(self) -> bool:
        """Whether it belongs to all establishments."""
        return self.paper.kind in OF_ROOT and self.paper.subject is not None

    @property
    def trouble(self) -> str | None:
        """Why nothing newer was obtained."""
        reason = self.paper.reason
        if reason is None:
            return None
        known = CODES.get(reason)
        return _REASONS.get(reason) or f"Última tentativa: {known.text if known else reason}"


_EASY: Final = frozenset({"valida", "positiva_com_efeito_de_negativa", "renovando"})


async def paper_views(
    context: PageContext, listed: Sequence[ListedPaper], today: date
) -> Sequence[PaperView]:
    """Return certificates with their items."""
    items = {each.item.item_id: ListedItem(each.item, None) for each in listed}
    views = {view.item.item_id: view for view in await item_views(context, [*items.values()])}
    return [PaperView(each, views[each.item.item_id], today) for each in listed]


async def papers_of_item(context: PageContext, view: ItemView) -> Sequence[PaperView]:
    """Return the certificates of one item."""
    account_id, desk = context.account.account_id, context.desk
    standing = standing_of(desk.wallets.settings(account_id), context.now_ms())
    chosen = PaperFilter(items=(view.item.item_id,))
    page = await asyncio.to_thread(
        desk.paper_list.page, account_id, chosen, standing, 0, OF_ITEM_SHOWN
    )
    return [PaperView(each, view, standing.today) for each in page.papers]
