"""`balcao doctor`: what is found, and what it leaves alone."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.shell import Shell, free_port


@pytest.fixture(autouse=True)
def port(monkeypatch: pytest.MonkeyPatch) -> int:
    port = free_port()
    monkeypatch.setenv("BALCAO_PORT", str(port))
    return port


def statuses(shell: Shell, *, code: int = 0) -> dict[str, str]:
    found = shell("doctor --json", code=code).json
    assert found["ok"] is (code == 0)
    return {check["name"]: check["status"] for check in found["checks"]}


@contextmanager
def a_stranger(port: int) -> Iterator[None]:
    """Listens, and hangs up on whoever calls."""
    server = socket.create_server(("127.0.0.1", port))

    def hang_up() -> None:
        with suppress(OSError):
            while True:
                server.accept()[0].close()

    thread = threading.Thread(target=hang_up)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        server.close()


def test_nothing_is_made_by_looking(shell: Shell) -> None:
    found = statuses(shell)
    assert found["pasta de dados"] == found["banco de dados"] == "warn"
    assert not shell.path.exists()


def test_a_healthy_folder(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    shell("key create acme")
    found = statuses(shell)
    for name in (
        "versões",
        "bibliotecas",
        "relógio",
        "pasta de dados",
        "segredo das chaves",
        "banco de dados",
        "livro de créditos",
        "porta",
        "TLS",
    ):
        assert found[name] == "ok", name
    assert found["mês de produção"] == found["mês da sandbox"] == found["fontes"] == "warn"
    assert "confere" in shell("doctor").out


def test_keys_without_their_pepper(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    shell("key create acme")
    (made,) = [file for file in shell.path.iterdir() if file.read_bytes() == shell.home.pepper()]
    made.unlink()
    assert statuses(shell, code=1)["segredo das chaves"] == "fail"
    assert not made.exists()


def test_a_pepper_and_a_folder_that_others_may_read(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    shell.home.pepper()
    shell.path.chmod(0o755)
    (shell.path / "secret.key").chmod(0o644)
    found = statuses(shell, code=1)
    assert (found["pasta de dados"], found["segredo das chaves"]) == ("warn", "fail")


def test_half_a_pepper(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    (shell.path / "secret.key").write_bytes(b"half")
    assert statuses(shell, code=1)["segredo das chaves"] == "fail"


def test_a_schema_of_a_newer_version(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    with shell.desk() as desk:
        desk._in_place.execute("PRAGMA user_version = 999")
    assert statuses(shell, code=1)["banco de dados"] == "fail"
    assert "versão mais nova" in shell("account list", code=1).err


def test_a_port_that_somebody_else_has(shell: Shell, port: int) -> None:
    with a_stranger(port):
        assert statuses(shell, code=1)["porta"] == "fail"


def test_sources_are_shown_with_their_address(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te")
    monkeypatch.setenv("BALCAO_MINHA_RECEITA__URL", "http://quem:senha@127.0.0.1:9/")
    said = shell("doctor").out
    assert "fonte cnpja: https://api.cnpja.com" in said
    assert "fonte minha_receita: http://***@127.0.0.1:9/" in said
    assert "abre-te" not in said
    assert "senha" not in said
    assert "contas de produção não têm quem responda" not in said


def test_a_source_without_its_keys_is_off(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "")
    monkeypatch.setenv("BALCAO_SERPRO__CONSUMER_KEY", "abre-te")
    said = shell("doctor").out
    assert "fonte cnpja: desligada" in said
    assert "fonte serpro: desligada" in said
    assert "contas de produção não têm quem responda: importe um mês" in said


def test_a_month_that_nobody_asks_is_no_source(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("opendata sample mes --establishments 50 --seed 7 --clean")
    shell("opendata build mes")
    assert "não têm quem responda" not in shell("doctor").out
    monkeypatch.setenv("BALCAO_COMPANY_SOURCES", '["cnpja"]')
    assert 'não têm quem responda: inclua "snapshot"' in shell("doctor").out


def test_online_calls_the_sources(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_MINHA_RECEITA__URL", f"http://127.0.0.1:{free_port()}")
    found = shell("doctor --online --json").json["checks"]
    (reach,) = [check for check in found if check["name"] == "rede até minha_receita"]
    assert reach["status"] == "warn"


def test_tls_files_that_are_none(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BALCAO_TLS_CERTIFICATE", str(tmp_path / "c.pem"))
    assert "precisa dos dois" in shell("doctor", code=1).out
    monkeypatch.setenv("BALCAO_TLS_KEY", str(tmp_path / "k.pem"))
    assert "não existe ou não pode ser lido" in shell("doctor", code=1).out
    (tmp_path / "c.pem").write_text("nada")
    (tmp_path / "k.pem").write_text("nada")
    assert "não formam um par" in shell("serve", code=1).err
