"""Promised tax clearance certificates (`docs/sandbox.md`), row by row.

Days are counted from today, so that a row means the same thing on every day; codes and whatever
else nobody promised are drawn from the document like everybody's (`certificates.py`).
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from balcao.fiction.places import UF_NAMES
from balcao.fiction.records import FederalKind, ReceiptKind
from balcao.fiction.sandbox import (
    ABSENT_COMPANIES,
    MISBEHAVING_COMPANIES,
    MISBEHAVING_PEOPLE,
    Misbehaviour,
)


class FederalRow(msgspec.Struct, frozen=True):
    """One promised federal certificate."""

    kind: FederalKind = FederalKind.CND
    of: str = ""  # whose; empty: the document's own
    days_left: int | None = None  # to the validity; None: wherever its 180 days have got to
    extension_days_left: int | None = None
    coded: bool = True
    rfb_debts: bool = False
    pgfn_debts: bool = False
    receipt: ReceiptKind = ReceiptKind.PDF


class StateRow(msgspec.Struct, frozen=True):
    """One promised state certificate."""

    negative: bool = True
    days_left: int | None = None  # None: as above
    dated: bool = True
    receipt: ReceiptKind = ReceiptKind.PDF


_CND = FederalRow()
_IMPOSSIBLE = FederalRow(FederalKind.IMPOSSIBLE)

FEDERAL_ROWS: Mapping[str, FederalRow] = MappingProxyType(
    {
        "90010001000100": _CND,
        "90010002000154": FederalRow(FederalKind.CPEND, rfb_debts=True, pgfn_debts=False),
        "90010003000107": FederalRow(FederalKind.CPD, rfb_debts=True, pgfn_debts=True),
        "90010004000143": _IMPOSSIBLE,
        "90010005000198": FederalRow(FederalKind.UNCLASSIFIED),
        "90010006000132": FederalRow(coded=False),
        "90010007000187": _CND,
        "90010007000268": FederalRow(of="90010007000187"),
        "90010008000121": FederalRow(days_left=10, extension_days_left=40),
        "90010009000176": FederalRow(days_left=1),
        "90010010000109": FederalRow(days_left=0),
        "90010011000145": FederalRow(receipt=ReceiptKind.HTML),
        "90010012000190": _CND,
        "12ABC34501DE35": _CND,
        "00000000E08G12": _CND,
        **dict.fromkeys(ABSENT_COMPANIES, _IMPOSSIBLE),
        **dict.fromkeys(MISBEHAVING_COMPANIES, _CND),
        "90010000100": _CND,
        "90010000291": FederalRow(FederalKind.CPEND, rfb_debts=True, pgfn_debts=True),
        "90010000372": FederalRow(FederalKind.CPD, rfb_debts=True, pgfn_debts=False),
        "90010000453": _IMPOSSIBLE,
        **dict.fromkeys(MISBEHAVING_PEOPLE, _CND),
    }
)

_NEGATIVE = StateRow()
_NOT_ISSUED = StateRow(negative=False)

# By CNPJ and UF. Elsewhere a promised company gets what is drawn for it.
STATE_ROWS: Mapping[tuple[str, str], StateRow] = MappingProxyType(
    {
        ("90010001000100", "SP"): StateRow(days_left=60),
        ("90010002000154", "AM"): _NEGATIVE,
        ("90010003000107", "SP"): _NOT_ISSUED,
        ("90010004000143", "SP"): _NOT_ISSUED,
        ("90010005000198", "SP"): StateRow(dated=False),
        ("90010006000132", "SP"): StateRow(receipt=ReceiptKind.NONE),
        ("90010007000187", "SP"): _NEGATIVE,
        ("90010007000268", "SP"): _NEGATIVE,
        ("90010008000121", "SP"): _NEGATIVE,
        ("90010009000176", "SP"): StateRow(days_left=1),
        ("90010010000109", "SP"): StateRow(days_left=0),
        ("90010011000145", "SP"): StateRow(receipt=ReceiptKind.HTML),
        ("90010012000190", "SP"): _NEGATIVE,
        ("12ABC34501DE35", "SP"): _NEGATIVE,
        ("00000000E08G12", "SP"): _NEGATIVE,
        # No state has heard of who does not exist.
        **{(cnpj, uf): _NOT_ISSUED for cnpj in ABSENT_COMPANIES for uf in UF_NAMES},
        **{(cnpj, "SP"): _NEGATIVE for cnpj in MISBEHAVING_COMPANIES},
        # All UFs must have something to say where some of them are promised to fail.
        **{
            (cnpj, uf): _NEGATIVE
            for cnpj, how in MISBEHAVING_COMPANIES.items()
            if how is Misbehaviour.SOME_UFS
            for uf in UF_NAMES
        },
    }
)

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
