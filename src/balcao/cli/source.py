"""`balcao source`: list the sources, and check whether they respond."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.arguments import one_of
from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed, explain
from balcao.cli.output import AsJson, Block, TextTable, console, program, show, yes_or_no
from balcao.core.federation import UFS
from balcao.core.findings import STATUS_LABELS
from balcao.core.questions import Part, Subject
from balcao.operations import ALL_OPERATIONS, OPERATIONS
from balcao.operations.contract import SourceFact
from balcao.providers import PROVIDERS

if TYPE_CHECKING:
    from balcao.examination.inventory import Inventory, ListedSource
    from balcao.examination.inventory.probing import Probe, Result
    from balcao.settings import Settings

_SUBJECTS = tuple(each.subject for each in ALL_OPERATIONS)

app = typer.Typer(no_args_is_help=True)

# Sources called over the network.
ONLINE = tuple(offer.name for provider in PROVIDERS for offer in provider.offers)

_PARTS: Mapping[Part, str] = {"types": "tipo e situação", "addresses": "endereço"}


@app.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """Mostra as fontes de cada assunto e de cada UF, na ordem de consulta.

    Só lê a configuração. Nenhuma fonte é consultada.

    Exemplo:

      $ balcao source list
    """
    from balcao.examination.inventory import SUBJECTS, Inventory

    inventory = Inventory(read_settings(), datetime.now(UTC), explain)
    blocks: list[Block] = []
    for subject, name in SUBJECTS.items():
        complaints = (f"aviso: {name}: {warning}" for warning in warnings(inventory, subject))
        blocks += [f"{name} ({subject})", _table(inventory, subject), *complaints, ""]
    show(as_json, {subject: _record(inventory, subject) for subject in SUBJECTS}, *blocks)


def warnings(inventory: "Inventory", subject: Subject) -> Sequence[str]:
    """Return warnings about the parts of a subject that no source answers."""
    if not any(source.is_on for source in inventory.sources(subject)):
        return ["nenhuma fonte ativa; ative uma"]
    found = []
    if unserved := inventory.unserved(subject):
        found.append(f"nenhuma fonte para {', '.join(unserved)}")
    if without := inventory.missing_receipts_notice(subject):
        found.append(without)
    return found


def _table(inventory: "Inventory", subject: Subject) -> TextTable:
    ufs = inventory.ufs.get(subject, ())

    def column(fact: SourceFact) -> Callable[["ListedSource"], str | None]:
        return lambda source: _cell(fact, source, inventory, ufs) if source.is_on else None

    sources = list(inventory.sources(subject))
    # Each subject has the columns that distinguish its sources.
    facts = {_title(fact, subject): column(fact) for fact in OPERATIONS[subject].source_facts}
    return TextTable(
        sources,
        {
            "Ordem": lambda source: sources.index(source) + 1,
            "Fonte": "name",
            "Ativa": "is_on",
            "Endereço ou o que falta": "remark",
            **facts,
        },
        numbers=("Ordem",),
        foldable=("Fonte", "Endereço ou o que falta"),
    )


# Columns that distinguish sources; each operation selects some.
_TITLES: Mapping[SourceFact, str] = {
    "ufs": "UFs",
    "parts": "Informa",
    "people": "CPF",
    "reissues": "Emissão nova",
    "receipts": "Comprovante",
    "alphanumeric": "CNPJ com letras",
    "full_partners": "optin=1",
}


def _title(fact: SourceFact, subject: Subject) -> str:
    """Return a column's title, with the kind of document if UFs differ between kinds."""
    operation = OPERATIONS[subject]
    if fact == "ufs" and "parts" in operation.source_facts:
        return f"UFs (por {operation.document.upper()})"
    return _TITLES[fact]


def _known(fact: SourceFact, source: "ListedSource", inventory: "Inventory") -> object:
    """Return the value of one displayed property of an enabled source."""
    capabilities = source.capabilities
    assert capabilities is not None
    match fact:
        case "ufs":
            return list(source.ufs)
        case "parts":
            return sorted(capabilities.parts)
        case "people":
            return capabilities.cpf_ufs is None  # for a person's federal certificate
        case "receipts":
            return inventory.brings_receipts(source.name)
        case _:
            return bool(getattr(capabilities, fact))


def _cell(
    fact: SourceFact, source: "ListedSource", inventory: "Inventory", ufs: Sequence[str]
) -> str:
    """Return the text of a fact's column."""
    from balcao.examination.inventory import ufs_text

    known = _known(fact, source, inventory)
    if fact == "ufs":
        return ufs_text(source.ufs, ufs)
    if isinstance(known, list):
        return ", ".join(name for part, name in _PARTS.items() if part in known)
    return yes_or_no(bool(known))


def _record(inventory: "Inventory", subject: Subject) -> Mapping[str, object]:
    from balcao.examination.inventory import SWITCHES

    def as_json(source: "ListedSource") -> Mapping[str, object]:
        known: dict[str, object] = {
            "source": source.name,
            "on": source.is_on,
            "address" if source.is_on else "missing": source.remark,
            "switches": list(SWITCHES.get(source.name, ())),
        }
        if source.capabilities is None:
            return known
        for fact in OPERATIONS[subject].source_facts:
            known[fact] = _known(fact, source, inventory)
            if fact == "parts" and (addresses := inventory.addresses(source.name)):
                known["addresses"] = {uf: addresses[uf] for uf in source.ufs}
        return known

    return {
        "sources": [as_json(source) for source in inventory.sources(subject)],
        "unserved_ufs": list(inventory.unserved(subject)),
        "warnings": list(warnings(inventory, subject)),
    }


@app.command()
def check(
    subject: Annotated[
        list[str] | None,
        typer.Option(
            parser=one_of(_SUBJECTS),
            metavar="ASSUNTO",
            help=f"Só estes: {', '.join(_SUBJECTS)}; pode repetir.",
        ),
    ] = None,
    uf: Annotated[
        list[str] | None,
        typer.Option(parser=one_of(UFS), metavar="UF", help="Só estas UFs; pode repetir."),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            parser=one_of(ONLINE),
            metavar="FONTE",
            help=f"Só estas: {', '.join(ONLINE)}; pode repetir.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Faz uma consulta de teste a cada fonte ativa.

    Uma consulta por fonte e assunto, e por UF na sefaz. Consultas iguais são feitas uma vez só.
    O fornecedor pode cobrar, embora seja a consulta mais barata que prova que ele responde:
    cnpja e infosimples não cobram, minha_receita é gratuita, serpro e serpro_cnd não deveriam
    cobrar. Na sefaz, é uma consulta comum em cada UF, sobre a empresa do certificado, e conta
    no limite de uso do estado. Nenhuma certidão é emitida.

    Não é preciso parar o serviço e nada é alterado. Sai com código 1 se alguma fonte falhar.

    Exemplo:

      $ balcao source check
      $ balcao source check --subject state_registration --uf SP --uf RJ --source sefaz
    """
    from balcao.examination.inventory import SUBJECTS, Inventory
    from balcao.examination.inventory.probing import plan

    settings = read_settings()
    inventory = Inventory(settings, datetime.now(UTC), explain)
    subjects = [each for each in SUBJECTS if not subject or each in subject]
    switched_on = [each for each in inventory.providers if not source or each.name in source]
    probes = plan(settings, switched_on, subjects=subjects, ufs=uf or ())
    results = [
        *_without_asking(inventory, subjects, uf or (), source or ()),
        *_watched(probes, settings),
    ]
    if not results and (subject or uf or source):
        raise CommandFailed(_nobody(inventory, source or ()))
    failed = any(result.status == "fail" for result in results)
    table = TextTable(
        results,
        {
            "Fonte": "source",
            "Assunto": lambda result: ", ".join(_kinds(result)),
            "UF": lambda result: result.uf or None,
            "Resultado": lambda result: STATUS_LABELS[result.status],
            "ms": lambda result: None if result.seconds is None else round(result.seconds * 1000),
            "Resposta": "text",
        },
        numbers=("ms",),
        foldable=("Fonte", "Resposta"),
        empty=f"Nenhuma fonte ativa. Fontes existentes: {program()} source list.",
    )
    show(as_json, {"ok": not failed, "probes": [_probe_record(each) for each in results]}, table)
    if failed:
        raise typer.Exit(1)


def _nobody(inventory: "Inventory", names: Sequence[str]) -> str:
    on = {provider.name for provider in inventory.providers}
    return " ".join(
        [
            "Nenhuma fonte ativa atende a essa consulta.",
            *(f"{name}: {inventory.off_reason(name)}." for name in names if name not in on),
            f"Fontes de cada consulta: {program()} source list.",
        ]
    )


def _without_asking(
    inventory: "Inventory", subjects: Sequence[Subject], ufs: Sequence[str], names: Sequence[str]
) -> "Sequence[Result]":
    """Return the results that are known without calling a source."""
    from balcao.examination.inventory import configured
    from balcao.examination.inventory.probing import Result, sample_inquiry

    order = configured.order(inventory.settings)
    found = []
    for name, why in inventory.out_of_use.items():
        kinds = tuple(sample_inquiry(each) for each in subjects if name in order[each])
        if kinds and (not names or name in names):
            found.append(Result(name, kinds, None, "fail", why))
    for provider in inventory.providers:
        kinds = tuple(sample_inquiry(each) for each in subjects if provider.name in order[each])
        served = provider.adapter.capabilities.ufs
        if (
            provider.by_uf
            and served is not None
            and kinds
            and (not names or provider.name in names)
        ):
            found += [
                Result(provider.name, kinds, uf, "warn", "não tem serviço conhecido nesta UF")
                for uf in ufs
                if uf not in served
            ]
    return found


def _watched(probes: "Sequence[Probe]", settings: "Settings") -> "Sequence[Result]":
    """Run the probes, with progress on a terminal."""
    from balcao.examination.inventory.probing import run

    out = console(stderr=True)
    if not out.is_terminal:
        return asyncio.run(run(probes, settings))
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("Perguntando"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=out, transient=True) as bar:
        task = bar.add_task("", total=len(probes))

        def done(result: "Result") -> None:
            place = result.source if result.uf is None else f"{result.source} {result.uf}"
            bar.update(task, advance=1, description=place)

        return asyncio.run(run(probes, settings, done))


def _kinds(result: "Result") -> Sequence[str]:
    from balcao.examination.inventory import SUBJECTS

    return [
        SUBJECTS[inquiry.subject] + (" com optin=1" if inquiry.full_partners else "")
        for inquiry in result.inquiries
    ]


def _probe_record(result: "Result") -> Mapping[str, object]:
    return {
        "source": result.source,
        "subjects": list(dict.fromkeys(inquiry.subject for inquiry in result.inquiries)),
        "full_partners": any(inquiry.full_partners for inquiry in result.inquiries),
        "uf": result.uf,
        "status": result.status,
        "took_ms": None if result.seconds is None else round(result.seconds * 1000, 2),
        "text": result.text,
    }
