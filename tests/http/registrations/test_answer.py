"""State registrations and rural producers: the answer.

Specification, "State tax registrations" and "Rural producer registrations"; contract 1, 3, 8.
"""

import pytest

from balcao.core.registration import RegisteredAddress
from tests.http.registrations.shared import PRODUCER, THE_ADDRESS, Lookup, both
from tests.records import (
    AN_ADDRESS,
    CNPJ,
    CPF,
    NAME,
    a_registration,
    producer,
    registrations,
    sintegra,
)
from tests.service import Service

THE_REGISTRATION = {
    "inscricao_estadual": "110042490114",
    "uf": "SP",
    "ativa": True,
    "tipo_ie": "IE Normal",
    "situacao_pj": "Sem restrição",
    "updated_at": "2026-08-05 12:00:00",
}


# The answer


def test_state_registrations_have_exactly_these_fields(world: Service) -> None:
    """No `error_message` (contract 1.2), no `data_status`, no `ufs`, no address unasked."""
    answer = world.get(sintegra())

    assert answer.status == 200
    assert answer.json == {
        "request_id": answer.headers["x-request-id"],
        "success": True,
        "error": False,
        "is_cache": False,
        "cnpj": CNPJ,
        "razao_social": NAME,
        "uf": "SP",
        "inscricoes_estaduais": [THE_REGISTRATION],
    }


def test_a_rural_producer_has_exactly_these_fields(world: Service) -> None:
    """As state registrations, with `cpf`, `nome`, the UF queried and `data_status`."""
    world.source.finds(
        registrations(CPF, "SP", a_registration(tipo_ie="IE de Produtor Rural"), uf_principal="MG")
    )

    answer = world.get(producer())

    assert answer.status == 200
    assert answer.json == {
        "request_id": answer.headers["x-request-id"],
        "success": True,
        "error": False,
        "is_cache": False,
        "cpf": CPF,
        "nome": NAME,
        "uf": "SP",
        "inscricoes_estaduais": [
            THE_REGISTRATION | {"tipo_ie": "IE de Produtor Rural", "data_status": "2015-03-02"}
        ],
    }


@pytest.mark.parametrize("complemento", ["SALA 2", None])
def test_the_address_of_a_state_registration(world: Service, complemento: str | None) -> None:
    """It has a `complemento`, a string or null."""
    address = RegisteredAddress(**(THE_ADDRESS | {"complemento": complemento}))  # type: ignore[arg-type]
    world.source.finds(
        registrations(CNPJ, "SP", a_registration(endereco=address), com_endereco=True)
    )

    answer = world.get(sintegra(query="uf=SP&endereco=true"))

    (shown,) = answer.json["inscricoes_estaduais"]
    assert shown == THE_REGISTRATION | {"endereco": THE_ADDRESS | {"complemento": complemento}}


def test_the_address_of_a_rural_producer_has_no_complemento(world: Service) -> None:
    """The specification leaves it out of this operation."""
    address = RegisteredAddress(**(THE_ADDRESS | {"complemento": "SITIO"}))
    world.source.finds(
        registrations(CPF, "SP", a_registration(endereco=address), com_endereco=True)
    )

    answer = world.get(producer(query="uf=SP&endereco=true"))

    assert answer.json["inscricoes_estaduais"][0]["endereco"] == THE_ADDRESS


@both
def test_the_address_is_absent_unless_asked_for_and_known(world: Service, of: Lookup) -> None:
    """Without `endereco=true`, and for a registration without one, the key is absent."""
    those = (a_registration(endereco=AN_ADDRESS), a_registration(inscricao_estadual="9"))
    world.source.finds(registrations(of.document, "SP", *those, com_endereco=True))

    unasked = world.get(of.path(of.document, "uf=SP&endereco=false"))
    asked = world.get(of.path(of.document, "uf=SP&endereco=true"))

    assert ["endereco" in each for each in unasked.json["inscricoes_estaduais"]] == [False, False]
    assert ["endereco" in each for each in asked.json["inscricoes_estaduais"]] == [True, False]


@both
def test_unknown_values_are_absent(world: Service, of: Lookup) -> None:
    """A registration needs a number, a UF and whether it is active; a name may be null."""
    bare = a_registration(
        tipo_ie=None, situacao_pj=None, data_status=None, updated_at=None, ativa=False
    )
    world.source.finds(registrations(of.document, "SP", bare, nome=None, uf_principal=None))

    body = world.get(of.path(of.document)).json

    assert body["inscricoes_estaduais"] == [
        {"inscricao_estadual": "110042490114", "uf": "SP", "ativa": False}
    ]
    assert body.get(of.name) is None
    assert body.get("uf") == ("SP" if of is PRODUCER else None)
    assert (body["success"], body["error"], body["is_cache"]) == (True, False, False)


@both
def test_nothing_registered_is_a_result(world: Service, of: Lookup) -> None:
    """200, `success`, an empty list, and it is charged (contract 3)."""
    answer = world.get(of.path(of.document, "uf=RJ"))

    assert (answer.status, answer.credits) == (200, 1)
    assert answer.json["success"] is True
    assert answer.json["error"] is False
    assert answer.json["inscricoes_estaduais"] == []


@both
def test_the_order_in_one_uf(world: Service, of: Lookup) -> None:
    """Active first, then the number (contract 1.7)."""
    those = [("300", True), ("200", False), ("100", True), ("050", False), ("200", True)]
    world.source.finds(
        registrations(
            of.document,
            "SP",
            *(a_registration(inscricao_estadual=number, ativa=active) for number, active in those),
        )
    )

    shown = world.get(of.path(of.document)).json["inscricoes_estaduais"]

    assert [(each["inscricao_estadual"], each["ativa"]) for each in shown] == [
        ("100", True),
        ("200", True),
        ("300", True),
        ("050", False),
        ("200", False),
    ]
