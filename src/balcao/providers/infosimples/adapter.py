"""What Infosimples is asked (`infosimples.md`)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from balcao.core.questions import Inquiry
from balcao.providers.contract import SwitchedOn, always
from balcao.providers.infosimples import envelope, federal, registrations, state
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.sources.contract import Certified, Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities

_WITHOUT_RECEIPT = {"ignore_site_receipt": "1"}
_WITH_RECEIPT = {"ignore_site_receipt": "0"}


@dataclass(frozen=True, slots=True)
class InfosimplesAdapter:
    """One token's services. Every consultation that reaches the origin may be charged."""

    token: str = field(repr=False)
    ufs: frozenset[str] | None = None  # of registrations; None: all
    accepts_alphanumeric: bool = False  # not documented by the vendor
    name: str = "infosimples"
    certificate_ufs: frozenset[str] | None = None  # of state certificates; None: all

    conclusive_absence = False  # "no data" is an empty answer here, never an absence

    @property
    def capabilities(self) -> Capabilities:
        """The states' own pages know addresses, but no types."""
        return Capabilities(
            frozenset(
                {
                    "state_registration",
                    "rural_producer",
                    "federal_certificate",
                    "state_certificate",
                }
            ),
            alphanumeric=self.accepts_alphanumeric,
            parts=frozenset({"addresses"}),
            ufs=self.ufs,
            certificate_ufs=self.certificate_ufs,
            reissues=True,
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """One request, one answer."""
        asked = registrations.parameters(inquiry) | _WITHOUT_RECEIPT
        reply = yield self._request(registrations.SERVICE, asked)
        return registrations.read(self.name, reply, inquiry)

    def certify(self, inquiry: Inquiry) -> Exchange[Certified]:
        """One request, one answer, whatever it is: it may have issued a certificate."""
        if inquiry.subject == "federal_certificate":
            asked = federal.parameters(inquiry) | _WITH_RECEIPT
            reply = yield self._request(federal.SERVICE, asked)
            return federal.read(self.name, reply, inquiry)
        asked = state.parameters(inquiry) | _WITH_RECEIPT
        reply = yield self._request(state.SERVICE, asked)
        return state.read(self.name, reply, inquiry)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """A request that they refuse free of charge, and only if they know token and service.

        It names no document, so that even who overlooks the impossible time limit finds nothing
        to look up.
        """
        match inquiry.subject:
            case "federal_certificate":
                service, asked = federal.SERVICE, {"preferencia_emissao": "2via"}
            case "state_certificate":
                service, asked = state.SERVICE, {"uf": inquiry.uf or "SP"}
            case _:
                service, asked = registrations.SERVICE, {"uf": inquiry.uf or "SP"}
        reply = yield self._request(service, asked | _WITHOUT_RECEIPT, timeout="sonda")
        said = envelope.read(self.name, reply)
        if said.meaning in (CodeMeaning.MISTAKE, CodeMeaning.FOUND, CodeMeaning.NOTHING):
            return "respondeu"
        raise envelope.refusal(self.name, said)

    def cost_micros(self, reply: HttpReply) -> int:
        """Return the price of a reply, from its header."""
        return envelope.cost_micros(reply)

    def _request(
        self, service: str, parameters: dict[str, str], *, timeout: str | None = None
    ) -> HttpRequest:
        return envelope.request(service, {"token": self.token} | parameters, timeout=timeout)


def sources(settings: InfosimplesSettings, now: datetime) -> Sequence[SwitchedOn]:
    """The one source."""
    ufs, certificate_ufs = settings.ufs, settings.certificate_ufs
    adapter = InfosimplesAdapter(
        settings.token.get_secret_value(),
        ufs=None if ufs is None else frozenset(ufs),
        certificate_ufs=None if certificate_ufs is None else frozenset(certificate_ufs),
        accepts_alphanumeric=settings.accepts_alphanumeric,
    )
    return (SwitchedOn("infosimples", adapter, always(settings.url)),)
