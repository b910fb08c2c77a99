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

LIST = "lista"  # instead of a word for all UFs


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
    """Their parameter: a list, or the word for all where there is one."""
    return all_ufs if all_ufs != LIST and set(ufs) == set(UFS) else ",".join(ufs)


def none(document: str, ufs: Sequence[str]) -> Mapping[str, Registrations]:
    """No registration in any of the UFs."""
    return {uf: Registrations(document, uf) for uf in ufs}


def read(source: str, reply: HttpReply, ufs: Sequence[str]) -> Mapping[str, Registrations]:
    """The registrations of a successful reply, by UF; every UF that was asked is there."""
    said = replies.decode_what_can_be(source, _Taxpayer, reply.body)
    updated_at = replies.civil(said.updated)
    home = text(said.origin_state)
    found: dict[str, list[Registration | None]] = {uf: [] for uf in ufs}
    for each in said.registrations:
        uf = text(each.state)
        if uf not in found:
            raise SourceFailed(f"{source}: respondeu sobre outra UF")
        if has_number(each.number):
            found[uf].append(_registration(source, each, uf, updated_at))
    read_of = {uf: replies.known_ones(source, registrations) for uf, registrations in found.items()}
    return {
        uf: Registrations(
            documento=replies.plain(said.tax_id) or "",
            uf=uf,
            nome=text(said.name),
            uf_principal=home if home in UFS else None,
            inscricoes=known,
            omitidas=omitted,
        )
        for uf, (known, omitted) in read_of.items()
    }


def _registration(
    source: str, said: _Registration, uf: str, updated_at: str | None
) -> Registration | None:
    """Return the registration; None if its situation is unknown."""
    number = text(said.number)
    if number is None:
        raise SourceFailed(f"{source}: resposta incompleta, inscrição sem número")
    if said.enabled is None:
        return None
    status, kind = said.status or Item(), said.type or Item()
    return Registration(
        inscricao_estadual=number,
        uf=uf,
        ativa=said.enabled,
        tipo_ie=type_text(kind.text, kind.id),
        situacao_pj=situation_text(status.text, status.id),
        data_status=replies.day(said.status_date),
        updated_at=updated_at,
    )
