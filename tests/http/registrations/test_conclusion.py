"""The combined answer of several UFs, without a source: `conclude` alone."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from balcao.core.errors import SourceUnavailable
from balcao.core.outcomes import Conclusion, Delivered, Failed, Outcome
from balcao.core.receipts import ReceiptNumbers
from balcao.operations import OPERATIONS
from balcao.operations.contract import AnswerContext
from balcao.operations.parameters import Parameters
from tests.records import CNPJ

ADDRESS = {
    "logradouro": "RUA DA FICCAO",
    "numero": "1",
    "complemento": None,
    "bairro": "CENTRO",
    "municipio": "SAO PAULO",
    "codigo_municipio_ibge": "3550308",
    "uf": "SP",
    "cep": "01000000",
}


def entry(uf: str, *registered: dict[str, Any], **more: Any) -> bytes:
    of_uf = [{"uf": uf, "ativa": True, **each} for each in registered]
    return json.dumps({"documento": CNPJ, "uf": uf, "inscricoes": of_uf, **more}).encode()


def concluded(outcomes: Sequence[Outcome], query: bytes) -> tuple[Conclusion, Any]:
    operation = OPERATIONS["state_registration"]
    question = operation.parse(CNPJ, Parameters(query, {}, operation.names))
    # Whoever else was asked did not answer.
    missing = len(question.inquiries) - len(outcomes)
    outcomes = [*outcomes, *[Failed(SourceUnavailable())] * missing]
    answer = operation.conclude(question, outcomes, AnswerContext(0, 1, ReceiptNumbers(b""), None))
    return answer, json.loads(b"{" + answer.fields)


@pytest.mark.parametrize("asked", [(20, 10, 30), (10, 20, 30), (30, 20, 10)])
def test_it_is_as_old_as_its_oldest_part(asked: Sequence[int]) -> None:
    outcomes = [
        Delivered(entry("SP"), "cache", source, at)
        for source, at in zip(("zeta", "alfa", "zeta"), asked, strict=True)
    ]
    answer, body = concluded(outcomes, b"uf=BR")
    assert (answer.asked_ms, answer.source, answer.origin) == (10, "alfa,zeta", "cache")
    assert answer.credits == 3
    assert body["is_cache"] is True


def test_the_first_name_and_uf_are_used() -> None:
    bodies = (
        entry("AC", nome="", uf_principal=""),
        entry("SP", nome="A FICCAO LTDA", uf_principal="SP"),
        entry("TO", nome="OUTRA FICCAO LTDA", uf_principal="TO"),
    )
    outcomes = [Delivered(body, "online", "ccc", 1) for body in bodies]
    _, body = concluded(outcomes, b"uf=BR")
    assert (body["razao_social"], body["uf"]) == ("A FICCAO LTDA", "SP")
    _, body = concluded(outcomes[:1], b"uf=AC")
    assert (body["razao_social"], body["uf"]) == (None, None)


def test_an_address_that_was_not_asked_for_is_left_out() -> None:
    """It was cached for another caller who asked for it."""
    one, other = {"inscricao_estadual": "1"}, {"inscricao_estadual": "2", "endereco": ADDRESS}
    outcomes = [Delivered(entry("SP", one, other, com_endereco=True), "cache", "ccc", 1)]
    answer, body = concluded(outcomes, b"uf=SP")
    numbers = [each["inscricao_estadual"] for each in body["inscricoes_estaduais"]]
    assert numbers == ["1", "2"]
    assert not any("endereco" in each for each in body["inscricoes_estaduais"])
    assert answer.credits == 1

    answer, body = concluded(outcomes, b"uf=SP&endereco=true")
    assert [each.get("endereco") for each in body["inscricoes_estaduais"]] == [None, ADDRESS]
    assert answer.credits == 2
