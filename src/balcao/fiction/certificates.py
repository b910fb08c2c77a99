"""Tax clearance certificates, derived from the document and today's date in Brasília.

A certificate is in force for 180 days. The start of these periods is derived from the document; the
next certificate is issued the day after one ends, so that exactly one is in force on each day, and
a lookup on the next day returns the same one. Debts and impossibilities are permanent. The days of
promised certificates are counted from `first_day`.
"""

from datetime import date, timedelta

from msgspec.structs import replace

from balcao.fiction.companies import company_of
from balcao.fiction.days import first_day
from balcao.fiction.dice import deck, draws
from balcao.fiction.digits import cnpj as full_cnpj
from balcao.fiction.establishments import establishment_of
from balcao.fiction.people import person_of
from balcao.fiction.places import UF_NAMES
from balcao.fiction.records import FederalFiction, FederalKind, ReceiptKind, StateFiction
from balcao.fiction.root_facts import root_facts
from balcao.fiction.sandbox.certificates import (
    CLASSES,
    FEDERAL_ROWS,
    STATE_ROWS,
    UNTYPED,
    is_of_class,
)
from balcao.fiction.sandbox.promises import FederalRow, Renewal, StateRow

VALIDITY_DAYS = 180

_SUBJECT = "DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS E À DÍVIDA ATIVA DA UNIÃO"
TITLES = {
    FederalKind.CND: f"CERTIDÃO NEGATIVA {_SUBJECT}",
    FederalKind.CPEND: f"CERTIDÃO POSITIVA COM EFEITOS DE NEGATIVA {_SUBJECT}",
    FederalKind.CPD: f"CERTIDÃO POSITIVA {_SUBJECT}",
    FederalKind.IMPOSSIBLE: "",
    FederalKind.UNCLASSIFIED: f"CERTIDÃO CIRCUNSTANCIADA {_SUBJECT}",
}

# In the order of `FederalKind`.
_KIND_CARDS = deck(zip(FederalKind, (82, 10, 4, 3.5, 0.5), strict=True))
_KIND_CARDS_OF_THE_INACTIVE = deck(zip(FederalKind, (40, 8, 27, 24, 1), strict=True))
_DEBT_CARDS = deck([((True, False), 60), ((False, True), 25), ((True, True), 15)])
_RECEIPT_CARDS = deck([(ReceiptKind.PDF, 96), (ReceiptKind.HTML, 2.5), (ReceiptKind.NONE, 1.5)])

# Of 65 536 companies, those with a negative certificate.
_NEGATIVE = 60293
_NEGATIVE_OF_THE_INACTIVE = 26214

# The validity of a treasury's certificate; most have 60 days.
_VALIDITY_DAYS_OF_UFS = {"SP": 180, "RJ": 180, "MG": 90, "SC": 180, "DF": 90, "CE": 60, "TO": 30}
_VALIDITY_DAYS_OF_MOST = 60

# UFs whose certificates have a number in addition to the code.
UFS_WITH_NUMBERS = frozenset({"AC", "BA", "MG", "PR", "RJ", "RS"})


def federal_certificate_of(document: str, today: date, *, new: bool = False) -> FederalFiction:
    """Return the federal certificate in force of a CNPJ (14 characters) or CPF (11 digits).

    `new`: one issued today instead, with another code. If none can be issued, `kind` is the reason.
    Refusing a new one while a CPEND is in force is up to the simulated issuer.
    """
    row = FEDERAL_ROWS.get(document)
    if row is not None:
        holder = row.of or document
    else:
        holder = document if len(document) == 11 else _head_office(document)
        row = FEDERAL_ROWS.get(holder) or _federal_row(holder)
    if row.renewal is Renewal.POSITIVE and (new or _has_ended(row, today)):
        row = replace(row, kind=FederalKind.CPD, rfb_debts=True)
    if row.renewal is Renewal.SAME and not _has_ended(row, today):
        new = False
    d = draws(f"{holder} federal certificate")
    issued_on, validity, extended = _federal_days(row, d[0], today, new=new)
    untyped = is_of_class(holder, UNTYPED) or row.kind in _WITHOUT_DEBTS
    return FederalFiction(
        document=holder,
        kind=row.kind,
        title=TITLES[row.kind],
        code=_federal_code(holder, issued_on, new=new) if issued_on and row.coded else "",
        name=_name(holder),
        issued_on=issued_on,
        validity=validity,
        extended_validity=extended,
        rfb_debts=None if untyped else row.rfb_debts,
        pgfn_debts=None if untyped else row.pgfn_debts,
        receipt=ReceiptKind.HTML if row.kind is FederalKind.IMPOSSIBLE else row.receipt,
    )


def federal_in_maintenance(document: str, today: date, *, new: bool = False) -> bool:
    """Return whether the issuer is in maintenance for such a request (`Renewal.MAINTENANCE`)."""
    row = FEDERAL_ROWS.get(document)
    if row is None or row.renewal is not Renewal.MAINTENANCE:
        return False
    return new or _has_ended(row, today)


def _has_ended(row: FederalRow, today: date) -> bool:
    """Return whether the certificate of the first day has ended."""
    return row.days_left is not None and today > first_day(today) + timedelta(row.days_left)


def state_certificate_of(cnpj: str, uf: str, today: date) -> StateFiction:
    """Return today's state certificate of a CNPJ (14 characters) in a UF."""
    assert uf in UF_NAMES
    d = draws(f"{cnpj} certificate of {uf}")
    row = STATE_ROWS.get((cnpj, uf)) or _state_row(cnpj, d)
    refused = StateFiction(
        document=cnpj,
        uf=uf,
        negative=row.negative,
        code="",
        number="",
        name=_name(cnpj),
        issued_on=None,
        validity=None,
        fiscal_message="constam débitos",
        message="Não foi possível emitir a certidão negativa: há pendências na Fazenda Estadual.",
        receipt=ReceiptKind.NONE,
    )
    if not row.negative:
        return refused
    length = _VALIDITY_DAYS_OF_UFS.get(uf, _VALIDITY_DAYS_OF_MOST)
    ends = None if row.days_left is None else first_day(today) + timedelta(row.days_left)
    issued_on = _issue_day(d[0], today, length, ends)
    first, second, third, *_ = draws(f"{cnpj} certificate of {uf} {issued_on}")
    serial = first << 16 | second
    return replace(
        refused,
        code=f"{issued_on:%y%m}{serial % 10_000_000:07d}-{third % 100:02d}",
        number=f"{serial % 1_000_000_000:09d}" if uf in UFS_WITH_NUMBERS else "",
        issued_on=issued_on,
        validity=issued_on + timedelta(length) if row.dated else None,
        fiscal_message="não constam débitos",
        message="",
        receipt=row.receipt,
    )


# Kinds without information about debts.
_WITHOUT_DEBTS = frozenset({FederalKind.IMPOSSIBLE, FederalKind.UNCLASSIFIED})


def head_office_of(root: str) -> str:
    """Return the CNPJ of a company's head office."""
    return full_cnpj(root, root_facts(root).head_office_order)


def _head_office(cnpj: str) -> str:
    """Return the CNPJ to which a joint certificate is issued: the company's head office."""
    return cnpj if establishment_of(cnpj).head_office else head_office_of(cnpj[:8])


def _federal_row(document: str) -> FederalRow:
    """Return the pseudo-random certificate of a document that is not in `FEDERAL_ROWS`."""
    d = draws(f"{document} federal clearance")
    if any(is_of_class(document, each) for each in CLASSES):
        return FederalRow()
    active = len(document) == 11 or establishment_of(document).status == "02"
    kind = (_KIND_CARDS if active else _KIND_CARDS_OF_THE_INACTIVE)[d[0] & 4095]
    indebted = kind in (FederalKind.CPEND, FederalKind.CPD)
    rfb_debts, pgfn_debts = _DEBT_CARDS[d[1] & 4095] if indebted else (False, False)
    return FederalRow(
        kind, rfb_debts=rfb_debts, pgfn_debts=pgfn_debts, receipt=_RECEIPT_CARDS[d[2] & 4095]
    )


def _state_row(cnpj: str, d: tuple[int, ...]) -> StateRow:
    """Return the pseudo-random certificate of a company that is not in `STATE_ROWS`."""
    active = establishment_of(cnpj).status == "02"
    negative = d[1] < (_NEGATIVE if active else _NEGATIVE_OF_THE_INACTIVE)
    return StateRow(negative, receipt=_RECEIPT_CARDS[d[2] & 4095])


def _federal_days(
    row: FederalRow, draw: int, today: date, *, new: bool
) -> tuple[date | None, date | None, date | None]:
    """Return day of issue, validity, and extended validity."""
    if row.kind is FederalKind.IMPOSSIBLE:
        return None, None, None
    if row.kind is FederalKind.CPD:
        # It applies to the day of the lookup only.
        return today, None, None
    if new:
        return today, today + timedelta(VALIDITY_DAYS), None
    if row.days_left is None:
        issued_on = _issue_day(draw, today, VALIDITY_DAYS)
        return issued_on, issued_on + timedelta(VALIDITY_DAYS), None
    begin = first_day(today)
    validity, extended = begin + timedelta(row.days_left), None
    if row.extension_days_left is not None:
        extended = begin + timedelta(row.extension_days_left)
    last = extended or validity
    if today <= last:
        return validity - timedelta(VALIDITY_DAYS), validity, extended
    issued_on = _issue_day(draw, today, VALIDITY_DAYS, last)
    return issued_on, issued_on + timedelta(VALIDITY_DAYS), None


def _issue_day(draw: int, today: date, length: int, ends: date | None = None) -> date:
    """Return the day of issue of the certificate in force, which is valid for `length` days.

    `ends`: the last day of one that is promised; the next is issued on the day after it.
    """
    if ends is None:
        return today - timedelta((today.toordinal() - draw) % length)
    if today <= ends:
        return ends - timedelta(length)
    return today - timedelta(((today - ends).days - 1) % length)


def _federal_code(holder: str, issued_on: date, *, new: bool) -> str:
    d = draws(f"{holder} federal certificate {issued_on}{' new' if new else ''}")
    return ".".join(f"{group:04X}" for group in d[:4])


def _name(document: str) -> str:
    if len(document) == 11:
        return person_of(document).name
    return company_of(document[:8]).name
