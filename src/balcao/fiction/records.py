"""The types of fictitious companies, people, registrations and certificates.

Codes are those of the registry's tables (`codes.py`); texts are upper case, as registered.
Documents of people are complete here and masked when published.
"""

from datetime import date
from enum import StrEnum

import msgspec

from balcao.fiction.digits import masked_cpf
from balcao.fiction.places import Municipality


class AddressFiction(msgspec.Struct, frozen=True):
    """A postal address; `cep` has 8 digits, or none abroad."""

    street_type: str
    street: str
    number: str
    complement: str
    district: str
    cep: str
    municipality: Municipality


class PhoneFiction(msgspec.Struct, frozen=True):
    """A telephone: area code (2 digits) and number (8 digits)."""

    area_code: str
    number: str


class PartnerFiction(msgspec.Struct, frozen=True):
    """A partner of a company. An empty text means none."""

    kind: str  # 1 legal person, 2 natural person, 3 foreign
    name: str
    document: str  # CNPJ; impossible CPF; empty for foreigners
    qualification: str
    entered: date
    country: str = ""  # code of 3 digits
    representative: str = ""  # impossible CPF
    representative_name: str = ""
    representative_qualification: str = "00"
    age_band: str = "0"  # 1 to 9; 0 not applicable

    @property
    def published_document(self) -> str:
        """The document as published: CPFs masked."""
        return masked_cpf(self.document) if self.kind == "2" else self.document

    @property
    def published_representative(self) -> str:
        """The representative's masked CPF; `***000000**` if there is none."""
        return masked_cpf(self.representative or "00000000000")


class Simples(msgspec.Struct, frozen=True):
    """The company's options for Simples and MEI. A date of None means never."""

    opted: bool
    opted_on: date | None = None
    left_on: date | None = None
    mei: bool = False
    mei_on: date | None = None
    mei_left_on: date | None = None


class TaxRegimeFiction(msgspec.Struct, frozen=True):
    """The form of taxation that a company declared for a year."""

    year: int
    form: str  # `LUCRO REAL`, …
    filings: int = 1
    partnership: str = ""  # CNPJ of a silent partnership (SCP); empty: the company itself


class CompanyFiction(msgspec.Struct, frozen=True):
    """The data shared by all establishments of a root."""

    root: str
    name: str
    nature: str
    responsible: str  # qualification of the person responsible
    capital_cents: int
    size: str  # 01, 03, 05, or empty
    federative_entity: str
    partners: tuple[PartnerFiction, ...]
    simples: Simples | None  # None: never opted


class Establishment(msgspec.Struct, frozen=True):
    """An establishment. An empty text means none."""

    cnpj: str
    head_office: bool
    trade_name: str
    status: str  # 01, 02, 03, 04, 08
    status_date: date
    reason: str
    city_abroad: str
    country: str  # code of 3 digits, empty for most of Brazil
    opened: date
    activity: str
    side_activities: tuple[str, ...]
    address: AddressFiction
    phones: tuple[PhoneFiction, ...]  # up to two
    fax: PhoneFiction | None
    email: str
    special_status: str
    special_status_date: date | None


class Person(msgspec.Struct, frozen=True):
    """A fictitious natural person, by CPF (11 digits)."""

    cpf: str
    name: str
    born: date
    home: Municipality


class RegistrationFiction(msgspec.Struct, frozen=True):
    """A state registration of a company or a rural producer."""

    number: str  # digits
    uf: str
    active: bool
    type: int  # code of `ccc.md` section 2.1 in its newest form: 4 is "address in another UF"
    situation: int  # code of `ccc.md` section 2.2
    status_date: date
    address: AddressFiction | None  # in the state's own registry; None: not given


class ZoneIncentive(msgspec.Struct, frozen=True):
    """A tax incentive of the Manaus free-trade zone."""

    tax: str  # ICMS or IPI
    benefit: str
    purpose: str
    basis: str


class ZoneRegistration(msgspec.Struct, frozen=True):
    """A company's registration with Suframa."""

    number: str  # 9 digits, the last one a check digit
    since: date
    approved: bool
    approved_on: date | None
    status: int  # 1 to 5, `cnpja.md` section 3
    incentives: tuple[ZoneIncentive, ...]


class FederalKind(StrEnum):
    """The kind of a federal certificate."""

    CND = "negative"
    CPEND = "positive with effects of negative"
    CPD = "positive"
    IMPOSSIBLE = "cannot be issued through the internet"
    UNCLASSIFIED = "of a type that nobody has heard of"


class ReceiptKind(StrEnum):
    """The format of a certificate's receipt."""

    PDF = "pdf"
    HTML = "html"
    NONE = ""


class FederalFiction(msgspec.Struct, frozen=True):
    """A federal joint tax clearance certificate, or the reason for its absence (`kind`)."""

    document: str  # of the holder; a branch has the certificate of its head office
    kind: FederalKind
    title: str  # as printed; empty if nothing can be issued
    code: str  # four groups; empty: none
    name: str
    issued_on: date | None
    validity: date | None
    extended_validity: date | None
    rfb_debts: bool | None
    pgfn_debts: bool | None
    receipt: ReceiptKind


class StateFiction(msgspec.Struct, frozen=True):
    """A state certificate, or the reason for its absence. An empty text means none."""

    document: str
    uf: str
    negative: bool  # False: nothing was issued; the messages below give the reason
    code: str
    number: str
    name: str
    issued_on: date | None
    validity: date | None
    fiscal_message: str
    message: str
    receipt: ReceiptKind


class LabourKind(StrEnum):
    """The kind of a labour certificate."""

    CND = "negative"
    CPEND = "positive with effects of negative"
    CPD = "positive"
    NONE = "none can be issued"


class LabourFiction(msgspec.Struct, frozen=True):
    """A labour debt certificate, issued today, or the absence of one (`kind`)."""

    document: str
    kind: LabourKind
    title: str  # as printed; empty if nothing can be issued
    number: str
    name: str
    issued_on: date
    validity: date
    lawsuits: tuple[str, ...]
    receipt: ReceiptKind


class FgtsKind(StrEnum):
    """The situation of an employer, and how Caixa reports it."""

    REGULAR = "regular"
    IRREGULAR = "irregular"
    IMPEDED = "impediments"
    UNPROVEN = "not provable online"
    UNREGISTERED = "not registered"
    UNKNOWN = "unknown to Caixa"
    TECHNICAL = "operation not carried out"


class FgtsFiction(msgspec.Struct, frozen=True):
    """A registration's certificate of regularity; its days count from first to last."""

    document: str
    kind: FgtsKind
    name: str
    address: str
    numbers: tuple[str, ...]  # of the newest certificates, the one in force first
    valid_from: tuple[date, ...]  # of the same
    validity: tuple[date, ...]
    receipt: ReceiptKind
