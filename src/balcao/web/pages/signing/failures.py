"""Failed sign-ins in the audit log: of known people only, without what was typed (contract 7.7).

An entry is written apart from the response, whose time must not reveal whether a person exists.
"""

import asyncio
from typing import Literal, TypeAlias

import structlog

from balcao.core.addresses import network_of
from balcao.core.errors import StorageFailed
from balcao.core.people import User
from balcao.web.kit.context import PageContext
from balcao.web.pages.signing.browsers import name_of

Reason: TypeAlias = Literal["senha incorreta", "segundo fator incorreto"]

log = structlog.get_logger()


def note_failure(context: PageContext, user: User, reason: Reason, address: str) -> None:
    """Log a failed sign-in soon. `address`: as limits count it; empty: unknown."""
    browser = name_of(context.request.headers.get("user-agent", ""))
    facts = [part for part in (network_of(address), browser) if part]
    task = asyncio.create_task(_write(context, user, reason, ", ".join(facts)))
    context.tools.writing.add(task)
    task.add_done_callback(context.tools.writing.discard)


async def _write(context: PageContext, user: User, reason: Reason, facts: str) -> None:
    people = context.desk.people
    try:
        await people.note_failed_sign_in(user.user_id, reason, facts, context.now_ms())
    except StorageFailed as error:
        log.warning("sign_in.failure_not_logged", kind=type(error).__name__)
