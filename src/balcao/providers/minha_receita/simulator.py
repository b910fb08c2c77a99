"""Simulator of Minha Receita, and of BrasilAPI (`public-cnpj-apis.md`, sections 1 and 2)."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import partial

from starlette.types import Receive

from balcao.core.company import (
    AGE_BAND_TEXTS,
    IDENTIFIER_TEXTS,
    SIZE_TEXTS,
    STATUS_TEXTS,
)
from balcao.core.personal import mask_cpf_in_text
from balcao.fiction import codes, company_of, establishment_of, exists
from balcao.fiction.records import (
    CompanyFiction,
    Establishment,
    PartnerFiction,
    TaxRegimeFiction,
)
from balcao.fiction.tax_regimes import tax_regimes_of
from balcao.providers.simulation.faults import FaultInjector, ReplyFactory
from balcao.providers.simulation.messages import (
    PLAIN,
    SimulatedReply,
    SimulatedRequest,
    Simulator,
    html_reply,
    is_cnpj,
    json_reply,
    plain_document,
    punctuated,
)

_HEADERS = {"cache-control": "max-age=86400", "access-control-allow-origin": "*"}
_BRASILAPI_HEADERS = {
    "cache-control": "max-age=0, s-maxage=86400, stale-while-revalidate, public",
    "access-control-allow-origin": "*",
}

# The month's data are published between the 9th and the 17th.
_PUBLICATION_DELAY = timedelta(days=9)


class SimulatedMinhaReceita:
    """Minha Receita."""

    def __init__(self, faults: FaultInjector, clock: Callable[[], datetime]) -> None:
        self._faults = faults
        self._clock = clock

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        if request.method == "OPTIONS":
            return SimulatedReply(200, headers=_HEADERS)
        if request.method != "GET":
            return self._refuse(405, "Essa URL aceita apenas o método GET.")
        match request.path:
            case "" | "/":
                return SimulatedReply(302, headers={"location": "https://docs.minhareceita.org"})
            case "/updated":
                return json_reply(200, {"message": self._data_as_of().isoformat()}, _HEADERS)
            case "/healthz":
                return SimulatedReply(200, headers=_HEADERS)
        requested = request.path.removeprefix("/")
        cnpj = plain_document(requested)
        if cnpj == "0" * 14:  # passes their check, and does not exist
            return self._refuse(404, f"CNPJ {punctuated(cnpj)} não encontrado.")
        if not is_cnpj(cnpj):
            return self._refuse(400, f"CNPJ {requested} inválido.")
        if not exists(cnpj):
            return self._refuse(404, f"CNPJ {punctuated(cnpj)} não encontrado.")
        replies = ReplyFactory("company", cnpj, _good, _incomplete)
        return await self._faults.reply(replies, self, receive)

    def maintenance(self) -> SimulatedReply:
        return html_reply(503, "503 Service Temporarily Unavailable")

    def error(self) -> SimulatedReply:
        return html_reply(500, "500 Internal Server Error")

    def _refuse(self, status: int, message: str) -> SimulatedReply:
        # they set the content type after the status line, so it is lost
        return json_reply(status, {"message": message}, _HEADERS, PLAIN)

    def _data_as_of(self) -> date:
        day = (self._clock() - _PUBLICATION_DELAY).date()
        return (
            day.replace(day=8)
            if day.day >= 8
            else (day.replace(day=1) - timedelta(days=24)).replace(day=8)
        )


class SimulatedBrasilApi:
    """BrasilAPI: the same data with other errors and headers."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        path = request.path.removeprefix("/api/cnpj/v1/")
        if request.method != "GET" or path == request.path:
            return self._refuse(404, "Página não encontrada", "not_found", "NotFoundError")
        cnpj = plain_document(path)
        if not is_cnpj(cnpj):
            message = f"CNPJ {path} inválido."
            return self._refuse(400, message, "bad_request", "BadRequestError")
        if not exists(cnpj):
            message = f"CNPJ {punctuated(cnpj)} não encontrado."
            return self._refuse(404, message, "not_found", "NotFoundError")
        good = partial(_good, headers=_BRASILAPI_HEADERS)
        incomplete = partial(_incomplete, headers=_BRASILAPI_HEADERS)
        return await self._faults.reply(
            ReplyFactory("company", cnpj, good, incomplete), self, receive
        )

    def maintenance(self) -> SimulatedReply:
        return html_reply(503, "This deployment is temporarily paused")

    def error(self) -> SimulatedReply:
        # they reply so to any failure of their upstream
        return self._refuse(500, "Erro interno", "internal_error", "InternalError")

    def _refuse(self, status: int, message: str, kind: str, name: str) -> SimulatedReply:
        return json_reply(
            status, {"message": message, "type": kind, "name": name}, _BRASILAPI_HEADERS
        )


def _good(cnpj: str, headers: Mapping[str, str] = _HEADERS) -> SimulatedReply:
    return json_reply(200, body(cnpj), headers)


def _incomplete(cnpj: str, headers: Mapping[str, str] = _HEADERS) -> SimulatedReply:
    fields = body(cnpj)
    del fields["razao_social"]
    return json_reply(200, fields, headers)


def body(cnpj: str) -> dict[str, object]:
    """Return the company in the format of both services."""
    establishment = establishment_of(cnpj)
    company = company_of(cnpj[:8])
    return _establishment_fields(establishment) | _company_fields(company)


def _establishment_fields(e: Establishment) -> dict[str, object]:
    address, place = e.address, e.address.municipality
    identifier = "1" if e.head_office else "2"
    phones = [phone.area_code + phone.number for phone in e.phones]
    return {
        "cnpj": e.cnpj,
        "identificador_matriz_filial": int(identifier),
        "descricao_identificador_matriz_filial": IDENTIFIER_TEXTS[identifier],
        "nome_fantasia": e.trade_name,
        "situacao_cadastral": int(e.status),
        "descricao_situacao_cadastral": STATUS_TEXTS[e.status],
        "data_situacao_cadastral": e.status_date,
        "motivo_situacao_cadastral": int(e.reason),
        "descricao_motivo_situacao_cadastral": codes.REASONS.get(e.reason),
        "nome_cidade_no_exterior": e.city_abroad,
        "codigo_pais": int(e.country) if e.country else None,
        "pais": codes.COUNTRIES.get(e.country),
        "data_inicio_atividade": e.opened,
        "cnae_fiscal": int(e.activity),
        "cnae_fiscal_descricao": codes.ACTIVITIES.get(e.activity),
        "descricao_tipo_de_logradouro": address.street_type,
        "logradouro": address.street,
        "numero": address.number,
        "complemento": " ".join(address.complement.split()),
        "bairro": address.district,
        "cep": address.cep,
        "uf": place.uf,
        "codigo_municipio": int(place.tom),
        "codigo_municipio_ibge": int(place.ibge) if place.ibge else None,
        "municipio": place.name,
        "ddd_telefone_1": phones[0] if phones else "",
        "ddd_telefone_2": phones[1] if len(phones) > 1 else "",
        "ddd_fax": e.fax.area_code + e.fax.number if e.fax else "",
        "email": e.email or None,
        "situacao_especial": e.special_status,
        "data_situacao_especial": e.special_status_date,
        # a company without secondary activities has a placeholder
        "cnaes_secundarios": [
            {"codigo": int(code), "descricao": codes.ACTIVITIES.get(code)}
            for code in e.side_activities
        ]
        or [{"codigo": 0, "descricao": ""}],
    }


def _company_fields(c: CompanyFiction) -> dict[str, object]:
    simples = c.simples
    reais, cents = divmod(c.capital_cents, 100)
    return {
        "razao_social": mask_cpf_in_text(c.name),
        "opcao_pelo_simples": simples.opted if simples else None,
        "data_opcao_pelo_simples": simples.opted_on if simples else None,
        "data_exclusao_do_simples": simples.left_on if simples else None,
        "opcao_pelo_mei": simples.mei if simples else None,
        "data_opcao_pelo_mei": simples.mei_on if simples else None,
        "data_exclusao_do_mei": simples.mei_left_on if simples else None,
        "codigo_natureza_juridica": int(c.nature),
        "natureza_juridica": codes.NATURES.get(c.nature),
        "qualificacao_do_responsavel": int(c.responsible),
        "capital_social": reais if not cents else c.capital_cents / 100,
        "codigo_porte": int(c.size or "0"),
        "porte": SIZE_TEXTS.get(c.size, "NÃO INFORMADO"),
        "ente_federativo_responsavel": c.federative_entity,
        "qsa": [_partner(partner) for partner in c.partners],
        "regime_tributario": [_tax_regime(regime) for regime in tax_regimes_of(c)] or None,
    }


def _tax_regime(regime: TaxRegimeFiction) -> dict[str, object]:
    return {
        "ano": regime.year,
        "cnpj_da_scp": punctuated(regime.partnership) if regime.partnership else None,
        "forma_de_tributacao": regime.form,
        "quantidade_de_escrituracoes": regime.filings,
    }


def _partner(p: PartnerFiction) -> dict[str, object]:
    role = p.representative_qualification
    return {
        "identificador_de_socio": int(p.kind),
        "nome_socio": p.name,
        "cnpj_cpf_do_socio": p.published_document,
        "codigo_qualificacao_socio": int(p.qualification),
        "qualificacao_socio": codes.QUALIFICATIONS.get(p.qualification),
        "data_entrada_sociedade": p.entered,
        "codigo_pais": int(p.country) if p.country else None,
        "pais": codes.COUNTRIES.get(p.country),
        "cpf_representante_legal": p.published_representative,
        "nome_representante_legal": p.representative_name,
        "codigo_qualificacao_representante_legal": int(role),
        "qualificacao_representante_legal": codes.QUALIFICATIONS.get(role)
        if role != "00"
        else None,
        "codigo_faixa_etaria": int(p.age_band),
        "faixa_etaria": AGE_BAND_TEXTS[p.age_band],
    }


def simulators(faults: FaultInjector, clock: Callable[[], datetime]) -> Mapping[str, Simulator]:
    """Return both simulators by path prefix."""
    return {
        "/minha-receita": SimulatedMinhaReceita(faults, clock),
        "/brasilapi": SimulatedBrasilApi(faults),
    }
