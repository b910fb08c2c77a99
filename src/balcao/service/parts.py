"""Build the parts of lookups from what `compose.py` opened."""

import math
import time
from collections.abc import Callable, Mapping

from uuid_utils import uuid7

from balcao.core.access import Caller
from balcao.core.calendar import civil_day
from balcao.core.deprecations import DeprecatedFeature
from balcao.core.questions import Mode
from balcao.core.receipts import ReceiptNumbers
from balcao.examination.inventory import configured
from balcao.home import Home
from balcao.http.front import NewId
from balcao.lookup.admission import AdmissionControl
from balcao.lookup.context import Environment, Parts
from balcao.opendata.current import CurrentSnapshot
from balcao.operations import operations
from balcao.service.provider_factory import ProviderFactory, sandboxed
from balcao.settings import Settings
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk

# One account may take a quarter of the slots for lookups that wait for a source.
ACCOUNT_SHARE = 4

MODES: tuple[Mode, ...] = ("live", "test")


def new_request_ids(now_ms: Callable[[], int]) -> NewId:
    """Return a generator of UUIDs of version 7 (contract 1.3), by the service's clock."""

    def new_id(at_ms: int | None = None) -> str:
        return str(uuid7(nanoseconds=(now_ms() if at_ms is None else at_ms) * 1_000_000))

    return new_id


def open_snapshots(home: Home) -> Mapping[Mode, CurrentSnapshot]:
    """Return the imported months of a data folder."""
    return {mode: CurrentSnapshot(home.opendata(mode), time.monotonic) for mode in MODES}


def build_parts(  # noqa: PLR0917  # all open parts
    settings: Settings,
    desk: Desk,
    caches: Mapping[Mode, Cache],
    factory: ProviderFactory,
    now_ms: Callable[[], int],
    pepper: bytes,
    *,
    safe_past_ms: Callable[[], int] | None = None,
    count_deprecated: Callable[[Caller, DeprecatedFeature], None] = lambda caller, feature: None,
) -> Parts:
    """Build the parts of lookups from the opened desk, caches and sources."""
    return Parts(
        desk,
        {
            mode: Environment(
                caches[mode],
                factory.sources(mode, of_mode, caches[mode]),
                factory.snapshots[mode],
            )
            for mode, of_mode in _settings_of(settings).items()
        },
        now_ms,
        settings.idempotency_hours,
        round(settings.source_deadline_seconds * 1000),
        AdmissionControl(
            settings.requests_max,
            max(1, settings.requests_max // ACCOUNT_SHARE),
            math.ceil(settings.source_deadline_seconds) + 1,
        ),
        operations(configured.ufs(settings), lambda: civil_day(now_ms())),
        ReceiptNumbers(pepper, settings.public_url.rstrip("/")),
        batch_certificate_ms=round(settings.batch_certificate_seconds * 1000),
        result_hours=min(settings.result_days, settings.trace_days) * 24,
        safe_past_ms=safe_past_ms,
        count_deprecated=count_deprecated,
    )


def _settings_of(settings: Settings) -> Mapping[Mode, Settings]:
    return {"live": settings, "test": sandboxed(settings)}
