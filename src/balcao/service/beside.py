"""What a command needs of a service, beside one that runs or without one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.lookup.context import Parts
from balcao.observability.health import Health
from balcao.observability.metrics import Metrics
from balcao.observability.source_log import SourceLog
from balcao.service.batching import Batching, batching
from balcao.service.parts import MODES, new_request_ids, parts_of, snapshots_of
from balcao.service.provider_factory import ProviderFactory
from balcao.settings import Settings
from balcao.storage.blobs import open_blobs
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_of


@contextmanager
def parts_beside(
    settings: Settings, home: Home, desk: Desk, now_ms: Callable[[], int]
) -> Iterator[tuple[Parts, ProviderFactory]]:
    """The parts of lookups, over a desk that is open; how sources are doing is not known here."""
    place, pepper = place_of(settings), home.pepper()
    caches: dict[Mode, Cache] = {
        mode: place.open_cache(mode, pepper=pepper, now_ms=now_ms) for mode in MODES
    }
    snapshots = snapshots_of(home)
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
        yield parts_of(settings, desk, caches, factory, now_ms, pepper), factory
    finally:
        for cache in caches.values():
            cache.close()
        for snapshot in snapshots.values():
            snapshot.close()


@contextmanager
def batches_beside(
    settings: Settings, home: Home, desk: Desk, now_ms: Callable[[], int]
) -> Iterator[Batching]:
    """Batches, to be received, told and decided; who runs them is the service."""
    with parts_beside(settings, home, desk, now_ms) as (parts, factory):
        yield batching(
            settings, home, parts, home.pepper(), factory.blobs, factory, new_request_ids(now_ms)
        )
