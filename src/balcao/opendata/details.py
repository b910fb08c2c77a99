"""Convert stored rows to a `MonthDetail`: the data that the company lookup's answer leaves out.

Columns: `rfb-open-data.md`, section 4. Names and documents are taken from the answer, which has
them masked; codes, amounts and days from the row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from balcao.core.company import Coded, Company, Partner
from balcao.core.month_detail import MonthDetail, PartnerDetail
from balcao.core.personal import mask_cpf_in_text
from balcao.opendata.layout import SEPARATOR

_SEPARATOR = chr(SEPARATOR)

# The texts of the month's tables of codes: name of the table, code, text.
Domains = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class DetailReader:
    """Reads the rows of one month."""

    domains: Domains
    as_of: str  # YYYY-MM-DD

    def detail(
        self,
        company: Company,
        partners: Sequence[Partner],
        establishment: str,
        company_row: str | None,
        partner_rows: Sequence[str],
    ) -> MonthDetail:
        """Build the detail from the tidy rows of an establishment and its company.

        `partners` are those of `company`, one for each of `partner_rows`.
        """
        (
            _, _, _, _, _, _, _, _, city_abroad, country, _, _, _, _, _, _, _, _, _, _, city,
            _, _, _, _, fax_area, fax, _, _, _,
        ) = establishment.split(_SEPARATOR)  # fmt: skip
        responsible, size = "", None
        if company_row is not None:
            _, _, _, responsible, _, size, _ = company_row.split(_SEPARATOR)
        city = city.zfill(4) if city else ""
        return MonthDetail(
            company=company,
            day=self.as_of,
            city_abroad=mask_cpf_in_text(city_abroad) or "",
            country=self._coded("Paises", country, 3),
            city_code=city,
            fax=(fax_area.lstrip("0"), fax) if fax.strip("0") else ("", ""),
            responsible=self._coded("Qualificacoes", responsible, 2),
            size=size,
            partners=tuple(map(self._partner, partners, partner_rows)),
        )

    def _partner(self, partner: Partner, row: str) -> PartnerDetail:
        _, kind, _, _, role, _, country, _, _, representative_role, _ = row.split(_SEPARATOR)
        return PartnerDetail(
            partner,
            kind,
            self._coded("Qualificacoes", role, 2),
            self._coded("Paises", country, 3),
            self._coded("Qualificacoes", representative_role, 2),
        )

    def _coded(self, table: str, code: str, width: int) -> Coded | None:
        """Return the code, leading zeros restored (`69` for `069`), with its text."""
        if not code.isdecimal():
            return None
        code = code.zfill(width)
        return Coded(code, self.domains[table].get(code))
