"""`/lotes/v1`: one operation asked of every row of a file (decisions 13).

What is done is done in `batches.desk`; here it is asked for and told.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from balcao.batches.desk import BatchDesk, Upload
from balcao.batches.results import MEDIA, ResultFile, ResultForm, Results
from balcao.batches.tables.contract import BOUNDS, MEDIA_TYPES
from balcao.batches.telling import BatchAnswer, batch_told, row_told
from balcao.core import idempotency
from balcao.core.access import Caller
from balcao.core.batches import ROW_STATES, RowState
from balcao.core.errors import (
    BatchErased,
    BatchNotFound,
    InvalidIdempotencyKey,
    InvalidParameter,
    MethodNotAllowed,
    NotAdministering,
    OperationNotAllowed,
    QuoteChanged,
    RepeatedParameter,
    RouteNotFound,
)
from balcao.core.people import signed_by
from balcao.core.problems import problem_of
from balcao.http.json_bodies import (
    ITEMS_MAX,
    ITEMS_USUAL,
    body_of,
    free_answer,
    id_cursor,
    limit_of,
    page_of,
)
from balcao.http.read import BodyLimit, Request
from balcao.http.routes import Answer, Route
from balcao.http.write import REPLAYED, Headers, Pieces, help_header
from balcao.operations.envelope import error_fields
from balcao.operations.parameters import Parameters, read_marks, split
from balcao.storage.batches import StoredBatch

ADDRESS = "/lotes/v1"

# A file, as it comes.
FILE_BODY = BodyLimit(BOUNDS.file_bytes, tuple(kind.encode() for kind in MEDIA_TYPES))
# What is said of a batch; most of it needs no word.
WORD_BODY = BodyLimit(65_536, (b"application/json",), may_be_empty=True)

_OWN = ("operacao", "nome")
_COLUMN = "coluna_"  # and a role: which column has it
_FREE = (b"x-creditos-cobrados", b"0")

Deed = Callable[[Request, Caller, str], Awaitable[Answer]]


class ConfirmBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is confirmed, and up to how many credits."""

    digest: str
    teto_creditos: int


class ResumeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Go on; with a higher ceiling, if one is said."""

    teto_creditos: int | None = None


class NoBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing more is to be said: whoever says something means something else."""


class RepeatBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which rows: those that failed; there are no others that may be repeated."""

    somente: str = "falhas"


@dataclass(frozen=True, slots=True)
class BatchPages:
    """The addresses, below the two that routes know."""

    batches: BatchDesk
    results: Results

    def routes(self) -> Sequence[Route]:
        """What the front serves."""
        return (
            Route(
                ADDRESS,
                "lotes",
                self.all,
                ("GET", "HEAD", "POST"),
                FILE_BODY,
                in_pieces=True,
                needs_key=True,
            ),
            Route(
                f"{ADDRESS}/{{id}}",
                "lote",
                self.one,
                ("GET", "HEAD", "POST", "DELETE"),
                WORD_BODY,
                needs_key=True,
            ),
        )

    async def all(self, request: Request) -> Answer:
        """The list, or a new one."""
        return await (self._receive if request.method == "POST" else self._list)(request)

    async def one(self, request: Request) -> Answer:
        """One of them: told, decided, or handed out."""
        number, slash, about = request.rest.partition("/")
        method = "GET" if request.method == "HEAD" else request.method
        deeds = self._deeds().get(about)
        if deeds is None or (slash and not about):
            raise RouteNotFound
        deed = deeds.get(method)
        if deed is None:
            raise MethodNotAllowed([*deeds, *(["HEAD"] if "GET" in deeds else [])])
        caller, number = _caller(request), _number(number)
        seen = caller.operations_seen
        if seen is not None and (await self._batch(caller, number)).operation not in seen:
            raise OperationNotAllowed
        return await deed(request, caller, number)

    def _deeds(self) -> Mapping[str, Mapping[str, Deed]]:
        """By what follows the number, and by method."""
        return {
            "": {"GET": self._show, "DELETE": self._delete},
            "confirmar": {"POST": self._confirm},
            "pausar": {"POST": self._pause},
            "retomar": {"POST": self._resume},
            "encerrar": {"POST": self._stop},
            "repetir": {"POST": self._repeat},
            "linhas": {"GET": self._rows},
            "recibos.zip": {"GET": self._receipts},
            **{f"resultado.{form}": {"GET": self._result} for form in MEDIA},
        }

    # A new one, and all of them.

    async def _receive(self, request: Request) -> Answer:
        caller, pieces = _caller(request), request.pieces
        assert pieces is not None
        key = _key_of(request)
        parameters = split(request.query)
        names = [name for name, _ in parameters]
        for name in set(names):
            if names.count(name) > 1:
                raise RepeatedParameter(f"O parâmetro {name} foi informado mais de uma vez.")
        query = dict(parameters)
        marks = read_marks(request.headers)
        batch = await self.batches.receive(
            Upload(
                caller,
                query.get("operacao", ""),
                [
                    (name, value)
                    for name, value in query.items()
                    if name not in _OWN and not name.startswith(_COLUMN)
                ],
                FILE_BODY.admit(request.headers),
                pieces,
                key,
                query.get("nome", "").strip(),
                marks.client,
                {
                    name.removeprefix(_COLUMN): value.strip() or None
                    for name, value in query.items()
                    if name.startswith(_COLUMN)
                },
                request.request_id,
                int(request.headers.get(b"content-length", b"0")),
            )
        )
        return _created(batch, request)

    async def _list(self, request: Request) -> Answer:
        parameters = Parameters(request.query, request.headers, ("limite", "cursor"))
        limit = limit_of(parameters.text("limite"), ITEMS_USUAL, ITEMS_MAX)
        before = id_cursor(parameters.text("cursor")) or "~"
        caller = _caller(request)
        found = await self.batches.of_account(
            caller.account_id, limit + 1, before=before, operations=caller.operations_seen
        )
        shown = found[:limit]
        items = [batch_told(await self.batches.seen(each)) for each in shown]
        more = len(found) > limit
        return free_answer({"itens": items, "cursor": shown[-1].batch_id if more else None})

    # One of them.

    async def _show(self, request: Request, caller: Caller, number: str) -> Answer:
        return await self._told(await self._batch(caller, number))

    async def _confirm(self, request: Request, caller: Caller, number: str) -> Answer:
        body = body_of(request, ConfirmBody)
        await self._is_its_own(caller, number)
        try:
            batch = await self.batches.confirm(
                caller.account_id, number, body.digest, body.teto_creditos, signed_by(caller)
            )
        except QuoteChanged as changed:
            return await self._changed(changed, caller, number)
        return await self._told(batch)

    async def _changed(self, changed: QuoteChanged, caller: Caller, number: str) -> Answer:
        """409, with the quote as it is now."""
        told = batch_told(await self.batches.show(caller.account_id, number))
        problem = problem_of(changed)
        body = b"{" + error_fields(problem)[:-1]
        body += b',"cotacao":' + msgspec.json.encode(told.cotacao) + b"}"
        headers: Headers = [
            (b"content-type", b"application/json; charset=utf-8"),
            (b"cache-control", b"no-store"),
            _FREE,
            help_header(problem.code),
        ]
        return problem.status, headers, body

    async def _pause(self, request: Request, caller: Caller, number: str) -> Answer:
        if request.body:
            body_of(request, NoBody)
        return await self._told(
            await self.batches.pause(caller.account_id, number, signed_by(caller))
        )

    async def _resume(self, request: Request, caller: Caller, number: str) -> Answer:
        body = body_of(request, ResumeBody) if request.body else ResumeBody()
        await self._is_its_own(caller, number)
        return await self._told(
            await self.batches.resume(
                caller.account_id, number, body.teto_creditos, signed_by(caller)
            )
        )

    async def _stop(self, request: Request, caller: Caller, number: str) -> Answer:
        if request.body:
            body_of(request, NoBody)
        return await self._told(
            await self.batches.stop(caller.account_id, number, signed_by(caller))
        )

    async def _repeat(self, request: Request, caller: Caller, number: str) -> Answer:
        body = body_of(request, RepeatBody) if request.body else RepeatBody()
        if body.somente != "falhas":
            raise InvalidParameter("somente: só as falhas podem ser repetidas.")
        batch = await self.batches.repeat(
            caller, number, _key_of(request), signed_by(caller), request.request_id
        )
        return _created(batch, request)

    async def _delete(self, request: Request, caller: Caller, number: str) -> Answer:
        await self._is_its_own(caller, number)
        await self.batches.delete(caller.account_id, number, signed_by(caller))
        return await self._told(await self._batch(caller, number))

    async def _rows(self, request: Request, caller: Caller, number: str) -> Answer:
        page = page_of(request, ("estado",))
        wanted = Parameters(request.query, request.headers, ("estado",)).text("estado")
        state: RowState | None = None
        if wanted:
            state = next((each for each in ROW_STATES if each == wanted), None)
            if state is None:
                raise InvalidParameter(f"estado deve ser um destes: {', '.join(ROW_STATES)}.")
        rows = await self.batches.rows(
            caller.account_id, number, after=page.after, limit=page.limit + 1, state=state
        )
        cursor = page.cursor([row.line for row in rows])
        return free_answer({"itens": [*map(row_told, rows[: page.limit])], "cursor": cursor})

    # Files.

    async def _result(self, request: Request, caller: Caller, number: str) -> Answer:
        batch = await self._with_data(caller, number)
        name = request.rest.rpartition(".")[2]
        form: ResultForm = next(each for each in MEDIA if each == name)
        file = await self.results.result(batch, form)
        return _file(file, MEDIA[form], f"lote-{number}.{form}")

    async def _receipts(self, request: Request, caller: Caller, number: str) -> Answer:
        batch = await self._with_data(caller, number)
        file = await self.results.receipts(batch)
        return _file(file, b"application/zip", f"lote-{number}-recibos.zip")

    # What they are made of.

    async def _batch(self, caller: Caller, number: str) -> StoredBatch:
        return (await self.batches.show(caller.account_id, number)).batch

    async def _is_its_own(self, caller: Caller, number: str) -> None:
        """Refuse what spends or erases to keys that did not send the file (decisions 13.2).

        Rows are charged to that key and its budgets, and what is erased was paid for by it. Raises
        `NotAdministering`.
        """
        batch = await self._batch(caller, number)
        if batch.key_id != caller.key_id and not caller.administers:
            raise NotAdministering

    async def _with_data(self, caller: Caller, number: str) -> StoredBatch:
        batch = await self._batch(caller, number)
        if batch.erased_ms is not None:
            raise BatchErased
        return batch

    async def _told(self, batch: StoredBatch) -> Answer:
        return free_answer(_fields(batch_told(await self.batches.seen(batch))))


def _created(batch: StoredBatch, request: Request) -> Answer:
    """What a repetition is told again, as of the request that made it.

    A batch that is made here has the number of that request.
    """
    fields = {
        "id": batch.batch_id,
        "nome": batch.name,
        "operacao": batch.operation,
        "estado": "recebido",
    }
    more = [(b"location", f"{ADDRESS}/{batch.batch_id}".encode())]
    if batch.batch_id == request.request_id:
        return free_answer(fields, 201, *more)
    more += [REPLAYED, (b"x-request-id", batch.batch_id.encode())]
    status, headers, body = free_answer(fields, 201, *more)
    first = msgspec.structs.replace(request, request_id=batch.batch_id)
    return status, headers, first.numbered(body)


def _fields(told: BatchAnswer) -> Mapping[str, object]:
    return {name: getattr(told, name) for name in told.__struct_fields__}


def _file(file: ResultFile, media_type: bytes, name: str) -> Answer:
    headers: Headers = [
        (b"content-type", media_type),
        (b"content-disposition", f'attachment; filename="{name}"'.encode()),
        (b"cache-control", b"private, no-store"),
        (b"x-content-type-options", b"nosniff"),
        _FREE,
    ]
    return 200, headers, Pieces(file.size_bytes, file.pieces())


def _caller(request: Request) -> Caller:
    assert request.caller is not None, "the route wants a key"
    return request.caller


def _number(text: str) -> str:
    """A batch's number in its usual form. Raises `BatchNotFound` of what is none."""
    try:
        return str(UUID(text))
    except ValueError:
        raise BatchNotFound from None


def _key_of(request: Request) -> str:
    """The key that makes sure of one batch. Raises `InvalidIdempotencyKey` where there is none."""
    if b"idempotency-key" in request.repeated:
        raise RepeatedParameter("O cabeçalho idempotency-key foi enviado mais de uma vez.")
    key = request.headers.get(b"idempotency-key", b"").decode("latin-1")
    if not idempotency.is_valid_key(key):
        raise InvalidIdempotencyKey
    return key
