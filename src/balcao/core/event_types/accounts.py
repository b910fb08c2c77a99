"""Events about an account: portfolio, batches, budgets, keys, webhooks, the month in use."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec

from balcao.core.batches import BatchState, PauseReason
from balcao.core.budgets import OwnerKind, PeriodKind
from balcao.core.described import doc
from balcao.core.errors import CeilingOfBatch
from balcao.core.event_types.contract import EventData, EventType, when


class ComparedData(EventData, frozen=True, kw_only=True):
    """The data of `carteira.comparada`."""

    competencia: Annotated[str, doc("O mês que foi comparado, `AAAA-MM`.")]
    itens: Annotated[int, doc("Itens que vigiam algo do mês.", minimum=0)]
    comparados: Annotated[int, doc("Itens comparados.", minimum=0)]
    com_mudanca: Annotated[int, doc("Itens com alguma mudança.", minimum=0)]
    nao_verificados: Annotated[int, doc("Itens que não puderam ser comparados.", minimum=0)]
    duracao_ms: Annotated[int, doc("Duração da comparação, em milissegundos.", minimum=0)]


class StoppedData(EventData, frozen=True, kw_only=True):
    """The data of `carteira.parada` and `carteira.retomada`."""

    motivo: Annotated[Literal["teto", "saldo", "chave", "fonte"], doc("O motivo da parada.")]
    atingidos: Annotated[int, doc("Quantos itens esperam por isso.", minimum=0)]
    volta_em: Annotated[str | None, when("Quando continua. Nulo: não se sabe.")]


class ClockData(EventData, frozen=True, kw_only=True):
    """The data of `carteira.relogio`."""

    agora: Annotated[str, when("A hora do relógio da carteira de teste.")]


class BatchData(EventData, frozen=True, kw_only=True):
    """The data of every event about a batch."""

    id: Annotated[str, doc("Identificador do lote.", format="uuid")]
    estado: Annotated[BatchState, doc("Estado do lote.")]
    motivo: Annotated[PauseReason | None, doc("Motivo da pausa. Nulo se não está pausado.")]
    linhas: Annotated[Mapping[str, int], doc("Quantas linhas há, por estado.")]
    creditos_gastos: Annotated[int, doc("Créditos cobrados até agora.", minimum=0)]
    lote: Annotated[str, doc("O mesmo que `id`.", format="uuid")]
    operacao: Annotated[str, doc("Operação, como no endereço.")]


class QuotedBatchData(BatchData, frozen=True, kw_only=True):
    """The data of `lote.cotado`."""

    creditos_min: Annotated[int, doc("Preço mínimo.", minimum=0)]
    creditos_max: Annotated[int, doc("Preço máximo.", minimum=0)]
    validas: Annotated[int, doc("Linhas a consultar.", minimum=0)]
    valida_ate: Annotated[str, when("Prazo para confirmar.")]


class PausedBatchData(BatchData, frozen=True, kw_only=True):
    """The data of `lote.pausado`."""

    codigo: Annotated[str | None, doc("O código de erro que causou a pausa, se houve um.")]


class EndedBatchData(BatchData, frozen=True, kw_only=True):
    """The data of `lote.concluido`."""

    codigo: Annotated[str | None, doc("O código do problema de um arquivo recusado.")]


class Owner(msgspec.Struct, frozen=True, omit_defaults=True):
    """The owner of a budget."""

    tipo: Annotated[OwnerKind, doc("O dono do orçamento.")]
    id: Annotated[str | None, doc("O número da chave, do lote ou da carteira.")] = None
    valor: Annotated[str | None, doc("O cliente, como em `X-Cliente`.")] = None


class BudgetData(EventData, frozen=True, kw_only=True):
    """The data of `teto.aviso` and `teto.atingido`."""

    de: Annotated[Owner, doc("O dono do orçamento.")]
    usado: Annotated[int, doc("Quanto foi usado do limite que está mais perto do fim.", minimum=0)]
    teto: Annotated[int, doc("Esse limite.", minimum=0)]
    unidade: Annotated[Literal["creditos", "consultas"], doc("A unidade desse limite.")]
    orcamento: Annotated[str, doc("O `id` do orçamento.", format="uuid")]
    nome: Annotated[str, doc("Nome do orçamento.")]
    periodo: Annotated[PeriodKind, doc("Período do orçamento.")]
    quando: Annotated[str | None, doc("O dia ou o mês. Nulo se o período é único.")]
    teto_creditos: Annotated[int | None, doc("Limite em créditos. Nulo: sem limite.")]
    teto_consultas: Annotated[int | None, doc("Limite em consultas. Nulo: sem limite.")]
    usado_creditos: Annotated[int, doc("Créditos gastos no período.", minimum=0)]
    reservado_creditos: Annotated[int, doc("Créditos reservados por consultas.", minimum=0)]
    usadas_consultas: Annotated[int, doc("Consultas no período.", minimum=0)]
    aviso_percentual: Annotated[int, doc("Percentual do limite em que há um aviso.")]
    percentual: Annotated[int, doc("Percentual usado.", minimum=0)]
    volta_em: Annotated[str | None, when("Quando começa o próximo período. Nulo: nunca.")]


class LowBalanceData(EventData, frozen=True, kw_only=True):
    """The data of `saldo.baixo`."""

    saldo: Annotated[int, doc("Créditos disponíveis.")]
    limiar: Annotated[int, doc("O limite do aviso de saldo da conta.", minimum=0)]


class ExpiringKeyData(EventData, frozen=True, kw_only=True):
    """The data of `chave.vence`."""

    chave: Annotated[str, doc("Nome da chave.")]
    vence_em: Annotated[str, when("Quando a chave deixa de funcionar.")]
    dias: Annotated[int, doc("O aviso: 14, 3 ou 1 dias antes.")]


class WebhookData(EventData, frozen=True, kw_only=True):
    """The members of every event about a webhook."""

    webhook: Annotated[str, doc("Identificador do webhook.")]


class FailingWebhookData(WebhookData, frozen=True, kw_only=True):
    """The data of `webhook.falhando`."""

    desde: Annotated[str, when("Desde quando as entregas falham.")]
    ultimo_status: Annotated[int | None, doc("Status da última resposta. Nulo: sem resposta.")]


class OffWebhookData(WebhookData, frozen=True, kw_only=True):
    """The data of `webhook.desligado`."""

    desde: Annotated[str, when("Desde quando as entregas falham.")]
    motivo: Annotated[Literal["http_410", "sem_sucesso"], doc("O motivo.")]


class ExhaustedWebhookData(WebhookData, frozen=True, kw_only=True):
    """The data of `webhook.esgotado`."""

    evento: Annotated[str, doc("O `id` do evento que não foi entregue.")]


class MonthData(EventData, frozen=True, kw_only=True):
    """The data of `base.trocada`."""

    competencia: Annotated[str, doc("O mês em uso, `AAAA-MM`.")]
    estabelecimentos: Annotated[int, doc("Quantos estabelecimentos ele tem.", minimum=0)]
    volta: Annotated[bool, doc("Se é a volta a um mês anterior.")]


_BATCH = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9"
_OPERATION = "cnpj-receita-federal"
_WEBHOOK = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6ba"
_SINCE = "2026-08-07T20:41:10.350-03:00"


def _budget(used: int) -> BudgetData:
    return BudgetData(
        de=Owner("chave", id="3"),
        usado=used,
        teto=500,
        unidade="creditos",
        orcamento="0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6bb",
        nome="Loja da esquina",
        periodo="mes",
        quando="2026-08",
        teto_creditos=500,
        teto_consultas=None,
        usado_creditos=used,
        reservado_creditos=2,
        usadas_consultas=200,
        aviso_percentual=80,
        percentual=used // 5,
        volta_em="2026-09-01T00:00:00.000-03:00",
    )


ACCOUNT_TYPES: Sequence[EventType] = (
    EventType(
        "carteira.comparada",
        "A carteira foi comparada com um mês novo dos dados abertos, também quando nada mudou.",
        ComparedData(
            competencia="2026-07",
            itens=120,
            comparados=120,
            com_mudanca=3,
            nao_verificados=0,
            duracao_ms=840,
        ),
    ),
    EventType(
        "carteira.parada",
        "As renovações e consultas automáticas pararam. Uma vez por período e motivo.",
        StoppedData(motivo="teto", atingidos=14, volta_em="2026-09-01T00:00:00.000-03:00"),
    ),
    EventType(
        "carteira.retomada",
        "As renovações e consultas automáticas continuam.",
        StoppedData(motivo="teto", atingidos=14, volta_em=None),
    ),
    EventType(
        "carteira.relogio",
        "O relógio de uma carteira de teste chegou à hora pedida.",
        ClockData(agora="2026-08-23T10:00:00.000-03:00"),
    ),
    EventType(
        "lote.cotado",
        "O arquivo de um lote foi lido e o preço calculado.",
        QuotedBatchData(
            id=_BATCH,
            estado="cotado",
            motivo=None,
            linhas={"invalida": 1, "pendente": 100},
            creditos_gastos=0,
            lote=_BATCH,
            operacao=_OPERATION,
            creditos_min=0,
            creditos_max=200,
            validas=100,
            valida_ate="2026-08-09T10:15:30.120-03:00",
        ),
    ),
    EventType(
        "lote.pausado",
        "Um lote foi pausado.",
        PausedBatchData(
            id=_BATCH,
            estado="pausado",
            motivo="teto",
            linhas={"concluida": 40, "pendente": 60},
            creditos_gastos=80,
            lote=_BATCH,
            operacao=_OPERATION,
            codigo=CeilingOfBatch.code,
        ),
    ),
    EventType(
        "lote.concluido",
        "Um lote terminou: concluído, encerrado, expirado ou recusado.",
        EndedBatchData(
            id=_BATCH,
            estado="concluido",
            motivo=None,
            linhas={"concluida": 100, "invalida": 1},
            creditos_gastos=180,
            lote=_BATCH,
            operacao=_OPERATION,
            codigo=None,
        ),
    ),
    EventType(
        "teto.aviso",
        "O percentual de aviso de um orçamento foi usado. Uma vez por período.",
        _budget(400),
    ),
    EventType(
        "teto.atingido",
        "Um orçamento foi todo usado ou recusou uma consulta. Uma vez por período.",
        _budget(500),
    ),
    EventType(
        "saldo.baixo",
        "O saldo ficou abaixo do limite do aviso. De novo só depois de ter ficado acima dele.",
        LowBalanceData(saldo=87, limiar=100),
    ),
    EventType(
        "chave.vence",
        "Faltam 14, 3 ou 1 dias para uma chave deixar de funcionar.",
        ExpiringKeyData(chave="producao", vence_em="2026-08-23T00:00:00.000-03:00", dias=14),
    ),
    EventType(
        "webhook.falhando",
        "Todas as entregas a um webhook falham há 12 horas. Não é enviado a ele mesmo.",
        FailingWebhookData(webhook=_WEBHOOK, desde=_SINCE, ultimo_status=503),
    ),
    EventType(
        "webhook.desligado",
        "Um webhook foi desativado: respondeu 410 ou falhou por 5 dias. Não é enviado a ele mesmo.",
        OffWebhookData(webhook=_WEBHOOK, desde=_SINCE, motivo="sem_sucesso"),
    ),
    EventType(
        "webhook.esgotado",
        "As tentativas de entregar um evento acabaram. Não é enviado ao mesmo webhook.",
        ExhaustedWebhookData(webhook=_WEBHOOK, evento="evt_0000000000042"),
    ),
    EventType(
        "base.trocada",
        "O mês em uso dos dados abertos do CNPJ mudou. Para contas que têm carteira.",
        MonthData(competencia="2026-07", estabelecimentos=74_000_000, volta=False),
    ),
    EventType(
        "balcao.ping",
        "Um teste de webhook foi pedido. Só é enviado a ele e não está na lista de eventos.",
        EventData(),
    ),
)
