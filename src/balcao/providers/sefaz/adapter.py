"""Adapter of the state treasuries' registrations (`sefaz-consulta-cadastro.md`).

One SOAP call asks for one document in one UF. Replies have addresses and whether a registration is
enabled; its type and the taxpayer's situation are only in the national base.
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
from balcao.providers.contract import EnabledSource, uf_of
from balcao.providers.sefaz import message, status
from balcao.providers.sefaz.certificate import client_context
from balcao.providers.sefaz.certificate_checks import certificate_of
from balcao.providers.sefaz.message import CadastroAddress, CadastroEntry, CadastroReply, MtWrapper
from balcao.providers.sefaz.settings import SefazSettings
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities
from balcao.sources.replies import text

log = structlog.get_logger()

# The company to probe with if our certificate has no CNPJ: any works, and this one (Banco do
# Brasil) is public.
PUBLIC_COMPANY = Cnpj("00000000000191")


@dataclass(frozen=True, slots=True)
class SefazAdapter:
    """The services of all UFs in `ufs`; each has its own upstream and base address.

    `cpf_ufs` take a CPF (None: all), `header_ufs` still require the SOAP header of version 3;
    `mt_wrapper` is the wrapper for Mato Grosso; `requester_cnpj` is the company of our certificate.
    """

    ufs: frozenset[str]
    cpf_ufs: frozenset[str] | None = None
    header_ufs: frozenset[str] = frozenset()
    mt_wrapper: MtWrapper = "consultaCadastro"
    requester_cnpj: str | None = None
    name: str = "sefaz"

    # the manual of 259 and 264: "not registered as a taxpayer in the UF"; such an answer is a
    # record without registrations, so the adapter never returns an absence
    conclusive_absence = True

    @property
    def capabilities(self) -> Capabilities:
        # the schema accepts a CNPJ with letters since package PL_010_V1.30
        return Capabilities(
            frozenset({"state_registration", "rural_producer"}),
            alphanumeric=True,
            parts=frozenset({"addresses"}),
            ufs=self.ufs,
            cpf_ufs=self.cpf_ufs,
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """Ask for one document in one UF; returns `Registrations`, never None."""
        reply = yield self._request(uf_of(inquiry), inquiry.document)
        answer = self._read(reply)
        return self._registrations(inquiry, answer)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Ask the UF about our own company, whether registered there or not."""
        ourselves = Cnpj(self.requester_cnpj) if self.requester_cnpj else PUBLIC_COMPANY
        reply = yield self._request(uf_of(inquiry), ourselves)
        answer = self._read(reply)
        return f"respondeu (cStat {answer.code})"

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
        """Read a reply with or without registrations. Raises like `converse`."""
        match reply.status:
            case 200:
                answer = message.read(self.name, reply.body, reply.headers.get("content-type", ""))
            case 403:
                raise replies.misconfigured(self.name, "certificado recusado, HTTP 403")
            case _:
                raise replies.error_for_status(self.name, reply)
        if answer.code is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem cStat")
        if status.has_registrations(self.name, answer.code) != bool(answer.entries):
            raise SourceFailed(f"{self.name}: inscrições não condizem com cStat {answer.code}")
        return answer

    def _registrations(self, inquiry: Inquiry, answer: CadastroReply) -> Registrations:
        if answer.uf not in (None, inquiry.uf):
            raise SourceFailed(f"{self.name}: respondeu sobre outra UF")
        document = inquiry.document
        echo = _holder(answer, document)
        own = [entry for entry in answer.entries if not _is_held_by_company(entry, document, echo)]
        holders = [_holder(entry, document) for entry in own]
        if any(holder != document.text for holder in holders):
            raise SourceFailed(f"{self.name}: respondeu sobre outro documento")
        # the repeated argument; without it and without registrations, the reply names no document,
        # which does not prove that there are none
        about = echo or next(iter(holders), "")
        if not about:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem documento")
        # a time without an offset is Brasília's
        asked_at = replies.brasilia_time(answer.asked_at, without_zone=True)
        known, omitted = replies.readable_registrations(
            self.name,
            [
                self._registration(entry, uf_of(inquiry), asked_at)
                for entry in answer.entries
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
        number = replies.without_punctuation(entry.ie)
        if number is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem IE")
        if entry.situation not in ("0", "1"):  # undocumented
            return None
        return Registration(
            inscricao_estadual=number,
            uf=uf,
            ativa=entry.situation == "1",
            data_status=replies.day(entry.changed_on) or replies.day(entry.closed_on),
            updated_at=asked_at,
            endereco=_address(entry.address, entry.uf),
        )


def _holder(answer: CadastroReply | CadastroEntry, document: Cnpj | Cpf) -> str:
    """Return the holder's document, with the leading zeros that older schemas drop, or ""."""
    width = 14 if isinstance(document, Cnpj) else 11
    value = re.sub(r"[./\-\s]", "", (answer.cnpj if width == 14 else answer.cpf) or "")
    return value.upper().rjust(width, "0") if value else ""


def _is_held_by_company(entry: CadastroEntry, document: Cnpj | Cpf, echo: str) -> bool:
    """Return whether a person's registration is held by a CNPJ of that person.

    Rural producers have one in some states (ADR 0024). The repeated CPF of the request proves it.
    """
    return (
        isinstance(document, Cpf)
        and echo == document.text
        and entry.cpf is None
        and bool(entry.cnpj)
    )


def _address(answer: CadastroAddress, uf: str | None) -> RegisteredAddress | None:
    """Return the address, or None if all its fields are empty."""
    found = RegisteredAddress(
        logradouro=text(answer.street) or "",
        numero=text(answer.number) or "",
        complemento=text(answer.details),
        bairro=text(answer.district) or "",
        municipio=text(answer.city) or "",
        codigo_municipio_ibge=_code(answer.city_code, 7),
        cep=_code(answer.zip, 8),
    )
    if found == RegisteredAddress():
        return None
    return msgspec.structs.replace(found, uf=text(uf) or "")


def _code(raw: str | None, width: int) -> str:
    """Return a code's digits at full width; empty for anything else."""
    value = replies.code(raw, width) or ""
    return value if re.fullmatch(rf"[0-9]{{{width}}}", value) else ""


def sources(settings: SefazSettings, now: datetime) -> Sequence[EnabledSource]:
    """Return all UFs as one source, if the certificate is valid. Raises `CertificateUnusable`."""
    certificate = certificate_of(settings)
    tls = None
    if certificate is not None:
        if certificate.expired(now):
            # the service starts without this source
            log.warning(
                "sefaz.certificate_expired",
                not_after=certificate.not_after.isoformat(),
                detail="o certificado A1 venceu e as SEFAZ não são consultadas. Indique o novo em"
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
        EnabledSource(
            "sefaz", states, lambda inquiry: by_uf[inquiry.uf or ""], tls=tls, by_uf=True
        ),
    )
