"""Adapter of the provider."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from balcao.core.questions import Inquiry
from balcao.operations import OPERATIONS
from balcao.providers.contract import EnabledSource, fixed_address
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpRequest
from balcao.sources.online import Capabilities

from .settings import RegistroSettings


class RegistroAdapter:
    capabilities = Capabilities(frozenset({"simples"}), alphanumeric=True)
    conclusive_absence = True

    def converse(self, inquiry: Inquiry) -> Conversation:
        reply = yield HttpRequest("GET", f"/opcoes/{inquiry.document.text}")
        match reply.status:
            case 200:
                return msgspec.json.decode(reply.body, type=OPERATIONS["simples"].record)
            case 404:
                return None
            case _:
                raise replies.error_for_status("registro", reply)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        yield HttpRequest("GET", "/opcoes/00000000000191")
        return "respondeu"


def sources(settings: RegistroSettings, now: datetime) -> Sequence[EnabledSource]:
    return (EnabledSource("registro", RegistroAdapter(), fixed_address(settings.url)),)
