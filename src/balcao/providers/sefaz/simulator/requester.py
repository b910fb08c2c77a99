"""Checks of the requester: the client certificate and its CNPJ.

The TLS listener passes the certificate on in a header, as proxies do. Without the header (the plain
port, the sandbox in this process) every requester is authorised.
"""

import base64
import binascii
from datetime import datetime
from functools import lru_cache

from cryptography import x509

# The CNPJ of a legal person, an otherName of subjectAltName in certificates of ICP-Brasil.
CNPJ_OID = x509.ObjectIdentifier("2.16.76.1.3.3")

# Requesters that may not issue electronic invoices; all others may.
REFUSED_REQUESTERS = frozenset({"90010004000143"})

# OCTET STRING, and the strings UTF8, Numeric, Printable and IA5: all of them occur.
_TEXT_TAGS = frozenset({0x04, 0x0C, 0x12, 0x13, 0x16})
_CNPJ_LENGTH = 14


def certificate_problem(header: str | None, now: datetime) -> int | None:
    """Return the cStat for an invalid certificate, or None."""
    if header is None:
        return None
    certificate = _certificate(header)
    if certificate is None:
        return 280
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        return 281
    return 282 if _cnpj(certificate) is None else None


def is_authorised(header: str | None) -> bool:
    """Return whether the requester may issue electronic invoices."""
    certificate = None if header is None else _certificate(header)
    return certificate is None or _cnpj(certificate) not in REFUSED_REQUESTERS


@lru_cache(maxsize=64)
def _certificate(header: str) -> x509.Certificate | None:
    try:
        return x509.load_der_x509_certificate(base64.b64decode(header, validate=True))
    except (binascii.Error, ValueError):
        return None


def _cnpj(certificate: x509.Certificate) -> str | None:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return None
    for name in names.get_values_for_type(x509.OtherName):
        value = name.value
        # A DER string: its tag, its length in one byte, its characters.
        if (
            name.type_id == CNPJ_OID
            and len(value) == _CNPJ_LENGTH + 2
            and value[0] in _TEXT_TAGS
            and value[1] == _CNPJ_LENGTH
        ):
            return value[2:].decode("latin-1")
    return None
