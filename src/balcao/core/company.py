"""What the company registry says of one establishment, whoever said it.

Field names and meanings: specification, "Company registry data"; texts: contract 8.
Every source fills this one type; the answer's `response` is this type as JSON.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Self, TypeVar

import msgspec

from balcao.core.described import described, said
from balcao.core.personal import mask_cpf_in_text, with_masked_texts
from balcao.core.questions import Inquiry, Record
from balcao.core.text import unaccented

AnyCompany = TypeVar("AnyCompany", bound="Company")

PARTNERS_MAX = 10_000  # real companies have thousands (contract 9.5)


@described("Codigo", "Um código de uma tabela oficial e sua descrição.")
class Coded(msgspec.Struct, frozen=True, gc=False):
    """A code of an official table. No text in the table: the code and a null description."""

    codigo: Annotated[str | None, said("O código, como texto.")]
    descricao: Annotated[str | None, said("A descrição da tabela.")]


@described("Socio", "Um sócio ou administrador.")
class Partner(msgspec.Struct, frozen=True, gc=False):
    """One partner. Natural persons' documents come as `***456789**` unless opted in."""

    nome: Annotated[str | None, said("Nome ou nome empresarial.")] = None
    cpf_cnpj_socio: Annotated[
        str | None, said("CNPJ, ou CPF na forma `***456789**`; o CPF inteiro só com `optin=1`.")
    ] = None
    qualificacao_socio: Annotated[str | None, said("Qualificação na empresa.")] = None
    pais: Annotated[str | None, said("País, de sócios do exterior.")] = None
    documento_representante_legal: Annotated[
        str | None, said("CPF do representante, mascarado como acima.")
    ] = None
    nome_representante_legal: Annotated[str | None, said("Nome do representante legal.")] = None
    faixa_etaria: Annotated[str | None, said("`Entre 41 a 50 anos`, …, `Não se aplica`.")] = None
    data_entrada_sociedade: Annotated[
        str | None, said("Entrada na sociedade, `YYYY-MM-DD HH:mm:ss`.")
    ] = None


@described(
    "Empresa",
    "Dados cadastrais de um estabelecimento e de sua empresa. Sem informação, o campo é nulo ou"
    " vazio.",
)
class Company(Record, frozen=True, kw_only=True):
    """One establishment with its company's data. Dates are YYYY-MM-DD, codes are text."""

    cnpj: Annotated[str, said("CNPJ, sem pontuação.")]
    identificador_matriz_filial: Annotated[str | None, said("`MATRIZ` ou `FILIAL`.")] = None
    data_de_abertura: Annotated[str | None, said("Data de abertura.", format="date")] = None
    nome_empresarial: Annotated[str | None, said("Nome empresarial (razão social).")] = None
    nome_fantasia: Annotated[str | None, said("Nome fantasia.")] = None
    atividade_economica_principal: Annotated[Coded | None, said("Atividade principal (CNAE).")] = (
        None
    )
    atividades_economicas_secundarias: Annotated[
        tuple[Coded, ...], said("Atividades secundárias (CNAE).")
    ] = ()
    natureza_juridica: Annotated[Coded | None, said("Natureza jurídica.")] = None
    tipo_logradouro: Annotated[str | None, said("Tipo do logradouro: RUA, AVENIDA, …")] = None
    logradouro: Annotated[str | None, said("Nome do logradouro.")] = None
    numero: Annotated[str | None, said("Número no logradouro.")] = None
    complemento: Annotated[str | None, said("Complemento do endereço.")] = None
    bairro: Annotated[str | None, said("Bairro.")] = None
    municipio: Annotated[str | None, said("Município.")] = None
    cep: Annotated[str | None, said("CEP, só dígitos.")] = None
    uf: Annotated[str | None, said("Sigla da unidade da federação.")] = None
    endereco_eletronico: Annotated[str | None, said("E-mail de contato.")] = None
    telefone: Annotated[
        str | None, said("Telefone com DDD, só dígitos; dois são separados por ` / `.")
    ] = None
    ente_federativo_responsavel: Annotated[str | None, said("Ente federativo responsável.")] = None
    situacao_cadastral: Annotated[
        str | None, said("`NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`.")
    ] = None
    data_da_situacao_cadastral: Annotated[
        str | None, said("Data da situação cadastral.", format="date")
    ] = None
    situacao_especial: Annotated[str | None, said("Situação especial.")] = None
    data_da_situacao_especial: Annotated[
        str | None, said("Data da situação especial.", format="date")
    ] = None
    porte: Annotated[
        str | None, said("`MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`.")
    ] = None
    socios: Annotated[tuple[Partner, ...], said("Quadro de sócios e administradores.")] = ()

    def flaw(self, inquiry: Inquiry) -> str | None:
        """See `Record`."""
        if len(self.socios) > PARTNERS_MAX:
            return "resposta com sócios demais"
        needed = ("nome_empresarial", "situacao_cadastral")
        if (another := self.another(self.cnpj, inquiry, needed)) is not None:
            return another
        if inquiry.full_partners and hides_a_partner(self):
            return "ocultou documentos de sócios que deveria informar"
        return None

    def as_allowed(self, inquiry: Inquiry) -> Self:
        """See `Record`."""
        return self if inquiry.full_partners else masked(self)


class DatedCompany(Company, frozen=True, kw_only=True):
    """The same out of a copy of the registry: `data_base` is the day of its data (contract 9.3).

    YYYY-MM-DD; None where the source does not say it. It is the last member of the JSON.
    """

    data_base: str | None


IDENTIFIER_TEXTS = {"1": "MATRIZ", "2": "FILIAL"}
STATUS_TEXTS = {"01": "NULA", "02": "ATIVA", "03": "SUSPENSA", "04": "INAPTA", "08": "BAIXADA"}
SIZE_TEXTS = {"01": "MICRO EMPRESA", "03": "EMPRESA DE PEQUENO PORTE", "05": "DEMAIS"}
AGE_BAND_TEXTS = {
    "0": "Não se aplica",
    "1": "Entre 0 a 12 anos",
    "2": "Entre 13 a 20 anos",
    "3": "Entre 21 a 30 anos",
    "4": "Entre 31 a 40 anos",
    "5": "Entre 41 a 50 anos",
    "6": "Entre 51 a 60 anos",
    "7": "Entre 61 a 70 anos",
    "8": "Entre 71 a 80 anos",
    "9": "Maiores de 80 anos",
}

# Legal natures whose companies are natural persons: the sole trader (213-5), and all of group 4
# (individual property companies, insured individuals, candidates, rural producers).
SOLE_TRADER, NATURAL_PERSONS = "2135", "4"
# By which an encoded company that is a person is known (ADR 0049).
PERSON_MARKS = tuple(
    f'"natureza_juridica":{{"codigo":"{code}'.encode() for code in (SOLE_TRADER, NATURAL_PERSONS)
)

ABROAD_UF, ABROAD_CITY = "EX", "EXTERIOR"

CPF_LENGTH = 11
_NOBODY_KNOWS = "9999"  # after every day

_OPEN_CPF = re.compile(r"[0-9]{11}")
_MASKED_CPF = re.compile(r"\*{3}[0-9]{6}\*{2}")


def is_person(company: Company) -> bool:
    """Whether the company is a natural person: a sole trader, or one of group 4."""
    nature = company.natureza_juridica
    code = (nature and nature.codigo) or ""
    return code == SOLE_TRADER or code.startswith(NATURAL_PERSONS)


def _mask_document(text: str | None) -> str | None:
    if text is not None and _OPEN_CPF.fullmatch(text):
        return f"***{text[3:9]}**"
    return text


def masked(company: AnyCompany) -> AnyCompany:
    """The company as callers without the partner opt-in may see it (specification, Partners)."""
    name = mask_cpf_in_text(company.nome_empresarial)
    trade_name = mask_cpf_in_text(company.nome_fantasia)
    partners = tuple([_masked_partner(partner) for partner in company.socios])
    before = company.nome_empresarial, company.nome_fantasia, company.socios
    if (name, trade_name, partners) != before:  # of most: what is equal is not copied
        company = msgspec.structs.replace(
            company, nome_empresarial=name, nome_fantasia=trade_name, socios=partners
        )
    return with_masked_texts(company, _FREE_TEXTS, _sources_of_cpfs(company))


# What people typed besides names: sole traders put their CPF there, too.
_FREE_TEXTS = (
    "tipo_logradouro",
    "logradouro",
    "numero",
    "complemento",
    "bairro",
    "endereco_eletronico",
    "ente_federativo_responsavel",
    "situacao_especial",
)


def _sources_of_cpfs(company: Company) -> Iterator[str | None]:
    """Yield the texts that may hold a CPF which is to be masked everywhere."""
    yield company.nome_empresarial
    yield company.nome_fantasia
    for partner in company.socios:
        yield partner.cpf_cnpj_socio
        yield partner.documento_representante_legal


def _masked_partner(partner: Partner) -> Partner:
    name = mask_cpf_in_text(partner.nome)
    document = _mask_document(partner.cpf_cnpj_socio)
    of_representative = _mask_document(partner.documento_representante_legal)
    representative = mask_cpf_in_text(partner.nome_representante_legal)
    if (name, document, of_representative, representative) == (
        partner.nome,
        partner.cpf_cnpj_socio,
        partner.documento_representante_legal,
        partner.nome_representante_legal,
    ):
        return partner
    return msgspec.structs.replace(
        partner,
        nome=name,
        cpf_cnpj_socio=document,
        documento_representante_legal=of_representative,
        nome_representante_legal=representative,
    )


def uniform(company: Company) -> Company:
    """The company as it is said whatever the source (ADR 0024).

    Abroad the registry knows no city but `EXTERIOR`. Partners stand in the order in which they
    entered, then by name; those whose entry is not known come last.
    """
    city = ABROAD_CITY if company.uf == ABROAD_UF else company.municipio
    partners = company.socios
    if len(partners) > 1:
        partners = tuple(sorted(partners, key=_seniority))
    if city == company.municipio and partners == company.socios:
        return company
    return msgspec.structs.replace(company, municipio=city, socios=partners)


def _seniority(partner: Partner) -> tuple[str, str, str]:
    """What all sources say alike of a partner, masked or not, with accents or without."""
    plain = unaccented(mask_cpf_in_text(partner.nome) or "")
    document = partner.cpf_cnpj_socio or ""
    shown = document[3:9] if len(document) == CPF_LENGTH else document
    return partner.data_entrada_sociedade or _NOBODY_KNOWS, plain, shown


def hides_a_partner(company: Company) -> bool:
    """Whether a partner's CPF is masked, so that this cannot answer an opted-in question."""
    return any(
        document is not None and _MASKED_CPF.fullmatch(document) is not None
        for partner in company.socios
        for document in (partner.cpf_cnpj_socio, partner.documento_representante_legal)
    )
