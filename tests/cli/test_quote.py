"""`balcao quote`: the service's own answer to what a lookup would cost, without the service."""

import pytest

from tests.cli.shell import Shell


@pytest.fixture(autouse=True)
def _account(shell: Shell) -> None:
    shell("account create teste --plan pre_pago --test")
    shell("credit add teste 10 --reason compra")


def test_what_a_lookup_would_cost(shell: Shell) -> None:
    said = shell("quote sintegra/90010001000100?uf=BR --account teste").out
    assert "Custo:" in said
    assert "0 a 27 créditos" in said
    assert "da fonte" in said
    assert "SALDO_INSUFICIENTE" in said

    told = shell("quote /consultas/v2/sintegra/90010001000100?uf=SP --account teste --json").json
    assert (told["creditos_min"], told["creditos_max"], told["recusa"]) == (0, 1, None)
    assert told["saldo_apos_maximo"] == 9
    assert {each["estado"] for each in told["fontes"]} == {"desconhecida"}
    assert shell("usage teste --json").json["total"]["queries"] == 0


def test_what_is_wrong_is_said(shell: Shell) -> None:
    said = shell("quote sintegra/123 --account teste", code=1)
    assert said.err.startswith("erro: CNPJ inválido")
    assert "cnpj-receita-federal" in shell("quote nada/1 --account teste", code=1).err
    assert "account list" in shell("quote suframa/90010001000100 --account outra", code=1).err
