"""API types of batches and their rows, also printed by `--json` (contract 13.1)."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from balcao.batches.desk import BatchInfo
from balcao.batches.pauses import pause_of
from balcao.batches.result_columns import ResultRow, members, row_type
from balcao.core.batches import ROW_STATES, BatchState, PauseReason, RowState
from balcao.core.budgets import iso_instant
from balcao.core.described import described, doc
from balcao.lookup.source_status import QuotedSource
from balcao.storage.batches import StoredBatch, StoredRow

_WHEN = {"format": "date-time"}
_PLURALS: Mapping[RowState, str] = {"em_andamento": "em_andamento"}  # others take an s


@described("LinhasDoLote", "Quantas linhas há, por estado.")
class RowCounts(msgspec.Struct, frozen=True):
    """Number of rows by state; `validas` counts those to be looked up, done or not."""

    total: Annotated[int, doc("Todas as linhas lidas.")]
    validas: Annotated[int, doc("Linhas a consultar ou consultadas.")]
    invalidas: Annotated[int, doc("Linhas que não perguntam nada; não custam nada.")]
    repetidas: Annotated[int, doc("Linhas iguais a uma anterior; não custam nada.")]
    pendentes: Annotated[int, doc("Ainda não consultadas.")]
    em_andamento: Annotated[int, doc("Esperando a fonte.")]
    concluidas: Annotated[int, doc("Respondidas.")]
    falhas: Annotated[int, doc("Não respondidas; não custam nada e podem ser repetidas.")]
    recusadas: Annotated[int, doc("Que a conta não pode consultar; não custam nada.")]
    canceladas: Annotated[int, doc("Que não serão mais consultadas; não custam nada.")]


@described("CotacaoDoLote", "O que o lote custaria.")
class BatchQuoteAnswer(msgspec.Struct, frozen=True):
    """The quote of a batch, which a confirmation names by its digest."""

    digest: Annotated[str, doc("O que se confirma: as linhas, a tabela e os parâmetros.")]
    creditos_min: Annotated[int, doc("O mínimo que custaria.")]
    creditos_max: Annotated[int, doc("O máximo que custaria.")]
    creditos_esperados: Annotated[
        int | None,
        doc("Pelo que linhas assim custaram antes nesta conta; nulo, se foram menos de 100."),
    ]
    validas: Annotated[int, doc("Linhas a consultar.")]
    a_mao: Annotated[int, doc("Das quais a resposta já está à mão.")]
    a_consultar: Annotated[int, doc("Das quais uma fonte pode ter de ser consultada.")]
    valida_ate: Annotated[str, doc("Até quando pode ser confirmada.", **_WHEN)]
    saldo_apos_maximo: Annotated[
        int | None,
        doc(
            "O disponível menos o que ainda pode custar; negativo, se falta; nulo, se nada limita"
            " a conta."
        ),
    ]
    duracao_estimada_s: Annotated[
        int | None,
        doc(
            "Quantos segundos levaria, pelo que as fontes levaram na última hora, se ninguém mais"
            " consultasse; nulo, se nenhuma delas respondeu."
        ),
    ]
    fontes: Annotated[
        Sequence[QuotedSource],
        doc("Quem pode ter de ser consultado, nesta ordem, e como está agora."),
    ]


@described("RespostaLoteNovo", "Um lote recebido.")
class NewBatchAnswer(msgspec.Struct, frozen=True):
    """A newly received batch."""

    id: Annotated[str, doc("Identificador do lote.", format="uuid")]
    nome: Annotated[str, doc("Nome que lhe deram; vazio, se nenhum.")]
    operacao: Annotated[str, doc("Operação, como no endereço.")]
    estado: Annotated[BatchState, doc("Em que estado está.")]


@described("Lote", "Um lote de consultas: o arquivo, o estado e o que custou.")
class BatchAnswer(NewBatchAnswer, frozen=True):
    """A batch, without its rows."""

    motivo: Annotated[PauseReason | None, doc("Por que está pausado; senão nulo.")]
    codigo: Annotated[
        str | None, doc("O código do que o pausou, ou do que há com o arquivo recusado.")
    ]
    mensagem: Annotated[
        str | None,
        doc("O que há com o arquivo recusado, ou por que está pausado e o que ajuda; senão nulo."),
    ]
    colunas: Annotated[
        Sequence[str],
        doc(
            "Como as colunas do arquivo foram entendidas, e em quantas linhas uma delas não tem um"
            " código; vazio antes disso."
        ),
    ]
    linhas: Annotated[RowCounts, doc("Quantas linhas há, por estado.")]
    cotacao: Annotated[BatchQuoteAnswer | None, doc("O preço; nulo antes da cotação.")]
    teto_creditos: Annotated[int | None, doc("O teto confirmado; nulo antes disso.")]
    creditos_gastos: Annotated[int, doc("Cobrados até agora.")]
    creditos_reservados: Annotated[int, doc("Reservados pelas linhas em andamento.")]
    repete: Annotated[str | None, doc("O lote cujas falhas este repete; senão nulo.")]
    criado_em: Annotated[str, doc("Quando chegou.", **_WHEN)]
    confirmado_em: Annotated[str | None, doc("Quando foi confirmado.", **_WHEN)]
    terminado_em: Annotated[str | None, doc("Quando terminou.", **_WHEN)]
    apagado_em: Annotated[str, doc("Quando os dados são, ou foram, apagados.", **_WHEN)]


@described("LinhaDoLote", "Uma linha do arquivo e o que foi feito dela.")
class RowAnswer(row_type()):  # type: ignore[misc]
    """One row of a batch, without the answer of its lookup."""


def row_answer(row: StoredRow) -> RowAnswer:
    """Return the API's form of a row."""
    return msgspec.convert(members(ResultRow(row)), RowAnswer)


def batch_answer(info: BatchInfo) -> BatchAnswer:
    """Return the API's form of a batch."""
    batch, summary = info.batch, info.summary
    pause = pause_of(batch, info.available)
    return BatchAnswer(
        id=batch.batch_id,
        nome=batch.name,
        operacao=batch.operation,
        estado=batch.state,
        motivo=batch.reason,
        codigo=batch.code,
        mensagem=batch.message if pause is None else pause.message,
        colunas=() if summary is None else summary.columns,
        linhas=row_counts(batch),
        cotacao=quote_answer(info),
        teto_creditos=batch.ceiling,
        creditos_gastos=batch.spent,
        creditos_reservados=batch.held,
        repete=batch.repeats,
        criado_em=iso_instant(batch.created_ms) or "",
        confirmado_em=iso_instant(batch.confirmed_ms),
        terminado_em=iso_instant(batch.ended_ms),
        apagado_em=iso_instant(info.erased_at_ms) or "",
    )


def row_counts(batch: StoredBatch) -> RowCounts:
    """Return the number of the batch's rows by state."""
    counts = {_PLURALS.get(state, f"{state}s"): batch.rows(state) for state in ROW_STATES}
    total = batch.rows()
    return RowCounts(total, total - counts["invalidas"] - counts["repetidas"], **counts)


def quote_answer(info: BatchInfo) -> BatchQuoteAnswer | None:
    """Return the API's form of the batch's quote, None before there is one."""
    quote = info.batch.quote
    if quote is None:
        return None
    return BatchQuoteAnswer(
        digest=quote.digest,
        creditos_min=quote.least,
        creditos_max=quote.greatest,
        creditos_esperados=info.expected,
        validas=quote.valid,
        a_mao=quote.at_hand,
        a_consultar=quote.to_ask,
        valida_ate=iso_instant(quote.until_ms) or "",
        saldo_apos_maximo=info.available_after,
        duracao_estimada_s=info.seconds,
        fontes=info.sources,
    )
