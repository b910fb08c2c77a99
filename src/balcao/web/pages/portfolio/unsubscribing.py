"""`/app/avisos/{token}`: a person stops the notices of a portfolio, without signing in.

Mail programs send the POST by themselves (RFC 8058). The token is the proof.
"""

import msgspec
from starlette.responses import Response

from balcao.accounts.mail.outbox import unsubscribing
from balcao.core.people import Signature
from balcao.core.wallet import WalletSettings
from balcao.web.kit.context import PageContext

_UNKNOWN = (
    "Este endereço não é válido. Copie-o por inteiro da mensagem, ou mude os avisos em Carteira."
)


async def show(context: PageContext) -> Response:
    """Show the question; mail scanners follow links, so nothing is changed here."""
    account_id, _ = _reader(context)
    return context.page(
        "carteira_sair.html", account=context.desk.account(account_id), stopped=False
    )


async def stop(context: PageContext) -> Response:
    """Remove the person from the notices; a repetition does nothing."""
    account_id, user_id = _reader(context)

    def edit(settings: WalletSettings) -> WalletSettings:
        people = tuple(one for one in settings.notices.pessoas if one != user_id)
        notices = msgspec.structs.replace(settings.notices, pessoas=people)
        return msgspec.structs.replace(settings, notices=notices)

    await context.desk.wallets.change_settings(
        account_id,
        edit,
        None,
        context.tools.new_id,
        Signature("web", user_id),
        context.now_ms(),
    )
    return context.page(
        "carteira_sair.html", account=context.desk.account(account_id), stopped=True
    )


def _reader(context: PageContext) -> tuple[int, int]:
    found = unsubscribing(context.tools.seal, context.request.path_params["token"])
    if found is None:
        raise context.not_found("Endereço inválido", _UNKNOWN)
    return found
