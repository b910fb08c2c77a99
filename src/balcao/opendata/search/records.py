"""Convert stored rows to the records of company search (`rfb-open-data.md`, section 4)."""

from datetime import date
from decimal import Decimal
from functools import lru_cache

from balcao.core.search_record import PartnerSearchRecord, SearchRecord, domain_of
from balcao.opendata.layout import EMPRESAS, ESTABELECIMENTOS, SEPARATOR
from balcao.opendata.rows import read_amount, read_day
from balcao.opendata.tally import latest_date

_SEPARATOR = chr(SEPARATOR)
_CEP, _OPENED, _STATUS_DAY = map(
    ESTABELECIMENTOS.columns.index, ("cep", "data_inicio_atividade", "data_situacao_cadastral")
)
_CAPITAL = EMPRESAS.columns.index("capital_social")
_HEAD_OFFICE = "1"
_YES = "S"
# Days since the sixties and a few junk values: nearly every date repeats.
_DATES_REMEMBERED = 65_536


class RowReader:
    """Reads the rows of one month."""

    def __init__(self, extraction: date) -> None:
        latest = latest_date(extraction)
        self._day = lru_cache(_DATES_REMEMBERED)(lambda text: read_day(text, latest))

    def establishment(self, row: str, company_row: str | None, simples: str | None) -> SearchRecord:
        """Return an establishment by its tidy row, its company's and its Simples'."""
        (
            tag_and_root, order, digits, identifier, trade_name, status, status_day, reason, _, _,
            opened, activity, others, _, _, _, _, _, postal_code, uf, city, area_1, _, area_2, _,
            _, _, email, _, _,
        ) = row.split(_SEPARATOR)  # fmt: skip
        name, nature, size, capital = "", "", "", ""
        if company_row is not None:
            _, name, nature, _, capital, size, _ = company_row.split(_SEPARATOR)
        in_simples, in_mei = "", ""
        if simples is not None:
            _, in_simples, _, _, in_mei, _, _ = simples.split(_SEPARATOR)
        return SearchRecord(
            cnpj=tag_and_root[1:] + order + digits,
            name=name,
            trade_name=trade_name,
            nature=nature.zfill(4) if nature else "",
            size=size,
            capital=read_amount(capital),
            head=identifier == _HEAD_OFFICE,
            status=status.zfill(2) if status else "",
            status_day=self._day(status_day),
            reason=reason.zfill(2) if reason else "",
            opened=self._day(opened),
            activity=activity.zfill(7) if activity else "",
            others=tuple([code.strip() for code in others.split(",")]) if others else (),
            cep=_postal_code(postal_code),
            uf=uf,
            city=city.zfill(4) if city else "",
            area_codes=tuple([code for code in map(_area, (area_1, area_2)) if code]),
            domain=domain_of(email) if email else "",
            simples=in_simples == _YES,
            mei=in_mei == _YES,
        )

    def place_and_days(self, row: str) -> tuple[str, str | None, str | None]:
        """Return CEP, opening date and status date of an establishment's row.

        They are those of `establishment`.
        """
        fields = row.split(_SEPARATOR)
        return (
            _postal_code(fields[_CEP]),
            self._day(fields[_OPENED]),
            self._day(fields[_STATUS_DAY]),
        )

    def capital(self, company_row: str | None) -> Decimal | None:
        """Return the capital in a company's row; that of `establishment`."""
        return None if company_row is None else read_amount(company_row.split(_SEPARATOR)[_CAPITAL])

    def partner(self, row: str, cnpj: str, company: str) -> PartnerSearchRecord:
        """Return one partner of the company of `cnpj`."""
        _, _, name, document, qualification, entered, *_ = row.split(_SEPARATOR)
        return PartnerSearchRecord(cnpj, company, name, document, qualification, self._day(entered))


def _postal_code(text: str) -> str:
    if len(text) not in {7, 8} or not text.isdecimal() or not text.strip("0"):
        return ""
    return text.zfill(8)


def _area(text: str) -> str:
    code = text.lstrip("0")
    return code if len(code) == 2 and code.isdecimal() else ""
