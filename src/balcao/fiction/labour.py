"""Labour debt certificates, derived from the document and today's date in Brasília.

Each lookup issues one of today, valid for 180 days after it. Debts are permanent.
"""

from datetime import date, timedelta

from balcao.fiction.certificates import head_office_of
from balcao.fiction.companies import company_of
from balcao.fiction.dice import deck, draws
from balcao.fiction.people import person_of
from balcao.fiction.records import LabourFiction, LabourKind, ReceiptKind
from balcao.fiction.sandbox import exists
from balcao.fiction.sandbox.certificates import CLASSES, is_of_class
from balcao.fiction.sandbox.promises import PROMISED, LabourRow

VALIDITY_DAYS = 180

TITLES = {
    LabourKind.CND: "CERTIDÃO NEGATIVA DE DÉBITOS TRABALHISTAS",
    LabourKind.CPEND: "CERTIDÃO POSITIVA DE DÉBITOS TRABALHISTAS COM EFEITO DE NEGATIVA",
    LabourKind.CPD: "CERTIDÃO POSITIVA DE DÉBITOS TRABALHISTAS",
    LabourKind.NONE: "",
}
_KIND_CARDS = deck([(LabourKind.CND, 93), (LabourKind.CPEND, 3), (LabourKind.CPD, 4)])


def labour_certificate_of(document: str, today: date) -> LabourFiction:
    """Return today's labour certificate of a CNPJ (14 characters) or CPF (11 digits)."""
    row = _row_of(document)
    serial = draws(f"{document} labour certificate {today}")
    return LabourFiction(
        document=document,
        kind=row.kind,
        title=TITLES[row.kind],
        number=f"{(serial[0] << 16 | serial[1]) % 100_000_000:08d}/{today.year}",
        name=_name(document),
        issued_on=today,
        validity=today + timedelta(VALIDITY_DAYS),
        lawsuits=tuple([_lawsuit(document, number) for number in range(row.lawsuits)]),
        receipt=ReceiptKind.NONE if row.kind is LabourKind.NONE else row.receipt,
    )


def _row_of(document: str) -> LabourRow:
    company = len(document) == 14
    if company and not exists(document):
        return LabourRow(LabourKind.NONE)
    # All establishments of a company have the same debts.
    holder = head_office_of(document[:8]) if company else document
    for each in (document, holder):
        if (promised := PROMISED.get(each)) is not None:
            return promised.labour
    if any(is_of_class(document, each) for each in CLASSES):
        return LabourRow()
    d = draws(f"{holder} labour debts")
    kind = _KIND_CARDS[d[0] & 4095]
    return LabourRow(kind, 0 if kind is LabourKind.CND else 1 + d[1] % 3)


def _lawsuit(document: str, number: int) -> str:
    """Return the number of a lawsuit: serial, check digits, year, court of labour, region, seat."""
    d = draws(f"{document[:8]} lawsuit {number}")
    return (
        f"{d[0] % 10_000_000:07d}-{d[1] % 100:02d}.{2016 + d[2] % 9}.5.{1 + d[3] % 24:02d}"
        f".{1 + d[4] % 90:04d}"
    )


def _name(document: str) -> str:
    if len(document) == 11:
        return person_of(document).name
    return company_of(document[:8]).name if exists(document) else ""
