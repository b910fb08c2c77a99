"""State registrations, by the state treasuries (`sefaz-consulta-cadastro.md`).

One SOAP call about one document in one UF. They know addresses and whether a registration is
enabled; its type and the taxpayer's situation stand only in the national base.
"""

import re
from dataclasses import dataclass
from datetime import datetime

import msgspec

from balcao.core.calendar import BRASILIA
from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import REGISTRATION_SUBJECTS, Inquiry
from balcao.core.registration import RegisteredAddress, Registration, Registrations
from balcao.errors import SourceFailed
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities
from balcao.sources.replies import text
from balcao.sources.sefaz import message, status
from balcao.sources.sefaz.message import Address, Entry, Reply

# Whom to ask about when our own certificate does not say who we are: any company will do, and
# this one (Banco do Brasil) is public.
ANYBODY = Cnpj("00000000000191")


@dataclass(frozen=True, slots=True)
class Sefaz:
    """The services of all UFs in `ufs`; each has an upstream whose base address is its own.

    `cpf_ufs` are those that take a CPF (None: all), `header_ufs` those that still want the SOAP
    header of version 3; `requester_cnpj` is the company our certificate names.
    """

    ufs: frozenset[str]
    cpf_ufs: frozenset[str] | None = None
    header_ufs: frozenset[str] = frozenset()
    requester_cnpj: str | None = None
    name: str = "sefaz"

    # "Not registered as a taxpayer in the UF", says the manual of 259 and 264. Such an answer
    # is a record without registrations here, so the adapter never speaks of absence itself.
    conclusive_absence = True

    @property
    def capabilities(self) -> Capabilities:
        """CNPJ with letters: the schema takes them since package PL_010_V1.30."""
        return Capabilities(
            REGISTRATION_SUBJECTS,
            alphanumeric=True,
            parts=frozenset({"addresses"}),
            ufs=self.ufs,
            cpf_ufs=self.cpf_ufs,
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """One request, one answer: `Registrations`, never None."""
        reply = yield self._request(_uf(inquiry), inquiry.document)
        said = self._read(reply)
        return self._registrations(inquiry, said)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Asks the UF about ourselves; registered there or not, an answer is an answer."""
        ourselves = Cnpj(self.requester_cnpj) if self.requester_cnpj else ANYBODY
        reply = yield self._request(_uf(inquiry), ourselves)
        said = self._read(reply)
        return f"respondeu (cStat {said.code})"

    def _request(self, uf: str, document: Cnpj | Cpf) -> HttpRequest:
        return HttpRequest(
            "POST",
            "",  # the upstream's base address is the whole address
            headers=message.request_headers(uf),
            body=message.request_body(uf, document, with_header=uf in self.header_ufs),
        )

    def _read(self, reply: HttpReply) -> Reply:
        """What they said, if it is found or none. Raises like `converse`."""
        match reply.status:
            case 200:
                said = message.read(self.name, reply.body)
            case 403:
                raise replies.misconfigured(self.name, "certificado recusado, HTTP 403")
            case _:
                raise replies.refusal(self.name, reply)
        if said.code is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem cStat")
        if status.found(self.name, said.code) != bool(said.entries):
            raise SourceFailed(f"{self.name}: inscrições não condizem com cStat {said.code}")
        return said

    def _registrations(self, inquiry: Inquiry, said: Reply) -> Registrations:
        if said.uf not in (None, inquiry.uf):
            raise SourceFailed(f"{self.name}: respondeu sobre outra UF")
        holders = [_holder(entry, inquiry.document) for entry in said.entries]
        if any(holder != inquiry.document.text for holder in holders):
            raise SourceFailed(f"{self.name}: respondeu sobre outro documento")
        # The echo of the argument. Without it, and without registrations, an answer would be
        # about nobody: too little to say that somebody has none.
        about = _holder(said, inquiry.document) or next(iter(holders), "")
        if not about:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem documento")
        asked_at = self._instant(said.asked_at)
        return Registrations(
            documento=about,
            uf=_uf(inquiry),
            nome=text(said.entries[0].name) if said.entries else None,
            com_endereco=True,
            inscricoes=tuple(
                self._registration(entry, _uf(inquiry), asked_at) for entry in said.entries
            ),
        )

    def _registration(self, entry: Entry, uf: str, asked_at: str | None) -> Registration:
        number = replies.plain(entry.ie)
        if number is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem IE")
        if entry.situation is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem cSit")
        if entry.situation not in ("0", "1"):  # a third one might mean anything
            raise SourceFailed(f"{self.name}: cSit desconhecido")
        return Registration(
            inscricao_estadual=number,
            uf=uf,
            ativa=entry.situation == "1",
            data_status=replies.day(self.name, entry.changed_on)
            or replies.day(self.name, entry.closed_on),
            updated_at=asked_at,
            endereco=_address(entry.address, entry.uf),
        )

    def _instant(self, raw: str | None) -> str | None:
        """`YYYY-MM-DD HH:mm:ss` in Brasília; without an offset it is taken as it is."""
        if raw is None:
            return None
        try:
            at = datetime.fromisoformat(raw)
            if at.tzinfo is not None:
                at = at.astimezone(BRASILIA)
        except (ValueError, OverflowError):
            raise SourceFailed(f"{self.name}: data e hora em outra forma") from None
        return at.replace(tzinfo=None).isoformat(" ", "seconds")


def _uf(inquiry: Inquiry) -> str:
    uf = inquiry.uf
    assert uf is not None, "one treasury is asked, so somebody must have said which"
    return uf


def _holder(said: Reply | Entry, asked: Cnpj | Cpf) -> str:
    """Whom it is about, at full width: older schemas let leading zeros go. Empty: not said."""
    width = 14 if isinstance(asked, Cnpj) else 11
    stated = re.sub(r"[./\-\s]", "", (said.cnpj if width == 14 else said.cpf) or "")
    return stated.upper().rjust(width, "0") if stated else ""


def _address(said: Address, uf: str | None) -> RegisteredAddress | None:
    """None where there is no part of it; the UF alone is not an address."""
    found = RegisteredAddress(
        logradouro=text(said.street) or "",
        numero=text(said.number) or "",
        complemento=text(said.details),
        bairro=text(said.district) or "",
        municipio=text(said.city) or "",
        codigo_municipio_ibge=_code(said.city_code, 7),
        cep=_code(said.zip, 8),
    )
    if found == RegisteredAddress():
        return None
    return msgspec.structs.replace(found, uf=text(uf) or "")


def _code(raw: str | None, width: int) -> str:
    """Digits at their full width; empty for none, and for what is no such code."""
    stated = replies.code(raw, width) or ""
    return stated if re.fullmatch(rf"[0-9]{{{width}}}", stated) else ""
