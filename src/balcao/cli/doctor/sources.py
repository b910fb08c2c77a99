"""What `balcao doctor` looks at of the sources: who answers, our certificate, the network."""

import asyncio
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from balcao.cli.findings import Finding
from balcao.cli.output import apart_text, program, whole
from balcao.cli.sources_seen import (
    SNAPSHOT,
    SUBJECTS,
    SWITCHES,
    Inventory,
    day,
    inventory,
    ufs_text,
)
from balcao.core.questions import Subject
from balcao.errors import CertificateUnusable
from balcao.home import Home
from balcao.providers import configured, probing
from balcao.settings import Settings
from balcao.sources.replies import MISCONFIGURED
from balcao.sources.sefaz.certificate import Certificate, client_context

CERTIFICATE = "certificado A1"

# An e-CNPJ is bought anew every year, and somebody has to be identified for it.
EXPIRING_DAYS = 30

# Whole seconds are told, and an answer may have been on its way for some.
CLOCK_SECONDS_MAX = 60

# What no provider's key holds, and what copying and files of variables add to one.
_STRAY = re.compile(r"[\s\"'<>]|[^\x21-\x7e]")

_CREDENTIALS: Mapping[str, tuple[str, ...]] = {
    "cnpja": ("key",),
    "serpro": ("consumer_key", "consumer_secret"),
    "infosimples": ("token",),
}

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def sources(settings: Settings, _: Home) -> Iterator[Finding]:
    """Every online source, then who answers each subject."""
    seen = inventory(settings)
    for name in dict.fromkeys(
        name for names in configured.order(settings).values() for name in names if name != SNAPSHOT
    ):
        yield _source(seen, name)
    yield from _credentials(settings)
    for subject, title in SUBJECTS.items():
        yield _answers(seen, subject, title)


def _credentials(settings: Settings) -> Iterator[Finding]:
    """What can be seen of keys without asking: half of a pair, and what copying adds."""
    for provider, names in _CREDENTIALS.items():
        of_provider = getattr(settings, provider)
        if of_provider is None:
            continue
        values = {name: getattr(of_provider, name).get_secret_value() for name in names}
        variables = {name: f"BALCAO_{provider}__{name}".upper() for name in names}
        missing = [variables[name] for name, value in values.items() if not value]
        if missing and len(missing) < len(names):
            text = f"sem {', '.join(missing)} a fonte fica desligada"
            yield Finding(f"credenciais de {provider}", "warn", text)
        stray = [variables[name] for name, value in values.items() if _STRAY.search(value)]
        if stray:
            text = f"há espaço, aspas ou acento em {', '.join(stray)}: copie de novo"
            yield Finding(f"credenciais de {provider}", "warn", text)


def _source(seen: Inventory, name: str) -> Finding:
    if name in seen.out_of_use:
        return Finding(f"fonte {name}", "warn", f"fora de uso: {seen.out_of_use[name]}")
    if all(provider.name != name for provider in seen.providers):
        return Finding(f"fonte {name}", "ok", f"desligada ({seen.why_off(name)})")
    return Finding(f"fonte {name}", "ok", seen.address(name))


def _answers(seen: Inventory, subject: Subject, title: str) -> Finding:
    name = f"quem responde {title}"
    on = [source for source in seen.sources(subject) if source.is_on]
    if not on:
        remedy = _remedy(seen, subject)
        return Finding(name, "warn", f"contas de produção não têm quem responda: {remedy}")
    names = ", depois ".join(source.name for source in on)
    if missing := seen.unserved(subject):
        return Finding(name, "warn", f"{names}; ninguém por {', '.join(missing)}")
    asked = seen.ufs.get(subject)
    told = names if asked is None else f"{names}; UFs: {ufs_text(asked)}"
    if without := seen.without_receipts(subject):
        return Finding(name, "warn", f"{told}; {without}")
    return Finding(name, "ok", told)


def _remedy(seen: Inventory, subject: Subject) -> str:
    configure = f"configure uma fonte ({program()} source list)"
    if subject != "company":
        return configure
    if SNAPSHOT not in seen.settings.sources_of("company"):
        return f'inclua "{SNAPSHOT}" em BALCAO_COMPANY_SOURCES ou {configure}'
    return f"importe um mês ({program()} opendata build PASTA) ou {configure}"


def certificate(settings: Settings, _: Home) -> Iterator[Finding]:
    """The A1 certificate for the state treasuries, if one is named; its content is not shown."""
    sefaz = settings.sefaz
    if sefaz is None or sefaz.certificate is None:
        return
    try:
        found = configured.certificate_of(sefaz)
        assert found is not None, "one is named"
        client_context(found, sefaz.ca_file)
    except CertificateUnusable as error:
        yield Finding(CERTIFICATE, "fail", f"{error.detail}; o serviço não inicia assim")
    else:
        yield _validity(found, datetime.now(UTC))
        if found.subject_cnpj is None:
            yield Finding(
                "CNPJ do certificado",
                "warn",
                "não há: as SEFAZ só atendem um e-CNPJ de empresa emissora, e não um e-CPF",
            )
    yield from _privacy(sefaz.certificate)


def _validity(found: Certificate, now: datetime) -> Finding:
    last = day(found.not_after)
    if found.expired(now):
        return Finding(
            CERTIFICATE,
            "fail",
            f"venceu em {last}, e as SEFAZ não são consultadas: indique o novo em"
            " BALCAO_SEFAZ__CERTIFICATE e reinicie o serviço",
        )
    left = (found.not_after - now).days
    if left <= EXPIRING_DAYS:
        return Finding(
            CERTIFICATE, "warn", f"vence em {last} (em {left} dias): providencie a renovação"
        )
    return Finding(CERTIFICATE, "ok", f"abre; vale até {last}")


def _privacy(path: Path) -> Iterator[Finding]:
    if path.is_file() and path.stat().st_mode & _OTHERS:
        yield Finding(
            "arquivo do certificado",
            "warn",
            f"é visível para outros usuários: chmod 600 {path}",
        )


def reachable(settings: Settings, _: Home) -> Iterator[Finding]:
    """Each source that is on, asked whether it would answer, and what its clock says."""
    probes = probing.plan(settings, inventory(settings).providers)
    results = asyncio.run(probing.run(probes, settings))
    by_source: dict[str, list[probing.Result]] = {}
    for result in results:
        by_source.setdefault(result.source, []).append(result)
    for name, of_source in by_source.items():
        yield _reached(name, of_source)
        yield from _access(name, of_source)
    yield from _clocks(by_source)


def _reached(name: str, results: list[probing.Result]) -> Finding:
    title = f"rede até {name}"
    bad = [result for result in results if result.status != "ok" and not result.refused_us]
    if not bad:
        slowest = max(result.seconds or 0 for result in results)
        times = "" if len(results) == 1 else f" às {len(results)} perguntas"
        return Finding(title, "ok", f"respondeu{times}, em até {whole(round(slowest * 1000))} ms")
    details = f"{program()} source check --source {name}"
    return Finding(title, "warn", f"{_first(bad, len(results))}; veja {details}")


def _access(name: str, results: list[probing.Result]) -> Iterator[Finding]:
    """Whoever refuses us answers: it is not the network that must be mended."""
    refusals = [result for result in results if result.refused_us]
    if refusals:
        said = _first(refusals, len(results)).replace(MISCONFIGURED, "")
        remedy = f"confira {', '.join(SWITCHES[name])} e o contrato"
        yield Finding(f"credenciais de {name}", "fail", f"não aceitas: {said}; {remedy}")


def _first(some: list[probing.Result], total: int) -> str:
    """The first of those results, and how many they are of all questions."""
    first = some[0]
    where = "" if first.uf is None else f"{first.uf}: "
    return f"{where}{first.text}" + ("" if total == 1 else f" ({len(some)} de {total} perguntas)")


def _clocks(by_source: Mapping[str, list[probing.Result]]) -> Iterator[Finding]:
    """Their clocks are each right or wrong; that all of them are wrong alike is unlikely."""
    apart: dict[str, float] = {}
    for name, results in by_source.items():
        told = [result.ahead_seconds for result in results if result.ahead_seconds is not None]
        if told:
            apart[name] = min(told, key=abs)
    if not apart:
        return
    wrong = {name: ahead for name, ahead in apart.items() if abs(ahead) > CLOCK_SECONDS_MAX}
    title = "relógio das fontes"
    if not wrong:
        yield Finding(title, "ok", f"o desta máquina está de acordo com {len(apart)} fonte(s)")
        return
    text = ", ".join(f"{name} ({apart_text(ahead)})" for name, ahead in wrong.items())
    yield Finding(title, "warn", f"o desta máquina não é o de {text}: acerte-o (NTP)")
