"""Promised tax clearance certificates (`docs/sandbox.md`), and classes of companies.

Codes and other fields are derived from the document as usual (`certificates.py`).
"""

from collections.abc import Mapping

from msgspec.structs import replace

from balcao.fiction.places import UF_NAMES
from balcao.fiction.sandbox import ABSENT_COMPANIES
from balcao.fiction.sandbox.promises import (
    PROMISED,
    PROMISED_COMPANIES,
    FederalRow,
    Misbehaviour,
    StateRow,
)

# A branch has the certificate of its head office, which may have no entry of its own.
FEDERAL_ROWS: Mapping[str, FederalRow] = {
    each.federal.of: replace(each.federal, of="") for each in PROMISED.values() if each.federal.of
} | {document: each.federal for document, each in PROMISED.items()}


def _state_rows(cnpj: str) -> Mapping[str, StateRow]:
    promise = PROMISED_COMPANIES[cnpj]
    if cnpj in ABSENT_COMPANIES:
        return dict.fromkeys(UF_NAMES, StateRow(negative=False))
    if promise.misbehaves is Misbehaviour.SOME_UFS:
        # All UFs need an answer, since some of them are promised to fail.
        return dict.fromkeys(UF_NAMES, StateRow())
    return promise.state


# By CNPJ and UF. In other UFs the certificate is drawn.
STATE_ROWS: Mapping[tuple[str, str], StateRow] = {
    (cnpj, uf): row for cnpj in PROMISED_COMPANIES for uf, row in _state_rows(cnpj).items()
}

# Prefixes of CNPJs for the peculiarities of a provider; their federal certificate is always a CND.
UNTYPED = "9004"  # the type is in the title only
PROCESSING = "9005"  # issuing takes three calls
TILDE = "9006"  # the type's field is spelled in Portuguese
INTERRUPTED = "9007"  # the analysis never ends
BAD_RECEIPTS = "9008"  # some receipts are unusable

CLASSES = (UNTYPED, PROCESSING, TILDE, INTERRUPTED, BAD_RECEIPTS)


def is_of_class(document: str, prefix: str) -> bool:
    """Return whether a document is a CNPJ with this prefix."""
    return len(document) == 14 and document.startswith(prefix)
