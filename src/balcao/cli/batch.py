"""`balcao batch`: look up every row of a file with one operation."""

import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from balcao.cli.failures import CommandFailed, refuse_person
from balcao.cli.installation import open_installation, wait_for
from balcao.cli.output import AsJson, Block, Pairs, TextTable, console, program, show, whole
from balcao.core import writing
from balcao.core.errors import CallerError, FileRunning, NoFileSpace
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.problems import problem_of
from balcao.core.request_tags import contains_cpf

if TYPE_CHECKING:
    from balcao.core.access import Account
    from balcao.service.batching import BatchInfo, BatchParts
    from balcao.storage.batches import StoredBatch

app = typer.Typer(no_args_is_help=True)

AccountOption = Annotated[str, typer.Option("--account", help="Nome ou número da conta.")]
Number = Annotated[str, typer.Argument(metavar="LOTE", help="Identificador do lote.")]
Wait = Annotated[
    bool, typer.Option("--wait", help="Aguarda e mostra o progresso, até ser preciso decidir algo.")
]

_MEDIA = {".csv": "text/csv", ".txt": "text/csv", ".jsonl": "application/x-ndjson"}
_MEDIA |= {".ndjson": "application/x-ndjson", ".json": "application/json"}
_MEDIA[".xlsx"] = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_PIECE_BYTES = 1_000_000
_POLL_SECONDS = 0.5
# Labels of the counts in `RowCounts`, singular and plural.
_ROWS = {
    "total": ("linha", "linhas"),
    "validas": ("válida", "válidas"),
    "pendentes": ("na fila", "na fila"),
    "em_andamento": ("em andamento", "em andamento"),
    "concluidas": ("respondida", "respondidas"),
    "falhas": ("com falha", "com falha"),
    "recusadas": ("recusada", "recusadas"),
    "invalidas": ("inválida", "inválidas"),
    "repetidas": ("repetida", "repetidas"),
    "canceladas": ("não consultada", "não consultadas"),
}
_MOVING = ("recebido", "validando", "executando", "encerrando")


@app.command()
def create(  # noqa: PLR0917  # a command's own words
    file: Annotated[Path, typer.Argument(metavar="ARQUIVO", help="CSV, XLSX, JSONL ou JSON.")],
    account: AccountOption,
    operation: Annotated[
        str, typer.Option("--operation", help="A operação do lote: o caminho de uma consulta.")
    ],
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", help="Um parâmetro para todas as linhas, como uf=SP."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="Indica uma coluna que foi reconhecida errado: documento=B, uf=Estado.",
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Nome do lote.")] = "",
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Envia um arquivo para leitura e cotação. Nada é cobrado antes da confirmação.

    Com --wait, sai com código 1 se a lista foi recusada.

    Exemplo:

      $ balcao batch create clientes.xlsx --account acme --operation cnpj-receita-federal
    """
    media_type = _MEDIA.get(file.suffix.lower())
    if media_type is None:
        raise CommandFailed(f"O arquivo deve terminar em um destes: {', '.join(_MEDIA)}.")
    if not file.is_file():
        raise CommandFailed(f"Não há um arquivo {file}.")
    refuse_person(name, "--name")
    common = [each.partition("=")[::2] for each in parameter or []]
    columns = dict(each.partition("=")[::2] for each in column or [])

    async def receive(batches: "BatchParts", owner: "Account") -> "BatchInfo":
        from balcao.service.batching import Upload

        upload = Upload(
            owner.caller(),
            operation,
            common,
            media_type,
            _pieces(file),
            None,
            name or _name_of(file),
            columns=columns,
        )
        return await batches.desk.info(await batches.desk.receive(upload))

    with _open(account) as (batches, owner):
        info = _result(receive(batches, owner))
        info = _print(as_json, batches, owner, info, wait=wait)
    _exit(info)


@app.command("show")
def show_batch(
    number: Number, account: AccountOption, wait: Wait = False, as_json: AsJson = False
) -> None:
    """Mostra um lote: estado, cotação e valor cobrado.

    Com --wait, sai com código 1 se a lista foi recusada.

    Exemplo:

      $ balcao batch show 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8 --account acme --wait
    """
    with _open(account) as (batches, owner):
        info = _result(batches.desk.show(owner.account_id, number))
        info = _print(as_json, batches, owner, info, wait=wait)
    if wait:
        _exit(info)


@app.command("list")
def list_batches(account: AccountOption, as_json: AsJson = False) -> None:
    """Lista os lotes de uma conta, do mais recente ao mais antigo.

    Exemplo:

      $ balcao batch list --account acme
    """
    from balcao.operations.names import SHORT
    from balcao.service.batching import batch_answer

    with _open(account) as (batches, owner):
        found = _result(batches.desk.page(owner.account_id, 100))
        info = [_result(batches.desk.info(each)) for each in found]
    table = TextTable(
        [each.batch for each in info],
        {
            "Lote": "batch_id",
            "Nome": "name",
            "Operação": lambda batch: SHORT.get(batch.operation, batch.operation),
            "Estado": _state,
            "Linhas": lambda batch: batch.rows(),
            "Créditos": "spent",
            "Criado em": "created_ms",
        },
        numbers=("Linhas", "Créditos"),
        foldable=("Nome",),
        unbroken=("Lote",),
        empty="Esta conta ainda não tem lotes.",
    )
    show(as_json, [msgspec.to_builtins(batch_answer(each)) for each in info], table)


@app.command()
def confirm(
    number: Number,
    account: AccountOption,
    ceiling: Annotated[int, typer.Option("--ceiling", help="O limite de gasto, em créditos.")],
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Confirma a cotação e inicia o lote, com um limite de gasto.

    Exemplo:

      $ balcao batch confirm 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8 --account acme --ceiling 60
    """

    async def decide(batches: "BatchParts", owner: "Account") -> "BatchInfo":
        quote = (await batches.desk.show(owner.account_id, number)).batch.quote
        digest = "" if quote is None else quote.digest
        batch = await batches.desk.confirm(
            owner.account_id, number, digest, ceiling, AT_THE_TERMINAL
        )
        return await batches.desk.info(batch)

    with _open(account) as (batches, owner):
        _print(as_json, batches, owner, _result(decide(batches, owner)), wait=wait)


@app.command()
def pause(number: Number, account: AccountOption, as_json: AsJson = False) -> None:
    """Para de consultar; o que está em andamento termina, e o resto espera.

    Exemplo:

      $ balcao batch pause 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8 --account acme
    """
    with _open(account) as (batches, owner):
        batch = _result(batches.desk.pause(owner.account_id, number, AT_THE_TERMINAL))
        _print(as_json, batches, owner, _result(batches.desk.info(batch)))


@app.command()
def resume(
    number: Number,
    account: AccountOption,
    ceiling: Annotated[
        int | None, typer.Option("--ceiling", help="Um limite de gasto maior, em créditos.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Retoma um lote pausado, com um limite de gasto maior se informado.

    Exemplo:

      $ balcao batch resume 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8 --account acme --ceiling 90
    """
    with _open(account) as (batches, owner):
        batch = _result(batches.desk.resume(owner.account_id, number, ceiling, AT_THE_TERMINAL))
        _print(as_json, batches, owner, _result(batches.desk.info(batch)))


@app.command()
def stop(number: Number, account: AccountOption, as_json: AsJson = False) -> None:
    """Encerra um lote: as consultas em andamento terminam e as demais não são feitas.

    Exemplo:

      $ balcao batch stop 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8 --account acme
    """
    with _open(account) as (batches, owner):
        batch = _result(batches.desk.stop(owner.account_id, number, AT_THE_TERMINAL))
        _print(as_json, batches, owner, _result(batches.desk.info(batch)))


@app.command()
def download(
    number: Number,
    into: Annotated[
        Path, typer.Argument(metavar="ARQUIVO", help="Onde gravar: .csv, .xlsx, .jsonl ou .zip.")
    ],
    account: AccountOption,
) -> None:
    """Grava o resultado, como está agora: CSV, XLSX ou JSONL; ou os comprovantes, num ZIP.

    Exemplo:

      $ balcao batch download 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8 lote.xlsx --account acme
    """
    from balcao.service.batching import MEDIA

    form = into.suffix.lower().removeprefix(".")
    if form not in {*MEDIA, "zip"}:
        raise CommandFailed("O arquivo deve terminar em .csv, .xlsx, .jsonl ou .zip.")

    async def write(batches: "BatchParts", owner: "Account") -> None:
        batch = (await batches.desk.show(owner.account_id, number)).batch
        results: Any = batches.results
        made = results.receipts(batch) if form == "zip" else results.result(batch, form)
        file = await made
        with into.open("wb") as out:
            async for piece in file.pieces():
                out.write(piece)

    with _open(account) as (batches, owner):
        _result(write(batches, owner))
    typer.echo(f"Gravado: {into}")


@contextmanager
def _open(account: str) -> "Iterator[tuple[BatchParts, Account]]":
    from balcao.service.standalone import standalone_batches

    with (
        open_installation() as local,
        standalone_batches(local.settings, local.home, local.desk, local.now_ms) as batches,
    ):
        yield batches, local.account(account)


def _result(work: "Awaitable[Any]") -> Any:
    """Wait for a result. Raises `CommandFailed` with the message of the error."""

    async def wait() -> Any:
        return await work

    try:
        return wait_for(wait())
    except (CallerError, FileRunning, NoFileSpace) as error:
        raise CommandFailed(problem_of(error).message) from error


def _name_of(file: Path) -> str:
    """Return the file's name for the batch, or none if it contains a CPF."""
    return "" if contains_cpf(file.stem) else file.stem[:80]


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as content:
        while piece := content.read(_PIECE_BYTES):
            yield piece


def _exit(info: "BatchInfo") -> None:
    """Exit with code 1 if the file was refused, so that scripts stop."""
    if info.batch.state == "recusado":
        raise typer.Exit(1)


def _await_decision(batches: "BatchParts", owner: "Account", info: "BatchInfo") -> "BatchInfo":
    """Wait until the batch needs a decision or has ended; show a progress bar on a terminal."""
    with _bar() as update:
        while info.batch.state in _MOVING:
            update(info)
            time.sleep(_POLL_SECONDS)
            info = _result(batches.desk.show(owner.account_id, info.batch.batch_id))
        update(info)
    return info


@contextmanager
def _bar() -> "Iterator[Callable[[BatchInfo], None]]":
    if not sys.stderr.isatty():
        yield lambda info: None
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True)) as progress:
        task = progress.add_task("", total=None)

        def update(info: "BatchInfo") -> None:
            batch = info.batch
            total = None if batch.state in {"recebido", "validando"} else batch.rows()
            left = batch.rows("pendente", "em_andamento")
            done = batch.rows() - left
            progress.update(task, description=_state(batch), total=total, completed=done)

        yield update


def _state(batch: "StoredBatch") -> str:
    from balcao.service.batching import BATCH_STATES, pause_of

    pause = pause_of(batch, None)
    return BATCH_STATES[batch.state] if pause is None else pause.title


def _print(
    as_json: bool, batches: "BatchParts", owner: "Account", info: "BatchInfo", *, wait: bool = False
) -> "BatchInfo":
    """Print a batch and return it; with `wait`, once it needs a decision or has ended."""
    from balcao.service.batching import batch_answer

    if wait:
        info = _await_decision(batches, owner, info)
    answer = batch_answer(info)
    quote = answer.cotacao
    counts = {name: count for name, count in msgspec.to_builtins(answer.linhas).items() if count}
    pairs: list[tuple[str, object]] = [
        ("Lote", answer.id),
        ("Nome", answer.nome or None),
        ("Operação", answer.operacao),
        ("Estado", _state(info.batch)),
        ("Código", answer.codigo),
        ("Mensagem", answer.mensagem),
        ("Colunas", "; ".join(answer.colunas) or None),
        (
            "Linhas",
            ", ".join(writing.counted(count, *_ROWS[name]) for name, count in counts.items())
            or None,
        ),
    ]
    if quote is not None:
        pairs += [
            ("Custo", writing.credits_between(quote.creditos_min, quote.creditos_max)),
            (
                "Resultados guardados",
                f"{whole(quote.a_mao)} de {writing.counted(quote.validas, *_ROWS['total'])}",
            ),
            ("Saldo final, no pior caso", quote.saldo_apos_maximo),
            ("Fontes", ", ".join(each.nome for each in quote.fontes) or None),
        ]
    if answer.teto_creditos is not None:
        pairs.append(
            (
                "Gasto",
                f"{writing.credits(answer.creditos_gastos)}; limite: {whole(answer.teto_creditos)}",
            )
        )
    blocks: list[Block] = [Pairs(pairs)]
    if answer.estado == "cotado" and quote is not None:
        blocks.append(
            f"Para iniciar: {program()} batch confirm {answer.id} --account"
            f" {info.batch.account_id} --ceiling {quote.creditos_max}"
        )
    show(as_json, msgspec.to_builtins(answer), *blocks)
    return info
