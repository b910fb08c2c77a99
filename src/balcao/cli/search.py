"""`balcao search`: search companies of the month in use by name and filters."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.opendata import Sandbox
from balcao.cli.output import AsJson, Block, Note, TextTable, program, show, whole
from balcao.core.calendar import civil_day
from balcao.core.errors import CallerError
from balcao.core.problems import problem_of
from balcao.core.writing import cnpj
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.core.search import HitCount
    from balcao.core.search_answers import CompaniesPage

_encode = msgspec.json.Encoder(decimal_format="number").encode

_SHOWN = 20
_WITHOUT_PEOPLE = "Sem empresários individuais nem MEI. Com eles: --people."


def _filter(help_text: str, *names: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(*names, help=help_text, show_default=False)
    return found


def search(  # one option a filter
    query: Annotated[
        str,
        typer.Argument(
            metavar="NOME",
            help="Palavras do nome; a última pode terminar em *.",
            show_default=False,
        ),
    ] = "",
    *,
    uf: Annotated[str, _filter("Siglas de UF, separadas por vírgula.", "--uf")] = "",
    municipio: Annotated[
        str, _filter("Nomes (com --uf) ou códigos.", "--city", "--municipio")
    ] = "",
    cnae: Annotated[
        str, _filter("Atividades, principais ou não: 7 dígitos ou os primeiros.", "--cnae")
    ] = "",
    divisao: Annotated[
        str, _filter("Divisões da CNAE, de 2 dígitos.", "--division", "--divisao")
    ] = "",
    natureza: Annotated[
        str, _filter("Naturezas jurídicas, de 4 dígitos.", "--legal-nature", "--natureza")
    ] = "",
    situacao: Annotated[str, _filter("ATIVA, BAIXADA, INAPTA, …", "--status", "--situacao")] = "",
    porte: Annotated[str, _filter("ME, EPP ou DEMAIS.", "--size", "--porte")] = "",
    matriz: Annotated[
        str, _filter("true: só matrizes; false: só filiais.", "--head-office", "--matriz")
    ] = "",
    cep: Annotated[str, _filter("CEPs ou inícios de CEP.", "--cep")] = "",
    dominio: Annotated[str, _filter("Domínios do e-mail.", "--domain", "--dominio")] = "",
    raiz: Annotated[str, _filter("Raízes de CNPJ, de 8 caracteres.", "--root", "--raiz")] = "",
    others: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="NOME=VALOR", help="Outro filtro da API."),
    ] = None,
    people: Annotated[bool, typer.Option("--people", help="Inclui pessoas físicas.")] = False,
    count: Annotated[bool, typer.Option("--count", help="Mostra só o total.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Quantas.")] = _SHOWN,
    cursor: Annotated[str, _filter("Cursor da página anterior, para continuar.", "--cursor")] = "",
    sandbox: Sandbox = False,
    as_json: AsJson = False,
) -> None:
    """Busca empresas no mês em uso, sem cobrar. Equivale a /buscas/v1/empresas.

    Exemplo:

      $ balcao search "padaria pra*" --uf SP --status ATIVA
      $ balcao search --cnae 6201501 --filter aberta_desde=2026-01-01 --count
    """
    sent = {
        "q": query, "uf": uf, "municipio": municipio, "cnae": cnae, "divisao": divisao,
        "natureza": natureza, "situacao": situacao, "porte": porte, "matriz": matriz, "cep": cep,
        "dominio": dominio, "raiz": raiz, "pessoas": "true" if people else "",
    }  # fmt: skip
    for other in others or ():
        name, _, value = other.partition("=")
        sent[name.strip()] = value.strip()
    found = _found(sent, cursor, None if count else limit, sandbox=sandbox)
    data = msgspec.json.decode(_encode(found))  # amounts as in the API
    if "data_base" in data:
        data["competencia"] = data["data_base"][: len("AAAA-MM")]
    data["inclui_pessoas"] = people
    notes = [] if people else [Note(_WITHOUT_PEOPLE)]  # on stderr, apart from the result
    show(as_json, data, *_blocks(found), *notes)


def _blocks(found: "CompaniesPage | HitCount") -> Sequence[Block]:
    from balcao.core.search import HitCount

    if isinstance(found, HitCount):
        return [f"{whole(found.total)}{'' if found.exact else ' ou mais'}"]
    table = TextTable(
        found.itens,
        {
            "CNPJ": lambda each: cnpj(each.cnpj),
            "Nome": lambda each: each.nome_empresarial or "",
            "UF": lambda each: each.uf or "",
            "Município": lambda each: each.municipio or "",
            "Situação": lambda each: each.situacao or "",
        },
        foldable=("Nome",),
        unbroken=("CNPJ",),
        empty="Nenhuma empresa atende a todos os filtros.",
    )
    if found.cursor is None:
        return [table]
    return [table, f"Há mais: repita com --cursor {found.cursor}"]


def _found(
    sent: dict[str, str], cursor: str, limit: int | None, *, sandbox: bool
) -> "CompaniesPage | HitCount":
    """Return a page of companies, or their number if `limit` is None."""
    from balcao.core.search import FILTER_NAMES, read_filters
    from balcao.home import Home
    from balcao.opendata.errors import OpenDataError
    from balcao.opendata.search.answering import companies, counted
    from balcao.opendata.search.index import open_index
    from balcao.opendata.snapshot import current_path

    if unknown := sorted(set(sent) - {*FILTER_NAMES, "pessoas"}):
        names = ", ".join(FILTER_NAMES)
        raise CommandFailed(f"Não há o filtro {unknown[0]}. Filtros: {names}.")
    store = Home(read_settings().home).opendata("test" if sandbox else "live")
    try:
        month = current_path(store)
    except OpenDataError as error:
        made_up = "" if sandbox else " Para as empresas da sandbox, acrescente --sandbox."
        raise CommandFailed(
            f"Nenhum mês foi importado ainda. Importe um: {program()} opendata"
            f" {'build MÊS --sandbox' if sandbox else 'fetch'}.{made_up}"
        ) from error
    try:
        index = open_index(month)
    except OpenDataError as error:
        option = " --sandbox" if sandbox else ""
        raise CommandFailed(
            f"O índice da busca não está pronto. Prepare-o: {program()} opendata search{option}."
        ) from error
    with closing(index.snapshot), closing(index):
        try:
            filters = read_filters(sent.get, civil_day(system_now_ms()).isoformat())
            if limit is None:
                return counted(index, filters, time.monotonic)
            return companies(index, filters, cursor or None, limit, time.monotonic)
        except CallerError as error:
            raise CommandFailed(problem_of(error).message) from error
