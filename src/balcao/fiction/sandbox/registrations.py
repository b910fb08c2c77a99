"""Promised registrations with states and with Suframa (`docs/sandbox.md`), row by row.

A row says what is promised; number, address and whatever else nobody promised are drawn from
the document like everybody's (`registrations.py`).
"""

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType

import msgspec

from balcao.fiction.places import UF_NAMES
from balcao.fiction.records import ZoneIncentive, ZoneRegistration
from balcao.fiction.sandbox import MISBEHAVING_COMPANIES, Misbehaviour
from balcao.fiction.sandbox.treasuries import FORMS

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


CNPJ_LENGTH = 14


class Row(msgspec.Struct, frozen=True):
    """One promised state registration."""

    uf: str
    type: int = IE_NORMAL
    situation: int = UNRESTRICTED
    active: bool = True
    status_date: date = date(2015, 3, 2)


_SP = (Row("SP"),)

# Whoever sells to another state without a branch there is registered as a tax substitute.
_BRANCH_OF_MANY_UFS = (
    Row("SP"),
    Row("MG", type=TAX_SUBSTITUTE),
    Row("RJ", type=TAX_SUBSTITUTE),
    Row("PR", type=TAX_SUBSTITUTE),
    Row("BA", type=TAX_SUBSTITUTE),
    Row("RS", type=TAX_SUBSTITUTE, active=False, status_date=date(2023, 2, 1)),
)
_IN_EVERY_UF = (
    Row("SP"),
    *(Row(uf, type=TAX_SUBSTITUTE) for uf in UF_NAMES if uf != "SP"),
)

COMPANY_ROWS: Mapping[str, tuple[Row, ...]] = MappingProxyType(
    {
        "90010001000100": _SP,
        "90010002000154": (Row("AM"),),
        "90010003000107": (Row("SP", active=False, status_date=date(2021, 6, 30)),),
        "90010004000143": (),
        "90010005000198": (
            Row("SP", situation=BLOCKED_AS_RECIPIENT, status_date=date(2023, 2, 10)),
        ),
        "90010006000132": (
            Row("SP", type=TAX_SUBSTITUTE),
            Row("MG", type=ADDRESS_IN_ANOTHER_UF),
        ),
        "90010007000187": _SP,
        "90010007000268": _BRANCH_OF_MANY_UFS,
        "90010008000121": _SP,
        "90010009000176": _SP,
        "90010010000109": _SP,
        "90010011000145": (Row("SP", situation=BARRED_AS_RECIPIENT),),
        "90010012000190": (Row("SP", type=NOT_A_TAXPAYER),),
        "12ABC34501DE35": _SP,
        "00000000E08G12": _SP,
        "99999999000191": (),
        # All UFs must have something to say where some of them are promised to fail.
        **{
            cnpj: _IN_EVERY_UF if how is Misbehaviour.SOME_UFS else _SP
            for cnpj, how in MISBEHAVING_COMPANIES.items()
        },
        **{document: _SP for document in FORMS if len(document) == CNPJ_LENGTH},
    }
)

_PRODUCER_IN_SP = (Row("SP", type=RURAL_PRODUCER),)

PERSON_ROWS: Mapping[str, tuple[Row, ...]] = MappingProxyType(
    {
        "90010000100": _PRODUCER_IN_SP,
        "90010000291": (
            Row("MG", type=RURAL_PRODUCER),
            Row("GO", type=RURAL_PRODUCER, active=False, status_date=date(2022, 5, 20)),
        ),
        "90010000372": (),
        "90010000453": _SP,
        "90020000146": _PRODUCER_IN_SP,
        "90020000227": _PRODUCER_IN_SP,
        "90020000308": _PRODUCER_IN_SP,
        **{document: _PRODUCER_IN_SP for document in FORMS if len(document) < CNPJ_LENGTH},
    }
)

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


def _zone_row(number: str, status: int = 1, *, approved: bool = True) -> ZoneRegistration:
    return ZoneRegistration(
        number=number,
        since=date(2016, 1, 4),
        approved=approved,
        approved_on=date(2016, 2, 10) if approved else None,
        status=status,
        incentives=(IPI_EXEMPTION, ICMS_EXEMPTION) if approved and status == 1 else (),
    )


# Fixed companies that are not here have none; for the misbehaving ones see `zone.py`.
ZONE_ROWS: Mapping[str, ZoneRegistration] = MappingProxyType(
    {
        "90010002000154": _zone_row("200000012"),
        "90010003000107": _zone_row("200000020", status=4, approved=False),
        "90010005000198": _zone_row("200000039", status=3),
    }
)
