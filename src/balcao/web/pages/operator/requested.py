"""Long work that operators start from a page: requested once at a time, and its last outcome."""

from dataclasses import dataclass

from balcao.core.ledger import Audit, DoneBefore, Enqueue
from balcao.core.requested_work import ABOUT, ACTIONS, DONE, REQUESTED, TARGETS, RequestedWork
from balcao.web.kit.context import PageContext
from balcao.web.pages.operator.forms import once

REPEATED = "Este formulário já tinha sido enviado. Nada foi feito de novo."
RUNNING = "Já está em andamento. Espere terminar."


@dataclass(frozen=True, slots=True)
class RequestedStatus:
    """Whether the work is under way, and how the last one ended; `at_ms` of either."""

    running: bool
    at_ms: int | None = None
    outcome: str | None = None
    succeeded: bool = False


async def status_of(context: PageContext, kind: RequestedWork) -> RequestedStatus:
    """Return the status of a kind of work, on whichever node it runs."""
    counts = await context.desk.jobs.counts()
    running = any(one.kind == kind and one.state != "failed" for one in counts)
    entries = context.desk.people.audit(1, action=ACTIONS[kind])
    if not entries:
        return RequestedStatus(running)
    (last,) = entries
    if running or last.detail == REQUESTED:
        return RequestedStatus(running, last.at_ms, None if running else "interrompido")
    return RequestedStatus(False, last.at_ms, last.detail, last.detail == DONE)


async def request(context: PageContext, kind: RequestedWork) -> str | None:
    """Request the work, in one commit with its entry in the log. Return what prevents it."""
    signed, now = once(context), context.now_ms()
    if (await status_of(context, kind)).running:
        return RUNNING
    entry = Audit(signed, ACTIONS[kind], None, TARGETS[kind], REQUESTED, now)
    refusal = await context.desk.commit([entry, Enqueue(kind, ABOUT, now)])
    return REPEATED if isinstance(refusal, DoneBefore) else None
