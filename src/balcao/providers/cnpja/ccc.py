"""State registrations, `/ccc`, from the national base (`cnpja.md` section 2, `ccc.md`)."""

from collections.abc import Mapping, Sequence

import msgspec

from balcao.core.errors import SourceFailed
from balcao.core.federation import UFS
from balcao.core.registration import (
    Registration,
    Registrations,
    has_number,
    situation_text,
    type_text,
)
from balcao.providers.cnpja.pieces import Item
from balcao.sources import replies
from balcao.sources.contract import HttpReply
from balcao.sources.replies import RegistrationList, text

LIST = "lista"  # all UFs are listed; otherwise a keyword stands for them


class _Registration(msgspec.Struct, rename="camel"):
    number: str
    state: str
    enabled: bool | None = None
    status_date: str | None = None
    status: Item | None = None
    type: Item | None = None


class _Taxpayer(msgspec.Struct, rename="camel"):
    tax_id: str
    registrations: RegistrationList[_Registration]
    updated: str | None = None
    name: str | None = None
    origin_state: str | None = None


def states(ufs: Sequence[str], all_ufs: str) -> str:
    """Return the value of their parameter: a list of UFs, or the keyword for all."""
    return all_ufs if all_ufs != LIST and set(ufs) == set(UFS) else ",".join(ufs)


def none(document: str, ufs: Sequence[str]) -> Mapping[str, Registrations]:
    """Return empty registrations for each UF."""
    return {uf: Registrations(document, uf) for uf in ufs}


def read(source: str, reply: HttpReply, ufs: Sequence[str]) -> Mapping[str, Registrations]:
    """Read the registrations of a successful reply, by UF, with every requested UF."""
    data = replies.decode_lenient(source, _Taxpayer, reply.body)
    updated_at = replies.brasilia_time(data.updated)
    home = text(data.origin_state)
    found: dict[str, list[Registration | None]] = {uf: [] for uf in ufs}
    for each in data.registrations:
        uf = text(each.state)
        if uf not in found:
            raise SourceFailed(f"{source}: respondeu sobre outra UF")
        if has_number(each.number):
            found[uf].append(_registration(source, each, uf, updated_at))
    read_of = {
        uf: replies.readable_registrations(source, registrations)
        for uf, registrations in found.items()
    }
    return {
        uf: Registrations(
            documento=replies.without_punctuation(data.tax_id) or "",
            uf=uf,
            nome=text(data.name),
            uf_principal=home if home in UFS else None,
            inscricoes=known,
            omitidas=omitted,
        )
        for uf, (known, omitted) in read_of.items()
    }


def _registration(
    source: str, data: _Registration, uf: str, updated_at: str | None
) -> Registration | None:
    """Return the registration; None if its situation is unknown."""
    number = text(data.number)
    if number is None:
        raise SourceFailed(f"{source}: resposta incompleta, inscrição sem número")
    if data.enabled is None:
        return None
    status, kind = data.status or Item(), data.type or Item()
    return Registration(
        inscricao_estadual=number,
        uf=uf,
        ativa=data.enabled,
        tipo_ie=type_text(kind.text, kind.id),
        situacao_pj=situation_text(status.text, status.id),
        data_status=replies.day(data.status_date),
        updated_at=updated_at,
    )
