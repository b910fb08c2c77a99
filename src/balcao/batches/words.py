"""Words for the states of rows and the results of comparisons, on pages and in spreadsheets."""

from collections.abc import Mapping

from balcao.batches.comparing import CheckResult
from balcao.core.batches import BatchState, RowState

STATES: Mapping[RowState, str] = {
    "pendente": "Na fila",
    "em_andamento": "Na fonte",
    "concluida": "Respondida",
    "falha": "Falhou",
    "recusada": "Recusada",
    "invalida": "Inválida",
    "repetida": "Repetida",
    "cancelada": "Não consultada",
}

BATCH_STATES: Mapping[BatchState, str] = {
    "recebido": "Na fila",
    "validando": "Lendo a lista",
    "cotado": "Aguardando confirmação",
    "executando": "Em andamento",
    "pausado": "Pausado",
    "concluido": "Concluído",
    "encerrando": "Encerrando",
    "encerrado": "Encerrado antes do fim",
    "expirado": "Cotação vencida",
    "recusado": "Lista recusada",
}

COMPARISONS: Mapping[CheckResult, str] = {
    "igual": "Igual",
    "parecido": "Parecido",
    "diferente": "Diferente",
    "ausente": "Falta na lista",
    "nao_verificado": "Não verificado",
}
