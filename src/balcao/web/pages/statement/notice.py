"""`/app/aviso-de-saldo`: the balance below which an account's managers receive an e-mail."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field
from starlette.responses import Response

from balcao.core.access import Account
from balcao.web.kit.account_pages import done
from balcao.web.kit.context import PageContext
from balcao.web.kit.typed import TypedForm, read, whole_number

_CREDITS_MAX = 1_000_000_000
_DONE: Mapping[str, str] = {
    "salvo": "Aviso de saldo salvo.",
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
}


def _threshold(text: str) -> int | None:
    if not text:
        return None
    number = whole_number(text)
    if number is None or not 1 <= number <= _CREDITS_MAX:
        raise ValueError("Informe um número inteiro de créditos, ou deixe vazio.")
    return number


class NoticeForm(TypedForm):
    """The threshold; None: no notice."""

    threshold: Annotated[int | None, BeforeValidator(_threshold)] = Field(alias="abaixo_de")


async def show(context: PageContext, account: Account, base: str) -> Response:
    """Show the form."""
    return await _shown(context, account, base, message=_DONE.get(context.query("feito")))


async def change(context: PageContext, account: Account, base: str) -> Response:
    """Change the threshold."""
    typed = read(NoticeForm, context.form)
    if not isinstance(typed, NoticeForm):
        return await _shown(context, account, base, 422, complaints=typed)
    signed = context.signature(context.typed("form_id"))
    write = context.desk.mail.set_threshold(
        account.account_id, typed.threshold, signed, context.now_ms()
    )
    return context.redirect(base, feito=await done(write, "salvo"))


async def _shown(
    context: PageContext, account: Account, base: str, status: int = 200, **values: object
) -> Response:
    return context.page(
        "aviso_de_saldo.html",
        status,
        account=account,
        address=base,
        threshold=await context.desk.mail.threshold(account.account_id),
        sends=context.tools.outbox is not None,
        managers=[
            user
            for user in context.desk.people.users(account.account_id)
            if user.role == "manager" and user.has_password and user.suspended_ms is None
        ],
        **values,
    )
