"""`/app/operador/auditoria`: the audit log."""

from collections.abc import Iterable, Mapping, Sequence

from starlette.responses import Response

from balcao.core.access import find_account
from balcao.core.people import Action, Channel
from balcao.storage.people import AuditEntry
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext

PER_PAGE = 100

_PATH = "/app/operador/auditoria"

ACTIONS: Mapping[Action, str] = {
    "account.create": "Conta criada",
    "account.change": "Plano e limites da conta alterados",
    "account.suspend": "Conta suspensa",
    "account.resume": "Conta reativada",
    "account.notice": "Aviso de saldo alterado",
    "credit.add": "Créditos lançados",
    "key.create": "Chave criada",
    "key.change": "Regras de chave alteradas",
    "key.revoke": "Chave revogada",
    "budget.create": "Orçamento criado",
    "budget.change": "Orçamento alterado",
    "budget.end": "Orçamento removido",
    "webhook.create": "Webhook criado",
    "webhook.change": "Webhook alterado",
    "webhook.rotate": "Segredo de webhook trocado",
    "webhook.delete": "Webhook removido",
    "batch.pause": "Lote pausado",
    "batch.resume": "Lote retomado",
    "batch.stop": "Lote encerrado",
    "batch.repeat": "Falhas de um lote repetidas",
    "batch.erase": "Dados de um lote apagados",
    "user.create": "Usuário criado",
    "user.change": "Usuário alterado",
    "user.suspend": "Usuário suspenso",
    "user.resume": "Usuário reativado",
    "user.link": "Link feito",
    "user.password": "Senha definida",
    "user.totp": "Segundo fator ativado ou desativado",
    "user.recovery": "Códigos de recuperação",
    "user.sign_in": "Entrada de operador",
    "user.sign_in_failed": "Entrada que falhou",
    "seat.give": "Lugar dado a operador",
    "seat.change": "Acesso de operador alterado",
    "seat.take": "Acesso de operador removido",
    "extension.add": "Prorrogação de certidões incluída",
    "extension.remove": "Prorrogação de certidões removida",
    "source.check": "Fonte verificada",
    "checklist.close": "Primeiros passos escondidos",
    "opendata.rollback": "Volta ao mês anterior dos dados abertos",
    "opendata.fetch": "Busca de um mês novo pedida",
    "backup.create": "Backup pedido",
    "secret.rotate": "Segredo da instalação trocado",
    "subject.erase": "Dados de um titular apagados",
}

_CHANNELS: Mapping[Channel, str] = {
    "web": "aplicação",
    "cli": "linha de comando",
    "start": "início do serviço",
    "api": "API",
}


def in_words(entries: Iterable[AuditEntry]) -> Sequence[tuple[AuditEntry, str, str]]:
    """Return entries of the audit log, each with its action and its author in words."""
    # An action may have been recorded by a newer version.
    return [(entry, ACTIONS.get(entry.action, entry.action), _author(entry)) for entry in entries]


def _author(entry: AuditEntry) -> str:
    if entry.user_name is not None:
        return entry.user_name
    if entry.user_id is not None:
        return f"usuário {entry.user_id}"
    return _CHANNELS.get(entry.channel, entry.channel)


async def show(context: PageContext) -> Response:
    """Show the log, newest first, page by page."""
    asked, named, before = context.query("conta"), context.query("acao"), context.query("antes")
    desk = context.desk
    account = find_account(desk.accounts(), asked) if asked else None
    action = next((action for action in ACTIONS if action == named), None)
    before_id = int(before) if before.isdecimal() and len(before) < 19 else None
    unknown = asked and account is None
    # Read one more than is shown, to see whether there are older ones.
    entries = (
        ()
        if unknown
        else desk.people.audit(
            PER_PAGE + 1,
            before_id,
            account_id=account.account_id if account is not None else None,
            action=action,
        )
    )
    shown = entries[:PER_PAGE]
    return context.page(
        "operador/auditoria.html",
        entries=in_words(shown),
        actions=list(ACTIONS.items()),
        asked=asked,
        action=action or "",
        older=(_address(asked, action, shown[-1].entry_id) if len(entries) > PER_PAGE else None),
        newer=_address(asked, action) if before_id is not None else None,
        alert="Não há conta com esse nome ou número." if unknown else None,
    )


def _address(asked: str, action: Action | None, before_id: int | None = None) -> str:
    given = {"conta": asked, "acao": action or "", "antes": str(before_id or "")}
    return filters.address(_PATH, given)
