"""SERPRO's gateway: tokens, and Consulta CNPJ v2 (`serpro-cnd.md`, sections 1, 3 and 4)."""

import base64
import binascii
import hmac
from collections.abc import Callable
from datetime import datetime
from urllib.parse import parse_qs

from balcao.fiction import (
    Company,
    Establishment,
    Partner,
    codes,
    company_of,
    establishment_of,
    exists,
)
from balcao.simulator import texts
from balcao.simulator.exchange import (
    Receive,
    Reply,
    Request,
    is_cnpj,
    json_reply,
    plain_document,
)
from balcao.simulator.staging import Lines, Stage

TOKEN_SECONDS = 3600

# Consumer keys with a promise; every other key and secret that are not empty are good.
INVALID_KEY = "invalid"
KEY_WITHOUT_EMPRESA = "without-empresa"

_PRODUCTS = ("consulta-cnpj-df", "consulta-cnpj-df-trial")

# Tokens are signed, not remembered: any process of the simulator takes them. Nothing is secret
# in here, so the key need not be either.
_SIGNING_KEY = b"simulator"


class Serpro:
    """The gateway, at `/token` and `/consulta-cnpj-df/v2/{basica|qsa|empresa}/{cnpj}`."""

    def __init__(self, stage: Stage, clock: Callable[[], datetime]) -> None:
        self._stage = stage
        self._clock = clock

    async def answer(self, request: Request, receive: Receive) -> Reply:
        """One request."""
        match request.path.split("/"):
            case ["", "token"]:
                return self._token(request)
            case ["", product, "v2", "basica" | "qsa" | "empresa" as kind, asked] if (
                product in _PRODUCTS and request.method == "GET"
            ):
                return await self._company(request, kind, asked, receive)
            case _:
                return _fault(404, 900906, "No matching resource found in the API")

    def maintenance(self) -> Reply:
        """The gateway says so."""
        return _fault(503, 101503, "Service Unavailable", {"retry-after": "60"})

    def error(self) -> Reply:
        """The service behind the gateway fails."""
        return _fault(500, 101500, "Internal Server Error")

    def _token(self, request: Request) -> Reply:
        if request.method != "POST":
            return _fault(405, 900905, "Method not allowed")
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != "application/x-www-form-urlencoded":
            return _fault(415, 900415, "Unsupported Media Type")
        consumer_key = _consumer_key(request.headers.get("authorization", ""))
        if consumer_key is None or consumer_key == INVALID_KEY:
            return json_reply(
                401,
                {"error": "invalid_client", "error_description": "Client Authentication failed."},
            )
        form = parse_qs(request.body.decode("latin-1"))
        if form.get("grant_type") != ["client_credentials"]:
            return json_reply(400, {"error": "unsupported_grant_type"})
        expires = int(self._clock().timestamp()) + TOKEN_SECONDS
        return json_reply(
            200,
            {
                "scope": "am_application_scope default",
                "token_type": "Bearer",
                "expires_in": TOKEN_SECONDS,
                "access_token": _sign(f"{expires}:{consumer_key}"),
            },
        )

    async def _company(self, request: Request, kind: str, asked: str, receive: Receive) -> Reply:
        claims = _verified(request.headers.get("authorization", ""))
        if claims is None:
            return _fault(401, 900901, "Invalid Credentials")
        expires, _, consumer_key = claims.partition(":")
        if int(expires) <= self._clock().timestamp():
            return _fault(401, 900901, "Invalid Credentials")
        if kind == "empresa" and consumer_key == KEY_WITHOUT_EMPRESA:
            return _fault(403, 900908, "Resource forbidden")
        cnpj = plain_document(asked)
        if not is_cnpj(cnpj):
            return json_reply(400, {"mensagem": "CNPJ inválido"})
        if not exists(cnpj):
            return json_reply(404, {"mensagem": "CNPJ não encontrado"})

        def good(document: str) -> Reply:
            return json_reply(200, body(document, kind))

        def incomplete(document: str) -> Reply:
            said = body(document, kind)
            del said["nomeEmpresarial"]
            return json_reply(206, said)

        return await self._stage.play("company", cnpj, self, Lines(good, incomplete), receive)


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
            "pais": {"codigo": country, "descricao": texts.country(country)},
        },
        "telefones": [{"ddd": phone.area_code, "numero": phone.number} for phone in e.phones],
        "correioEletronico": e.email,
        "situacaoEspecial": e.special_status,
        "dataSituacaoEspecial": e.special_status_date or "",
    }


def _of_company(c: Company) -> dict[str, object]:
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
    return {"codigo": code, "descricao": texts.activity(code)}


def _partner(p: Partner, *, full: bool) -> dict[str, object]:
    said: dict[str, object] = {
        "tipoSocio": p.kind,
        "nome": p.name,
        "qualificacao": p.qualification,
        "dataInclusao": p.entered,
    }
    if p.document:
        said["cnpj" if p.kind == "1" else "cpf"] = p.document if full else texts.document(p)
    if p.country:
        said["pais"] = {"codigo": p.country, "descricao": texts.country(p.country)}
    if p.representative:
        said["representanteLegal"] = {
            "cpf": p.representative if full else texts.representative(p),
            "nome": p.representative_name,
            "qualificacao": p.representative_qualification,
        }
    return said


def _fault(status: int, code: int, message: str, headers: dict[str, str] | None = None) -> Reply:
    """An error of the gateway itself, not of the service behind it."""
    fault = {"code": code, "message": message, "description": message}
    return json_reply(status, {"fault": fault}, headers)


def _consumer_key(authorization: str) -> str | None:
    """The key of a Basic header, where key and secret are there."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        key, _, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return key if key and secret else None


def _sign(claims: str) -> str:
    mac = hmac.digest(_SIGNING_KEY, claims.encode(), "sha256")[:12]
    return base64.urlsafe_b64encode(mac + claims.encode()).decode().rstrip("=")


def _verified(authorization: str) -> str | None:
    """What a Bearer token claims, if we signed it."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer":
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        claims = raw[12:].decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return claims if hmac.compare_digest(_sign(claims), token) else None
