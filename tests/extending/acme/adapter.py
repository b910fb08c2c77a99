"""Adapter of the provider."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from balcao.core.company import Company
from balcao.core.questions import Inquiry
from balcao.providers.contract import EnabledSource, fixed_address
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpRequest
from balcao.sources.online import Capabilities

from .settings import AcmeSettings


class _Reply(msgspec.Struct):
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class AcmeAdapter:
    key: str = field(repr=False)
    name: str = "acme"

    conclusive_absence = False
    capabilities = Capabilities(frozenset({"company"}), alphanumeric=True)

    def converse(self, inquiry: Inquiry) -> Conversation:
        path = f"/companies/{inquiry.document.text}"
        reply = yield HttpRequest("GET", path, headers={"authorization": self.key})
        if reply.status != 200:
            raise replies.error_for_status(self.name, reply)
        result = replies.decode(self.name, _Reply, reply.body)
        return Company(cnpj=result.id, nome_empresarial=result.name, situacao_cadastral="ATIVA")

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        reply = yield HttpRequest("GET", "/", headers={"authorization": self.key})
        if reply.status != 200:
            raise replies.error_for_status(self.name, reply)
        return "a Acme respondeu"


def sources(settings: AcmeSettings, now: datetime) -> Sequence[EnabledSource]:
    adapter = AcmeAdapter(settings.key.get_secret_value())
    return (EnabledSource("acme", adapter, fixed_address(settings.url)),)
