"""`balcao opendata`: import months of the CNPJ registry, and generate fictitious ones."""

import asyncio
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.installation import existing_home
from balcao.cli.output import (
    AsJson,
    Block,
    Note,
    TextTable,
    decimal,
    program,
    record,
    show,
    when,
    whole,
)
from balcao.core import writing
from balcao.core.calendar import civil_day, to_ms
from balcao.core.questions import Mode
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.cli.progress import RichProgress
    from balcao.opendata.fetching.state import FetchState
    from balcao.opendata.importer import BuildReport
    from balcao.opendata.progress_file import ImportProgress
    from balcao.opendata.snapshot import Edition, SnapshotInfo
    from balcao.opendata.store import Month

app = typer.Typer(no_args_is_help=True)

Sandbox: TypeAlias = Annotated[
    bool, typer.Option("--sandbox", help="Usa o mês das contas de teste, em vez do de produção.")
]

_MEGABYTE = 1_000_000
_LONG_SECONDS = 60
_WARNINGS_SHOWN = 20


@app.command()
def build(
    paths: Annotated[
        list[Path], typer.Argument(metavar="CAMINHO", exists=True, help="Pastas ou zips do mês.")
    ],
    sandbox: Sandbox = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Aceita um mês com variação de tamanho fora do normal."),
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Processos em paralelo.")
    ] = 2,
    as_json: AsJson = False,
) -> None:
    """Importa um mês do cadastro do CNPJ e coloca em uso. Não é preciso parar o serviço.

    A Receita Federal publica um mês completo entre os dias 9 e 17, em
    https://arquivos.receitafederal.gov.br/index.php/s/YggdBLfdninEJX9 (se o endereço mudar,
    busque "dados abertos CNPJ" em gov.br). Baixe os 37 zips de uma pasta AAAA-MM: Empresas0-9,
    Estabelecimentos0-9, Socios0-9, Simples, Cnaes, Motivos, Municipios, Naturezas, Paises e
    Qualificacoes. São cerca de 8 GB. Não descompacte. Se a importação for interrompida, execute
    o mesmo comando para continuar de onde parou.

    Exemplo:

      $ balcao opendata build ~/cnpj/2026-10
    """
    from balcao.opendata.importer import build as build_month

    store = existing_home(read_settings()).opendata(_mode(sandbox))
    today = civil_day(system_now_ms())
    with _bars(as_json) as progress:
        report = build_month(
            paths, store, today=today, progress=progress, workers=workers, force=force
        )
    data = {
        **record(report, "extraction_date path rows rejected duplicates tax_regimes warnings"),
        "seconds": round(report.seconds, 3),
        "bytes_on_disk": report.bytes_on_disk,
    }
    show(as_json, data, *_report_blocks(report))


@app.command()
def fetch(
    month: Annotated[
        str | None,
        typer.Option(
            metavar="AAAA-MM", help="O mês; padrão: o mais recente, se ainda não está em uso."
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(metavar="PASTA", help="Onde gravar os zips, em PASTA/AAAA-MM."),
    ] = None,
    background: Annotated[
        bool,
        typer.Option(
            "--background",
            help="Como o serviço faz: com a menor prioridade e sem repetir arquivos já recusados.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Baixa o mês mais recente do cadastro do CNPJ, verifica, importa e coloca em uso.

    São cerca de 8 GB, de 48 minutos a 2 horas. O mês precisa estar completo: os 37 zips, da
    mesma extração, sem mudar de tamanho por dez minutos. Se não estiver, o comando mostra o que
    falta. Nesse caso, repita mais tarde. Se for interrompido, o mesmo comando continua de onde
    parou. Com `opendata_fetch = true`, o serviço faz tudo sozinho, de madrugada.

    Exemplo:

      $ balcao opendata fetch
    """
    from balcao.opendata.errors import VerificationFailed
    from balcao.opendata.fetching.month_selection import is_month
    from balcao.opendata.fetching.state import read_state, sentence
    from balcao.opendata.fetching.story import fetch as fetch_month
    from balcao.service.fetching import alone_among_nodes, fetch_context

    refuse(None if month is None or is_month(month) else "deve ser como 2026-10.", where="--month")
    settings = read_settings()
    existing_home(settings)
    if background:
        os.nice(19)
    context = replace(
        fetch_context(settings, system_now_ms),
        month=month,
        into=into,
        retry_refused=not background,
        sleep=_sleep_with_note,
    )
    with alone_among_nodes(settings), _bars(as_json) as progress:
        try:
            state = fetch_month(context, progress)
        except VerificationFailed as error:
            known = read_state(context.store)
            if not error.only_size or known is None or known.month is None:
                raise
            raise CommandFailed(
                f"O mês foi baixado, mas não passou na verificação: {error}. O mês em uso não foi"
                f" trocado. Se o tamanho está certo: {program()} opendata build"
                f" {shlex.quote(str(context.zips(known.month)))} --force"
            ) from error
    show(as_json, _fetch_record(state), f"{sentence(state)}.")


async def _sleep_with_note(seconds: float) -> None:
    """Sleep, with a note on stderr if the wait is long."""
    if seconds >= _LONG_SECONDS:
        typer.echo(f"Espera {round(seconds / 60)} min…", err=True)
    await asyncio.sleep(seconds)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Mostra os meses em uso e o andamento de uma importação não terminada.

    Exemplo:

      $ balcao opendata status
    """
    from balcao.examination.months import month_in_use, tax_regimes_note
    from balcao.opendata.fetching.state import read_state, sentence
    from balcao.opendata.progress_file import read_progress

    imports = {mode: read_progress(_store(mode)) for mode in _MODES}
    fetching = read_state(_store("live"))
    found = {mode: month_in_use(_store(mode)) for mode in _MODES}
    today = civil_day(system_now_ms())
    searchable = {mode: _searchable(mode) for mode in _MODES}
    imported = {mode: each and _progress_record(each) for mode, each in imports.items()}
    data: dict[str, object] = {
        mode: info and _info_record(info, today) for mode, info in found.items()
    }
    data |= {"imports": imported, "search": searchable}
    data["fetch"] = fetching and _fetch_record(fetching)
    rows = [
        (_NAMES[mode], "nada importado", "", "", "", "", "")
        if info is None
        else (
            _NAMES[mode],
            info.extraction_date,
            writing.counted((today - info.extraction_date).days, "dia", "dias"),
            info.built_on,
            info.rows.get("Estabelecimentos", 0),
            info.rows.get("Empresas", 0),
            decimal(info.bytes_on_disk / _MEGABYTE),
        )
        for mode, info in found.items()
    ]
    titles = (
        "Contas", "Extraído em", "Idade", "Importado em", "Estabelecimentos", "Empresas", "MB",
    )  # fmt: skip
    numbers = ("Idade", "Estabelecimentos", "Empresas", "MB")
    blocks: list[Block] = [TextTable.of(titles, rows, numbers=numbers)]
    for mode, info in found.items():
        if info is not None:
            ready = "pronto" if searchable[mode] else "não está pronto"
            blocks.append(f"Índice da busca ({_NAMES[mode]}): {ready}.")
            blocks.append(f"Regime tributário ({_NAMES[mode]}): {tax_regimes_note(info)}.")
    for mode, progress in imports.items():
        if progress is not None and progress.state != "done":
            blocks.append(_progress_sentence(progress, mode))
    if fetching is not None:
        blocks.append(f"{sentence(fetching)} (em {when(to_ms(fetching.updated_at))}).")
    unfinished = imports["live"] is not None and imports["live"].state in {"running", "stopped"}
    if found["live"] is None and not unfinished:
        blocks.append(
            f"Para baixar e importar um mês real: {program()} opendata fetch (veja --help)."
        )
    show(as_json, data, *blocks)


@app.command("list")
def list_months(as_json: AsJson = False) -> None:
    """Lista os meses guardados: o que está em uso, e aquele a que rollback volta.

    Exemplo:

      $ balcao opendata list
    """
    from balcao.opendata.store import months

    found = [(mode, month) for mode in _MODES for month in months(_store(mode))]
    used = {mode: month.edition for mode, month in found if month.current}
    table = TextTable(
        found,
        {
            "Contas": lambda pair: _NAMES[pair[0]],
            "Extraído em": lambda pair: pair[1].extraction_date,
            "Importado em": lambda pair: pair[1].built_on or "ilegível",
            "Estabelecimentos": lambda pair: pair[1].rows.get("Estabelecimentos", 0),
            "MB": lambda pair: decimal(pair[1].bytes_on_disk / _MEGABYTE),
            "Estado": lambda pair: _state_of(pair[1], used.get(pair[0])),
        },
        numbers=("Estabelecimentos", "MB"),
        empty=f"Nada importado. Para importar um mês: {program()} opendata build PASTA.",
    )
    data = [
        {
            "accounts": mode,
            **record(month, "extraction_date built_on rows bytes_on_disk"),
            "in_use": month.current,
            "rollback_target": month.rollback_target,
        }
        for mode, month in found
    ]
    show(as_json, data, table)


@app.command()
def rollback(sandbox: Sandbox = False, as_json: AsJson = False) -> None:
    """Volta ao mês em uso antes da última importação, guardado até a importação seguinte.

    Exemplo:

      $ balcao opendata rollback
    """
    from balcao.opendata.importer import rollback as roll_back

    month = roll_back(_store(_mode(sandbox)))
    text = (
        f"Em uso de novo: o mês extraído em {month.extraction_date:%d/%m/%Y}, importado em"
        f" {month.built_on:%d/%m/%Y}."
    )
    show(as_json, record(month, "extraction_date built_on"), text)


@app.command()
def answers(sandbox: Sandbox = False, as_json: AsJson = False) -> None:
    """Prepara as respostas do mês em uso, uma por estabelecimento. O serviço faz isso sozinho.

    Com elas, uma consulta usa menos processador. Ocupam cerca de 150 bytes por estabelecimento
    (cerca de 11 GB no mês inteiro). Sem elas, as respostas são as mesmas. O comando usa a menor
    prioridade e, se for interrompido, continua de onde parou.

    Exemplo:

      $ balcao opendata answers
    """
    from balcao.opendata.answers import finish, has_answers
    from balcao.providers.opendata.adapter import finished_company

    store = existing_home(read_settings()).opendata(_mode(sandbox))
    os.nice(19)
    if not has_answers(store):
        with _bars(as_json) as progress:
            finish(store, finished_company, progress)
    show(as_json, {"finished": True}, "As respostas do mês em uso estão prontas.")


@app.command()
def search(sandbox: Sandbox = False, as_json: AsJson = False) -> None:
    """Prepara o índice da busca de empresas do mês em uso. O serviço faz isso sozinho.

    Ocupa cerca de 40 bytes por estabelecimento. Sem ele, só a busca fica indisponível. O
    comando usa a menor prioridade e mais dois processos. Se for interrompido, continua de onde
    parou.

    Exemplo:

      $ balcao opendata search
    """
    from balcao.opendata.search.building import build_index
    from balcao.opendata.search.index import has_index

    store = existing_home(read_settings()).opendata(_mode(sandbox))
    os.nice(19)
    if not has_index(store):
        with _bars(as_json) as progress:
            build_index(store, progress)
    show(as_json, {"finished": True}, "O índice da busca do mês em uso está pronto.")


@app.command()
def sample(
    out: Annotated[Path, typer.Argument(metavar="PASTA", help="Onde gravar os zips.")],
    *,
    establishments: Annotated[
        int, typer.Option(min=1, metavar="N", help="Quantos estabelecimentos.")
    ],
    seed: Annotated[int, typer.Option(metavar="S", help="Semente: a mesma dá os mesmos bytes.")],
    alphanumeric: Annotated[
        float, typer.Option(min=0, max=1, metavar="PARTE", help="Parte de CNPJs com letras.")
    ] = 0.001,
    clean: Annotated[
        bool, typer.Option("--clean", help="Sem os dados imperfeitos que os meses reais têm.")
    ] = False,
    without_tax_regimes: Annotated[
        bool,
        typer.Option("--without-tax-regimes", help="Sem os quatro zips de regime tributário."),
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Processos em paralelo.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Gera um mês fictício, com os mesmos 37 zips publicados pela Receita Federal.

    E com os quatro zips opcionais de regime tributário, que ela já publicou.

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
            tax_regimes=not without_tax_regimes,
        )
    except ValueError as error:  # such as more roots than exist
        raise CommandFailed(f"Um mês assim não pode ser gerado: {error}.") from None
    size = sum(file.stat().st_size for file in month.files)
    data = {
        **record(month, "folder extraction_date"),
        "files": [file.name for file in month.files],
        "records": month.records,
        "bytes": size,
    }
    text = (
        f"{len(month.files)} zips em {month.folder} ({decimal(size / _MEGABYTE)} MB):"
        f" {whole(month.records.get('Estabelecimentos', 0))} estabelecimentos fictícios,"
        f" extraídos em {month.extraction_date:%d/%m/%Y}."
    )
    show(as_json, data, text)


_MODES: tuple[Mode, ...] = ("live", "test")
_NAMES: dict[Mode, str] = {"live": "de produção", "test": "de teste"}


def _mode(sandbox: bool) -> Mode:
    return "test" if sandbox else "live"


@contextmanager
def _bars(as_json: bool) -> "Iterator[RichProgress | None]":
    """Yield progress bars if stdout is a terminal and receives nothing else, else None."""
    from balcao.cli.progress import RichProgress

    if as_json or not sys.stdout.isatty():
        yield None
        return
    with RichProgress() as progress:
        yield progress


def _store(mode: Mode) -> Path:
    """Return the folder of months without creating it."""
    from balcao.home import Home

    return Home(read_settings().home).opendata(mode)


def _searchable(mode: Mode) -> bool:
    """Return whether the month in use has a search index."""
    from balcao.examination.months import is_searchable

    return is_searchable(_store(mode))


def _state_of(month: "Month", used: "Edition | None") -> str:
    """Describe a month's state. `used`: the edition in use."""
    if month.current:
        return "em uso"
    if used is not None and month.edition > used:
        return "descartado"  # by `rollback`
    return "disponível para rollback" if month.rollback_target else "guardado"


def _info_record(info: "SnapshotInfo", today: date) -> dict[str, object]:
    return {
        "extraction_date": info.extraction_date,
        "age_days": (today - info.extraction_date).days,
        **record(info, "built_on rows rejected duplicates domains tax_regimes bytes_on_disk"),
    }


def _progress_record(progress: "ImportProgress") -> dict[str, object]:
    return record(
        progress,
        "state extraction_date phase bytes_done bytes_total rows rows_per_second"
        " started_at updated_at pid message",
    )


def _fetch_record(state: "FetchState") -> dict[str, object]:
    return {
        **record(state, "standing month running percent bytes_done bytes_total reason"),
        **record(state, "updated_at again_at fetched"),
    }


def _progress_sentence(progress: "ImportProgress", mode: Mode) -> str:
    """Describe an unfinished import."""
    month = f"o mês de {progress.extraction_date:%d/%m/%Y} ({_NAMES[mode]})"
    as_of = when(to_ms(progress.updated_at))
    share = "" if progress.share is None else f", {int(progress.share * 100)}%"
    reached = f"{progress.phase}{share}, {whole(progress.rows)} {progress.unit}"
    match progress.state:
        case "running":
            pace = f"{whole(progress.rows_per_second)} por segundo"
            return f"Importando {month}: {reached}, {pace} (em {as_of})."
        case "stopped":
            return (
                f"Importação interrompida: {month}, até {as_of}: {reached}. Execute o mesmo"
                " comando para continuar de onde parou."
            )
        case _:
            return f"A última importação falhou em {as_of}: {month}: {progress.message}."


def _report_blocks(report: "BuildReport") -> Sequence[Block]:
    table = TextTable(
        list(report.rows),
        {
            "Tabela": str,
            "Linhas": lambda name: report.rows[name],
            "Recusadas": lambda name: report.rejected.get(name, 0),
            "Repetidas": lambda name: report.duplicates.get(name, 0),
        },
        numbers=("Linhas", "Recusadas", "Repetidas"),
    )
    warnings = [Note(f"aviso: {warning}") for warning in report.warnings[:_WARNINGS_SHOWN]]
    if more := len(report.warnings[_WARNINGS_SHOWN:]):
        warnings.append(Note(f"aviso: e mais {whole(more)} (todos com --json)"))
    in_use = (
        f"Em uso: o mês extraído em {report.extraction_date:%d/%m/%Y}"
        f" ({decimal(report.bytes_on_disk / _MEGABYTE)} MB, {decimal(report.seconds)} s)."
    )
    return [in_use, table, *warnings]
