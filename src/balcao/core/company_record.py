"""A registry answer as it is kept and compared with the next one (contract 20.3)."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from balcao.core.company import (
    NO_REASON,
    Coded,
    Company,
    Partner,
    TaxOption,
    is_person,
    masked,
    normalized,
)
from balcao.core.text import unaccented

_NULLS = frozenset({"", "null", "none", "nan", "n/a", "nao informado", "nao informada"})
_FILLERS = re.compile(r"[*\-._ ]*")
_CODE_PUNCTUATION = re.compile(r"[^0-9a-z]")
_NO_DIGIT = re.compile(r"[^0-9]")
_PHONES_APART = " / "
_DAY_LENGTH = 10

_UNKNOWN = (None, (), TaxOption())

# A value to compare; None: there is none.
Canonical = object


class RegistryRecord(msgspec.Struct, frozen=True):
    """An establishment as a registry answer gives it, CPFs masked.

    `unknown`: fields that its source leaves out; other empty fields are empty in the registry.
    """

    company: Company
    unknown: frozenset[str] = frozenset()

    @property
    def is_person(self) -> bool:
        """Whether the company is a natural person."""
        return is_person(self.company)


def registry_record(company: Company, *, whole: bool = True) -> RegistryRecord:
    """Return the record of a company; `whole`: its source is a copy of the public registry.

    Other sources leave fields out.
    """
    company = masked(normalized(company))
    if whole:
        return RegistryRecord(company)
    values = {name: getattr(company, name) for name in Company.__struct_fields__}
    return RegistryRecord(
        company, frozenset(name for name, value in values.items() if value in _UNKNOWN)
    )


_encode = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode
_decode = msgspec.json.Decoder(RegistryRecord).decode


def record_bytes(record: RegistryRecord) -> bytes:
    """Return a record as stored."""
    return _encode(record)


def stored_record(body: bytes) -> RegistryRecord:
    """Return the record of `record_bytes`. Raises `msgspec.DecodeError`."""
    return _decode(body)


def canonical_text(text: str | None) -> str | None:
    """Return a text to compare: without case, accents and repeated blanks; None: it is empty.

    The registry has capital letters without accents; other sources do not.
    """
    if not text:
        return None
    folded = " ".join(unaccented(text).split())
    return None if folded in _NULLS or _FILLERS.fullmatch(folded) else folded


def canonical_day(text: str | None) -> str | None:
    """Return the day of a date or an instant; None: there is none."""
    return text[:_DAY_LENGTH] if text and text[0] != "0" else None


def _code(coded: Coded | None) -> str | None:
    if coded is None:
        return None
    text = canonical_text(coded.codigo)
    # Descriptions change with the month's tables, their codes do not.
    return canonical_text(coded.descricao) if text is None else _CODE_PUNCTUATION.sub("", text)


def _codes(several: Sequence[Coded]) -> frozenset[str | None] | None:
    return frozenset(map(_code, several)) - {None} or None


def _reason(coded: Coded | None) -> str | None:
    code = _code(coded)
    return None if code is None or code.zfill(len(NO_REASON)) == NO_REASON else code


def _phones(text: str | None) -> frozenset[str] | None:
    if canonical_text(text) is None:
        return None
    assert text is not None
    return frozenset(_NO_DIGIT.sub("", each) for each in text.split(_PHONES_APART)) - {""} or None


def _amount(amount: Decimal | None) -> Decimal | None:
    return amount or None  # 0 is a spelling of null


def _option(option: TaxOption | None) -> tuple[bool, str | None, str | None]:
    """Return an option; the registry has no row of companies that never took it."""
    if option is None:
        return False, None, None
    return bool(option.optante), canonical_day(option.desde), canonical_day(option.ate)


_OF_FIELD: Final[Mapping[str, Callable[[Any], Canonical]]] = {
    "situacao_cadastral": canonical_text,
    "motivo_situacao_cadastral": _reason,
    "data_da_situacao_cadastral": canonical_day,
    "situacao_especial": canonical_text,
    "data_da_situacao_especial": canonical_day,
    "nome_empresarial": canonical_text,
    "nome_fantasia": canonical_text,
    "tipo_logradouro": canonical_text,
    "logradouro": canonical_text,
    "numero": canonical_text,
    "complemento": canonical_text,
    "bairro": canonical_text,
    "municipio": canonical_text,
    "codigo_municipio_ibge": canonical_text,
    "cep": canonical_text,
    "uf": canonical_text,
    "atividade_economica_principal": _code,
    "atividades_economicas_secundarias": _codes,
    "capital_social": _amount,
    "porte": canonical_text,
    "natureza_juridica": _code,
    "telefone": _phones,
    "endereco_eletronico": canonical_text,
    "simples": _option,
    "mei": _option,
}


def fields_differ(before: RegistryRecord, after: RegistryRecord, names: Sequence[str]) -> bool:
    """Return whether any of these fields differs; unknown ones do not."""
    unknown = before.unknown | after.unknown
    return any(
        name not in unknown and _differs(before.company, after.company, name) for name in names
    )


def _differs(before: Company, after: Company, name: str) -> bool:
    old, new = getattr(before, name), getattr(after, name)
    if old == new:
        return False
    if name == "municipio" and before.codigo_municipio_ibge and after.codigo_municipio_ibge:
        return False  # its code is compared: names change with the month's tables
    read = _OF_FIELD[name]
    first, second = read(old), read(new)
    if isinstance(first, tuple) and isinstance(second, tuple):
        return parts_differ(first, second)
    return first != second


def parts_differ(before: Sequence[Canonical], after: Sequence[Canonical]) -> bool:
    """Return whether parts of a value differ; one that is missing on a side does not."""
    return any(
        old is not None and new is not None and old != new
        for old, new in zip(before, after, strict=True)
    )


def partner_parts(partner: Partner) -> tuple[str | None, ...]:
    """Return the parts of a partner that may change: qualification, entry, country, representative.

    Age bands change by themselves.
    """
    return (
        canonical_text(partner.qualificacao_socio),
        canonical_day(partner.data_entrada_sociedade),
        canonical_text(partner.pais),
        canonical_text(partner.nome_representante_legal),
    )


def partner_key(partner: Partner) -> tuple[str | None, str | None]:
    """Return what identifies a partner: the name, and the document as published."""
    document = partner.cpf_cnpj_socio
    if document is not None:
        document = document.strip().casefold()
    return canonical_text(partner.nome), document or None
