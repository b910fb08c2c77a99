"""Checks of the sources: who answers each subject, providers' remarks, the network."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from balcao.core.findings import Finding
from balcao.core.questions import Subject
from balcao.examination.failures import explain
from balcao.examination.inventory import (
    SNAPSHOT,
    SUBJECTS,
    SWITCHES,
    Inventory,
    configured,
    probing,
    ufs_text,
)
from balcao.examination.wording import apart_text, program, whole
from balcao.home import Home
from balcao.providers.contract import EnabledSource
from balcao.settings import Settings
from balcao.sources.replies import MISCONFIGURED

# HTTP dates have whole seconds, and an answer may have taken some to arrive.
CLOCK_SECONDS_MAX = 60

# Characters that no provider's key has, but copying and environment files may add.
_STRAY = re.compile(r"[\s\"'<>]|[^\x21-\x7e]")


def sources(settings: Settings, _: Home) -> Iterator[Finding]:
    """Report every online source, then the sources of each subject."""
    inventory = _inventory(settings)
    for name in dict.fromkeys(
        name for names in configured.order(settings).values() for name in names if name != SNAPSHOT
    ):
        yield _source(inventory, name)
    yield from _credentials(settings)
    for subject, title in SUBJECTS.items():
        yield _answers(inventory, subject, title)


def _inventory(settings: Settings) -> Inventory:
    return Inventory(settings, datetime.now(UTC), explain)


def _credentials(settings: Settings) -> Iterator[Finding]:
    """Report incomplete pairs of keys, and characters added by copying."""
    for provider, own in configured.with_settings(settings):
        names = provider.credentials
        values = {name: getattr(own, name).get_secret_value() for name in names}
        variables = {name: provider.variable(name) for name in names}
        missing = [variables[name] for name, value in values.items() if not value]
        if missing and len(missing) < len(names):
            text = f"sem {', '.join(missing)}, a fonte fica desativada"
            yield Finding("warn", text, f"credenciais de {provider.name}")
        stray = [variables[name] for name, value in values.items() if _STRAY.search(value)]
        if stray:
            text = f"há espaço, aspas ou acento em {', '.join(stray)}: copie de novo"
            yield Finding("warn", text, f"credenciais de {provider.name}")


def _source(inventory: Inventory, name: str) -> Finding:
    if name in inventory.out_of_use:
        return Finding("warn", f"inativa: {inventory.out_of_use[name]}", f"fonte {name}")
    if all(provider.name != name for provider in inventory.providers):
        return Finding("ok", f"desligada ({inventory.off_reason(name)})", f"fonte {name}")
    return Finding("ok", inventory.address(name), f"fonte {name}")


def _answers(inventory: Inventory, subject: Subject, title: str) -> Finding:
    name = f"quem responde {title}"
    on = [source for source in inventory.sources(subject) if source.is_on]
    if not on:
        remedy = _remedy(inventory, subject)
        return Finding("warn", f"contas de produção não têm fonte: {remedy}", name)
    names = ", depois ".join(source.name for source in on)
    if missing := inventory.unserved(subject):
        return Finding("warn", f"{names}; nenhuma fonte para {', '.join(missing)}", name)
    asked = inventory.ufs.get(subject)
    text = names if asked is None else f"{names}; UFs: {ufs_text(asked)}"
    if without := inventory.missing_receipts_notice(subject):
        return Finding("warn", f"{text}; {without}", name)
    return Finding("ok", text, name)


def _remedy(inventory: Inventory, subject: Subject) -> str:
    configure = f"configure uma fonte ({program()} source list)"
    if subject != "company":
        return configure
    if SNAPSHOT not in inventory.settings.sources_of("company"):
        return f'inclua "{SNAPSHOT}" em BALCAO_COMPANY_SOURCES ou {configure}'
    return f"importe um mês ({program()} opendata build PASTA) ou {configure}"


def remarks(settings: Settings, __: Home) -> Iterator[Finding]:
    """Yield the providers' own remarks, such as the expiry of our certificate."""
    for _, own in configured.with_settings(settings):
        for name, status, text in own.remarks(datetime.now(UTC)):
            yield Finding(status, text, name)


def reachable(settings: Settings, _: Home) -> Iterator[Finding]:
    """Probe each enabled source, and compare its clock."""
    providers = _inventory(settings).providers
    probes = probing.plan(settings, providers)
    results = asyncio.run(probing.run(probes, settings))
    by_source: dict[str, list[probing.Result]] = {}
    for result in results:
        by_source.setdefault(result.source, []).append(result)
    for name, of_source in by_source.items():
        yield _reached(name, of_source)
        yield from _access(name, of_source)
    up = {result.source for result in results if result.status != "fail"}
    yield from _letters(settings, [each for each in providers if each.name in up])
    yield from _clocks(by_source)


def _letters(settings: Settings, providers: Sequence[EnabledSource]) -> Iterator[Finding]:
    """Test a CNPJ with letters on the sources configured to accept them (ADR 0049)."""
    for result in asyncio.run(probing.run(probing.plan_letters(settings, providers), settings)):
        title = f"CNPJ com letras em {result.source}"
        if result.status == "fail":
            remedy = "se o problema continuar, defina accepts_alphanumeric desta fonte como false"
            yield Finding("warn", f"{result.text}; {remedy}", title)
        else:
            yield Finding(result.status, result.text, title)


def _reached(name: str, results: list[probing.Result]) -> Finding:
    title = f"rede até {name}"
    bad = [result for result in results if result.status != "ok" and not result.refused_us]
    if not bad:
        slowest = max(result.seconds or 0 for result in results)
        times = "" if len(results) == 1 else f" às {len(results)} consultas"
        return Finding("ok", f"respondeu{times}, em até {whole(round(slowest * 1000))} ms", title)
    details = f"{program()} source check --source {name}"
    return Finding("warn", f"{_first(bad, len(results))}; veja {details}", title)


def _access(name: str, results: list[probing.Result]) -> Iterator[Finding]:
    """Report sources that are reachable but reject our credentials."""
    refusals = [result for result in results if result.refused_us]
    if refusals:
        text = _first(refusals, len(results)).replace(MISCONFIGURED, "")
        remedy = f"confira {', '.join(SWITCHES[name])} e o contrato"
        yield Finding("fail", f"não aceitas: {text}; {remedy}", f"credenciais de {name}")


def _first(some: list[probing.Result], total: int) -> str:
    """Describe the first of these results, and how many of all probes had such a result."""
    first = some[0]
    where = "" if first.uf is None else f"{first.uf}: "
    return f"{where}{first.text}" + ("" if total == 1 else f" ({len(some)} de {total} consultas)")


def _clocks(by_source: Mapping[str, list[probing.Result]]) -> Iterator[Finding]:
    """Compare clocks. A single source's may be wrong; all of them alike is unlikely."""
    apart: dict[str, float] = {}
    for name, results in by_source.items():
        offsets = [each.ahead_seconds for each in results if each.ahead_seconds is not None]
        if offsets:
            apart[name] = min(offsets, key=abs)
    if not apart:
        return
    wrong = {name: ahead for name, ahead in apart.items() if abs(ahead) > CLOCK_SECONDS_MAX}
    title = "relógio das fontes"
    if not wrong:
        yield Finding("ok", f"o desta máquina está de acordo com {len(apart)} fonte(s)", title)
        return
    text = ", ".join(f"{name} ({apart_text(ahead)})" for name, ahead in wrong.items())
    yield Finding("warn", f"o desta máquina difere do de {text}. Acerte o relógio (NTP)", title)
