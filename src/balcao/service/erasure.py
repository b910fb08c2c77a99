"""Finding and erasing what is kept about a natural person, beside whatever serves.

In this order, so that nothing comes back: the caches first, so that nothing new is made of them;
then the log, which tells all who serve to forget what they remember; and when they have, the desk,
the receipts' bytes, and once more the caches. It may be cut short anywhere and done again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from balcao.batches.people import BatchesNaming, Named, batches_named
from balcao.core.data_subject import DataSubject
from balcao.core.errors import StorageFailed
from balcao.core.people import Signature
from balcao.core.questions import Mode
from balcao.core.receipts import DELETE_BYTES
from balcao.service.receipt_deletion import deleting_bytes
from balcao.storage.contract import Blobs, Cache, KeptAbout
from balcao.storage.data_subjects import Held, HeldRow
from balcao.storage.desk.desk import Desk

# What the command line uses of it, too.
__all__ = ["BatchesNaming", "Erased", "Findings", "erase", "find"]

# Who serves looks twice a second (`retention.ERASED_SECONDS`), and writes behind in milliseconds.
FORGOTTEN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Findings:
    """What is kept about a person, without what it says."""

    cached: Mapping[Mode, Sequence[KeptAbout]]
    held: Held
    named: Named  # in batches that are not about them

    @property
    def rows(self) -> Sequence[HeldRow]:
        """Of batches: those about them, and those that name them."""
        about = set(self.held.rows)
        others = (one for one in batches_named(self.named) if one not in about)
        return [*self.held.rows, *others]

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to erase."""
        held = self.held
        kept = held.requests, held.receipts, held.answers, held.rows
        return not any((*self.cached.values(), *kept, self.named))


@dataclass(frozen=True, slots=True)
class Erased:
    """How much of what was erased."""

    cache_entries: int
    requests: int
    receipts: int
    answers: int
    files: int  # of receipts
    rows: int = 0  # of batches
    batches: int = 0  # whose files were not read yet

    def __str__(self) -> str:
        return (
            f"cache {self.cache_entries}, consultas {self.requests}, comprovantes {self.receipts},"
            f" resultados repetíveis {self.answers}, arquivos {self.files},"
            f" linhas de lotes {self.rows}, arquivos de lotes {self.batches}"
        )


async def find(
    person: DataSubject, desk: Desk, caches: Mapping[Mode, Cache], batches: BatchesNaming
) -> Findings:
    """What there is now. Raises `StorageFailed`."""
    cached = {mode: await cache.about(person) for mode, cache in caches.items()}
    held, named = desk.data_subjects.held(person), await batches.find(person)
    return Findings(cached, held, named)


async def erase(  # whom, from where
    person: DataSubject,
    desk: Desk,
    caches: Mapping[Mode, Cache],
    blobs: Blobs,
    batches: BatchesNaming,
    *,
    signed: Signature,
    now_ms: Callable[[], int],
) -> Erased:
    """Erase it everywhere but in the ledger, which never knew the person, and in backups.

    Takes two seconds at least: that long others may remember. Raises `StorageFailed`; then it
    has to be done again.
    """
    entries = [await cache.erase(person) for cache in caches.values()]
    await desk.data_subjects.log_erasure(person, "começou", signed, now_ms())
    await asyncio.sleep(FORGOTTEN_SECONDS)
    held, digests = await desk.data_subjects.erase(person, now_ms())
    named = await batches.erase(person, now_ms, held.rows)
    # Now, and by whoever serves if this is cut short: each has a job, too.
    delete = deleting_bytes(desk, blobs).work
    waiting = [digest for digest in digests if await delete(digest) is not None]
    entries += [await cache.erase(person) for cache in caches.values()]
    await desk.data_subjects.scrub()
    # Those of an earlier attempt are known by their jobs alone: not to whom, so whoever's it is.
    failed = any(each.kind == DELETE_BYTES and each.error for each in await desk.jobs.standing())
    if waiting or failed:
        raise StorageFailed("bytes of erased receipts are still to be deleted")
    erased = Erased(
        sum(entries),
        len(held.requests),
        len(held.receipts),
        len(held.answers),
        len(digests),
        len(held.rows) + len(batches_named(named)),
        len(named.files),
    )
    # Once more, for receipts that were recorded anew meanwhile and are still remembered as such.
    await desk.data_subjects.log_erasure(person, f"terminou: {erased}", signed, now_ms())
    return erased
