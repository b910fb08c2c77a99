"""Fictitious certificates for trials of mutual TLS: an authority, a server, and its clients.

They are not of ICP-Brasil, and every name in them is marked as fictitious. The authority's key is
never stored, so nothing in the folder can issue further ones.
"""

import tempfile
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from balcao.fiction import company_of
from balcao.fiction.digits import impossible_cpf
from balcao.providers.contract import MutualTls
from balcao.providers.sefaz.simulator.requester import CNPJ_OID, REFUSED_REQUESTERS

# The password of all client files; not a secret.
PASSWORD = "sandbox"  # noqa: S105

AUTHORISED = "90010001000100"
REFUSED = min(REFUSED_REQUESTERS)

_HOLDER_OID = x509.ObjectIdentifier("2.16.76.1.3.1")  # birth date, CPF, ... of a natural person
_LIFE = timedelta(days=365)
_LEFT_MIN = timedelta(days=30)
_PRINTABLE_STRING = 0x13


class Certificates:
    """The paths of the files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = folder / "ca.pem"  # issuer of all others, which both sides trust
        self.server = folder / "servidor.pem"  # the listener's, for localhost and 127.0.0.1
        self.client = folder / "cliente.p12"  # valid, of an authorised company
        self.expired_client = folder / "cliente-vencido.p12"  # valid until yesterday
        self.client_without_cnpj = folder / "cliente-sem-cnpj.p12"  # a natural person's
        # of a company that may not issue electronic invoices
        self.refused_client = folder / "cliente-recusado.p12"


def certificates_in(folder: Path, now: datetime) -> Certificates:
    """Return the certificates of a folder, created if missing, damaged or about to expire."""
    certificates = Certificates(folder)
    if not _are_good(certificates, now):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(certificates, now)
    return certificates


def mutual_tls(folder: Path, now: datetime) -> MutualTls:
    """Return all files and settings for mutual TLS, created if missing."""
    made = certificates_in(folder, now)
    return MutualTls(
        made.server,
        made.authority,
        {
            "certificate": made.client.absolute(),
            "password": PASSWORD,
            "ca_file": made.authority.absolute(),
        },
        (
            "Na mesma pasta e com a mesma senha, certificados que as SEFAZ recusam:",
            "",
            f"  {made.refused_client.name}: a empresa não é habilitada (cStat 257)",
            f"  {made.expired_client.name}: está vencido (cStat 281)",
            f"  {made.client_without_cnpj.name}: não tem CNPJ (cStat 282)",
        ),
    )


def _are_good(certificates: Certificates, now: datetime) -> bool:
    """Return whether all files exist, of the same authority, and do not expire soon."""
    try:
        authority = x509.load_pem_x509_certificate(certificates.authority.read_bytes())
        server = x509.load_pem_x509_certificate(certificates.server.read_bytes())
        server.verify_directly_issued_by(authority)
        for path in (
            certificates.client,
            certificates.expired_client,
            certificates.client_without_cnpj,
            certificates.refused_client,
        ):
            client = pkcs12.load_pkcs12(path.read_bytes(), PASSWORD.encode()).cert
            if client is None:
                return False
            client.certificate.verify_directly_issued_by(authority)
    except (OSError, ValueError, TypeError, InvalidSignature):
        return False
    return server.not_valid_before_utc <= now <= server.not_valid_after_utc - _LEFT_MIN


def _make(certificates: Certificates, now: datetime) -> None:
    # another process may read the folder meanwhile: the authority is removed first and written
    # last, so that the folder is incomplete and never inconsistent
    certificates.authority.unlink(missing_ok=True)
    authority = _Authority(now)
    key = rsa.generate_private_key(65537, 2048)
    server = authority.certify(
        key,
        "localhost",
        [x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))],
        ExtendedKeyUsageOID.SERVER_AUTH,
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    _write(certificates.server, server.public_bytes(Encoding.PEM) + private)
    _write(certificates.client, authority.client(AUTHORISED))
    _write(certificates.expired_client, authority.client(AUTHORISED, expired=True))
    _write(certificates.client_without_cnpj, authority.client(None))
    _write(certificates.refused_client, authority.client(REFUSED))
    _write(certificates.authority, authority.certificate.public_bytes(Encoding.PEM))


class _Authority:
    """An authority that exists only in memory."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._key = rsa.generate_private_key(65537, 2048)
        name = _name("AC FICTICIA DO SIMULADOR")
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self.certificate = (
            _builder(name, name, self._key, now - timedelta(days=800), now + _LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self._identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
            identifier
        )

    def certify(
        self,
        key: rsa.RSAPrivateKey,
        name: str,
        names: list[x509.GeneralName],
        purpose: x509.ObjectIdentifier,
        *,
        expired: bool = False,
    ) -> x509.Certificate:
        """Return a certificate valid for a year from yesterday, or one that expired yesterday."""
        yesterday = self._now - timedelta(days=1)
        first = yesterday - _LIFE if expired else yesterday
        last = yesterday if expired else self._now + _LIFE
        return (
            _builder(_name(name), self.certificate.subject, key, first, last)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(self._identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def client(self, cnpj: str | None, *, expired: bool = False) -> bytes:
        """Return an A1 file: key, certificate and the authority's, with a password."""
        key = rsa.generate_private_key(65537, 2048)
        if cnpj is None:
            cpf = impossible_cpf(900_100_001)
            name, oid = f"PESSOA DA FICCAO:{cpf}", _HOLDER_OID
            value = f"01011980{cpf}"
        else:
            name, oid, value = f"{company_of(cnpj[:8]).name}:{cnpj}", CNPJ_OID, cnpj
        # A DER string: its tag, its length in one byte, its characters.
        other = x509.OtherName(oid, bytes([_PRINTABLE_STRING, len(value)]) + value.encode())
        return pkcs12.serialize_key_and_certificates(
            name.encode(),
            key,
            self.certify(key, name, [other], ExtendedKeyUsageOID.CLIENT_AUTH, expired=expired),
            [self.certificate],
            BestAvailableEncryption(PASSWORD.encode()),
        )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: rsa.RSAPrivateKey,
    first: datetime,
    last: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(first)
        .not_valid_after(last)
    )


def _name(common: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "BR"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "BALCAO SIMULADOR"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "CERTIFICADO FICTICIO"),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically, readable only by its owner."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
