"""Company registry, by SERPRO's Consulta CNPJ v2 (`serpro-cnd.md` sections 1 and 3).

By contract. `qsa` shows partners with masked documents; `empresa`, where the contract includes
it, shows their full CPF: the only source for the partner opt-in. The token is `oauth.py`'s.
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
from balcao.providers.contract import SwitchedOn, always
from balcao.providers.serpro.cnd import SerproCndAdapter
from balcao.providers.serpro.settings import COMPANY_CODES, SerproSettings
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.oauth import ClientCredentials
from balcao.sources.online import Capabilities
from balcao.sources.replies import PartnerList, ShortList, text

# No CNPJ, for its check digits are wrong: they say so with a 400, which they do not charge.
IMPOSSIBLE_CNPJ = "00000000000001"


class _Item(msgspec.Struct):
    """An entry of a table; codes are seen as text and as numbers."""

    codigo: int | str | None = None
    descricao: str | None = None


_Text: TypeAlias = str | _Item | None  # the clients we learned from do not say which it is


class _Status(msgspec.Struct):
    codigo: int | str | None = None
    data: str | None = None


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
    socios: PartnerList[_Partner] | None = None


@dataclass(frozen=True, slots=True)
class SerproAdapter:
    """One contract's product."""

    product: str = "consulta-cnpj-df"
    full_partners: bool = False
    accepts_alphanumeric: bool = True
    name: str = "serpro"

    conclusive_absence = True  # their 404 is an answer, and billed as one

    @property
    def capabilities(self) -> Capabilities:
        """Partners' full documents by contract."""
        return Capabilities(
            frozenset({"company"}),
            alphanumeric=self.accepts_alphanumeric,
            full_partners=self.full_partners,
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """One request, one answer; `ClientCredentials` adds the token."""
        reply = yield self._request(inquiry, inquiry.document.text)
        match reply.status:
            case 200:
                return self._read(reply)
            case 206:
                raise SourceFailed(f"{self.name}: resposta parcial, HTTP 206")
            case 404:
                self._must_be_absence(reply)
                return None
            case _:
                raise self._refusal(inquiry, reply)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """A number that is no CNPJ: the token, the product and the contract are tried with it.

        They charge 200, 206 and 404 and no other answer; should they take it for a CNPJ after
        all, the probe costs one consultation.
        """
        reply = yield self._request(inquiry, IMPOSSIBLE_CNPJ)
        match reply.status:
            case 200 | 206 | 400:
                pass
            case 404:
                self._must_be_absence(reply)
            case _:
                raise self._refusal(inquiry, reply)
        return "respondeu"

    def _request(self, inquiry: Inquiry, cnpj: str) -> HttpRequest:
        return HttpRequest("GET", f"/{self.product}/v2/{_kind(inquiry)}/{cnpj}")

    def _refusal(self, inquiry: Inquiry, reply: HttpReply) -> SourceError:
        match reply.status:
            case 401:
                return replies.misconfigured(self.name, "token novo recusado, HTTP 401")
            case 403:
                what = f"{_kind(inquiry)} não contratado, HTTP 403"
                return replies.misconfigured(self.name, what)
            case _:
                return replies.refusal(self.name, reply)

    def _must_be_absence(self, reply: HttpReply) -> None:
        """The service's 404, not that of its API manager (wrong product) or of a proxy (HTML)."""
        if b'"fault"' in reply.body:
            raise replies.misconfigured(self.name, "produto desconhecido, HTTP 404")
        if reply.body.lstrip().startswith(b"<"):
            raise SourceFailed(f"{self.name}: HTTP 404 em outra forma")

    def _read(self, reply: HttpReply) -> Company:
        try:
            fields = self._fields(reply.body)
        except msgspec.DecodeError as error:
            raise SourceFailed(f"{self.name}: resposta em outra forma ({error})") from None
        said = replies.converted(self.name, _Company, fields)
        status = said.situacao_cadastral or _Status()
        address = said.endereco or _Address()
        return Company(
            cnpj=replies.plain(said.ni) or "",
            identificador_matriz_filial=_known(IDENTIFIER_TEXTS, said.tipo_estabelecimento, 1),
            data_de_abertura=replies.day(said.data_abertura),
            nome_empresarial=text(said.nome_empresarial),
            nome_fantasia=text(said.nome_fantasia),
            atividade_economica_principal=_coded(said.cnae_principal, 7),
            atividades_economicas_secundarias=tuple(
                activity
                for item in said.cnae_secundarias or ()
                if (activity := _coded(item, 7)) is not None
            ),
            natureza_juridica=_coded(said.natureza_juridica, 4),
            tipo_logradouro=text(address.tipo_logradouro),
            logradouro=text(address.logradouro),
            numero=text(address.numero),
            complemento=text(address.complemento),
            bairro=text(address.bairro),
            municipio=_described(address.municipio),
            cep=replies.plain(address.cep),
            uf=text(address.uf),
            endereco_eletronico=text(said.correio_eletronico),
            telefone=replies.telephone(
                *((phone.ddd or "") + (phone.numero or "") for phone in said.telefones or ())
            ),
            ente_federativo_responsavel=_described(said.ente_federativo),
            situacao_cadastral=_known(STATUS_TEXTS, status.codigo, 2),
            data_da_situacao_cadastral=replies.day(status.data),
            situacao_especial=_described(said.situacao_especial),
            data_da_situacao_especial=replies.day(said.data_situacao_especial),
            porte=_known(SIZE_TEXTS, said.porte, 2),
            socios=tuple(self._partner(partner) for partner in said.socios or ()),
        )

    def _fields(self, body: bytes) -> Mapping[str, Any]:
        """What is said of the company. Raises `msgspec.DecodeError`.

        Untyped, so bit by bit: there are thousands of partners, each of them small.
        """
        raw = _camel(replies.decode(self.name, dict[str, msgspec.Raw], body))
        partners = raw.pop("socios", None)
        fields = {name: _camel(_bit(each)) for name, each in raw.items() if name in _READ}
        if partners is not None and bytes(partners) != b"null":
            each_of_them = replies.parse(PartnerList[msgspec.Raw], bytes(partners))
            fields["socios"] = [_camel(_bit(each)) for each in each_of_them]
        return fields

    def _partner(self, said: _Partner) -> Partner:
        representative = said.representante_legal or _Representative()
        return Partner(
            nome=text(said.nome),
            cpf_cnpj_socio=replies.plain(said.cpf) or replies.plain(said.cnpj),
            qualificacao_socio=_qualification(said.qualificacao),
            pais=_described(said.pais),
            documento_representante_legal=replies.plain(representative.cpf),
            nome_representante_legal=text(representative.nome),
            data_entrada_sociedade=replies.entry_day(said.data_inclusao),
        )


def _kind(inquiry: Inquiry) -> str:
    return "empresa" if inquiry.full_partners else "qsa"


_READ = frozenset(_Company.__struct_encode_fields__)
_BIT_BYTES_MAX = 64_000


def _bit(raw: msgspec.Raw) -> Any:
    """A part of an answer. Raises `msgspec.DecodeError` where it is longer than anybody's."""
    body = bytes(raw)
    if len(body) > _BIT_BYTES_MAX:
        raise msgspec.DecodeError("Too long")
    return replies.parse(object, body)


def _camel(value: Any) -> Any:
    """The same with camelCase names. A name that came so already wins over its snake_case twin."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {
        re.sub(r"_([a-z])", lambda match: match[1].upper(), name): _camel(item)
        for name, item in value.items()
        if "_" in name
    }
    return renamed | {name: _camel(item) for name, item in value.items() if "_" not in name}


def _coded(item: _Item | None, width: int) -> Coded | None:
    return None if item is None else replies.coded(item.codigo, width, item.descricao)


def _described(said: _Text) -> str | None:
    return text(said.descricao if isinstance(said, _Item) else said)


def _known(texts: dict[str, str], raw: int | str | None, width: int) -> str | None:
    """Our text of a code, with or without its zeros in front."""
    return texts.get(replies.code(raw, width) or "")


def _qualification(said: int | _Text) -> str | None:
    if isinstance(said, _Item) and said.descricao:
        return text(said.descricao)
    raw = said.codigo if isinstance(said, _Item) else said
    stated = text(str(raw)) if raw is not None else None
    if stated is None or not stated.isdecimal():
        return stated
    number = replies.code(stated, 2)
    # What is not in the table stays a code; so does 00, whose text says that nothing was said.
    return number if number is None or number == "00" else QUALIFICATIONS.get(number, number)


def sources(settings: SerproSettings, now: datetime) -> Sequence[SwitchedOn]:
    """The registry, and the certificates where they are in the contract; one token for both."""
    token = ClientCredentials(
        "serpro",
        key=settings.consumer_key.get_secret_value(),
        secret=settings.consumer_secret.get_secret_value(),
        clock=time.monotonic,
    )
    letters, address = settings.accepts_alphanumeric, always(settings.url)
    registry = SerproAdapter(settings.product, settings.full_partners, letters)
    found = [SwitchedOn("serpro", registry, address, token)]
    if settings.cnd:
        issuer = SerproCndAdapter(
            settings.cnd_product,
            letters,
            version=settings.cnd_version,
            company_code=settings.cnd_company_code or COMPANY_CODES[settings.cnd_version],
        )
        found.append(SwitchedOn("serpro_cnd", issuer, address, token))
    return found
