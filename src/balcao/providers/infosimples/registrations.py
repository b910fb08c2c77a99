"""Reader of state registrations from the unified SINTEGRA query (`infosimples.md` section 6).

The fields vary by UF; a registration's own UF is the requested one. Replies have addresses
(without IBGE code), but neither the type nor the situation of the national base.
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
from balcao.providers.infosimples.values import nonempty
from balcao.sources import replies
from balcao.sources.contract import HttpReply

SERVICE = "sintegra/unificada"

# Each UF has its own wording. Only known texts are accepted: a wrong situation is worse than no
# answer. The first words count, unless what follows contradicts them: "ATIVO - DESDE 05/2003".
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

# Codes that the origin also uses for an unknown document.
_PERHAPS_NOT_REGISTERED = (608, 611)


class _Taxpayer(msgspec.Struct):
    """One registration, with its holder's name and document."""

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
    """Return the query's parameters: UF and document."""
    kind = "cnpj" if isinstance(inquiry.document, Cnpj) else "cpf"
    return {"uf": uf_of(inquiry), kind: inquiry.document.text}


def read(source: str, reply: HttpReply, inquiry: Inquiry) -> Registrations:
    """Read the registrations of a reply, possibly none."""
    requested, uf = inquiry.document.text, uf_of(inquiry)
    result = envelope.read(source, reply)
    if _is_none(source, result):
        return Registrations(requested, uf, com_endereco=True)
    if result.meaning is not CodeMeaning.FOUND:
        raise envelope.error_for(source, result)
    taxpayers = envelope.results(source, result, _Taxpayer)
    documents = [_document(each, inquiry) for each in taxpayers]
    names = (nonempty(each.razao_social) or nonempty(each.nome) for each in taxpayers)
    known, omitted = replies.readable_registrations(
        source,
        [
            _registration(source, each, uf)
            for each in taxpayers
            if has_number(each.inscricao_estadual)
        ],
    )
    return Registrations(
        # any other document, so that the check of the record fails
        documento=next((each for each in documents if each != requested), requested),
        uf=uf,
        nome=next((name for name in names if name is not None), None),
        com_endereco=True,
        inscricoes=known,
        omitidas=omitted,
    )


def _is_none(source: str, result: Envelope) -> bool:
    """Return whether the document has no registration. Raises if the portal was down instead."""
    if result.meaning is not CodeMeaning.NOTHING and result.code not in _PERHAPS_NOT_REGISTERED:
        return False
    reason = reason_of(result.reasons)
    if reason in (Reason.LATER, Reason.UNDER_WAY):
        raise envelope.outage(source, result, Reason.LATER)
    return result.meaning is CodeMeaning.NOTHING or reason is Reason.NOT_REGISTERED


def _document(data: _Taxpayer, inquiry: Inquiry) -> str:
    """Return the holder's document. A producer may have a CNPJ and a CPF: prefer the asked kind."""
    cnpjs, cpfs = (data.normalizado_cnpj, data.cnpj), (data.normalizado_cpf, data.cpf)
    if isinstance(inquiry.document, Cnpj):
        candidates = (*cnpjs, data.cnpj_cpf, *cpfs)
    else:
        candidates = (*cpfs, data.cnpj_cpf, *cnpjs)
    documents = (replies.without_punctuation(each) for each in candidates)
    return next((each for each in documents if each is not None), "")


def _registration(source: str, data: _Taxpayer, uf: str) -> Registration | None:
    """Return the registration; None if its status is unknown."""
    number = replies.without_punctuation(data.inscricao_estadual)
    if number is None:
        raise SourceFailed(f"{source}: resposta incompleta, inscrição sem número")
    active = _is_active(data.situacao_cadastral)
    if active is None:
        return None
    return Registration(
        inscricao_estadual=number,
        uf=uf,
        ativa=active,
        data_status=values.day(data.situacao_cadastral_data),
        updated_at=values.moment_if_valid(data.consulta_datahora),
        endereco=_address(data),
    )


def _is_active(situation: str | None) -> bool | None:
    """Return the situation by its longest known prefix; None without one or if contradicted."""
    situation_words = words(situation).split()
    for count in range(len(situation_words), 0, -1):
        active = _SITUATIONS.get(" ".join(situation_words[:count]))
        if active is not None:
            rest = " ".join(situation_words[count:])
            back = _TAKES_ACTIVE_BACK if active else _TAKES_INACTIVE_BACK
            return None if back.search(rest) else active
    return None


def _address(data: _Taxpayer) -> RegisteredAddress | None:
    address = RegisteredAddress(
        logradouro=nonempty(data.endereco_logradouro) or "",
        numero=nonempty(data.endereco_numero) or "",
        complemento=nonempty(data.endereco_complemento),
        bairro=nonempty(data.endereco_bairro) or "",
        municipio=nonempty(data.endereco_municipio) or "",
        uf=nonempty(data.endereco_uf) or "",
        cep=replies.without_punctuation(nonempty(data.endereco_cep)) or "",
    )
    return None if address == RegisteredAddress() else address


_SITUATIONS: Mapping[str, bool] = {words(text): True for text in _ACTIVE_TEXTS} | {
    words(text): False for text in _INACTIVE_TEXTS
}
