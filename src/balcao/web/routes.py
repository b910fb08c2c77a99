"""The application's addresses as one table: the audience and the handler of each."""

from collections.abc import Sequence

from balcao.accounts.mail.outbox import UNSUBSCRIBE
from balcao.web.kit.account_pages import AccountPage, for_managers_and_operators, for_operators
from balcao.web.kit.application import SECOND_FACTOR, Answer, Page
from balcao.web.pages import front_page, home, search_box
from balcao.web.pages.batches import actions, live
from balcao.web.pages.batches import form as new_batch
from balcao.web.pages.batches import pages as batches
from balcao.web.pages.companies import page as company
from balcao.web.pages.companies import receipts as company_receipts
from balcao.web.pages.docs import operations
from balcao.web.pages.docs import pages as docs
from balcao.web.pages.history import pages as history
from balcao.web.pages.history import request
from balcao.web.pages.keys import budgets
from balcao.web.pages.keys import pages as keys
from balcao.web.pages.lookups import pages as lookups
from balcao.web.pages.lookups import result
from balcao.web.pages.members import memberships
from balcao.web.pages.members import pages as members
from balcao.web.pages.operator import (
    account,
    accounts,
    audit,
    checking,
    deprecations,
    extensions,
    first_steps,
    opendata,
    operators,
    overview,
    sources,
    system,
)
from balcao.web.pages.portfolio import (
    adding,
    by_hand,
    calendars,
    certificates,
    changes,
    clock,
    item,
    items,
    lists,
    paper_files,
    renewing,
    unsubscribing,
)
from balcao.web.pages.portfolio import settings as portfolio_settings
from balcao.web.pages.portfolio import views as portfolio
from balcao.web.pages.portfolio.paper_views import CERTIFICATES
from balcao.web.pages.search import pages as search
from balcao.web.pages.signing import forgotten, myself
from balcao.web.pages.signing import pages as signing
from balcao.web.pages.statement import files, month, notice, pages
from balcao.web.pages.status import feeds as status_feeds
from balcao.web.pages.status import pages as status
from balcao.web.pages.webhooks import pages as webhooks

_CONSULT = "/app/consultas/{operacao}"
_RESULT = "/app/consultas/resultado/{request_id}"
_ANOTHER = "/operadores/{user_id:int}"
_BATCH = "/app/lotes/{batch_id}"
_ITEM = f"{portfolio.ITEMS}/{{item_id}}"
_FOUND = "/app/busca/resultado/{number}"
_REQUESTS = "/app/operador/requisicoes"


def _operator(below: str, name: str, answer: Answer, method: str = "GET") -> Page:
    """Return a page for operators, below `/app/operador`."""
    return Page(f"/app/operador{below}", f"operador:{name}", "operator", answer, method)


def _second_factor(below: str, answer: Answer, method: str = "GET") -> Page:
    """Return a page that sets up the second factor."""
    path = f"{SECOND_FACTOR}{below}"
    return Page(path, "app:totp", "signed_in", answer, method, without_second_factor=True)


def _documentation(root: str, name: str) -> Sequence[Page]:
    """Return the pages of the documentation in one language."""

    def page(below: str, also: str, answer: Answer, method: str = "GET") -> Page:
        return Page(f"{root}{below}", f"{name}{also}", "anyone", answer, method)

    return (
        page("", "", docs.show_start),
        page("/chaves", ":chaves", docs.show_keys),
        page("/sandbox", ":sandbox", docs.show_sandbox),
        page("/programas", ":programas", docs.show_programs),
        page("/operacoes/{name}", ":operacao", operations.show),
        page("/operacoes/{name}", ":operacao", operations.follow, "POST"),
        page("/erros", ":erros", docs.show_errors),
        page("/erros/{code}", ":erro", docs.show_error),
        page("/eventos", ":eventos", docs.show_event_types),
        page("/eventos/{name}", ":evento", docs.show_event_type),
        page("/guias/{name}", ":guia", docs.show_guide),
        page("/busca", ":busca", docs.search),
        page("/busca.json", ":busca-json", docs.search_index),
    )


PAGES: Sequence[Page] = (
    # For anyone.
    Page("/", "inicio", "anyone", front_page.show),
    Page("/app/entrar", "app:entrar", "anyone", signing.show),
    Page("/app/entrar", "app:entrar", "anyone", signing.enter, "POST"),
    Page("/app/entrar/codigo", "app:codigo", "anyone", signing.confirm, "POST"),
    Page("/app/esqueci", "app:esqueci", "anyone", forgotten.show),
    Page("/app/esqueci", "app:esqueci", "anyone", forgotten.ask, "POST"),
    Page("/app/sair", "app:sair", "anyone", signing.leave, "POST"),
    Page("/app/convite/{token}", "app:convite", "anyone", signing.invitation),
    Page("/app/convite/{token}", "app:convite", "anyone", signing.accept, "POST"),
    Page(f"{UNSUBSCRIBE}/{{token}}", "app:avisos-sair", "anyone", unsubscribing.show),
    Page(
        f"{UNSUBSCRIBE}/{{token}}",
        "app:avisos-sair",
        "anyone",
        unsubscribing.stop,
        "POST",
        open_to_programs=True,
    ),
    Page("/status", "status", "anyone", status.show),
    Page("/status/estado.json", "status:json", "anyone", status.as_json),
    Page("/status/historico.json", "status:historico", "anyone", status_feeds.history_as_json),
    Page("/status/incidentes.atom", "status:atom", "anyone", status_feeds.feed),
    Page("/status/selo.svg", "status:selo", "anyone", status_feeds.badge),
    *_documentation("/docs", "docs"),
    *_documentation("/docs/en", "docs-en"),
    # For signed-in people.
    Page("/app", "app:inicio", "signed_in", home.show),
    Page("/app/eu", "app:eu", "signed_in", myself.show),
    Page("/app/eu/senha", "app:senha", "signed_in", myself.change_password, "POST"),
    Page("/app/eu/sessoes", "app:sessoes", "signed_in", myself.close_others, "POST"),
    Page("/app/eu/sessoes/{session_id}", "app:sessao", "signed_in", myself.close_one, "POST"),
    Page("/app/eu/lugar", "app:lugar", "signed_in", memberships.change_acting_role, "POST"),
    _second_factor("", myself.set_up),
    _second_factor("", myself.begin_totp, "POST"),
    _second_factor("/ligar", myself.turn_on, "POST"),
    Page("/app/eu/segundo-fator/desligar", "app:totp", "signed_in", myself.turn_off, "POST"),
    Page("/app/eu/codigos", "app:codigos", "signed_in", myself.renew_codes, "POST"),
    Page(
        "/app/tema",
        "app:tema",
        "signed_in",
        myself.choose_theme,
        "POST",
        without_second_factor=True,
    ),
    Page("/app/procurar", "app:procurar", "signed_in", search_box.show),
    Page("/app/procurar", "app:procurar", "signed_in", search_box.go, "POST"),
    # For users of an account.
    Page("/app/consultas", "app:consultas", "account", lookups.index),
    Page("/app/consultas/andamento/{form_id}", "app:andamento", "account", lookups.wait),
    Page(_CONSULT, "app:consulta", "account", lookups.show),
    Page(_CONSULT, "app:consultar", "account", lookups.ask, "POST", lookups.refill),
    Page(f"{_CONSULT}/preco", "app:preco", "account", lookups.price, "POST", lookups.refill),
    Page(_RESULT, "app:resultado", "account", result.show),
    Page(f"{_RESULT}/resposta.json", "app:resultado-json", "account", result.as_json),
    Page("/app/comprovantes/{receipt_id}", "app:comprovante", "account", result.show_receipt),
    Page("/app/historico", "app:historico", "account", history.show),
    Page("/app/historico.csv", "app:historico-csv", "account", history.as_table),
    Page("/app/historico.xlsx", "app:historico-xlsx", "account", history.as_workbook),
    Page("/app/historico/pessoa", "app:historico-pessoa", "account", history.show_person, "POST"),
    Page("/app/historico/pessoa", "app:historico-pessoa", "account", history.to_the_list),
    Page("/app/historico/arquivo", "app:arquivo", "account", history.fetch_file),
    Page("/app/historico/arquivo", "app:arquivo-pedir", "account", history.ask_for_file, "POST"),
    Page("/app/historico/{request_id}", "app:requisicao", "account", request.show),
    Page("/app/tetos", "app:tetos", "account", budgets.show_own),
    Page("/app/lotes", "app:lotes", "account", batches.show_all),
    Page("/app/lotes/novo", "app:lote-novo", "account", new_batch.show),
    Page("/app/lotes/novo", "app:lote-receber", "account", new_batch.receive, "POST", upload=True),
    Page("/app/lotes/colar", "app:lote-colar", "account", new_batch.pasted, "POST"),
    Page(_BATCH, "app:lote", "account", batches.show),
    Page(f"{_BATCH}/andamento", "app:lote-andamento", "account", live.show),
    Page(f"{_BATCH}/confirmar", "app:lote-confirmar", "account", actions.confirm, "POST"),
    Page(f"{_BATCH}/pausar", "app:lote-pausar", "account", actions.pause, "POST"),
    Page(f"{_BATCH}/retomar", "app:lote-retomar", "account", actions.resume, "POST"),
    Page(f"{_BATCH}/encerrar", "app:lote-encerrar", "account", actions.ask_to_stop),
    Page(f"{_BATCH}/encerrar", "app:lote-encerrar", "account", actions.stop, "POST"),
    Page(f"{_BATCH}/repetir", "app:lote-repetir", "account", actions.repeat, "POST"),
    Page(f"{_BATCH}/apagar", "app:lote-apagar", "account", actions.ask_to_erase),
    Page(f"{_BATCH}/apagar", "app:lote-apagar", "account", actions.erase, "POST"),
    Page(f"{_BATCH}/resultado.csv", "app:lote-csv", "account", batches.as_table),
    Page(f"{_BATCH}/resultado.xlsx", "app:lote-xlsx", "account", batches.as_workbook),
    Page(f"{_BATCH}/resultado.jsonl", "app:lote-jsonl", "account", batches.as_lines),
    Page(f"{_BATCH}/comprovantes.zip", "app:lote-zip", "account", batches.receipts),
    Page(portfolio.PATH, "app:carteira", "account", items.show),
    Page(CERTIFICATES, "app:carteira-certidoes", "account", certificates.show),
    Page(paper_files.RECEIPTS, "app:carteira-comprovantes", "account", paper_files.receipts),
    Page(paper_files.SHEET, "app:carteira-planilha", "account", paper_files.spreadsheet),
    Page(calendars.FEED, "app:calendario", "anyone", calendars.feed),
    Page(calendars.CALENDARS, "app:carteira-calendarios", "account", calendars.show),
    Page(calendars.CALENDARS, "app:carteira-calendarios", "account", calendars.create, "POST"),
    Page(
        f"{calendars.CALENDARS}/{{calendar_id}}/remover",
        "app:carteira-calendario-remover",
        "account",
        calendars.remove,
        "POST",
    ),
    Page(renewing.RENEW, "app:carteira-renovar", "account", renewing.preview, "POST"),
    Page(
        f"{renewing.RENEW}/confirmar",
        "app:carteira-renovar-confirmar",
        "account",
        renewing.renew,
        "POST",
    ),
    Page(portfolio.CHANGES, "app:carteira-mudancas", "account", changes.show),
    Page(portfolio.ADD, "app:carteira-incluir", "account", adding.show),
    Page(portfolio.ADD, "app:carteira-incluir", "account", adding.add, "POST"),
    Page(portfolio.LIST, "app:carteira-lista", "account", lists.preview, "POST", upload=True),
    Page(
        f"{portfolio.LIST}/confirmar",
        "app:carteira-lista-confirmar",
        "account",
        lists.confirm,
        "POST",
        upload=True,
    ),
    Page(portfolio.SETTINGS, "app:carteira-avisos", "manager", portfolio_settings.show),
    Page(portfolio.SETTINGS, "app:carteira-avisos", "manager", portfolio_settings.change, "POST"),
    Page(clock.CLOCK, "app:carteira-relogio", "manager", clock.move, "POST"),
    Page(_ITEM, "app:carteira-item", "account", item.show),
    Page(_ITEM, "app:carteira-item-mudar", "account", item.change, "POST"),
    Page(f"{_ITEM}/papeis", "app:carteira-papel", "account", by_hand.add, "POST", upload=True),
    Page(
        f"{_ITEM}/papeis/{{paper_id}}",
        "app:carteira-papel-renovar",
        "account",
        by_hand.renew,
        "POST",
        upload=True,
    ),
    Page(
        f"{_ITEM}/papeis/{{paper_id}}/remover",
        "app:carteira-papel-remover",
        "account",
        by_hand.remove,
        "POST",
    ),
    Page(f"{_ITEM}/tratado", "app:carteira-tratado", "account", changes.mark, "POST"),
    Page(f"{_ITEM}/remover", "app:carteira-remover", "account", item.remove, "POST"),
    Page("/app/busca", "app:busca", "account", search.show),
    Page("/app/busca", "app:buscar", "account", search.submit, "POST"),
    Page(_FOUND, "app:busca-resultado", "account", search.show_found),
    Page("/app/busca/sugestoes", "app:busca-sugestoes", "account", search.suggest, "POST"),
    Page(f"{_FOUND}/atividades", "app:busca-atividades", "account", search.by_activity),
    Page(f"{_FOUND}/pagina.csv", "app:busca-csv", "account", search.as_table),
    Page(f"{_FOUND}/lote", "app:busca-lote", "account", search.to_batch, "POST"),
    Page("/app/empresas/{cnpj}", "app:empresa", "account", company.show),
    Page(
        "/app/empresas/{cnpj}/comprovantes",
        "app:empresa-comprovantes",
        "account",
        company_receipts.save,
    ),
    Page("/app/empresas/{cnpj}/consultar", "app:empresa-consultar", "account", company.ask, "POST"),
    # For managers of an account, and for operators.
    *for_managers_and_operators(
        "/extrato",
        AccountPage("extrato", pages.show),
        AccountPage("extrato-csv", files.as_table, ".csv"),
        AccountPage("extrato-xlsx", files.as_workbook, ".xlsx"),
        AccountPage("demonstrativo", month.show, "/{month}"),
        AccountPage("demonstrativo-xlsx", month.as_workbook, "/{month}/planilha.xlsx"),
    ),
    *for_managers_and_operators(
        "/aviso-de-saldo",
        AccountPage("aviso-de-saldo", notice.show),
        AccountPage("aviso-de-saldo", notice.change, method="POST"),
    ),
    *for_managers_and_operators(
        "/chaves",
        AccountPage("chaves", keys.show),
        AccountPage("chave-nova", keys.create, method="POST"),
        AccountPage("orcamentos", budgets.show, "/orcamentos"),
        AccountPage("orcamento-novo", budgets.create, "/orcamentos", "POST"),
        AccountPage("orcamento", budgets.show_one, "/orcamentos/{number}"),
        AccountPage("orcamento-mudar", budgets.change, "/orcamentos/{number}", "POST"),
        AccountPage("orcamento-remover", budgets.remove, "/orcamentos/{number}/remover", "POST"),
        AccountPage("chave-regras", keys.show_rules, "/{key_id}/regras"),
        AccountPage("chave-regras", keys.change_rules, "/{key_id}/regras", "POST"),
        AccountPage("chave-revogar", keys.confirm, "/{key_id}/revogar"),
        AccountPage("chave-revogar", keys.revoke, "/{key_id}/revogar", "POST"),
    ),
    *for_managers_and_operators(
        "/webhooks",
        AccountPage("webhooks", webhooks.show),
        AccountPage("webhook-novo", webhooks.create, method="POST"),
        AccountPage("webhook", webhooks.show_one, "/{webhook_id}"),
        AccountPage("webhook-mudar", webhooks.change, "/{webhook_id}", "POST"),
        AccountPage("webhook-testar", webhooks.send_test, "/{webhook_id}/testar", "POST"),
        AccountPage("webhook-reenviar", webhooks.resend, "/{webhook_id}/reenviar", "POST"),
        AccountPage("webhook-segredo", webhooks.rotate, "/{webhook_id}/segredo", "POST"),
        AccountPage("webhook-remover", webhooks.ask_to_remove, "/{webhook_id}/remover"),
        AccountPage("webhook-remover", webhooks.remove, "/{webhook_id}/remover", "POST"),
    ),
    *for_managers_and_operators(
        "/usuarios",
        AccountPage("usuarios", members.show),
        AccountPage("usuario-novo", members.add, method="POST"),
        AccountPage("usuario", members.show_one, "/{user_id}"),
        AccountPage("usuario-mudar", members.change, "/{user_id}", "POST"),
        AccountPage("usuario-suspender", members.suspend, "/{user_id}/suspender", "POST"),
        AccountPage("usuario-retomar", members.resume, "/{user_id}/retomar", "POST"),
        AccountPage("usuario-link", members.send_link, "/{user_id}/link", "POST"),
    ),
    *for_managers_and_operators(
        "/lugares", AccountPage("lugar-retirar", memberships.take, "/{user_id}/retirar", "POST")
    ),
    # For operators.
    _operator("", "painel", overview.show),
    _operator("/contas", "contas", accounts.show),
    _operator("/contas/nova", "conta-nova", accounts.blank),
    _operator("/contas/nova", "conta-nova", accounts.create, "POST"),
    *for_operators(
        AccountPage("conta", account.show),
        AccountPage("lugar-dar", memberships.give, "/lugares", "POST"),
        AccountPage("termos", account.change_terms, "/termos", "POST"),
        AccountPage("creditos", account.add_credits, "/creditos", "POST"),
        AccountPage("suspender", account.ask_to_suspend, "/suspender"),
        AccountPage("suspender", account.suspend, "/suspender", "POST"),
        AccountPage("reativar", account.resume, "/reativar", "POST"),
        AccountPage("historico", history.show_to_operator, "/historico"),
        AccountPage("lotes", batches.show_to_operator, "/lotes"),
        AccountPage("usuario-sem-totp", account.totp_off, "/usuarios/{user_id}/sem-totp", "POST"),
    ),
    Page(_REQUESTS, "app:operador-requisicoes", "operator", request.search),
    Page(f"{_REQUESTS}/{{request_id}}", "app:operador-requisicao", "operator", request.show_any),
    _operator("/operadores", "operadores", operators.show),
    _operator("/operadores", "operadores", operators.add, "POST"),
    _operator(f"{_ANOTHER}/suspender", "suspender-operador", operators.ask_to_suspend),
    _operator(f"{_ANOTHER}/suspender", "suspender-operador", operators.suspend, "POST"),
    _operator(f"{_ANOTHER}/reativar", "reativar-operador", operators.resume, "POST"),
    _operator(f"{_ANOTHER}/link", "link-operador", operators.link, "POST"),
    _operator(f"{_ANOTHER}/sem-totp", "sem-totp", operators.totp_off, "POST"),
    _operator("/fontes", "fontes", sources.show),
    _operator("/fontes/verificar", "verificar", checking.show),
    _operator("/fontes/verificar", "verificar", checking.check, "POST"),
    _operator("/primeiros-passos", "primeiros-passos", first_steps.show),
    _operator("/primeiros-passos", "primeiros-passos", first_steps.close, "POST"),
    _operator("/sistema", "saude", system.health),
    _operator("/sistema", "saude", system.examine, "POST"),
    _operator("/copias", "copias", system.backups),
    _operator("/copias", "copias", system.make_backup, "POST"),
    _operator("/configuracoes", "configuracoes", system.settings_in_force),
    _operator("/prorrogacoes", "prorrogacoes", extensions.show),
    _operator("/prorrogacoes", "prorrogacoes", extensions.add, "POST"),
    _operator("/prorrogacoes/{number}/remover", "prorrogacao-remover", extensions.remove, "POST"),
    _operator("/obsoletos", "obsoletos", deprecations.show),
    _operator("/dados-abertos", "dados-abertos", opendata.show),
    _operator("/dados-abertos/buscar", "buscar-mes", opendata.fetch, "POST"),
    _operator("/dados-abertos/voltar", "voltar", opendata.ask_to_go_back),
    _operator("/dados-abertos/voltar", "voltar", opendata.go_back, "POST"),
    _operator("/auditoria", "auditoria", audit.show),
)
