"""`/webhooks/v1`: created, changed, tested, listed, repeated; the secret once (contract 19.4)."""

import asyncio
import json
from typing import Any

import pytest

from balcao.accounts.webhooks import resolving
from balcao.core.access import KeyRestrictions
from balcao.service.webhooks.sending import Sender
from tests.service import Client, Reply, Service

ALL = "/webhooks/v1"
URL = "https://erp.test/balcao"


@pytest.fixture(autouse=True)
def resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some names resolve, and nothing is sent."""
    names = {"erp.test": ["8.8.8.8"], "inner.test": ["10.0.0.1"]}
    monkeypatch.setattr(resolving, "_addresses", lambda host, port: names.get(host, []))

    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Sender, "send", hang)


@pytest.fixture
def admin(world: Service) -> Client:
    return world.another_key(world.client, restrictions=KeyRestrictions(administers=True))


def send(world: Service, method: str, path: str, by: Client, body: object, **headers: str) -> Reply:
    text = json.dumps(body).encode()
    named = {"content_type": "application/json", "content_length": str(len(text)), **headers}
    return world.request(method, path, by, body=text, **named)


def create(world: Service, admin: Client, **fields: object) -> Any:
    made = send(world, "POST", ALL, admin, {"url": URL, **fields})
    assert made.status == 201, made.body
    return made.json


def test_lifecycle_of_a_webhook(world: Service, admin: Client) -> None:
    made = create(world, admin, tipos=["certidao.*"], descricao="ERP")
    one = f"{ALL}/{made['id']}"
    assert made["segredo"].startswith("whsec_")
    assert made["segredo_final"] == made["segredo"][-4:]
    seen = world.get(one, admin).json
    assert (seen["segredo"], seen["segredo_final"]) == (None, made["segredo_final"])
    assert (seen["ativo"], seen["estado"], seen["motivo"], seen["em_espera"]) == (
        True, "ativo", None, 0,
    )  # fmt: skip
    off = send(world, "PATCH", one, admin, {"ativo": False, "clientes": ["loja"]}).json
    assert (off["estado"], off["motivo"], off["tipos"]) == ("desligado", "usuario", ["certidao.*"])
    tested = world.request("POST", f"{one}/testar", admin)
    assert tested.status == 202
    (delivery,) = world.get(f"{one}/entregas", admin).json["itens"]
    assert (delivery["evento"], delivery["tipo"]) == (tested.json["evento"], "balcao.ping")
    assert (delivery["estado"], delivery["tentativa"], delivery["em"]) == ("esperando", 0, None)
    refused = send(world, "POST", f"{one}/reenviar", admin, {"entrega": delivery["id"]})
    assert refused.code == "WEBHOOK_DESLIGADO"
    assert send(world, "PATCH", one, admin, {"ativo": True}).json["estado"] == "ativo"
    again = send(world, "POST", f"{one}/reenviar", admin, {"entrega": delivery["id"]})
    assert (again.status, again.json["a_reenviar"]) == (202, 1)
    since = {"desde": "2020-01-01T00:00:00-03:00"}
    assert send(world, "POST", f"{one}/reenviar", admin, since).json["a_reenviar"] == 0
    rotated = send(world, "POST", f"{one}/girar-segredo", admin, {"horas": 0}).json
    assert rotated["segredo"] not in (None, made["segredo"])
    by_default = world.request("POST", f"{one}/girar-segredo", admin)
    assert (by_default.status, by_default.json["segredo"] is None) == (200, False)
    assert [each["id"] for each in world.get(ALL, admin).json["itens"]] == [made["id"]]
    assert world.request("DELETE", one, admin).status == 200
    assert world.get(one, admin).code == "WEBHOOK_NAO_ENCONTRADO"


def test_the_secret_stands_in_one_answer(world: Service, admin: Client) -> None:
    bodies = []
    for _ in range(100):
        reply = send(world, "POST", ALL, admin, {"url": URL}, idempotency_key="criar-um-webhook")
        assert reply.status == 201
        bodies.append(reply.json)
    assert [body["segredo"] is not None for body in bodies] == [True] + [False] * 99
    assert len({body["id"] for body in bodies}) == 1
    secret = bodies[0]["segredo"].removeprefix("whsec_").encode()
    one = f"{ALL}/{bodies[0]['id']}"
    turns = [
        send(world, "POST", f"{one}/girar-segredo", admin, {}, idempotency_key="girar-uma-vez")
        for _ in range(2)
    ]
    assert [turn.json["segredo"] is None for turn in turns] == [False, True]
    files = [path for path in world.folder.rglob("*") if path.is_file() and not path.is_socket()]
    assert files
    assert not [path for path in files if secret in path.read_bytes()]
    assert secret not in world.logged


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "https://inner.test/"}, "ENDERECO_DO_WEBHOOK"),
        ({"url": "https://nada.test/"}, "ENDERECO_DO_WEBHOOK"),
        ({"url": "http://erp.test/"}, "ENDERECO_DO_WEBHOOK"),
        ({"url": URL, "tipos": ["x"]}, "PARAMETRO_INVALIDO"),
        ({"url": URL, "tipos": []}, "PARAMETRO_INVALIDO"),
        ({"url": URL, "clientes": ["a b"]}, "PARAMETRO_INVALIDO"),
        ({"url": URL, "clientes": ["52998224725"]}, "MARCA_COM_CPF"),
        ({"url": URL, "descricao": "CPF 529.982.247-25"}, "MARCA_COM_CPF"),
        ({"url": URL, "descricao": "ERP\x00"}, "PARAMETRO_INVALIDO"),
        ({"url": URL, "segredo": "x"}, "PARAMETRO_INVALIDO"),
        ({}, "PARAMETRO_INVALIDO"),
    ],
)
def test_what_is_refused(world: Service, admin: Client, body: object, code: str) -> None:
    refused = send(world, "POST", ALL, admin, body)
    assert (refused.status, refused.code) == (400, code)
    assert world.get(ALL, admin).json["itens"] == []


def test_only_keys_that_administer_and_own_webhooks(world: Service, admin: Client) -> None:
    made = create(world, admin)
    one = f"{ALL}/{made['id']}"
    for reply in (world.get(ALL), world.get(one), world.request("DELETE", one)):
        assert (reply.status, reply.code) == (403, "CHAVE_NAO_ADMINISTRA")
    other = world.another_key(
        world.account("bruno"), restrictions=KeyRestrictions(administers=True)
    )
    for path in (one, f"{one}/entregas"):
        assert world.get(path, other).code == "WEBHOOK_NAO_ENCONTRADO"
    assert world.request("POST", f"{one}/testar", other).code == "WEBHOOK_NAO_ENCONTRADO"
    unknown = send(world, "POST", f"{one}/reenviar", admin, {"entrega": "999"})
    assert (unknown.status, unknown.code) == (404, "ENTREGA_NAO_ENCONTRADA")
    for body in ({}, {"entrega": "1", "desde": "2026-01-01T00:00:00Z"}, {"desde": "2026-01-01"}):
        assert send(world, "POST", f"{one}/reenviar", admin, body).code == "PARAMETRO_INVALIDO"
    for _ in range(9):
        create(world, admin)
    assert send(world, "POST", ALL, admin, {"url": URL}).code == "WEBHOOKS_DEMAIS"
