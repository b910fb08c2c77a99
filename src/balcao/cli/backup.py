"""`balcao backup`: make, list, verify and restore copies of the data."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.installation import existing_home, open_installation, wait_for
from balcao.cli.output import (
    AsJson,
    Block,
    Note,
    TextTable,
    age,
    decimal,
    print_step,
    program,
    record,
    show,
    when,
    whole,
)  # fmt: skip
from balcao.core.writing import counted, day
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.backup.archive import Manifest
    from balcao.backup.confirming import Unconfirmed
    from balcao.backup.restoring import VerifyResult
    from balcao.settings import Settings

app = typer.Typer(no_args_is_help=True)

_MEGABYTE = 1_000_000
_MONTHS = {"live": "produção", "test": "sandbox"}


@app.command()
def create(
    to: Annotated[
        Path | None,
        typer.Option(
            help="Pasta do backup; padrão: BALCAO_BACKUP_FOLDER.", metavar="PASTA", file_okay=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Faz um backup. Não é preciso parar o serviço.

    O backup contém o segredo das chaves. Guarde o arquivo como uma senha.

    Exemplo:

      $ balcao backup create --to /mnt/copias
    """
    from balcao.backup.making import make

    settings = read_settings()
    existing_home(settings)
    began = time.monotonic()
    made = make(settings, system_now_ms, folder=to)
    seconds = time.monotonic() - began
    manifest = made.manifest
    blocks: list[Block] = [
        f"Backup feito em {decimal(seconds)} s: {made.path}, {decimal(made.bytes / _MEGABYTE)}"
        f" MB, {_sums(manifest)}.",
        "O arquivo contém o segredo das chaves (secret.key) e só pode ser lido pelo dono."
        " Guarde-o como uma senha.",
        *(
            f"Não inclui o mês importado ({_MONTHS[mode]}): {day(extracted)}."
            for mode, extracted in manifest.months.items()
        ),
    ]
    if not manifest.receipts_included:
        blocks.append(
            "Os comprovantes estão em um bucket e o backup só traz a lista. Copie o bucket também."
        )
    if manifest.receipts_missing:
        missing = counted(manifest.receipts_missing, "comprovante", "comprovantes")
        blocks.append(Note(f"aviso: não há {missing}."))
    data = {**_record(made.path, made.bytes, manifest), "seconds": round(seconds, 3)}
    show(as_json, data, *blocks)


@app.command("list")
def list_backups(
    folder: Annotated[
        Path | None,
        typer.Option("--from", help="Pasta; padrão: BALCAO_BACKUP_FOLDER.", metavar="PASTA"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Lista os backups, do mais recente ao mais antigo.

    Exemplo:

      $ balcao backup list
    """
    from balcao.backup.archive import read_manifest
    from balcao.storage.backup_files import kept_in
    from balcao.storage.transfer.errors import BackupError

    settings = read_settings()
    place = folder or settings.backups
    now = system_now_ms()
    found: list[dict[str, object]] = []
    rows: list[tuple[str, ...]] = []
    for kept in kept_in(place):
        size, at_ms = kept.path.stat().st_size, kept.at_ms
        try:
            manifest = read_manifest(kept.path)
        except BackupError as error:
            engine, contents = "?", str(error)
            found.append({"file": kept.path, "bytes": size, "problem": contents})
        else:
            engine, contents, at_ms = manifest.engine, _sums(manifest), manifest.created_ms
            age_seconds = max(0, now - at_ms) // 1000
            found.append({**_record(kept.path, size, manifest), "age_seconds": age_seconds})
        megabytes = decimal(size / _MEGABYTE)
        rows.append((kept.path.name, age(now - at_ms), megabytes, engine, contents))
    table = TextTable.of(
        ("Cópia", "Idade", "MB", "Banco", "Contém"),
        rows,
        numbers=("MB",),
        empty=f"Nenhum backup em {place}. Faça um: {program()} backup create.",
        foldable=("Cópia",),
    )
    show(as_json, {"folder": place, "backups": found}, table)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="ARQUIVO", exists=True, dir_okay=False)],
    verify: Annotated[
        bool, typer.Option("--verify", help="Só verifica o backup, em uma pasta temporária.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Substitui os dados existentes, que são guardados à parte."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Restaura um backup na pasta de dados, com o serviço parado, ou só verifica o backup.

    Sai com código 1 se o backup não confere. Verifique os seus backups periodicamente.

    Exemplo:

      $ balcao backup restore backups/balcao-20260805-131530.tar --verify
    """
    from balcao.backup import restoring

    settings = read_settings()
    began = time.monotonic()
    if verify:
        verdict = restoring.verify(file)
        _show_verdict(as_json, file, verdict, time.monotonic() - began)
        return
    done = restoring.restore(file, settings, system_now_ms, replace=replace)
    seconds = time.monotonic() - began
    _sandbox(settings)
    manifest = done.verdict.manifest
    data = {
        **_record(file, file.stat().st_size, manifest),
        "seconds": round(seconds, 3),
        "aside": done.aside,
        "saved": None if done.saved is None else done.saved.path,
    }
    lines = [
        f"Restaurado em {decimal(seconds)} s, como era em {when(manifest.created_ms)}:"
        f" {_sums(manifest)}."
    ]
    if done.aside is not None:
        lines.append(f"Dados anteriores da pasta de dados: {done.aside}")
    if done.saved is not None:
        lines.append(f"Backup dos dados anteriores do banco de dados: {done.saved.path}")
    if "live" in manifest.months:
        lines.append(
            f"O mês importado ({day(manifest.months['live'])}) não está no backup. Se não está mais"
            f" aqui, importe de novo: {program()} opendata build PASTA."
        )
    if not manifest.receipts_included:
        lines.append("Os comprovantes não estão no backup: ficam em um bucket.")
    lines.append(
        "Nenhum comprovante será apagado até você confirmar que estes são os dados válidos:"
        f" {program()} backup confirm."
    )
    show(as_json, data, *lines)


@app.command()
def confirm(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CÓDIGO", help="O código mostrado pelo comando sem este argumento."),
    ] = None,
) -> None:
    """Confirma que os dados restaurados são os válidos.

    Depois de uma restauração, o serviço não apaga nenhum comprovante, porque os mais novos que
    o banco de dados ainda podem ser necessários. A confirmação libera as exclusões e pula os
    números de contas, chaves e pessoas que podem ter sido usados e perdidos.

    Em um teste, nunca confirme com os comprovantes da produção. Aponte BALCAO_RECEIPTS para
    outro lugar.

    Exemplo:

      $ balcao backup confirm
    """
    from balcao.backup import confirming

    with open_installation() as local:
        desk, settings = local.desk, local.settings
        found = wait_for(confirming.check(desk, settings))
        if not found.is_pending:
            typer.echo("Não há restauração a confirmar.")
            return
        if found.is_in_use:
            raise CommandFailed(
                f"Outro serviço está usando os comprovantes de {found.where}. Em um teste, aponte"
                " BALCAO_RECEIPTS para outro lugar. Se os dados daqui são os válidos, pare o"
                " outro serviço e repita depois de 5 minutos."
            )
        if code is None:
            _print_unconfirmed(found)
            raise typer.Exit(1)
        try:
            confirmed = wait_for(confirming.confirm(desk, settings, code, local.now_ms()))
        except confirming.NotConfirmed:
            confirmed = False
    if not confirmed:
        raise CommandFailed(
            f"O código não é o desta restauração. Veja o código correto: {program()} backup"
            " confirm."
        )
    least = found.least
    typer.echo(
        f"Restauração confirmada. A próxima conta terá o número {least['account']}; a próxima"
        f" chave, {least['api_key']}; a próxima pessoa, {least['person']}."
    )


def _print_unconfirmed(found: "Unconfirmed") -> None:
    typer.echo(f"Comprovantes: {found.where}")
    typer.echo(_STANDINGS[found.standing])
    if found.in_store is not None and found.in_store.at_ms:
        typer.echo(f"Marca nos comprovantes: {when(found.in_store.at_ms)}")
    if found.desk_ms is not None:
        typer.echo(f"Última marca neste banco de dados: {when(found.desk_ms)}")
    typer.echo(
        "Até a confirmação, nenhum comprovante é apagado. Se quiser restaurar um backup mais"
        " novo, faça isso antes."
    )
    typer.echo(
        "Depois da confirmação, os comprovantes desconhecidos por este banco de dados são"
        " apagados na próxima limpeza. Se os dados daqui são os válidos:"
    )
    typer.echo(f"  {program()} backup confirm {found.code}")


_STANDINGS = {
    "behind": "O banco de dados é mais antigo que os comprovantes. Ele foi restaurado.",
    "foreign": "Os comprovantes são de outra instalação ou o banco de dados é anterior à marca.",
    "unmarked": "Os comprovantes não têm a marca deste banco de dados. Eles foram restaurados ou"
    " são outros.",
}


def _sandbox(settings: "Settings") -> None:
    """Create the sandbox's month: only a first start does, and this folder already had one."""
    from balcao.home import Home
    from balcao.service import first_start

    home = Home(settings.home)
    if first_start.is_done(home):
        first_start.make_month(home, settings, now_ms=system_now_ms, report=print_step)


def _show_verdict(as_json: bool, file: Path, verdict: "VerifyResult", seconds: float) -> None:
    data = {
        **_record(file, file.stat().st_size, verdict.manifest),
        "ok": not verdict.complaints,
        "complaints": list(verdict.complaints),
        "books_seen": verdict.books_seen,
        "seconds": round(seconds, 3),
    }
    if verdict.complaints:
        details = [Note(f"  {complaint}") for complaint in verdict.complaints]
        show(as_json, data, Note("O backup não confere:"), *details)
        raise typer.Exit(1)
    text = (
        f"O backup confere: restaurado e somado de novo em {decimal(seconds)} s;"
        f" {_sums(verdict.manifest)}."
    )
    show(as_json, data, text)


def _sums(manifest: "Manifest") -> str:
    sums = manifest.sums
    # As `ledger check` counts them.
    entries = sums.get("entries", 0) + sums.get("charged_lookups", 0)
    return (
        f"{counted(sums.get('accounts', 0), 'conta', 'contas')},"
        f" {counted(entries, 'lançamento', 'lançamentos')},"
        f" saldos de {whole(sums.get('balances', 0))},"
        f" {counted(sums.get('open_operations', 0), 'operação aberta', 'operações abertas')},"
        f" {counted(sums.get('receipts', 0), 'comprovante', 'comprovantes')}"
    )


def _record(path: Path, size: int, manifest: "Manifest") -> dict[str, object]:
    return {
        "file": path,
        "bytes": size,
        **record(manifest, "created_ms engine schema program sums months"),
        **record(manifest, "receipts_included receipts_missing"),
    }
