"""`balcao doctor`: its findings, without changes."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from balcao.core.calendar import BRASILIA
from balcao.examination import service
from tests.cli.provider import a_provider
from tests.cli.shell import Shell, begin, free_port
from tests.sources.sefaz.certificates import KEY, PASSWORD, a_certificate, of_cnpj, saved
from tests.sources.sefaz.world import CNPJ
from tests.sources.test_cnpja import SAVED as CNPJA


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
def another_server(port: int) -> Iterator[None]:
    """Listen on the port, and close every connection."""
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


def test_doctor_creates_nothing(fresh: Shell) -> None:
    found = statuses(fresh)
    assert found["pasta de dados"] == found["banco de dados"] == "warn"
    assert not fresh.path.exists()


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
        "livro-razão",
        "porta",
        "TLS",
    ):
        assert found[name] == "ok", name
    assert found["mês de produção"] == found["mês da sandbox"] == "warn"
    assert found["quem responde cadastro de empresas"] == "warn"
    result = shell("doctor").out
    assert "confere" in result
    heads = [line for line in result.splitlines() if line.isupper()]
    assert heads == ["PROGRAMA", "DADOS", "MESES", "FONTES", "SERVIÇO"]
    counts = [list(found.values()).count(each) for each in ("ok", "warn", "fail")]
    assert len(found) <= sum(counts) + 1
    assert result.splitlines()[-1].endswith("Comece por: backup.")
    assert "0 falhas" in result.splitlines()[-1]


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


def test_a_folder_that_is_a_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (shell.path / "arquivo").touch()
    monkeypatch.setenv("BALCAO_HOME", str(shell.path / "arquivo"))
    assert statuses(shell, code=1)["pasta de dados"] == "fail"


def test_half_a_pepper(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    (shell.path / "secret.key").write_bytes(b"half")
    assert statuses(shell, code=1)["segredo das chaves"] == "fail"


def test_a_schema_of_a_newer_version(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    with shell.desk() as desk:
        desk._connection.execute("PRAGMA user_version = 999")
    assert statuses(shell, code=1)["banco de dados"] == "fail"
    assert "versão mais nova" in shell("account list", code=1).err


def test_a_port_in_use(shell: Shell, port: int) -> None:
    with another_server(port):
        assert statuses(shell, code=1)["porta"] == "fail"


@pytest.mark.parametrize("noted", ["running", "killed", "nonsense"])
def test_a_service_is_found_where_it_listens(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, port: int, noted: str
) -> None:
    """`serve --port` listens on another port than the configured one."""
    base = "http://127.0.0.1:9"
    if noted == "running":
        result = {(base, "/livez"): '{"status": "ok"}', (base, "/readyz"): "{}"}
        monkeypatch.setattr(
            service, "_get_text", lambda base, path, *seconds: result.get((base, path), "")
        )
    shell.home.serving.write_text("\0" if noted == "nonsense" else base)
    checks = {check["name"]: check["text"] for check in shell("doctor --json").json["checks"]}
    expected = (
        "9: o Balcão está em funcionamento" if noted == "running" else f"{port} livre em 127.0.0.1"
    )
    assert checks["porta"] == expected


def test_sources_are_shown_with_their_address(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te")
    monkeypatch.setenv("BALCAO_MINHA_RECEITA__URL", "http://quem:senha@127.0.0.1:9/")
    result = shell("doctor").out
    assert "fonte cnpja: https://api.cnpja.com" in result
    assert "fonte minha_receita: http://***@127.0.0.1:9/" in result
    assert "abre-te" not in result
    assert "senha" not in result
    assert result.count("contas de produção não têm fonte") == 4  # for certificates


def test_sources_of_certificates(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CND", "CONSUMER_KEY", "CONSUMER_SECRET"):
        monkeypatch.setenv(f"BALCAO_SERPRO__{name}", "1")
    assert statuses(shell)["quem responde certidão federal"] == "ok"
    assert statuses(shell)["quem responde certidões estaduais"] == "warn"
    monkeypatch.setenv("BALCAO_INFOSIMPLES__TOKEN", "abre-te")
    found = statuses(shell)
    assert found["fonte serpro_cnd"] == found["fonte infosimples"] == "ok"
    assert found["quem responde certidão federal"] == "warn"  # no receipts
    assert "falta BALCAO_INFOSIMPLES__RECEIPT_ORIGINS" in shell("doctor").out
    monkeypatch.setenv("BALCAO_INFOSIMPLES__RECEIPT_ORIGINS", '["https://armazem.example"]')
    found = statuses(shell)
    assert found["quem responde certidão federal"] == "ok"
    assert found["quem responde certidões estaduais"] == "ok"
    assert "infosimples; UFs: todas (27)" in shell("doctor").out


def test_a_source_without_its_keys_is_off(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "")
    monkeypatch.setenv("BALCAO_SERPRO__CONSUMER_KEY", "abre-te")
    result = shell("doctor").out
    assert "fonte cnpja: desligada" in result
    assert "fonte serpro: desligada" in result
    assert "contas de produção não têm fonte: importe um mês" in result


def test_a_month_that_is_not_configured_is_no_source(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("opendata sample mes --establishments 50 --seed 7 --clean")
    shell("opendata build mes")
    assert "\nok     quem responde cadastro de empresas: snapshot\n" in shell("doctor").out
    monkeypatch.setenv("BALCAO_COMPANY_SOURCES", '["cnpja"]')
    assert 'não têm fonte: inclua "snapshot"' in shell("doctor").out


def test_the_sources_of_all_subjects(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_SEFAZ__URL", "http://127.0.0.1:9/sefaz")
    monkeypatch.setenv("BALCAO_INFOSIMPLES__TOKEN", "abre-te")
    monkeypatch.setenv("BALCAO_RURAL_PRODUCER_SOURCES", '["sefaz"]')
    result = shell("doctor").out
    assert "fonte sefaz: http://127.0.0.1:9/sefaz\n" in result
    assert "fonte infosimples: https://api.infosimples.com\n" in result
    assert "inscrições estaduais: sefaz, depois infosimples; UFs: todas (27)\n" in result
    assert "aviso  quem responde produtor rural: sefaz; nenhuma fonte para MA\n" in result
    assert "aviso  quem responde Suframa: contas de produção não têm fonte" in result
    assert "abre-te" not in result


def test_online_calls_the_sources(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_MINHA_RECEITA__URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("BALCAO_SEFAZ__URL", f"http://127.0.0.1:{free_port()}")
    found = {
        check["name"]: (check["status"], check["text"])
        for check in shell("doctor --online --json").json["checks"]
    }
    status, text = found["rede até minha_receita"]
    assert (status, text.split(";")[0]) == ("warn", "sem conexão (ConnectError)")
    assert text.endswith("source check --source minha_receita")
    status, text = found["rede até sefaz"]
    assert (status, text.split(";")[0]) == (
        "warn",
        "AC: sem conexão (ConnectError) (26 de 26 consultas)",
    )


def test_online_without_findings(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_provider({"perpetual": 7, "transient": 0}) as url:
        monkeypatch.setenv("BALCAO_CNPJA__URL", url)
        monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te")
        assert "ok     rede até cnpja: respondeu, em até " in shell("doctor --online").out


def about_letters(shell: Shell) -> dict[str, str]:
    return {
        check["name"]: f"{check['status']} {check['text']}"
        for check in shell("doctor --online --json").json["checks"]
        if check["name"].startswith("CNPJ com letras em ")
    }


def test_online_checks_cnpjs_with_letters(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    credit = {"perpetual": 7, "transient": 0}
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te")
    with a_provider(CNPJA | {"taxId": "00000000E08G12"} | credit) as url:
        monkeypatch.setenv("BALCAO_CNPJA__URL", url)
        assert about_letters(shell) == {}, "it is not said to take them"
        monkeypatch.setenv("BALCAO_CNPJA__ACCEPTS_ALPHANUMERIC", "true")
        found = {"CNPJ com letras em cnpja": "ok respondeu sobre 00.000.000/E08G-12"}
        assert about_letters(shell) == found
    with a_provider(CNPJA | credit) as url:
        monkeypatch.setenv("BALCAO_CNPJA__URL", url)
        (refused,) = about_letters(shell).values()
        assert refused.startswith("warn respondeu sobre outro documento; ")
        assert refused.endswith("defina accepts_alphanumeric desta fonte como false")


@pytest.fixture
def a1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that creates a certificate and configures it."""

    def make(days: float = 365, *, named: bool = True, with_key: bool = True) -> Path:
        last = datetime.now(UTC) + timedelta(days=days)
        own = a_certificate(of_cnpj() if named else None, not_after=last)
        path = saved(tmp_path, own, key=KEY if with_key else None)
        path.chmod(0o600)
        monkeypatch.setenv("BALCAO_SEFAZ__CERTIFICATE", str(path))
        monkeypatch.setenv("BALCAO_SEFAZ__PASSWORD", PASSWORD)
        return path

    return make


def about_certificates(shell: Shell, *, code: int = 0) -> dict[str, tuple[str, str]]:
    result = shell("doctor --json", code=code)
    assert PASSWORD not in result.out + result.err
    assert CNPJ not in result.out + result.err
    return {
        check["name"]: (check["status"], check["text"])
        for check in result.json["checks"]
        if "certificado" in check["name"]
    }


def test_a_good_certificate(shell: Shell, a1: Callable[..., Path]) -> None:
    a1()
    found = about_certificates(shell)
    assert list(found) == ["certificado A1"]
    assert found["certificado A1"][0] == "ok"
    assert "fonte sefaz: o de cada UF, em produção" in shell("doctor").out


def test_no_certificate_is_configured(shell: Shell) -> None:
    assert about_certificates(shell) == {}


def test_a_certificate_that_expires_soon(shell: Shell, a1: Callable[..., Path]) -> None:
    a1(29.5)
    day = (datetime.now(UTC) + timedelta(days=29.5)).astimezone(BRASILIA).strftime("%d/%m/%Y")
    status, text = about_certificates(shell)["certificado A1"]
    assert status == "warn"
    assert text.startswith(f"vence em {day} (em 29 dias)")
    a1(31.5)
    assert about_certificates(shell)["certificado A1"][0] == "ok"


def test_an_expired_certificate(shell: Shell, a1: Callable[..., Path]) -> None:
    a1(-1)
    status, text = about_certificates(shell, code=1)["certificado A1"]
    assert status == "fail"
    assert text.startswith("venceu em ")
    assert "Indique o novo em BALCAO_SEFAZ__CERTIFICATE" in text
    assert "fonte sefaz: inativa: o certificado A1 venceu" in shell("doctor", code=1).out


def test_a_certificate_without_cnpj(shell: Shell, a1: Callable[..., Path]) -> None:
    a1(named=False)
    assert about_certificates(shell)["CNPJ do certificado"][0] == "warn"


def test_a_certificate_that_others_may_read(shell: Shell, a1: Callable[..., Path]) -> None:
    path = a1()
    path.chmod(0o640)
    status, text = about_certificates(shell)["arquivo do certificado"]
    assert (status, text.endswith(f"chmod 600 {path}")) == ("warn", True)


def test_certificates_that_cannot_be_used(
    shell: Shell, a1: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def why() -> str:
        status, text = about_certificates(shell, code=1)["certificado A1"]
        assert status == "fail"
        assert "O serviço não inicia assim" in text
        return text

    path = a1(with_key=False)
    assert "não contém a chave privada" in why()
    a1()
    monkeypatch.setenv("BALCAO_SEFAZ__PASSWORD", "outra-senha")
    assert "senha recusada" in why()
    assert "outra-senha" not in shell("doctor", code=1).out
    a1()
    monkeypatch.setenv("BALCAO_SEFAZ__CA_FILE", str(tmp_path / "raizes.pem"))
    assert "certificados-raiz não encontrados" in why()
    monkeypatch.delenv("BALCAO_SEFAZ__CA_FILE")
    path.write_text("-----BEGIN CERTIFICATE-----", "utf-8")
    assert "não é um certificado A1 em PKCS#12" in why()
    path.unlink()
    assert "não encontrado" in why()


def test_invalid_tls_files(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BALCAO_TLS_CERTIFICATE", str(tmp_path / "c.pem"))
    assert "precisa dos dois" in shell("doctor", code=1).out
    monkeypatch.setenv("BALCAO_TLS_KEY", str(tmp_path / "k.pem"))
    assert "não existe ou não pode ser lido" in shell("doctor", code=1).out
    (tmp_path / "c.pem").write_text("nada")
    (tmp_path / "k.pem").write_text("nada")
    assert "não formam um par" in shell("serve", code=1).err


def test_the_age_of_the_newest_backup(fresh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = fresh
    assert statuses(shell)["backup"] == "ok"  # nothing to copy yet
    begin(shell.home)
    shell("account create acme --plan pre_pago")
    shell("key create acme")
    assert statuses(shell)["backup"] == "warn"
    made = Path(shell("backup create --json").json["file"])
    assert statuses(shell)["backup"] == "ok"
    assert "(há 0 min)" in shell("doctor").out
    old = datetime.now(UTC) - timedelta(hours=49)
    made.rename(made.with_name(f"balcao-{old:%Y%m%d-%H%M%S}.tar"))
    assert statuses(shell)["backup"] == "warn"
    assert "(há 2 dias)" in shell("doctor").out
    monkeypatch.setenv("BALCAO_BACKUP_EVERY_HOURS", "0")
    assert statuses(shell)["backup"] == "ok"
    assert "desativados" in shell("doctor").out


def test_keys_that_expire_soon(shell: Shell) -> None:
    today = datetime.now(BRASILIA).date()
    shell("account create acme --plan pre_pago")
    shell(f"key create acme --name depois --expires {today + timedelta(days=30)}")
    assert statuses(shell)["chaves"] == "ok"
    shell(f"key create acme --name breve --expires {today + timedelta(days=3)}")
    assert statuses(shell)["chaves"] == "warn"
    text = " ".join(shell("doctor").out.split())
    assert (
        f"1 chave vence em até 14 dias: breve (acme) em {today + timedelta(days=3):%d/%m/%Y}"
        in text
    )
    assert "key create CONTA" in text
    assert "depois (acme)" not in text
