"""`X-Cliente` and `X-Referencia`: read, repeated in answers, stored with charges (11.1)."""

import json

import pytest

from tests.records import CNPJ as KNOWN
from tests.records import CPF, a_company, company, federal, sintegra
from tests.service import Client, Service, assert_refused

CNPJ = "90010001000100"
ALL = "a.B_9:/-" + "x" * 56


def tags_of(world: Service) -> list[tuple[str, str | None, str | None]]:
    """Return kind and tags of all entries and charged lookups."""
    sql = "SELECT kind, client, reference FROM ledger_entry WHERE kind <> 'top_up' UNION ALL"
    sql += " SELECT 'charged_lookup', client, reference FROM charged_lookup"
    return world.desk.engine.connection.execute(sql).fetchall()


def test_tags_are_stored_with_a_charge_and_repeated(world: Service) -> None:
    world.keep(a_company(), days=1)
    at_hand = company(query="cache_strategy=CACHE_SE_EXISTIR")
    answer = world.get(at_hand, x_cliente="loja-7", x_referencia=f" {ALL} ")
    assert answer.status == 200
    assert (answer.headers["x-cliente"], answer.headers["x-referencia"]) == ("loja-7", ALL)
    assert tags_of(world) == [("charge", "loja-7", ALL)]
    plain = world.get(company())
    assert not {"x-cliente", "x-referencia"} & plain.headers.keys()


def test_tags_are_stored_with_a_hold_and_its_settlement(world: Service) -> None:
    world.source.finds()
    assert world.get(sintegra(query="uf=SP&cache=0"), x_referencia="NF:12/3").status == 200
    assert tags_of(world) == [("hold", None, "NF:12/3"), ("post", None, "NF:12/3")]
    world.source.fails()
    failed = world.get(sintegra(query="uf=RJ&cache=0"), x_cliente="loja-7")
    assert (failed.status, failed.headers["x-cliente"]) == (500, "loja-7")
    assert tags_of(world)[2:] == [("hold", "loja-7", None), ("void", "loja-7", None)]


@pytest.mark.parametrize("name", ["X-Cliente", "X-Referencia"])
@pytest.mark.parametrize("text", ["", "com espaço", "a b", "x" * 65, "ção", "a;b", "a\x7f"])
def test_invalid_tags(world: Service, name: str, text: str) -> None:
    answer = world.get(company(), world.client, **{name: text})
    assert (answer.status, answer.code) == (400, "PARAMETRO_INVALIDO")
    assert name in answer.json["message"]
    assert name.lower() not in answer.headers
    assert tags_of(world) == []


@pytest.mark.parametrize("name", ["X-Cliente", "X-Referencia"])
@pytest.mark.parametrize("text", [CPF, f"{CPF[:3]}.{CPF[3:6]}.{CPF[6:9]}-{CPF[9:]}"])
def test_a_cpf_is_no_valid_tag(world: Service, name: str, text: str) -> None:
    for path in (company(), f"/cotacoes/v2/cnpj-receita-federal/{KNOWN}"):
        answer = world.get(path, world.client, **{name: text})
        assert (answer.status, answer.code) == (400, "MARCA_COM_CPF")
        assert CPF not in json.dumps(answer.json)
        assert name.lower() not in answer.headers
    world.front.request_log.flush()
    assert CPF.encode() not in bytes(world.logged)


@pytest.mark.parametrize("text", [KNOWN, CPF[:-1] + str((int(CPF[-1]) + 1) % 10), "0" * 11])
def test_other_numbers_are_valid(world: Service, text: str) -> None:
    world.keep(a_company(), days=1)
    assert world.get(company(), x_cliente=text).status == 200


def test_refusals_repeat_the_tags(world: Service) -> None:
    marked = {"x_cliente": "loja-7"}
    for answer, status in (
        (world.get(company("1"), world.client, **marked), 400),
        (world.get(company(), None, **marked), 401),
        (world.get("/cotacoes/v2/suframa/1", world.client, **marked), 400),
    ):
        assert (answer.status, answer.headers.get("x-cliente")) == (status, "loja-7")


def test_a_quote_accepts_tags_and_stores_nothing(world: Service) -> None:
    answer = world.get(f"/cotacoes/v2/cnpj-receita-federal/{KNOWN}", x_cliente="loja-7")
    assert (answer.status, answer.headers["x-cliente"]) == (200, "loja-7")
    assert tags_of(world) == []


def test_tags_are_no_part_of_the_fingerprint(world: Service) -> None:
    world.source.finds()
    first = world.get(company(), idempotency_key="chave-0001", x_cliente="um")
    again = world.get(company(), idempotency_key="chave-0001", x_cliente="dois")
    assert (again.status, again.headers["idempotent-replayed"]) == (200, "true")
    assert again.raw == first.raw
    assert again.headers["x-cliente"] == "dois"
    assert {client for _, client, _ in tags_of(world)} == {"um"}


def test_tags_in_statements_and_operations(house: Service, who: Client) -> None:
    for client, reference in (("a", "p-1"), ("a", "p-2"), ("b", "p-1"), (None, None)):
        named = {"x_cliente": client, "x_referencia": reference} if client and reference else {}
        assert house.get(company(CNPJ), who, **named).status == 200

    def lines(query: str = "") -> list[tuple[str | None, str | None, int]]:
        body = house.get(f"/conta/v1/consumo?{query}", who).json
        assert body["total_creditos"] == sum(line["creditos"] for line in body["linhas"])
        return sorted(
            ((line["cliente"], line["referencia"], line["consultas"]) for line in body["linhas"]),
            key=repr,
        )

    assert lines() == [("a", None, 2), ("b", None, 1), (None, None, 1)]
    assert lines("cliente=a") == [("a", None, 2)]
    assert lines("cliente=c") == []
    assert lines("agrupar=referencia") == [
        *(("a", "p-1", 1), ("a", "p-2", 1), ("b", "p-1", 1)),
        (None, None, 1),
    ]
    assert lines("agrupar=referencia&cliente=b") == [("b", "p-1", 1)]
    assert_refused(house.get("/conta/v1/consumo?agrupar=x", who), 400, "PARAMETRO_INVALIDO")
    table = house.get("/conta/v1/consumo?formato=csv&agrupar=referencia", who).body.decode()
    assert ';"1";"1";"a";"p-1"\r\n' in table
    assert table.count("cnpj-receita-federal") == 4


def test_too_many_references_are_refused(
    house: Service, who: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("balcao.http.account.LINES_MAX", 2)
    for number in range(3):
        assert house.get(company(CNPJ), who, x_referencia=f"p-{number}").status == 200
    refused = house.get("/conta/v1/consumo?agrupar=referencia", who)
    assert_refused(refused, 400, "PARAMETRO_INVALIDO")
    assert "período mais curto" in refused.json["message"]
    assert house.get("/conta/v1/consumo", who).status == 200


# Found again.


def found(house: Service, query: str, who: Client) -> list[str]:
    body = house.get(f"/conta/v1/operacoes?{query}", who).json
    assert (body["success"], body["error"]) == (True, False)
    for item in body["itens"]:
        one = house.get(f"/conta/v1/operacoes/{item['operacao_id']}", who).json
        assert {name: one[name] for name in item} == item
    return [item["operacao_id"] for item in body["itens"]]


def test_requests_of_a_reference_newest_first(house: Service, who: Client) -> None:
    asked = [
        house.get(path, who, x_referencia="p-1", x_cliente="a").json["request_id"]
        for path in (company(CNPJ), sintegra(CNPJ), company(CNPJ))
    ]
    house.get(company(CNPJ), who, x_referencia="p-2")
    other = house.account("outra")
    house.get(company(CNPJ), other, x_referencia="p-1")
    assert found(house, "referencia=p-1", who) == asked[::-1]
    assert found(house, "referencia=nada", who) == []
    page = house.get("/conta/v1/operacoes?referencia=p-1&limite=2", who).json
    assert [item["operacao_id"] for item in page["itens"]] == asked[:0:-1]
    rest = house.get(f"/conta/v1/operacoes?referencia=p-1&cursor={page['cursor']}", who).json
    assert [item["operacao_id"] for item in rest["itens"]] == asked[:1]
    assert rest["cursor"] is None
    assert (rest["itens"][0]["cliente"], rest["itens"][0]["referencia"]) == ("a", "p-1")


def test_a_request_of_a_key_is_one_or_none(house: Service, who: Client) -> None:
    asked = house.get(company(CNPJ), who, idempotency_key="chave-0001", x_referencia="p-1")
    held = house.get(federal(f"cnpj={CNPJ}"), who, idempotency_key="chave-0002")
    refused = house.get(company(CNPJ), who, idempotency_key="chave-0002")
    assert refused.code == "IDEMPOTENCY_KEY_REUTILIZADA"
    wanted = asked.json["request_id"]
    assert found(house, "idempotency_key=chave-0001", who) == [wanted]
    assert found(house, "idempotency_key=chave-0001&referencia=p-1", who) == [wanted]
    assert found(house, "idempotency_key=chave-0001&referencia=p-2", who) == []
    assert found(house, "idempotency_key=chave-0002", who) == [held.json["request_id"]]
    assert found(house, "idempotency_key=chave-0009", who) == []
    assert found(house, "idempotency_key=chave-0001", house.account("terceira")) == []
    # The answer itself is kept for less long than what it cost.
    house.desk.engine.connection.execute("DELETE FROM idempotency")
    assert found(house, "idempotency_key=chave-0001", who) == [wanted]


@pytest.mark.parametrize(
    "query",
    [
        *("", "referencia=", "referencia=p&limite=0", "referencia=p&limite=1001"),
        *(
            "referencia=p&limite=x",
            "referencia=p&limite=",
            "referencia=p&cursor=x",
            "referencia=p&referencia=q",
        ),
    ],
)
def test_invalid_lists(house: Service, who: Client, query: str) -> None:
    answer = house.get(f"/conta/v1/operacoes?{query}", who)
    assert answer.status == 400
    assert answer.code in ("PARAMETRO_INVALIDO", "PARAMETRO_REPETIDO")
