"""What Infosimples is asked (`infosimples.md`)."""

from dataclasses import dataclass, field

from balcao.core.questions import REGISTRATION_SUBJECTS, Inquiry
from balcao.sources.contract import Conversation, Exchange, HttpRequest
from balcao.sources.infosimples import envelope, registrations
from balcao.sources.infosimples.codes import Meaning
from balcao.sources.online import Capabilities


@dataclass(frozen=True, slots=True)
class Infosimples:
    """One token's services. Every consultation that reaches the origin may be charged."""

    token: str = field(repr=False)
    timeout_seconds: int = 20  # what they may spend; our own limit should be a little above
    ufs: frozenset[str] | None = None  # None: all
    accepts_alphanumeric: bool = False  # not documented by the vendor
    name: str = "infosimples"

    conclusive_absence = False  # "no data" is an empty answer here, never an absence

    @property
    def capabilities(self) -> Capabilities:
        """The states' own pages know addresses, but no types."""
        return Capabilities(
            REGISTRATION_SUBJECTS,
            alphanumeric=self.accepts_alphanumeric,
            parts=frozenset({"addresses"}),
            ufs=self.ufs,
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """One request, one answer."""
        reply = yield self._request(
            registrations.SERVICE,
            registrations.parameters(inquiry) | {"timeout": str(self.timeout_seconds)},
        )
        return registrations.read(self.name, reply, inquiry)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """A request that they refuse free of charge, and only if they know token and service.

        It names no document, so that even who overlooks the impossible time limit finds nothing
        to look up.
        """
        reply = yield self._request(
            registrations.SERVICE, {"uf": inquiry.uf or "SP", "timeout": "sonda"}
        )
        said = envelope.read(self.name, reply)
        if said.meaning in (Meaning.MISTAKE, Meaning.FOUND, Meaning.NOTHING):
            return "respondeu"
        raise envelope.refusal(self.name, said)

    def _request(self, service: str, parameters: dict[str, str]) -> HttpRequest:
        known = {"token": self.token, "ignore_site_receipt": "1"}
        return envelope.request(service, known | parameters)
