"""What a lookup needs, put together: for the application (`compose.py`), and for a front's process.

A front loads this and not the application: it is started in less time, and takes less memory.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from uuid_utils import uuid7

from balcao.core.calendar import civil_day
from balcao.core.questions import Mode
from balcao.core.receipts import Numbering
from balcao.home import Home
from balcao.http.front import NewId
from balcao.http.fronts.front import HouseAbove
from balcao.http.routes import Routes, lookups
from balcao.inventory import configured
from balcao.lookup.admission import AdmissionControl
from balcao.lookup.context import Environment, Parts
from balcao.observability import logs
from balcao.observability.health import Health
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestLog
from balcao.observability.source_log import SourceLog
from balcao.opendata.current import CurrentSnapshot
from balcao.operations import operations
from balcao.service.provider_factory import ProviderFactory, sandboxed
from balcao.settings import Settings
from balcao.storage.blobs import open_blobs
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk

# One account may fill a quarter of the places for lookups that wait for a source.
ACCOUNT_SHARE = 4

MODES: tuple[Mode, ...] = ("live", "test")


def new_request_ids(now_ms: Callable[[], int]) -> NewId:
    """What makes UUIDs of version 7 (decisions 1.3), by the clock that everything goes by."""

    def new_id(at_ms: int | None = None) -> str:
        return str(uuid7(nanoseconds=(now_ms() if at_ms is None else at_ms) * 1_000_000))

    return new_id


def parts_of(  # noqa: PLR0917  # what was opened before
    settings: Settings,
    desk: Desk,
    caches: Mapping[Mode, Cache],
    factory: ProviderFactory,
    now_ms: Callable[[], int],
    pepper: bytes,
    *,
    surely_past_ms: Callable[[], int] | None = None,
) -> Parts:
    """What a lookup needs, of the parts that are open."""
    return Parts(
        desk,
        {
            mode: Environment(caches[mode], factory.sources(mode, of_mode, caches[mode]))
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
        Numbering(pepper, settings.public_url.rstrip("/")),
        result_hours=min(settings.result_days, settings.trace_days) * 24,
        surely_past_ms=surely_past_ms,
    )


def _settings_of(settings: Settings) -> Mapping[Mode, Settings]:
    return {"live": settings, "test": sandboxed(settings)}


@dataclass(frozen=True, slots=True)
class OpenFront:
    """What the lane of a front's process needs (`http.lane.House`)."""

    parts: Parts
    routes: Routes
    new_id: NewId
    metrics: Metrics
    request_log: RequestLog


def open_front(settings: Settings, above: HouseAbove, now_ms: Callable[[], int]) -> OpenFront:
    """Open what a front reads by itself, the months; all else is the house's, `above`."""
    home = Home(settings.home)
    metrics = Metrics()
    factory = ProviderFactory(
        settings=settings,
        snapshots={mode: CurrentSnapshot(home.opendata(mode), time.monotonic) for mode in MODES},
        blobs=open_blobs(settings.receipts or home.receipts),
        metrics=metrics,
        health=Health(),
        source_log=SourceLog(time.monotonic, level=settings.log_level),
        now_ms=now_ms,
        live_transport=None,
    )
    # Of both, nothing else is asked in the lane of a front.
    desk, cache = cast(Desk, above), cast(Cache, None)
    caches: dict[Mode, Cache] = dict.fromkeys(MODES, cache)
    parts = parts_of(settings, desk, caches, factory, now_ms, home.pepper())
    return OpenFront(
        parts,
        Routes(lookups(parts.operations.values())),
        new_request_ids(now_ms),
        metrics,
        RequestLog(as_json=logs.is_json(settings.log_format), level=settings.log_level),
    )
