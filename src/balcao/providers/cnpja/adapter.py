"""What CNPJá's commercial API is asked, and what its refusals mean (`cnpja.md`)."""

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
from balcao.providers.contract import SwitchedOn, always, uf_of
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities

SUBJECTS: frozenset[Subject] = frozenset(
    {"company", "state_registration", "rural_producer", "suframa"}
)

# Freshness is decided by our own cache: from theirs we take what is at most a day old, which is
# what the vendor recommends over ONLINE, and no older copy when their source fails.
QUERY = {"strategy": "CACHE_IF_FRESH", "maxAge": "1"}


class _Error(msgspec.Struct):
    code: int = 0  # the HTTP status once more
    message: str = ""
    required: int | None = None  # only where their credits do not suffice


class _Credit(msgspec.Struct):
    perpetual: int
    transient: int


@dataclass(frozen=True, slots=True)
class CnpjaAdapter:
    """The commercial API; the key is theirs, bare (no `Bearer`)."""

    key: str = field(repr=False)
    accepts_alphanumeric: bool = False  # not documented by the vendor
    name: str = "cnpja"
    subjects: frozenset[Subject] = SUBJECTS
    all_ufs: str = ccc.LIST  # or their word for all UFs: BR or ALL, by version

    # "tax id not registered at revenue service": their documentation says so of a 404.
    conclusive_absence = True

    @property
    def capabilities(self) -> Capabilities:
        """No full CPF of partners and no address of a registration in any answer."""
        return Capabilities(
            self.subjects, alphanumeric=self.accepts_alphanumeric, parts=frozenset({"types"})
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """One request, one answer."""
        document = inquiry.document.text
        match inquiry.subject:
            case "company":
                reply = yield from self._asked(f"/office/{document}", QUERY)
                return None if reply is None else office.read(self.name, reply)
            case "suframa":
                reply = yield from self._asked("/suframa", {"taxId": document} | QUERY)
                return None if reply is None else suframa.read(self.name, reply)
            case _:
                found = yield from self.converse_about((inquiry,))
                return None if found is None else found[uf_of(inquiry)]

    def takes_together(self, inquiry: Inquiry) -> bool:
        """For a CPF they want one exact UF."""
        return isinstance(inquiry.document, Cnpj)

    def converse_about(self, inquiries: Sequence[Inquiry]) -> Exchange[Mapping[str, Registrations]]:
        """One request about all the UFs."""
        document = inquiries[0].document.text
        ufs = [uf_of(inquiry) for inquiry in inquiries]
        query = {"taxId": document, "states": ccc.states(ufs, self.all_ufs)}
        reply = yield from self._asked("/ccc", query | QUERY)
        if reply is None:
            # Whether they say so with a 404 or an empty list is not documented: both mean that
            # there is no registration, which is an answer.
            return ccc.none(document, ufs)
        return ccc.read(self.name, reply, ufs)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Their balance: it costs nothing, and without one they answer nothing."""
        reply = yield self._request("/credit", {})
        if reply.status != 200:
            raise self._refusal(reply)
        said = replies.decode(self.name, _Credit, reply.body)
        if (balance := said.perpetual + said.transient) <= 0:
            raise replies.misconfigured(self.name, "conta esgotada no fornecedor")
        return f"respondeu; saldo no fornecedor: {balance}"

    def _asked(self, path: str, query: Mapping[str, str]) -> Exchange[HttpReply]:
        """The successful reply; None for "there is no such thing"."""
        reply = yield self._request(path, query)
        match reply.status:
            case 200:
                return reply
            case 404:
                self._must_be_absence(reply)
                return None
            case _:
                raise self._refusal(reply)

    def _request(self, path: str, query: Mapping[str, str]) -> HttpRequest:
        return HttpRequest("GET", path, query, {"authorization": self.key})

    def _must_be_absence(self, reply: HttpReply) -> None:
        """Theirs is JSON with the status in it; the 404 of a proxy or a wrong address is not."""
        if replies.decode_what_can_be(self.name, _Error, reply.body).code != 404:
            raise SourceFailed(f"{self.name}: HTTP 404 em outra forma")

    def _refusal(self, reply: HttpReply) -> SourceError:
        match reply.status:
            case 401:
                return replies.misconfigured(self.name, "chave recusada, HTTP 401")
            case 429 if _exhausted(reply):
                return replies.misconfigured(self.name, "conta esgotada no fornecedor, HTTP 429")
            case _:
                return replies.refusal(self.name, reply)


def _exhausted(reply: HttpReply) -> bool:
    try:
        error = replies.decode_what_can_be("", _Error, reply.body)
    except SourceFailed:
        return False
    return error.required is not None or "credit" in error.message


def sources(settings: CnpjaSettings, now: datetime) -> Sequence[SwitchedOn]:
    """The one source."""
    adapter = CnpjaAdapter(
        settings.key.get_secret_value(), settings.accepts_alphanumeric, all_ufs=settings.all_ufs
    )
    return (SwitchedOn("cnpja", adapter, always(settings.url)),)
