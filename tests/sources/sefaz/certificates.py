"""Fictitious A1 certificates, created for each test."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509.oid import NameOID

from tests.sources.sefaz.world import CNPJ

PASSWORD = "sénha-secreta"
NOW = datetime(2026, 8, 5, 13, 15, 30, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
CNPJ_OID = x509.ObjectIdentifier("2.16.76.1.3.3")
OTHER_OID = x509.ObjectIdentifier("2.16.76.1.3.4")  # the person in charge


def der(text: str, tag: int = 0x13) -> bytes:
    return bytes([tag, len(text)]) + text.encode()


def a_certificate(
    names: list[x509.GeneralName] | None = None,
    *,
    extension: bytes | None = None,
    common_name: str = "EMPRESA FICTICIA DE TESTES LTDA",
    not_after: datetime = NOW + timedelta(days=365),
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(KEY.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(not_after)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if extension:
        oid = x509.SubjectAlternativeName.oid
        builder = builder.add_extension(x509.UnrecognizedExtension(oid, extension), critical=False)
    basic = x509.BasicConstraints(ca=True, path_length=None)
    return builder.add_extension(basic, critical=True).sign(KEY, hashes.SHA256())


def of_cnpj(cnpj: str = CNPJ, tag: int = 0x13) -> list[x509.GeneralName]:
    return [
        x509.OtherName(OTHER_OID, der("01011980" + "0" * 11)),
        x509.OtherName(CNPJ_OID, der(cnpj, tag)),
        x509.RFC822Name("fiscal@example.com"),
    ]


def saved(
    folder: Path,
    certificate: x509.Certificate | None = None,
    *,
    key: ec.EllipticCurvePrivateKey | None = KEY,
    password: str = PASSWORD,
    encryption: Any = None,
) -> Path:
    own = certificate or a_certificate(of_cnpj())
    path = folder / "empresa.pfx"
    path.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"empresa",
            key,
            own if key else None,
            None if key else [own],
            encryption or BestAvailableEncryption(password.encode()),
        )
    )
    return path
