"""Jobs of long work that operators start from a page: a backup, the fetch of a month.

Each runs the command of the command line in a child process, and writes its outcome into the audit
log. A job whose process died starts the command again, which resumes or begins anew.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import structlog

from balcao.core.ledger import Audit
from balcao.core.people import Signature
from balcao.core.requested_work import ACTIONS, DONE, FAILED, TARGETS, RequestedWork
from balcao.service.command_process import run_command
from balcao.service.jobs.durable import JobKind
from balcao.storage.desk.desk import Desk

log = structlog.get_logger()

_COMMANDS: Mapping[RequestedWork, Sequence[str]] = {
    "backup": ("backup", "create"),
    "opendata_fetch": ("opendata", "fetch", "--background"),
}
_POLL_SECONDS = 1.0
_DETAIL_CHARACTERS_MAX = 300

Run = Callable[..., Awaitable[tuple[int, str]]]


def requested_jobs(
    desk: Desk, now_ms: Callable[[], int], run: Run = run_command
) -> Sequence[JobKind]:
    """Return the kinds of jobs that pages request."""

    async def work(kind: RequestedWork, _: str) -> None:
        code, detail = await run(*_COMMANDS[kind])
        if code != 0:
            log.warning("requested_work.failed", kind=kind, detail=detail)
        outcome = DONE if code == 0 else FAILED + (detail or str(code))[:_DETAIL_CHARACTERS_MAX]
        signed = Signature("web")
        await desk.commit([Audit(signed, ACTIONS[kind], None, TARGETS[kind], outcome, now_ms())])

    return [
        JobKind(kind, partial(work, kind), at_once=1, attempts_max=3, poll_seconds=_POLL_SECONDS)
        for kind in _COMMANDS
    ]
