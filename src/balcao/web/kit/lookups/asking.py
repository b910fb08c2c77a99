"""Lookups made from a page: who may make them, and once per form or button.

A form or button has a number, which becomes the idempotency key of its lookup: sent twice, it
charges once.
"""

import hashlib

import msgspec
from starlette.responses import Response

from balcao.core import idempotency
from balcao.core.errors import (
    CertificatesNotEnabled,
)
from balcao.core.idempotency import IdempotencyRecord
from balcao.core.questions import Question
from balcao.lookup.admit import check_access
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.forms import LookupForm

_TRIES_MAX = 50  # of one button, if the source keeps failing

_AGAIN = b"balcao-again"


async def button_number(context: PageContext, asked: Question, context_id: str) -> str:
    """Return the number of a button that asks this question.

    `context_id`: identifies the result beside the button; another one gives another number. A
    failed lookup gives a new number, so that it may be tried again.
    """
    parts = context.tools.parts
    fingerprint = parts.operations[asked.subject].fingerprint(asked)
    # A colleague's result may be hidden from them, so each person has their own buttons.
    hashed = hashlib.blake2b(key=parts.receipt_numbers.pepper, digest_size=16, person=_AGAIN)
    hashed.update(f"{context.person.user.user_id} {context_id} {fingerprint}".encode())
    for _ in range(_TRIES_MAX):
        attempt = await attempt_of(context, hashed.hexdigest())
        if attempt is None or not _failed(attempt):
            break
        hashed.update(b" again")
    return hashed.hexdigest()


def _failed(attempt: IdempotencyRecord) -> bool:
    if attempt.recorded is None:
        return attempt.state == "died"
    if attempt.recorded.erased:
        return False
    return bool(msgspec.json.decode(attempt.recorded.body)["error"])


async def attempt_of(context: PageContext, number: str) -> IdempotencyRecord | None:
    """Return the attempt made with the form or button of this number."""
    digest = idempotency.digest(f"web-{number}")
    return await context.desk.find_attempt(context.account.account_id, digest, context.now_ms())


def may_ask(context: PageContext, form: LookupForm) -> bool:
    """Return whether the account may make this lookup at all."""
    return refusal_of(context, form) is None


def refusal_of(context: PageContext, form: LookupForm) -> Response | None:
    """Return a page with the reason why the account cannot make this lookup; None: it can."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    try:
        check_access(context.tools.parts.operations[form.subject], context.person.caller())
    except CertificatesNotEnabled:
        return outside_the_plan(context)
    return None


def outside_the_plan(context: PageContext) -> Response:
    """Return a page: certificates are not part of the account's plan."""
    who = "o operador do serviço" if context.person.is_manager else "o gestor da conta"
    text = (
        "As certidões não estão habilitadas para esta conta: é preciso um plano pago ou um"
        f" contrato que inclua certidões. Nada foi cobrado. Para habilitar, fale com {who}."
    )
    return context.problem(403, "Certidões fora do plano", text)


def suspended(context: PageContext) -> Response:
    """Return a page: the account is suspended."""
    text = (
        "O operador do serviço suspendeu esta conta. Enquanto ela estiver suspensa, não é"
        " possível consultar e nada é cobrado. O histórico e os comprovantes continuam aqui. Fale"
        " com o operador do serviço."
    )
    return context.problem(403, "Conta suspensa", text)
