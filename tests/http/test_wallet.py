"""`/carteira/v1`: settings, items, lists and synchronization (contract 20.1, 20.2)."""

import json
from typing import Any

import pytest

from balcao.core.access import KeyRestrictions
from tests.service import Client, Reply, Service

WALLET = "/carteira/v1"
ITEMS = f"{WALLET}/itens"
CNPJ, OTHER, CPF = "90010001000100", "90010002000154", "90030000181"


def send(
    world: Service, method: str, path: str, body: object, by: Client | None = None, **headers: str
) -> Reply:
    text = json.dumps(body).encode()
    named = {"content_type": "application/json", "content_length": str(len(text)), **headers}
    return world.request(method, path, by or world.client, body=text, **named)


def add(world: Service, **body: object) -> Any:
    added = send(world, "POST", ITEMS, body)
    assert added.status in {200, 201}, added.body
    return added.json


def test_an_item_from_its_addition_to_its_removal(world: Service) -> None:
    first = send(world, "POST", ITEMS, {"documento": "90.010.001/0001-00", "ref": "17"})
    assert (first.status, first.credits, first.json["novo"]) == (201, 0, True)
    assert first.json["documento"] == CNPJ
    assert first.json["vigiar"] == ["cadastro", "socios", "simples"]
    assert (first.json["papeis"], first.json["sequencia"]) == ([], 0)
    again = send(world, "POST", ITEMS, {"documento": CNPJ, "etiquetas": ["a"], "renovar": False})
    assert (again.status, again.json["novo"], again.json["id"]) == (200, False, first.json["id"])
    assert (again.json["ref"], again.json["renovar"]) == ("17", False)

    one = f"{ITEMS}/{first.json['id']}"
    changed = send(world, "PATCH", one, {"renovar": None, "ref": None, "tratado": True})
    assert (changed.json["renovar"], changed.json["ref"]) == (None, None)
    assert changed.json["tratado_em"] is not None
    assert send(world, "PATCH", one, {"tratado": False}).json["tratado_em"] is None
    assert send(world, "PATCH", one, {"documento": CNPJ}).code == "PARAMETRO_INVALIDO"
    assert world.get(f"{ITEMS}?etiqueta=a&documento={CNPJ}").json["itens"][0]["etiquetas"] == ["a"]
    assert world.get(f"{ITEMS}?cliente=x").json["itens"] == []
    assert world.get(WALLET).json["itens"] == 1
    assert "\nbalcao_wallet_items 1.0\n" in world.get("/metrics").body.decode()

    assert world.request("DELETE", one).json["id"] == first.json["id"]
    for method in ("GET", "DELETE"):
        assert world.request(method, one).code == "ITEM_NAO_ENCONTRADO"


def test_a_person_is_found_by_the_cpf_and_shown_masked(world: Service) -> None:
    refused = send(world, "POST", ITEMS, {"documento": CPF})
    assert (refused.status, refused.code) == (400, "PARAMETRO_INVALIDO")
    body = {"documento": CPF, "vigiar": ["certidao_federal"], "data_nascimento": "1980-01-01"}
    made = send(world, "POST", ITEMS, body, idempotency_key="pessoa-0001")
    assert made.json["documento"] == f"***{CPF[3:9]}**"
    replayed = send(world, "POST", ITEMS, body, idempotency_key="pessoa-0001")
    assert (replayed.status, replayed.json["id"]) == (201, made.json["id"])
    assert world.get(f"{ITEMS}?documento={CPF}").json["itens"][0]["id"] == made.json["id"]
    one = f"{ITEMS}/{made.json['id']}"
    assert send(world, "PATCH", one, {"data_nascimento": "1981-02-30"}).code == (
        "DATA_NASCIMENTO_INVALIDA"
    )
    changed = send(world, "PATCH", one, {"data_nascimento": "19810203", "etiquetas": ["x"]})
    assert changed.status == 200
    for table in ("wallet_item", "idempotency"):
        rows = world.desk.engine.connection.execute(f"SELECT * FROM {table}").fetchall()
        assert rows
        assert CPF not in repr(rows)
        assert "1981" not in repr(rows)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"documento": "90010001000101"}, 400, "CNPJ_INVALIDO"),
        ({"documento": CNPJ, "ref": CPF}, 400, "MARCA_COM_CPF"),
        ({"documento": CNPJ, "nada": 1}, 400, "PARAMETRO_INVALIDO"),
        ({"documento": CNPJ, "renovar": True}, 400, "PARAMETRO_INVALIDO"),
        ({"documento": CNPJ, "data_nascimento": "1980-01-01"}, 400, "PARAMETRO_INVALIDO"),
        ({"documento": CNPJ, "vigiar": ["inscricoes:XX"]}, 400, "UF_INVALIDA"),
        ({"documento": CPF, "vigiar": ["certidao_federal"]}, 400, "DATA_NASCIMENTO_OBRIGATORIA"),
        ({"ref": "17"}, 400, "PARAMETRO_INVALIDO"),
        ({"ref": "17", "itens": []}, 400, "PARAMETRO_INVALIDO"),
        ([], 400, "CORPO_INVALIDO"),
    ],
)
def test_refused_items(world: Service, body: object, status: int, code: str) -> None:
    refused = send(world, "POST", ITEMS, body)
    assert (refused.status, refused.code, refused.credits) == (status, code, 0)


def test_what_account_or_key_may_not_look_up_is_not_watched(world: Service) -> None:
    restricted = world.another_key(
        world.client, restrictions=KeyRestrictions(operations=("suframa",))
    )
    for body, code in (
        ({"documento": CNPJ}, "OPERACAO_NAO_PERMITIDA"),
        ({"documento": CNPJ, "vigiar": ["suframa"]}, None),
        ({"documento": CNPJ, "vigiar": ["regularidade_fgts"]}, "OPERACAO_NAO_PERMITIDA"),
    ):
        made = send(world, "POST", ITEMS, body, restricted)
        assert (made.status, made.code if code else None) == (403 if code else 201, code)
    again = send(world, "POST", ITEMS, {"documento": CNPJ, "ref": "17"}, restricted)  # it is known
    assert (again.status, again.json["ref"], again.json["vigiar"]) == (200, "17", ["suframa"])
    lines: list[dict[str, object]] = [{"documento": CNPJ, "ref": "18"}, {"documento": OTHER}]
    outcomes = send(world, "POST", ITEMS, {"itens": lines}, restricted).json["itens"]
    assert [each["codigo"] for each in outcomes] == [None, "OPERACAO_NAO_PERMITIDA"]
    lines = [{"documento": OTHER}, {"documento": OTHER, "vigiar": ["suframa"]}]
    outcomes = send(world, "POST", ITEMS, {"itens": lines}, restricted).json["itens"]
    assert [each["codigo"] for each in outcomes] == [None, None]


def test_each_line_of_a_list_is_answered(world: Service) -> None:
    body = {"itens": [{"documento": CNPJ}, {"documento": "x"}, {"documento": CNPJ, "ref": "2"}]}
    answered = send(world, "POST", ITEMS, body, idempotency_key="lista-0001")
    assert answered.status == 200
    lines = answered.json["itens"]
    assert [(one["linha"], one["novo"], one["codigo"]) for one in lines] == [
        (1, True, None),
        (2, False, "CNPJ_INVALIDO"),
        (3, False, None),
    ]
    assert lines[0]["id"] == lines[2]["id"]
    assert world.get(f"{ITEMS}/{lines[0]['id']}").json["ref"] == "2"
    replayed = send(world, "POST", ITEMS, body, idempotency_key="lista-0001")
    assert replayed.json["itens"] == lines
    many = {"itens": [{"documento": CNPJ}] * 1_001}
    assert send(world, "POST", ITEMS, many).code == "PARAMETRO_INVALIDO"


def test_a_part_of_the_portfolio_becomes_a_list(world: Service) -> None:
    add(world, documento=CNPJ, cliente="loja", etiquetas=["a"])
    path = f"{WALLET}/sincronizar"
    body = {
        "cliente": "loja",
        "itens": [{"documento": OTHER}, {"documento": OTHER, "cliente": "x"}, {"documento": "1"}],
    }
    told = send(world, "POST", f"{path}?simular=true", body).json
    assert (told["entram"], told["saem"], told["ficam"]) == (1, 1, 0)
    assert world.get(f"{ITEMS}?documento={OTHER}").json["itens"] == []
    done = send(world, "POST", path, body)
    assert (done.json["entram"], done.json["saem"], done.credits) == (1, 1, 0)
    assert done.json["invalidos"] == [
        {"linha": 2, "codigo": "PARAMETRO_INVALIDO"},
        {"linha": 3, "codigo": "CNPJ_INVALIDO"},
    ]
    assert [item["documento"] for item in world.get(ITEMS).json["itens"]] == [OTHER]
    for parts in ({}, {"cliente": "a", "etiqueta": "b"}):
        assert send(world, "POST", path, {"itens": [], **parts}).code == "PARAMETRO_INVALIDO"


def test_settings_and_the_ceiling(world: Service) -> None:
    admin = world.another_key(world.client, restrictions=KeyRestrictions(administers=True))
    seen = world.get(WALLET).json
    assert (seen["teto_creditos_mes"], seen["renovar_padrao"], seen["itens_max"]) == (
        0,
        None,
        10_000,
    )
    assert seen["avisos"] == {
        "dias": [10, 5, 1],
        "resumo_as": "08:00",
        "imediatos": "de_dia",
        "pessoas": [],
    }
    changed = send(
        world, "PATCH", WALLET, {"renovar_padrao": {}, "reconsultar_padrao": {"a_cada_dias": 7}}
    ).json
    assert changed["renovar_padrao"]["dias_antes"] == 10
    assert changed["reconsultar_padrao"] == {"a_cada_dias": 7, "assuntos": None}
    assert send(world, "PATCH", WALLET, {"teto_creditos_mes": 5}).code == "CHAVE_NAO_ADMINISTRA"
    changed = send(world, "PATCH", WALLET, {"teto_creditos_mes": 5}, admin).json
    assert (changed["teto_creditos_mes"], changed["renovar_padrao"]["dias_antes"]) == (5, 10)
    settings = world.desk.wallets.settings(world.client.account_id)
    assert settings.buyer_key_id == admin.key_id
    for wrong in (
        {"teto_creditos_mes": -1},
        {"renovar_padrao": {"dias_antes": 0}},
        {"reconsultar_padrao": {"a_cada_dias": 91}},
        {"avisos": {"dias": [1, 1]}},
        {"avisos": {"cor": "azul"}},
        {"avisos": {"pessoas": [987]}},
        {"avisos": {"pessoas": [2**63]}},
    ):
        assert send(world, "PATCH", WALLET, wrong, admin).code == "PARAMETRO_INVALIDO"


def test_notices_that_a_change_leaves_out_stay(world: Service) -> None:
    first = {"dias": [20], "resumo_as": None, "imediatos": "sempre"}
    assert send(world, "PATCH", WALLET, {"avisos": first}).status == 200
    changed = send(world, "PATCH", WALLET, {"avisos": {"resumo_as": "09:30"}}).json
    assert changed["avisos"] == {**first, "resumo_as": "09:30", "pessoas": []}


def test_a_key_that_names_its_client_sees_that_client(world: Service) -> None:
    bound = world.another_key(world.client, restrictions=KeyRestrictions(client_required=True))
    add(world, documento=CNPJ, cliente="outro")
    assert world.get(ITEMS, bound).code == "CLIENTE_OBRIGATORIO"
    assert send(world, "POST", ITEMS, {"documento": CNPJ}, bound).code == "CLIENTE_OBRIGATORIO"
    made = send(world, "POST", ITEMS, {"documento": CNPJ}, bound, x_cliente="loja").json
    assert made["cliente"] == "loja"
    seen = world.get(ITEMS, bound, x_cliente="loja").json["itens"]
    assert [item["id"] for item in seen] == [made["id"]]


@pytest.mark.parametrize(
    ("last", "text"),
    [
        ({"documento": 7}, "itens[1].documento: o valor não serve."),
        ({"documento": OTHER, "cor": "azul"}, "itens[1].cor: não existe neste corpo."),
        ({"ref": "r"}, "itens[1].documento: é obrigatório."),
        ("solta", "itens[1]: o valor não serve."),
    ],
)
def test_long_lists_are_refused_as_short_ones(world: Service, last: object, text: str) -> None:
    for blanks in ("", " " * 70_000):  # decoded in a thread
        body = {"etiqueta": "a", "itens": [{"documento": CNPJ}, last]}
        sent = (json.dumps(body) + blanks).encode()
        answer = world.request(
            "POST", f"{WALLET}/sincronizar", body=sent, content_type="application/json",
            content_length=str(len(sent)),
        )  # fmt: skip
        assert (answer.status, answer.json["message"]) == (400, text)


def test_a_long_list_does_what_a_short_one_does(world: Service) -> None:
    items = [{"documento": CNPJ, "ref": "1"}, {"documento": OTHER, "vigiar": ["cadastro"]}]
    sent = (json.dumps({"itens": items}) + " " * 70_000).encode()
    answers = [
        world.request(
            "POST", ITEMS, body=sent, content_type="application/json", idempotency_key="longa-0001",
            content_length=str(len(sent)),
        )
        for _ in range(2)
    ]  # fmt: skip
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].json["itens"] == answers[1].json["itens"]
    listed = world.get(f"{ITEMS}?limite=2").json["itens"]
    shown = sorted(listed, key=lambda each: str(each["documento"]))
    assert [(each["documento"], each["ref"]) for each in shown] == [(CNPJ, "1"), (OTHER, None)]
    assert [each["vigiar"] for each in shown][1] == ["cadastro"]
