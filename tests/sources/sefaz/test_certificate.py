"""Reading A1 certificates: CNPJ, validity, and errors."""

from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from balcao.providers.sefaz.certificate import CertificateUnusable, read_certificate
from tests.sources.sefaz.certificates import (
    CNPJ_OID,
    NOW,
    PASSWORD,
    a_certificate,
    der,
    of_cnpj,
    saved,
)
from tests.sources.sefaz.world import CNPJ, LETTERS


def refused(path: Path, password: str = PASSWORD) -> str:
    with pytest.raises(CertificateUnusable) as caught:
        read_certificate(path, password)
    assert str(path) in caught.value.detail
    assert PASSWORD not in caught.value.detail
    assert password not in caught.value.detail
    return caught.value.detail


def test_cnpj_and_validity(tmp_path: Path) -> None:
    certificate = read_certificate(saved(tmp_path), PASSWORD)
    assert certificate.subject_cnpj == CNPJ
    assert certificate.not_after == NOW + timedelta(days=365)
    assert not certificate.expired(NOW)
    assert not certificate.expired(certificate.not_after)
    assert certificate.expired(certificate.not_after + timedelta(seconds=1))
    assert "key" not in repr(certificate)


def test_expired_certificate_is_read(tmp_path: Path) -> None:
    over = a_certificate(of_cnpj(), not_after=NOW - timedelta(days=1))
    assert read_certificate(saved(tmp_path, over), PASSWORD).expired(NOW)


@pytest.mark.parametrize("tag", [0x04, 0x0C, 0x12, 0x13, 0x16])
def test_all_string_types(tmp_path: Path, tag: int) -> None:
    path = saved(tmp_path, a_certificate(of_cnpj(LETTERS, tag)))
    assert read_certificate(path, PASSWORD).subject_cnpj == LETTERS


@pytest.mark.parametrize(
    "value",
    [
        der("11222333000182"),  # wrong check digits
        der(""),
        der(CNPJ, 0x30),  # no text
        b"\x13\x02\xff\xff",
        b"\x13\x81\x90" + CNPJ.encode().ljust(0x90),
    ],
)
def test_invalid_cnpj(tmp_path: Path, value: bytes) -> None:
    path = saved(tmp_path, a_certificate([x509.OtherName(CNPJ_OID, value)]))
    assert read_certificate(path, PASSWORD).subject_cnpj is None


def test_unreadable_names(tmp_path: Path) -> None:
    path = saved(tmp_path, a_certificate(extension=b"garbage"))
    assert read_certificate(path, PASSWORD).subject_cnpj is None


def test_certificate_of_a_person_has_no_cnpj(tmp_path: Path) -> None:
    for names in ([], of_cnpj()[:1], of_cnpj()[2:]):
        path = saved(tmp_path, a_certificate(names))
        assert read_certificate(path, PASSWORD).subject_cnpj is None


def test_missing_unreadable_and_too_large(tmp_path: Path) -> None:
    assert "não encontrado" in refused(tmp_path / "nada.pfx")
    assert "não pôde ser lido" in refused(tmp_path)
    large = tmp_path / "grande.pfx"
    large.write_bytes(b"\x30" * 1_000_001)
    assert "grande demais" in refused(large)


@pytest.mark.parametrize("password", ["outra-senha", "\udcff", "x" * 10_000])
def test_a_wrong_password(tmp_path: Path, password: str) -> None:
    assert "senha recusada" in refused(saved(tmp_path), password)


def test_no_password(tmp_path: Path) -> None:
    with pytest.raises(CertificateUnusable, match="senha recusada"):
        read_certificate(saved(tmp_path), "")
    path = saved(tmp_path, encryption=NoEncryption())
    assert read_certificate(path, "").subject_cnpj == CNPJ


def test_no_private_key(tmp_path: Path) -> None:
    assert "não contém a chave privada" in refused(saved(tmp_path, key=None))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"-----BEGIN CERTIFICATE-----\n",
        a_certificate().public_bytes(Encoding.DER),
        a_certificate().public_bytes(Encoding.PEM),
    ],
)
def test_another_kind_of_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "outro.pfx"
    path.write_bytes(content)
    assert "não é um certificado A1" in refused(path)


def test_a_file_cut_short(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    assert "arquivo danificado" in refused(path)


def test_old_ciphers_have_a_remedy(tmp_path: Path) -> None:
    encryption = (
        PrivateFormat.PKCS12.encryption_builder()
        .key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC)
        .hmac_hash(hashes.SHA1())
        .build(PASSWORD.encode())
    )
    path = saved(tmp_path, encryption=encryption)
    assert read_certificate(path, PASSWORD).subject_cnpj == CNPJ  # old, but taken

    # no tool writes RC2-40 any more, so the OID in the file is changed from 12.1.3 to 12.1.6
    three_des = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x03"
    raw = path.read_bytes()
    assert three_des in raw
    path.write_bytes(raw.replace(three_des, three_des[:-1] + b"\x06"))
    result = refused(path)
    assert "RC2" in result
    assert "openssl pkcs12 -legacy -in" in result
