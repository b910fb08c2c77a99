"""`balcao simulator serve`: its options, and the listener with mutual TLS."""

import ssl
import time
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from balcao.cli import simulator
from balcao.providers import infosimples, sefaz
from balcao.providers.sefaz.settings import SefazSettings
from balcao.settings import Settings
from tests.cli.shell import PATIENCE_SECONDS, Shell, exports, free_port, simulating
from tests.simulator.sefaz import PATHS, SOAP_12, envelope, question, read

BODY = envelope(question("SP", "CNPJ", "90010001000100"))


def client_of(treasuries: SefazSettings, folder: Path) -> httpx2.Client:
    """Return a client with the configured certificate."""
    assert treasuries.certificate is not None
    found = pkcs12.load_pkcs12(
        treasuries.certificate.read_bytes(),
        treasuries.password.get_secret_value().encode(),
    )
    assert found.cert is not None
    assert found.key is not None
    pem = folder / "client.pem"
    pem.write_bytes(
        found.cert.certificate.public_bytes(Encoding.PEM)
        + found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    context = ssl.create_default_context(cafile=treasuries.ca_file)
    context.load_cert_chain(pem)
    return httpx2.Client(verify=context, trust_env=False, timeout=PATIENCE_SECONDS)


def test_both_ports_of_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port, tls_port = free_port(), free_port()
    with simulating(tmp_path, port, f"--tls-port {tls_port} --delay-ms 200") as there:
        for name, value in exports(there.out).items():
            monkeypatch.setenv(name, value)
        treasuries = sefaz.PROVIDER.settings_in(Settings())
        assert treasuries is not None
        assert treasuries.url == f"https://127.0.0.1:{tls_port}/sefaz"
        assert treasuries.certificate == tmp_path / ".balcao/simulator/cliente.p12"
        assert "cliente-vencido.p12: está vencido (cStat 281)" in there.out

        with client_of(treasuries, tmp_path) as client:
            started = time.monotonic()
            reply = client.post(treasuries.url + PATHS["SP"], content=BODY, headers=SOAP_12)
            assert time.monotonic() - started >= 0.2
        assert read(reply).status == 111
        plain = httpx2.post(f"{there.base}/sefaz{PATHS['SP']}", content=BODY, headers=SOAP_12)
        assert read(plain).status == 111

        assert there.terminate() == 0
        assert there.err == ""


def test_without_tls_treasuries_use_the_plain_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in exports(simulator.settings_lines(8100)).items():
        monkeypatch.setenv(name, value)
    treasuries = sefaz.PROVIDER.settings_in(Settings())
    bought = infosimples.PROVIDER.settings_in(Settings())

    assert treasuries is not None
    assert treasuries.url == "http://127.0.0.1:8100/sefaz"
    assert treasuries.certificate is None
    assert treasuries.is_on
    assert bought is not None
    assert bought.url == "http://127.0.0.1:8100/infosimples"
    assert bought.is_on


def test_a_folder_with_spaces_can_be_copied_to_a_shell(tmp_path: Path) -> None:
    folder = tmp_path / "meus certificados"
    text = simulator.settings_lines(8100, 8143, simulator.by_certificate(folder))

    assert f"export BALCAO_SEFAZ__CERTIFICATE='{folder / 'cliente.p12'}'\n" in text
    assert f"export BALCAO_SEFAZ__CA_FILE='{folder / 'ca.pem'}'\n" in text


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        ("--port 8100 --tls-port 8100", 1, "devem ser portas diferentes"),
        ("--certificates x", 1, "--certificates só serve junto com --tls-port."),
        ("--tls-port 99999", 2, "deve ser 65535 ou menos."),
        ("--delay-ms -1", 2, "deve ser 0 ou mais."),
        ("--never-seconds 0", 2, "deve ser 1 ou mais."),
    ],
)
def test_invalid_options(fresh: Shell, options: str, code: int, expected: str) -> None:
    assert expected in fresh(f"simulator serve {options}", code=code).err
    assert not fresh.path.exists()


def test_a_folder_that_cannot_be_created(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    err = shell(
        f"simulator serve --port {free_port()} --tls-port {free_port()} --certificates file/x",
        code=1,
    ).err
    assert "Há um arquivo onde devia haver uma pasta" in err
