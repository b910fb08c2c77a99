"""The answers of company search, as types of the OpenAPI document (contract 14.1)."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated

import msgspec

from balcao.core.company import Coded
from balcao.core.described import described, doc


@described("EmpresaEncontrada", "Um estabelecimento que atende a todos os filtros.")
class CompanyFound(msgspec.Struct, frozen=True, gc=False):
    """A company in a page of results."""

    cnpj: Annotated[str, doc("CNPJ, sem pontuação.")]
    nome_empresarial: Annotated[str | None, doc("Nome empresarial (razão social).")]
    nome_fantasia: Annotated[str | None, doc("Nome fantasia.")]
    situacao: Annotated[str | None, doc("`NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`.")]
    data_situacao: Annotated[str | None, doc("Data da situação cadastral.", format="date")]
    uf: Annotated[str | None, doc("Sigla da unidade da federação.")]
    municipio: Annotated[str | None, doc("Município.")]
    cnae_principal: Annotated[Coded | None, doc("Atividade principal (CNAE).")]
    natureza: Annotated[Coded | None, doc("Natureza jurídica.")]
    porte: Annotated[str | None, doc("`MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`.")]
    data_de_abertura: Annotated[str | None, doc("Data de abertura.", format="date")]
    matriz: Annotated[bool, doc("`true`: a matriz; `false`: uma filial.")]
    capital_social: Annotated[Decimal | None, doc("Capital social, em reais.")]


@described("SocioEncontrado", "Um sócio e a empresa dele.")
class PartnerFound(msgspec.Struct, frozen=True, gc=False):
    """A partner in a search result."""

    nome: Annotated[str | None, doc("Nome ou nome empresarial.")]
    documento: Annotated[
        str | None,
        doc("CNPJ ou CPF mascarado, como `***456789**`, na forma publicada pela Receita Federal."),
    ]
    qualificacao: Annotated[str | None, doc("Qualificação na empresa.")]
    data_de_entrada: Annotated[str | None, doc("Entrada na sociedade.", format="date")]
    cnpj: Annotated[str, doc("CNPJ de um estabelecimento da empresa.")]
    nome_empresarial: Annotated[str | None, doc("Nome empresarial da empresa.")]


class CompaniesPage(msgspec.Struct, frozen=True):
    """A page of companies, without the envelope."""

    itens: Sequence[CompanyFound]
    parcial: bool
    cursor: str | None
    data_base: str  # YYYY-MM-DD


class PartnersPage(msgspec.Struct, frozen=True):
    """The partners found, without the envelope."""

    itens: Sequence[PartnerFound]
    parcial: bool
    data_base: str
