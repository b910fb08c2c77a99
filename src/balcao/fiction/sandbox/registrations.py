"""Promised registrations with states and with Suframa (`docs/sandbox.md`).

A row has the promised fields; number, address and other fields are derived from the document as
usual (`registrations.py`). For some documents, all registered in SP, state treasuries answer in
unusual forms ("State treasuries", same page); other providers answer about them as usual.
"""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum

from balcao.fiction.places import UF_NAMES
from balcao.fiction.records import ZoneIncentive, ZoneRegistration
from balcao.fiction.sandbox.promises import (
    PROMISED,
    PROMISED_COMPANIES,
    RURAL_PRODUCER,
    TAX_SUBSTITUTE,
    Misbehaviour,
    Promise,
    Row,
    ZoneRow,
)


class Form(StrEnum):
    """An unusual form or content of an answer."""

    OTHER_DATES = "its optional dates are DD/MM/YYYY"
    GZIP = "compressed with gzip, unasked"
    DEFLATE = "compressed with deflate, unasked"
    LATIN_1 = "in ISO-8859-1, which only the Content-Type says"
    WHITE_SPACE = "white space before the XML declaration"
    TWICE = "the same registration twice"
    TWO_MINDS = "the same registration twice, enabled and not enabled"
    EXEMPT = "ISENTO in the place of the number"
    EXEMPT_TOO = "a registration, and an item of ISENTO"
    NOT_GZIP = "said to be gzip, and is not"
    BY_COMPANY = "a producer whose registration is held by a CNPJ"


FORMS: Mapping[str, Form] = {
    "90090001000167": Form.OTHER_DATES,
    "90090002000101": Form.GZIP,
    "90090003000156": Form.DEFLATE,
    "90090004000109": Form.LATIN_1,
    "90090005000145": Form.WHITE_SPACE,
    "90090006000190": Form.TWICE,
    "90090007000134": Form.TWO_MINDS,
    "90090008000189": Form.EXEMPT,
    "90090009000123": Form.EXEMPT_TOO,
    "90090010000158": Form.NOT_GZIP,
    "90090000102": Form.BY_COMPANY,
}

# The holder of that producer's registration.
PRODUCERS_COMPANY = "90090011000100"


def _rows(promise: Promise) -> tuple[Row, ...]:
    if promise.misbehaves is not Misbehaviour.SOME_UFS:
        return promise.registrations
    # All UFs need an answer, since some of them are promised to fail.
    others = (Row(uf, type=TAX_SUBSTITUTE) for uf in UF_NAMES if uf != "SP")
    return (*promise.registrations, *others)


# By CNPJ or CPF.
REGISTRATION_ROWS: Mapping[str, tuple[Row, ...]] = {
    **{document: _rows(promise) for document, promise in PROMISED.items()},
    **{
        document: (Row("SP") if len(document) == 14 else Row("SP", type=RURAL_PRODUCER),)
        for document in FORMS
    },
}

# Texts of Suframa (`cnpja.md`, section 3).
IPI_EXEMPTION = ZoneIncentive(
    tax="IPI",
    benefit="Isenção",
    purpose="Consumo Interno, Industrialização e Utilização",
    basis="Decreto 7.212 de 2010 (Art. 81)",
)
ICMS_EXEMPTION = ZoneIncentive(
    tax="ICMS",
    benefit="Isenção",
    purpose="Industrialização e Comercialização",
    basis="Convênio ICMS 65 de 1988",
)


def _zone_registration(row: ZoneRow) -> ZoneRegistration:
    return ZoneRegistration(
        number=row.number,
        since=date(2016, 1, 4),
        approved=row.approved,
        approved_on=date(2016, 2, 10) if row.approved else None,
        status=row.status,
        incentives=(IPI_EXEMPTION, ICMS_EXEMPTION) if row.approved and row.status == 1 else (),
    )


# Other promised companies have none; for the misbehaving ones see `zone.py`.
ZONE_ROWS: Mapping[str, ZoneRegistration] = {
    cnpj: _zone_registration(promise.zone)
    for cnpj, promise in PROMISED_COMPANIES.items()
    if promise.zone is not None
}
