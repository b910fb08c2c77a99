"""`balcao doctor`: readable or damaged files, broken libraries, a ledger from the future."""

import asyncio
import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from balcao.cli import doctor
from balcao.core.freshness import DAY_MS
from balcao.home import Home
from balcao.opendata.search.index import index_path
from balcao.opendata.snapshot import current_path
from balcao.service.clock import system_now_ms
from balcao.storage.sqlite.cache import SqliteCache
from tests.cli.shell import Shell, free_port

Found = tuple[str, str]


@pytest.fixture(autouse=True)
def port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))


def found(shell: Shell, name: str, *, code: int = 0) -> Sequence[Found]:
    checks = shell("doctor --json", code=code).json["checks"]
    return [(each["status"], each["text"]) for each in checks if each["name"] == name]


@pytest.fixture
def used(shell: Shell) -> Shell:
    shell("account create acme --plan pre_pago")
    return shell


def test_data_that_others_may_read(used: Shell) -> None:
    """A failure only if the folder is readable, too."""
    assert found(used, "arquivos") == []
    used.home.desk.chmod(0o666)
    ((status, text),) = found(used, "arquivos")
    assert (status, f"chmod 600 {used.home.desk}" in text) == ("warn", True)
    used.home.path.chmod(0o755)
    ((status, _),) = found(used, "arquivos", code=1)
    assert status == "fail"


def test_keys_in_a_file_that_others_may_read(
    used: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "balcao.toml"
    file.write_text('[cnpja]\nkey = "segredo-do-teste"\n')
    monkeypatch.setenv("BALCAO_CONFIG", str(file))
    for mode, complains in ((0o600, False), (0o640, False), (0o644, True)):
        file.chmod(mode)
        result = used("doctor --json").json["checks"]
        texts = [each["text"] for each in result if "podem ler" in each["text"]]
        assert bool(texts) == complains
        if complains:
            assert "cnpja.key" in texts[0]
    file.write_text("[cnpja]\n")
    assert all("podem ler" not in text for _, text in found(used, "configuração"))


def test_a_library_that_cannot_be_loaded(used: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    load = importlib.import_module

    def fails(name: str) -> ModuleType:
        if name == "python_calamine":
            raise ImportError("libc.so.7: version GLIBC_3 not found")
        return load(name)

    monkeypatch.setattr(importlib, "import_module", fails)
    ((status, text),) = found(used, "bibliotecas", code=1)
    assert status == "fail"
    assert "python-calamine (ImportError: libc.so.7" in text


def test_a_clock_400_days_ahead(used: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """On SQLite only the ledger shows it."""
    with used.desk() as desk:
        asyncio.run(desk.heartbeat(system_now_ms()))
    assert found(used, "relógio e livro-razão") == []
    monkeypatch.setattr(doctor, "system_now_ms", lambda: system_now_ms() + 400 * DAY_MS)
    ((status, text),) = found(used, "relógio e livro-razão")
    assert (status, "400 dias" in text) == ("warn", True)


def half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def test_a_cache_cut_in_half(used: Shell) -> None:
    cache = used.home.cache("live")
    SqliteCache(cache).close()
    assert found(used, "cache") == [("ok", "inteiro")]
    half(cache)
    ((status, text),) = found(used, "cache", code=1)
    assert (status, str(cache) in text) == ("fail", True)
    cache.write_bytes(b"something else" * 100)
    assert found(used, "cache", code=1)[0][0] == "fail"


def test_a_search_index_cut_in_half(shell: Shell, tmp_path: Path) -> None:
    shell(f"opendata sample {tmp_path / 'mes'} --establishments 200 --seed 7")
    shell(f"opendata build {tmp_path / 'mes'} --sandbox --force")
    shell("opendata search --sandbox")
    name, store = "busca da sandbox", Home(shell.home.path).opendata("test")
    assert found(shell, name) == [("ok", "índice pronto")]
    half(index_path(current_path(store)))
    ((status, text),) = found(shell, name, code=1)
    assert (status, "danificado" in text) == ("fail", True)
