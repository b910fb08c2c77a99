"""Convert stored rows to a `Company`: codes to texts, dates, phones, normalised blanks.

Done at each lookup on the few rows it needs, not at the import on all. Rules: `rfb-open-data.md`,
sections 3 (normalisation), 4 (columns), 8 (dates), 12 (mapping).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import lru_cache

from balcao.core.company import (
    AGE_BAND_TEXTS,
    IDENTIFIER_TEXTS,
    SIZE_TEXTS,
    STATUS_TEXTS,
    Coded,
    Company,
    Partner,
    TaxOption,
    TaxRegime,
    capital_of,
)
from balcao.opendata.layout import SEPARATOR
from balcao.opendata.tally import EARLIEST, latest_date

_SEPARATOR = chr(SEPARATOR)
_YES_NO = {"S": True, "N": False}
_NO_REPRESENTATIVE = "***000000**"

# Days since the sixties and a few junk values: nearly every date repeats.
_DATES_REMEMBERED = 65_536


@dataclass(frozen=True, slots=True)
class Texts:
    """The month's tables of codes, and its parser of dates."""

    extraction: date
    activities: Mapping[str, Coded]
    natures: Mapping[str, Coded]
    cities: Mapping[str, str]
    cities_ibge: Mapping[str, str]
    reasons: Mapping[str, Coded]
    countries: Mapping[str, str]
    qualifications: Mapping[str, str]
    day: Callable[[str], str | None] = field(init=False)

    def __post_init__(self) -> None:
        latest = latest_date(self.extraction)
        remembered = lru_cache(_DATES_REMEMBERED)(lambda text: read_day(text, latest))
        object.__setattr__(self, "day", remembered)


def read_day(text: str, latest: date) -> str | None:
    """Convert `YYYYMMDD` to `YYYY-MM-DD`; None for anything that is not a day in the range."""
    if len(text) != 8 or not text.isdecimal():
        return None
    try:
        day = date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return None
    return day.isoformat() if EARLIEST <= day <= latest else None


def tidy(rows: bytes) -> str:
    """Decode stored rows, without leading, trailing and repeated blanks in fields.

    The RFB pads parts of addresses to columns in some. All rows at once, whose only other white
    space is the line feeds between them: C0 controls were stripped on import.
    """
    text = rows.decode("latin-1").replace("\xa0", " ").replace("\x85", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.replace(" \x1f", "\x1f").replace("\x1f ", "\x1f").replace(" \n", "\n").rstrip(" ")


def company(
    cnpj: str,
    rows: tuple[str, str | None, str | None],
    partners: Sequence[str],
    texts: Texts,
    regimes: tuple[TaxRegime, ...] | None,
) -> Company:
    """Build an establishment with its company's data.

    `rows`: of the establishment, its company and its Simples. They are `tidy`.
    """
    establishment, company_row, simples_row = rows
    (
        _, _, _, identifier, trade_name, status, status_day, reason, _, _, opened, activity, others,
        street_type, street, number, complement, district, postal_code, uf, city, area_1,
        phone_1, area_2, phone_2, _, _, email, special, special_day,
    ) = establishment.split(_SEPARATOR)  # fmt: skip
    name, nature, capital, size, entity = "", "", "", "", ""
    if company_row is not None:
        _, name, nature, _, capital, size, entity = company_row.split(_SEPARATOR)
    simples, mei = (None, None) if simples_row is None else _options(simples_row, texts)
    return Company(
        cnpj=cnpj,
        identificador_matriz_filial=IDENTIFIER_TEXTS.get(identifier),
        data_de_abertura=texts.day(opened),
        nome_empresarial=name or None,
        nome_fantasia=trade_name or None,
        atividade_economica_principal=_coded(activity, texts.activities),
        atividades_economicas_secundarias=_activities(others, texts) if others else (),
        natureza_juridica=_coded(nature, texts.natures),
        tipo_logradouro=street_type or None,
        logradouro=street or None,
        numero=number or None,
        complemento=complement or None,
        bairro=district or None,
        municipio=_text(city, texts.cities, 4),
        cep=_postal_code(postal_code),
        uf=uf or None,
        endereco_eletronico=email or None,
        telefone=_phones(area_1, phone_1, area_2, phone_2),
        ente_federativo_responsavel=entity or None,
        situacao_cadastral=_text(status, STATUS_TEXTS, 2),
        data_da_situacao_cadastral=texts.day(status_day),
        situacao_especial=special or None,
        data_da_situacao_especial=texts.day(special_day),
        porte=SIZE_TEXTS.get(size),
        socios=tuple([_partner(row, texts) for row in partners]),
        simples=simples,
        mei=mei,
        capital_social=read_amount(capital),
        motivo_situacao_cadastral=_coded(reason.zfill(2), texts.reasons) if reason else None,
        regime_tributario=regimes,
        codigo_municipio_ibge=_text(city, texts.cities_ibge, 4),
    )


def tax_regimes(rows: Sequence[str]) -> tuple[TaxRegime, ...]:
    """Return the tax regimes in a company's tidy rows, by year.

    Of rows that differ in the number of filings alone, the newest file has the most.
    """
    filings: dict[tuple[str, str, str], int] = {}
    for row in rows:
        _, year, form, count, partnership = row.split(_SEPARATOR)
        key = year, partnership, form
        filings[key] = max(filings.get(key, 0), int(count))
    return tuple(
        TaxRegime(int(year), form, count, partnership or None)
        for (year, partnership, form), count in sorted(filings.items())
    )


def read_amount(text: str) -> Decimal | None:
    """Parse an amount in reais, such as `29500,00`; None: there is none."""
    return capital_of(text.replace(".", "").replace(",", ".")) if text else None


def _options(row: str, texts: Texts) -> tuple[TaxOption, TaxOption]:
    """Return the company's options for Simples and for MEI."""
    _, opted, since, left, mei, mei_since, mei_left = row.split(_SEPARATOR)
    day = texts.day
    return (
        TaxOption(_YES_NO.get(opted), day(since), day(left)),
        TaxOption(_YES_NO.get(mei), day(mei_since), day(mei_left)),
    )


def _coded(code: str, table: Mapping[str, Coded]) -> Coded | None:
    return table.get(code) or (Coded(code, None) if code else None)


def _activities(codes: str, texts: Texts) -> tuple[Coded, ...]:
    found = [_coded(code.strip(), texts.activities) for code in codes.split(",")]
    return tuple([coded for coded in found if coded is not None])


def _text(code: str, table: Mapping[str, str], width: int) -> str | None:
    """Return the code's text. Some codes have lost their leading zeros (`69` for `069`)."""
    return table.get(code) or (table.get(code.zfill(width)) if code else None)


def _postal_code(text: str) -> str | None:
    if len(text) not in {7, 8} or not text.isdecimal() or not text.strip("0"):
        return None
    return text.zfill(8)


def _phones(area_1: str, phone_1: str, area_2: str, phone_2: str) -> str | None:
    first = _phone(area_1, phone_1) if phone_1 else None
    second = _phone(area_2, phone_2) if phone_2 else None
    return f"{first} / {second}" if first and second else first or second


def _phone(area: str, number: str) -> str | None:
    digits = _digits(number)
    if not digits.strip("0"):
        return None
    return _digits(area).lstrip("0") + digits


def _digits(text: str) -> str:
    return text if text.isdecimal() else "".join(c for c in text if c.isdecimal())


def _partner(row: str, texts: Texts) -> Partner:
    (
        _, _, name, document, qualification, entered, country, representative,
        representative_name, _, age_band,
    ) = row.split(_SEPARATOR)  # fmt: skip
    day = texts.day(entered)
    return Partner(
        nome=name or None,
        cpf_cnpj_socio=document or None,
        qualificacao_socio=_text(qualification, texts.qualifications, 2),
        pais=_text(country, texts.countries, 3) if country else None,
        documento_representante_legal=(
            representative if representative and representative != _NO_REPRESENTATIVE else None
        ),
        nome_representante_legal=representative_name or None,
        faixa_etaria=AGE_BAND_TEXTS.get(age_band),
        data_entrada_sociedade=None if day is None else f"{day} 00:00:00",
    )
