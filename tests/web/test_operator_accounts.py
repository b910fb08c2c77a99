"""Operators' pages of accounts: opening, terms, credits, suspension."""

import asyncio
from collections.abc import Sequence

import pytest

from balcao.accounts.links import new_token
from balcao.core.access import Account
from balcao.core.ledger import Charge, Hold
from balcao.core.people import Signature
from balcao.service.clock import system_now_ms
from balcao.storage.contract import LedgerEntry
from tests.records import federal_of
from tests.service import Service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.lookups import COMPANY, GOOD

ACCOUNTS = "/app/operador/contas"


@pytest.fixture
def house(fresh: Service) -> Service:
    return fresh


def account(house: Service, name: str) -> Account:
    return next(one for one in house.desk.accounts() if one.name == name)


def top_ups(house: Service, of: Account) -> Sequence[LedgerEntry]:
    entries = house.desk.entries(of.account_id, 0, 1 << 60)
    return [entry for entry in entries if entry.kind == "top_up"]


def cells(page: PageResponse, caption: str) -> list[list[str]]:
    """Return the texts of a table."""
    rows = page.tree.xpath(f"//table[caption='{caption}']/tbody/tr")
    return [["".join(cell.itertext()).strip() for cell in row] for row in rows]


def open_account(operator: Browser, name: str = "acme", **fields: str) -> PageResponse:
    form = {"form_id": new_token(), "nome": name, "plano": "pre_pago", "tipo": "live", **fields}
    return operator.post(f"{ACCOUNTS}/nova", form)


def opened_account(operator: Browser, name: str = "acme", **fields: str) -> Account:
    assert open_account(operator, name, **fields).status == 303
    return account(operator.house, name)


def give(operator: Browser, to: Account, credits: str, **fields: str) -> PageResponse:
    form = {"form_id": new_token(), "creditos": credits, "motivo": "pedido 123", **fields}
    return operator.post(f"{ACCOUNTS}/{to.account_id}/creditos", form)


# ---- Opening ----


def test_opening_an_account(operator: Browser) -> None:
    response = open_account(
        operator, "Açaí & Cia", plano="pos_pago", certidoes="1", optin="1", teto="1.500"
    )
    made = account(operator.house, "Açaí & Cia")
    assert (response.status, response.location) == (
        303,
        f"{ACCOUNTS}/{made.account_id}?feito=criada",
    )
    assert (made.plan, made.mode, made.certificates, made.partner_optin, made.ceiling_credits) == (
        "pos_pago", "live", True, True, 1500,
    )  # fmt: skip
    page = operator.get(response.location)
    assert "Conta Açaí & Cia criada. Depois, convide um usuário" in page.words
    assert "limite de 1.500" in page.words


def test_a_form_sent_twice_opens_one_account(operator: Browser) -> None:
    form_id = new_token()
    first = open_account(operator, form_id=form_id)
    again = open_account(operator, form_id=form_id)
    made = account(operator.house, "acme")
    assert [response.location for response in (first, again)] == [
        f"{ACCOUNTS}/{made.account_id}?feito=criada",
        f"{ACCOUNTS}/{made.account_id}?feito=ja",
    ]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"nome": "12"}, "Não pode ser só um número"),
        ({"nome": ""}, "Não pode ser vazio"),
        ({"nome": "Fulana 900.100.001-00"}, "não pode ter um CPF"),
        ({"nome": "x" * 101}, "Deve ter de 1 a 100 caracteres"),
        ({"plano": "outro"}, "Escolha um plano"),
        ({"tipo": ""}, "não pode ser mudado depois"),
        ({"teto": "10"}, "Só o plano pós-pago tem limite mensal"),
        ({"plano": "pos_pago", "teto": "dez"}, "Informe um número inteiro"),
        ({"plano": "gratuito", "certidoes": "1"}, "nunca inclui as certidões"),
        ({"nome": "ana"}, "Já existe uma conta com este nome"),
    ],
)
def test_errors_are_shown_at_their_field(
    operator: Browser, fields: dict[str, str], complaint: str
) -> None:
    before = len(operator.house.desk.accounts())
    response = open_account(operator, **fields)
    assert response.status == 422
    (error,) = [text for text in response.tree.xpath("//*[@class='field-error']/text()") if text]
    assert complaint in error
    assert len(operator.house.desk.accounts()) == before


def test_a_form_without_a_number_does_nothing(operator: Browser) -> None:
    assert open_account(operator, form_id="").status == 400
    assert "acme" not in [one.name for one in operator.house.desk.accounts()]


# ---- The list ----


def test_the_list_is_filtered(operator: Browser) -> None:
    opened_account(operator, "acme um", plano="gratuito")
    closed = opened_account(operator, "acme dois", plano="pos_pago")
    operator.post(f"{ACCOUNTS}/{closed.account_id}/suspender", {"form_id": new_token()})

    def names(query: str) -> list[str]:
        return list(operator.get(f"{ACCOUNTS}?{query}").tree.xpath("//tbody//th/a/text()"))

    assert names("nome=ACME") == ["acme um", "acme dois"]
    assert names("nome=acme&plano=gratuito") == ["acme um"]
    assert names("nome=acme&tipo=test") == []
    assert names("tipo=live&estado=suspensa") == ["acme dois"]
    assert names(f"nome={closed.account_id}")[0] == "acme dois"
    assert "2 de 8 contas" in operator.get(f"{ACCOUNTS}?nome=acme").words


# ---- Terms ----


def test_terms_are_changed(operator: Browser) -> None:
    made = opened_account(operator, "acme", plano="gratuito")
    path = f"{ACCOUNTS}/{made.account_id}"
    response = operator.post(
        f"{path}/termos", {"form_id": new_token(), "plano": "pos_pago", "teto": "50", "optin": "1"}
    )
    assert response.location == f"{path}?feito=termos"
    after = account(operator.house, "acme")
    assert (after.plan, after.ceiling_credits, after.partner_optin) == ("pos_pago", 50, True)
    (entry, *_) = operator.house.desk.people.audit(1)
    assert entry.detail == "plano gratuito → pos_pago; CPF dos sócios não → sim; teto nenhum → 50"


def test_terms_that_the_ledger_forbids_are_explained(operator: Browser) -> None:
    made = opened_account(operator, "acme", plano="pos_pago")
    path = f"{ACCOUNTS}/{made.account_id}"
    spend(operator.house, made, 7)
    ceiling = operator.post(
        f"{path}/termos", {"form_id": new_token(), "plano": "pos_pago", "teto": "6"}
    )
    assert ceiling.status == 422
    assert "O limite não pode ser menor que o valor já usado: 7 neste mês" in ceiling.words
    prepaid = operator.post(f"{path}/termos", {"form_id": new_token(), "plano": "pre_pago"})
    assert prepaid.status == 422
    assert (
        "O plano pré-pago não aceita saldo negativo. O saldo desta conta é de −7" in prepaid.words
    )
    assert account(operator.house, "acme").plan == "pos_pago"


def spend(house: Service, of: Account, credits: int) -> None:
    now = system_now_ms()
    charge = Charge(of.account_id, None, new_token(), "sintegra", credits, "teste", "cache", now)
    assert house.desk.commit_now([charge]) is None


# ---- Credits ----


def test_a_top_up_sent_twice_counts_once(operator: Browser) -> None:
    made = opened_account(operator)
    form_id = new_token()
    response = [give(operator, made, "1.000", form_id=form_id).location for _ in range(2)]
    path = f"{ACCOUNTS}/{made.account_id}"
    assert response == [f"{path}?feito=creditos", f"{path}?feito=ja"]
    assert account(operator.house, "acme").balance_credits == 1000
    (entry,) = top_ups(operator.house, made)
    assert (entry.credits, entry.reason) == (1000, "pedido 123")
    page = operator.get(response[1])
    assert "Nada foi feito de novo" in page.words
    assert cells(page, "Créditos lançados")[0][1:] == ["+1.000", "pedido 123"]


def test_a_top_up_sent_concurrently_counts_once(operator: Browser) -> None:
    made = opened_account(operator)
    fields = {"form_id": new_token(), "creditos": "1000", "motivo": "pedido 123"}
    headers = {"sec_fetch_site": "same-origin"}
    path = f"{ACCOUNTS}/{made.account_id}/creditos"

    async def all_at_once() -> list[PageResponse]:
        return await asyncio.gather(
            *(operator.send("POST", path, fields, headers) for _ in range(8))
        )

    done = [response.location.rpartition("=")[2] for response in operator.house.run(all_at_once())]
    assert sorted(done) == ["creditos", *["ja"] * 7]
    assert account(operator.house, "acme").balance_credits == 1000


def test_credits_are_taken_back_down_to_the_held_ones(operator: Browser) -> None:
    made = opened_account(operator)
    give(operator, made, "100")
    hold = Hold(made.account_id, None, "0190-pendente", "sintegra", 30, system_now_ms())
    assert operator.house.desk.commit_now([hold]) is None
    form_id = new_token()
    refused = give(operator, made, "-71", form_id=form_id)
    assert refused.status == 422
    assert "Não é possível retirar 71. Disponíveis: 70" in refused.words
    assert refused.field("creditos") == "-71"
    # A refused form was not carried out, so it can be sent again.
    assert give(operator, made, "-70", form_id=form_id).location.endswith("feito=creditos")
    again = give(operator, made, "-70", form_id=form_id)
    assert again.location.endswith("feito=ja")  # not that nothing is left
    assert account(operator.house, "acme").balance_credits == 30
    operator.house.desk.recover(system_now_ms())


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"creditos": "0"}, "Deve ser diferente de zero"),
        ({"creditos": "1,5"}, "Informe um número inteiro"),
        ({"creditos": ""}, "Informe um número inteiro"),
        ({"creditos": "999999999999999"}, "É grande demais"),
        ({"motivo": ""}, "Informe o motivo"),
    ],
)
def test_a_wrong_top_up_is_explained(
    operator: Browser, fields: dict[str, str], complaint: str
) -> None:
    made = opened_account(operator)
    form = {"form_id": new_token(), "creditos": "5", "motivo": "pedido", **fields}
    response = operator.post(f"{ACCOUNTS}/{made.account_id}/creditos", form)
    assert response.status == 422
    assert complaint in response.words
    assert not top_ups(operator.house, made)


# ---- Suspending ----


def test_a_suspended_account_is_refused_everywhere_until_it_is_resumed(
    house: Service, operator: Browser
) -> None:
    manager = signed_in(house)
    assert house.get(federal_of(GOOD)).status == 200
    path = f"{ACCOUNTS}/{house.client.account_id}"

    question = operator.get(f"{path}/suspender")
    assert "Suspender a conta ana?" in question.words
    assert house.get(federal_of(GOOD)).status == 200  # the confirmation page changes nothing
    form = {"form_id": question.field("form_id")}
    assert operator.post(f"{path}/suspender", form).location == f"{path}?feito=suspensa"
    charged = len(house.charges())
    assert house.get(federal_of(GOOD)).status == 401
    looked_up = manager.post(COMPANY, {"cnpj": GOOD, "form_id": new_token()})
    assert looked_up.status == 403
    assert len(house.charges()) == charged
    assert manager.get("/app").status == 200  # can still read
    assert operator.post(f"{path}/suspender", form).location == f"{path}?feito=ja"

    page = operator.get(path)
    assert "Suspensa desde" in page.words
    resumed = operator.post(f"{path}/reativar", {"form_id": new_token()})
    assert resumed.location == f"{path}?feito=reativada"
    assert house.get(federal_of(GOOD)).status == 200


# ---- Keys, users, history ----


def test_a_key_is_created_shown_once_and_revoked(house: Service, operator: Browser) -> None:
    path = f"{ACCOUNTS}/{house.client.account_id}/chaves"
    form = {"form_id": new_token(), "nome": "folha"}
    made = operator.post(path, form)
    assert made.status == 201
    (text,) = made.tree.xpath("//code[starts-with(text(), 'balcao_test_')]/text()")
    assert operator.post(path, form).status == 409
    keys = house.desk.keys(house.client.account_id)
    assert [key.name for key in keys] == ["teste", "folha"]
    assert text not in operator.get(path).text
    answer = house.request("GET", federal_of(GOOD), None, x_api_key=text)
    assert answer.status == 200
    revoke = f"{path}/{keys[1].key_id}/revogar"
    assert "Revogar a chave folha?" in operator.get(revoke).words
    gone = operator.post(revoke, {"form_id": new_token()})
    assert gone.location == f"{path}?feito=revogada"
    assert house.request("GET", federal_of(GOOD), None, x_api_key=text).status == 401
    # Another account's key is not found below this one.
    other = house.account("outra")
    elsewhere = f"{ACCOUNTS}/{other.account_id}/chaves/{house.client.key_id}/revogar"
    assert operator.post(elsewhere, {"form_id": new_token()}).status == 404
    assert house.get(federal_of(GOOD)).status == 200


def test_users_are_added_and_their_second_factor_turned_off(
    house: Service, operator: Browser
) -> None:
    path = f"{ACCOUNTS}/{house.client.account_id}/usuarios"
    form = {
        "form_id": new_token(), "nome": "Ana", "email": "ana@balcao.test", "papel": "manager"
    }  # fmt: skip
    response = operator.post(path, form)
    assert response.status == 201
    assert "/app/convite/" in response.text
    people = house.desk.people
    (user,) = people.users(house.client.account_id)
    assert (user.role, user.account_id) == ("manager", house.client.account_id)
    signed = operator.user
    assert signed is not None
    assert people.audit(1)[0].user_id == signed.user_id

    off = f"{path}/{user.user_id}/sem-totp"
    page = f"{ACCOUNTS}/{house.client.account_id}"
    assert "Segundo fator dos usuários" not in operator.get(page).words
    house.run(people.set_totp(user.user_id, b"sealed", Signature("cli"), system_now_ms()))
    assert "Segundo fator dos usuários" in operator.get(page).words
    assert operator.post(off, {"form_id": new_token()}).location == f"{page}?feito=sem-totp"
    (user,) = people.users(house.client.account_id)
    assert not user.has_totp


def test_the_history_leads_to_each_request(house: Service, operator: Browser) -> None:
    answer = house.get(federal_of(GOOD))
    path = f"{ACCOUNTS}/{house.client.account_id}/historico"
    response = operator.get(path)
    number = answer.headers["x-request-id"]
    assert response.tree.xpath("//tbody//a/@href") == [f"/app/operador/requisicoes/{number}"]
    assert "90.010.001/0001-00" in response.words


def test_the_overview_shows_accounts_with_few_credits(house: Service, operator: Browser) -> None:
    house.account("pobre", credits=12)
    spend(house, account(house, "pobre"), 7)
    spend(house, account(house, "ana"), 500)
    response = operator.get("/app/operador")
    assert response.status == 200
    # Available credits, and a week's consumption.
    assert cells(response, "Contas com poucos créditos") == [["pobre", "5", "7"]]
    (today,) = response.tree.xpath("//dt[.='Créditos hoje']/following-sibling::dd/span/text()")
    assert today == "507"
