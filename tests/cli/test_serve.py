"""`balcao serve` and `balcao simulator serve`, as processes."""

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest

from balcao.accounts.links import token_digest
from balcao.cli import simulator
from balcao.cli.welcome import curl_line, start_message
from balcao.examination.failures import BadSettings
from balcao.examination.serving import check_port
from balcao.operations import OPERATIONS
from balcao.operations.parameters import Parameter
from balcao.providers import cnpja, serpro
from balcao.service.clock import system_now_ms
from balcao.service.first_start import OPENINGS
from balcao.settings import Settings
from tests.cli.shell import (
    PATIENCE_SECONDS,
    Shell,
    curl_lines,
    exports,
    free_port,
    keys_in,
    serving,
    simulating,
)
from tests.sources.sefaz.certificates import PASSWORD, a_certificate, of_cnpj, saved

COMPANY = "/consultas/v2/cnpj-receita-federal/90010001000100"


def run_curl(words: list[str] | tuple[str, ...]) -> httpx2.Response:
    """Send the request of a printed curl command."""
    assert words[:2] == ["curl", "-sS"]
    header, _, value = words[words.index("-H") + 1].partition(": ")
    return httpx2.get(words[-1], headers={header: value})


def test_the_first_start_and_the_next_one(shell: Shell) -> None:
    home, port = shell.path, free_port()
    with serving(home, port) as server:
        server.wait_until_it_answers()
        shown = server.out
        keys = keys_in(shown)
        assert list(keys) == [opening.account.name for opening in OPENINGS]
        for place in ("/app", "/docs", "/openapi.json", "/readyz"):
            assert f"{server.base}{place}" in shown
        assert "SANDBOX" in shown
        invitation = re.search(r"PRIMEIRO OPERADOR\. .*: (\S+)\n", shown)
        assert invitation
        address_of_it, _, token = invitation[1].rpartition("/")
        assert address_of_it == f"{server.base}/app/convite"
        with shell.desk() as desk:
            link = desk.people.link(token_digest(token), system_now_ms())
        assert link is not None
        assert link.purpose == "first_operator"

        lines = curl_lines(shown)
        assert len(lines) == len(OPERATIONS)
        for line in lines:
            answer = run_curl(list(line))
            assert (answer.status_code, answer.json()["success"]) == (200, True)

        with httpx2.Client(base_url=server.base) as client:
            for key in keys.values():
                answer = client.get(COMPANY, headers={"x-api-key": key})
                assert answer.status_code == 200, answer.text
            spent = client.get(COMPANY, headers={"x-api-key": keys["um-credito"]})
            assert spent.status_code == 402

        use_the_command_line(shell, server.base)
        assert shell.home.serving.read_text() == server.base  # also without that setting
        assert server.err.count("balcao_test_") == 0

        with serving(home, port) as second:
            assert second.wait_until_it_ends() == 1
            assert f"A porta {port} já está em uso" in second.err
            assert f"BALCAO_HOME={home} make serve PORT={port + 1} (ou BALCAO_HOME=" in second.err
        with serving(home, free_port()) as third:
            assert third.wait_until_it_ends() == 1
            assert "já está em uso por outro servidor" in third.err

        assert server.terminate() == 0
        assert not shell.home.serving.exists()

    with serving(home, port) as server:
        server.wait_until_it_answers()
        answer = httpx2.get(server.base + COMPANY, headers={"x-api-key": keys["gratuito"]})
        assert answer.status_code == 200
        assert server.terminate() == 0
        result = server.out + server.err
        assert "Ainda não há operador: " in server.out
        assert "user create EMAIL --name NOME --operator" in server.out
        assert token not in result
        assert "balcao_test_" not in result
        assert not any(key in result for key in keys.values())
        assert "90010001000100" not in result
        assert "Traceback" not in result


def use_the_command_line(shell: Shell, base: str) -> None:
    """Accounts, keys and credits while the server runs."""
    shell("account create acme --plan pre_pago --test")
    key = shell("key create acme").out.strip()
    with httpx2.Client(base_url=base, headers={"x-api-key": key}) as client:
        assert client.get(COMPANY).status_code == 402
        shell("credit add acme 5 --reason compra")
        assert client.get(COMPANY).status_code == 200
        assert shell("account show acme --json").json["balance_credits"] == 4
        (row,) = shell("usage acme --json").json["rows"]
        assert (row["operation"], row["queries"], row["credits"]) == ("cnpj-receita-federal", 1, 1)
        key_id = shell("key list acme --json").json[0]["key_id"]
        shell(f"key revoke {key_id}")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while client.get(COMPANY).status_code != 401:
            assert time.monotonic() < deadline
    assert shell("ledger check --json").json["ok"]


def test_killed_in_the_middle_of_the_first_start(shell: Shell) -> None:
    home, port = shell.path, free_port()
    # A month so large that it cannot be finished in time.
    with serving(home, port, establishments=3_000_000) as server:
        server.wait_for(home / "first-start.tmp")
        server.kill()
        assert not keys_in(server.out)
    with serving(home, port) as server:
        server.wait_until_it_answers()
        keys = keys_in(server.out)
        assert len(keys) == len(OPENINGS)
        answer = httpx2.get(server.base + COMPANY, headers={"x-api-key": keys["pos-pago"]})
        assert answer.status_code == 200
        assert server.terminate() == 0
    assert not (home / "first-start.tmp").exists()
    found = shell("account list --json").json
    assert [account["name"] for account in found] == list(keys)
    assert shell("opendata status --json").json["test"]["rows"]["Estabelecimentos"] == 300


def test_a_certificate_that_cannot_be_used_stops_the_start(
    fresh: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))
    monkeypatch.setenv("BALCAO_SEFAZ__CERTIFICATE", str(saved(tmp_path)))
    monkeypatch.setenv("BALCAO_SEFAZ__PASSWORD", "outra-senha")
    result = fresh("serve", code=1)
    assert result.err.startswith("erro: O certificado das SEFAZ não pode ser usado: ")
    assert "senha recusada" in result.err
    assert "remova as três" in result.err
    assert "outra-senha" not in result.err
    assert "Traceback" not in result.err
    assert not fresh.path.exists()


def test_an_expired_certificate_is_a_warning_at_the_start(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    last = datetime.now(UTC) - timedelta(days=1)
    path = saved(tmp_path, a_certificate(of_cnpj(), not_after=last))
    monkeypatch.setenv("BALCAO_SEFAZ__CERTIFICATE", str(path))
    monkeypatch.setenv("BALCAO_SEFAZ__PASSWORD", PASSWORD)
    with serving(shell.path, free_port(), establishments=0) as server:
        server.wait_until_it_answers()
        assert server.terminate() == 0
    assert server.err.count("sefaz.certificate_expired") == 1
    assert "Indique o novo em BALCAO_SEFAZ__CERTIFICATE e reinicie o serviço" in server.err
    assert PASSWORD not in server.err + server.out
    assert "Traceback" not in server.err


def test_the_simulator_alone(tmp_path: Path) -> None:
    with simulating(tmp_path, free_port()) as there:
        base = exports(there.out)["BALCAO_MINHA_RECEITA__URL"]
        assert httpx2.get(f"{base}/90010001000100").status_code == 200
        assert there.terminate() == 0


def test_sqlite_has_one_process(shell: Shell) -> None:
    result = shell("serve --workers 2", code=1)
    assert "Com SQLite, só um processo pode atender" in result.err
    assert "storage move" in result.err


def test_the_simulator_is_configured_by_settings_that_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in exports(simulator.settings_lines(8100)).items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert (asked := cnpja.PROVIDER.settings_in(settings)) is not None
    assert asked.url == "http://127.0.0.1:8100/cnpja"
    assert (contracted := serpro.PROVIDER.settings_in(settings)) is not None
    assert contracted.full_partners is True


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"host": "0.0.0.0", "port": 80}, "http://127.0.0.1:80"),
        ({"host": "::"}, "http://[::1]:8000"),
        ({"host": "::1"}, "http://[::1]:8000"),
        ({"tls_certificate": "c.pem", "tls_key": "k.pem"}, "https://127.0.0.1:8000"),
        ({"public_url": "https://api.exemplo.com.br/"}, "https://api.exemplo.com.br"),
    ],
)
def test_base_of_links(given: dict[str, object], base: str) -> None:
    settings = Settings(**given)  # type: ignore[arg-type]
    assert settings.address == base
    assert f"{base}/docs" in start_message(settings)
    assert "operador" not in start_message(settings)
    assert "Ainda não há operador: " in start_message(settings, without_operator=True)


def test_a_line_for_an_operation_with_its_document_in_the_query() -> None:
    operation = SimpleNamespace(
        path="certidao",
        document="",
        parameters=(
            Parameter("cnpj", "", {}, example="90010001000100"),
            Parameter("cpf", "", {}),
            Parameter("uf", "", {}, required=True, example="SP"),
            Parameter("cache", "", {}, example=7),
            Parameter("Idempotency-Key", "", {}, place="header", example="abc"),
        ),
    )
    line = curl_line(operation, "k", "http://h")  # type: ignore[arg-type]
    assert (
        line
        == "curl -sS -H 'x-api-key: k' 'http://h/consultas/v2/certidao?cnpj=90010001000100&uf=SP'"
    )


@pytest.mark.parametrize(
    ("host", "expected"),
    [("x" * 64, "não existe nesta máquina"), ("192.0.2.1", "não é desta máquina")],
)
def test_an_address_of_another_machine(host: str, expected: str) -> None:
    with pytest.raises(BadSettings, match=expected):
        check_port(host, free_port())
