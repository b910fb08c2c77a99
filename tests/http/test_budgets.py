"""`/conta/v1/orcamentos`, and lookups and quotes where a budget is exhausted (contract 12)."""

import json
from typing import Any

import pytest

from balcao.core.access import KeyRestrictions
from balcao.http.json_bodies import JSON_BODY
from tests.records import OTHER_CNPJ, a_company, company, federal
from tests.service import Client, Reply, Service

ALL = "/conta/v1/orcamentos"
PATH = "cnpj-receita-federal"


@pytest.fixture
def admin(world: Service) -> Client:
    return world.another_key(world.client, restrictions=KeyRestrictions(administers=True))


def send(world: Service, method: str, path: str, by: Client, body: object, **headers: str) -> Reply:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"content_type": "application/json", "content_length": str(len(text)), **headers}
    return world.request(method, path, by, body=text, **named)


def new_budget(client: Client, **fields: object) -> dict[str, object]:
    """Return the body of a new budget for this client's key."""
    whose = {"tipo": "chave", "id": str(client.key_id)}
    return {"de": whose, "periodo": "mes", "teto_creditos": 3} | fields


def make(world: Service, admin: Client, **fields: object) -> Any:
    made = send(world, "POST", ALL, admin, new_budget(world.client, **fields))
    assert made.status == 201, made.body
    return made.json


def test_lifecycle_of_a_budget(world: Service, admin: Client) -> None:
    world.keep(a_company())
    made = make(world, admin, nome="da loja", operacoes=[PATH])
    assert (made["success"], made["error"], made["usado_creditos"]) == (True, False, 0)
    one = f"{ALL}/{made['id']}"
    assert world.get(company()).status == 200
    seen = world.get(one).json  # its own key may see it
    assert (seen["usado_creditos"], seen["usadas_consultas"], seen["nome"]) == (1, 1, "da loja")
    assert seen["de"] == {"tipo": "chave", "id": str(world.client.key_id)}
    assert seen["volta_em"] == "2026-09-01T00:00:00.000-03:00"
    changed = send(world, "PATCH", one, admin, {"teto_creditos": 1, "aviso_percentual": 50})
    assert (changed.status, changed.json["teto_creditos"], changed.credits) == (200, 1, 0)

    refused = world.get(company(), idempotency_key="pedido-0001")
    assert (refused.status, refused.code, refused.credits) == (402, "TETO_DA_CHAVE", 0)
    numbers = ("teto", "usado", "reservado", "necessario", "volta_em")
    assert [refused.json[name] for name in numbers] == [1, 1, 0, 1, seen["volta_em"]]
    assert "retry-after" not in refused.headers

    assert world.request("DELETE", one, admin).json["usado_creditos"] == 1
    assert world.get(one, admin).code == "ORCAMENTO_NAO_ENCONTRADO"
    again = world.get(company(), idempotency_key="pedido-0001")  # which bound no key
    assert (again.status, again.credits) == (200, 1)


def test_a_quote_has_the_ceilings_and_the_refusal(world: Service, admin: Client) -> None:
    made = make(world, admin, teto_creditos=1)
    world.keep(a_company())
    quoted = world.get(company().replace("consultas", "cotacoes")).json
    assert quoted["recusa"] is None
    assert quoted["tetos"] == [
        {
            "de": "chave",
            "teto": 1,
            "usado": 0,
            "reservado": 0,
            "resta": 1,
            "volta_em": made["volta_em"],
        }
    ]
    assert world.get(federal().replace("consultas", "cotacoes")).json["recusa"] == "TETO_DA_CHAVE"
    assert world.get(federal()).code == "TETO_DA_CHAVE"
    assert not world.source.asked


def test_a_client_has_its_own_budget(world: Service, admin: Client) -> None:
    world.keep(a_company())
    body = {"de": {"tipo": "cliente", "valor": "acme"}, "periodo": "uma_vez", "teto_consultas": 1}
    assert send(world, "POST", ALL, admin, body).json["nome"] == "Cliente acme"
    assert world.get(company(), x_cliente="acme").status == 200
    assert world.get(company(), x_cliente="outro").status == 200
    refused = world.get(company(), x_cliente="acme")
    assert (refused.code, refused.json["volta_em"]) == ("TETO_DO_CLIENTE", None)
    assert (refused.json["teto"], refused.json["usado"], refused.json["necessario"]) == (1, 1, 1)


def test_a_failed_lookup_releases_its_hold(world: Service, admin: Client) -> None:
    made = make(world, admin)
    world.source.fails()
    assert world.get(company(OTHER_CNPJ)).status == 500
    body = world.get(f"{ALL}/{made['id']}").json
    assert [body[name] for name in ("usado_creditos", "reservado_creditos")] == [0, 0]
    assert body["usadas_consultas"] == 0


def test_visibility_and_permissions(world: Service, admin: Client) -> None:
    other = world.another_key(world.client)
    stranger = world.account("bruno", credits=0)
    made = make(world, admin)
    one = f"{ALL}/{made['id']}"
    for by in (other, stranger):
        assert world.get(one, by).status == 404
        assert world.get(ALL, by).json["itens"] == []
    assert world.get(one, None).status == 401
    assert [each["id"] for each in world.get(ALL, admin).json["itens"]] == [made["id"]]
    for method, path, body in (
        ("POST", ALL, new_budget(world.client)),
        ("PATCH", one, {"teto_creditos": 9}),
    ):
        refused = send(world, method, path, world.client, body)
        assert (refused.status, refused.code) == (403, "CHAVE_NAO_ADMINISTRA")
    assert world.request("DELETE", one, world.client).code == "CHAVE_NAO_ADMINISTRA"


def test_lists_come_in_pages(world: Service, admin: Client) -> None:
    for number in range(3):
        body = {"de": {"tipo": "cliente", "valor": f"c{number}"}, "periodo": "dia"}
        assert send(world, "POST", ALL, admin, body | {"teto_creditos": 1}).status == 201
    first = world.get(f"{ALL}?limite=2", admin).json
    assert [each["de"]["valor"] for each in first["itens"]] == ["c0", "c1"]
    second = world.get(f"{ALL}?limite=2&cursor={first['cursor']}", admin).json
    assert [each["de"]["valor"] for each in second["itens"]] == ["c2"]
    assert second["cursor"] is None
    for wrong in (
        "limite=",
        "limite=0",
        "limite=1001",
        "limite=x",
        "cursor=x",
        "limite=1&limite=2",
    ):
        assert world.get(f"{ALL}?{wrong}", admin).status == 400, wrong


def test_the_same_key_and_body_create_once(world: Service, admin: Client) -> None:
    body = new_budget(world.client)
    first = send(world, "POST", ALL, admin, body, idempotency_key="orcamento-1")
    again = send(world, "POST", ALL, admin, body, idempotency_key="orcamento-1")
    assert (again.status, again.body) == (201, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    assert (
        again.headers["x-request-id"] == first.headers["x-request-id"] == again.json["request_id"]
    )
    assert len(world.get(ALL, admin).json["itens"]) == 1
    other = send(world, "POST", ALL, admin, body | {"nome": "x"}, idempotency_key="orcamento-1")
    assert (other.status, other.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA")
    wrong = send(world, "POST", ALL, admin, body, idempotency_key="curta")
    assert wrong.code == "IDEMPOTENCY_KEY_INVALIDA"


@pytest.mark.parametrize(
    ("wrong", "status", "code", "named"),
    [
        (b"{", 400, "CORPO_INVALIDO", ""),
        (b"[]", 400, "CORPO_INVALIDO", ""),
        (b"\xff", 400, "CORPO_INVALIDO", ""),
        (b"x" * (JSON_BODY.bytes_max + 1), 413, "REQUISICAO_GRANDE_DEMAIS", ""),
        ({"cor": "azul"}, 400, "PARAMETRO_INVALIDO", "cor"),
        ({"de": {"tipo": "chave", "id": "1", "x": 1}}, 400, "PARAMETRO_INVALIDO", "de.x"),
        ({"de": {"tipo": "chave"}}, 400, "PARAMETRO_INVALIDO", "de"),
        ({"de": {"tipo": "chave", "id": "99"}}, 400, "PARAMETRO_INVALIDO", "de"),
        ({"de": {"tipo": "cliente", "valor": "a b"}}, 400, "PARAMETRO_INVALIDO", ""),
        ({"de": {"tipo": "cliente", "valor": "52998224725"}}, 400, "MARCA_COM_CPF", ""),
        ({"nome": "900.100.001-00 Fulana"}, 400, "MARCA_COM_CPF", "nome"),
        ({"de": {"tipo": "lote", "id": "1"}}, 400, "PARAMETRO_INVALIDO", "de.tipo"),
        ({"periodo": "ano"}, 400, "PARAMETRO_INVALIDO", "periodo"),
        ({"teto_creditos": None}, 400, "PARAMETRO_INVALIDO", "teto_creditos"),
        ({"teto_creditos": "3"}, 400, "PARAMETRO_INVALIDO", "teto_creditos"),
        ({"teto_creditos": -1}, 400, "PARAMETRO_INVALIDO", "teto_creditos"),
        ({"operacoes": ["nada"]}, 400, "PARAMETRO_INVALIDO", "operacoes"),
        ({"aviso_percentual": 101}, 400, "PARAMETRO_INVALIDO", "aviso_percentual"),
    ],
)
def test_invalid_bodies(  # noqa: PLR0917
    world: Service, admin: Client, wrong: Any, status: int, code: str, named: str
) -> None:
    body = wrong if isinstance(wrong, bytes) else new_budget(world.client) | wrong
    reply = send(world, "POST", ALL, admin, body)
    assert (reply.status, reply.code) == (status, code)
    assert reply.json["message"].startswith(named)


def test_other_types_and_methods_are_refused(world: Service, admin: Client) -> None:
    reply = send(world, "POST", ALL, admin, {}, content_type="text/plain")
    assert (reply.status, reply.code) == (415, "TIPO_NAO_SUPORTADO")
    reply = world.request("PUT", ALL, admin)
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, POST, OPTIONS")
    preflight = world.request("OPTIONS", f"{ALL}/x", None)
    allowed = preflight.headers["access-control-allow-methods"]
    assert {"PATCH", "DELETE"} <= set(allowed.split(", "))
    for missing in (f"{ALL}/", f"{ALL}/x", f"{ALL}/x/y"):
        assert world.get(missing, admin).status == 404, missing


def test_too_many_budgets_are_refused(world: Service, admin: Client) -> None:
    make(world, admin)
    make(world, admin, periodo="dia")
    reply = send(world, "POST", ALL, admin, new_budget(world.client, periodo="uma_vez"))
    assert (reply.status, reply.code) == (409, "ORCAMENTOS_DEMAIS")


def test_the_null_character_reaches_no_database(world: Service, admin: Client) -> None:
    body = json.dumps(new_budget(world.client, nome="a\0b"))
    refused = send(world, "POST", "/conta/v1/orcamentos", admin, body.encode())
    assert (refused.status, refused.code) == (400, "PARAMETRO_INVALIDO")
    written = new_budget(world.client, nome="a\\u0000b")  # six characters
    assert make(world, admin, **written)["nome"] == "a\\u0000b"
