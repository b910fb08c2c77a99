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
    invalidas: Annotated[int, doc("Linhas que não podem ser consultadas, sem custo.")]
    repetidas: Annotated[int, doc("Linhas iguais a uma anterior, sem custo.")]
    pendentes: Annotated[int, doc("Ainda não consultadas.")]
    em_andamento: Annotated[int, doc("Esperando a fonte.")]
    concluidas: Annotated[int, doc("Respondidas.")]
    falhas: Annotated[int, doc("Linhas não respondidas, sem custo. Podem ser repetidas.")]
    recusadas: Annotated[int, doc("Linhas que a conta não pode consultar, sem custo.")]
    canceladas: Annotated[int, doc("Linhas que não serão mais consultadas, sem custo.")]


@described("CotacaoDoLote", "O preço do lote.")
class BatchQuoteAnswer(msgspec.Struct, frozen=True):
    """The quote of a batch; its confirmation repeats the digest."""

    digest: Annotated[str, doc("Resumo do que é confirmado: linhas, preços e parâmetros.")]
    creditos_min: Annotated[int, doc("Preço mínimo.")]
    creditos_max: Annotated[int, doc("Preço máximo.")]
    creditos_esperados: Annotated[
        int | None,
        doc("Estimativa pelo custo de linhas parecidas nesta conta. Nulo se foram menos de 100."),
    ]
    validas: Annotated[int, doc("Linhas a consultar.")]
    a_mao: Annotated[int, doc("Linhas com resultado guardado.")]
    a_consultar: Annotated[int, doc("Linhas que podem exigir consulta à fonte.")]
    valida_ate: Annotated[str, doc("Prazo para confirmar.", **_WHEN)]
    saldo_apos_maximo: Annotated[
        int | None,
        doc(
            "Créditos disponíveis menos o preço máximo. Negativo se faltam créditos. Nulo se a"
            " conta não tem limite."
        ),
    ]
    duracao_estimada_s: Annotated[
        int | None,
        doc(
            "Tempo estimado, em segundos, pelo tempo de resposta das fontes na última hora, sem"
            " outras consultas. Nulo se nenhuma respondeu."
        ),
    ]
    fontes: Annotated[
        Sequence[QuotedSource],
        doc("Fontes que podem ser consultadas, nesta ordem, e a situação atual."),
    ]


@described("RespostaLoteNovo", "Um lote recebido.")
class NewBatchAnswer(msgspec.Struct, frozen=True):
    """A newly received batch."""

    id: Annotated[str, doc("Identificador do lote.", format="uuid")]
    nome: Annotated[str, doc("Nome do lote. Vazio se não tem nome.")]
    operacao: Annotated[str, doc("Operação, como no endereço.")]
    estado: Annotated[BatchState, doc("Estado do lote.")]


@described("Lote", "Um lote de consultas: o arquivo, o estado e o que custou.")
class BatchAnswer(NewBatchAnswer, frozen=True):
    """A batch, without its rows."""

    motivo: Annotated[PauseReason | None, doc("Motivo da pausa. Nulo se não está pausado.")]
    codigo: Annotated[
        str | None, doc("Código do motivo da pausa ou do problema no arquivo recusado.")
    ]
    mensagem: Annotated[
        str | None,
        doc(
            "O problema no arquivo recusado, ou o motivo da pausa e o que fazer. Nulo nos demais"
            " casos."
        ),
    ]
    colunas: Annotated[
        Sequence[str],
        doc(
            "Como as colunas do arquivo foram entendidas e em quantas linhas uma delas não tem um"
            " código. Vazio antes da leitura."
        ),
    ]
    linhas: Annotated[RowCounts, doc("Quantas linhas há, por estado.")]
    cotacao: Annotated[BatchQuoteAnswer | None, doc("O preço. Nulo antes da cotação.")]
    teto_creditos: Annotated[int | None, doc("O teto confirmado; nulo antes disso.")]
    creditos_gastos: Annotated[int, doc("Créditos cobrados até agora.")]
    creditos_reservados: Annotated[int, doc("Créditos reservados pelas linhas em andamento.")]
    repete: Annotated[
        str | None, doc("O lote cujas falhas são repetidas por este. Nulo se não é uma repetição.")
    ]
    criado_em: Annotated[str, doc("Quando chegou.", **_WHEN)]
    confirmado_em: Annotated[str | None, doc("Quando foi confirmado.", **_WHEN)]
    terminado_em: Annotated[str | None, doc("Quando terminou.", **_WHEN)]
    apagado_em: Annotated[str, doc("Quando os dados serão ou foram apagados.", **_WHEN)]


@described("LinhaDoLote", "Uma linha do arquivo e o resultado dela.")
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
