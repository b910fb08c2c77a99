"""`/lotes/v1`: one operation for every row of a file (contract 13); `batches.desk` does it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeAlias
from uuid import UUID

import msgspec

from balcao.batches.api_types import (
    BatchAnswer,
    BatchQuoteAnswer,
    NewBatchAnswer,
    RowAnswer,
    RowCounts,
    batch_answer,
    row_answer,
)
from balcao.batches.desk import BatchDesk, Upload
from balcao.batches.results import MEDIA, ResultFile, ResultForm, Results
from balcao.batches.tables.contract import BOUNDS, MEDIA_TYPES
from balcao.core import errors, idempotency
from balcao.core.access import Caller
from balcao.core.batches import ROW_STATES, RowState
from balcao.core.described import described, doc
from balcao.core.people import signed_by
from balcao.core.problems import problem_of
from balcao.http.contents import File, Json, RequestBody
from balcao.http.creating import REQUIRED_CREATION_KEY
from balcao.http.json_bodies import (
    ITEMS_MAX,
    ITEMS_USUAL,
    OPTIONAL_JSON_BODY,
    PAGE_PARAMETERS,
    body_of,
    free_answer,
    id_cursor,
    limit_of,
    page_of,
)
from balcao.http.read import BodyLimit, Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import TAG_BATCHES, TEXT, UUID_SCHEMA
from balcao.http.write import REPLAYED, Headers, Pieces, help_header
from balcao.lookup.source_status import QuotedSource
from balcao.operations.envelope import error_fields
from balcao.operations.parameters import Parameter, Parameters, read_tags, split
from balcao.storage.batches import StoredBatch, StoredRow

ADDRESS = "/lotes/v1"
_BATCH = f"{ADDRESS}/{{id}}"

# The file of a new batch, read in pieces.
FILE_BODY = BodyLimit(BOUNDS.file_bytes, tuple(kind.encode() for kind in MEDIA_TYPES))

_OWN = ("operacao", "nome")
_COLUMN = "coluna_"  # precedes a role in the parameter that names its column
_FREE = (b"x-creditos-cobrados", b"0")


@described("ConfirmacaoDeLote", "A cotação confirmada e o limite de gasto.")
class ConfirmBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The quote that is confirmed, and the ceiling."""

    digest: Annotated[str, doc("O `digest` da cotação.")]
    teto_creditos: Annotated[
        int, doc("O limite de gasto do lote, que nunca é ultrapassado.", minimum=0)
    ]


@described("RetomadaDeLote", "Um limite de gasto maior, se for o caso.")
class ResumeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A higher ceiling, if it changes."""

    teto_creditos: Annotated[
        int | None, doc("O novo limite de gasto. Não pode ser menor que o atual.", minimum=0)
    ] = None


class EmptyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body without members: any member is an error."""


@described("RepeticaoDeLote", "Quais linhas.")
class RepeatBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows to repeat: those that failed; no others can be."""

    somente: Annotated[str, doc("Só as falhas podem ser repetidas.", enum=["falhas"])] = "falhas"


_Cursor: TypeAlias = Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]


@described("RespostaLotes", "Uma página de lotes.")
class BatchesAnswer(msgspec.Struct, frozen=True):
    """A page of batches."""

    itens: Annotated[Sequence[BatchAnswer], doc("Os itens.")]
    cursor: _Cursor


@described("RespostaLinhas", "Uma página de linhas.")
class RowsAnswer(msgspec.Struct, frozen=True):
    """A page of rows."""

    itens: Annotated[Sequence[RowAnswer], doc("Os itens.")]
    cursor: _Cursor


# The descriptions of the routes.

_NUMBER = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c0"
_WHEN = "2026-08-08T10:15:30.120-03:00"
_EXAMPLE = BatchAnswer(
    id=_NUMBER,
    nome="fornecedores",
    operacao="certidao-negativa-de-debitos-federal",
    estado="cotado",
    motivo=None,
    codigo=None,
    mensagem=None,
    colunas=("coluna A «CNPJ» → documento",),
    linhas=RowCounts(30, 27, 2, 1, 27, 0, 0, 0, 0, 0),
    cotacao=BatchQuoteAnswer(
        "5f0c9a", 27, 54, None, 27, 0, 27, _WHEN, 946, 12, (QuotedSource("fonte", "respondendo"),)
    ),
    teto_creditos=None,
    creditos_gastos=0,
    creditos_reservados=0,
    repete=None,
    criado_em=_WHEN,
    confirmado_em=None,
    terminado_em=None,
    apagado_em="2026-09-07T10:15:30.120-03:00",
)
_ROW = row_answer(
    StoredRow(2, "concluida", "c-17", document="90010001000100", request_id=_NUMBER, credits=2)
)
_ONE = Json(_EXAMPLE, "RespostaLote", "Um lote.", envelope=True)
_NEW = Json(NewBatchAnswer(_NUMBER, "fornecedores", _EXAMPLE.operacao, "recebido"), envelope=True)
_ID = Parameter("id", "O `id` do lote.", UUID_SCHEMA, place="path", required=True)
_COLUMNS = {
    "documento": "A coluna do documento, de qualquer tipo: nome ou letra.",
    "cnpj": "A coluna do CNPJ: nome ou letra. Vazio: nenhuma.",
    "cpf": "A coluna do CPF: nome ou letra. Vazio: nenhuma.",
    "data_nascimento": "A coluna da data de nascimento: nome ou letra. Vazio: nenhuma.",
    "uf": "A coluna da UF: nome ou letra. Vazio: nenhuma.",
    "ref": "A coluna da sua referência: nome ou letra. Vazio: nenhuma.",
    "cliente": "A coluna do cliente: nome ou letra. Vazio: nenhuma.",
}
_ABOUT_BATCH = (
    "Estados: `recebido`, `validando`, `cotado` ou `recusado`; confirmado, `executando`,"
    " `pausado` (com o motivo) e `concluido`; ou `encerrando` e `encerrado`; `expirado`, se a"
    " cotação não foi confirmada em 24 horas. O limite de gasto e o saldo nunca são"
    " ultrapassados. Cada linha é cobrada no máximo uma vez, e só se for respondida."
)
_LIST_PROBLEMS = (errors.InvalidParameter, errors.RepeatedParameter)
_BATCH_PROBLEMS = (errors.BatchNotFound, errors.OperationNotAllowed, errors.StorageFailed)
_DATA_PROBLEMS = (*_BATCH_PROBLEMS, errors.BatchErased)
_COMMAND_PROBLEMS = (
    *_DATA_PROBLEMS,
    errors.BatchStateRefused,
    errors.InvalidParameter,
    errors.InvalidBody,
    errors.UnsupportedMediaType,
)
_CREATION_PROBLEMS = (
    errors.InvalidIdempotencyKey,
    errors.IdempotencyKeyReused,
    errors.RepeatedParameter,
    errors.TooManyUnreadFiles,
    errors.TooManyOpenBatches,
    errors.FileSpaceUsed,
    errors.NoFileSpace,
)

_BatchesRoute = partial(Route, needs_key=True, tag=TAG_BATCHES, text=_ABOUT_BATCH)
_BatchRoute = partial(_BatchesRoute, name="lote", parameters=(_ID,), gives=[_ONE])
_CommandRoute = partial(_BatchRoute, method="POST", body=OPTIONAL_JSON_BODY)


def _file_route(name: str, media_type: str) -> Route:
    return _BatchRoute(
        f"{_BATCH}/{name}",
        id=name.replace(".", "_"),
        summary=f"O arquivo {name}",
        text=(
            "O resultado até o momento: as colunas do arquivo, na ordem original, seguidas das"
            " nossas, que em CSV começam com `balcao_`. Todas estão descritas em"
            " [Colunas do resultado](/docs/guias/lotes#colunas-do-resultado)."
        ),
        gives=[File(media_type)],
        problems=(
            *_DATA_PROBLEMS,
            errors.BatchStateRefused,
            errors.FileRunning,
            errors.NoFileSpace,
        ),
    )


def _result_route(form: ResultForm) -> Route:
    return _file_route(f"resultado.{form}", MEDIA[form].decode().partition(";")[0])


@dataclass(frozen=True, slots=True)
class BatchRoutes:
    """The routes of the batches."""

    batches: BatchDesk
    results: Results

    @_BatchesRoute(
        ADDRESS,
        "lotes",
        id="lotes",
        summary="Listar lotes",
        parameters=PAGE_PARAMETERS,
        gives=[Json(BatchesAnswer([_EXAMPLE], None), envelope=True)],
        problems=(*_LIST_PROBLEMS, errors.StorageFailed),
    )
    async def list_batches(self, request: Request) -> Answer:
        """Return a page of the batches that this key may read."""
        parameters = Parameters(request.query, request.headers, ("limite", "cursor"))
        limit = limit_of(parameters.text("limite"), ITEMS_USUAL, ITEMS_MAX)
        before = id_cursor(parameters.text("cursor")) or "~"
        caller = _caller(request)
        found = await self.batches.page(
            caller.account_id, limit + 1, before=before, operations=caller.visible_operations
        )
        shown = found[:limit]
        items = [batch_answer(await self.batches.info(each)) for each in shown]
        more = len(found) > limit
        return free_answer(BatchesAnswer(items, shown[-1].batch_id if more else None))

    @_BatchesRoute(
        ADDRESS,
        "lotes",
        method="POST",
        body=FILE_BODY,
        in_pieces=True,
        id="criar_lote",
        summary="Criar lote",
        text=(
            "Recebe um arquivo com uma linha por consulta. Os demais parâmetros da operação valem"
            " para todas as linhas; as colunas do arquivo prevalecem, mas um valor que a operação"
            " não aceita é recusado aqui. As colunas são reconhecidas automaticamente, e"
            " `colunas` mostra como. Para indicar uma coluna, use `coluna_` e o papel (um destes"
            " ou um parâmetro da operação), com o nome do cabeçalho ou a letra da planilha. O"
            " arquivo é lido e cotado em seguida: acompanhe `estado` até `cotado` ou `recusado`."
            " Nada é consultado nem cobrado antes da confirmação. A mesma `Idempotency-Key` com o"
            " mesmo arquivo devolve o mesmo lote, com a primeira resposta."
        ),
        parameters=(
            Parameter(
                "operacao", "A operação do lote: o caminho de uma consulta.", TEXT, required=True
            ),
            Parameter("nome", "Um nome para o lote.", TEXT),
            *(Parameter(f"{_COLUMN}{role}", text, TEXT) for role, text in _COLUMNS.items()),
            REQUIRED_CREATION_KEY,
        ),
        takes=RequestBody(
            [*map(File, MEDIA_TYPES)],
            text=f"O arquivo, até {BOUNDS.file_bytes // 1_000_000} MB.",
        ),
        gives=[_NEW],
        status=201,
        problems=(
            *_CREATION_PROBLEMS,
            errors.InvalidParameter,
            errors.InvalidUf,
            errors.InvalidStrategy,
            errors.UnsupportedMediaType,
            errors.OperationNotAllowed,
            errors.CertificatesNotEnabled,
            errors.TagWithCpf,
            errors.StorageFailed,
            errors.CommitUncertain,
        ),
    )
    async def create(self, request: Request) -> Answer:
        caller, pieces = _caller(request), request.pieces
        assert pieces is not None
        key = _key_of(request)
        parameters = split(request.query)
        names = [name for name, _ in parameters]
        for name in set(names):
            if names.count(name) > 1:
                raise errors.RepeatedParameter(f"O parâmetro {name} foi informado mais de uma vez.")
        query = dict(parameters)
        tags = read_tags(request.headers)
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
                tags.client,
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

    @_BatchRoute(_BATCH, id="lote", summary="Consultar lote", problems=_BATCH_PROBLEMS)
    async def show(self, request: Request) -> Answer:
        caller, number = await self._enter(request)
        return await self._answer(await self._batch(caller, number))

    @_BatchRoute(
        _BATCH,
        method="DELETE",
        id="apagar_lote",
        summary="Apagar lote",
        text=(
            "Apaga o arquivo e os resultados de um lote terminado, ou cotado e não confirmado. As"
            " cobranças continuam no extrato. Só com a chave que enviou o arquivo ou com uma"
            " chave de administração."
        ),
        problems=(*_BATCH_PROBLEMS, errors.AdminKeyRequired, errors.BatchStateRefused),
    )
    async def delete(self, request: Request) -> Answer:
        caller, number = await self._enter(request)
        await self._is_its_own(caller, number)
        await self.batches.delete(caller.account_id, number, signed_by(caller))
        return await self._answer(await self._batch(caller, number))

    @_CommandRoute(
        f"{_BATCH}/confirmar",
        id="confirmar_lote",
        summary="Confirmar lote",
        takes=RequestBody([Json(ConfirmBody("5f0c9a", 54))]),
        problems=(*_COMMAND_PROBLEMS, errors.QuoteChanged, errors.AdminKeyRequired),
    )
    async def confirm(self, request: Request) -> Answer:
        caller, number = await self._enter(request)
        body = body_of(request, ConfirmBody)
        await self._is_its_own(caller, number)
        try:
            batch = await self.batches.confirm(
                caller.account_id, number, body.digest, body.teto_creditos, signed_by(caller)
            )
        except errors.QuoteChanged as changed:
            return await self._changed(changed, caller, number)
        return await self._answer(batch)

    async def _changed(self, changed: errors.QuoteChanged, caller: Caller, number: str) -> Answer:
        """Return a 409 with the current quote."""
        current = batch_answer(await self.batches.show(caller.account_id, number))
        problem = problem_of(changed)
        body = b"{" + error_fields(problem)[:-1]
        body += b',"cotacao":' + msgspec.json.encode(current.cotacao) + b"}"
        headers: Headers = [
            (b"content-type", b"application/json; charset=utf-8"),
            (b"cache-control", b"no-store"),
            _FREE,
            help_header(problem.code),
        ]
        return problem.status, headers, body

    @_CommandRoute(
        f"{_BATCH}/pausar",
        id="pausar_lote",
        summary="Pausar lote",
        problems=_COMMAND_PROBLEMS,
    )
    async def pause(self, request: Request) -> Answer:
        caller, number = await self._enter(request)
        if request.body:
            body_of(request, EmptyBody)
        return await self._answer(
            await self.batches.pause(caller.account_id, number, signed_by(caller))
        )

    @_CommandRoute(
        f"{_BATCH}/retomar",
        id="retomar_lote",
        summary="Retomar lote",
        takes=RequestBody([Json(ResumeBody(80))], required=False),
        problems=(*_COMMAND_PROBLEMS, errors.AdminKeyRequired),
    )
    async def resume(self, request: Request) -> Answer:
        """Resume a batch, with a higher ceiling if one is sent."""
        caller, number = await self._enter(request)
        body = body_of(request, ResumeBody) if request.body else ResumeBody()
        await self._is_its_own(caller, number)
        return await self._answer(
            await self.batches.resume(
                caller.account_id, number, body.teto_creditos, signed_by(caller)
            )
        )

    @_CommandRoute(
        f"{_BATCH}/encerrar",
        id="encerrar_lote",
        summary="Encerrar lote",
        problems=_COMMAND_PROBLEMS,
    )
    async def stop(self, request: Request) -> Answer:
        caller, number = await self._enter(request)
        if request.body:
            body_of(request, EmptyBody)
        return await self._answer(
            await self.batches.stop(caller.account_id, number, signed_by(caller))
        )

    @_CommandRoute(
        f"{_BATCH}/repetir",
        id="repetir_lote",
        summary="Refazer as linhas que falharam",
        parameters=(_ID, REQUIRED_CREATION_KEY),
        takes=RequestBody([Json(RepeatBody())], required=False),
        gives=[_NEW],
        status=201,
        problems=(*_COMMAND_PROBLEMS, *_CREATION_PROBLEMS),
    )
    async def repeat(self, request: Request) -> Answer:
        """Create a batch of the failed rows of another."""
        caller, number = await self._enter(request)
        body = body_of(request, RepeatBody) if request.body else RepeatBody()
        if body.somente != "falhas":
            raise errors.InvalidParameter("somente: só as falhas podem ser repetidas.")
        batch = await self.batches.repeat(
            caller, number, _key_of(request), signed_by(caller), request.request_id
        )
        return _created(batch, request)

    @_BatchRoute(
        f"{_BATCH}/linhas",
        id="linhas_do_lote",
        summary="Listar linhas de um lote",
        parameters=(
            _ID,
            Parameter("estado", "Só as linhas deste estado.", {**TEXT, "enum": [*ROW_STATES]}),
            *PAGE_PARAMETERS,
        ),
        gives=[Json(RowsAnswer([_ROW], None), envelope=True)],
        problems=(*_DATA_PROBLEMS, *_LIST_PROBLEMS),
    )
    async def rows(self, request: Request) -> Answer:
        caller, number = await self._enter(request)
        page = page_of(request, ("estado",))
        text = Parameters(request.query, request.headers, ("estado",)).text("estado")
        state: RowState | None = None
        if text:
            state = next((each for each in ROW_STATES if each == text), None)
            if state is None:
                raise errors.InvalidParameter(
                    f"estado deve ser um destes: {', '.join(ROW_STATES)}."
                )
        rows = await self.batches.rows(
            caller.account_id, number, after=page.after, limit=page.limit + 1, state=state
        )
        cursor = page.cursor([row.line for row in rows])
        return free_answer(RowsAnswer([*map(row_answer, rows[: page.limit])], cursor))

    @_result_route("csv")
    @_result_route("xlsx")
    @_result_route("jsonl")
    async def result(self, request: Request) -> Answer:
        caller, number = await self._enter(request)
        batch = await self._with_data(caller, number)
        name = request.path.rpartition(".")[2]
        form: ResultForm = next(each for each in MEDIA if each == name)
        file = await self.results.result(batch, form)
        return _file(file, MEDIA[form], f"lote-{number}.{form}")

    @_file_route("recibos.zip", "application/zip")
    async def receipts(self, request: Request) -> Answer:
        """Return the receipts of a batch, in a ZIP file."""
        caller, number = await self._enter(request)
        batch = await self._with_data(caller, number)
        file = await self.results.receipts(batch)
        return _file(file, b"application/zip", f"lote-{number}-recibos.zip")

    async def _enter(self, request: Request) -> tuple[Caller, str]:
        """Return the caller and the number of the batch in the path.

        Raises `BatchNotFound`, and `OperationNotAllowed` for keys that do not serve its operation.
        """
        caller, number = _caller(request), _number(request.rest)
        seen = caller.visible_operations
        if seen is not None and (await self._batch(caller, number)).operation not in seen:
            raise errors.OperationNotAllowed
        return caller, number

    async def _batch(self, caller: Caller, number: str) -> StoredBatch:
        return (await self.batches.show(caller.account_id, number)).batch

    async def _is_its_own(self, caller: Caller, number: str) -> None:
        """Allow spending and erasing only to the key that sent the file (contract 13.2).

        The rows are charged to that key and its budgets, and its account paid for the results.
        Raises `AdminKeyRequired`.
        """
        batch = await self._batch(caller, number)
        if batch.key_id != caller.key_id and not caller.administers:
            raise errors.AdminKeyRequired

    async def _with_data(self, caller: Caller, number: str) -> StoredBatch:
        batch = await self._batch(caller, number)
        if batch.erased_ms is not None:
            raise errors.BatchErased
        return batch

    async def _answer(self, batch: StoredBatch) -> Answer:
        return free_answer(batch_answer(await self.batches.info(batch)))


def _created(batch: StoredBatch, request: Request) -> Answer:
    """Return the answer about a new batch; for a repeated request, the first answer.

    A batch has the number of the request that created it.
    """
    new = NewBatchAnswer(batch.batch_id, batch.name, batch.operation, "recebido")
    more = [(b"location", f"{ADDRESS}/{batch.batch_id}".encode())]
    if batch.batch_id == request.request_id:
        return free_answer(new, 201, *more)
    more += [REPLAYED, (b"x-request-id", batch.batch_id.encode())]
    status, headers, body = free_answer(new, 201, *more)
    first = msgspec.structs.replace(request, request_id=batch.batch_id)
    return status, headers, first.numbered(body)


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
    """Return a batch's number in its canonical form. Raises `BatchNotFound`."""
    try:
        return str(UUID(text))
    except ValueError:
        raise errors.BatchNotFound from None


def _key_of(request: Request) -> str:
    """Return the required idempotency key. Raises `InvalidIdempotencyKey`."""
    if b"idempotency-key" in request.repeated:
        raise errors.RepeatedParameter("O cabeçalho idempotency-key foi enviado mais de uma vez.")
    key = request.headers.get(b"idempotency-key", b"").decode("latin-1")
    if not idempotency.is_valid_key(key):
        raise errors.InvalidIdempotencyKey
    return key
