"""CNPJá's registrations with states and with Suframa (`cnpja.md`, sections 2 and 3)."""

from typing import Any

import pytest

from balcao.core.federation import UFS
from balcao.core.registration import situation_text, type_text
from balcao.fiction import establishment_of
from balcao.fiction.digits import cnpj
from tests.simulator.world import CNPJA_KEY, get

KEY_OF_2025 = {"authorization": "types-2025"}


def ccc(tax_id: str, states: str = "ALL", **more: Any) -> Any:
    reply = get("/cnpja/ccc", headers=CNPJA_KEY, params={"taxId": tax_id, "states": states, **more})
    assert reply.status_code == 200
    return reply.json()


def test_the_home_state() -> None:
    assert len(ccc("90010006000132", "ORIGIN")["registrations"]) == 1
    assert ccc("90010002000154", "ORIGIN")["originState"] == "AM"


def test_company_abroad_has_no_home_state() -> None:
    documents = (cnpj(f"{n:08d}", "0001") for n in range(100_000))
    abroad = next(
        each for each in documents if establishment_of(each).address.municipality.uf == "EX"
    )

    assert ccc(abroad, "ORIGIN")["registrations"] == []


def test_both_numberings_of_type_4() -> None:
    producer = {"taxId": "90010000100", "states": "SP"}
    elsewhere = {"taxId": "90010006000132", "states": "MG"}
    producer_of_2025 = {"id": 4, "text": "IE de Produtor Rural"}

    def type_of(params: dict[str, str], headers: dict[str, str]) -> Any:
        result = get("/cnpja/ccc", headers=headers, params=params).json()
        return result["registrations"][0]["type"]

    assert type_of(producer, CNPJA_KEY)["id"] == 5
    assert type_of(elsewhere, CNPJA_KEY)["id"] == 4
    assert type_of(producer, KEY_OF_2025) == producer_of_2025
    # other types were not distinguished then
    assert type_of(elsewhere, KEY_OF_2025) == {"id": 1, "text": "IE Normal"}


def test_texts_are_recognised() -> None:
    found = ccc("90010006000132")["registrations"] + ccc("90010005000198")["registrations"]

    for each in found:
        assert type_text(each["type"]["text"]) == each["type"]["text"]
        assert situation_text(each["status"]["text"]) == each["status"]["text"]


@pytest.mark.parametrize(
    ("params", "constraint"),
    [
        ({}, "taxId must be a valid CNPJ or CPF"),
        ({"taxId": "90010001000101", "states": "SP"}, "taxId must be a valid CNPJ or CPF"),
        ({"taxId": "90010000101", "states": "SP"}, "taxId must be a valid CNPJ or CPF"),
        (
            {"taxId": "90010001000100"},
            "states must be a list of states, BR, ALL or ORIGIN",
        ),
        (
            {"taxId": "90010001000100", "states": "SP,XX"},
            "states must be a list of states, BR, ALL or ORIGIN",
        ),
        (
            {"taxId": "90010001000100", "states": "SP", "source": "TELEX"},
            "source must be one of AUTO, CCC, SINTEGRA",
        ),
        ({"taxId": "90010000100"}, "states must be exactly one state for a CPF"),
        ({"taxId": "90010000100", "states": "BR"}, "states must be exactly one state for a CPF"),
        ({"taxId": "90010000100", "states": "ALL"}, "states must be exactly one state for a CPF"),
        (
            {"taxId": "90010000100", "states": "ORIGIN"},
            "states must be exactly one state for a CPF",
        ),
        ({"taxId": "90010000100", "states": "SP,MG"}, "states must be exactly one state for a CPF"),
    ],
)
def test_constraints(params: dict[str, str], constraint: str) -> None:
    reply = get("/cnpja/ccc", headers=CNPJA_KEY, params=params)

    assert reply.status_code == 400
    assert reply.json() == {
        "code": 400,
        "message": "request validation failed",
        "constraints": [constraint],
    }


def test_documented_parameters_pass() -> None:
    for source in ("AUTO", "CCC", "SINTEGRA"):
        assert ccc("90010001000100", source=source, strategy="ONLINE")["registrations"]
    reply = get(
        "/cnpja/ccc",
        headers=CNPJA_KEY,
        params={"taxId": "90.010.001/0001-00", "states": "SP", "sync": "true"},
    )
    assert reply.status_code == 200
    assert reply.headers["cnpja-request-cost"] == "1"


def suframa(tax_id: str) -> Any:
    reply = get("/cnpja/suframa", headers=CNPJA_KEY, params={"taxId": tax_id})
    assert reply.status_code == 200
    return reply.json()


def test_a_wrong_document_in_the_zone() -> None:
    reply = get("/cnpja/suframa", headers=CNPJA_KEY, params={"taxId": "1"})

    assert reply.status_code == 400
    assert reply.json()["constraints"] == ["taxId must be a valid CNPJ or CPF"]


def test_only_the_states_asked_for_are_answered() -> None:
    states = [each["state"] for each in ccc("90010007000268", "RS,SP,AM")["registrations"]]
    assert states == ["SP", "RS"]
    assert ccc("90010001000100", "MG,RS")["registrations"] == []


@pytest.mark.parametrize("word", ["BR", "ALL", ",".join(UFS)])
def test_all_states(word: str) -> None:
    found = ccc("90010007000268", word)["registrations"]

    assert [each["state"] for each in found if each["enabled"]] == ["SP", "MG", "RJ", "PR", "BA"]
    assert [each["state"] for each in found if not each["enabled"]] == ["RS"]
