"""Routes of compatible APIs: translation of requests and answers (contract 16).

The lookup itself is the company's, executed as any other.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from balcao.core.documents import Cnpj
from balcao.core.month_detail import MonthDetail, completed, consistent_detail
from balcao.core.outcomes import Reply
from balcao.core.questions import Mode
from balcao.http.compat.api import CompatAnswer, CompatApi, CompatInput, RefusedLookup
from balcao.http.compat.cnpjws import CnpjWs
from balcao.http.compat.minha_receita import BrasilApi, MinhaReceita
from balcao.http.compat.receitaws import ReceitaWs
from balcao.http.read import Request
from balcao.operations.company.operation import CompanyAnswer

PREFIX = "/compat/"
# Followed by a key, and then by what follows `PREFIX` in paths without a key (contract 16.4).
KEY_PREFIX = PREFIX + "k/"
COMPAT_APIS: Mapping[str, CompatApi] = {
    api.name: api for api in (BrasilApi(), MinhaReceita(), ReceitaWs(), CnpjWs())
}

# The source of answers of our own copy (`providers/opendata`).
_OWN_COPY = "snapshot"
# Longer ones are rendered in a thread: a company may have thousands of partners.
_IN_PLACE_BYTES_MAX = 64_000

# Reads details of an establishment in the month in use, which lookups do not answer.
ReadDetail = Callable[[Mode, Cnpj], MonthDetail | None]

_answer = msgspec.json.Decoder(CompanyAnswer).decode


class _Message(msgspec.Struct):
    message: str
    code: str


class _Refusal(msgspec.Struct):
    error_message: _Message


_refusal = msgspec.json.Decoder(_Refusal).decode


@dataclass(frozen=True, slots=True)
class CompatRoute:
    """Translates the requests and answers of one compatible API."""

    api: CompatApi
    read: ReadDetail

    def lookup_request(self, rest: str, request: Request) -> tuple[str, Request]:
        """Return the document of a path, and the request as a lookup's.

        Parameters that the client sent in the query are dropped: they are the original's. Raises
        `InvalidParameter`.
        """
        query = self.api.query(rest)
        return self.api.document(rest), msgspec.structs.replace(request, query=query)

    async def render(self, reply: Reply, rest: str, mode: Mode | None) -> CompatAnswer:
        """Return the reply in the original's shape. `mode`: the caller's, if that is known."""
        if reply.status != 200:
            return self.refuse(reply, rest)
        answer = _answer(reply.body)
        company = answer.response
        # Read here: the month's files belong to the event loop's thread.
        detail = None if mode is None else self.read(mode, Cnpj(company.cnpj))
        kept = reply.origin == "cache" or reply.source == _OWN_COPY
        month = consistent_detail(company, detail)
        found = CompatInput(
            completed(company, month),
            month,
            answer.data_base,
            answer.data_base if company.simples or company.mei else month.day,
            reply.credits == 0,
            kept,
        )
        if len(reply.body) <= _IN_PLACE_BYTES_MAX:
            return self.api.render(found)
        return await asyncio.to_thread(self.api.render, found)

    def refuse(self, reply: Reply, rest: str) -> CompatAnswer:
        """Return a refusal or failure in the original's shape."""
        error = _refusal(reply.body).error_message
        document = self.api.document(rest)
        return self.api.refuse(RefusedLookup(reply.status, error.code, error.message, document))


def split_key(path: str) -> tuple[str, str | None]:
    """Split a path into the path without its key, and the key."""
    if not path.startswith(KEY_PREFIX):
        return path, None
    key, _, rest = path[len(KEY_PREFIX) :].partition("/")
    return PREFIX + rest, key


def api_paths() -> Sequence[tuple[CompatApi, str]]:
    """Return each API with its path before the CNPJ."""
    return [(api, f"{PREFIX}{api.name}/{api.path}") for api in COMPAT_APIS.values()]
