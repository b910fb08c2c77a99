"""`balcao doctor`: clocks, our TLS certificate, and our credentials at providers."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from balcao.cli import doctor
from balcao.core.calendar import BRASILIA
from balcao.examination import service as checks_service
from balcao.observability.metrics import Metrics
from balcao.service.clock import system_now_ms
from tests.certificates import self_signed
from tests.cli.provider import a_provider
from tests.cli.shell import Shell, begin, free_port

KEY = "abre-te-sesamo"


@pytest.fixture(autouse=True)
def port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))


def found(shell: Shell, options: str = "", *, code: int = 0) -> dict[str, tuple[str, str]]:
    result = shell(f"doctor --json {options}", code=code)
    assert KEY not in result.out + result.err
    return {check["name"]: (check["status"], check["text"]) for check in result.json["checks"]}


# Clocks


@pytest.fixture
def database(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_DATABASE", address)


@pytest.mark.parametrize(
    ("ahead_ms", "expected"),
    [
        (600_000, "está adiantado "),
        (-600_000, "está atrasado "),
        (-600_000, "este nó não fica pronto"),
        (4_000, "está adiantado "),
    ],
)
def test_the_clock_of_the_database(
    shell: Shell, database: None, monkeypatch: pytest.MonkeyPatch, ahead_ms: int, expected: str
) -> None:
    name = "relógio do banco de dados"
    assert found(shell)[name] == ("ok", "de acordo com o desta máquina")
    monkeypatch.setattr(doctor, "system_now_ms", lambda: system_now_ms() + ahead_ms)
    off = abs(ahead_ms) > 5_000
    status, text = found(shell, code=int(off))[name]
    assert status == ("fail" if off else "warn")
    assert expected in text


def test_a_clock_behind_the_ledger(shell: Shell) -> None:
    name = "relógio e livro-razão"
    shell("account create acme --plan pre_pago")
    with shell.desk() as desk:
        asyncio.run(desk.heartbeat(system_now_ms()))
        assert name not in found(shell)
        asyncio.run(desk.heartbeat(system_now_ms() + 86_400_000))
    status, text = found(shell)[name]
    assert status == "warn"
    assert "está atrasado 86" in text


SERVICE = {
    "well": ({"status": "ok", "relógio": "certo"}, {"relógio do serviço": "ok"}),
    "a jump": ({"status": "ok", "relógio": "saltou +9 s"}, {"relógio do serviço": "warn"}),
    "not ready": ({"error_message": {"message": "O relógio difere"}}, {"serviço": "fail"}),
    "an older version": ({"status": "ok"}, {}),
}


@pytest.mark.parametrize("case", SERVICE)
@pytest.mark.parametrize("has_reserve", [True, False])
def test_the_status_of_a_running_service(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, case: str, has_reserve: bool
) -> None:
    ready, expected = SERVICE[case]
    replies = {"/livez": {"status": "ok"}, "/readyz": ready}
    monkeypatch.setattr(checks_service, "_get_json", lambda base, path, *seconds: replies[path])
    shell("account create acme --plan pre_pago")
    if has_reserve:
        (shell.path / "ballast").write_bytes(b"x")
    result = found(shell, code=1 if case == "not ready" else 0)
    names = ("relógio do serviço", "serviço", "reserva no disco")
    statuses = {name: result[name][0] for name in names if name in result}
    assert statuses == expected | {"reserva no disco": "ok" if has_reserve else "warn"}


def test_periodic_work_that_fails_is_shown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the service's metrics."""
    metrics, name = Metrics(), "trabalhos periódicos"
    replies = {"/livez": '{"status":"ok"}', "/readyz": "{}"}
    monkeypatch.setattr(
        checks_service,
        "_get_text",
        lambda base, path, *seconds: replies.get(path, metrics.exposition().decode()),
    )
    shell("account create acme --plan pre_pago")
    assert name not in found(shell), "an older version"
    metrics.work = lambda: {"purge": (1_000, None, 0), "clock": (None, None, 0)}
    assert found(shell)[name] == ("ok", "2, nenhum falhando")
    metrics.work = lambda: {"purge": (1_000, 1_786_158_000_000, 3), "clock": (1, 2, 0)}
    status, text = found(shell)[name]
    assert status == "warn"
    assert "purge falhou 3 vezes seguidas, a última em 08/08/2026" in text


def test_a_service_without_its_database_is_examined(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service answers with errors, or not in time."""
    error = '{"error":true,"error_message":{"code":"SERVICO_INDISPONIVEL","message":"fora do ar"}}'
    replies = {"/livez": '{"status":"ok"}', "/readyz": error, "/metrics": error}
    patience: dict[str, float] = {}

    def get_text(base: str, path: str, seconds: float, token: str = "") -> str:
        patience[path] = seconds
        return replies[path]

    monkeypatch.setattr(checks_service, "_get_text", get_text)
    shell("account create acme --plan pre_pago")
    seen = found(shell, code=1)
    assert seen["serviço"] == ("fail", "não está pronto: fora do ar")
    assert seen["trabalhos periódicos"][0] == "warn"
    assert patience["/readyz"] > 17, "it writes, and looks for what became of it"
    replies |= {"/readyz": "", "/metrics": ""}
    assert found(shell, code=1)["serviço"] == ("fail", "não está pronto: /readyz não respondeu")


def test_another_nodes_secret(fresh: Shell, database: None) -> None:
    """A database made with another secret than this folder's, which `serve` refuses."""
    shell, name = fresh, "segredo das chaves"
    assert found(shell)[name][0] == "warn"
    assert "copie o dele" in found(shell)[name][1]
    begin(shell.home)
    shell("account create acme --plan pre_pago")
    assert found(shell)[name] == ("ok", "presente e privado")
    shell.home.secret.write_bytes(b"x" * 32)
    status, text = found(shell, code=1)[name]
    assert status == "fail"
    assert "outro segredo" in text
    assert "outro segredo" in shell("account list", code=1).err


CREDITS = {"perpetual": 7, "transient": 0}


def asked(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, url: str, *, code: int = 0
) -> dict[str, tuple[str, str]]:
    monkeypatch.setenv("BALCAO_CNPJA__URL", url)
    monkeypatch.setenv("BALCAO_CNPJA__KEY", KEY)
    return found(shell, "--online", code=code)


def test_clocks_of_sources(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_provider(CREDITS) as url:
        assert asked(shell, monkeypatch, url)["relógio das fontes"][0] == "ok"


def test_a_source_with_another_time(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    with a_provider(CREDITS, dates=[later]) as url:
        status, text = asked(shell, monkeypatch, url)["relógio das fontes"]
    assert status == "warn"
    assert "cnpja (atrasado 3." in text


@pytest.mark.parametrize("dates", [[], ["ontem"]])
def test_a_source_without_time(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, dates: Sequence[str]
) -> None:
    with a_provider(CREDITS, dates=dates) as url:
        result = asked(shell, monkeypatch, url)
    assert result["rede até cnpja"][0] == "ok"
    assert "relógio das fontes" not in result


# Credentials


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_not_the_network(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    with a_provider({}, status=status) as url:
        result = asked(shell, monkeypatch, url, code=1)
    assert result["rede até cnpja"][0] == "ok"
    kind, text = result["credenciais de cnpja"]
    assert kind == "fail"
    assert f"HTTP {status}" in text
    assert "confira BALCAO_CNPJA__KEY e o contrato" in text


def test_a_failure_is_not_the_credentials(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_provider({}, status=500) as url:
        result = asked(shell, monkeypatch, url)
    assert result["rede até cnpja"][0] == "warn"
    assert "credenciais de cnpja" not in result


def test_an_incomplete_pair_of_credentials(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_SERPRO__CONSUMER_KEY", KEY)
    assert found(shell)["credenciais de serpro"] == (
        "warn",
        "sem BALCAO_SERPRO__CONSUMER_SECRET, a fonte fica desativada",
    )
    monkeypatch.setenv("BALCAO_SERPRO__CONSUMER_SECRET", KEY)
    assert "credenciais de serpro" not in found(shell)


@pytest.mark.parametrize("stray", [f"{KEY} ", f'"{KEY}"', f"{KEY}\n{KEY}", f"{KEY}é", "<chave>"])
def test_characters_added_by_copying(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, stray: str
) -> None:
    monkeypatch.setenv("BALCAO_INFOSIMPLES__TOKEN", stray)
    assert found(shell)["credenciais de infosimples"] == (
        "warn",
        "há espaço, aspas ou acento em BALCAO_INFOSIMPLES__TOKEN: copie de novo",
    )


# The TLS certificate


def a_pair(
    folder: Path, monkeypatch: pytest.MonkeyPatch, days: float, *, from_days: float = -400
) -> None:
    """Create a certificate, valid for these days from now, with its key, and configure it."""
    files = self_signed(folder, "balcao.example.com.br", from_days=from_days, days=days)
    for kind, path in zip(("CERTIFICATE", "KEY"), files, strict=True):
        monkeypatch.setenv(f"BALCAO_TLS_{kind}", str(path))


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (31.5, ("ok", "vale até")),
        (29.5, ("warn", "(em 29 dias): renove")),
        (-1, ("fail", "mas venceu em")),
    ],
)
def test_the_validity_of_the_certificate(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    days: float,
    expected: tuple[str, str],
) -> None:
    status, result = expected
    a_pair(tmp_path, monkeypatch, days)
    found_status, text = found(shell, code=status == "fail")["TLS"]
    assert found_status == status
    assert result in text
    last = (datetime.now(UTC) + timedelta(days=days)).astimezone(BRASILIA)
    assert f"{last:%d/%m/%Y}" in text


def test_a_certificate_from_the_future(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_pair(tmp_path, monkeypatch, 90, from_days=1)
    status, text = found(shell, code=1)["TLS"]
    assert (status, "só vale a partir de" in text) == ("fail", True)


def test_the_validity_of_the_issuer(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_pair(tmp_path, monkeypatch, 10)
    above = (tmp_path / "fullchain.pem").read_bytes()
    a_pair(tmp_path, monkeypatch, 300)
    with (tmp_path / "fullchain.pem").open("ab") as chain:
        chain.write(above)
    assert found(shell)["TLS"][0] == "warn"


def test_a_key_of_another_certificate(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_pair(tmp_path, monkeypatch, 90)
    other = (tmp_path / "privkey.pem").read_bytes()
    a_pair(tmp_path, monkeypatch, 90)
    (tmp_path / "privkey.pem").write_bytes(other)
    status, text = found(shell, code=1)["TLS"]
    assert (status, "não formam um par" in text) == ("fail", True)
