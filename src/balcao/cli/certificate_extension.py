"""`balcao certificate-extension`: acts of law that extend the validity of certificates."""

from datetime import date
from typing import Annotated

import typer

from balcao.cli.arguments import one_of, parse_day
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.installation import open_installation, wait_for
from balcao.cli.output import AsJson, TextTable, program, record, show
from balcao.core.extensions import OF_NO_STATE, STATE, Extension, problem_of
from balcao.core.federation import UFS
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.writing import counted, day

app = typer.Typer(no_args_is_help=True)

_USUAL = "federal"
_FIELDS = "extension_id subject uf issued_from issued_to until_day days act added_ms"


@app.command()
def add(
    act: Annotated[str, typer.Argument(metavar="ATO", help="O ato, como na citação oficial.")],
    *,
    issued_from: Annotated[
        date, typer.Option("--from", parser=parse_day, metavar="DATA", help="Emitidas desde.")
    ],
    issued_to: Annotated[
        date, typer.Option("--to", parser=parse_day, metavar="DATA", help="Emitidas até.")
    ],
    uf: Annotated[
        str | None,
        typer.Option(
            parser=one_of(UFS), metavar="UF", help="Estaduais desta UF; padrão: federais."
        ),
    ] = None,
    certificate: Annotated[
        str,
        typer.Option(
            parser=one_of(tuple(OF_NO_STATE)),
            metavar="TIPO",
            help="Sem --uf: federal, trabalhista ou fgts.",
        ),
    ] = _USUAL,
    until: Annotated[
        date | None,
        typer.Option(parser=parse_day, metavar="DATA", help="Nova validade, para todas."),
    ] = None,
    days: Annotated[
        int | None, typer.Option(metavar="N", help="Ou: dias a mais na validade de cada uma.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Inclui um ato que prorrogou certidões já emitidas.

    A resposta da fonte, o resultado guardado e os preços não mudam. A página do resultado
    mostra o ato e a nova data. Se o ato prorroga as certidões válidas em uma data, informe as
    emitidas nos 180 dias anteriores.

    Exemplo:

      $ balcao certificate-extension add "Portaria 555" --from 2019-09-26 --to 2020-03-24 --days 90
    """
    if uf is not None and certificate != _USUAL:
        refuse("Uma certidão estadual não tem outro tipo.", "--certificate")
    new = Extension(
        OF_NO_STATE[certificate] if uf is None else STATE,
        uf,
        issued_from.isoformat(),
        issued_to.isoformat(),
        None if until is None else until.isoformat(),
        days,
        act.strip(),
    )
    if (problem := problem_of(new)) is not None:
        refuse(f"{problem}.", "ATO")
    with open_installation() as local:
        number = wait_for(local.desk.extensions.add(new, AT_THE_TERMINAL, local.now_ms()))
        kept = next(one for one in local.desk.extensions.all() if one.extension_id == number)
    text = f"Prorrogação {number} incluída: {kept.certificates}, {_until(kept)}."
    show(as_json, record(kept, _FIELDS), text)


@app.command("list")
def list_extensions(as_json: AsJson = False) -> None:
    """Lista os atos incluídos.

    Exemplo:

      $ balcao certificate-extension list
    """
    with open_installation() as local:
        found = local.desk.extensions.all()
    table = TextTable(
        found,
        {
            "Nº": "extension_id",
            "Certidão": "certificates",
            "Emitidas de": lambda one: f"{day(one.issued_from)} a {day(one.issued_to)}",
            "Prorrogadas": _until,
            "Ato": "act",
        },
        numbers=("Nº",),
        empty=f"Nenhum ato. Inclua um: {program()} certificate-extension add --help.",
    )
    show(as_json, [record(one, _FIELDS) for one in found], table)


@app.command()
def remove(
    number: Annotated[
        int, typer.Argument(metavar="N", min=1, help="O número (certificate-extension list).")
    ],
    as_json: AsJson = False,
) -> None:
    """Remove um ato; a auditoria guarda o que ele dizia.

    Exemplo:

      $ balcao certificate-extension remove 3
    """
    with open_installation() as local:
        try:
            work = local.desk.extensions.remove(number, AT_THE_TERMINAL, local.now_ms())
            gone = wait_for(work)
        except LookupError:
            raise CommandFailed(
                f"Não há a prorrogação {number}. Prorrogações existentes: {program()}"
                " certificate-extension list."
            ) from None
    show(as_json, record(gone, _FIELDS), f"Prorrogação {number} removida: {gone.act}.")


def _until(one: Extension) -> str:
    return f"por {counted(one.days, 'dia', 'dias')}" if one.days else f"até {day(one.until_day)}"
