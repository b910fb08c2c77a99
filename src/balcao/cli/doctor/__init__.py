"""`balcao doctor`: is everything as it should be?"""

from typing import Annotated

import typer

from balcao.cli.findings import WORDS
from balcao.cli.output import AsJson, console, print_json, record


def doctor(
    online: Annotated[
        bool,
        typer.Option(
            "--online",
            help="Também pergunta às fontes ligadas, como source check, e sobre um CNPJ com"
            " letras às que os aceitam (o fornecedor pode cobrar por isso).",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Examina a instalação, e diz o que fazer com o que encontra. Não muda nada.

    Sai com código 1 quando algo impede o serviço.

    Exemplo:

      $ balcao doctor
    """
    from balcao.cli.doctor.checks import run_all

    findings = []
    out = console()
    for finding in run_all(online=online):
        findings.append(finding)
        if not as_json:
            style = {"ok": "green", "warn": "yellow", "fail": "bold red"}[finding.status]
            out.print(f"{WORDS[finding.status]:<6}", end=" ", style=style)
            out.print(f"{finding.name}: {finding.text}", soft_wrap=True)
    failed = any(finding.status == "fail" for finding in findings)
    if as_json:
        checks = [record(found, "name status text") for found in findings]
        print_json({"ok": not failed, "checks": checks})
    if failed:
        raise typer.Exit(1)
