"""A lookup at a face's address: who may ask there, and how the answer is dressed (contract 16).

The lookup itself is the company's, through the same front and the same story.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from balcao.core.documents import Cnpj
from balcao.core.month_detail import MonthDetail, beside
from balcao.core.outcomes import Reply
from balcao.core.questions import Mode
from balcao.http.compat.cnpjws import CnpjWs
from balcao.http.compat.face import Dressed, Face, RefusedLookup, ToldCompany
from balcao.http.compat.minha_receita import BrasilApi, MinhaReceita
from balcao.http.compat.receitaws import ReceitaWs
from balcao.http.read import Request
from balcao.operations.company.operation import CompanyAnswer

PREFIX = "/compat/"
# Behind it a face key, and then what stands behind the prefix without one (contract 16.4).
KEY_PREFIX = PREFIX + "k/"
FACES: Mapping[str, Face] = {
    face.name: face for face in (BrasilApi(), MinhaReceita(), ReceitaWs(), CnpjWs())
}

# What the story answers from a copy of our own (`providers/opendata`).
_OWN_COPY = "snapshot"
# Longer ones are dressed in a thread: a company may have thousands of partners.
_IN_PLACE_BYTES_MAX = 64_000

# What the month in use says of an establishment beyond the answer; None: nothing.
ReadDetail = Callable[[Mode, Cnpj], MonthDetail | None]

_answer = msgspec.json.Decoder(CompanyAnswer).decode


class _Message(msgspec.Struct):
    message: str
    code: str


class _Refusal(msgspec.Struct):
    error_message: _Message


_refusal = msgspec.json.Decoder(_Refusal).decode


@dataclass(frozen=True, slots=True)
class Dressing:
    """One face, and where what the answer lacks is read."""

    face: Face
    read: ReadDetail

    def asked(self, rest: str, request: Request) -> tuple[str, Request]:
        """The document of an address, and the request as the lookup reads it.

        An original's clients know nothing of our parameters, and may send theirs. Raises
        `InvalidParameter`.
        """
        query = self.face.query(rest)
        return self.face.document(rest), msgspec.structs.replace(request, query=query)

    async def dress(self, reply: Reply, rest: str, mode: Mode | None) -> Dressed:
        """The reply in the original's shape. `mode`: of who asked, where that is known."""
        if reply.status != 200:
            return self.refuse(reply, rest)
        answer = _answer(reply.body)
        company = answer.response
        # Read here: the month's files are the event loop's.
        detail = None if mode is None else self.read(mode, Cnpj(company.cnpj))
        kept = reply.origin == "cache" or reply.source == _OWN_COPY
        told = ToldCompany(
            company, beside(company, detail), answer.data_base, reply.credits == 0, kept
        )
        if len(reply.body) <= _IN_PLACE_BYTES_MAX:
            return self.face.dress(told)
        return await asyncio.to_thread(self.face.dress, told)

    def refuse(self, reply: Reply, rest: str) -> Dressed:
        """A refusal or failure in the original's shape."""
        said = _refusal(reply.body).error_message
        document = self.face.document(rest)
        return self.face.refuse(RefusedLookup(reply.status, said.code, said.message, document))


def without_key(path: str) -> tuple[str, str | None]:
    """An address without the key in it, and the key: nobody else sees an address that has one."""
    if not path.startswith(KEY_PREFIX):
        return path, None
    key, _, rest = path[len(KEY_PREFIX) :].partition("/")
    return PREFIX + rest, key


def addresses() -> Sequence[tuple[Face, str]]:
    """Each face and where it is; the CNPJ follows."""
    return [(face, f"{PREFIX}{face.name}/{face.path}") for face in FACES.values()]
