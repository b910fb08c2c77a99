"""The example answers of the documentation are those of the sandbox."""

from typing import Any

import pytest

from balcao.http import documentation as openapi
from tests.records import producer, sintegra, suframa
from tests.service import Service

# Of the moment of asking, not of the document.
MOMENTS = {"request_id", "updated_at", "atualizado_em"}


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(of) for key, of in value.items() if key not in MOMENTS}
    if isinstance(value, list):
        return [timeless(item) for item in value]
    return value


@pytest.mark.parametrize(
    ("path", "example", "address"),
    [
        ("sintegra/{cnpj}", "uma_uf", sintegra("90010001000100", "uf=SP&endereco=true")),
        ("produtor-rural/{cpf}", "uma_uf", producer("90010000100", "uf=SP&endereco=true")),
        ("suframa/{cnpj}", "encontrada", suframa("90010002000154")),
    ],
)
def test_the_example_is_the_sandbox_s_answer(
    house: Service, path: str, example: str, address: str
) -> None:
    """Literally, except for the time of asking."""
    operation = openapi.document("1")["paths"][f"/consultas/v2/{path}"]["get"]
    shown = operation["responses"]["200"]["content"]["application/json"]["examples"][example]
    assert timeless(house.get(address).json) == timeless(shown["value"])
