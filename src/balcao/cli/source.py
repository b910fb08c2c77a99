"""`balcao source`: who answers what, and whether they would answer now."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from balcao.cli.choices import one_of
from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed, explain
from balcao.cli.findings import WORDS
from balcao.cli.output import AsJson, console, print_json, print_table, program, whole, yes_or_no
from balcao.core.federation import UFS
from balcao.core.questions import CERTIFICATE_SUBJECTS, REGISTRATION_SUBJECTS, Subject
from balcao.core.registration import Part
from balcao.providers import PROVIDERS

if TYPE_CHECKING:
    from balcao.inventory import Inventory, ListedSource
    from balcao.inventory.probing import Probe, Result
    from balcao.settings import Settings

app = typer.Typer(no_args_is_help=True, help="Mostra e verifica quem responde cada consulta.")

# Those that are asked over the network.
ONLINE = tuple(offer.name for provider in PROVIDERS for offer in provider.offers)

_PARTS: Mapping[Part, str] = {"types": "tipo e situação", "addresses": "endereço"}


@app.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """Mostra quem responde cada assunto e cada UF, na ordem da consulta.

    Só lê a configuração, e não chama ninguém.

    Exemplo:

      $ balcao source list
    """
    from balcao.inventory import SUBJECTS, Inventory

    seen = Inventory(read_settings(), datetime.now(UTC), explain)
    if as_json:
        print_json({subject: _subject_as_json(seen, subject) for subject in SUBJECTS})
        return
    for subject, name in SUBJECTS.items():
        typer.echo(f"{name} ({subject})")
        _print_sources(seen, subject)
        for warning in warnings(seen, subject):
            typer.echo(f"aviso: {name}: {warning}")
        typer.echo("")


def warnings(seen: "Inventory", subject: Subject) -> Sequence[str]:
    """What a subject cannot be asked for."""
    if not any(source.is_on for source in seen.sources(subject)):
        return ["ninguém responde; ligue uma das fontes"]
    found = []
    if unserved := seen.unserved(subject):
        found.append(f"ninguém responde por {', '.join(unserved)}")
    if without := seen.without_receipts(subject):
        found.append(without)
    return found


def _print_sources(seen: "Inventory", subject: Subject) -> None:
    from balcao.inventory import ufs_text

    asked = seen.ufs.get(subject, ())
    # Each subject has the columns that tell its sources apart.
    cells: dict[str, Callable[[ListedSource], str]] = {}
    if subject in REGISTRATION_SUBJECTS:
        by = "por CPF" if subject == "rural_producer" else "por CNPJ"
        cells[f"UFs ({by})"] = lambda source: ufs_text(source.ufs, asked)
        cells["Informa"] = lambda source: ", ".join(gives(source))
    if subject == "state_certificate":
        cells["UFs"] = lambda source: ufs_text(source.ufs, asked)
    if subject == "federal_certificate":
        cells["CPF"] = lambda source: yes_or_no(_takes_people(source))
        cells["Emissão nova"] = lambda source: yes_or_no(_can(source, "reissues"))
    if subject in CERTIFICATE_SUBJECTS:
        cells["Comprovante"] = lambda source: yes_or_no(seen.brings_receipts(source.name))
    if subject != "rural_producer":
        cells["CNPJ com letras"] = lambda source: yes_or_no(_can(source, "alphanumeric"))
    if subject == "company":
        cells["optin=1"] = lambda source: yes_or_no(_can(source, "full_partners"))
    print_table(
        ("Ordem", "Fonte", "Ligada", "Endereço, ou o que falta", *cells),
        [
            (
                str(place),
                source.name,
                yes_or_no(source.is_on),
                source.remark,
                *(cell(source) if source.is_on else "—" for cell in cells.values()),
            )
            for place, source in enumerate(seen.sources(subject), 1)
        ],
        numbers=("Ordem",),
    )


def gives(source: "ListedSource") -> Sequence[str]:
    """What it tells of registrations besides their numbers."""
    if source.capabilities is None:
        return ()
    return [name for part, name in _PARTS.items() if part in source.capabilities.parts]


def _can(
    source: "ListedSource", what: Literal["alphanumeric", "full_partners", "reissues"]
) -> bool:
    return source.capabilities is not None and getattr(source.capabilities, what)


def _takes_people(source: "ListedSource") -> bool:
    """Whether it can be asked for a person's federal certificate."""
    return source.capabilities is not None and source.capabilities.cpf_ufs is None


def _subject_as_json(seen: "Inventory", subject: Subject) -> Mapping[str, object]:
    from balcao.inventory import SWITCHES

    def as_json(source: "ListedSource") -> Mapping[str, object]:
        known: dict[str, object] = {
            "source": source.name,
            "on": source.is_on,
            "address" if source.is_on else "missing": source.remark,
            "switches": list(SWITCHES.get(source.name, ())),
        }
        if source.capabilities is None:
            return known
        if subject in REGISTRATION_SUBJECTS:
            known["ufs"] = list(source.ufs)
            known["parts"] = sorted(source.capabilities.parts)
            addresses = seen.addresses(source.name)
            if addresses:
                known["addresses"] = {uf: addresses[uf] for uf in source.ufs}
        if subject == "state_certificate":
            known["ufs"] = list(source.ufs)
        if subject == "federal_certificate":
            known["people"] = _takes_people(source)
            known["reissues"] = _can(source, "reissues")
        if subject in CERTIFICATE_SUBJECTS:
            known["receipts"] = seen.brings_receipts(source.name)
        if subject != "rural_producer":
            known["alphanumeric"] = _can(source, "alphanumeric")
        if subject == "company":
            known["full_partners"] = _can(source, "full_partners")
        return known

    return {
        "sources": [as_json(source) for source in seen.sources(subject)],
        "unserved_ufs": list(seen.unserved(subject)),
        "warnings": list(warnings(seen, subject)),
    }


@app.command()
def check(
    subject: Annotated[
        list[str] | None,
        typer.Option(
            parser=one_of(get_args(Subject)),
            metavar="ASSUNTO",
            help=f"Só estes: {', '.join(get_args(Subject))}; pode repetir.",
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
    """Pergunta a cada fonte ligada se ela responderia, como o servidor perguntaria.

    Uma vez por fonte e assunto, e por UF na sefaz; o que seria a mesma pergunta é feito uma vez
    só. Uma pergunta pode custar uma consulta no fornecedor, embora seja a mais barata que prova
    que ele responde: cnpja e infosimples não cobram por ela, minha_receita é gratuita, serpro e
    serpro_cnd não deveriam cobrar; na sefaz é uma consulta comum em cada UF, sobre a empresa do
    certificado, e conta no limite de uso do estado. Nenhuma pergunta emite uma certidão.

    Pode ser usado com o servidor no ar, e não muda nada. Sai com código 1 quando alguma falha.

    Exemplo:

      $ balcao source check
      $ balcao source check --subject state_registration --uf SP --uf RJ --source sefaz
    """
    from balcao.inventory import SUBJECTS, Inventory
    from balcao.inventory.probing import plan

    settings = read_settings()
    seen = Inventory(settings, datetime.now(UTC), explain)
    subjects = [each for each in SUBJECTS if not subject or each in subject]
    switched_on = [each for each in seen.providers if not source or each.name in source]
    probes = plan(settings, switched_on, subjects=subjects, ufs=uf or ())
    results = [
        *_without_asking(seen, subjects, uf or (), source or ()),
        *_watched(probes, settings),
    ]
    if not results and (subject or uf or source):
        raise CommandFailed(_nobody(seen, source or ()))
    failed = any(result.status == "fail" for result in results)
    if as_json:
        print_json({"ok": not failed, "probes": [_result_as_json(result) for result in results]})
    elif results:
        _print_results(results)
    else:
        typer.echo(f"Nenhuma fonte ligada. As que existem: {program()} source list.")
    if failed:
        raise typer.Exit(1)


def _nobody(seen: "Inventory", names: Sequence[str]) -> str:
    on = {provider.name for provider in seen.providers}
    return " ".join(
        [
            "Nenhuma fonte ligada responde por isso.",
            *(f"{name}: {seen.why_off(name)}." for name in names if name not in on),
            f"Quem responde o quê: {program()} source list.",
        ]
    )


def _without_asking(
    seen: "Inventory", subjects: Sequence[Subject], ufs: Sequence[str], names: Sequence[str]
) -> "Sequence[Result]":
    """What is known to be wrong before anybody is asked."""
    from balcao.inventory import configured
    from balcao.inventory.probing import Result, typical

    order = configured.order(seen.settings)
    found = []
    for name, why in seen.out_of_use.items():
        kinds = tuple(typical(each) for each in subjects if name in order[each])
        if kinds and (not names or name in names):
            found.append(Result(name, kinds, None, "fail", why))
    for provider in seen.providers:
        kinds = tuple(typical(each) for each in subjects if provider.name in order[each])
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
    """Make the probes; on a terminal, show how far they are."""
    from balcao.inventory.probing import run

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


def _print_results(results: "Sequence[Result]") -> None:
    print_table(
        ("Fonte", "Assunto", "UF", "Resultado", "ms", "O que disse"),
        [
            (
                result.source,
                ", ".join(_kinds(result)),
                result.uf or "—",
                WORDS[result.status],
                "—" if result.seconds is None else whole(round(result.seconds * 1000)),
                result.text,
            )
            for result in results
        ],
        numbers=("ms",),
    )


def _kinds(result: "Result") -> Sequence[str]:
    from balcao.inventory import SUBJECTS

    return [
        SUBJECTS[inquiry.subject] + (" com optin=1" if inquiry.full_partners else "")
        for inquiry in result.inquiries
    ]


def _result_as_json(result: "Result") -> Mapping[str, object]:
    return {
        "source": result.source,
        "subjects": list(dict.fromkeys(inquiry.subject for inquiry in result.inquiries)),
        "full_partners": any(inquiry.full_partners for inquiry in result.inquiries),
        "uf": result.uf,
        "status": result.status,
        "took_ms": None if result.seconds is None else round(result.seconds * 1000, 2),
        "text": result.text,
    }
