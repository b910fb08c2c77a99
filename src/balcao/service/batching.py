"""Composition of the batch parts: operations for the front, and background jobs (ADR 0044)."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from balcao.batches.api_types import batch_answer
from balcao.batches.batch_context import RUN, VALIDATE, BatchContext, RowPacer
from balcao.batches.desk import BatchDesk, BatchInfo, Upload
from balcao.batches.file_admission import FileAdmission
from balcao.batches.file_scheduling import FileSlots, ReadingOrder
from balcao.batches.pauses import pause_of
from balcao.batches.results import MEDIA, Results
from balcao.batches.running import BatchRunner
from balcao.batches.validating import BatchValidator
from balcao.batches.words import BATCH_STATES
from balcao.core.access import Caller
from balcao.core.availability import ALL_UFS
from balcao.core.batches import ERASE
from balcao.core.file_limits import MEGABYTE, READERS_BYTES, READING_AT_ONCE, SharedLimits
from balcao.core.questions import Question
from balcao.core.secrets import Secrets
from balcao.home import Home
from balcao.lookup.context import ClockOf, Parts, real_time
from balcao.service.jobs.durable import JobKind
from balcao.service.jobs.periodic import Periodic
from balcao.service.provider_factory import ProviderFactory
from balcao.settings import Settings
from balcao.storage.contract import Blobs

# Also used by the command line.
__all__ = [
    "BATCH_STATES",
    "MEDIA",
    "BatchInfo",
    "BatchParts",
    "Upload",
    "all_circuits_open",
    "batch_answer",
    "build_batches",
    "pause_of",
]

COUNT_SECONDS = 15.0
# The longest that a batch waits for its turn.
POLL_SECONDS = 1.0
# Batches that one process runs concurrently.
RUN_AT_ONCE = 4
# Each finished time slice resets them: this many deaths in a row are caused by the batch itself.
ATTEMPTS_MAX = 40
# Concurrent downloads of results and statements, of all accounts.
RESULT_FILES = 32


@dataclass(slots=True)
class BatchParts:
    """The parts of batches that others use: operations, results, jobs."""

    desk: BatchDesk
    results: Results
    validation: BatchValidator
    running: BatchRunner
    file_admission: FileAdmission
    reading_order: ReadingOrder
    # Unfinished batches by state and reason, as of the last `count`.
    counts: Sequence[tuple[str, str, int]] = ()

    def periodic(self) -> Periodic:
        """Return the periodic work that updates `counts`."""
        return Periodic("batches", self.count, COUNT_SECONDS)

    async def count(self) -> None:
        """Count batches, remove stale files, measure the disk. Raises `StorageFailed`."""
        await asyncio.to_thread(self.desk.context.remove_leftovers)
        await self.file_admission.measure()
        self.counts = await self.desk.context.parts.desk.batches.counts()

    def kinds(self) -> Sequence[JobKind]:
        return (
            JobKind(
                VALIDATE,
                self.validation.validate,
                READING_AT_ONCE,
                poll_seconds=POLL_SECONDS,
                order=self.reading_order,
            ),
            JobKind(RUN, self.running.run, RUN_AT_ONCE, ATTEMPTS_MAX, POLL_SECONDS),
            JobKind(ERASE, self.desk.erase_rest, 1),
        )


def build_batches(  # noqa: PLR0917  # all open parts
    settings: Settings,
    home: Home,
    parts: Parts,
    secrets: Secrets,
    blobs: Blobs,
    factory: ProviderFactory,
    new_id: Callable[[], str],
    arrivals: Callable[[], int] = lambda: 0,
    clock_of: ClockOf = real_time,
) -> BatchParts:
    """Build the batch parts from the opened parts of the service.

    `arrivals` returns the number of single lookups answered so far, `clock_of` the instants of
    test portfolios, which buy by them.
    """
    context = BatchContext(parts, secrets, home.batches, new_id, RowPacer(arrivals))
    file_admission = FileAdmission(
        parts.desk,
        {
            "gratuito": settings.files_gratuito.limits,
            "pre_pago": settings.files_pre_pago.limits,
            "pos_pago": settings.files_pos_pago.limits,
        },
        SharedLimits(settings.files_mb_max * MEGABYTE, settings.disk_free_mb_min * MEGABYTE),
        partial(_free_bytes, home.path),
        parts.now_ms,
    )
    slots = FileSlots(
        lambda account_id: file_admission.limits_of(account_id).result_files,
        RESULT_FILES,
        lambda: file_admission.refused.update(["results"]),
    )
    validation = BatchValidator(context, file_admission)

    def shut(caller: Caller, question: Question) -> bool:
        return all_circuits_open(parts, factory, caller, question)

    return BatchParts(
        BatchDesk(context, validation, file_admission, settings.batch_days, factory.now),
        Results(context, blobs, file_admission, slots, settings.address),
        validation,
        BatchRunner(context, shut, clock_of=clock_of),
        file_admission,
        ReadingOrder(parts.now_ms, READERS_BYTES // settings.workers),
    )


def _free_bytes(folder: Path) -> int | None:
    """Return how many bytes are free on a folder's disk; None if that cannot be read."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def all_circuits_open(
    parts: Parts, factory: ProviderFactory, caller: Caller, question: Question
) -> bool:
    """Return whether the circuits of all sources of a question are open."""
    if caller.mode != "live":  # the sandbox has no circuits
        return False
    circuits, sources = factory.circuits(), parts.environments[caller.mode].sources
    if "open" not in circuits.values():
        return False
    for inquiry in question.inquiries:
        names = sources.source_names(inquiry)
        for name in names:
            lines = ((name, inquiry.subject, uf) for uf in (inquiry.uf or "", ALL_UFS))
            if {circuits.get(line) for line in lines} - {None} != {"open"}:
                return False
        if not names:
            return False
    return True
