"""The client certificate that state treasuries require: an ICP-Brasil e-CNPJ of type A1.

A PKCS#12 file with a password (`sefaz-consulta-cadastro.md` section 3). Its CNPJ identifies the
requester. The servers' certificates often chain to the ICP-Brasil roots, which common bundles lack:
these are added from a file; verification is never disabled.
"""

import os
import secrets
import ssl
import tempfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx2
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import pkcs12

from balcao.core.documents import Cnpj
from balcao.core.errors import InvalidCnpj, ProviderUnusable

CNPJ_OID = x509.ObjectIdentifier("2.16.76.1.3.3")  # ICP-Brasil: the company's CNPJ
FILE_BYTES_MAX = 1_000_000  # a certificate with its chain takes a few kilobytes

# OIDs of RC4 and RC2 in PKCS#12 (1.2.840.113549.1.12.1.x), as they stand in the file.
_OLD_CIPHERS = tuple(
    b"\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01" + bytes([x]) for x in (1, 2, 5, 6)
)

# PFX ::= SEQUENCE { version INTEGER (3), ...: the beginning of every such file, after its length.
_PFX_VERSION = b"\x02\x01\x03"

_STRING_TAGS = frozenset({0x04, 0x0C, 0x12, 0x13, 0x16})  # octets; UTF-8, numeric, printable, IA5

_REENCODE = (  # in two steps: OpenSSL does not read both key and certificate from a pipe
    "regrave-o com cifras atuais (openssl pkcs12 -legacy -in antigo.pfx -out meio.pem; depois"
    " openssl pkcs12 -export -in meio.pem -out novo.pfx) e apague meio.pem"
)


class CertificateUnusable(ProviderUnusable):
    """Our certificate cannot be used. `detail` has no password and no content of the file."""

    operator_hint = (
        "O certificado das SEFAZ não pode ser usado: {detail}. Corrija BALCAO_SEFAZ__CERTIFICATE,"
        " BALCAO_SEFAZ__PASSWORD ou BALCAO_SEFAZ__CA_FILE. Para usar o serviço sem essa fonte,"
        " remova as três."
    )


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its key, in memory; its `repr` shows neither."""

    subject_cnpj: str | None  # in the field of ICP-Brasil; None: not an e-CNPJ
    not_after: datetime  # aware
    key: PrivateKeyTypes = field(repr=False)
    chain: tuple[x509.Certificate, ...] = field(repr=False)  # its own first, then its issuers

    def expired(self, now: datetime) -> bool:
        return now > self.not_after


def read_certificate(path: Path, password: str) -> Certificate:
    """Read an A1 certificate. Raises `CertificateUnusable`, with the remedy."""
    raw = _content(path)
    if not _looks_like_pkcs12(raw):
        raise CertificateUnusable(
            f"{path}: não é um certificado A1 em PKCS#12 (arquivo .pfx ou .p12)"
        )
    try:
        bundle = pkcs12.load_pkcs12(raw, password.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise CertificateUnusable(f"{path}: {_why_not_opened(raw)}") from None
    if bundle.key is None:
        raise CertificateUnusable(f"{path}: não contém a chave privada; exporte-o com ela")
    if bundle.cert is None:
        raise CertificateUnusable(f"{path}: não contém o certificado da chave privada")
    own = bundle.cert.certificate
    return Certificate(
        subject_cnpj=_cnpj_of(own),
        not_after=own.not_valid_after_utc,
        key=bundle.key,
        chain=(own, *(other.certificate for other in bundle.additional_certs)),
    )


def client_context(certificate: Certificate, ca_file: Path | None = None) -> ssl.SSLContext:
    """Return a TLS context (1.2 or newer) with our certificate that verifies the servers'.

    These must chain to the default roots or to those in `ca_file` (PEM), for example the ICP-Brasil
    roots. Raises `CertificateUnusable`.
    """
    context = httpx2.create_ssl_context()  # the same roots as for other sources
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ValueError):  # an ssl.SSLError is an OSError
            raise CertificateUnusable(
                f"{ca_file}: certificados-raiz não encontrados ou fora do formato PEM"
            ) from None
    _load(context, certificate)
    return context


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise CertificateUnusable(f"{path}: arquivo do certificado não encontrado") from None
    except OSError as error:
        raise CertificateUnusable(
            f"{path}: não pôde ser lido ({type(error).__name__}). Verifique se é um arquivo e se"
            " este usuário pode ler"
        ) from None
    if len(raw) > FILE_BYTES_MAX:
        raise CertificateUnusable(f"{path}: grande demais para um certificado A1")
    return raw


def _looks_like_pkcs12(raw: bytes) -> bool:
    # the library raises the same error for a wrong password and for some broken files
    return raw[:1] == b"\x30" and _PFX_VERSION in raw[2:9]


def _why_not_opened(raw: bytes) -> str:
    if any(cipher in raw for cipher in _OLD_CIPHERS):
        return (
            "senha recusada; se ela estiver certa, o arquivo usa cifras antigas (RC2 ou RC4), que"
            f" o OpenSSL 3 recusa: {_REENCODE}"
        )
    return "senha recusada, ou arquivo danificado"


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Load certificate and key, by a short-lived, encrypted and private file: Python needs one."""
    once = secrets.token_hex(32)
    pem = certificate.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(once.encode()),
    ) + b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificate.chain)
    try:
        handle, name = tempfile.mkstemp(prefix="balcao-", suffix=".pem")  # mode 600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(pem)
            context.load_cert_chain(name, password=once)
        finally:
            Path(name).unlink()
    except ssl.SSLError:
        raise CertificateUnusable("o OpenSSL recusa o certificado ou sua chave") from None
    except OSError as error:
        raise CertificateUnusable(
            "não foi possível preparar o certificado na pasta temporária do sistema"
            f" ({type(error).__name__})"
        ) from None


def _cnpj_of(certificate: x509.Certificate) -> str | None:
    """Return the CNPJ in subjectAltName, or None without a readable one."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return None
    for other in names.get_values_for_type(x509.OtherName):
        if other.type_id == CNPJ_OID:
            try:
                return Cnpj.parse(_string(other.value)).text
            except (InvalidCnpj, ValueError):
                continue
    return None


def _string(der: bytes) -> str:
    """Return the text of a short DER string, already validated as DER. Raises `ValueError`."""
    if der[0] not in _STRING_TAGS or der[1] > 127:  # a longer one has a length of several bytes
        raise ValueError("not a short string")
    return der[2:].decode("ascii")
