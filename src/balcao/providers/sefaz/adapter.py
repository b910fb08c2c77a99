"""State registrations, by the state treasuries (`sefaz-consulta-cadastro.md`).

One SOAP call about one document in one UF. They know addresses and whether a registration is
enabled; its type and the taxpayer's situation stand only in the national base.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
import structlog

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import SourceFailed
from balcao.core.questions import Inquiry
from balcao.core.registration import (
    RegisteredAddress,
    Registration,
    Registrations,
    has_number,
)
from balcao.providers.contract import SwitchedOn, uf_of
from balcao.providers.sefaz import message, status
from balcao.providers.sefaz.certificate import client_context
from balcao.providers.sefaz.examination import certificate_of
from balcao.providers.sefaz.message import CadastroAddress, CadastroEntry, CadastroReply, MtWrapper
from balcao.providers.sefaz.settings import SefazSettings
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities
from balcao.sources.replies import text

log = structlog.get_logger()

# Whom to ask about when our own certificate does not say who we are: any company will do, and
# this one (Banco do Brasil) is public.
ANYBODY = Cnpj("00000000000191")


@dataclass(frozen=True, slots=True)
class SefazAdapter:
    """The services of all UFs in `ufs`; each has an upstream whose base address is its own.

    `cpf_ufs` are those that take a CPF (None: all), `header_ufs` those that still want the SOAP
    header of version 3; `mt_wrapper` is how Mato Grosso is asked; `requester_cnpj` is the company
    our certificate names.
    """

    ufs: frozenset[str]
    cpf_ufs: frozenset[str] | None = None
    header_ufs: frozenset[str] = frozenset()
    mt_wrapper: MtWrapper = "consultaCadastro"
    requester_cnpj: str | None = None
    name: str = "sefaz"

    # "Not registered as a taxpayer in the UF", says the manual of 259 and 264. Such an answer
    # is a record without registrations here, so the adapter never speaks of absence itself.
    conclusive_absence = True

    @property
    def capabilities(self) -> Capabilities:
        """CNPJ with letters: the schema takes them since package PL_010_V1.30."""
        return Capabilities(
            frozenset({"state_registration", "rural_producer"}),
            alphanumeric=True,
            parts=frozenset({"addresses"}),
            ufs=self.ufs,
            cpf_ufs=self.cpf_ufs,
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """One request, one answer: `Registrations`, never None."""
        reply = yield self._request(uf_of(inquiry), inquiry.document)
        said = self._read(reply)
        return self._registrations(inquiry, said)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Asks the UF about ourselves; registered there or not, an answer is an answer."""
        ourselves = Cnpj(self.requester_cnpj) if self.requester_cnpj else ANYBODY
        reply = yield self._request(uf_of(inquiry), ourselves)
        said = self._read(reply)
        return f"respondeu (cStat {said.code})"

    def _request(self, uf: str, document: Cnpj | Cpf) -> HttpRequest:
        return HttpRequest(
            "POST",
            "",  # the upstream's base address is the whole address
            headers=message.request_headers(uf),
            body=message.request_body(
                uf,
                document,
                with_header=uf in self.header_ufs,
                mt_wrapper=self.mt_wrapper,
            ),
        )

    def _read(self, reply: HttpReply) -> CadastroReply:
        """What they said, if it is found or none. Raises like `converse`."""
        match reply.status:
            case 200:
                said = message.read(self.name, reply.body, reply.headers.get("content-type", ""))
            case 403:
                raise replies.misconfigured(self.name, "certificado recusado, HTTP 403")
            case _:
                raise replies.refusal(self.name, reply)
        if said.code is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem cStat")
        if status.found(self.name, said.code) != bool(said.entries):
            raise SourceFailed(f"{self.name}: inscrições não condizem com cStat {said.code}")
        return said

    def _registrations(self, inquiry: Inquiry, said: CadastroReply) -> Registrations:
        if said.uf not in (None, inquiry.uf):
            raise SourceFailed(f"{self.name}: respondeu sobre outra UF")
        asked = inquiry.document
        echo = _holder(said, asked)
        own = [entry for entry in said.entries if not _by_company(entry, asked, echo)]
        holders = [_holder(entry, asked) for entry in own]
        if any(holder != asked.text for holder in holders):
            raise SourceFailed(f"{self.name}: respondeu sobre outro documento")
        # The echo of the argument. Without it, and without registrations, an answer would be
        # about nobody: too little to say that somebody has none.
        about = echo or next(iter(holders), "")
        if not about:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem documento")
        # A time without an offset is taken as it is.
        asked_at = replies.civil(said.asked_at, without_zone=True)
        known, omitted = replies.known_ones(
            self.name,
            [
                self._registration(entry, uf_of(inquiry), asked_at)
                for entry in said.entries
                if has_number(entry.ie)
            ],
        )
        return Registrations(
            documento=about,
            uf=uf_of(inquiry),
            nome=text(own[0].name) if own else None,
            com_endereco=True,
            inscricoes=known,
            omitidas=omitted,
        )

    def _registration(
        self, entry: CadastroEntry, uf: str, asked_at: str | None
    ) -> Registration | None:
        """Return the registration; None if its situation is unknown."""
        number = replies.plain(entry.ie)
        if number is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem IE")
        if entry.situation not in ("0", "1"):  # a third one might mean anything
            return None
        return Registration(
            inscricao_estadual=number,
            uf=uf,
            ativa=entry.situation == "1",
            data_status=replies.day(entry.changed_on) or replies.day(entry.closed_on),
            updated_at=asked_at,
            endereco=_address(entry.address, entry.uf),
        )


def _holder(said: CadastroReply | CadastroEntry, asked: Cnpj | Cpf) -> str:
    """Whom it is about, at full width: older schemas let leading zeros go. Empty: not said."""
    width = 14 if isinstance(asked, Cnpj) else 11
    stated = re.sub(r"[./\-\s]", "", (said.cnpj if width == 14 else said.cpf) or "")
    return stated.upper().rjust(width, "0") if stated else ""


def _by_company(entry: CadastroEntry, asked: Cnpj | Cpf, echo: str) -> bool:
    """Whether it is a registration of the person asked for that is held by a CNPJ of theirs.

    Rural producers have one in some states (ADR 0024). The treasury's word for it is the echo:
    it was asked by this CPF, and names nobody else's.
    """
    return isinstance(asked, Cpf) and echo == asked.text and entry.cpf is None and bool(entry.cnpj)


def _address(said: CadastroAddress, uf: str | None) -> RegisteredAddress | None:
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


def sources(settings: SefazSettings, now: datetime) -> Sequence[SwitchedOn]:
    """All of them as one source. Raises `CertificateUnusable`."""
    certificate = certificate_of(settings)
    tls = None
    if certificate is not None:
        if certificate.expired(now):
            # The service goes on without it: the other sources are as good as they were.
            log.warning(
                "sefaz.certificate_expired",
                not_after=certificate.not_after.isoformat(),
                detail="o certificado A1 venceu, e as SEFAZ não são consultadas: indique o novo em"
                " BALCAO_SEFAZ__CERTIFICATE e reinicie o serviço",
            )
            return ()
        tls = client_context(certificate, settings.ca_file)
    by_uf = settings.addresses
    states = SefazAdapter(
        ufs=frozenset(by_uf),
        cpf_ufs=None if settings.cpf_ufs is None else frozenset(settings.cpf_ufs),
        header_ufs=frozenset(settings.header_ufs),
        mt_wrapper=settings.mt_wrapper,
        requester_cnpj=certificate.subject_cnpj if certificate else None,
    )
    return (
        SwitchedOn("sefaz", states, lambda inquiry: by_uf[inquiry.uf or ""], tls=tls, by_uf=True),
    )
