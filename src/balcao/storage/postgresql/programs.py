"""PostgreSQL's own programs: which of them to use, and how to run one.

Passwords go by the environment: everybody on a machine may read command lines. What they say of
errors may quote rows, and so stays with us.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from balcao.storage.copies.copies import Stopped, never
from balcao.storage.copies.errors import BackupRefused, BackupStopped

_LOOK_SECONDS = 0.1
_SECRETS = ("password", "sslpassword")


@dataclass(frozen=True, slots=True)
class Programs:
    """The folder with `pg_dump`, `pg_restore` and `psql` of one version."""

    folder: Path
    major: int

    def run(
        self, name: str, address: str, *options: str, stopped: Stopped = never, output: int = -3
    ) -> None:
        """Run one to its end on a database; an empty address: on none.

        Raises `BackupRefused` when it fails, `BackupStopped`.
        """
        environment, where = dict(os.environ), []
        if address:
            given = conninfo_to_dict(address)
            secrets = {part: given.pop(part, None) for part in _SECRETS}
            if secrets["password"] is not None:
                environment["PGPASSWORD"] = str(secrets["password"])
            where = ["--no-password", f"--dbname={make_conninfo('', **given)}"]
        process = subprocess.Popen(  # noqa: S603 - our own words
            [str(self.folder / name), *where, *options],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        try:
            while process.poll() is None:
                if stopped():
                    raise BackupStopped("A cópia de segurança foi interrompida.")
                time.sleep(_LOOK_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode != 0:
            raise BackupRefused(
                f"O {name} falhou (código {process.returncode}). Verifique o disco, a conexão e"
                " as permissões do usuário do banco."
            )


def programs_for(major: int) -> Programs:
    """Programs that know a server of this version: its own, else the next newer ones.

    Raises `BackupRefused`, with what to install.
    """
    found = sorted(_found(os.environ.get("PATH", "")), key=lambda programs: programs.major)
    fit = next((programs for programs in found if programs.major >= major), None)
    if fit is not None:
        return fit
    has = f"só há a versão {found[-1].major}" if found else "não foram encontrados"
    raise BackupRefused(
        f"Para copiar um PostgreSQL {major} são precisos pg_dump, pg_restore e psql da versão"
        f" {major} ou mais nova; {has}. Instale o pacote postgresql-client-{major}, ou ponha os"
        " programas no PATH."
    )


@cache
def _found(path: str) -> Sequence[Programs]:
    folders = [Path(one) for one in path.split(os.pathsep) if one]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = []
    for folder in folders:
        if all(shutil.which(name, path=folder) for name in ("pg_dump", "pg_restore", "psql")):
            major = _major(folder / "pg_dump")
            if major is not None:
                found.append(Programs(folder, major))
    return found


def _major(program: Path) -> int | None:
    try:
        said = subprocess.run(  # noqa: S603
            [program, "--version"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\d+)(?:\.\d+)?(?:\w+)?(?: |$)", said.strip())
    return None if match is None else int(match[1])
