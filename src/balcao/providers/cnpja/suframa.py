"""The free-trade-zone registry, `/suframa` (`cnpja.md` section 3).

Their document calls every field required, yet real answers omit some or send null. What makes
up the registration itself must be there; the rest is absent where it is not said.
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
    """Whole or not at all: without one of its fields nobody can tell what was granted."""

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
    """The record of a successful reply."""
    said = replies.decode_what_can_be(source, _Zone, reply.body)
    updated = replies.instant(said.updated)
    return ZoneRecord(
        cnpj=replies.plain(said.tax_id) or "",
        inscricao=text(said.number) or "",
        nome=text(said.name) or "",
        matriz=said.head,
        aprovado=said.approved,
        status=_status(source, said.status),
        # Handed on as they write it, if it is an instant.
        atualizado_em=text(said.updated) if updated and updated.tzinfo else None,
        desde=replies.day(said.since),
        data_aprovacao=replies.day(said.approval_date),
        natureza_juridica=_numbered(said.nature),
        endereco=_address(said.address),
        telefones=_phones(said.phones),
        emails=_emails(said.emails),
        atividade_principal=None if said.main_activity is None else _activity(said.main_activity),
        atividades_secundarias=(
            None
            if said.side_activities is None
            else tuple(_activity(each) for each in said.side_activities)
        ),
        incentivos=(
            None if said.incentives is None else tuple(_incentive(each) for each in said.incentives)
        ),
    )


def _status(source: str, said: _Status) -> NumberedText:
    description = STATUS_TEXTS.get(said.id) or text(said.text)
    if description is None:
        raise SourceFailed(f"{source}: resposta incompleta, situação sem descrição")
    return NumberedText(said.id, description)


def _numbered(said: Item | None) -> NumberedText | None:
    if said is None or said.id is None or (description := text(said.text)) is None:
        return None
    return NumberedText(said.id, description)


def _address(said: CnpjaAddress | None) -> ZoneAddress | None:
    if said is None:
        return None
    country = text(said.country.name) if said.country else None
    address = ZoneAddress(
        codigo_municipio=said.municipality,
        logradouro=text(said.street),
        numero=text(said.number),
        bairro=text(said.district),
        cidade=text(said.city),
        estado=text(said.state),
        cep=replies.plain(said.zip),
        pais=None if country is None else ZoneCountry(country),
    )
    return None if address == ZoneAddress() else address


def _phones(said: list[CnpjaPhone] | None) -> tuple[ZonePhone, ...] | None:
    if said is None:
        return None
    pairs = ((text(phone.area), text(phone.number)) for phone in said)
    return tuple(ZonePhone(area or "", number) for area, number in pairs if number is not None)


def _emails(said: list[Email] | None) -> tuple[ZoneEmail, ...] | None:
    if said is None:
        return None
    pairs = ((text(email.address), text(email.domain)) for email in said)
    return tuple(
        ZoneEmail(address, domain or address.rpartition("@")[2])
        for address, domain in pairs
        if address is not None
    )


def _activity(said: _Activity) -> ZoneActivity:
    return ZoneActivity(said.id, said.performed, text(said.text) or "")


def _incentive(said: _Incentive) -> Incentive:
    return Incentive(
        fundamento_legal=text(said.basis) or "",
        beneficio=text(said.benefit) or "",
        finalidade=text(said.purpose) or "",
        tributo=text(said.tribute) or "",
    )
