"""Adapter of Infosimples (`infosimples.md`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from balcao.core.questions import Inquiry, Subject
from balcao.providers.contract import EnabledSource, fixed_address
from balcao.providers.infosimples import envelope, federal, fgts, labour, registrations, state
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.sources.contract import (
    Conversation,
    Exchange,
    HttpReply,
    HttpRequest,
    Issuance,
)
from balcao.sources.online import Capabilities


class CertificateService(Protocol):
    """A module with one of the provider's services about certificates."""

    SERVICE: str

    def parameters(self, inquiry: Inquiry) -> dict[str, str]:
        """Return the query's parameters."""
        ...

    def read(self, source: str, reply: HttpReply, inquiry: Inquiry) -> Issuance:
        """Read the certificate of a reply; a refused one is a result, too."""
        ...


_CERTIFICATES: Mapping[Subject, CertificateService] = {
    "federal_certificate": federal,
    "state_certificate": state,
    "labour_certificate": labour,
    "fgts_regularity": fgts,
}

_WITHOUT_RECEIPT = {"ignore_site_receipt": "1"}
_WITH_RECEIPT = {"ignore_site_receipt": "0"}


@dataclass(frozen=True, slots=True)
class InfosimplesAdapter:
    """The services used with one token. Every query that reaches the portal may be charged."""

    token: str = field(repr=False)
    ufs: frozenset[str] | None = None  # of registrations; None: all
    accepts_alphanumeric: bool = False  # not documented by the vendor
    name: str = "infosimples"
    certificate_ufs: frozenset[str] | None = None  # of state certificates; None: all

    conclusive_absence = False  # "no data" is an empty answer, never an absence

    @property
    def capabilities(self) -> Capabilities:
        # the states' pages have addresses, but no types
        return Capabilities(
            frozenset(
                {
                    "state_registration",
                    "rural_producer",
                    "federal_certificate",
                    "state_certificate",
                    "labour_certificate",
                    "fgts_regularity",
                }
            ),
            alphanumeric=self.accepts_alphanumeric,
            parts=frozenset({"addresses"}),
            ufs=self.ufs,
            certificate_ufs=self.certificate_ufs,
            reissues=True,
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        parameters = registrations.parameters(inquiry) | _WITHOUT_RECEIPT
        reply = yield self._request(registrations.SERVICE, parameters)
        return registrations.read(self.name, reply, inquiry)

    def certify(self, inquiry: Inquiry) -> Exchange[Issuance]:
        # one request only: it may have issued a certificate, or been billed
        service = _CERTIFICATES[inquiry.subject]
        parameters = service.parameters(inquiry) | _WITH_RECEIPT
        reply = yield self._request(service.SERVICE, parameters)
        return service.read(self.name, reply, inquiry)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Send a request that is refused free of charge, after token and service were checked.

        It has an invalid time limit, and no document, so that there is nothing to look up.
        """
        match inquiry.subject:
            case "federal_certificate":
                service, parameters = federal.SERVICE, {"preferencia_emissao": "2via"}
            case "state_certificate":
                service, parameters = state.SERVICE, {"uf": inquiry.uf or "SP"}
            case "labour_certificate":
                service, parameters = labour.SERVICE, {}
            case "fgts_regularity":
                service, parameters = fgts.SERVICE, {}
            case _:
                service, parameters = registrations.SERVICE, {"uf": inquiry.uf or "SP"}
        reply = yield self._request(service, parameters | _WITHOUT_RECEIPT, timeout="sonda")
        result = envelope.read(self.name, reply)
        if result.meaning in (CodeMeaning.MISTAKE, CodeMeaning.FOUND, CodeMeaning.NOTHING):
            return "respondeu"
        raise envelope.error_for(self.name, result)

    def cost_micros(self, reply: HttpReply) -> int:
        return envelope.cost_micros(reply)

    def _request(
        self, service: str, parameters: dict[str, str], *, timeout: str | None = None
    ) -> HttpRequest:
        return envelope.request(service, {"token": self.token} | parameters, timeout=timeout)


def sources(settings: InfosimplesSettings, now: datetime) -> Sequence[EnabledSource]:
    """Return the source."""
    ufs, certificate_ufs = settings.ufs, settings.certificate_ufs
    adapter = InfosimplesAdapter(
        settings.token.get_secret_value(),
        ufs=None if ufs is None else frozenset(ufs),
        certificate_ufs=None if certificate_ufs is None else frozenset(certificate_ufs),
        accepts_alphanumeric=settings.accepts_alphanumeric,
    )
    return (EnabledSource("infosimples", adapter, fixed_address(settings.url)),)
