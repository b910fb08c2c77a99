"""Checks of files by `balcao doctor`: their permissions, and whether they are complete."""

import stat
from collections.abc import Iterator
from pathlib import Path

from pydantic import SecretStr

from balcao.core.findings import Finding, Status
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.settings import Settings, config_file
from balcao.settings.in_force import leaves_of_file
from balcao.storage.truncation import is_truncated

_MODES: tuple[Mode, ...] = ("live", "test")


def exposed(settings: Settings, home: Home) -> Iterator[Finding]:
    """Report data files, and settings with keys, that other users may read."""
    ours = [home.desk, *(home.cache(mode) for mode in _MODES)]
    files = [Path(f"{file}{end}") for file in ours for end in ("", "-wal", "-shm")]
    open_ = [path for path in files if _mode(path) & (stat.S_IRWXG | stat.S_IRWXO)]
    if open_:
        names = ", ".join(path.name for path in open_)
        # The data folder's check reports it too, if others can reach the folder.
        reachable = _mode(home.path) & (stat.S_IXGRP | stat.S_IXOTH)
        text = f"outros usuários podem ler {names}: chmod 600 {' '.join(map(str, open_))}"
        yield Finding("fail" if reachable else "warn", text)
    file = config_file()
    if file is None or not _mode(file) & stat.S_IRWXO:  # its group may be the service's own
        return
    keys = [name for name, value in leaves_of_file(settings, file) if _is_secret(value)]
    if keys:
        text = f"{file} tem chaves ({', '.join(keys)}) e outros usuários podem ler: chmod 640"
        status: Status = "fail" if _is_reachable(file) else "warn"
        yield Finding(status, f"{text} {file}", "configuração")


def caches(_: Settings, home: Home) -> Iterator[Finding]:
    """Report damaged cache files. With PostgreSQL there are none."""
    broken = [path for path in map(home.cache, _MODES) if is_truncated(path)]
    for path in broken:
        yield Finding(
            "fail",
            f"{path} está danificado. Pare o serviço e apague o arquivo (ele é refeito; só"
            " resultados guardados se perdem)",
        )
    if not broken and any(home.cache(mode).exists() for mode in _MODES):
        yield Finding("ok", "inteiro")


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _is_reachable(path: Path) -> bool:
    """Return whether other users can reach this file."""
    return all(_mode(folder) & stat.S_IXOTH for folder in path.absolute().parents)


def _is_secret(value: object) -> bool:
    return isinstance(value, SecretStr) and bool(value.get_secret_value())
