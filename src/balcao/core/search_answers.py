"""What company search answers: the bodies, and their words for the OpenAPI document (14.1)."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated

import msgspec

from balcao.core.company import Coded
from balcao.core.described import described, said


@described("EmpresaEncontrada", "Um estabelecimento que atende a todos os filtros.")
class CompanyFound(msgspec.Struct, frozen=True, gc=False):
    """One of a page."""

    cnpj: Annotated[str, said("CNPJ, sem pontuação.")]
    nome_empresarial: Annotated[str | None, said("Nome empresarial (razão social).")]
    nome_fantasia: Annotated[str | None, said("Nome fantasia.")]
    situacao: Annotated[str | None, said("`NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`.")]
    data_situacao: Annotated[str | None, said("Data da situação cadastral.", format="date")]
    uf: Annotated[str | None, said("Sigla da unidade da federação.")]
    municipio: Annotated[str | None, said("Município.")]
    cnae_principal: Annotated[Coded | None, said("Atividade principal (CNAE).")]
    natureza: Annotated[Coded | None, said("Natureza jurídica.")]
    porte: Annotated[str | None, said("`MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`.")]
    data_de_abertura: Annotated[str | None, said("Data de abertura.", format="date")]
    matriz: Annotated[bool, said("`true`: a matriz; `false`: uma filial.")]
    capital_social: Annotated[Decimal | None, said("Capital social, em reais.")]


@described("SocioEncontrado", "Um sócio, e a empresa da qual é.")
class PartnerFound(msgspec.Struct, frozen=True, gc=False):
    """One of those found."""

    nome: Annotated[str | None, said("Nome ou nome empresarial.")]
    documento: Annotated[
        str | None, said("CNPJ, ou CPF na forma `***456789**`, como a Receita Federal publica.")
    ]
    qualificacao: Annotated[str | None, said("Qualificação na empresa.")]
    data_de_entrada: Annotated[str | None, said("Entrada na sociedade.", format="date")]
    cnpj: Annotated[str, said("CNPJ de um estabelecimento da empresa.")]
    nome_empresarial: Annotated[str | None, said("Nome empresarial da empresa.")]


class CompaniesPage(msgspec.Struct, frozen=True):
    """One page, before its envelope."""

    itens: Sequence[CompanyFound]
    parcial: bool
    cursor: str | None
    data_base: str  # YYYY-MM-DD


class PartnersPage(msgspec.Struct, frozen=True):
    """All that are told, before their envelope."""

    itens: Sequence[PartnerFound]
    parcial: bool
    data_base: str
