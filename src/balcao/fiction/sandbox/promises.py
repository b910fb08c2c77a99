"""The types of promised outcomes (`docs/sandbox.md`), and their values from `data/promised.toml`.

Defaults apply to everything that a document's entry does not set.
"""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Any

import msgspec

from balcao.fiction import tables
from balcao.fiction.records import (
    FederalKind,
    FgtsKind,
    LabourKind,
    PartnerFiction,
    ReceiptKind,
    Simples,
)

# Types and situations of `ccc.md`, sections 2.1 and 2.2, in their newest numbering.
IE_NORMAL = 1
TAX_SUBSTITUTE = 2
NOT_A_TAXPAYER = 3
ADDRESS_IN_ANOTHER_UF = 4
RURAL_PRODUCER = 5

UNRESTRICTED = 1
BLOCKED_AS_RECIPIENT = 2
BARRED_AS_RECIPIENT = 3
BLOCKED_AS_ISSUER = 10


class Misbehaviour(StrEnum):
    """The failure of every source for a document (`sandbox.md`, Sources that misbehave)."""

    MAINTENANCE = "maintenance"
    NEVER = "never answers"
    ERROR = "HTTP 500"
    HTML = "HTML where JSON or XML is due"
    ANOTHER = "the data of another CNPJ"
    SLOW = "well after 3 s"
    ONCE = "well the first time, then HTTP 500"
    SOME_UFS = "in all UFs but BA, MG and RS"
    INCOMPLETE = "a mandatory field is missing"
    CUT = "the connection closes in the middle of the body"


class LaterRow(msgspec.Struct, frozen=True):
    """The state of a registration from some day of a portfolio's clock on."""

    after_days: int
    situation: int = UNRESTRICTED
    active: bool = True


class Row(msgspec.Struct, frozen=True):
    """A state registration that `docs/sandbox.md` guarantees."""

    uf: str
    type: int = IE_NORMAL
    situation: int = UNRESTRICTED
    active: bool = True
    status_date: date = date(2015, 3, 2)
    later: LaterRow | None = None


class ZoneRow(msgspec.Struct, frozen=True):
    """A promised registration with Suframa."""

    number: str
    status: int = 1
    approved: bool = True


class Renewal(StrEnum):
    """The answer to the request of a new certificate while one is in force."""

    NEW = "a new one"
    SAME = "the same until it ends"
    POSITIVE = "positive"  # from then on
    MAINTENANCE = "maintenance"  # so is any request once it has ended


class FederalRow(msgspec.Struct, frozen=True):
    """A promised federal certificate."""

    kind: FederalKind = FederalKind.CND
    of: str = ""  # its CNPJ; empty: the document itself
    days_left: int | None = None  # to the validity; None: drawn, within 180 days
    extension_days_left: int | None = None
    coded: bool = True
    rfb_debts: bool = False
    pgfn_debts: bool = False
    receipt: ReceiptKind = ReceiptKind.PDF
    renewal: Renewal = Renewal.NEW


class StateRow(msgspec.Struct, frozen=True):
    """A promised state certificate."""

    negative: bool = True
    days_left: int | None = None  # None: as above
    dated: bool = True
    receipt: ReceiptKind = ReceiptKind.PDF


class LabourRow(msgspec.Struct, frozen=True):
    """A promised labour certificate."""

    kind: LabourKind = LabourKind.CND
    lawsuits: int = 0
    receipt: ReceiptKind = ReceiptKind.PDF


class FgtsRow(msgspec.Struct, frozen=True):
    """A promised situation at Caixa."""

    kind: FgtsKind = FgtsKind.REGULAR
    days_left: int | None = None  # to the validity; None: drawn, 10 to 29 days
    receipt: ReceiptKind = ReceiptKind.PDF


class Promise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The promised data of an establishment or a person."""

    name: str = ""  # of the company or person; empty: it does not exist
    misbehaves: Misbehaviour | None = None
    municipality: str = "7107"  # TOM
    registrations: tuple[Row, ...] = (Row("SP"),)
    federal: FederalRow = FederalRow()
    labour: LabourRow = LabourRow()

    # Companies only. All entries of a company with several establishments are the same.
    nature: str = "2062"
    responsible: str = "49"
    size: str = "05"
    capital_cents: int = 10_000_000
    partners: tuple[PartnerFiction, ...] | None = None  # None: one, a natural person
    simples: Simples | None = None
    head_office: bool = True
    trade_name: str = "SANDBOX FICTICIO"
    status: str = "02"
    status_date: date = date(2015, 3, 2)
    reason: str = "00"
    activity: str = "6201501"
    side_activities: tuple[str, ...] = ()
    street: str = "DAS ACACIAS FICTICIAS"
    number: str = "100"
    complement: str = "SALA 2"
    cep_end: str = "00100"
    phone: str = "10000001"
    email: str = "contato@example.com"
    opened: date = date(2015, 3, 2)
    zone: ZoneRow | None = None
    fgts: FgtsRow = FgtsRow()
    # By UF. In other UFs the certificate is drawn.
    state: dict[str, StateRow] = msgspec.field(default_factory=lambda: {"SP": StateRow()})


_DOCUMENTS: Mapping[str, dict[str, Any]] = {
    document: dict(each) for document, each in tables.document("promised").items()
}
# What was different in the month before (`sandbox.md`, "The month before").
_BEFORE = {document: each.pop("before", None) for document, each in _DOCUMENTS.items()}

PROMISED: Mapping[str, Promise] = msgspec.convert(_DOCUMENTS, dict[str, Promise])
EARLIER: Mapping[str, Promise] = msgspec.convert(
    {document: _DOCUMENTS[document] | each for document, each in _BEFORE.items() if each},
    dict[str, Promise],
)
PROMISED_COMPANIES: Mapping[str, Promise] = {
    document: each for document, each in PROMISED.items() if len(document) == 14
}
PROMISED_PEOPLE: Mapping[str, Promise] = {
    document: each for document, each in PROMISED.items() if len(document) == 11
}
