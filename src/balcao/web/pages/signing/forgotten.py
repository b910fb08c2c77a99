"""`/app/esqueci`: request a link for a new password by e-mail, where a mail server is configured.

The response is the same for every address, and takes as long: who has it is determined by the job
that sends the message.
"""

from starlette.responses import Response

from balcao.accounts.mail.outbox import RESET_MINUTES, Outbox
from balcao.core.people import is_email, normal_email
from balcao.web.kit import throttle
from balcao.web.kit.context import PageContext
from balcao.web.pages.signing.pages import address_limits, count_tries, digest


async def show(context: PageContext) -> Response:
    """Show the form."""
    _outbox(context)
    return _page(context)


async def ask(context: PageContext) -> Response:
    """Queue the request. Raises `RateLimited` after too many."""
    outbox, typed = _outbox(context), context.typed("email")
    if not is_email(typed):
        wrong = {"email": "Informe um e-mail completo."}
        return _page(context, 422, complaints=wrong)
    email = normal_email(typed)
    count_tries(
        context,
        (throttle.RESET_LIMIT, digest(email)),
        *address_limits(context, throttle.LINKS_LIMIT),
    )
    await context.desk.mail.add(outbox.password_reset(email, context.now_ms()))
    return _page(context, 202, sent_to=typed)


def _page(context: PageContext, status: int = 200, **values: object) -> Response:
    return context.page(
        "esqueci.html", status, **{"sent_to": None, "minutes": RESET_MINUTES, **values}
    )


def _outbox(context: PageContext) -> Outbox:
    if context.tools.outbox is None:
        text = "Este serviço não envia e-mails. Peça um link ao gestor da conta ou ao operador."
        raise context.not_found("Página não encontrada", text)
    return context.tools.outbox
