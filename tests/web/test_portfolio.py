"""`/app/carteira` and the notices of a portfolio."""

import msgspec

from balcao.accounts.mail.outbox import unsubscribe_token
from balcao.accounts.seal import Seal
from balcao.accounts.secrets import secrets_of
from balcao.core.item_events import ItemEvent
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.wallet import Notices, Recheck, Renewal, WalletSettings
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.item_events import HEAD_COLUMNS, head_of, write_item_events
from balcao.storage.desk.wallet import ItemFilter
from tests.service import Client, Service
from tests.web.browser import Browser, PageResponse, signed_in


def test_one_click_stops_the_notices(house: Service, who: Client) -> None:
    desk, program = house.desk, Browser(house)
    people = [Browser(house).sign_in_as("manager", who.account_id).user_id for _ in range(2)]

    def choose(settings: WalletSettings) -> WalletSettings:
        return msgspec.structs.replace(settings, notices=Notices(pessoas=tuple(people)))

    house.run(desk.wallets.change_settings(who.account_id, choose, None, str, AT_THE_TERMINAL, 0))
    seal = Seal(secrets_of(Home(house.folder), desk))
    token = unsubscribe_token(seal, who.account_id, people[0])
    address = f"/app/avisos/{token}"
    # A scanner that follows links changes nothing.
    assert "Parar de receber os avisos" in program.get(address).words
    assert desk.wallets.settings(who.account_id).notices.pessoas == tuple(people)
    foreign = {"origin": "https://correio.test", "sec_fetch_site": "cross-site"}
    for _ in range(2):
        answer = program.post(address, {"List-Unsubscribe": "One-Click"}, **foreign)
        assert (answer.status, "Você não recebe mais" in answer.words) == (200, True)
    assert desk.wallets.settings(who.account_id).notices.pessoas == (people[1],)
    assert program.post(f"{address[:-1]}x", {}, **foreign).status == 404


CNPJ, OTHER = "90010001000100", "90010002000154"
PATH = "/app/carteira"


def watch(browser: Browser, document: str = CNPJ, **fields: str) -> PageResponse:
    usual = {"documento": document, "vigiar_cadastro": "1", "vigiar_socios": "1"}
    return browser.post(f"{PATH}/incluir", usual | fields)


def write(house: Service, who: Client, item_id: str, kind: str, **data: object) -> None:
    """Write an event of an item."""

    def work(connection: SqlConnection) -> None:
        head = head_of(connection.execute(_HEAD, (item_id,)).fetchone())
        cause = f"{kind} {head.sequence}"
        event = ItemEvent(kind, cause, system_now_ms(), "cadastro", data)
        with connection.transaction():
            write_item_events(connection, head, [event])

    house.run(house.desk.engine.run_in_writer(work))


_HEAD = f"SELECT {', '.join(HEAD_COLUMNS)} FROM wallet_item WHERE item_id = ?"


def test_a_company_is_added_changed_and_removed(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    assert "Saiba quando um cliente muda" in browser.get(PATH).words
    wrong = watch(browser, "90.010.001/0001-99")
    assert wrong.status == 422
    assert wrong.tree.xpath("//input[@id='documento']/@aria-invalid") == ["true"]
    added = watch(browser, ref="F-118", etiquetas="fornecedor, sul", vigiar_inscricoes="SP mg")
    assert added.status == 303
    item = added.location.partition("?")[0]
    assert watch(browser).location == f"{item}?feito=ja"
    page = browser.get(item)
    (ufs,) = page.tree.xpath("//input[@name='vigiar_inscricoes']/@value")
    assert (ufs, page.field("ref")) == ("", "")  # the second form stated none
    wrong = browser.post(item, {"vigiar_cadastro": "1", "vigiar_inscricoes": "XX", "ref": "CPF"})
    assert "Informe siglas de estados" in wrong.words
    saved = browser.post(item, {"vigiar_cadastro": "1", "vigiar_inscricoes": "SP mg", "ref": "17"})
    assert saved.location == f"{item}?feito=salvo"
    (found,) = house.desk.wallets.page(who.account_id, ItemFilter())
    assert found.watched == ("cadastro", "inscricoes:MG", "inscricoes:SP")
    assert "90.010.001/0001-00" in browser.get(f"{PATH}?texto=90.010.001/0001-00").words
    assert "Nenhum item com esses filtros" in browser.get(f"{PATH}?etiqueta=outra").words
    assert f'href="{item}"' in browser.get(f"/app/empresas/{CNPJ}").text
    assert browser.post(f"{item}/remover").location.startswith(PATH)
    assert browser.get(item).status == 404


def test_changes_since_the_last_visit(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    first, second = (
        watch(browser, document).location.partition("?")[0] for document in (CNPJ, OTHER)
    )
    ids = [item.rpartition("/")[2] for item in (first, second)]
    write(house, who, ids[0], "empresa.nome", de="ALFA", para="BETA")
    write(house, who, ids[1], "empresa.situacao", de="ATIVA", para="INAPTA", grave=True)
    assert "2 mudanças desde a sua última visita" in browser.get("/app").words
    page = browser.get(f"{PATH}/mudancas")
    assert [each.text for each in page.tree.xpath("//dl[contains(@class, 'diff')]//del/span")] == [
        "antes: ",
        "antes: ",
    ]
    # What is grave comes first.
    assert "INAPTA" in page.tree.xpath("//article")[0].text_content()
    marked = browser.post(f"{second}/tratado", {"de": f"{PATH}/mudancas"})
    assert marked.location == f"{PATH}/mudancas"
    assert "Tratada" in browser.get(marked.location).words
    assert "Mudança" not in browser.get("/app").words.partition("Carteira")[2][:20]
    write(house, who, ids[1], "empresa.porte", de="DEMAIS", para=None)
    assert "DEMAIS" in browser.get(second).words
    assert "Desmarcar" not in browser.get(second).words  # it changed again
    stranger = signed_in(house)  # of another account
    assert stranger.get(second).status == 404
    assert stranger.post(f"{second}/tratado").status == 404


def test_a_list_is_previewed_before_it_is_synchronised(house: Service, who: Client) -> None:
    browser = signed_in(house, who)

    def preview(listed: str, **fields: str) -> PageResponse:
        return browser.post(f"{PATH}/lista", {"lista": listed, **fields})

    def documents() -> list[str]:
        found = house.desk.wallets.page(who.account_id, ItemFilter())
        return sorted(item.document for item in found)

    wrong = preview(CNPJ, acao="sincronizar")
    assert "Escolha um cliente ou uma etiqueta" in wrong.words
    page = preview(f"CNPJ;Código\n{CNPJ};17\n{CNPJ[:-1]}9;18\n", acao="incluir", etiqueta_todos="a")
    assert "1 linha com erro" in page.words
    assert "os dígitos verificadores não conferem" in page.words
    assert documents() == []
    done = browser.post(f"{PATH}/lista/confirmar", {"itens": page.field("itens")})
    assert "1 item incluído na carteira." in browser.get(done.location).words
    assert documents() == [CNPJ]
    refused = preview(f"{CNPJ}\n{OTHER}\n", acao="incluir", etiqueta_todos="529.982.247-25")
    assert refused.status == 422  # not an addition of nothing
    page = preview(OTHER, acao="sincronizar", etiqueta_todos="a")
    figures = [one.text_content() for one in page.tree.xpath("//span[@class='figure']")]
    assert figures == ["1", "1", "0", "0"]  # enter, leave, stay, wrong
    assert documents() == [CNPJ]
    browser.post(f"{PATH}/lista/confirmar", {"itens": page.field("itens")})
    assert documents() == [OTHER]
    assert browser.post(f"{PATH}/lista/confirmar", {"itens": "{"}).status == 422


def test_managers_choose_who_is_sent_what(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    address, user = f"{PATH}/avisos", browser.user
    assert user is not None
    fields = {"resumo_as": "18:30", "imediatos": "sempre", f"pessoa_{user.user_id}": "1"}
    wrong = browser.post(address, {**fields, "teto": "muito", "reconsultar": "91"})
    assert wrong.status == 422
    assert "Informe um número de 1 a 90" in wrong.words
    assert browser.post(address, {**fields, "teto": "50", "reconsultar": "7"}).status == 303
    account_id = who.account_id
    settings = house.desk.wallets.settings(account_id)
    assert settings.notices == Notices((10, 5, 1), "18:30", "sempre", (user.user_id,))
    assert settings.recheck == Recheck(7)
    assert settings.buyer_user_id == user.user_id
    assert house.desk.wallets.ceiling(account_id, system_now_ms()) == 50
    renewal = {"renovar": "1", "dias_antes": "15", "janela_de": "09:00", "janela_ate": "18:00"}
    wrong = browser.post(address, {**fields, **renewal, "dias_antes": "61", "avisos_dias": "x"})
    assert "Um número de 1 a 60" in wrong.words
    assert "Informe números de dias" in wrong.words
    saved = browser.post(address, {**fields, **renewal, "avisos_dias": "3, 30", "teto": "50"})
    assert saved.status == 303
    settings = house.desk.wallets.settings(account_id)
    assert settings.renew == Renewal(15, "09:00-18:00", dias_uteis=False)
    assert settings.notices.dias == (30, 3)
    assert browser.get(address).field("avisos_dias") == "30, 3"
    consultant = signed_in(house, who, "consultant")
    assert consultant.get(address).status == 403
    assert consultant.get(PATH).status == 200


def test_managers_move_the_clock_of_a_test_portfolio(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    address = f"{PATH}/relogio"
    assert "hora real" in browser.get(f"{PATH}/avisos").words
    for days in ("0", "401", "x"):
        wrong = browser.post(address, {"avancar_dias": days})
        assert (wrong.status, "Informe um número de 1 a 400" in wrong.words) == (422, True)
    assert browser.post(address, {"avancar_dias": "2"}).status == 303
    house.work("carteira_relogio", who.account_id)
    ahead = browser.get(f"{PATH}/avisos")
    assert "hora real" not in ahead.words.replace("Voltar à hora real", "")
    assert browser.post(address, {"acao": "real"}).status == 303
    assert "hora real" in browser.get(f"{PATH}/avisos").words
    live = house.account("produção", mode="live")
    assert "Relógio de teste" not in signed_in(house, live).get(f"{PATH}/avisos").words
    assert signed_in(house, live).post(address, {"avancar_dias": "2"}).status == 404
