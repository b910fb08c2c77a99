"""TLS with our certificate: both sides authenticate, and the key stays secret."""

import ssl
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from balcao.providers.sefaz.certificate import (
    Certificate,
    CertificateUnusable,
    client_context,
    read_certificate,
)
from tests.sources.sefaz.certificates import KEY, PASSWORD, a_certificate, of_cnpj, saved

FAR = datetime(2126, 1, 1, tzinfo=UTC)  # these meet the clock on the wall


def handshake(client: ssl.SSLContext, server: ssl.SSLContext, hostname: str) -> dict[str, Any]:
    """Do a TLS handshake in memory, and return the client's certificate that the server got."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=hostname)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(6):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert ours.version() in ("TLSv1.2", "TLSv1.3")
    seen: Any = theirs.getpeercert()
    return dict(seen or {})


@pytest.fixture
def treasury(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """A server context with its own root that requires our certificate."""
    own = a_certificate([x509.DNSName("nfe.test")], common_name="nfe.test", not_after=FAR)
    pem = tmp_path / "server.pem"
    key = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem.write_bytes(key + own.public_bytes(Encoding.PEM))
    roots = tmp_path / "roots.pem"
    roots.write_bytes(own.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.verify_mode = ssl.CERT_REQUIRED
    return context, roots


def test_both_sides_authenticate(tmp_path: Path, treasury: tuple[ssl.SSLContext, Path]) -> None:
    server, roots = treasury
    own = a_certificate(of_cnpj(), not_after=FAR)
    server.load_verify_locations(cadata=own.public_bytes(Encoding.PEM).decode())
    context = client_context(read_certificate(saved(tmp_path, own), PASSWORD), roots)
    seen = handshake(context, server, "nfe.test")
    assert seen["subject"] == ((("commonName", "EMPRESA FICTICIA DE TESTES LTDA"),),)


def test_a_server_is_verified(tmp_path: Path, treasury: tuple[ssl.SSLContext, Path]) -> None:
    server, roots = treasury
    certificate = read_certificate(saved(tmp_path), PASSWORD)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(client_context(certificate), server, "nfe.test")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(client_context(certificate, roots), server, "elsewhere.test")

    context = client_context(certificate)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("content", [None, b"", b"garbage"])
def test_roots_that_are_none(tmp_path: Path, content: bytes | None) -> None:
    roots = tmp_path / "roots.pem"
    if content is not None:
        roots.write_bytes(content)
    with pytest.raises(CertificateUnusable, match="PEM"):
        client_context(read_certificate(saved(tmp_path), PASSWORD), roots)


class Spy:
    """Records the key file while it exists."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.content, self.mode = b"", 0
        load = ssl.SSLContext.load_cert_chain

        def look(context: ssl.SSLContext, name: str, *rest: Any, **named: Any) -> None:
            self.content, self.mode = Path(name).read_bytes(), Path(name).stat().st_mode & 0o777
            assert Path(name).parent == folder
            load(context, name, *rest, **named)

        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", look)


def test_key_file_is_encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = read_certificate(saved(tmp_path), PASSWORD)
    folder = tmp_path / "tmp"
    folder.mkdir()
    spy = Spy(monkeypatch, folder)
    client_context(certificate)
    assert b"BEGIN ENCRYPTED PRIVATE KEY" in spy.content
    assert b"BEGIN PRIVATE KEY" not in spy.content
    assert b"BEGIN EC PRIVATE KEY" not in spy.content
    assert spy.mode == 0o600
    assert list(folder.iterdir()) == []


def test_key_file_is_deleted_if_loading_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = read_certificate(saved(tmp_path), PASSWORD)
    stranger = Certificate(
        certificate.subject_cnpj,
        certificate.not_after,
        ec.generate_private_key(ec.SECP256R1()),  # not the certificate's
        certificate.chain,
    )
    folder = tmp_path / "tmp"
    folder.mkdir()
    spy = Spy(monkeypatch, folder)
    with pytest.raises(CertificateUnusable, match="OpenSSL recusa"):
        client_context(stranger)
    assert spy.content
    assert list(folder.iterdir()) == []


def test_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = read_certificate(saved(tmp_path), PASSWORD)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nada"))
    with pytest.raises(CertificateUnusable, match="pasta temporária"):
        client_context(certificate)
