"""The check of our own TLS certificate."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from balcao.core.calendar import day_text
from balcao.core.findings import Finding
from balcao.examination.serving import check_tls
from balcao.home import Home
from balcao.settings import Settings

if TYPE_CHECKING:
    from cryptography import x509

TLS = "TLS"

# Automatic renewal happens a month before the end.
EXPIRING_DAYS = 30


def tls(settings: Settings, _: Home) -> Iterator[Finding]:
    """Report whether both files form a pair, and when they expire. Raises `BadSettings`."""
    from cryptography import x509

    check_tls(settings)
    path = settings.tls_certificate
    if path is None:
        yield Finding(
            "ok", "desativado. Para HTTPS, defina BALCAO_TLS_CERTIFICATE e BALCAO_TLS_KEY"
        )
        return
    # The whole chain: it is invalid as soon as one certificate expires.
    chain = x509.load_pem_x509_certificates(path.read_bytes())
    yield _validity(str(path), chain, datetime.now(UTC))


def _validity(path: str, chain: "list[x509.Certificate]", now: datetime) -> Finding:
    first = max(one.not_valid_before_utc for one in chain)
    last = min(one.not_valid_after_utc for one in chain)
    text = f"{path} e a chave formam um par"
    if now < first:
        return Finding("fail", f"{text}, mas só vale a partir de {day_text(first)}")
    if now >= last:
        return Finding("fail", f"{text}, mas venceu em {day_text(last)}: renove e reinicie")
    left = (last - now).days
    if left <= EXPIRING_DAYS:
        return Finding("warn", f"{text}; vence em {day_text(last)} (em {left} dias): renove")
    return Finding("ok", f"{text}; vale até {day_text(last)}")
