"""The fictitious certificates of the treasuries' clients, and their checks."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12

from balcao.providers.sefaz.simulator.certificates import PASSWORD, Certificates, certificates_in
from balcao.providers.sefaz.simulator.requester import CNPJ_OID, certificate_problem, is_authorised

NOW = datetime(2026, 8, 20, tzinfo=UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates_in(tmp_path_factory.mktemp("certificates"), NOW)


def test_certificates_are_created_once_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    first = certificates_in(folder, NOW).authority.read_bytes()

    assert {path.name for path in folder.iterdir()} == {
        "ca.pem",
        "servidor.pem",
        "cliente.p12",
        "cliente-vencido.p12",
        "cliente-sem-cnpj.p12",
        "cliente-recusado.p12",
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert certificates_in(folder, NOW + timedelta(days=300)).authority.read_bytes() == first

    made = certificates_in(folder, NOW)
    made.refused_client.unlink()
    second = certificates_in(folder, NOW).authority.read_bytes()
    assert second != first
    made.client.write_bytes(b"damaged")
    third = certificates_in(folder, NOW).authority.read_bytes()
    assert third != second
    assert certificates_in(folder, NOW + timedelta(days=350)).authority.read_bytes() != third


def test_certificates_are_marked_as_fictitious(made: Certificates) -> None:
    for path in (made.client, made.refused_client, made.expired_client, made.client_without_cnpj):
        found = pkcs12.load_pkcs12(path.read_bytes(), PASSWORD.encode())
        assert found.cert is not None
        assert "CERTIFICADO FICTICIO" in found.cert.certificate.subject.rfc4514_string()
        assert len(found.additional_certs) == 1
    authority = x509.load_pem_x509_certificate(made.authority.read_bytes())
    assert "FICTICIA" in authority.subject.rfc4514_string()


def test_cnpj_is_in_the_field_of_icp_brasil(made: Certificates) -> None:
    found = pkcs12.load_pkcs12(made.client.read_bytes(), PASSWORD.encode())
    assert found.cert is not None
    certificate = found.cert.certificate
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    (name,) = names.get_values_for_type(x509.OtherName)
    assert name.type_id == CNPJ_OID
    assert CNPJ_OID.dotted_string == "2.16.76.1.3.3"
    assert name.value == b"\x13\x0e90010001000100"


def test_without_a_certificate_every_requester_is_authorised() -> None:
    assert certificate_problem(None, NOW) is None
    assert is_authorised(None)
