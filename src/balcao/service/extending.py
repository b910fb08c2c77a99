"""Jobs that apply acts which extend certificates to the certificates of portfolios."""

from collections.abc import Callable

from balcao.service.jobs.durable import JobKind
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.wallet.paper_acts import APPLY_ACTS


def extension_jobs(desk: Desk, now_ms: Callable[[], int]) -> JobKind:
    """Return the kind of jobs that recompute the last days of a kind of certificates."""

    async def apply(about: str) -> None:
        after: str | None = ""
        while after is not None:
            after = await desk.paper_acts.apply(about, after, now_ms())

    return JobKind(APPLY_ACTS, apply, at_once=1)
