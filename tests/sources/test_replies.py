"""Decoding of records with invalid optional values (contract 9.6)."""

import json
from typing import Any

import msgspec
import pytest

from balcao.core.company import Company
from balcao.core.errors import SourceFailed
from balcao.providers.cnpja.adapter import CnpjaAdapter
from balcao.sources import replies
from tests.sources.adapters import a_reply, an_inquiry, run_conversation
from tests.sources.test_cnpja import KEY, SAVED


class Item(msgspec.Struct):
    name: str
    age: int | None = None
    text: str | None = None


class Deep(msgspec.Struct):
    code: replies.Number | None = None


class Decoded(msgspec.Struct):
    number: str
    head: bool | None = None
    share: float | None = None
    items: list[Item] | None = None
    one: Item | None = None
    deep: Deep = msgspec.field(default_factory=Deep)


GOOD: dict[str, Any] = {
    "number": "1",
    "head": True,
    "share": 0.5,
    "items": [{"name": "a", "age": 1, "text": "x"}, {"name": "b", "age": 2, "text": "y"}],
    "one": {"name": "c", "age": 3},
}


def read(**changed: Any) -> dict[str, Any]:
    result = replies.decode_lenient("fonte", Decoded, json.dumps(GOOD | changed).encode())
    return msgspec.to_builtins(result)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("changed", "absent"),
    [
        ({"head": "sim"}, {"head": None}),
        ({"share": "1,5"}, {"share": None}),
        ({"head": 1, "share": []}, {"head": None, "share": None}),
        ({"one": {"name": "c", "age": {"years": 3}}}, {"one": {"name": "c", "age": None}}),
        ({"one": 5}, {"plain": None}),
        ({"share": None, "one": []}, {"share": None}),
        ({"one": {"age": 3}}, {"plain": None}),
        ({"one": {"name": None, "age": 3}}, {"plain": None}),
        # null means absent, for any type of field
        ({"deep": None}, {"head": True}),
        ({"deep": {"code": -1}}, {"head": True}),
        ({"deep": "x"}, {"head": True}),
        # in a list, only the invalid value is dropped
        (
            {"items": [{"name": "a", "text": 5}, {"name": "b", "text": "y"}]},
            {"items": [{"name": "a", "text": None}, {"name": "b", "text": "y"}]},
        ),
    ],
)
def test_invalid_optional_value_is_absent(changed: dict[str, Any], absent: dict[str, Any]) -> None:
    found = read(**changed)
    for name, value in absent.items():
        if name == "items":
            assert [(each["name"], each["text"]) for each in found["items"]] == [
                (each["name"], each["text"]) for each in value
            ]
        elif name == "one":
            assert found["one"]["age"] is None
        elif name == "plain":
            assert found["one"] is None
        else:
            assert found[name] is value
    assert found["number"] == "1"


@pytest.mark.parametrize(
    "changed",
    [
        {"number": 1},  # required
        {"items": "nenhum"},  # a dropped list would pass for an empty one
        {"items": [["a"]]},
        {"items": [{"name": None}]},
        {"items": [{"name": "a"}, {"age": 3}]},
    ],
)
def test_other_invalid_values_are_failures(changed: dict[str, Any]) -> None:
    with pytest.raises(SourceFailed, match="fonte: resposta em outra forma"):
        read(**changed)


def test_number_out_of_bounds_drops_no_other_item() -> None:
    class Coded(msgspec.Struct):
        codes: list[Deep]

    body = json.dumps({"codes": [{"code": 1}, {"code": -1}, {"code": 2}]}).encode()
    result = replies.decode_lenient("fonte", Coded, body)
    assert [each.code for each in result.codes] == [1, None, 2]


def test_too_many_invalid_values_are_a_failure() -> None:
    class Many(msgspec.Struct):
        a: str | None = None
        b: str | None = None
        c: str | None = None
        d: str | None = None
        e: str | None = None
        f: str | None = None

    few = dict.fromkeys("abcde", 1)
    assert replies.decode_lenient("fonte", Many, json.dumps(few).encode()) == Many()
    with pytest.raises(SourceFailed):
        replies.decode_lenient("fonte", Many, json.dumps(few | {"f": 1}).encode())


def test_invalid_json_is_a_failure() -> None:
    with pytest.raises(SourceFailed, match="outra forma"):
        replies.decode_lenient("fonte", Decoded, b"{")


def test_a_company_is_answered_without_the_field() -> None:
    reply = a_reply(200, SAVED | {"alias": 5, "head": "sim"})
    _, company = run_conversation(CnpjaAdapter(key=KEY).converse(an_inquiry()), reply)
    assert isinstance(company, Company)
    assert company.nome_fantasia is None
    assert company.identificador_matriz_filial is None
    assert company.nome_empresarial == "EMPRESA FICTICIA DE TESTES LTDA"
    assert len(company.socios) == 2


@pytest.mark.parametrize("tail", [b"", b", ", b', "g": ', b"]"])
def test_a_wrong_type_before_broken_json_is_a_failed_source(tail: bytes) -> None:
    whole = json.dumps(GOOD | {next(iter(GOOD)): {}}).encode()
    with pytest.raises(SourceFailed, match="fonte: resposta em outra forma"):
        replies.decode_lenient("fonte", Decoded, whole[:-1] + tail)
