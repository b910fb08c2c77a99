"""Details of an establishment that our copy of the registry has beyond the company lookup's answer.

Compatible APIs add them to the answer (contract 16.3). They are of the month, and the answer may be
newer: `consistent_detail` drops those that would contradict it.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from balcao.core.company import Coded, Company, Partner


class SimplesDetail(msgspec.Struct, frozen=True, gc=False):
    """The company's row in Simples. Days are YYYY-MM-DD; None: not in the row."""

    simples: bool | None
    since: str | None
    left: str | None
    mei: bool | None
    mei_since: str | None
    mei_left: str | None


class PartnerDetail(msgspec.Struct, frozen=True, gc=False):
    """A partner's codes; None if the month has none."""

    partner: Partner  # as in the lookup's answer
    kind: str  # 1 a company, 2 a person, 3 from abroad
    qualification: Coded | None
    country: Coded | None
    representative_qualification: Coded | None


class MonthDetail(msgspec.Struct, frozen=True):
    """Details of an establishment. None: unknown; an empty text: the registry has none."""

    company: Company | None = None  # the lookup's answer by this month
    day: str | None = None  # of the month's data, YYYY-MM-DD
    reason: Coded | None = None  # of the status
    city_abroad: str | None = None
    country: Coded | None = None
    city_code: str | None = None  # the Receita's, 4 digits
    city_ibge: str | None = None  # 7 digits
    fax: tuple[str, str] | None = None  # area code, number
    responsible: Coded | None = None  # qualification of the person responsible for the company
    capital: Decimal | None = None  # reais
    size: str | None = None
    simples: SimplesDetail | None = None
    partners: tuple[PartnerDetail, ...] = ()


NO_DETAIL = MonthDetail()


def consistent_detail(company: Company, detail: MonthDetail | None) -> MonthDetail:
    """Return the details, except those that contradict a newer answer."""
    if detail is None or detail.company is None:
        return NO_DETAIL
    known = detail.company
    cleared: dict[str, None] = {}
    if (known.situacao_cadastral, known.data_da_situacao_cadastral) != (
        company.situacao_cadastral,
        company.data_da_situacao_cadastral,
    ):
        cleared["reason"] = None
    if known.uf != company.uf:
        cleared |= {"city_abroad": None, "country": None}
    if (known.uf, known.municipio) != (company.uf, company.municipio):
        cleared |= {"city_code": None, "city_ibge": None}
    if known.porte != company.porte:
        cleared["size"] = None
    return msgspec.structs.replace(detail, **cleared) if cleared else detail


_PartnerKey = tuple[str | None, str | None, str | None]


def partners_with_details(
    company: Company, detail: MonthDetail
) -> Sequence[tuple[Partner, PartnerDetail | None]]:
    """Return the answer's partners, each with the month's details of the same partner."""
    known: Mapping[_PartnerKey, PartnerDetail] = {
        _key(each.partner): each for each in detail.partners
    }
    return [(partner, known.get(_key(partner))) for partner in company.socios]


def _key(partner: Partner) -> _PartnerKey:
    return partner.nome, partner.cpf_cnpj_socio, partner.qualificacao_socio
