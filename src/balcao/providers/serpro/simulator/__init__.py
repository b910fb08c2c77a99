"""SERPRO: Consulta CNPJ v2 (`serpro-cnd.md`, sections 3 and 4), and the way to Consulta CND."""

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
from balcao.providers.simulation.exchange import (
    Simulated,
    SimulatedReply,
    SimulatedRequest,
    is_cnpj,
    json_reply,
    plain_document,
)
from balcao.providers.simulation.staging import Scene, Stage

# Consumer keys with a promise, besides the gateway's.
KEY_WITHOUT_EMPRESA = "without-empresa"
KEY_WITHOUT_CND = "without-cnd"

_PRODUCTS = ("consulta-cnpj-df", "consulta-cnpj-df-trial")
_CND_PRODUCTS = ("consulta-cnd", "consulta-cnd-trial")


class SimulatedSerpro:
    """The gateway: `/token`, and the services behind it.

    `/consulta-cnpj-df/v2/{basica|qsa|empresa}/{cnpj}` and `/consulta-cnd/{v1|v2}/certidao`.
    """

    def __init__(self, stage: Stage, clock: Callable[[], datetime]) -> None:
        self._stage = stage
        self._clock = clock
        self._cnd = ConsultaCnd(stage, clock)

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        """One request."""
        match request.path.split("/"):
            case ["", "token"]:
                return serpro_gateway.token(request, self._clock())
            case ["", product, "v1" | "v2", "certidao"] if (
                product in _CND_PRODUCTS and request.method == "POST"
            ):
                return await self._certificate(request, receive)
            case ["", product, "v2", "basica" | "qsa" | "empresa" as kind, asked] if (
                product in _PRODUCTS and request.method == "GET"
            ):
                return await self._company(request, kind, asked, receive)
            case _:
                return fault(404, 900906, "No matching resource found in the API")

    def maintenance(self) -> SimulatedReply:
        """The gateway says so."""
        return fault(503, 101503, "Service Unavailable", {"retry-after": "60"})

    def error(self) -> SimulatedReply:
        """The service behind the gateway fails."""
        return fault(500, 101500, "Internal Server Error")

    async def _certificate(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        consumer_key = consumer_of(request, self._clock())
        if consumer_key is None:
            return invalid_credentials()
        if consumer_key == KEY_WITHOUT_CND:
            return forbidden()
        return await self._cnd.answer(request, receive)

    async def _company(
        self, request: SimulatedRequest, kind: str, asked: str, receive: Receive
    ) -> SimulatedReply:
        consumer_key = consumer_of(request, self._clock())
        if consumer_key is None:
            return invalid_credentials()
        if kind == "empresa" and consumer_key == KEY_WITHOUT_EMPRESA:
            return forbidden()
        cnpj = plain_document(asked)
        if not is_cnpj(cnpj):
            return json_reply(400, {"mensagem": "CNPJ inválido"})
        if not exists(cnpj):
            return json_reply(404, {"mensagem": "CNPJ não encontrado"})

        def good(document: str) -> SimulatedReply:
            return json_reply(200, body(document, kind))

        def incomplete(document: str) -> SimulatedReply:
            said = body(document, kind)
            del said["nomeEmpresarial"]
            return json_reply(206, said)

        return await self._stage.play(Scene("company", cnpj, good, incomplete), self, receive)


def body(cnpj: str, kind: str) -> dict[str, object]:
    """What a service says of a CNPJ: `basica`, `qsa` (with partners) or `empresa` (full CPF)."""
    company = company_of(cnpj[:8])
    said = _of_establishment(establishment_of(cnpj)) | _of_company(company)
    if kind != "basica":
        full = kind == "empresa"
        said["socios"] = [_partner(partner, full=full) for partner in company.partners]
    return said


def _of_establishment(e: Establishment) -> dict[str, object]:
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


def _of_company(c: CompanyFiction) -> dict[str, object]:
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
    said: dict[str, object] = {
        "tipoSocio": p.kind,
        "nome": p.name,
        "qualificacao": p.qualification,
        "dataInclusao": p.entered,
    }
    if p.document:
        said["cnpj" if p.kind == "1" else "cpf"] = p.document if full else p.published_document
    if p.country:
        said["pais"] = {"codigo": p.country, "descricao": codes.COUNTRIES.get(p.country)}
    if p.representative:
        said["representanteLegal"] = {
            "cpf": p.representative if full else p.published_representative,
            "nome": p.representative_name,
            "qualificacao": p.representative_qualification,
        }
    return said


def simulators(stage: Stage, clock: Callable[[], datetime]) -> Mapping[str, Simulated]:
    """Where it is."""
    return {"/serpro": SimulatedSerpro(stage, clock)}
