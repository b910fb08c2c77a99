"""Registry data of an establishment and its company, the same type for every source.

Field names and meanings: specification, "Company registry data"; texts: contract 8. The answer's
`response` is this type as JSON.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Annotated, Self, TypeVar

import msgspec

from balcao.core.described import described, doc
from balcao.core.personal import mask_cpf_in_text, with_masked_texts
from balcao.core.questions import Inquiry, Record
from balcao.core.text import unaccented

AnyCompany = TypeVar("AnyCompany", bound="Company")

PARTNERS_MAX = 10_000  # real companies have thousands (contract 9.5)


@described("Codigo", "Um código de uma tabela oficial e sua descrição.")
class Coded(msgspec.Struct, frozen=True, gc=False):
    """A code of an official table; the description is null if the table has none."""

    codigo: Annotated[str | None, doc("O código, como texto.")]
    descricao: Annotated[str | None, doc("A descrição da tabela.")]


@described("Socio", "Um sócio ou administrador.")
class Partner(msgspec.Struct, frozen=True, gc=False):
    """A partner. A natural person's document is `***456789**` without the opt-in."""

    nome: Annotated[str | None, doc("Nome ou nome empresarial.")] = None
    cpf_cnpj_socio: Annotated[
        str | None,
        doc("CNPJ ou CPF mascarado, como `***456789**`. O CPF completo só com `optin=1`."),
    ] = None
    qualificacao_socio: Annotated[str | None, doc("Qualificação na empresa.")] = None
    pais: Annotated[str | None, doc("País, de sócios do exterior.")] = None
    documento_representante_legal: Annotated[
        str | None, doc("CPF do representante, mascarado como acima.")
    ] = None
    nome_representante_legal: Annotated[str | None, doc("Nome do representante legal.")] = None
    faixa_etaria: Annotated[str | None, doc("`Entre 41 a 50 anos`, …, `Não se aplica`.")] = None
    data_entrada_sociedade: Annotated[
        str | None, doc("Entrada na sociedade, `YYYY-MM-DD HH:mm:ss`.")
    ] = None


@described("OpcaoTributaria", "A opção da empresa pelo Simples Nacional ou pelo MEI.")
class TaxOption(msgspec.Struct, frozen=True, gc=False):
    """The company's option for Simples or for MEI; None: the source does not give it."""

    optante: Annotated[bool | None, doc("Se é optante. Nulo: não informado.")] = None
    desde: Annotated[str | None, doc("Data da opção.", format="date")] = None
    ate: Annotated[str | None, doc("Data da exclusão.", format="date")] = None


@described(
    "RegimeTributario",
    "Uma forma de tributação que a empresa declarou em um ano, segundo a Receita Federal.",
)
class TaxRegime(msgspec.Struct, frozen=True, gc=False):
    """A form of taxation that the company declared for a year."""

    ano: Annotated[int, doc("O ano.")]
    forma_de_tributacao: Annotated[
        str,
        doc("`LUCRO REAL`, `LUCRO PRESUMIDO`, `LUCRO ARBITRADO`, `IMUNE DO IRPJ`, …"),
    ]
    quantidade_de_escrituracoes: Annotated[
        int, doc("Quantas escriturações contábeis fiscais a empresa entregou.")
    ]
    cnpj_da_scp: Annotated[
        str | None,
        doc("CNPJ da sociedade em conta de participação declarada; nulo: a própria empresa."),
    ] = None


@described(
    "Empresa",
    "Dados cadastrais de um estabelecimento e de sua empresa. Sem informação, o campo é nulo ou"
    " vazio.",
)
class Company(Record, frozen=True, kw_only=True):
    """An establishment with its company's data. Dates are YYYY-MM-DD, codes are text."""

    cnpj: Annotated[str, doc("CNPJ, sem pontuação.")]
    identificador_matriz_filial: Annotated[str | None, doc("`MATRIZ` ou `FILIAL`.")] = None
    data_de_abertura: Annotated[str | None, doc("Data de abertura.", format="date")] = None
    nome_empresarial: Annotated[str | None, doc("Nome empresarial (razão social).")] = None
    nome_fantasia: Annotated[str | None, doc("Nome fantasia.")] = None
    atividade_economica_principal: Annotated[Coded | None, doc("Atividade principal (CNAE).")] = (
        None
    )
    atividades_economicas_secundarias: Annotated[
        tuple[Coded, ...], doc("Atividades secundárias (CNAE).")
    ] = ()
    natureza_juridica: Annotated[Coded | None, doc("Natureza jurídica.")] = None
    tipo_logradouro: Annotated[str | None, doc("Tipo do logradouro: RUA, AVENIDA, …")] = None
    logradouro: Annotated[str | None, doc("Nome do logradouro.")] = None
    numero: Annotated[str | None, doc("Número no logradouro.")] = None
    complemento: Annotated[str | None, doc("Complemento do endereço.")] = None
    bairro: Annotated[str | None, doc("Bairro.")] = None
    municipio: Annotated[str | None, doc("Município.")] = None
    cep: Annotated[str | None, doc("CEP, só dígitos.")] = None
    uf: Annotated[str | None, doc("Sigla da unidade da federação.")] = None
    endereco_eletronico: Annotated[str | None, doc("E-mail de contato.")] = None
    telefone: Annotated[
        str | None, doc("Telefone com DDD, só dígitos. Dois telefones são separados por ` / `.")
    ] = None
    ente_federativo_responsavel: Annotated[str | None, doc("Ente federativo responsável.")] = None
    situacao_cadastral: Annotated[
        str | None, doc("`NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`.")
    ] = None
    data_da_situacao_cadastral: Annotated[
        str | None, doc("Data da situação cadastral.", format="date")
    ] = None
    situacao_especial: Annotated[str | None, doc("Situação especial.")] = None
    data_da_situacao_especial: Annotated[
        str | None, doc("Data da situação especial.", format="date")
    ] = None
    porte: Annotated[
        str | None, doc("`MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`.")
    ] = None
    socios: Annotated[tuple[Partner, ...], doc("Quadro de sócios e administradores.")] = ()
    simples: Annotated[
        TaxOption | None,
        doc(
            "Opção pelo Simples Nacional. Nula se a fonte não informa: o cadastro público só tem"
            " empresas que alguma vez optaram."
        ),
    ] = None
    mei: Annotated[TaxOption | None, doc("Opção pelo MEI. Nula como `simples`.")] = None
    capital_social: Annotated[Decimal | None, doc("Capital social, em reais.")] = None
    motivo_situacao_cadastral: Annotated[
        Coded | None, doc("Motivo da situação cadastral; `00` é sem motivo.")
    ] = None
    # Before the last field, by which earlier versions recognise an answer that has all fields.
    regime_tributario: Annotated[
        tuple[TaxRegime, ...] | None,
        doc(
            "Formas de tributação da empresa, por ano. Vazia: a Receita Federal não publicou"
            " nenhuma. Nula: não se sabe, se a fonte não informa ou os arquivos não foram"
            " importados."
        ),
    ] = None
    codigo_municipio_ibge: Annotated[
        str | None, doc("Código do município no IBGE, 7 dígitos. Nulo no exterior.")
    ] = None

    def flaw(self, inquiry: Inquiry) -> str | None:
        if len(self.socios) > PARTNERS_MAX:
            return "resposta com sócios demais"
        needed = ("nome_empresarial", "situacao_cadastral")
        if (another := self.another(self.cnpj, inquiry, needed)) is not None:
            return another
        if inquiry.full_partners and has_masked_partner(self):
            return "ocultou documentos de sócios que deveria informar"
        return None

    def as_allowed(self, inquiry: Inquiry) -> Self:
        return self if inquiry.full_partners else masked(self)


class DatedCompany(Company, frozen=True, kw_only=True):
    """A `Company` from a copy of the registry. `data_base`: the day of its data (contract 9.3).

    YYYY-MM-DD, or None if the source does not give it. It is the last member of the JSON.
    """

    data_base: str | None


HEAD_OFFICE = "MATRIZ"
IDENTIFIER_TEXTS = {"1": HEAD_OFFICE, "2": "FILIAL"}
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
# Found in the JSON of a company that is a natural person (ADR 0049).
PERSON_PATTERNS = tuple(
    f'"natureza_juridica":{{"codigo":"{code}'.encode() for code in (SOLE_TRADER, NATURAL_PERSONS)
)

NO_REASON = "00"  # of a status
ABROAD_UF, ABROAD_CITY = "EX", "EXTERIOR"
_CAPITAL_DIGITS_MAX = 16  # the registry's have up to 14; a longer one is a typing error

CPF_LENGTH = 11
_UNKNOWN_DAY = "9999"  # sorts after every day

_OPEN_CPF = re.compile(r"[0-9]{11}")
_MASKED_CPF = re.compile(r"\*{3}[0-9]{6}\*{2}")


def capital_of(text: str) -> Decimal | None:
    """Parse a capital in reais, such as `29500.00`; None: not a number, or too long."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    if not amount.is_finite() or amount.adjusted() >= _CAPITAL_DIGITS_MAX:
        return None
    return round(amount, 2)


def is_person(company: Company) -> bool:
    """Return whether the company is a natural person: a sole trader, or one of group 4."""
    nature = company.natureza_juridica
    code = (nature and nature.codigo) or ""
    return code == SOLE_TRADER or code.startswith(NATURAL_PERSONS)


def _mask_document(text: str | None) -> str | None:
    if text is not None and _OPEN_CPF.fullmatch(text):
        return f"***{text[3:9]}**"
    return text


def masked(company: AnyCompany) -> AnyCompany:
    """Return the company as callers without the partner opt-in may see it (specification)."""
    name = mask_cpf_in_text(company.nome_empresarial)
    trade_name = mask_cpf_in_text(company.nome_fantasia)
    partners = tuple([_masked_partner(partner) for partner in company.socios])
    before = company.nome_empresarial, company.nome_fantasia, company.socios
    if (name, trade_name, partners) != before:  # for most it is equal, and need not be copied
        company = msgspec.structs.replace(
            company, nome_empresarial=name, nome_fantasia=trade_name, socios=partners
        )
    return with_masked_texts(company, _FREE_TEXTS, _sources_of_cpfs(company))


# Other free text in which sole traders put their CPF.
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
    """Yield the fields from which CPFs are collected, to be masked in every field."""
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


def normalized(company: Company) -> Company:
    """Return the company in the form common to all sources (ADR 0024).

    The city of a company abroad is `EXTERIOR`. Partners are sorted by entry, then by name; those
    without a day of entry come last.
    """
    city = ABROAD_CITY if company.uf == ABROAD_UF else company.municipio
    partners = company.socios
    if len(partners) > 1:
        partners = tuple(sorted(partners, key=_seniority))
    if city == company.municipio and partners == company.socios:
        return company
    return msgspec.structs.replace(company, municipio=city, socios=partners)


def _seniority(partner: Partner) -> tuple[str, str, str]:
    """Return a sort key that is the same for every source, with or without masks and accents."""
    plain = unaccented(mask_cpf_in_text(partner.nome) or "")
    document = partner.cpf_cnpj_socio or ""
    shown = document[3:9] if len(document) == CPF_LENGTH else document
    return partner.data_entrada_sociedade or _UNKNOWN_DAY, plain, shown


def has_masked_partner(company: Company) -> bool:
    """Return whether a partner's CPF is masked, which is not acceptable with the opt-in."""
    return any(
        document is not None and _MASKED_CPF.fullmatch(document) is not None
        for partner in company.socios
        for document in (partner.cpf_cnpj_socio, partner.documento_representante_legal)
    )
