"""The API's addresses, all together: `build` lists the routes of each part."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from balcao.accounts.calendars import PaperCalendars
from balcao.accounts.webhooks.desk import WebhookDesk
from balcao.batches.desk import BatchDesk
from balcao.batches.paper_files import PaperFiles
from balcao.batches.paper_purchases import PaperPurchases
from balcao.batches.results import Results
from balcao.core.clock import ClockState
from balcao.core.questions import Mode
from balcao.http.account import AccountRoutes
from balcao.http.batches import BatchRoutes
from balcao.http.budgets import BudgetRoutes
from balcao.http.deprecated_uses import DeprecatedUseRoutes
from balcao.http.documentation import documentation
from balcao.http.event_pages import EventPages
from balcao.http.events import EventRoutes
from balcao.http.health import MetricsAccess, Probes
from balcao.http.quotes import Quotes
from balcao.http.receipts import ReceiptRoutes
from balcao.http.routes import Route, routes_of
from balcao.http.searches import Searches
from balcao.http.wallet import WalletRoutes
from balcao.http.wallet_calendars import WalletCalendarRoutes
from balcao.http.wallet_changes import WalletChangeRoutes
from balcao.http.wallet_clock import WalletClockRoutes
from balcao.http.wallet_files import WalletFileRoutes
from balcao.http.wallet_lists import WalletListRoutes
from balcao.http.wallet_papers import WalletPaperRoutes
from balcao.http.wallet_purchases import WalletPurchaseRoutes
from balcao.http.webhooks import WebhookRoutes
from balcao.lookup.context import Parts
from balcao.lookup.source_status import StatusReader
from balcao.lookup.wallet import WalletDesk
from balcao.observability.metrics import Metrics
from balcao.providers.opendata.adapter import ImportedRegistry
from balcao.settings import Settings
from balcao.storage.contract import Blobs


def build(
    settings: Settings,
    parts: Parts,
    *,
    blobs: Blobs,
    metrics: Metrics,
    months: Mapping[Mode, ImportedRegistry],
    clock: Callable[[], ClockState],
    new_id: Callable[[], str],
    sources_now: StatusReader,
    batches: BatchDesk,
    results: Results,
    searches: Searches,
    wallet: WalletDesk,
    document: Mapping[str, Any],
    exports: Path,
    webhooks: WebhookDesk,
) -> Sequence[Route]:
    """Return all routes but those of lookups.

    `document`: the OpenAPI document. `exports`: the folder of long answers' temporary files.
    """
    desk, now_ms = parts.desk, parts.now_ms
    pages = EventPages(desk.events, now_ms)
    calendars = PaperCalendars(desk, settings.address, now_ms, new_id)
    access = MetricsAccess(settings.proxies, settings.metrics_token.get_secret_value())
    receipts = ReceiptRoutes(desk, blobs, parts.forget_callbacks)
    return [
        *routes_of(receipts),
        *routes_of(AccountRoutes(desk, now_ms, exports)),
        *routes_of(DeprecatedUseRoutes(desk, now_ms)),
        *routes_of(BudgetRoutes(parts, new_id)),
        *routes_of(WebhookRoutes(parts, webhooks)),
        *Quotes(parts, sources_now).routes(),
        *routes_of(BatchRoutes(batches, results)),
        *routes_of(EventRoutes(pages)),
        *routes_of(searches),
        *routes_of(WalletRoutes(parts, wallet)),
        *routes_of(WalletListRoutes(parts, wallet, batches, searches)),
        *routes_of(WalletPaperRoutes(parts, wallet, blobs, receipts)),
        *routes_of(WalletCalendarRoutes(parts, calendars)),
        *routes_of(WalletFileRoutes(parts, PaperFiles(parts, results))),
        *routes_of(WalletPurchaseRoutes(parts, PaperPurchases(batches, wallet))),
        *routes_of(WalletChangeRoutes(pages)),
        *routes_of(WalletClockRoutes(parts)),
        *routes_of(Probes(metrics, desk, months, now_ms, clock, access)),
        *documentation(document),
    ]
