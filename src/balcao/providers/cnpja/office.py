"""Reader of an office, `/office/{taxId}`, a company of the registry (`cnpja.md` section 4)."""

import msgspec

from balcao.core.company import AGE_BAND_TEXTS, SIZE_TEXTS, STATUS_TEXTS, Coded, Company, Partner
from balcao.providers.cnpja.pieces import CnpjaAddress, CnpjaPhone, Country, Email, Item
from balcao.sources import replies
from balcao.sources.contract import HttpReply
from balcao.sources.replies import PartnerList, ShortList, text

_AGES = ("0-12", "13-20", "21-30", "31-40", "41-50", "51-60", "61-70", "71-80", "81+")
_AGE_BANDS = {theirs: AGE_BAND_TEXTS[str(n)] for n, theirs in enumerate(_AGES, start=1)}


class _Person(msgspec.Struct, rename="camel"):
    name: str | None = None
    tax_id: str | None = None
    age: str | None = None
    country: Country | None = None


class _Agent(msgspec.Struct):
    person: _Person = msgspec.field(default_factory=_Person)


class _Member(msgspec.Struct):
    since: str | None = None
    role: Item | None = None
    person: _Person = msgspec.field(default_factory=_Person)
    agent: _Agent | None = None


class _Company(msgspec.Struct):
    """The company of an office. `id` is ignored: an integer cannot hold a root with letters."""

    name: str | None = None
    jurisdiction: str | None = None
    equity: int | float | None = None
    nature: Item | None = None
    size: Item | None = None
    members: PartnerList[_Member] | None = None


class _Office(msgspec.Struct, rename="camel"):
    tax_id: str
    company: _Company
    status: Item
    alias: str | None = None
    head: bool | None = None
    founded: str | None = None
    status_date: str | None = None
    reason: Item | None = None
    special: Item | None = None
    special_date: str | None = None
    main_activity: Item | None = None
    side_activities: ShortList[Item] | None = None
    address: CnpjaAddress | None = None
    phones: ShortList[CnpjaPhone] | None = None
    emails: ShortList[Email] | None = None


def read(source: str, reply: HttpReply) -> Company:
    """Read the company of a successful reply."""
    data = replies.decode_lenient(source, _Office, reply.body)
    company, address = data.company, data.address or CnpjaAddress()
    return Company(
        cnpj=replies.without_punctuation(data.tax_id) or "",
        identificador_matriz_filial={True: "MATRIZ", False: "FILIAL", None: None}[data.head],
        data_de_abertura=replies.day(data.founded),
        nome_empresarial=text(company.name),
        nome_fantasia=text(data.alias),
        atividade_economica_principal=_coded(data.main_activity, 7),
        atividades_economicas_secundarias=tuple(
            activity
            for item in data.side_activities or ()
            if (activity := _coded(item, 7)) is not None
        ),
        natureza_juridica=_coded(company.nature, 4),
        # not separable from the name of the street ("AVENIDA DAS NACOES", "RUA B", "PRACA")
        tipo_logradouro=None,
        logradouro=text(address.street),
        numero=text(address.number),
        complemento=text(address.details),
        bairro=text(address.district),
        municipio=text(address.city),
        cep=replies.without_punctuation(address.zip),
        uf=text(address.state),
        endereco_eletronico=text(data.emails[0].address) if data.emails else None,
        telefone=replies.telephone(
            *((phone.area or "") + (phone.number or "") for phone in data.phones or ())
        ),
        ente_federativo_responsavel=text(company.jurisdiction),
        situacao_cadastral=_known(STATUS_TEXTS, data.status),
        data_da_situacao_cadastral=replies.day(data.status_date),
        situacao_especial=text(data.special.text) if data.special else None,
        data_da_situacao_especial=replies.day(data.special_date),
        porte=_known(SIZE_TEXTS, company.size),
        socios=tuple(_partner(member) for member in company.members or ()),
        capital_social=replies.capital(company.equity),
        motivo_situacao_cadastral=replies.reason(data.reason.id, data.reason.text)
        if data.reason
        else None,
        codigo_municipio_ibge=replies.code(address.municipality, 7),
    )


def _partner(data: _Member) -> Partner:
    agent = data.agent.person if data.agent else _Person()
    return Partner(
        nome=text(data.person.name),
        cpf_cnpj_socio=replies.without_punctuation(data.person.tax_id),
        qualificacao_socio=text(data.role.text) if data.role else None,
        pais=text(data.person.country.name) if data.person.country else None,
        documento_representante_legal=replies.without_punctuation(agent.tax_id),
        nome_representante_legal=text(agent.name),
        faixa_etaria=_AGE_BANDS.get(text(data.person.age) or ""),
        data_entrada_sociedade=replies.entry_day(data.since),
    )


def _coded(item: Item | None, width: int) -> Coded | None:
    return None if item is None else replies.coded(item.id, width, item.text)


def _known(texts: dict[str, str], item: Item | None) -> str | None:
    return None if item is None or item.id is None else texts.get(f"{item.id:02d}")
