"""Checks of our client certificate: its use by TLS, its validity, and its file mode."""

import stat
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from balcao.core.calendar import day_text
from balcao.providers.fields import Remark
from balcao.providers.sefaz.certificate import (
    Certificate,
    CertificateUnusable,
    client_context,
    read_certificate,
)

if TYPE_CHECKING:
    from balcao.providers.sefaz.settings import SefazSettings

# An e-CNPJ is renewed every year, by a person who must be identified.
EXPIRING_DAYS = 30

_TITLE = "certificado A1"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def certificate_of(settings: "SefazSettings") -> Certificate | None:
    """Return the A1 certificate, if one is configured. Raises `CertificateUnusable`."""
    if settings.certificate is None:
        return None
    return read_certificate(settings.certificate, settings.password.get_secret_value())


def checked_certificate(settings: "SefazSettings") -> Certificate | None:
    """Return the certificate, checked by loading it for TLS. Raises `CertificateUnusable`."""
    if (certificate := certificate_of(settings)) is not None:
        client_context(certificate, settings.ca_file)
    return certificate


def out_of_use(settings: "SefazSettings", now: datetime) -> str | None:
    """Return why the certificate prevents the use of the source, or None."""
    try:
        certificate = certificate_of(settings)
        if certificate is not None and certificate.expired(now):
            return f"o certificado A1 venceu em {day_text(certificate.not_after)}"
        checked_certificate(settings)
    except CertificateUnusable as error:
        return error.detail
    return None


def remarks(settings: "SefazSettings", now: datetime) -> Iterator[Remark]:
    """Report the state of the A1 certificate, if one is configured; not its content."""
    path = settings.certificate
    if path is None:
        return
    try:
        found = checked_certificate(settings)
        assert found is not None, "one is configured"
    except CertificateUnusable as error:
        yield _TITLE, "fail", f"{error.detail}. O serviço não inicia assim"
    else:
        yield _validity(found, now)
        if found.subject_cnpj is None:
            yield (
                "CNPJ do certificado",
                "warn",
                "ausente: as SEFAZ só aceitam o e-CNPJ de uma empresa emissora, não um e-CPF",
            )
    if path.is_file() and path.stat().st_mode & _OTHERS:
        yield (
            "arquivo do certificado",
            "warn",
            f"é visível para outros usuários: chmod 600 {path}",
        )


def _validity(found: Certificate, now: datetime) -> Remark:
    last = day_text(found.not_after)
    if found.expired(now):
        return (
            _TITLE,
            "fail",
            f"venceu em {last} e as SEFAZ não são consultadas. Indique o novo em"
            " BALCAO_SEFAZ__CERTIFICATE e reinicie o serviço",
        )
    left = (found.not_after - now).days
    if left <= EXPIRING_DAYS:
        return _TITLE, "warn", f"vence em {last} (em {left} dias): providencie a renovação"
    return _TITLE, "ok", f"abre; vale até {last}"
