"""What `balcao doctor` looks at: one small function per subject, each tells what it found."""

import os
import platform
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

import apsw

from balcao import __version__
from balcao.cli.configuration import read_settings, unknown_variables
from balcao.cli.doctor.backup import backups
from balcao.cli.doctor.database import database
from balcao.cli.doctor.fronts import FRONTS, fronts
from balcao.cli.doctor.places import RECEIPTS, disks, receipts
from balcao.cli.doctor.service import running, service
from balcao.cli.doctor.sources import reachable, remarks, sources
from balcao.cli.doctor.tls import TLS, tls
from balcao.cli.failures import CommandFailed, explain
from balcao.cli.findings import Check, Finding
from balcao.cli.opendata import has_index, month_in_use
from balcao.cli.output import program, whole
from balcao.cli.serve import check_port
from balcao.core.calendar import civil_day, from_ms, to_ms
from balcao.core.questions import Mode
from balcao.home import PEPPER_BYTES, Home
from balcao.opendata.fetching.hours import ALARM_DAYS
from balcao.opendata.fetching.state import read_state, sentence
from balcao.service.clock import system_now_ms
from balcao.settings import Settings, config_file
from balcao.storage.places import place_of

LIBRARIES = ("apsw", "granian", "httpx2", "msgspec", "numpy", "pydantic", "zstandard")

# No clock of a machine that runs this program can be right and say less.
NO_EARLIER_THAN = date(2026, 8, 1)

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def run_all(*, online: bool) -> Iterator[Finding]:
    """Every check, in an order in which the first failure explains the next ones."""
    yield from _versions()
    yield from _clock()
    try:
        settings = read_settings()
    except CommandFailed as error:
        yield Finding("fail", str(error), "configuração")
        return
    yield from _configuration()
    home = Home(settings.home)
    checks: Mapping[str, Check] = {
        "pasta de dados": _folder,
        "disco": disks,
        "segredo das chaves": _secret,
        "banco de dados": _desk,
        RECEIPTS: receipts,
        "cópia de segurança": backups,
        "dados abertos": _months,
        "fontes": sources,
        "fornecedores": remarks,
        "porta": _port,
        "serviço": service,
        TLS: tls,
        FRONTS: fronts,
    }
    for name, check in checks.items():
        yield from _safely(name, check, settings, home)
    if online:
        yield from _safely("rede", reachable, settings, home)


def _safely(name: str, check: Check, settings: Settings, home: Home) -> Iterator[Finding]:
    """A check that cannot be made is a finding too."""
    try:
        for found in check(settings, home):
            yield replace(found, name=found.name or name)
    except Exception as error:
        sentence = explain(error)
        if sentence is None:
            raise
        yield Finding("fail", sentence, name)


def _versions() -> Iterator[Finding]:
    python = platform.python_version()
    yield Finding("ok", f"balcao {__version__}, Python {python}, SQLite {_sqlite()}", "versões")
    found, missing = [], []
    for library in LIBRARIES:
        try:
            found.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            missing.append(library)
    if missing:
        yield Finding(
            "fail", f"faltam {', '.join(missing)}; instale de novo: make install", "bibliotecas"
        )
    else:
        yield Finding("ok", ", ".join(found), "bibliotecas")


def _sqlite() -> str:
    return apsw.sqlite_lib_version()


def _clock() -> Iterator[Finding]:
    now = system_now_ms()
    today = civil_day(now)
    at = from_ms(now).strftime("%d/%m/%Y %H:%M:%S %z")
    if today < NO_EARLIER_THAN:
        yield Finding("fail", f"em Brasília seriam {at}: acerte o relógio da máquina", "relógio")
    else:
        yield Finding("ok", f"em Brasília são {at}", "relógio")


def _configuration() -> Iterator[Finding]:
    file = config_file()
    yield Finding("ok", f"arquivo: {file if file is not None else 'nenhum'}", "configuração")
    for complaint in unknown_variables(os.environ):
        yield Finding("warn", complaint, "configuração")


def _folder(_: Settings, home: Home) -> Iterator[Finding]:
    path = home.path
    if not path.is_dir():
        yield Finding("warn", f"{path} ainda não existe; {program()} serve a cria")
        return
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("fail", f"{path} não pode ser gravada; verifique o dono e chmod 700")
    elif path.stat().st_mode & _OTHERS:
        yield Finding("warn", f"{path} é visível para outros usuários: chmod 700 {path}")
    else:
        yield Finding("ok", f"{path}, privada e gravável")


def _secret(settings: Settings, home: Home) -> Iterator[Finding]:
    path = home.secret
    if path.is_file():
        if path.stat().st_size != PEPPER_BYTES:
            yield Finding("fail", f"{path} está incompleto; restaure-o da cópia")
        elif path.stat().st_mode & _OTHERS:
            yield Finding("fail", f"outros podem lê-lo: chmod 600 {path}")
        else:
            yield Finding("ok", "presente e privado")
    elif home.desk.is_file():
        yield Finding(
            "fail",
            f"{path} falta: sem ele nenhuma chave emitida é reconhecida; restaure-o da cópia",
        )
    elif place_of(settings).desk_file is None:
        yield Finding(
            "warn",
            f"{path} falta: se outro nó já usa esse banco de dados, copie o dele para cá antes do"
            " primeiro início",
        )
    else:
        yield Finding("ok", "será criado com a primeira chave")


def _desk(settings: Settings, home: Home) -> Iterator[Finding]:
    # Without one, or with half of one, `_secret` has said so.
    whole_secret = home.secret.is_file() and home.secret.stat().st_size == PEPPER_BYTES
    pepper = home.pepper() if whole_secret else None
    yield from database(place_of(settings), pepper)


def _months(settings: Settings, home: Home) -> Iterator[Finding]:
    today = civil_day(system_now_ms())
    modes: Sequence[tuple[Mode, str]] = (("live", "mês de produção"), ("test", "mês da sandbox"))
    for mode, name in modes:
        info = month_in_use(home.opendata(mode))
        if info is None:
            wanted = mode == "live" or settings.sandbox_establishments > 0
            remedy = (
                f"baixe e importe um: {program()} opendata fetch"
                if mode == "live"
                else f"{program()} serve o cria no primeiro início"
            )
            yield Finding("warn" if wanted else "ok", f"nada importado; {remedy}", name)
            continue
        days = (today - info.extraction_date).days
        text = (
            f"extraído em {info.extraction_date:%d/%m/%Y} (há {days} dias),"
            f" {whole(info.rows.get('Estabelecimentos', 0))} estabelecimentos"
        )
        if mode == "live" and days > ALARM_DAYS:
            remedy = f"{program()} opendata fetch"
            yield Finding("warn", f"{text}; já há um mais novo: {remedy}", name)
        else:
            yield Finding("ok", text, name)
        if settings.opendata_search:
            yield _search_index(home.opendata(mode), mode)
    yield from _fetching(settings, home)


def _fetching(settings: Settings, home: Home) -> Iterator[Finding]:
    """How far the next month is, where it is or was fetched."""
    name, state = "download do mês", read_state(home.opendata("live"))
    if state is not None:
        bad = state.standing == "falhou" or (state.interrupted and not settings.opendata_fetch)
        at = from_ms(to_ms(state.updated_at))
        yield Finding("warn" if bad else "ok", f"{sentence(state)} ({at:%d/%m/%Y %H:%M})", name)
    elif settings.opendata_fetch:
        yield Finding("ok", "o serviço procura um mês novo de madrugada", name)


def _search_index(store: Path, mode: Mode) -> Finding:
    name = "busca de produção" if mode == "live" else "busca da sandbox"
    if has_index(store):
        return Finding("ok", "índice pronto", name)
    option = "" if mode == "live" else " --sandbox"
    remedy = f"o serviço o prepara sozinho, ou {program()} opendata search{option}"
    return Finding("ok", f"sem índice ainda; {remedy}", name)


def _port(settings: Settings, home: Home) -> Iterator[Finding]:
    if (address := running(settings, home)) is not None:
        yield Finding("ok", f"{urlsplit(address).port}: o Balcão está no ar")
        return
    try:
        check_port(settings.host, settings.port)
    except CommandFailed as error:
        yield Finding("fail", str(error))
    else:
        yield Finding("ok", f"{settings.port} livre em {settings.host}")
