"""State registrations by the unified SINTEGRA consultation (`infosimples.md` section 6).

Which fields are filled varies by UF; the registration's own UF is the one that was asked. It
knows addresses (without IBGE code), but neither the type nor the situation of the national base.
"""

import re
from collections.abc import Mapping

import msgspec

from balcao.core.certificate_words import Reason, reason_of, words
from balcao.core.documents import Cnpj
from balcao.core.errors import SourceFailed
from balcao.core.questions import Inquiry
from balcao.core.registration import (
    RegisteredAddress,
    Registration,
    Registrations,
    has_number,
)
from balcao.providers.contract import uf_of
from balcao.providers.infosimples import envelope, values
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.envelope import Envelope
from balcao.providers.infosimples.values import stated
from balcao.sources import replies
from balcao.sources.contract import HttpReply

SERVICE = "sintegra/unificada"

# Every UF words it as it likes. Only what is known for certain is read: a company that is taken
# for active, or for inactive, by mistake is worse than no answer. The first words count, in so far
# as what follows does not take them back: "ATIVO - DESDE 05/2003".
_ACTIVE_TEXTS = (
    "HABILITADO", "HABILITADA", "ATIVO", "ATIVA",
    "HABILITADO ATIVO", "HABILITADA ATIVA", "ATIVO HABILITADO", "ATIVA HABILITADA",
)  # fmt: skip
_INACTIVE_TEXTS = (
    "NÃO HABILITADO", "NÃO HABILITADA", "NÃO ATIVO", "NÃO ATIVA", "INATIVO", "INATIVA",
    "BAIXADO", "BAIXADA", "SUSPENSO", "SUSPENSA", "CANCELADO", "CANCELADA",
    "INAPTO", "INAPTA", "NULO", "NULA", "CASSADO", "CASSADA", "PARALISADO", "PARALISADA",
    "BAIXADO DE OFÍCIO", "BAIXADA DE OFÍCIO", "SUSPENSO DE OFÍCIO", "SUSPENSA DE OFÍCIO",
    "CANCELADO DE OFÍCIO", "CANCELADA DE OFÍCIO",
)  # fmt: skip

_TAKES_ACTIVE_BACK = re.compile(
    r"\b(?:NAO|EX|SUSP|BAIX|CANCEL|CASS|NUL|PARALIS|RESTRI|BLOQ|IMPED|IRREG|ENCERR|PENDEN|PROVIS"
    r"|IN(?:ATIV|APT|ABILIT))"
)
_TAKES_INACTIVE_BACK = re.compile(r"\b(?:NAO|EX|REATIV|REABILIT|REVOG|RESTABEL|ATIV|HABILIT)")

# Codes by which the origin also refuses a document that it does not have.
_PERHAPS_NOT_REGISTERED = (608, 611)


class _Taxpayer(msgspec.Struct):
    """One registration, with its owner's name and document once more."""

    inscricao_estadual: str
    situacao_cadastral: str | None = None
    normalizado_cnpj: str | None = None
    normalizado_cpf: str | None = None
    cnpj: str | None = None
    cpf: str | None = None
    cnpj_cpf: str | None = None
    razao_social: str | None = None
    nome: str | None = None
    situacao_cadastral_data: str | None = None
    consulta_datahora: str | None = None
    endereco_logradouro: str | None = None
    endereco_numero: str | None = None
    endereco_complemento: str | None = None
    endereco_bairro: str | None = None
    endereco_municipio: str | None = None
    endereco_uf: str | None = None
    endereco_cep: str | None = None


def parameters(inquiry: Inquiry) -> dict[str, str]:
    """The document in one UF."""
    kind = "cnpj" if isinstance(inquiry.document, Cnpj) else "cpf"
    return {"uf": uf_of(inquiry), kind: inquiry.document.text}


def read(source: str, reply: HttpReply, inquiry: Inquiry) -> Registrations:
    """The registrations of a reply; none is an answer too."""
    asked, uf = inquiry.document.text, uf_of(inquiry)
    said = envelope.read(source, reply)
    if _is_none(source, said):
        return Registrations(asked, uf, com_endereco=True)
    if said.meaning is not CodeMeaning.FOUND:
        raise envelope.refusal(source, said)
    taxpayers = envelope.results(source, said, _Taxpayer)
    documents = [_document(each, inquiry) for each in taxpayers]
    names = (stated(each.razao_social) or stated(each.nome) for each in taxpayers)
    known, omitted = replies.known_ones(
        source,
        [
            _registration(source, each, uf)
            for each in taxpayers
            if has_number(each.inscricao_estadual)
        ],
    )
    return Registrations(
        # If one of them is somebody else's, that is the document to be seen.
        documento=next((each for each in documents if each != asked), asked),
        uf=uf,
        nome=next((name for name in names if name is not None), None),
        com_endereco=True,
        inscricoes=known,
        omitidas=omitted,
    )


def _is_none(source: str, said: Envelope) -> bool:
    """Whether the document has no registration. Raises where the portal was down instead."""
    if said.meaning is not CodeMeaning.NOTHING and said.code not in _PERHAPS_NOT_REGISTERED:
        return False
    reason = reason_of(said.reasons)
    if reason in (Reason.LATER, Reason.UNDER_WAY):
        raise envelope.outage(source, said, Reason.LATER)
    return said.meaning is CodeMeaning.NOTHING or reason is Reason.NOT_REGISTERED


def _document(said: _Taxpayer, inquiry: Inquiry) -> str:
    """Whose registration it is. A producer may have a CNPJ and a CPF: the kind asked for first."""
    cnpjs, cpfs = (said.normalizado_cnpj, said.cnpj), (said.normalizado_cpf, said.cpf)
    if isinstance(inquiry.document, Cnpj):
        candidates = (*cnpjs, said.cnpj_cpf, *cpfs)
    else:
        candidates = (*cpfs, said.cnpj_cpf, *cnpjs)
    documents = (replies.plain(each) for each in candidates)
    return next((each for each in documents if each is not None), "")


def _registration(source: str, said: _Taxpayer, uf: str) -> Registration | None:
    """Return the registration; None if its situation is unknown."""
    number = replies.plain(said.inscricao_estadual)
    if number is None:
        raise SourceFailed(f"{source}: resposta incompleta, inscrição sem número")
    active = _is_active(said.situacao_cadastral)
    if active is None:
        return None
    return Registration(
        inscricao_estadual=number,
        uf=uf,
        ativa=active,
        data_status=values.day(said.situacao_cadastral_data),
        updated_at=values.moment_if_valid(said.consulta_datahora),
        endereco=_address(said),
    )


def _is_active(situation: str | None) -> bool | None:
    """Read the longest known beginning; None if there is none, or the rest contradicts it."""
    said = words(situation).split()
    for count in range(len(said), 0, -1):
        active = _SITUATIONS.get(" ".join(said[:count]))
        if active is not None:
            rest = " ".join(said[count:])
            back = _TAKES_ACTIVE_BACK if active else _TAKES_INACTIVE_BACK
            return None if back.search(rest) else active
    return None


def _address(said: _Taxpayer) -> RegisteredAddress | None:
    address = RegisteredAddress(
        logradouro=stated(said.endereco_logradouro) or "",
        numero=stated(said.endereco_numero) or "",
        complemento=stated(said.endereco_complemento),
        bairro=stated(said.endereco_bairro) or "",
        municipio=stated(said.endereco_municipio) or "",
        uf=stated(said.endereco_uf) or "",
        cep=replies.plain(stated(said.endereco_cep)) or "",
    )
    return None if address == RegisteredAddress() else address


_SITUATIONS: Mapping[str, bool] = {words(text): True for text in _ACTIVE_TEXTS} | {
    words(text): False for text in _INACTIVE_TEXTS
}
