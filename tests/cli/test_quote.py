"""`balcao quote`: the service's quote of a lookup, without a running service."""

import pytest

from tests.cli.shell import Shell


@pytest.fixture(autouse=True)
def _account(shell: Shell) -> None:
    shell("account create teste --plan pre_pago --test")
    shell("credit add teste 10 --reason compra")


def test_the_price_of_a_lookup(shell: Shell) -> None:
    result = shell("quote sintegra/90010001000100?uf=BR --account teste").out
    assert "Custo:" in result
    assert "0 a 27 créditos" in result
    assert "da fonte" in result
    assert "SALDO_INSUFICIENTE" in result

    answer = shell("quote /consultas/v2/sintegra/90010001000100?uf=SP --account teste --json").json
    assert (answer["creditos_min"], answer["creditos_max"], answer["recusa"]) == (0, 1, None)
    assert answer["saldo_apos_maximo"] == 9
    assert {each["estado"] for each in answer["fontes"]} == {"desconhecida"}
    assert shell("usage teste --json").json["total"]["queries"] == 0


def test_errors_are_explained(shell: Shell) -> None:
    result = shell("quote sintegra/123 --account teste", code=1)
    assert result.err.startswith("erro: CNPJ inválido")
    assert "cnpj-receita-federal" in shell("quote nada/1 --account teste", code=1).err
    assert "account list" in shell("quote suframa/90010001000100 --account outra", code=1).err
