"""Promised tax clearance certificates (`docs/sandbox.md`), and classes of companies.

Codes and whatever else nobody promised are drawn from the document like everybody's
(`certificates.py`).
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

# A branch's is its head office's, which need not be promised anything else.
FEDERAL_ROWS: Mapping[str, FederalRow] = {
    each.federal.of: replace(each.federal, of="") for each in PROMISED.values() if each.federal.of
} | {document: each.federal for document, each in PROMISED.items()}


def _state_rows(cnpj: str) -> Mapping[str, StateRow]:
    promise = PROMISED_COMPANIES[cnpj]
    if cnpj in ABSENT_COMPANIES:  # no state has heard of who does not exist
        return dict.fromkeys(UF_NAMES, StateRow(negative=False))
    if promise.misbehaves is Misbehaviour.SOME_UFS:
        # All UFs must have something to say where some of them are promised to fail.
        return dict.fromkeys(UF_NAMES, StateRow())
    return promise.state


# By CNPJ and UF. Elsewhere a promised company gets what is drawn for it.
STATE_ROWS: Mapping[tuple[str, str], StateRow] = {
    (cnpj, uf): row for cnpj in PROMISED_COMPANIES for uf, row in _state_rows(cnpj).items()
}

# Classes of companies for the peculiarities of a provider: every CNPJ that begins so, and whose
# federal certificate is a CND in any case.
UNTYPED = "9004"  # the title alone tells the type
PROCESSING = "9005"  # issuing takes three calls
TILDE = "9006"  # the type's field is spelled in Portuguese
INTERRUPTED = "9007"  # the analysis never ends
BAD_RECEIPTS = "9008"  # some of their receipts are nothing to keep

CLASSES = (UNTYPED, PROCESSING, TILDE, INTERRUPTED, BAD_RECEIPTS)


def is_of_class(document: str, prefix: str) -> bool:
    """Whether a document is a CNPJ of a class; people are in none."""
    return len(document) == 14 and document.startswith(prefix)
