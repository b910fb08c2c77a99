"""Simulator of SERPRO: Consulta CNPJ v2 (`serpro-cnd.md`, sections 3 and 4), and routing."""

from collections.abc import Callable, Mapping
from datetime import datetime

from starlette.types import Receive

from balcao.fiction import codes, company_of, establishment_of, exists
from balcao.fiction.records import CompanyFiction, Establishment, PartnerFiction
from balcao.providers.serpro.simulator import gateway as serpro_gateway
from balcao.providers.serpro.simulator.cnd import ConsultaCnd
from balcao.providers.serpro.simulator.gateway import (
    consumer_of,
    fault,
    forbidden,
    invalid_credentials,
)
from balcao.providers.simulation.faults import FaultInjector, ReplyFactory
from balcao.providers.simulation.messages import (
    SimulatedReply,
    SimulatedRequest,
    Simulator,
    is_cnpj,
    json_reply,
    plain_document,
)

# Consumer keys with a fixed effect; the gateway has more.
KEY_WITHOUT_EMPRESA = "without-empresa"
KEY_WITHOUT_CND = "without-cnd"

_PRODUCTS = ("consulta-cnpj-df", "consulta-cnpj-df-trial")
_CND_PRODUCTS = ("consulta-cnd", "consulta-cnd-trial")


class SimulatedSerpro:
    """The gateway: `/token`, and the services behind it.

    `/consulta-cnpj-df/v2/{basica|qsa|empresa}/{cnpj}` and `/consulta-cnd/{v1|v2}/certidao`.
    """

    def __init__(self, faults: FaultInjector, clock: Callable[[], datetime]) -> None:
        self._faults = faults
        self._clock = clock
        self._cnd = ConsultaCnd(faults, clock)

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        match request.path.split("/"):
            case ["", "token"]:
                return serpro_gateway.token(request, self._clock())
            case ["", product, "v1" | "v2", "certidao"] if (
                product in _CND_PRODUCTS and request.method == "POST"
            ):
                return await self._certificate(request, receive)
            case ["", product, "v2", "basica" | "qsa" | "empresa" as kind, requested] if (
                product in _PRODUCTS and request.method == "GET"
            ):
                return await self._company(request, kind, requested, receive)
            case _:
                return fault(404, 900906, "No matching resource found in the API")

    def maintenance(self) -> SimulatedReply:
        return fault(503, 101503, "Service Unavailable", {"retry-after": "60"})

    def error(self) -> SimulatedReply:
        return fault(500, 101500, "Internal Server Error")

    async def _certificate(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        consumer_key = consumer_of(request, self._clock())
        if consumer_key is None:
            return invalid_credentials()
        if consumer_key == KEY_WITHOUT_CND:
            return forbidden()
        return await self._cnd.answer(request, receive)

    async def _company(
        self, request: SimulatedRequest, kind: str, requested: str, receive: Receive
    ) -> SimulatedReply:
        consumer_key = consumer_of(request, self._clock())
        if consumer_key is None:
            return invalid_credentials()
        if kind == "empresa" and consumer_key == KEY_WITHOUT_EMPRESA:
            return forbidden()
        cnpj = plain_document(requested)
        if not is_cnpj(cnpj):
            return json_reply(400, {"mensagem": "CNPJ inválido"})
        if not exists(cnpj):
            return json_reply(404, {"mensagem": "CNPJ não encontrado"})

        def good(document: str) -> SimulatedReply:
            return json_reply(200, body(document, kind))

        def incomplete(document: str) -> SimulatedReply:
            fields = body(document, kind)
            del fields["nomeEmpresarial"]
            return json_reply(206, fields)

        return await self._faults.reply(
            ReplyFactory("company", cnpj, good, incomplete), self, receive
        )


def body(cnpj: str, kind: str) -> dict[str, object]:
    """Return the body of a service: `basica`, `qsa` (with partners) or `empresa` (full CPF)."""
    company = company_of(cnpj[:8])
    fields = _establishment_fields(establishment_of(cnpj)) | _company_fields(company)
    if kind != "basica":
        full = kind == "empresa"
        fields["socios"] = [_partner(partner, full=full) for partner in company.partners]
    return fields


def _establishment_fields(e: Establishment) -> dict[str, object]:
    address, place = e.address, e.address.municipality
    country = e.country or "105"
    return {
        "ni": e.cnpj,
        "tipoEstabelecimento": "1" if e.head_office else "2",
        "nomeFantasia": e.trade_name,
        "situacaoCadastral": {
            "codigo": str(int(e.status)),
            "data": e.status_date,
            "motivo": str(int(e.reason)),
        },
        "dataAbertura": e.opened,
        "cnaePrincipal": _activity(e.activity),
        "cnaeSecundarias": [_activity(code) for code in e.side_activities],
        "endereco": {
            "tipoLogradouro": address.street_type,
            "logradouro": address.street,
            "numero": address.number,
            "complemento": " ".join(address.complement.split()),
            "cep": address.cep,
            "bairro": address.district,
            "municipio": {"codigo": place.tom, "descricao": place.name},
            "uf": place.uf,
            "pais": {"codigo": country, "descricao": codes.COUNTRIES.get(country)},
        },
        "telefones": [{"ddd": phone.area_code, "numero": phone.number} for phone in e.phones],
        "correioEletronico": e.email,
        "situacaoEspecial": e.special_status,
        "dataSituacaoEspecial": e.special_status_date or "",
    }


def _company_fields(c: CompanyFiction) -> dict[str, object]:
    simples = c.simples
    return {
        "nomeEmpresarial": c.name,
        "naturezaJuridica": {"codigo": c.nature, "descricao": codes.NATURES.get(c.nature)},
        "capitalSocial": c.capital_cents // 100,
        "porte": c.size,
        "enteFederativo": c.federative_entity,
        "informacoesAdicionais": {
            "optanteSimples": "SIM" if simples and simples.opted else "NAO",
            "optanteMei": "SIM" if simples and simples.mei else "NAO",
        },
    }


def _activity(code: str) -> dict[str, object]:
    return {"codigo": code, "descricao": codes.ACTIVITIES.get(code)}


def _partner(p: PartnerFiction, *, full: bool) -> dict[str, object]:
    fields: dict[str, object] = {
        "tipoSocio": p.kind,
        "nome": p.name,
        "qualificacao": p.qualification,
        "dataInclusao": p.entered,
    }
    if p.document:
        fields["cnpj" if p.kind == "1" else "cpf"] = p.document if full else p.published_document
    if p.country:
        fields["pais"] = {"codigo": p.country, "descricao": codes.COUNTRIES.get(p.country)}
    if p.representative:
        fields["representanteLegal"] = {
            "cpf": p.representative if full else p.published_representative,
            "nome": p.representative_name,
            "qualificacao": p.representative_qualification,
        }
    return fields


def simulators(faults: FaultInjector, clock: Callable[[], datetime]) -> Mapping[str, Simulator]:
    """Return the simulator by its path prefix."""
    return {"/serpro": SimulatedSerpro(faults, clock)}
