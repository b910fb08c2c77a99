"""Texts of codes, as providers print them; a code without description has none."""

from balcao.core.company import mask_cpf_in_text
from balcao.fiction import codes
from balcao.fiction.digits import masked_cpf
from balcao.fiction.records import PartnerFiction


def number(code: str) -> int | None:
    """A code as the number that some providers make of it."""
    return int(code) if code else None


def activity(code: str) -> str | None:
    """Description of a CNAE."""
    return codes.ACTIVITIES.get(code)


def country(code: str) -> str | None:
    """Name of a country."""
    return codes.COUNTRIES.get(code)


def document(partner: PartnerFiction) -> str:
    """A partner's document as it is published: CPFs masked."""
    return masked_cpf(partner.document) if partner.kind == "2" else partner.document


def representative(partner: PartnerFiction) -> str:
    """A representative's document as it is published; `***000000**` is nobody's."""
    return masked_cpf(partner.representative) if partner.representative else "***000000**"


def masked_name(name: str) -> str:
    """A legal name without the CPF that may stand in it."""
    return mask_cpf_in_text(name) or ""
