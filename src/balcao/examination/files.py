"""What an examination finds of files: who may read them, and whether they are whole."""

import stat
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
from pydantic import SecretStr

from balcao.core.findings import Finding, Status
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.settings import Settings, config_file
from balcao.settings.in_force import leaves_of_file

_MODES: tuple[Mode, ...] = ("live", "test")

# Of a file of SQLite: its first bytes, where its page size stands, its pages, and whether that is
# up to date (https://www.sqlite.org/fileformat.html, "The Database Header").
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100


def exposed(settings: Settings, home: Home) -> Iterator[Finding]:
    """Files of data, and settings with keys, that other users may read."""
    ours = [home.desk, *(home.cache(mode) for mode in _MODES)]
    files = [Path(f"{file}{end}") for file in ours for end in ("", "-wal", "-shm")]
    open_ = [path for path in files if _mode(path) & (stat.S_IRWXG | stat.S_IRWXO)]
    if open_:
        names = ", ".join(path.name for path in open_)
        # The folder's own finding says so, too, if others can come that far.
        reachable = _mode(home.path) & (stat.S_IXGRP | stat.S_IXOTH)
        text = f"outros usuários podem ler {names}: chmod 600 {' '.join(map(str, open_))}"
        yield Finding("fail" if reachable else "warn", text)
    file = config_file()
    if file is None or not _mode(file) & stat.S_IRWXO:  # its group may be the service's own
        return
    keys = [name for name, value in leaves_of_file(settings, file) if _is_secret(value)]
    if keys:
        text = f"{file} tem chaves ({', '.join(keys)}) e outros usuários podem lê-lo: chmod 640"
        status: Status = "fail" if _is_reachable(file) else "warn"
        yield Finding(status, f"{text} {file}", "configuração")


def cut(path: Path) -> bool:
    """Whether a file of SQLite is shorter than it says, or is none. False where there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
        size = path.stat().st_size
    except OSError:
        return False
    if not head:  # begun, and never written
        return False
    if len(head) < _HEADER_BYTES or not head.startswith(_MAGIC):
        return True
    page_bytes = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big") * (65_536 if page_bytes == 1 else page_bytes)
    # While its log is carried over it may be short for a moment: SQLite itself knows better.
    return size < pages and not _is_sound(path)


def _is_sound(path: Path) -> bool:
    with (
        suppress(apsw.Error),
        closing(apsw.Connection(f"{path.as_uri()}?mode=ro", flags=_READ_ONLY)) as connection,
    ):
        return bool(connection.execute("PRAGMA quick_check(1)").get == "ok")
    return False


_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def caches(_: Settings, home: Home) -> Iterator[Finding]:
    """Whether the caches' files are whole. With PostgreSQL there are none."""
    broken = [path for path in map(home.cache, _MODES) if cut(path)]
    for path in broken:
        yield Finding(
            "fail",
            f"{path} está danificado: pare o serviço e apague-o (ele é refeito; perdem-se só"
            " respostas guardadas)",
        )
    if not broken and any(home.cache(mode).exists() for mode in _MODES):
        yield Finding("ok", "inteiro")


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _is_reachable(path: Path) -> bool:
    """Whether other users can come as far as this file."""
    return all(_mode(folder) & stat.S_IXOTH for folder in path.absolute().parents)


def _is_secret(value: object) -> bool:
    return isinstance(value, SecretStr) and bool(value.get_secret_value())
