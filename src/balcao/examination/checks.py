"""All checks of an installation: one small function per subject, which yields findings.

Used by `balcao doctor` and the operators' page of health.
"""

import importlib
import os
import platform
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TypeAlias
from urllib.parse import urlsplit

import apsw

from balcao import __version__
from balcao.core.calendar import civil_day, from_ms
from balcao.core.errors import RestoreInterrupted
from balcao.core.findings import Finding, Group
from balcao.examination.backup import backups
from balcao.examination.database import database
from balcao.examination.failures import BadSettings, explain
from balcao.examination.files import caches, exposed
from balcao.examination.mail import MAIL, mail
from balcao.examination.months import months
from balcao.examination.places import RECEIPTS, disks, receipts
from balcao.examination.service import running_address, service
from balcao.examination.serving import check_port
from balcao.examination.sources import reachable, remarks, sources
from balcao.examination.tls import TLS, tls
from balcao.examination.wording import program
from balcao.examination.workers import WORKERS, workers
from balcao.home import Home, is_whole
from balcao.settings import Settings, config_file
from balcao.settings.in_force import unknown_variables
from balcao.storage.places import place_of

Check: TypeAlias = Callable[[Settings, Home], Iterator[Finding]]

# Required libraries and the module to import, mostly compiled ones: they may be installed and still
# fail to load, if a system library is missing or they were built for another CPU.
LIBRARIES: Mapping[str, str] = {
    "apsw": "apsw",
    "argon2-cffi": "argon2",
    "cryptography": "cryptography.hazmat.bindings._rust",
    "httptools": "httptools",
    "httpx2": "httpx2",
    "isal": "isal.isal_zlib",
    "lxml": "lxml.etree",
    "msgspec": "msgspec",
    "numpy": "numpy",
    "obstore": "obstore",
    "pikepdf": "pikepdf",
    "psycopg": "psycopg",
    "pydantic": "pydantic",
    "python-calamine": "python_calamine",
    "uuid-utils": "uuid_utils",
    "zstandard": "zstandard",
}
# Reported with their versions; the others only have to load.
_WITH_VERSION = ("apsw", "httpx2", "msgspec", "numpy", "pydantic", "zstandard")

# A clock of a machine that runs this program cannot be right before this day.
NO_EARLIER_THAN = date(2026, 8, 1)

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_program(now_ms: Callable[[], int]) -> Iterator[Finding]:
    """Check what does not depend on settings."""
    yield from _versions()
    yield from _clock(now_ms())


def check_installation(
    settings: Settings, now_ms: Callable[[], int], *, online: bool = False
) -> Iterator[Finding]:
    """Run every check of the installation, ordered so that the first failure explains later ones.

    `online` also asks the sources, which may cost money. Opens the database and may check the whole
    ledger: not for an event loop's thread.
    """
    yield from _configuration()
    home = Home(settings.home)
    checks: Sequence[tuple[Group, str, Check]] = (
        ("dados", "pasta de dados", _folder),
        ("dados", "arquivos", exposed),
        ("dados", "disco", disks),
        ("dados", "segredo das chaves", _secret),
        ("dados", "banco de dados", partial(_desk, now_ms)),
        ("dados", "cache", caches),
        ("dados", RECEIPTS, receipts),
        ("dados", "backup", partial(backups, now_ms)),
        ("meses", "dados abertos", partial(months, now_ms)),
        ("fontes", "fontes", sources),
        ("fontes", "fornecedores", remarks),
        ("serviço", "porta", _port),
        ("serviço", "serviço", service),
        ("serviço", TLS, tls),
        ("serviço", WORKERS, workers),
        ("serviço", "segundo fator", _second_factor),
        ("serviço", MAIL, mail),
    )
    for group, name, check in checks:
        yield from _safely(group, name, check, settings, home)
    if online:
        yield from _safely("rede", "rede", reachable, settings, home)


def examine(settings: Settings, now_ms: Callable[[], int]) -> Sequence[Finding]:
    """Run all checks that ask no source."""
    return [*check_program(now_ms), *check_installation(settings, now_ms)]


def _safely(
    group: Group, name: str, check: Check, settings: Settings, home: Home
) -> Iterator[Finding]:
    """Run a check; its expected errors become findings."""
    try:
        for found in check(settings, home):
            yield replace(found, name=found.name or name, group=group)
    except Exception as error:
        sentence = explain(error)
        if sentence is None:
            raise
        yield Finding("fail", sentence, name, group)


def _second_factor(settings: Settings, _: Home) -> Iterator[Finding]:
    if settings.second_factor == "optional":
        yield Finding(
            "warn",
            "não é exigido de ninguém: quem descobrir a senha de um operador entra."
            " Remova BALCAO_SECOND_FACTOR=optional",
        )
    else:
        required = "de todos" if settings.second_factor == "all" else "dos operadores"
        yield Finding("ok", f"exigido {required}, a partir da primeira conta de produção")


def _versions() -> Iterator[Finding]:
    python = platform.python_version()
    yield Finding("ok", f"balcao {__version__}, Python {python}, SQLite {_sqlite()}", "versões")
    found, missing, broken = [], [], []
    for library, module in LIBRARIES.items():
        try:
            known = version(library)
            importlib.import_module(module)
        except (PackageNotFoundError, ModuleNotFoundError):
            missing.append(library)
        except Exception as error:  # anything the module raises
            broken.append(f"{library} ({type(error).__name__}: {error})")
        else:
            if library in _WITH_VERSION:
                found.append(f"{library} {known}")
    if missing:
        text = f"faltam {', '.join(missing)}. Instale de novo: make install"
        yield Finding("fail", text, "bibliotecas")
    if broken:
        text = f"não podem ser carregadas: {'; '.join(broken)}; instale de novo: make install"
        yield Finding("fail", text, "bibliotecas")
    if not missing and not broken:
        yield Finding("ok", ", ".join(found), "bibliotecas")


def _sqlite() -> str:
    return apsw.sqlite_lib_version()


def _clock(now: int) -> Iterator[Finding]:
    today = civil_day(now)
    at = from_ms(now).strftime("%d/%m/%Y %H:%M:%S %z")
    if today < NO_EARLIER_THAN:
        yield Finding("fail", f"em Brasília seriam {at}. Acerte o relógio da máquina", "relógio")
    else:
        yield Finding("ok", f"em Brasília são {at}", "relógio")


def _configuration() -> Iterator[Finding]:
    file = config_file()
    yield Finding("ok", f"arquivo: {file if file is not None else 'nenhum'}", "configuração")
    for complaint in unknown_variables(os.environ):
        yield Finding("warn", complaint, "configuração")


def _folder(_: Settings, home: Home) -> Iterator[Finding]:
    path = home.path
    if path.exists() and not path.is_dir():
        yield Finding("fail", f"{path} não é uma pasta. Escolha outra em BALCAO_HOME")
        return
    if not path.is_dir():
        yield Finding("warn", f"{path} ainda não existe. Será criada por {program()} serve")
        return
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("fail", f"{path} não pode ser gravada. Verifique o dono e use chmod 700")
    elif path.stat().st_mode & _OTHERS:
        yield Finding("warn", f"{path} é visível para outros usuários: chmod 700 {path}")
    else:
        yield Finding("ok", f"{path}, privada e gravável")


def _secret(settings: Settings, home: Home) -> Iterator[Finding]:
    path = home.secret
    if home.restoring.exists():
        yield Finding("fail", RestoreInterrupted(str(home.path)).operator_text(program()))
    elif path.is_file():
        if not is_whole(path.stat().st_size):
            yield Finding("fail", f"{path} está incompleto. Restaure de um backup")
        elif path.stat().st_mode & _OTHERS:
            yield Finding("fail", f"outros usuários podem ler: chmod 600 {path}")
        else:
            yield Finding("ok", "presente e privado")
    elif home.desk.is_file():
        yield Finding(
            "fail",
            f"{path} está ausente. Sem ele, nenhuma chave emitida é reconhecida. Restaure de um"
            " backup",
        )
    elif place_of(settings).desk_file is None:
        yield Finding(
            "warn",
            f"{path} está ausente. Se outro nó já usa esse banco de dados, copie o dele para cá"
            " antes do primeiro início",
        )
    else:
        yield Finding("ok", "será criado com a primeira chave")


def _desk(now_ms: Callable[[], int], settings: Settings, home: Home) -> Iterator[Finding]:
    # A missing or incomplete secret is reported by `_secret`.
    whole_secret = home.secret.is_file() and is_whole(home.secret.stat().st_size)
    known = home.secrets() if whole_secret and not home.restoring.exists() else ()
    yield from database(place_of(settings), known, now_ms)


def _port(settings: Settings, home: Home) -> Iterator[Finding]:
    if (address := running_address(settings, home)) is not None:
        yield Finding("ok", f"{urlsplit(address).port}: o Balcão está em funcionamento")
        return
    try:
        check_port(settings.host, settings.port)
    except BadSettings as error:
        yield Finding("fail", str(error))
    else:
        yield Finding("ok", f"{settings.port} livre em {settings.host}")
