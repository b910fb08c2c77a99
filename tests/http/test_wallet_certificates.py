"""Purchases on request, files and calendars of the portfolio's certificates (contract 20.7)."""

from typing import Any

import pytest

from balcao.core.access import KeyRestrictions
from balcao.storage.desk.wallet import calendars
from tests.http.batcher import Batcher
from tests.http.test_wallet import add, send
from tests.records import CNPJ, CPF
from tests.service import Service

RENEW, CALENDARS = "/carteira/v1/renovar", "/carteira/v1/calendarios"
BRANCH = CNPJ[:8] + "000290"


def watch(world: Service, document: str = CNPJ, **fields: Any) -> str:
    found = add(world, documento=document, vigiar=["certidao_federal"], **fields)
    world.clock.advance(seconds=2)
    return str(found["id"])


def test_certificates_are_bought_now_in_a_batch(world: Service) -> None:
    item = watch(world, cliente="loja-7", ref="17")
    branch = watch(world, BRANCH)
    body = {"papel": "certidao_federal", "itens": [item, branch], "teto_creditos": 2}
    keyed: dict[str, Any] = {"idempotency_key": "renovar-1"}
    made = send(world, "POST", RENEW, body, **keyed)
    assert (made.status, made.json["estado"]) == (201, "recebido")
    assert made.headers["location"] == f"/lotes/v1/{made.json['id']}"
    again = send(world, "POST", RENEW, body, **keyed)
    assert again.json["id"] == made.json["id"]
    done = Batcher(world, world.client).until(made.json["id"], "concluido")
    # One certificate for both, with the marks of the oldest.
    assert done["linhas"]["total"] == 1
    assert (done["teto_creditos"], done["creditos_gastos"]) == (2, 2)
    (row,) = world.get(f"/lotes/v1/{made.json['id']}/linhas").json["itens"]
    assert (row["ref"], row["estado"]) == ("17", "concluida")
    for each in (item, branch):
        (paper,) = world.get(f"/carteira/v1/itens/{each}").json["papeis"]
        assert (paper["estado"], paper["request_id"]) == ("valida", row["request_id"])
    chosen = {"filtro": {"cliente": "loja-7"}, "papel": "certidao_federal", "teto_creditos": 0}
    assert send(world, "POST", RENEW, chosen).status == 201


def test_purchases_that_make_no_sense(world: Service) -> None:
    item = watch(world)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"itens": [item], "filtro": {}}, "PARAMETRO_INVALIDO"),
        ({}, "PARAMETRO_INVALIDO"),
        ({"itens": ["0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6d2"]}, "ITEM_NAO_ENCONTRADO"),
        ({"filtro": {"estado": "positiva"}}, "PARAMETRO_INVALIDO"),
        ({"filtro": {"estado": "boa"}}, "PARAMETRO_INVALIDO"),
        ({"itens": [item], "teto_creditos": -1}, "PARAMETRO_INVALIDO"),
        ({"itens": [item], "papel": "outra"}, "PARAMETRO_INVALIDO"),
    ]
    for more, code in wrong:
        sent = {"papel": "certidao_federal", "teto_creditos": 4, **more}
        assert send(world, "POST", RENEW, sent).code == code, more


def test_a_calendar_is_made_listed_and_removed(world: Service) -> None:
    keyed: dict[str, Any] = {"idempotency_key": "calendario-1"}
    body = {"nome": "Loja 7", "filtro": {"cliente": "loja-7", "estado": "valida"}}
    made = send(world, "POST", CALENDARS, body, **keyed)
    assert (made.status, len(made.json["endereco"].rpartition("/")[2])) == (201, 47)
    again = send(world, "POST", CALENDARS, body, **keyed)
    assert (again.status, again.json["endereco"]) == (201, None)
    (listed,) = world.get(CALENDARS).json["itens"]
    assert listed == {name: again.json[name] for name in listed}
    assert listed["filtro"] == {"cliente": "loja-7", "etiqueta": None, "estado": "valida"}
    for wrong in ({"nome": CPF}, {"filtro": {"estado": "boa"}}, {"filtro": {"cliente": "a b"}}):
        assert send(world, "POST", CALENDARS, wrong).status == 400
    one = f"{CALENDARS}/{listed['id']}"
    assert world.request("DELETE", one).json["nome"] == "Loja 7"
    assert world.request("DELETE", one).code == "CALENDARIO_NAO_ENCONTRADO"


def test_a_client_key_sees_the_calendars_of_its_client(world: Service) -> None:
    key = world.another_key(world.client, restrictions=KeyRestrictions(client_required=True))
    assert send(world, "POST", CALENDARS, {}, by=key).code == "CLIENTE_OBRIGATORIO"
    send(world, "POST", CALENDARS, {})
    made = send(world, "POST", CALENDARS, {}, by=key, x_cliente="loja-7")
    assert made.json["filtro"]["cliente"] == "loja-7"
    (seen,) = world.get(CALENDARS, key, x_cliente="loja-7").json["itens"]
    assert seen["id"] == made.json["id"]
    assert len(world.get(CALENDARS).json["itens"]) == 2


def test_an_account_has_some_calendars_at_most(
    world: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendars, "CALENDARS_MAX", 1)
    assert send(world, "POST", CALENDARS, {}).status == 201
    assert send(world, "POST", CALENDARS, {}).code == "CALENDARIOS_DEMAIS"
