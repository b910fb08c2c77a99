"""The record of the Manaus free-trade-zone authority, as it is kept and sent.

Fields: specification, "Free-trade-zone registry record"; status codes: decisions 8. What the
source does not say is absent.
"""

from collections.abc import Mapping

import msgspec

STATUS_TEXTS: Mapping[int, str] = {
    1: "Ativa",
    2: "Inativa",
    3: "Bloqueada",
    4: "Cancelada",
    5: "Cancelada Ag. Rec.",
}


class NumberedText(msgspec.Struct, frozen=True):
    """An integer code and its text."""

    codigo: int
    descricao: str


class ZoneCountry(msgspec.Struct, frozen=True):
    """Country of an address."""

    nome: str


class ZoneAddress(msgspec.Struct, frozen=True, omit_defaults=True):
    """The registered address."""

    codigo_municipio: int | None = None  # IBGE, 7 digits
    logradouro: str | None = None
    numero: str | None = None
    bairro: str | None = None
    cidade: str | None = None
    estado: str | None = None  # UF
    cep: str | None = None  # 8 digits
    pais: ZoneCountry | None = None


class ZonePhone(msgspec.Struct, frozen=True):
    """A telephone number."""

    ddd: str
    numero: str


class ZoneEmail(msgspec.Struct, frozen=True):
    """An e-mail address and its domain."""

    endereco: str
    dominio: str


class ZoneActivity(msgspec.Struct, frozen=True):
    """An economic activity and whether it is exercised."""

    codigo: int  # CNAE, 7 digits
    atividade_exercida: bool
    descricao: str


class Incentive(msgspec.Struct, frozen=True):
    """A tax incentive granted."""

    fundamento_legal: str
    beneficio: str
    finalidade: str
    tributo: str


class ZoneRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One company in the authority's registry."""

    cnpj: str
    inscricao: str
    nome: str
    matriz: bool
    aprovado: bool
    status: NumberedText
    atualizado_em: str | None = None  # ISO 8601
    desde: str | None = None  # YYYY-MM-DD
    data_aprovacao: str | None = None  # YYYY-MM-DD
    natureza_juridica: NumberedText | None = None
    endereco: ZoneAddress | None = None
    telefones: tuple[ZonePhone, ...] | None = None
    emails: tuple[ZoneEmail, ...] | None = None
    atividade_principal: ZoneActivity | None = None
    atividades_secundarias: tuple[ZoneActivity, ...] | None = None
    incentivos: tuple[Incentive, ...] | None = None
