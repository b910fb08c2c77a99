"""Reader of the free-trade-zone registry, `/suframa` (`cnpja.md` section 3).

The documentation calls every field required, but real replies omit some or send null. Only the
fields that make up the registration itself are required here.
"""

import msgspec

from balcao.core.errors import SourceFailed
from balcao.core.suframa import (
    STATUS_TEXTS,
    Incentive,
    NumberedText,
    ZoneActivity,
    ZoneAddress,
    ZoneCountry,
    ZoneEmail,
    ZonePhone,
    ZoneRecord,
)
from balcao.providers.cnpja.pieces import CnpjaAddress, CnpjaPhone, Email, Item
from balcao.sources import replies
from balcao.sources.contract import HttpReply
from balcao.sources.replies import Number, ShortList, text


class _Activity(msgspec.Struct):
    id: Number
    text: str
    performed: bool


class _Incentive(msgspec.Struct):
    """An incentive. All fields are required: without one, what was granted is unclear."""

    tribute: str
    benefit: str
    purpose: str
    basis: str


class _Status(msgspec.Struct):
    id: Number
    text: str | None = None


class _Zone(msgspec.Struct, rename="camel"):
    tax_id: str
    number: str
    name: str
    head: bool
    approved: bool
    status: _Status
    updated: str | None = None
    since: str | None = None
    approval_date: str | None = None
    nature: Item | None = None
    address: CnpjaAddress | None = None
    phones: ShortList[CnpjaPhone] | None = None
    emails: ShortList[Email] | None = None
    main_activity: _Activity | None = None
    side_activities: ShortList[_Activity] | None = None
    incentives: ShortList[_Incentive] | None = None


def read(source: str, reply: HttpReply) -> ZoneRecord:
    """Read the record of a successful reply."""
    data = replies.decode_lenient(source, _Zone, reply.body)
    updated = replies.instant(data.updated)
    return ZoneRecord(
        cnpj=replies.without_punctuation(data.tax_id) or "",
        inscricao=text(data.number) or "",
        nome=text(data.name) or "",
        matriz=data.head,
        aprovado=data.approved,
        status=_status(source, data.status),
        # passed on unchanged, if it is an aware date-time
        atualizado_em=text(data.updated) if updated and updated.tzinfo else None,
        desde=replies.day(data.since),
        data_aprovacao=replies.day(data.approval_date),
        natureza_juridica=_numbered(data.nature),
        endereco=_address(data.address),
        telefones=_phones(data.phones),
        emails=_emails(data.emails),
        atividade_principal=None if data.main_activity is None else _activity(data.main_activity),
        atividades_secundarias=(
            None
            if data.side_activities is None
            else tuple(_activity(each) for each in data.side_activities)
        ),
        incentivos=(
            None if data.incentives is None else tuple(_incentive(each) for each in data.incentives)
        ),
    )


def _status(source: str, data: _Status) -> NumberedText:
    description = STATUS_TEXTS.get(data.id) or text(data.text)
    if description is None:
        raise SourceFailed(f"{source}: resposta incompleta, situação sem descrição")
    return NumberedText(data.id, description)


def _numbered(data: Item | None) -> NumberedText | None:
    if data is None or data.id is None or (description := text(data.text)) is None:
        return None
    return NumberedText(data.id, description)


def _address(data: CnpjaAddress | None) -> ZoneAddress | None:
    if data is None:
        return None
    country = text(data.country.name) if data.country else None
    address = ZoneAddress(
        codigo_municipio=data.municipality,
        logradouro=text(data.street),
        numero=text(data.number),
        bairro=text(data.district),
        cidade=text(data.city),
        estado=text(data.state),
        cep=replies.without_punctuation(data.zip),
        pais=None if country is None else ZoneCountry(country),
    )
    return None if address == ZoneAddress() else address


def _phones(data: list[CnpjaPhone] | None) -> tuple[ZonePhone, ...] | None:
    if data is None:
        return None
    pairs = ((text(phone.area), text(phone.number)) for phone in data)
    return tuple(ZonePhone(area or "", number) for area, number in pairs if number is not None)


def _emails(data: list[Email] | None) -> tuple[ZoneEmail, ...] | None:
    if data is None:
        return None
    pairs = ((text(email.address), text(email.domain)) for email in data)
    return tuple(
        ZoneEmail(address, domain or address.rpartition("@")[2])
        for address, domain in pairs
        if address is not None
    )


def _activity(data: _Activity) -> ZoneActivity:
    return ZoneActivity(data.id, data.performed, text(data.text) or "")


def _incentive(data: _Incentive) -> Incentive:
    return Incentive(
        fundamento_legal=text(data.basis) or "",
        beneficio=text(data.benefit) or "",
        finalidade=text(data.purpose) or "",
        tributo=text(data.tribute) or "",
    )
