"""Find and erase the data about a natural person, also while the service is running.

The order prevents erased data from being written again: first the caches, then the log, on which
all serving processes clear their memories; after that the desk, the receipts' bytes, and the
caches a second time. It may be interrupted anywhere and repeated.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from balcao.batches.person_search import PersonMatches, PersonSearch, erased_rows
from balcao.core.data_subject import DataSubject
from balcao.core.errors import StorageFailed
from balcao.core.people import Signature
from balcao.core.questions import Mode
from balcao.core.receipts import DELETE_BYTES
from balcao.service.receipt_deletion import receipt_deletion_jobs
from balcao.storage.contract import Blobs, Cache, PersonEntry
from balcao.storage.data_subjects import HeldData, HeldRow
from balcao.storage.desk.desk import Desk

# Also used by the command line.
__all__ = ["Erased", "Findings", "PersonSearch", "erase", "find"]

# Serving processes check twice a second (`retention.ERASED_SECONDS`); deferred writes take ms.
FORGOTTEN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Findings:
    """Data about a person, without its content."""

    cached: Mapping[Mode, Sequence[PersonEntry]]
    held: HeldData
    named: PersonMatches  # in batches that are not about them

    @property
    def rows(self) -> Sequence[HeldRow]:
        """The number of batch rows about the person, or that name them."""
        about = set(self.held.rows)
        others = (one for one in erased_rows(self.named) if one not in about)
        return [*self.held.rows, *others]

    @property
    def nothing(self) -> bool:
        """Return whether there is nothing to erase."""
        held = self.held
        kept = held.requests, held.receipts, held.answers, held.rows, held.items
        return not any((*self.cached.values(), *kept, self.named))


@dataclass(frozen=True, slots=True)
class Erased:
    """Counts of what was erased."""

    cache_entries: int
    requests: int
    receipts: int
    answers: int
    files: int  # of receipts
    rows: int = 0  # of batches
    batches: int = 0  # whose files were not read yet
    items: int = 0  # of portfolios

    def __str__(self) -> str:
        return (
            f"cache {self.cache_entries}, consultas {self.requests}, comprovantes {self.receipts},"
            f" resultados repetíveis {self.answers}, arquivos {self.files},"
            f" linhas de lotes {self.rows}, arquivos de lotes {self.batches},"
            f" itens de carteiras {self.items}"
        )


async def find(
    person: DataSubject, desk: Desk, caches: Mapping[Mode, Cache], batches: PersonSearch
) -> Findings:
    """Return the data there is about a person now. Raises `StorageFailed`."""
    cached = {mode: await cache.entries_about(person) for mode, cache in caches.items()}
    held, named = desk.data_subjects.held(person), await batches.find(person)
    return Findings(cached, held, named)


async def erase(
    person: DataSubject,
    desk: Desk,
    caches: Mapping[Mode, Cache],
    blobs: Blobs,
    batches: PersonSearch,
    *,
    signed: Signature,
    now_ms: Callable[[], int],
) -> Erased:
    """Erase a person's data everywhere but in backups; the ledger contains none.

    Takes at least two seconds, until other processes have cleared their memories. Raises
    `StorageFailed`; then it has to be repeated.
    """
    entries = [await cache.erase(person) for cache in caches.values()]
    await desk.data_subjects.log_erasure(person, "começou", signed, now_ms())
    await asyncio.sleep(FORGOTTEN_SECONDS)
    held, digests = await desk.data_subjects.erase(person, now_ms())
    named = await batches.erase(person, now_ms, held.rows)
    # Each has a job, too, in case this is interrupted.
    delete = receipt_deletion_jobs(desk, blobs).work
    waiting = [digest for digest in digests if await delete(digest) is not None]
    entries += [await cache.erase(person) for cache in caches.values()]
    await desk.data_subjects.scrub()
    # Jobs of an earlier attempt do not name the person: a failed one of anybody counts.
    failed = any(each.kind == DELETE_BYTES and each.error for each in await desk.jobs.counts())
    if waiting or failed:
        raise StorageFailed("bytes of erased receipts are still to be deleted")
    erased = Erased(
        sum(entries),
        len(held.requests),
        len(held.receipts),
        len(held.answers),
        len(digests),
        len(held.rows) + len(erased_rows(named)),
        len(named.files),
        len(held.items),
    )
    # Logged again, so that processes also forget receipts that were recorded meanwhile.
    await desk.data_subjects.log_erasure(person, f"terminou: {erased}", signed, now_ms())
    return erased
