"""Adapter of CNPJá's commercial API (`cnpja.md`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from balcao.core.documents import Cnpj
from balcao.core.errors import SourceError, SourceFailed
from balcao.core.questions import Inquiry, Subject
from balcao.core.registration import Registrations
from balcao.providers.cnpja import ccc, office, suframa
from balcao.providers.cnpja.settings import CnpjaSettings
from balcao.providers.contract import EnabledSource, fixed_address, uf_of
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities

SUBJECTS: frozenset[Subject] = frozenset(
    {"company", "state_registration", "rural_producer", "suframa"}
)

# Our own cache decides on freshness. From theirs we accept answers of at most a day, which the
# vendor recommends over ONLINE, and no older ones when their source fails.
QUERY = {"strategy": "CACHE_IF_FRESH", "maxAge": "1"}


class _Error(msgspec.Struct):
    code: int = 0  # the HTTP status, repeated
    message: str = ""
    required: int | None = None  # only if our balance does not suffice


class _Credit(msgspec.Struct):
    perpetual: int
    transient: int


@dataclass(frozen=True, slots=True)
class CnpjaAdapter:
    """The commercial API. It takes the bare key, without `Bearer`."""

    key: str = field(repr=False)
    accepts_alphanumeric: bool = False  # not documented by the vendor
    name: str = "cnpja"
    subjects: frozenset[Subject] = SUBJECTS
    all_ufs: str = ccc.LIST  # or their word for all UFs: BR or ALL, by version

    # their documentation of a 404: "tax id not registered at revenue service"
    conclusive_absence = True

    @property
    def capabilities(self) -> Capabilities:
        # no answer has the full CPF of partners or the address of a registration
        return Capabilities(
            self.subjects, alphanumeric=self.accepts_alphanumeric, parts=frozenset({"types"})
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        document = inquiry.document.text
        match inquiry.subject:
            case "company":
                reply = yield from self._fetch(f"/office/{document}", QUERY)
                return None if reply is None else office.read(self.name, reply)
            case "suframa":
                reply = yield from self._fetch("/suframa", {"taxId": document} | QUERY)
                return None if reply is None else suframa.read(self.name, reply)
            case _:
                found = yield from self.converse_combined((inquiry,))
                return None if found is None else found[uf_of(inquiry)]

    def can_combine(self, inquiry: Inquiry) -> bool:
        # for a CPF, the API requires exactly one UF
        return isinstance(inquiry.document, Cnpj)

    def converse_combined(
        self, inquiries: Sequence[Inquiry]
    ) -> Exchange[Mapping[str, Registrations]]:
        document = inquiries[0].document.text
        ufs = [uf_of(inquiry) for inquiry in inquiries]
        query = {"taxId": document, "states": ccc.states(ufs, self.all_ufs)}
        reply = yield from self._fetch("/ccc", query | QUERY)
        if reply is None:
            # undocumented whether they send a 404 or an empty list: both mean that there is no
            # registration, which is an answer
            return ccc.none(document, ufs)
        return ccc.read(self.name, reply, ufs)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Query our balance, which is free; without a balance the provider answers nothing."""
        reply = yield self._request("/credit", {})
        if reply.status != 200:
            raise self._error_for(reply)
        credit = replies.decode(self.name, _Credit, reply.body)
        if (balance := credit.perpetual + credit.transient) <= 0:
            raise replies.misconfigured(self.name, "conta esgotada no fornecedor")
        return f"respondeu; saldo no fornecedor: {balance}"

    def _fetch(self, path: str, query: Mapping[str, str]) -> Exchange[HttpReply]:
        """Send a request and return the reply, or None for a proven absence."""
        reply = yield self._request(path, query)
        match reply.status:
            case 200:
                return reply
            case 404:
                self._check_absence(reply)
                return None
            case _:
                raise self._error_for(reply)

    def _request(self, path: str, query: Mapping[str, str]) -> HttpRequest:
        return HttpRequest("GET", path, query, {"authorization": self.key})

    def _check_absence(self, reply: HttpReply) -> None:
        """Check that a 404 is the API's, in JSON, and not that of a proxy or a wrong address."""
        if replies.decode_lenient(self.name, _Error, reply.body).code != 404:
            raise SourceFailed(f"{self.name}: HTTP 404 em outra forma")

    def _error_for(self, reply: HttpReply) -> SourceError:
        match reply.status:
            case 401:
                return replies.misconfigured(self.name, "chave recusada, HTTP 401")
            case 429 if _exhausted(reply):
                return replies.misconfigured(self.name, "conta esgotada no fornecedor, HTTP 429")
            case _:
                return replies.error_for_status(self.name, reply)


def _exhausted(reply: HttpReply) -> bool:
    try:
        error = replies.decode_lenient("", _Error, reply.body)
    except SourceFailed:
        return False
    return error.required is not None or "credit" in error.message


def sources(settings: CnpjaSettings, now: datetime) -> Sequence[EnabledSource]:
    """Return the source."""
    adapter = CnpjaAdapter(
        settings.key.get_secret_value(), settings.accepts_alphanumeric, all_ufs=settings.all_ufs
    )
    return (EnabledSource("cnpja", adapter, fixed_address(settings.url)),)
