"""Company registry, by CNPJá's commercial API (`cnpja.md` sections 1, 4, 5)."""

from dataclasses import dataclass, field

import msgspec

from balcao.core.company import AGE_BAND_TEXTS, SIZE_TEXTS, STATUS_TEXTS, Coded, Company, Partner
from balcao.core.questions import Inquiry
from balcao.errors import SourceFailed
from balcao.sources import replies
from balcao.sources.contract import Conversation, HttpReply, HttpRequest
from balcao.sources.online import Capabilities
from balcao.sources.replies import text

# Freshness is decided by our own cache: from theirs we take what is at most a day old, which is
# what the vendor recommends over ONLINE, and no older copy when their source fails.
QUERY = {"strategy": "CACHE_IF_FRESH", "maxAge": "1"}

_AGE_BANDS = {
    "0-12": AGE_BAND_TEXTS["1"],
    "13-20": AGE_BAND_TEXTS["2"],
    "21-30": AGE_BAND_TEXTS["3"],
    "31-40": AGE_BAND_TEXTS["4"],
    "41-50": AGE_BAND_TEXTS["5"],
    "51-60": AGE_BAND_TEXTS["6"],
    "61-70": AGE_BAND_TEXTS["7"],
    "71-80": AGE_BAND_TEXTS["8"],
    "81+": AGE_BAND_TEXTS["9"],
}


class _Item(msgspec.Struct):
    """An entry of one of their tables."""

    id: int | None = None
    text: str | None = None


class _Country(msgspec.Struct):
    name: str | None = None


class _Person(msgspec.Struct):
    name: str | None = None
    taxId: str | None = None  # noqa: N815 - their names
    age: str | None = None
    country: _Country | None = None


class _Agent(msgspec.Struct):
    person: _Person = msgspec.field(default_factory=_Person)


class _Member(msgspec.Struct):
    since: str | None = None
    role: _Item | None = None
    person: _Person = msgspec.field(default_factory=_Person)
    agent: _Agent | None = None


class _Address(msgspec.Struct):
    street: str | None = None
    number: str | None = None
    details: str | None = None
    district: str | None = None
    city: str | None = None
    state: str | None = None
    zip: str | None = None


class _Phone(msgspec.Struct):
    area: str | None = None
    number: str | None = None


class _Email(msgspec.Struct):
    address: str | None = None


class _Company(msgspec.Struct):
    """The company of an office. `id` is not read: an integer cannot hold a root with letters."""

    name: str | None = None
    jurisdiction: str | None = None
    nature: _Item | None = None
    size: _Item | None = None
    members: list[_Member] | None = None


class _Office(msgspec.Struct, rename="camel"):
    tax_id: str
    company: _Company
    status: _Item
    alias: str | None = None
    head: bool | None = None
    founded: str | None = None
    status_date: str | None = None
    special: _Item | None = None
    special_date: str | None = None
    main_activity: _Item | None = None
    side_activities: list[_Item] | None = None
    address: _Address | None = None
    phones: list[_Phone] | None = None
    emails: list[_Email] | None = None


class _Error(msgspec.Struct):
    code: int = 0  # the HTTP status once more
    message: str = ""
    required: int | None = None  # only where their credits do not suffice


@dataclass(frozen=True, slots=True)
class Cnpja:
    """The commercial API; the key is theirs, bare (no `Bearer`)."""

    key: str = field(repr=False)
    accepts_alphanumeric: bool = False  # not documented by the vendor
    name: str = "cnpja"

    # "tax id not registered at revenue service": their documentation says so of a 404.
    conclusive_absence = True

    @property
    def capabilities(self) -> Capabilities:
        """No full CPF of partners in any answer."""
        return Capabilities(frozenset({"company"}), alphanumeric=self.accepts_alphanumeric)

    def converse(self, inquiry: Inquiry) -> Conversation:
        """One request, one answer."""
        reply = yield HttpRequest(
            "GET", f"/office/{inquiry.document.text}", QUERY, {"authorization": self.key}
        )
        match reply.status:
            case 200:
                return self._read(reply)
            case 404:
                self._must_be_absence(reply)
                return None
            case 401:
                raise replies.misconfigured(self.name, "chave recusada, HTTP 401")
            case 429 if self._exhausted(reply):
                raise replies.misconfigured(self.name, "conta esgotada no fornecedor, HTTP 429")
            case _:
                raise replies.refusal(self.name, reply)

    def _must_be_absence(self, reply: HttpReply) -> None:
        """Theirs is JSON with the status in it; the 404 of a proxy or a wrong address is not."""
        if replies.decode(self.name, _Error, reply.body).code != 404:
            raise SourceFailed(f"{self.name}: HTTP 404 em outra forma")

    def _exhausted(self, reply: HttpReply) -> bool:
        try:
            error = msgspec.json.decode(reply.body, type=_Error)
        except msgspec.DecodeError:
            return False
        return error.required is not None or "credit" in error.message

    def _read(self, reply: HttpReply) -> Company:
        said = replies.decode(self.name, _Office, reply.body)
        company, address = said.company, said.address or _Address()
        return Company(
            cnpj=replies.plain(said.tax_id) or "",
            identificador_matriz_filial={True: "MATRIZ", False: "FILIAL", None: None}[said.head],
            data_de_abertura=replies.day(self.name, said.founded),
            nome_empresarial=text(company.name),
            nome_fantasia=text(said.alias),
            atividade_economica_principal=_coded(said.main_activity, 7),
            atividades_economicas_secundarias=tuple(
                activity
                for item in said.side_activities or ()
                if (activity := _coded(item, 7)) is not None
            ),
            natureza_juridica=_coded(company.nature, 4),
            # Their street holds type and name together. Where one ends and the other begins
            # ("AVENIDA DAS NACOES", "RUA B", "PRACA") is not for us to guess.
            tipo_logradouro=None,
            logradouro=text(address.street),
            numero=text(address.number),
            complemento=text(address.details),
            bairro=text(address.district),
            municipio=text(address.city),
            cep=replies.plain(address.zip),
            uf=text(address.state),
            endereco_eletronico=text(said.emails[0].address) if said.emails else None,
            telefone=replies.telephone(
                *((phone.area or "") + (phone.number or "") for phone in said.phones or ())
            ),
            ente_federativo_responsavel=text(company.jurisdiction),
            situacao_cadastral=_known(STATUS_TEXTS, said.status),
            data_da_situacao_cadastral=replies.day(self.name, said.status_date),
            situacao_especial=text(said.special.text) if said.special else None,
            data_da_situacao_especial=replies.day(self.name, said.special_date),
            porte=_known(SIZE_TEXTS, company.size),
            socios=tuple(self._partner(member) for member in company.members or ()),
        )

    def _partner(self, said: _Member) -> Partner:
        agent = said.agent.person if said.agent else _Person()
        return Partner(
            nome=text(said.person.name),
            cpf_cnpj_socio=replies.plain(said.person.taxId),
            qualificacao_socio=text(said.role.text) if said.role else None,
            pais=text(said.person.country.name) if said.person.country else None,
            documento_representante_legal=replies.plain(agent.taxId),
            nome_representante_legal=text(agent.name),
            faixa_etaria=_AGE_BANDS.get(said.person.age or ""),
            data_entrada_sociedade=replies.entry_day(self.name, said.since),
        )


def _coded(item: _Item | None, width: int) -> Coded | None:
    return None if item is None else replies.coded(item.id, width, item.text)


def _known(texts: dict[str, str], item: _Item | None) -> str | None:
    return None if item is None or item.id is None else texts.get(f"{item.id:02d}")
