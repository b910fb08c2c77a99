"""`balcao batch`: the operations of the API on the command line."""

import asyncio

import pytest

from balcao.cli.installation import open_installation
from balcao.service.standalone import standalone_batches
from tests.cli.shell import Shell

CNPJS = ("90010001000100", "90010002000154")


@pytest.fixture(autouse=True)
def _account(shell: Shell) -> None:
    shell("account create teste --plan pre_pago --test")
    shell("credit add teste 10 --reason compra")


def run_jobs(number: str) -> None:
    """Run the jobs of a batch, as the service does."""
    with (
        open_installation() as local,
        standalone_batches(local.settings, local.home, local.desk, local.now_ms) as batches,
    ):

        async def work() -> None:
            await batches.validation.validate(number)
            await batches.running.run(number)
            for environment in batches.desk.context.parts.environments.values():
                await environment.sources.close()

        asyncio.run(work())


def test_from_a_file_to_its_results(shell: Shell) -> None:
    file = shell.path / "fornecedores.csv"
    file.write_text("cnpj\n" + "\n".join(CNPJS) + "\n", "utf-8")
    words = f"batch create {file} --account teste --operation cnpj-receita-federal"
    number = shell(f"{words} --json").json["id"]
    (one,) = shell("batch list --account teste --json").json
    assert (one["id"], one["estado"], one["nome"]) == (number, "recebido", "fornecedores")

    run_jobs(number)
    result = shell(f"batch show {number} --account teste").out
    assert "Aguardando confirmação" in result
    assert "2 linhas, 2 válidas, 2 na fila" in result
    begin = result.partition(" batch confirm ")[2]  # as printed
    answer = shell(f"batch confirm {begin.strip()} --json").json
    assert (answer["estado"], answer["teto_creditos"]) == ("executando", 2)
    assert shell(f"batch pause {number} --account teste --json").json["motivo"] == "usuario"
    assert shell(f"batch resume {number} --account teste --json").json["estado"] == "executando"

    run_jobs(number)
    answer = shell(f"batch show {number} --account teste --wait --json").json
    assert (answer["estado"], answer["creditos_gastos"]) == ("concluido", 2)
    shell(f"batch download {number} {shell.path / 'saida.csv'} --account teste")
    assert "2 respondidas" in shell(f"batch show {number} --account teste").out
    assert CNPJS[0] in (shell.path / "saida.csv").read_text("utf-8-sig")
    assert shell("ledger check --json").json["ok"]


def test_errors_are_explained(shell: Shell) -> None:
    file = shell.path / "lista.csv"
    file.write_text("cnpj\n", "utf-8")
    result = shell(f"batch create {file} --account teste --operation nada", code=1)
    assert "operacao" in result.err
    result = shell("batch create nada.csv --account teste --operation suframa", code=1)
    assert "nada.csv" in result.err
    number = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8"
    assert "lote" in shell(f"batch show {number} --account teste", code=1).err
    words = f"batch create {file} --account teste --operation cnpj-receita-federal --json"
    number = shell(words).json["id"]
    assert "recebido" in shell(f"batch pause {number} --account teste", code=1).err
    run_jobs(number)
    assert "Lista recusada" in shell(f"batch show {number} --account teste").out
    shell(f"batch show {number} --account teste --wait", code=1)  # so that a script stops


def test_a_full_disk_is_reported(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("balcao.service.batching._free_bytes", lambda folder: 0)
    file = shell.path / "lista.csv"
    file.write_text(f"cnpj\n{CNPJS[0]}\n", "utf-8")
    words = f"batch create {file} --account teste --operation cnpj-receita-federal"
    assert "não tem espaço" in shell(words, code=1).err
