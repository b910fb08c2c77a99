"""Reading records in which an optional value may be in a form that nobody understands (9.6)."""

import json
from typing import Any

import msgspec
import pytest

from balcao.core.company import Company
from balcao.core.errors import SourceFailed
from balcao.providers.cnpja.adapter import CnpjaAdapter
from balcao.sources import replies
from tests.sources.adapters import a_reply, an_inquiry, talk
from tests.sources.test_cnpja import KEY, SAVED


class Item(msgspec.Struct):
    name: str
    age: int | None = None
    text: str | None = None


class Deep(msgspec.Struct):
    code: replies.Number | None = None


class Said(msgspec.Struct):
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
    said = replies.decode_what_can_be("fonte", Said, json.dumps(GOOD | changed).encode())
    return msgspec.to_builtins(said)  # type: ignore[no-any-return]


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
        # A null costs no more than an absent field, whatever the type of the field.
        ({"deep": None}, {"head": True}),
        ({"deep": {"code": -1}}, {"head": True}),
        ({"deep": "x"}, {"head": True}),
        # In a list, only where it is not understood.
        (
            {"items": [{"name": "a", "text": 5}, {"name": "b", "text": "y"}]},
            {"items": [{"name": "a", "text": None}, {"name": "b", "text": "y"}]},
        ),
    ],
)
def test_what_is_not_understood_is_absent(changed: dict[str, Any], absent: dict[str, Any]) -> None:
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
        {"items": "nenhum"},  # a list that was dropped would pass for an empty one
        {"items": [["a"]]},
        {"items": [{"name": None}]},
        {"items": [{"name": "a"}, {"age": 3}]},
    ],
)
def test_the_rest_must_be_what_it_is(changed: dict[str, Any]) -> None:
    with pytest.raises(SourceFailed, match="fonte: resposta em outra forma"):
        read(**changed)


def test_a_number_out_of_bounds_costs_no_other_item_of_its_list() -> None:
    class Coded(msgspec.Struct):
        codes: list[Deep]

    body = json.dumps({"codes": [{"code": 1}, {"code": -1}, {"code": 2}]}).encode()
    said = replies.decode_what_can_be("fonte", Coded, body)
    assert [each.code for each in said.codes] == [1, None, 2]


def test_with_too_many_of_them_it_is_another_form() -> None:
    class Many(msgspec.Struct):
        a: str | None = None
        b: str | None = None
        c: str | None = None
        d: str | None = None
        e: str | None = None
        f: str | None = None

    few = dict.fromkeys("abcde", 1)
    assert replies.decode_what_can_be("fonte", Many, json.dumps(few).encode()) == Many()
    with pytest.raises(SourceFailed):
        replies.decode_what_can_be("fonte", Many, json.dumps(few | {"f": 1}).encode())


def test_what_is_no_json_is_told_as_ever() -> None:
    with pytest.raises(SourceFailed, match="outra forma"):
        replies.decode_what_can_be("fonte", Said, b"{")


def test_a_company_is_answered_without_the_field() -> None:
    reply = a_reply(200, SAVED | {"alias": 5, "head": "sim"})
    _, company = talk(CnpjaAdapter(key=KEY).converse(an_inquiry()), reply)
    assert isinstance(company, Company)
    assert company.nome_fantasia is None
    assert company.identificador_matriz_filial is None
    assert company.nome_empresarial == "EMPRESA FICTICIA DE TESTES LTDA"
    assert len(company.socios) == 2


@pytest.mark.parametrize("tail", [b"", b", ", b', "g": ', b"]"])
def test_a_wrong_type_before_broken_json_is_a_failed_source(tail: bytes) -> None:
    whole = json.dumps(GOOD | {next(iter(GOOD)): {}}).encode()
    with pytest.raises(SourceFailed, match="fonte: resposta em outra forma"):
        replies.decode_what_can_be("fonte", Said, whole[:-1] + tail)
