"""`balcao opendata`: import months of the CNPJ registry, and make fictitious ones."""

import shlex
import sys
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.office import begun
from balcao.cli.output import AsJson, decimal, print_json, print_table, program, record, when, whole
from balcao.core import writing
from balcao.core.calendar import civil_day, to_ms
from balcao.core.questions import Mode
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.opendata.fetching.state import FetchState
    from balcao.opendata.importer import BuildReport
    from balcao.opendata.progress_file import ImportProgress
    from balcao.opendata.snapshot import Edition, SnapshotInfo
    from balcao.opendata.store import Month

app = typer.Typer(no_args_is_help=True, help="Importa o cadastro do CNPJ (dados abertos).")

Sandbox: TypeAlias = Annotated[
    bool, typer.Option("--sandbox", help="O mês das contas de teste, e não o das de produção.")
]

_MEGABYTE = 1_000_000
_LONG_SECONDS = 60
_WARNINGS_SHOWN = 20


@app.command()
def build(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="CAMINHO", exists=True, help="Pastas ou zips do mês.", show_default=False
        ),
    ],
    sandbox: Sandbox = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Aceita um mês que encolheu ou cresceu mais que o normal."),
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Processos em paralelo.")
    ] = 2,
    as_json: AsJson = False,
) -> None:
    """Importa um mês do cadastro do CNPJ e passa a usá-lo; o servidor o segue sozinho.

    A Receita Federal publica um mês inteiro entre os dias 9 e 17, em
    https://arquivos.receitafederal.gov.br/index.php/s/YggdBLfdninEJX9 (o endereço pode mudar;
    procure "dados abertos CNPJ" em gov.br). Baixe os 37 zips de uma pasta AAAA-MM:
    Empresas0-9, Estabelecimentos0-9, Socios0-9, Simples, Cnaes, Motivos, Municipios,
    Naturezas, Paises e Qualificacoes. São uns 8 GB; não descompacte. Uma importação
    interrompida continua de onde parou, com o mesmo comando.

    Exemplo:

      $ balcao opendata build ~/cnpj/2026-10
    """
    from balcao.opendata.importer import build as build_month
    from balcao.opendata.progress import RichProgress

    store = begun(read_settings()).opendata("test" if sandbox else "live")
    today = civil_day(system_now_ms())
    with ExitStack() as stack:
        drawn = not as_json and sys.stdout.isatty()
        progress = stack.enter_context(RichProgress()) if drawn else None
        report = build_month(
            paths, store, today=today, progress=progress, workers=workers, force=force
        )
    if as_json:
        print_json(_report_as_json(report))
    else:
        _print_report(report)


@app.command()
def fetch(
    month: Annotated[
        str | None,
        typer.Option(
            metavar="AAAA-MM", help="Este mês; padrão: o mais novo, se ainda não está em uso."
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(metavar="PASTA", help="Onde gravar os zips, que ficam em PASTA/AAAA-MM."),
    ] = None,
    background: Annotated[
        bool,
        typer.Option(
            "--background",
            help="Como o serviço: com a menor prioridade, e sem repetir o que já foi recusado.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Baixa o mês mais novo do cadastro do CNPJ, confere, importa e passa a usá-lo.

    São uns 8 GB, de 48 minutos a 2 horas. Espera que o mês esteja completo (os 37 zips, sem mudar
    de tamanho por dez minutos, todos da mesma extração); se ainda não está, diz o que falta, e é
    só repetir mais tarde. Interrompido, continua de onde parou com o mesmo comando. Com
    `opendata_fetch = true` o serviço faz tudo sozinho, de madrugada.

    Exemplo:

      $ balcao opendata fetch
    """
    import os
    from dataclasses import replace

    from balcao.opendata.errors import VerificationFailed
    from balcao.opendata.fetching.gate import is_month
    from balcao.opendata.fetching.state import read_state, sentence
    from balcao.opendata.fetching.story import fetch as fetch_month
    from balcao.opendata.progress import RichProgress
    from balcao.service.fetching import alone_among_nodes, fetch_site

    refuse(None if month is None or is_month(month) else "deve ser como 2026-10.", where="--month")
    settings = read_settings()
    begun(settings)
    if background:
        os.nice(19)
    site = replace(
        fetch_site(settings, system_now_ms),
        month=month,
        into=into,
        even_refused=not background,
        sleep=_slept_aloud,
    )
    with ExitStack() as stack:
        stack.enter_context(alone_among_nodes(settings))
        drawn = not as_json and sys.stdout.isatty()
        progress = stack.enter_context(RichProgress()) if drawn else None
        try:
            state = fetch_month(site, progress)
        except VerificationFailed as error:
            known = read_state(site.store)
            if not error.only_size or known is None or known.month is None:
                raise
            raise CommandFailed(
                f"O mês foi baixado, e não passou na verificação: {error}. O mês em uso não foi"
                " trocado. Se o tamanho está certo:"
                f" {program()} opendata build {shlex.quote(str(site.zips(known.month)))} --force"
            ) from error
    if as_json:
        print_json(_fetch_as_json(state))
    else:
        typer.echo(f"{sentence(state)}.")


async def _slept_aloud(seconds: float) -> None:
    """Whoever looks on is told of a long wait."""
    import asyncio

    if seconds >= _LONG_SECONDS:
        typer.echo(f"Espera {round(seconds / 60)} min…", err=True)
    await asyncio.sleep(seconds)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Mostra os meses em uso, e até onde foi uma importação que não terminou.

    Exemplo:

      $ balcao opendata status
    """
    from balcao.opendata.fetching.state import read_state, sentence
    from balcao.opendata.progress_file import read_progress

    imports = {mode: read_progress(_store(mode)) for mode in _MODES}
    fetching = read_state(_store("live"))
    from balcao.examination.months import month_in_use

    found = {mode: month_in_use(_store(mode)) for mode in _MODES}
    today = civil_day(system_now_ms())
    if as_json:
        months: dict[str, object] = {
            mode: None if info is None else _info_as_json(info, today)
            for mode, info in found.items()
        }
        told = {
            mode: None if progress is None else _progress_as_json(progress)
            for mode, progress in imports.items()
        }
        searched = {m: _searchable(m) for m in _MODES}
        told_of = {"imports": told, "search": searched}
        print_json(months | told_of | {"fetch": fetching and _fetch_as_json(fetching)})
        return
    print_table(
        ("Contas", "Extraído em", "Idade", "Importado em", "Estabelecimentos", "Empresas", "MB"),
        [
            (_NAMES[mode], "nada importado", "", "", "", "", "")
            if info is None
            else (
                _NAMES[mode],
                f"{info.extraction_date:%d/%m/%Y}",
                writing.counted((today - info.extraction_date).days, "dia", "dias"),
                f"{info.built_on:%d/%m/%Y}",
                whole(info.rows.get("Estabelecimentos", 0)),
                whole(info.rows.get("Empresas", 0)),
                decimal(info.bytes_on_disk / _MEGABYTE),
            )
            for mode, info in found.items()
        ],
        numbers=("Idade", "Estabelecimentos", "Empresas", "MB"),
    )
    for mode, info in found.items():
        if info is not None:
            ready = "pronto" if _searchable(mode) else "não está pronto"
            typer.echo(f"Índice da busca ({_NAMES[mode]}): {ready}.")
    for mode, progress in imports.items():
        if progress is not None and progress.state != "done":
            typer.echo(_progress_sentence(progress, mode))
    if fetching is not None:
        typer.echo(f"{sentence(fetching)} (em {when(to_ms(fetching.updated_at))}).")
    unfinished = imports["live"] is not None and imports["live"].state in {"running", "stopped"}
    if found["live"] is None and not unfinished:
        typer.echo(f"Para baixar e importar um mês real: {program()} opendata fetch (veja --help).")


@app.command("list")
def list_months(as_json: AsJson = False) -> None:
    """Lista os meses guardados: o que está em uso, e aquele a que rollback volta.

    Exemplo:

      $ balcao opendata list
    """
    from balcao.opendata.store import months

    found = [(mode, month) for mode in _MODES for month in months(_store(mode))]
    used = {mode: month.edition for mode, month in found if month.current}
    if as_json:
        print_json([{"accounts": mode} | _month_as_json(month) for mode, month in found])
        return
    print_table(
        ("Contas", "Extraído em", "Importado em", "Estabelecimentos", "MB", "Estado"),
        [
            (
                _NAMES[mode],
                f"{month.extraction_date:%d/%m/%Y}",
                "ilegível" if month.built_on is None else f"{month.built_on:%d/%m/%Y}",
                whole(month.rows.get("Estabelecimentos", 0)),
                decimal(month.bytes_on_disk / _MEGABYTE),
                _state_of(month, used.get(mode)),
            )
            for mode, month in found
        ],
        numbers=("Estabelecimentos", "MB"),
        empty=f"Nada importado. Para importar um mês: {program()} opendata build PASTA.",
    )


@app.command()
def rollback(sandbox: Sandbox = False, as_json: AsJson = False) -> None:
    """Volta ao que estava em uso antes da última importação, e fica guardado até a seguinte.

    Exemplo:

      $ balcao opendata rollback
    """
    from balcao.opendata.importer import rollback as roll_back

    month = roll_back(_store("test" if sandbox else "live"))
    if as_json:
        print_json(record(month, "extraction_date built_on"))
    else:
        typer.echo(
            f"Em uso de novo: o mês extraído em {month.extraction_date:%d/%m/%Y}, importado em"
            f" {month.built_on:%d/%m/%Y}."
        )


@app.command()
def answers(sandbox: Sandbox = False, as_json: AsJson = False) -> None:
    """Prepara as respostas do mês em uso, uma por estabelecimento; o servidor o faz sozinho.

    Com elas uma consulta custa menos processador. Ocupam cerca de 150 bytes por estabelecimento
    (uns 11 GB no mês inteiro); sem elas tudo responde como antes. Trabalha com a menor prioridade
    e, interrompido, continua de onde parou.

    Exemplo:

      $ balcao opendata answers
    """
    import os

    from balcao.opendata.answers import are_finished, finish
    from balcao.opendata.progress import RichProgress
    from balcao.providers.opendata.adapter import said_of

    store = begun(read_settings()).opendata("test" if sandbox else "live")
    os.nice(19)
    if not are_finished(store):
        with ExitStack() as stack:
            drawn = not as_json and sys.stdout.isatty()
            finish(store, said_of, stack.enter_context(RichProgress()) if drawn else None)
    if as_json:
        print_json({"finished": True})
    else:
        typer.echo("As respostas do mês em uso estão prontas.")


@app.command()
def search(sandbox: Sandbox = False, as_json: AsJson = False) -> None:
    """Prepara o índice da busca de empresas do mês em uso; o servidor o faz sozinho.

    Ocupa cerca de 40 bytes por estabelecimento; sem ele a busca responde que não está disponível,
    e todo o resto como antes. Trabalha com a menor prioridade, em dois processos além do seu, e,
    interrompido, continua de onde parou.

    Exemplo:

      $ balcao opendata search
    """
    import os

    from balcao.opendata.progress import RichProgress
    from balcao.opendata.search.building import build_index
    from balcao.opendata.search.index import is_searchable

    store = begun(read_settings()).opendata("test" if sandbox else "live")
    os.nice(19)
    if not is_searchable(store):
        with ExitStack() as stack:
            drawn = not as_json and sys.stdout.isatty()
            build_index(store, stack.enter_context(RichProgress()) if drawn else None)
    if as_json:
        print_json({"finished": True})
    else:
        typer.echo("O índice da busca do mês em uso está pronto.")


@app.command()
def sample(
    out: Annotated[
        Path, typer.Argument(metavar="PASTA", help="Onde gravar os zips.", show_default=False)
    ],
    *,
    establishments: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Quantos estabelecimentos.", show_default=False),
    ],
    seed: Annotated[
        int,
        typer.Option(metavar="S", help="Semente: a mesma dá os mesmos bytes.", show_default=False),
    ],
    alphanumeric: Annotated[
        float, typer.Option(min=0, max=1, metavar="PARTE", help="Parte de CNPJs com letras.")
    ] = 0.001,
    clean: Annotated[
        bool, typer.Option("--clean", help="Sem as sujeiras que os meses reais têm.")
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Processos em paralelo.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Gera um mês fictício, nos 37 zips que a Receita Federal publica.

    Exemplo:

      $ balcao opendata sample /tmp/mes --establishments 100000 --seed 7
      $ balcao opendata build /tmp/mes --sandbox --force
    """
    from balcao.opendata.generator import generate

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CommandFailed(f"{out} já existe e não está vazia; indique uma pasta nova.")
    try:
        month = generate(
            out,
            establishments,
            seed,
            alphanumeric_share=alphanumeric,
            clean=clean,
            workers=workers,
        )
    except ValueError as error:  # e.g. more roots than there are
        raise CommandFailed(f"Um mês assim não pode ser gerado: {error}.") from None
    size = sum(file.stat().st_size for file in month.files)
    if as_json:
        print_json(
            {
                "folder": month.folder,
                "extraction_date": month.extraction_date,
                "files": [file.name for file in month.files],
                "records": month.records,
                "bytes": size,
            }
        )
        return
    typer.echo(
        f"{len(month.files)} zips em {month.folder} ({decimal(size / _MEGABYTE)} MB):"
        f" {whole(month.records.get('Estabelecimentos', 0))} estabelecimentos fictícios,"
        f" extraídos em {month.extraction_date:%d/%m/%Y}."
    )


_MODES: tuple[Mode, ...] = ("live", "test")
_NAMES: dict[Mode, str] = {"live": "de produção", "test": "de teste"}


def _store(mode: Mode) -> Path:
    """Where the months lie; reading there makes nothing."""
    from balcao.home import Home

    return Home(read_settings().home).opendata(mode)


def _searchable(mode: Mode) -> bool:
    """Whether the month in use has its search index; not so where there is no month."""
    from balcao.examination.months import has_index

    return has_index(_store(mode))


def _state_of(month: "Month", used: "Edition | None") -> str:
    """`used`: the edition that is in use."""
    if month.current:
        return "em uso"
    if used is not None and month.edition > used:
        return "descartado"  # somebody went back from it
    return "volta com rollback" if month.rollback_target else "guardado"


def _month_as_json(month: "Month") -> dict[str, object]:
    return {
        **record(month, "extraction_date built_on rows bytes_on_disk"),
        "in_use": month.current,
        "rollback_target": month.rollback_target,
    }


def _info_as_json(info: "SnapshotInfo", today: date) -> dict[str, object]:
    return {
        "extraction_date": info.extraction_date,
        "age_days": (today - info.extraction_date).days,
        **record(info, "built_on rows rejected duplicates domains bytes_on_disk"),
    }


def _progress_as_json(progress: "ImportProgress") -> dict[str, object]:
    return record(
        progress,
        "state extraction_date phase bytes_done bytes_total rows rows_per_second"
        " started_at updated_at pid message",
    )


def _fetch_as_json(state: "FetchState") -> dict[str, object]:
    return {
        **record(state, "standing month running percent bytes_done bytes_total reason"),
        **record(state, "updated_at again_at fetched"),
    }


def _progress_sentence(progress: "ImportProgress", mode: Mode) -> str:
    """What became of an import that is not done."""
    month = f"o mês de {progress.extraction_date:%d/%m/%Y} ({_NAMES[mode]})"
    told_at = when(to_ms(progress.updated_at))
    share = "" if progress.share is None else f", {int(progress.share * 100)}%"
    reached = f"{progress.phase}{share}, {whole(progress.rows)} {progress.unit}"
    match progress.state:
        case "running":
            pace = f"{whole(progress.rows_per_second)} por segundo"
            return f"Importando {month}: {reached}, {pace} (em {told_at})."
        case "stopped":
            return (
                f"Importação interrompida: {month}, até {told_at}: {reached}."
                " Continua de onde parou com o mesmo comando."
            )
        case _:
            return f"A última importação falhou em {told_at}: {month}: {progress.message}."


def _report_as_json(report: "BuildReport") -> dict[str, object]:
    return {
        **record(report, "extraction_date path rows rejected duplicates warnings"),
        "seconds": round(report.seconds, 3),
        "bytes_on_disk": report.bytes_on_disk,
    }


def _print_report(report: "BuildReport") -> None:
    typer.echo(
        f"Em uso: o mês extraído em {report.extraction_date:%d/%m/%Y}"
        f" ({decimal(report.bytes_on_disk / _MEGABYTE)} MB, {decimal(report.seconds)} s)."
    )
    print_table(
        ("Tabela", "Linhas", "Recusadas", "Repetidas"),
        [
            (
                name,
                whole(rows),
                whole(report.rejected.get(name, 0)),
                whole(report.duplicates.get(name, 0)),
            )
            for name, rows in report.rows.items()
        ],
        numbers=("Linhas", "Recusadas", "Repetidas"),
    )
    for warning in report.warnings[:_WARNINGS_SHOWN]:
        typer.echo(f"aviso: {warning}", err=True)
    if len(report.warnings) > _WARNINGS_SHOWN:
        more = len(report.warnings) - _WARNINGS_SHOWN
        typer.echo(f"aviso: e mais {whole(more)} (todos com --json)", err=True)
