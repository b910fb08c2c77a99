"""State registrations by the unified SINTEGRA consultation (`infosimples.md` section 6).

Which fields are filled varies by UF; the registration's own UF is the one that was asked. It
knows addresses (without IBGE code), but neither the type nor the situation of the national base.
"""

import re
from collections.abc import Mapping

import msgspec

from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.core.registration import (
    RegisteredAddress,
    Registration,
    Registrations,
    is_exempt,
)
from balcao.errors import SourceFailed
from balcao.providers.contract import uf_of
from balcao.providers.infosimples import envelope, values
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.values import stated
from balcao.sources import replies
from balcao.sources.contract import HttpReply

SERVICE = "sintegra/unificada"

# Every UF words it as it likes. Only what is known for certain is read: a company that is taken
# for active, or for inactive, by mistake is worse than no answer.
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


class _Taxpayer(msgspec.Struct):
    """One registration, with its owner's name and document once more."""

    inscricao_estadual: str
    situacao_cadastral: str
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
    said = envelope.answered(source, reply)
    if said.meaning is CodeMeaning.NOTHING:
        return Registrations(asked, uf, com_endereco=True)
    taxpayers = envelope.results(source, said, _Taxpayer)
    documents = [_document(each, inquiry) for each in taxpayers]
    names = (stated(each.razao_social) or stated(each.nome) for each in taxpayers)
    return Registrations(
        # If one of them is somebody else's, that is the document to be seen.
        documento=next((each for each in documents if each != asked), asked),
        uf=uf,
        nome=next((name for name in names if name is not None), None),
        com_endereco=True,
        inscricoes=tuple(
            _registration(source, each, uf)
            for each in taxpayers
            if not is_exempt(each.inscricao_estadual)
        ),
    )


def _document(said: _Taxpayer, inquiry: Inquiry) -> str:
    """Whose registration it is. A producer may have a CNPJ and a CPF: the kind asked for first."""
    cnpjs, cpfs = (said.normalizado_cnpj, said.cnpj), (said.normalizado_cpf, said.cpf)
    if isinstance(inquiry.document, Cnpj):
        candidates = (*cnpjs, said.cnpj_cpf, *cpfs)
    else:
        candidates = (*cpfs, said.cnpj_cpf, *cnpjs)
    documents = (replies.plain(each) for each in candidates)
    return next((each for each in documents if each is not None), "")


def _registration(source: str, said: _Taxpayer, uf: str) -> Registration:
    number = replies.plain(said.inscricao_estadual)
    if number is None or not re.search("[0-9]", number):
        raise SourceFailed(f"{source}: resposta incompleta, inscrição sem número")
    return Registration(
        inscricao_estadual=number,
        uf=uf,
        ativa=_is_active(source, said.situacao_cadastral),
        data_status=values.day_if_valid(said.situacao_cadastral_data),
        updated_at=values.moment_if_valid(said.consulta_datahora),
        endereco=_address(said),
    )


def _is_active(source: str, situation: str) -> bool:
    active = _SITUATIONS.get(values.words(situation))
    if active is None:
        raise SourceFailed(f"{source}: situação cadastral em palavras desconhecidas")
    return active


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


_SITUATIONS: Mapping[str, bool] = {values.words(text): True for text in _ACTIVE_TEXTS} | {
    values.words(text): False for text in _INACTIVE_TEXTS
}
