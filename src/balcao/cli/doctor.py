"""`balcao doctor`: examine the installation."""

from collections.abc import Iterator
from typing import Annotated

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.output import AsJson, console, record, show
from balcao.core.findings import STATUS_LABELS, Finding, summary_line
from balcao.service.clock import system_now_ms


def doctor(
    online: Annotated[
        bool,
        typer.Option(
            "--online",
            help="Também consulta as fontes ativas, como source check, inclusive um CNPJ com"
            " letras nas que aceitam (o fornecedor pode cobrar por isso).",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Verifica a instalação e explica como resolver cada problema. Nada é alterado.

    A última linha conta os itens em ordem, os avisos e as falhas, e indica por onde começar.
    Sai com código 1 se algo impede o serviço.

    Exemplo:

      $ balcao doctor
    """
    findings: list[Finding] = []
    out = console()
    for finding in _all(online=online):
        if not as_json:
            if not findings or findings[-1].group != finding.group:
                out.print(f"\n{finding.group.upper()}" if findings else finding.group.upper())
            style = {"ok": "green", "warn": "yellow", "fail": "bold red"}[finding.status]
            out.print(f"{STATUS_LABELS[finding.status]:<6}", end=" ", style=style)
            out.print(f"{finding.name}: {finding.text}", soft_wrap=True)
        findings.append(finding)
    failed = any(finding.status == "fail" for finding in findings)
    checks = [record(found, "group name status text") for found in findings]
    show(as_json, {"ok": not failed, "checks": checks}, f"\n{summary_line(findings)}")
    if failed:
        raise typer.Exit(1)


def _all(*, online: bool) -> Iterator[Finding]:
    """Run every check; without valid settings only those that need none."""
    from balcao.examination.checks import check_installation, check_program

    yield from check_program(system_now_ms)
    try:
        settings = read_settings()
    except CommandFailed as error:
        yield Finding("fail", str(error), "configuração")
        return
    yield from check_installation(settings, system_now_ms, online=online)
