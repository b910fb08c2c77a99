"""Minha Receita, and BrasilAPI, which hands its answers on (`public-cnpj-apis.md`, 1 and 2)."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from balcao.core.company import Coded, Partner, TaxRegime
from balcao.core.documents import Cnpj
from balcao.core.errors import CnpjNotFound, InvalidCnpj, MethodNotAllowed
from balcao.core.month_detail import PartnerDetail, partners_with_details
from balcao.core.personal import mask_cpf_in_text
from balcao.http.compat.api import CompatAnswer, CompatApi, CompatInput, RefusedLookup, as_json
from balcao.http.compat.formats import (
    AGE_BANDS,
    IDENTIFIERS,
    NO_CPF,
    SIZES,
    STATUSES,
    day_of,
    number,
    phones_of,
)

_NOT_INFORMED = "NÃO INFORMADO"


class FlatActivity(msgspec.Struct, frozen=True):
    """A secondary activity."""

    codigo: int | None
    descricao: str | None


# Their values in place of missing ones.
_NO_ACTIVITY = FlatActivity(0, "")


class FlatPartner(msgspec.Struct, frozen=True):
    """A partner."""

    identificador_de_socio: int | None
    nome_socio: str
    cnpj_cpf_do_socio: str
    codigo_qualificacao_socio: int | None
    qualificacao_socio: str | None
    data_entrada_sociedade: str | None
    codigo_pais: int | None
    pais: str | None
    cpf_representante_legal: str | None
    nome_representante_legal: str
    codigo_qualificacao_representante_legal: int | None
    qualificacao_representante_legal: str | None
    codigo_faixa_etaria: int | None
    faixa_etaria: str | None


class FlatRegime(msgspec.Struct, frozen=True):
    """A form of taxation in a year."""

    ano: int
    cnpj_da_scp: str | None
    forma_de_tributacao: str
    quantidade_de_escrituracoes: int


class FlatCompany(msgspec.Struct, frozen=True, kw_only=True):
    """The body."""

    cnpj: str
    identificador_matriz_filial: int | None
    descricao_identificador_matriz_filial: str | None
    nome_fantasia: str
    situacao_cadastral: int | None
    descricao_situacao_cadastral: str | None
    data_situacao_cadastral: str | None
    motivo_situacao_cadastral: int | None
    descricao_motivo_situacao_cadastral: str | None
    nome_cidade_no_exterior: str
    codigo_pais: int | None
    pais: str | None
    data_inicio_atividade: str | None
    cnae_fiscal: int | None
    cnae_fiscal_descricao: str | None
    descricao_tipo_de_logradouro: str
    logradouro: str
    numero: str
    complemento: str
    bairro: str
    cep: str
    uf: str
    codigo_municipio: int | None
    codigo_municipio_ibge: int | None
    municipio: str | None
    ddd_telefone_1: str
    ddd_telefone_2: str
    ddd_fax: str
    email: str | None
    situacao_especial: str
    data_situacao_especial: str | None
    cnaes_secundarios: Sequence[FlatActivity]
    razao_social: str
    opcao_pelo_simples: bool | None
    data_opcao_pelo_simples: str | None
    data_exclusao_do_simples: str | None
    opcao_pelo_mei: bool | None
    data_opcao_pelo_mei: str | None
    data_exclusao_do_mei: str | None
    codigo_natureza_juridica: int | None
    natureza_juridica: str | None
    qualificacao_do_responsavel: int | None
    capital_social: int | Decimal | None
    codigo_porte: int | None
    porte: str | None
    ente_federativo_responsavel: str
    qsa: Sequence[FlatPartner]
    regime_tributario: Sequence[FlatRegime] | None


def flat(found: CompatInput) -> FlatCompany:
    """Return the answer in the shape that both services share."""
    company, month = found.company, found.month
    main, nature = company.atividade_economica_principal, company.natureza_juridica
    phones = ["".join(phone) for phone in phones_of(company)]
    simples, mei = company.simples, company.mei
    size, size_text = number(SIZES.get(company.porte)), company.porte
    if company.porte is None and month.size is not None:
        size, size_text = 0, _NOT_INFORMED
    return FlatCompany(
        cnpj=company.cnpj,
        identificador_matriz_filial=number(IDENTIFIERS.get(company.identificador_matriz_filial)),
        descricao_identificador_matriz_filial=company.identificador_matriz_filial,
        nome_fantasia=company.nome_fantasia or "",
        situacao_cadastral=number(STATUSES.get(company.situacao_cadastral)),
        descricao_situacao_cadastral=company.situacao_cadastral,
        data_situacao_cadastral=company.data_da_situacao_cadastral,
        motivo_situacao_cadastral=_code(company.motivo_situacao_cadastral),
        descricao_motivo_situacao_cadastral=_text(company.motivo_situacao_cadastral),
        nome_cidade_no_exterior=month.city_abroad or "",
        codigo_pais=_code(month.country),
        pais=_text(month.country),
        data_inicio_atividade=company.data_de_abertura,
        cnae_fiscal=_code(main),
        cnae_fiscal_descricao=_text(main),
        descricao_tipo_de_logradouro=company.tipo_logradouro or "",
        logradouro=company.logradouro or "",
        numero=company.numero or "",
        complemento=company.complemento or "",
        bairro=company.bairro or "",
        cep=company.cep or "",
        uf=company.uf or "",
        codigo_municipio=number(month.city_code),
        codigo_municipio_ibge=number(company.codigo_municipio_ibge),
        municipio=company.municipio,
        ddd_telefone_1=phones[0] if phones else "",
        ddd_telefone_2=phones[1] if len(phones) > 1 else "",
        ddd_fax="".join(month.fax or ()),
        email=company.endereco_eletronico,
        situacao_especial=company.situacao_especial or "",
        data_situacao_especial=company.data_da_situacao_especial,
        cnaes_secundarios=[
            FlatActivity(_code(each), each.descricao)
            for each in company.atividades_economicas_secundarias
        ]
        or [_NO_ACTIVITY],
        razao_social=company.nome_empresarial or "",
        opcao_pelo_simples=simples.optante if simples else None,
        data_opcao_pelo_simples=simples.desde if simples else None,
        data_exclusao_do_simples=simples.ate if simples else None,
        opcao_pelo_mei=mei.optante if mei else None,
        data_opcao_pelo_mei=mei.desde if mei else None,
        data_exclusao_do_mei=mei.ate if mei else None,
        codigo_natureza_juridica=_code(nature),
        natureza_juridica=_text(nature),
        qualificacao_do_responsavel=_code(month.responsible),
        capital_social=_amount(company.capital_social),
        codigo_porte=size,
        porte=size_text,
        ente_federativo_responsavel=company.ente_federativo_responsavel or "",
        qsa=[_partner(*each) for each in partners_with_details(company, month)],
        regime_tributario=[_regime(each) for each in company.regime_tributario or ()] or None,
    )


def _regime(regime: TaxRegime) -> FlatRegime:
    partnership = regime.cnpj_da_scp
    return FlatRegime(
        regime.ano,
        _punctuated(partnership) if partnership else None,
        regime.forma_de_tributacao,
        regime.quantidade_de_escrituracoes,
    )


def _partner(partner: Partner, known: PartnerDetail | None) -> FlatPartner:
    role = known.representative_qualification if known else None
    return FlatPartner(
        identificador_de_socio=number(known.kind) if known else None,
        nome_socio=partner.nome or "",
        cnpj_cpf_do_socio=partner.cpf_cnpj_socio or "",
        codigo_qualificacao_socio=_code(known.qualification) if known else None,
        qualificacao_socio=partner.qualificacao_socio,
        data_entrada_sociedade=day_of(partner.data_entrada_sociedade),
        codigo_pais=_code(known.country) if known else None,
        pais=partner.pais,
        cpf_representante_legal=partner.documento_representante_legal
        or (NO_CPF if known else None),
        nome_representante_legal=partner.nome_representante_legal or "",
        codigo_qualificacao_representante_legal=_code(role),
        qualificacao_representante_legal=_text(role) if _code(role) else None,
        codigo_faixa_etaria=number(AGE_BANDS.get(partner.faixa_etaria)),
        faixa_etaria=partner.faixa_etaria,
    )


def _code(coded: Coded | None) -> int | None:
    return None if coded is None else number(coded.codigo)


def _text(coded: Coded | None) -> str | None:
    return None if coded is None else coded.descricao


def _amount(amount: Decimal | None) -> int | Decimal | None:
    if amount is None:
        return None
    return int(amount) if amount == amount.to_integral_value() else amount


class MinhaReceita(CompatApi):
    """`GET /{cnpj}`; errors are `{"message"}`."""

    name = "minhareceita"
    path = ""

    def body(self, found: CompatInput) -> FlatCompany:
        return flat(found)

    def refuse(self, refused: RefusedLookup) -> CompatAnswer:
        return as_json(refused.status, {"message": message_of(refused)})


def message_of(refused: RefusedLookup) -> str:
    """Return the original service's message, or ours where it has none."""
    match refused.code:
        case InvalidCnpj.code:
            # A CPF is never repeated, not even to the client that sent it.
            return f"CNPJ {mask_cpf_in_text(refused.asked)} inválido."
        case CnpjNotFound.code:
            return f"CNPJ {_punctuated(refused.asked)} não encontrado."
        case MethodNotAllowed.code:
            return "Essa URL aceita apenas o método GET."
        case _:
            return refused.message


def _punctuated(text: str) -> str:
    try:
        return Cnpj.parse(text).punctuated
    except InvalidCnpj:
        return text


class BrasilApi(CompatApi):
    """`GET /api/cnpj/v1/{cnpj}`; errors are `{"message","type","name"}`."""

    name = "brasilapi"
    path = "api/cnpj/v1/"

    def body(self, found: CompatInput) -> FlatCompany:
        return flat(found)

    def refuse(self, refused: RefusedLookup) -> CompatAnswer:
        status = min(500, refused.status)  # failures behind them become a 500
        kind, name = _KINDS.get(status, _KINDS[400])
        return as_json(status, {"message": message_of(refused), "type": kind, "name": name})


# Their kinds of errors. Other refusals are bad requests.
_KINDS: Mapping[int, tuple[str, str]] = {
    400: ("bad_request", "BadRequestError"),
    401: ("unauthorized", "UnauthorizedError"),
    404: ("not_found", "NotFoundError"),
    500: ("internal_error", "InternalError"),
}
