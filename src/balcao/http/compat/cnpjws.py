"""cnpj.ws: `GET /cnpj/{cnpj}`, nested (contract 16.3)."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from balcao.core.activities import section_of
from balcao.core.company import ABROAD_UF, NO_REASON, Coded, Company, Partner, TaxOption
from balcao.core.federation import IBGE_CODES
from balcao.core.month_detail import MonthDetail, PartnerDetail, partners_with_details
from balcao.core.search_record import division_of
from balcao.http.compat.api import CompatAnswer, CompatApi, CompatInput, RefusedLookup, as_json
from balcao.http.compat.formats import (
    BRAZIL,
    NO_CPF,
    SIZES,
    activity,
    day_of,
    midnight,
    number,
    phones_of,
)


class NestedCode(msgspec.Struct, frozen=True):
    """A row of a table whose codes are text."""

    id: str | None
    descricao: str | None


class NestedNumber(msgspec.Struct, frozen=True):
    """A row of a table whose codes are numbers."""

    id: int | None
    descricao: str | None


class NestedActivity(msgspec.Struct, frozen=True):
    """An activity, and the groups that it is in."""

    id: str | None
    secao: str | None
    divisao: str | None
    grupo: str | None
    classe: str | None
    subclasse: str | None
    descricao: str | None


class NestedCountry(msgspec.Struct, frozen=True):
    """A country. Of those abroad only the Receita's code and name are known."""

    id: str | None
    iso2: str | None
    iso3: str | None
    nome: str | None
    comex_id: str | None


class NestedState(msgspec.Struct, frozen=True):
    """A UF. `id` is their own number."""

    id: int | None
    nome: str | None
    sigla: str | None
    ibge_id: int | None


class NestedCity(msgspec.Struct, frozen=True):
    """A municipality. `id` is their own number."""

    id: int | None
    nome: str | None
    ibge_id: int | None
    siafi_id: str | None


class NestedPartner(msgspec.Struct, frozen=True):
    """A partner."""

    cpf_cnpj_socio: str | None
    nome: str | None
    tipo: str | None
    data_entrada: str | None
    cpf_representante_legal: str | None
    nome_representante: str | None
    faixa_etaria: str | None
    atualizado_em: str | None
    pais_id: str | None
    qualificacao_socio: NestedNumber | None
    qualificacao_representante: NestedNumber | None
    pais: NestedCountry | None


class NestedSimples(msgspec.Struct, frozen=True):
    """Simples and MEI."""

    simples: str | None
    data_opcao_simples: str | None
    data_exclusao_simples: str | None
    mei: str | None
    data_opcao_mei: str | None
    data_exclusao_mei: str | None
    atualizado_em: str | None


class NestedEstablishment(msgspec.Struct, frozen=True, kw_only=True):
    """The establishment that was asked for."""

    cnpj: str
    atividades_secundarias: Sequence[NestedActivity]
    cnpj_raiz: str
    cnpj_ordem: str
    cnpj_digito_verificador: str
    tipo: str | None
    nome_fantasia: str | None
    situacao_cadastral: str | None
    data_situacao_cadastral: str | None
    data_inicio_atividade: str | None
    nome_cidade_exterior: str | None
    tipo_logradouro: str | None
    logradouro: str | None
    numero: str | None
    complemento: str | None
    bairro: str | None
    cep: str | None
    ddd1: str | None
    telefone1: str | None
    ddd2: str | None
    telefone2: str | None
    ddd_fax: str | None
    fax: str | None
    email: str | None
    situacao_especial: str | None
    data_situacao_especial: str | None
    atualizado_em: str | None
    atividade_principal: NestedActivity | None
    pais: NestedCountry | None
    estado: NestedState | None
    cidade: NestedCity | None
    motivo_situacao_cadastral: NestedNumber | None
    inscricoes_estaduais: tuple[()] = ()  # another lookup, with its own price


class NestedCompany(msgspec.Struct, frozen=True, kw_only=True):
    """The body."""

    cnpj_raiz: str
    razao_social: str | None
    capital_social: str | None
    responsavel_federativo: str
    atualizado_em: str | None
    porte: NestedCode | None
    natureza_juridica: NestedCode | None
    qualificacao_do_responsavel: NestedNumber | None
    socios: Sequence[NestedPartner]
    simples: NestedSimples | None
    estabelecimento: NestedEstablishment


_HOME = NestedCountry("1058", "BR", "BRA", "Brasil", BRAZIL)
_KINDS = {"1": "Pessoa Jurídica", "2": "Pessoa Física", "3": "Estrangeiro"}
_ABROAD_KIND = "3"
_YES_NO = {True: "Sim", False: "Não", None: None}
_UFS: Mapping[str, str] = {
    "AC": "Acre", "AL": "Alagoas", "AM": "Amazonas", "AP": "Amapá", "BA": "Bahia", "CE": "Ceará",
    "DF": "Distrito Federal", "ES": "Espírito Santo", "GO": "Goiás", "MA": "Maranhão",
    "MG": "Minas Gerais", "MS": "Mato Grosso do Sul", "MT": "Mato Grosso", "PA": "Pará",
    "PB": "Paraíba", "PE": "Pernambuco", "PI": "Piauí", "PR": "Paraná", "RJ": "Rio de Janeiro",
    "RN": "Rio Grande do Norte", "RO": "Rondônia", "RR": "Roraima", "RS": "Rio Grande do Sul",
    "SC": "Santa Catarina", "SE": "Sergipe", "SP": "São Paulo", "TO": "Tocantins",
}  # fmt: skip


class CnpjWs(CompatApi):
    """Errors are `{"status","titulo","detalhes","validacao"}`."""

    name = "cnpjws"
    path = "cnpj/"
    key_headers = (b"x_api_token",)

    def body(self, found: CompatInput) -> NestedCompany:
        company, month = found.company, found.month
        updated = midnight(found.day)
        return NestedCompany(
            cnpj_raiz=company.cnpj[:8],
            razao_social=company.nome_empresarial,
            capital_social=_amount(company.capital_social),
            responsavel_federativo=company.ente_federativo_responsavel or "",
            atualizado_em=updated,
            porte=_size(company.porte),
            natureza_juridica=_coded(company.natureza_juridica),
            qualificacao_do_responsavel=_numbered(month.responsible),
            socios=[_partner(*each, updated) for each in partners_with_details(company, month)],
            simples=_simples(company, midnight(found.simples_day)),
            estabelecimento=_establishment(company, month, updated),
        )

    def refuse(self, refused: RefusedLookup) -> CompatAnswer:
        title = _TITLES.get(refused.status, "Falha" if refused.status >= 500 else "Recusada")
        return as_json(
            refused.status,
            {
                "status": refused.status,
                "titulo": title,
                "detalhes": refused.message,
                "validacao": [],
            },
        )


_TITLES = {
    400: "Requisição inválida",
    401: "Não autorizado",
    402: "Pagamento necessário",
    403: "Não permitido",
    404: "Não encontrado",
    405: "Método não permitido",
    429: "Muitas requisições",
    503: "Indisponível",
}


def _simples(company: Company, updated: str | None) -> NestedSimples | None:
    if company.simples is None and company.mei is None:
        return None
    simples, mei = company.simples or TaxOption(), company.mei or TaxOption()
    return NestedSimples(
        _YES_NO[simples.optante],
        simples.desde,
        simples.ate,
        _YES_NO[mei.optante],
        mei.desde,
        mei.ate,
        updated,
    )


def _establishment(
    company: Company, month: MonthDetail, updated: str | None
) -> NestedEstablishment:
    phones = [*phones_of(company), ("", ""), ("", "")]
    (area_1, phone_1), (area_2, phone_2) = phones[:2]
    fax_area, fax = month.fax or ("", "")
    reason = company.motivo_situacao_cadastral
    main, status = company.atividade_economica_principal, company.situacao_cadastral
    kind = company.identificador_matriz_filial
    return NestedEstablishment(
        cnpj=company.cnpj,
        atividades_secundarias=[
            _activity(each) for each in company.atividades_economicas_secundarias
        ],
        cnpj_raiz=company.cnpj[:8],
        cnpj_ordem=company.cnpj[8:12],
        cnpj_digito_verificador=company.cnpj[12:],
        tipo=kind and kind.capitalize(),
        nome_fantasia=company.nome_fantasia,
        situacao_cadastral=status and status.capitalize(),
        data_situacao_cadastral=company.data_da_situacao_cadastral,
        data_inicio_atividade=company.data_de_abertura,
        nome_cidade_exterior=month.city_abroad or None,
        tipo_logradouro=company.tipo_logradouro,
        logradouro=company.logradouro,
        numero=company.numero,
        complemento=company.complemento,
        bairro=company.bairro,
        cep=company.cep,
        ddd1=area_1 or None,
        telefone1=phone_1 or None,
        ddd2=area_2 or None,
        telefone2=phone_2 or None,
        ddd_fax=fax_area or None,
        fax=fax or None,
        email=company.endereco_eletronico,
        situacao_especial=company.situacao_especial,
        data_situacao_especial=company.data_da_situacao_especial,
        atualizado_em=updated,
        atividade_principal=None if main is None else _activity(main),
        pais=_HOME if company.uf in _UFS else _country(month.country),
        estado=_state(company.uf),
        cidade=NestedCity(
            None, company.municipio, number(company.codigo_municipio_ibge), month.city_code or None
        )
        if company.municipio
        else None,
        motivo_situacao_cadastral=None
        if reason is None or reason.codigo == NO_REASON
        else _numbered(reason),
    )


def _partner(partner: Partner, known: PartnerDetail | None, updated: str | None) -> NestedPartner:
    age, country = partner.faixa_etaria, None
    if known is not None:
        country = _country(known.country)
        # The registry names a country only for foreign partners.
        if country is None and known.kind and known.kind != _ABROAD_KIND:
            country = _HOME
    role = known.representative_qualification if known else None
    return NestedPartner(
        cpf_cnpj_socio=partner.cpf_cnpj_socio,
        nome=partner.nome,
        tipo=_KINDS.get(known.kind) if known else None,
        data_entrada=day_of(partner.data_entrada_sociedade),
        cpf_representante_legal=partner.documento_representante_legal
        or (NO_CPF if known else None),
        nome_representante=partner.nome_representante_legal,
        faixa_etaria=age and age.removeprefix("Entre "),
        atualizado_em=updated,
        pais_id=None if country is None else country.id,
        qualificacao_socio=_role(known, partner),
        qualificacao_representante=_numbered(role)
        if role is not None and number(role.codigo)
        else None,
        pais=country,
    )


def _role(known: PartnerDetail | None, partner: Partner) -> NestedNumber | None:
    if known is not None and known.qualification is not None:
        return _numbered(known.qualification)
    text = partner.qualificacao_socio
    return None if text is None else NestedNumber(None, text)


def _activity(coded: Coded) -> NestedActivity:
    code = coded.codigo
    division = division_of(code) if code and len(code) == 7 else ""
    section = section_of(division) if number(division) else None
    return NestedActivity(
        id=code,
        secao=section,
        divisao=code[:2] if section and code else None,
        grupo=activity(code[:3] + "0000", "##.#") if section and code else None,
        classe=activity(code[:5] + "00", "##.##-#") if section and code else None,
        subclasse=activity(code, "####-#/##") if section else None,
        descricao=coded.descricao,
    )


def _country(coded: Coded | None) -> NestedCountry | None:
    if coded is None:
        return None
    if coded.codigo == BRAZIL:
        return _HOME
    return NestedCountry(None, None, None, coded.descricao, coded.codigo)


def _state(uf: str | None) -> NestedState | None:
    if uf is None or uf == ABROAD_UF:
        return None
    return NestedState(None, _UFS.get(uf), uf, number(IBGE_CODES.get(uf)))


def _size(text: str | None) -> NestedCode | None:
    code = SIZES.get(text)
    return None if code is None else NestedCode(code, _SIZE_WORDS[code])


_SIZE_WORDS = {"01": "Micro Empresa", "03": "Empresa de Pequeno Porte", "05": "Demais"}


def _coded(coded: Coded | None) -> NestedCode | None:
    return None if coded is None else NestedCode(coded.codigo, coded.descricao)


def _numbered(coded: Coded | None) -> NestedNumber | None:
    return None if coded is None else NestedNumber(number(coded.codigo), coded.descricao)


def _amount(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:.2f}"
