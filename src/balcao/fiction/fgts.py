"""Regularity of employers with the FGTS, derived from the CNPJ and today's date in Brasília.

A certificate is in force for 30 days, its first and last included. The next one is issued ten days
before its last day, as soon as Caixa allows; until then each lookup returns the same one.
"""

from datetime import date, timedelta

from balcao.fiction.companies import company_of
from balcao.fiction.days import first_day
from balcao.fiction.dice import deck, draws
from balcao.fiction.establishments import establishment_of
from balcao.fiction.records import FgtsFiction, FgtsKind, ReceiptKind
from balcao.fiction.sandbox import exists
from balcao.fiction.sandbox.certificates import CLASSES, is_of_class
from balcao.fiction.sandbox.promises import PROMISED_COMPANIES, FgtsRow

VALIDITY_DAYS = 30  # both ends count
_RENEWED_DAYS = 10  # before the last one
_APART_DAYS = VALIDITY_DAYS - 1 - _RENEWED_DAYS
_LEFT_MIN = _RENEWED_DAYS + 1  # until then there is the next one
_PAST = 3  # certificates in the history

_KIND_CARDS = deck(
    [
        (FgtsKind.REGULAR, 84),
        (FgtsKind.UNREGISTERED, 9),
        (FgtsKind.UNPROVEN, 4),
        (FgtsKind.IMPEDED, 2.5),
        (FgtsKind.IRREGULAR, 0.5),
    ]
)


def fgts_regularity_of(cnpj: str, today: date) -> FgtsFiction:
    """Return the situation of a CNPJ (14 characters) at Caixa."""
    row = _row_of(cnpj)
    d = draws(f"{cnpj} fgts certificate")
    last = _last_day(row, d[0], today)
    ends = [last - timedelta(_APART_DAYS * number) for number in range(_PAST)]
    begins = [end - timedelta(VALIDITY_DAYS - 1) for end in ends]
    is_known = exists(cnpj)
    return FgtsFiction(
        document=cnpj,
        kind=row.kind,
        name=company_of(cnpj[:8]).name if is_known else "",
        address=_address(cnpj) if is_known else "",
        numbers=tuple([_number(cnpj, begin) for begin in begins]),
        valid_from=tuple(begins),
        validity=tuple(ends),
        receipt=row.receipt if row.kind is FgtsKind.REGULAR else ReceiptKind.NONE,
    )


def _last_day(row: FgtsRow, draw: int, today: date) -> date:
    """Return the last day of the certificate in force; a promised one is, on the first day."""
    if row.days_left is None:
        return today + timedelta(_LEFT_MIN + (draw - today.toordinal()) % _APART_DAYS)
    begin = first_day(today)
    left = (begin + timedelta(row.days_left) - today).days
    if today > begin:
        left = max(left, _LEFT_MIN + (left - _LEFT_MIN) % _APART_DAYS)
    return today + timedelta(left)


def _row_of(cnpj: str) -> FgtsRow:
    if not exists(cnpj):
        return FgtsRow(FgtsKind.UNKNOWN)
    if (promised := PROMISED_COMPANIES.get(cnpj)) is not None:
        return promised.fgts
    if any(is_of_class(cnpj, each) for each in CLASSES):
        return FgtsRow()
    return FgtsRow(_KIND_CARDS[draws(f"{cnpj} fgts")[0] & 4095])


def _number(cnpj: str, begin: date) -> str:
    """Return a certificate's number, 22 digits that begin with its day."""
    d = draws(f"{cnpj} fgts {begin}")
    return f"{begin:%Y%m%d}{(d[0] << 32 | d[1] << 16 | d[2]) % 10**14:014d}"


def _address(cnpj: str) -> str:
    """Return the address in one line, as Caixa writes it."""
    a = establishment_of(cnpj).address
    street = " ".join(part for part in (a.street_type, a.street, a.number, a.complement) if part)
    place = a.municipality
    parts = (street, a.district, place.name, place.uf, f"{a.cep[:5]}-{a.cep[5:]}")
    return " / ".join(part for part in parts if part)
