"""Adapter of SERPRO's Consulta CNPJ v2, the company registry (`serpro-cnd.md` sections 1 and 3).

`qsa` has partners with masked documents; `empresa`, if the contract includes it, has their full
CPF: the only source for the partner opt-in. `oauth.py` adds the token.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from balcao.core.company import IDENTIFIER_TEXTS, SIZE_TEXTS, STATUS_TEXTS, Coded, Company, Partner
from balcao.core.errors import SourceError, SourceFailed
from balcao.core.qualifications import QUALIFICATIONS
from balcao.core.questions import Inquiry
from balcao.providers.contract import EnabledSource, fixed_address
from balcao.providers.serpro.cnd import SerproCndAdapter
from balcao.providers.serpro.settings import COMPANY_CODES, SerproSettings
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.oauth import ClientCredentials
from balcao.sources.online import Capabilities
from balcao.sources.replies import PartnerList, ShortList, text

# Not a CNPJ, since its check digits are wrong: refused with a 400, which is not charged.
IMPOSSIBLE_CNPJ = "00000000000001"


class _Item(msgspec.Struct):
    """An entry of a table; codes may be text or numbers."""

    codigo: int | str | None = None
    descricao: str | None = None


_Text: TypeAlias = str | _Item | None  # undocumented which it is


class _Status(msgspec.Struct):
    codigo: int | str | None = None
    data: str | None = None
    motivo: int | str | _Item | None = None


class _Address(msgspec.Struct, rename="camel"):
    tipo_logradouro: str | None = None
    logradouro: str | None = None
    numero: str | None = None
    complemento: str | None = None
    cep: str | None = None
    bairro: str | None = None
    municipio: _Text = None
    uf: str | None = None


class _Phone(msgspec.Struct):
    ddd: str | None = None
    numero: str | None = None


class _Representative(msgspec.Struct):
    cpf: str | None = None
    nome: str | None = None


class _Partner(msgspec.Struct, rename="camel"):
    cpf: str | None = None
    cnpj: str | None = None
    nome: str | None = None
    qualificacao: int | _Text = None
    data_inclusao: str | None = None
    pais: _Text = None
    representante_legal: _Representative | None = None


class _Additional(msgspec.Struct, rename="camel"):
    optante_simples: str | None = None
    optante_mei: str | None = None


class _Company(msgspec.Struct, rename="camel"):
    ni: str
    tipo_estabelecimento: int | str | None = None
    data_abertura: str | None = None
    nome_empresarial: str | None = None
    nome_fantasia: str | None = None
    correio_eletronico: str | None = None
    porte: int | str | None = None
    situacao_cadastral: _Status | None = None
    situacao_especial: _Text = None
    data_situacao_especial: str | None = None
    ente_federativo: _Text = None
    cnae_principal: _Item | None = None
    cnae_secundarias: ShortList[_Item] | None = None
    natureza_juridica: _Item | None = None
    endereco: _Address | None = None
    telefones: ShortList[_Phone] | None = None
    capital_social: int | float | str | None = None
    informacoes_adicionais: _Additional | None = None
    socios: PartnerList[_Partner] | None = None


@dataclass(frozen=True, slots=True)
class SerproAdapter:
    """The Consulta CNPJ product of one contract."""

    product: str = "consulta-cnpj-df"
    full_partners: bool = False
    accepts_alphanumeric: bool = True
    name: str = "serpro"

    conclusive_absence = True  # their 404 is an answer, and billed as one

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            frozenset({"company"}),
            alphanumeric=self.accepts_alphanumeric,
            full_partners=self.full_partners,
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        reply = yield self._request(inquiry, inquiry.document.text)
        match reply.status:
            case 200:
                return self._read(reply)
            case 206:
                raise SourceFailed(f"{self.name}: resposta parcial, HTTP 206")
            case 404:
                self._check_absence(reply)
                return None
            case _:
                raise self._error_for(inquiry, reply)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Ask for an invalid CNPJ, which checks the token, the product and the contract.

        Only 200, 206 and 404 are charged; if the number is accepted after all, the probe costs one
        query.
        """
        reply = yield self._request(inquiry, IMPOSSIBLE_CNPJ)
        match reply.status:
            case 200 | 206 | 400:
                pass
            case 404:
                self._check_absence(reply)
            case _:
                raise self._error_for(inquiry, reply)
        return "respondeu"

    def _request(self, inquiry: Inquiry, cnpj: str) -> HttpRequest:
        return HttpRequest("GET", f"/{self.product}/v2/{_kind(inquiry)}/{cnpj}")

    def _error_for(self, inquiry: Inquiry, reply: HttpReply) -> SourceError:
        match reply.status:
            case 401:
                return replies.misconfigured(self.name, "token novo recusado, HTTP 401")
            case 403:
                what = f"{_kind(inquiry)} não contratado, HTTP 403"
                return replies.misconfigured(self.name, what)
            case _:
                return replies.error_for_status(self.name, reply)

    def _check_absence(self, reply: HttpReply) -> None:
        """Check that a 404 is the service's, not its API manager's (wrong product) or a proxy's."""
        if b'"fault"' in reply.body:
            raise replies.misconfigured(self.name, "produto desconhecido, HTTP 404")
        if reply.body.lstrip().startswith(b"<"):
            raise SourceFailed(f"{self.name}: HTTP 404 em outra forma")

    def _read(self, reply: HttpReply) -> Company:
        try:
            fields = self._fields(reply.body)
        except msgspec.DecodeError as error:
            raise SourceFailed(f"{self.name}: resposta em outra forma ({error})") from None
        data = replies.convert_lenient(self.name, _Company, fields)
        status = data.situacao_cadastral or _Status()
        address, more = data.endereco or _Address(), data.informacoes_adicionais or _Additional()
        return Company(
            cnpj=replies.without_punctuation(data.ni) or "",
            identificador_matriz_filial=_text_of(IDENTIFIER_TEXTS, data.tipo_estabelecimento, 1),
            data_de_abertura=replies.day(data.data_abertura),
            nome_empresarial=text(data.nome_empresarial),
            nome_fantasia=text(data.nome_fantasia),
            atividade_economica_principal=_coded(data.cnae_principal, 7),
            atividades_economicas_secundarias=tuple(
                activity
                for item in data.cnae_secundarias or ()
                if (activity := _coded(item, 7)) is not None
            ),
            natureza_juridica=_coded(data.natureza_juridica, 4),
            tipo_logradouro=text(address.tipo_logradouro),
            logradouro=text(address.logradouro),
            numero=text(address.numero),
            complemento=text(address.complemento),
            bairro=text(address.bairro),
            municipio=_described(address.municipio),
            cep=replies.without_punctuation(address.cep),
            uf=text(address.uf),
            endereco_eletronico=text(data.correio_eletronico),
            telefone=replies.telephone(
                *((phone.ddd or "") + (phone.numero or "") for phone in data.telefones or ())
            ),
            ente_federativo_responsavel=_described(data.ente_federativo),
            situacao_cadastral=_text_of(STATUS_TEXTS, status.codigo, 2),
            data_da_situacao_cadastral=replies.day(status.data),
            situacao_especial=_described(data.situacao_especial),
            data_da_situacao_especial=replies.day(data.data_situacao_especial),
            porte=_text_of(SIZE_TEXTS, data.porte, 2),
            socios=tuple(self._partner(partner) for partner in data.socios or ()),
            simples=replies.tax_option(_yes_no(more.optante_simples), None, None),
            mei=replies.tax_option(_yes_no(more.optante_mei), None, None),
            capital_social=replies.capital(data.capital_social),
            motivo_situacao_cadastral=_reason(status.motivo),
        )

    def _fields(self, body: bytes) -> Mapping[str, Any]:
        """Decode the fields of the company, untyped. Raises `msgspec.DecodeError`.

        Each part is decoded by itself, within its own limit of size: there may be thousands of
        partners, each of them small.
        """
        raw = _camel_keys(replies.decode(self.name, dict[str, msgspec.Raw], body))
        partners = raw.pop("socios", None)
        fields = {
            name: _camel_keys(_decode_part(each)) for name, each in raw.items() if name in _READ
        }
        if partners is not None and bytes(partners) != b"null":
            raw_partners = replies.parse(PartnerList[msgspec.Raw], bytes(partners))
            fields["socios"] = [_camel_keys(_decode_part(each)) for each in raw_partners]
        return fields

    def _partner(self, data: _Partner) -> Partner:
        representative = data.representante_legal or _Representative()
        return Partner(
            nome=text(data.nome),
            cpf_cnpj_socio=replies.without_punctuation(data.cpf)
            or replies.without_punctuation(data.cnpj),
            qualificacao_socio=_qualification(data.qualificacao),
            pais=_described(data.pais),
            documento_representante_legal=replies.without_punctuation(representative.cpf),
            nome_representante_legal=text(representative.nome),
            data_entrada_sociedade=replies.entry_day(data.data_inclusao),
        )


def _kind(inquiry: Inquiry) -> str:
    return "empresa" if inquiry.full_partners else "qsa"


_READ = frozenset(_Company.__struct_encode_fields__)
_PART_BYTES_MAX = 64_000


def _decode_part(raw: msgspec.Raw) -> Any:
    """Decode a part of a reply. Raises `msgspec.DecodeError` if it is too long."""
    body = bytes(raw)
    if len(body) > _PART_BYTES_MAX:
        raise msgspec.DecodeError("Too long")
    return replies.parse(object, body)


def _camel_keys(value: Any) -> Any:
    """Convert snake_case keys to camelCase. A key in camelCase already has precedence."""
    if isinstance(value, list):
        return [_camel_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {
        re.sub(r"_([a-z])", lambda match: match[1].upper(), name): _camel_keys(item)
        for name, item in value.items()
        if "_" in name
    }
    return renamed | {name: _camel_keys(item) for name, item in value.items() if "_" not in name}


def _coded(item: _Item | None, width: int) -> Coded | None:
    return None if item is None else replies.coded(item.codigo, width, item.descricao)


_YES_NO = {"SIM": True, "S": True, "NAO": False, "NÃO": False, "N": False}


def _yes_no(raw: str | None) -> bool | None:
    return _YES_NO.get((text(raw) or "").upper())


def _reason(data: int | str | _Item | None) -> Coded | None:
    if isinstance(data, _Item):
        return replies.reason(data.codigo, data.descricao)
    return replies.reason(data, None)


def _described(data: _Text) -> str | None:
    return text(data.descricao if isinstance(data, _Item) else data)


def _text_of(texts: dict[str, str], raw: int | str | None, width: int) -> str | None:
    """Return our text of a code, with or without leading zeros."""
    return texts.get(replies.code(raw, width) or "")


def _qualification(data: int | _Text) -> str | None:
    if isinstance(data, _Item) and data.descricao:
        return text(data.descricao)
    raw = data.codigo if isinstance(data, _Item) else data
    value = text(str(raw)) if raw is not None else None
    if value is None or not value.isdecimal():
        return value
    number = replies.code(value, 2)
    # a code that is not in the table is kept; so is 00, "not informed"
    return number if number is None or number == "00" else QUALIFICATIONS.get(number, number)


def sources(settings: SerproSettings, now: datetime) -> Sequence[EnabledSource]:
    """Return the registry and, if in the contract, the certificates, sharing one token."""
    token = ClientCredentials(
        "serpro",
        key=settings.consumer_key.get_secret_value(),
        secret=settings.consumer_secret.get_secret_value(),
        clock=time.monotonic,
    )
    letters, address = settings.accepts_alphanumeric, fixed_address(settings.url)
    registry = SerproAdapter(settings.product, settings.full_partners, letters)
    found = [EnabledSource("serpro", registry, address, token)]
    if settings.cnd:
        issuer = SerproCndAdapter(
            settings.cnd_product,
            letters,
            version=settings.cnd_version,
            company_code=settings.cnd_company_code or COMPANY_CODES[settings.cnd_version],
        )
        found.append(EnabledSource("serpro_cnd", issuer, address, token))
    return found
