"""Details of an establishment that our copy of the registry has beyond the company lookup's answer.

Compatible APIs add them to the answer (contract 16.3). They are of the month, and the answer may be
newer: `consistent_detail` drops those that would contradict it. `completed` fills in fields of the
answer that its source did not give.
"""

from collections.abc import Mapping, Sequence

import msgspec

from balcao.core.company import Coded, Company, Partner


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
    city_abroad: str | None = None
    country: Coded | None = None
    city_code: str | None = None  # the Receita's, 4 digits
    fax: tuple[str, str] | None = None  # area code, number
    responsible: Coded | None = None  # qualification of the person responsible for the company
    size: str | None = None
    partners: tuple[PartnerDetail, ...] = ()


NO_DETAIL = MonthDetail()


def consistent_detail(company: Company, detail: MonthDetail | None) -> MonthDetail:
    """Return the details, except those that contradict a newer answer."""
    if detail is None or detail.company is None:
        return NO_DETAIL
    known = detail.company
    cleared: dict[str, None] = {}
    if known.uf != company.uf:
        cleared |= {"city_abroad": None, "country": None}
    if _place(known) != _place(company):
        cleared["city_code"] = None
    if known.porte != company.porte:
        cleared["size"] = None
    return msgspec.structs.replace(detail, **cleared) if cleared else detail


def completed(company: Company, detail: MonthDetail) -> Company:
    """Return the answer with fields that its source did not give, as far as the month has them.

    The reason is added if status and date are equal, the municipality's code if the place is.
    """
    known = detail.company
    if known is None:
        return company
    found: dict[str, object] = {}
    if company.simples is None and company.mei is None:
        found |= {"simples": known.simples, "mei": known.mei}
    if company.capital_social is None:
        found["capital_social"] = known.capital_social
    if company.regime_tributario is None:
        found["regime_tributario"] = known.regime_tributario
    if company.motivo_situacao_cadastral is None and _status(known) == _status(company):
        found["motivo_situacao_cadastral"] = known.motivo_situacao_cadastral
    if company.codigo_municipio_ibge is None and _place(known) == _place(company):
        found["codigo_municipio_ibge"] = known.codigo_municipio_ibge
    return msgspec.structs.replace(company, **found) if found else company


def _status(company: Company) -> tuple[str | None, str | None]:
    return company.situacao_cadastral, company.data_da_situacao_cadastral


def _place(company: Company) -> tuple[str | None, str | None]:
    return company.uf, company.municipio


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
