"""`balcao wallet`."""

import asyncio

from balcao.core.events import NewEvent
from balcao.service.clock import system_now_ms
from tests.cli.shell import Shell

CNPJ, CPF = "90010001000100", "90030000181"


def test_items_are_added_and_listed_with_their_changes(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    made = shell(f"wallet add acme {CNPJ} 90010002000154 --tag fornecedores --json").json
    assert [(each["documento"], each["novo"]) for each in made] == [
        (CNPJ, True),
        ("90010002000154", True),
    ]
    again = shell(f"wallet add acme {CNPJ} --ref 17").out
    assert "Itens novos: 0. Já estavam na carteira: 1." in again
    person = f"wallet add acme {CPF} --watch certidao_federal --birth 1980-01-01"
    assert "Itens novos: 1" in shell(person).out
    listed = shell("wallet list acme --tag fornecedores --json").json
    assert [(each["documento"], each["ref"]) for each in listed] == [
        (CNPJ, "17"),
        ("90010002000154", None),
    ]
    assert CPF not in shell("wallet list acme").out
    assert "dígito" in shell("wallet add acme 90010001000101", code=1).err
    item = made[0]["id"]
    with shell.desk() as desk:
        events = [
            NewEvent(1, "empresa.porte", 0, "{}", item_id=item),
            NewEvent(1, "empresa.nome", system_now_ms(), "{}", item_id=item),
            NewEvent(1, "saldo.baixo", system_now_ms(), "{}"),
        ]
        assert desk.commit_now(events) is None
    (change,) = shell("wallet changes acme --json").json
    assert change["tipo"] == "empresa.nome"
    assert shell(f"wallet changes acme --after {change['id']} --json").json == []
    shell("wallet changes acme --after x", code=2)


def test_the_clock_of_a_test_account(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    assert "contas de teste" in shell("wallet clock acme", code=1).err
    shell("account create ensaio --plan pre_pago --test")
    assert shell("wallet clock ensaio --json").json["real"] is True
    moving = shell("wallet clock ensaio --days 30 --json").json
    assert (moving["estado"], moving["real"]) == ("avancando", False)
    assert "avançando até" in shell("wallet clock ensaio").out
    assert "avançando" in shell("wallet clock ensaio --days 1", code=1).err
    assert "avançando" in shell("wallet clock ensaio --real", code=1).err
    shell("wallet clock ensaio --until ontem", code=2)
    shell("wallet clock ensaio --days 1 --real", code=2)


def test_certificates_that_are_due_are_listed_and_renewed(shell: Shell) -> None:
    shell("account create ensaio --plan pre_pago --test")
    shell(f"wallet add ensaio {CNPJ} --watch certidao_federal --tag sul")
    assert shell("wallet due ensaio --json").json == []
    made = shell("wallet renew ensaio certidao_federal --ceiling 2 --tag sul --json").json
    with shell.desk() as desk:
        batch = asyncio.run(desk.batches.batch(made["id"]))
        assert batch is not None
        assert (batch.state, batch.ceiling) == ("recebido", 2)
    assert (
        "Nenhuma certidão" in shell("wallet renew ensaio regularidade_fgts --ceiling 2", code=1).err
    )
    shell("wallet renew ensaio outra --ceiling 2", code=2)
    shell("wallet renew ensaio certidao_federal --state boa --ceiling 2", code=2)
