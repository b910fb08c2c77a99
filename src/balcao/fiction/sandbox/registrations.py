"""Promised registrations with states and with Suframa (`docs/sandbox.md`).

A row says what is promised; number, address and whatever else nobody promised are drawn from
the document like everybody's (`registrations.py`).
"""

from collections.abc import Mapping
from datetime import date

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
from balcao.fiction.sandbox.treasuries import FORMS


def _rows(promise: Promise) -> tuple[Row, ...]:
    if promise.misbehaves is not Misbehaviour.SOME_UFS:
        return promise.registrations
    # All UFs must have something to say where some of them are promised to fail.
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

# Texts as Suframa grants them (`cnpja.md`, section 3).
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


# Fixed companies that are not here have none; for the misbehaving ones see `zone.py`.
ZONE_ROWS: Mapping[str, ZoneRegistration] = {
    cnpj: _zone_registration(promise.zone)
    for cnpj, promise in PROMISED_COMPANIES.items()
    if promise.zone is not None
}
