"""Convert stored rows to a `MonthDetail`: the data that the company lookup's answer leaves out.

Columns: `rfb-open-data.md`, section 4. Names and documents are taken from the answer, which has
them masked; codes, amounts and days from the row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from balcao.core.company import Coded, Company, Partner
from balcao.core.month_detail import MonthDetail, PartnerDetail, SimplesDetail
from balcao.core.personal import mask_cpf_in_text
from balcao.opendata.layout import SEPARATOR
from balcao.opendata.municipalities import ibge_by_tom

_SEPARATOR = chr(SEPARATOR)
_YES_NO = {"S": True, "N": False}

# The texts of the month's tables of codes: name of the table, code, text.
Domains = Mapping[str, Mapping[str, str]]
ReadDay = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class DetailReader:
    """Reads the rows of one month."""

    domains: Domains
    day: ReadDay
    as_of: str  # YYYY-MM-DD

    def detail(
        self,
        company: Company,
        partners: Sequence[Partner],
        rows: tuple[str, str | None, str | None],
        partner_rows: Sequence[str],
    ) -> MonthDetail:
        """Build the detail from the tidy rows of an establishment, its company and its Simples.

        `partners` are those of `company`, one for each of `partner_rows`.
        """
        establishment, company_row, simples = rows
        (
            _, _, _, _, _, _, _, reason, city_abroad, country, _, _, _, _, _, _, _, _, _, _, city,
            _, _, _, _, fax_area, fax, _, _, _,
        ) = establishment.split(_SEPARATOR)  # fmt: skip
        responsible, capital, size = "", "", None
        if company_row is not None:
            _, _, _, responsible, capital, size, _ = company_row.split(_SEPARATOR)
        city = city.zfill(4) if city else ""
        return MonthDetail(
            company=company,
            day=self.as_of,
            reason=self._coded("Motivos", reason, 2),
            city_abroad=mask_cpf_in_text(city_abroad) or "",
            country=self._coded("Paises", country, 3),
            city_code=city,
            city_ibge=ibge_by_tom().get(city),
            fax=(fax_area.lstrip("0"), fax) if fax.strip("0") else ("", ""),
            responsible=self._coded("Qualificacoes", responsible, 2),
            capital=_amount(capital),
            size=size,
            simples=None if simples is None else self._simples(simples),
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

    def _simples(self, row: str) -> SimplesDetail:
        _, opted, since, left, mei, mei_since, mei_left = row.split(_SEPARATOR)
        day = self.day
        return SimplesDetail(
            _YES_NO.get(opted),
            day(since),
            day(left),
            _YES_NO.get(mei),
            day(mei_since),
            day(mei_left),
        )

    def _coded(self, table: str, code: str, width: int) -> Coded | None:
        """Return the code, leading zeros restored (`69` for `069`), with its text."""
        if not code.isdecimal():
            return None
        code = code.zfill(width)
        return Coded(code, self.domains[table].get(code))


def _amount(text: str) -> Decimal | None:
    """Parse an amount such as `29500,00`."""
    try:
        amount = Decimal(text.replace(".", "").replace(",", "."))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None
