"""Parts of the service for a command, whether a service is running or not."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from balcao.accounts.secrets import secrets_of
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.lookup.context import Parts
from balcao.observability.health import Health
from balcao.observability.metrics import Metrics
from balcao.observability.source_log import SourceLog
from balcao.service.batching import BatchParts, build_batches
from balcao.service.parts import MODES, build_parts, new_request_ids, open_snapshots
from balcao.service.provider_factory import ProviderFactory
from balcao.settings import Settings
from balcao.storage.blobs import open_blobs
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_of


@contextmanager
def standalone_parts(
    settings: Settings, home: Home, desk: Desk, now_ms: Callable[[], int]
) -> Iterator[tuple[Parts, ProviderFactory]]:
    """Open everything that lookups need except the desk, for use without the server.

    The health of the sources is unknown at first.
    """
    place, pepper = place_of(settings), home.pepper()
    caches: dict[Mode, Cache] = {
        mode: place.open_cache(mode, pepper=pepper, now_ms=now_ms) for mode in MODES
    }
    snapshots = open_snapshots(home)
    factory = ProviderFactory(
        settings=settings,
        snapshots=snapshots,
        blobs=open_blobs(settings.receipts or home.receipts),
        metrics=Metrics(),
        health=Health(),
        source_log=SourceLog(time.monotonic),
        now_ms=now_ms,
        live_transport=None,
    )
    try:
        yield build_parts(settings, desk, caches, factory, now_ms, pepper), factory
    finally:
        for cache in caches.values():
            cache.close()
        for snapshot in snapshots.values():
            snapshot.close()


@contextmanager
def standalone_batches(
    settings: Settings, home: Home, desk: Desk, now_ms: Callable[[], int]
) -> Iterator[BatchParts]:
    """Open the batch parts, for receiving, showing and deciding; only the service runs batches."""
    with standalone_parts(settings, home, desk, now_ms) as (parts, factory):
        secrets, new_id = secrets_of(home, desk), new_request_ids(now_ms)
        yield build_batches(settings, home, parts, secrets, factory.blobs, factory, new_id)
