"""Events about watched companies and registrations."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from balcao.core.company import Coded, TaxOption
from balcao.core.described import doc
from balcao.core.event_types.contract import EXAMPLE_ITEM, EventType, ItemData

_OLD, _NEW = "O valor anterior.", "O novo valor."
_OF_PERSON = " Nulo se é uma pessoa."


class SpecialStatus(msgspec.Struct, frozen=True):
    """A change of a company's special status."""

    de: Annotated[str | None, doc(_OLD)]
    para: Annotated[str | None, doc(_NEW)]


class StatusData(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.situacao`."""

    de: Annotated[str | None, doc("A situação cadastral anterior.")]
    para: Annotated[str | None, doc("A nova situação cadastral.")]
    motivo: Annotated[Coded | None, doc("O motivo da situação.")]
    data_situacao: Annotated[str | None, doc("A data da situação.", format="date")]
    grave: Annotated[bool, doc("Se a nova situação não é ATIVA.")]
    situacao_especial: Annotated[
        SpecialStatus | None, doc("A mudança da situação especial. Nulo se não mudou.")
    ]


class TextChange(ItemData, frozen=True, kw_only=True):
    """The data of a change of one field that is a text."""

    de: Annotated[str | None, doc(_OLD + _OF_PERSON)]
    para: Annotated[str | None, doc(_NEW + _OF_PERSON)]


class Address(msgspec.Struct, frozen=True):
    """An address, as the registry lookup writes it."""

    tipo_logradouro: Annotated[str | None, doc("Tipo do logradouro.")]
    logradouro: Annotated[str | None, doc("Nome do logradouro.")]
    numero: Annotated[str | None, doc("Número.")]
    complemento: Annotated[str | None, doc("Complemento.")]
    bairro: Annotated[str | None, doc("Bairro.")]
    cep: Annotated[str | None, doc("CEP, só dígitos.")]
    municipio: Annotated[str | None, doc("Município.")]
    uf: Annotated[str | None, doc("UF.")]
    codigo_municipio_ibge: Annotated[str | None, doc("Código do IBGE do município.")]


class AddressChange(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.endereco`."""

    de: Annotated[Address | None, doc(_OLD + _OF_PERSON)]
    para: Annotated[Address | None, doc(_NEW + _OF_PERSON)]


class Activities(msgspec.Struct, frozen=True):
    """A company's activities, as the registry lookup writes them."""

    atividade_economica_principal: Annotated[Coded | None, doc("Atividade principal (CNAE).")]
    atividades_economicas_secundarias: Annotated[
        tuple[Coded, ...], doc("Atividades secundárias (CNAE).")
    ]


class ActivitiesChange(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.atividade`."""

    de: Annotated[Activities, doc(_OLD)]
    para: Annotated[Activities, doc(_NEW)]


class CapitalChange(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.capital`."""

    de: Annotated[float | None, doc("O capital social anterior, em reais.")]
    para: Annotated[float | None, doc("O novo capital social, em reais.")]


class CodedChange(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.natureza`."""

    de: Annotated[Coded | None, doc(_OLD)]
    para: Annotated[Coded | None, doc(_NEW)]


class Contact(msgspec.Struct, frozen=True):
    """A company's contact, as the registry lookup writes it."""

    telefone: Annotated[str | None, doc("Telefone.")]
    endereco_eletronico: Annotated[str | None, doc("E-mail.")]


class ContactChange(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.contato`."""

    de: Annotated[Contact | None, doc(_OLD + _OF_PERSON)]
    para: Annotated[Contact | None, doc(_NEW + _OF_PERSON)]


class ListedPartner(msgspec.Struct, frozen=True):
    """A partner that entered or left."""

    nome: Annotated[str | None, doc("Nome do sócio.")]
    cnpj: Annotated[str | None, doc("CNPJ do sócio. Nulo se é uma pessoa física.")]
    qualificacao: Annotated[str | None, doc("Qualificação na empresa.")]
    desde: Annotated[str | None, doc("Data de entrada na sociedade.")]


class PartnerStanding(msgspec.Struct, frozen=True):
    """The fields of a partner that may change."""

    qualificacao: Annotated[str | None, doc("Qualificação na empresa.")]
    desde: Annotated[str | None, doc("Data de entrada na sociedade.")]
    pais: Annotated[str | None, doc("País, de sócios do exterior.")]
    representante: Annotated[str | None, doc("Nome do representante legal.")]


class ChangedPartner(msgspec.Struct, frozen=True):
    """A partner that stayed, with other fields."""

    nome: Annotated[str | None, doc("Nome do sócio.")]
    cnpj: Annotated[str | None, doc("CNPJ do sócio. Nulo se é uma pessoa física.")]
    de: Annotated[PartnerStanding, doc(_OLD)]
    para: Annotated[PartnerStanding, doc(_NEW)]


class PartnersData(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.socios`."""

    entraram: Annotated[tuple[ListedPartner, ...], doc("Os sócios que entraram.")]
    sairam: Annotated[tuple[ListedPartner, ...], doc("Os sócios que saíram.")]
    alterados: Annotated[tuple[ChangedPartner, ...], doc("Os sócios com dados alterados.")]


class TaxOptionChange(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.simples` and `empresa.mei`."""

    de: Annotated[TaxOption | None, doc("A opção anterior.")]
    para: Annotated[TaxOption | None, doc("A nova opção.")]
    desde: Annotated[str | None, doc("Data da opção ou da exclusão.", format="date")]


class BranchesData(ItemData, frozen=True, kw_only=True):
    """The data of `empresa.filial`."""

    abertas: Annotated[tuple[str, ...], doc("CNPJs das filiais abertas.")]
    baixadas: Annotated[tuple[str, ...], doc("CNPJs das filiais baixadas.")]


class RegistrationStatus(msgspec.Struct, frozen=True):
    """The status of a state registration."""

    ativa: Annotated[bool | None, doc("Se a inscrição está ativa.")]
    situacao_pj: Annotated[str | None, doc("A situação, como na consulta.")]
    tipo_ie: Annotated[str | None, doc("O tipo da inscrição.")]


class RegistrationData(ItemData, frozen=True, kw_only=True):
    """The data of `inscricao.situacao`."""

    uf: Annotated[str, doc("A UF.")]
    inscricao: Annotated[str | None, doc("O número da inscrição estadual.")]
    de: Annotated[RegistrationStatus | None, doc("A situação anterior. Nulo se não havia.")]
    para: Annotated[RegistrationStatus | None, doc("A nova situação. Nulo se não há mais.")]
    grave: Annotated[bool, doc("Se há um impedimento ou a inscrição deixou de ser ativa.")]


class SuframaData(ItemData, frozen=True, kw_only=True):
    """The data of `suframa.situacao`."""

    de: Annotated[Coded | None, doc("A situação anterior. Nulo se não havia.")]
    para: Annotated[Coded | None, doc("A nova situação. Nulo se não há mais.")]
    grave: Annotated[bool, doc("Se a inscrição deixou de ser ativa.")]


# Members of every example.
_HEAD: Mapping[str, Any] = {
    "item": EXAMPLE_ITEM,
    "cnpj": "90030001000171",
    "pessoa": False,
    "fonte": "snapshot",
    "dados_de": "2026-07-11",
    "competencia": "2026-07",
    "sequencia": 4,
}
_LOOKUP = {**_HEAD, "dados_de": "2026-08-08T10:15:30.120-03:00", "competencia": None}
_BY = "na mudança do mês dos dados abertos ou em uma consulta sua."
_SHOP = Coded("4721102", "Padaria e confeitaria com predominância de revenda")

COMPANY_TYPES: Sequence[EventType] = (
    EventType(
        "empresa.situacao",
        f"A situação cadastral mudou, {_BY}",
        StatusData(
            **_HEAD,
            de="ATIVA",
            para="INAPTA",
            motivo=Coded("63", "OMISSÃO DE DECLARAÇÕES"),
            data_situacao="2026-07-02",
            grave=True,
            situacao_especial=None,
        ),
    ),
    EventType(
        "empresa.nome",
        f"O nome empresarial mudou, {_BY}",
        TextChange(**_HEAD, de="PADARIA MODELO LTDA", para="PADARIA E CAFÉ MODELO LTDA"),
    ),
    EventType(
        "empresa.nome_fantasia",
        f"O nome fantasia mudou, {_BY}",
        TextChange(**_HEAD, de="PÃO DA ESQUINA", para="CAFÉ DA ESQUINA"),
    ),
    EventType(
        "empresa.endereco",
        f"O endereço mudou, {_BY}",
        AddressChange(
            **_HEAD,
            de=Address(
                *("RUA", "DAS FLORES", "10", None, "CENTRO"),
                *("01001000", "SAO PAULO", "SP", "3550308"),
            ),
            para=Address(
                *("AVENIDA", "BRASIL", "200", "SALA 3", "CENTRO"),
                *("13010000", "CAMPINAS", "SP", "3509502"),
            ),
        ),
    ),
    EventType(
        "empresa.atividade",
        f"A atividade principal ou as secundárias mudaram, {_BY}",
        ActivitiesChange(
            **_HEAD,
            de=Activities(_SHOP, ()),
            para=Activities(_SHOP, (Coded("5611203", "Lanchonetes e similares"),)),
        ),
    ),
    EventType(
        "empresa.capital",
        f"O capital social mudou, {_BY}",
        CapitalChange(**_HEAD, de=10_000.0, para=50_000.0),
    ),
    EventType(
        "empresa.porte",
        f"O porte mudou, {_BY}",
        TextChange(**_HEAD, de="MICRO EMPRESA", para="EMPRESA DE PEQUENO PORTE"),
    ),
    EventType(
        "empresa.natureza",
        f"A natureza jurídica mudou, {_BY}",
        CodedChange(
            **_HEAD,
            de=Coded("2062", "Sociedade Empresária Limitada"),
            para=Coded("2054", "Sociedade Anônima Fechada"),
        ),
    ),
    EventType(
        "empresa.contato",
        f"O telefone ou o e-mail mudou, {_BY}",
        ContactChange(
            **_HEAD,
            de=Contact("1130000000", None),
            para=Contact("1930000000", "contato@modelo.example"),
        ),
    ),
    EventType(
        "empresa.socios",
        f"O quadro de sócios mudou, {_BY}",
        PartnersData(
            **_HEAD,
            entraram=(ListedPartner("CARLA EXEMPLO", None, "Sócio-Administrador", "2026-07-02"),),
            sairam=(ListedPartner("HOLDING MODELO SA", "90010001000100", "Sócio", "2019-03-15"),),
            alterados=(),
        ),
    ),
    EventType(
        "empresa.simples",
        f"A opção pelo Simples Nacional mudou, {_BY}",
        TaxOptionChange(
            **_HEAD,
            de=TaxOption(True, "2019-01-01", None),
            para=TaxOption(False, "2019-01-01", "2026-06-30"),
            desde="2026-06-30",
        ),
    ),
    EventType(
        "empresa.mei",
        f"A opção pelo MEI mudou, {_BY}",
        TaxOptionChange(
            **_HEAD,
            de=TaxOption(False, None, None),
            para=TaxOption(True, "2026-07-01", None),
            desde="2026-07-01",
        ),
    ),
    EventType(
        "empresa.filial",
        "Filiais foram abertas ou baixadas, na mudança do mês, se o item tem `filiais` em"
        " `vigiar`.",
        BranchesData(**_HEAD, abertas=("90030006000366",), baixadas=("90030006000285",)),
    ),
    EventType(
        "empresa.sumiu",
        "O CNPJ deixou de existir nos dados abertos, em um mês que está completo.",
        ItemData(**_HEAD),
    ),
    EventType(
        "empresa.apareceu",
        "O CNPJ passou a existir nos dados abertos, em um mês que está completo.",
        ItemData(**_HEAD),
    ),
    EventType(
        "inscricao.situacao",
        "A situação de uma inscrição estadual mudou, em uma consulta sua.",
        RegistrationData(
            **{**_LOOKUP, "fonte": "sandbox"},
            uf="SP",
            inscricao="110042490114",
            de=RegistrationStatus(True, "Sem restrição", "IE Normal"),
            para=RegistrationStatus(True, "Bloqueado como destinatário na UF", "IE Normal"),
            grave=True,
        ),
    ),
    EventType(
        "suframa.situacao",
        "A situação da inscrição na Suframa mudou, em uma consulta sua.",
        SuframaData(
            **{**_LOOKUP, "fonte": "suframa"},
            de=Coded("1", "ATIVA"),
            para=Coded("2", "BLOQUEADA"),
            grave=True,
        ),
    ),
)
