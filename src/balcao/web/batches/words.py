"""What the states of batches and of their rows are called, and what to do about a pause."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from balcao.core.batches import BatchState, RowState
from balcao.core.writing import counted, credits, listed
from balcao.lookup.whom import QuotedSource
from balcao.operations.views import Notice
from balcao.storage.batches import StoredBatch
from balcao.web.vocabulary import CODES, Word, source_names

STATES: Mapping[BatchState, Word] = {
    "recebido": Word("Na fila", "info"),
    "validando": Word("Lendo a lista", "info"),
    "cotado": Word("Espera confirmação", "warn"),
    "executando": Word("Em andamento", "info"),
    "pausado": Word("Pausado", "warn"),
    "concluido": Word("Concluído", "good"),
    "encerrando": Word("Encerrando", "info"),
    "encerrado": Word("Encerrado antes do fim", "neutral"),
    "expirado": Word("Cotação vencida", "neutral"),
    "recusado": Word("Lista recusada", "bad"),
}

ROW_STATES: Mapping[RowState, Word] = {
    "pendente": Word("Na fila", "neutral"),
    "em_andamento": Word("Na fonte", "info"),
    "concluida": Word("Respondida", "good"),
    "falha": Word("Falhou", "bad"),
    "recusada": Word("Recusada", "warn"),
    "invalida": Word("Inválida", "warn"),
    "repetida": Word("Repetida", "neutral"),
    "cancelada": Word("Não consultada", "neutral"),
}

# The filter above the rows, in the order of what people look for.
FILTERS: Mapping[RowState, str] = {
    "concluida": "Respondidas",
    "falha": "Falhas",
    "recusada": "Recusadas",
    "invalida": "Inválidas",
    "repetida": "Repetidas",
    "pendente": "Na fila",
    "em_andamento": "Na fonte",
    "cancelada": "Não consultadas",
}

# Why a row asks nothing: of one, of several, and what to do.
_FLAWS: Mapping[str, tuple[str, str]] = {
    "sem_documento": ("sem documento", "sem documento"),
    "documento_invalido": ("com dígito errado", "com dígito errado"),
    "documento_de_outro_tipo": ("com documento de outro tipo", "com documento de outro tipo"),
    "documento_ambiguo": ("com zeros faltando", "com zeros faltando"),
    "numero_cortado_pela_planilha": ("cortada pela planilha", "cortadas pela planilha"),
    "documentos_conflitantes": ("com dois documentos", "com dois documentos"),
    "celulas_demais": ("com células demais", "com células demais"),
    "data_ausente": ("com CPF sem nascimento", "com CPF sem nascimento"),
    "data_invalida": ("com data inválida", "com data inválida"),
    "data_futura": ("com data no futuro", "com data no futuro"),
    "uf_ausente": ("sem UF", "sem UF"),
    "uf_invalida": ("com UF inválida", "com UF inválida"),
    "parametro_invalido": ("com parâmetro inválido", "com parâmetro inválido"),
    "ref_invalida": ("com referência inválida", "com referência inválida"),
    "cliente_invalido": ("com cliente inválido", "com cliente inválido"),
    "marca_com_cpf": ("com CPF no lugar da referência", "com CPF no lugar da referência"),
}


def flaw(code: str) -> str:
    """Why one row asks nothing; a code that is not known, as it is."""
    if code in _FLAWS:
        text = _FLAWS[code][0].removeprefix("com ")
        return text[:1].upper() + text[1:]
    return CODES[code].text if code in CODES else code


def flaws(code: str, count: int) -> str:
    """`1 com dígito errado`, `3 cortadas pela planilha`."""
    one, many = _FLAWS.get(code) or (f"inválida ({flaw(code)})", f"inválidas ({flaw(code)})")
    return counted(count, one, many)


def row_word(state: RowState, code: str | None, repeated_of: int | None) -> Word:
    """What became of a row."""
    word = ROW_STATES[state]
    if state == "repetida" and repeated_of is not None:
        return Word(f"Igual à linha {repeated_of}", word.tone)
    if state == "invalida" and code:
        return Word(flaw(code), word.tone)
    if state in {"falha", "recusada"} and code is not None and code in CODES:
        return Word(CODES[code].text, word.tone)
    return word


def state_word(batch: StoredBatch) -> Word:
    """What a batch is doing; with failures, its end says so."""
    failed = batch.rows("falha", "recusada")
    if batch.state == "concluido" and failed:
        return Word(f"Concluído, {counted(failed, 'falha', 'falhas')}", "warn")
    return STATES[batch.state]


def _of_ceiling(batch: StoredBatch) -> Notice:
    return Notice(
        "warn",
        "Pausado: o teto acabou",
        f"O teto de {credits(batch.ceiling)} não comporta a próxima linha. O que já foi respondido"
        " está abaixo, e nada passa do teto.",
        "Para ir até o fim, aumente o teto e retome.",
    )


def _of_client(batch: StoredBatch) -> Notice:
    return Notice(
        "warn",
        "Pausado: o teto do cliente acabou",
        "O orçamento do cliente ou da carteira não comporta a próxima linha.",
        "Peça um teto maior a quem administra a conta, ou espere o período recomeçar; depois"
        " retome.",
    )


def _of_balance(batch: StoredBatch) -> Notice:
    return Notice(
        "warn",
        "Pausado: faltam créditos",
        "Os créditos disponíveis da conta não chegam para a próxima linha.",
        "Peça créditos a quem opera o serviço. Com eles na conta, retome daqui mesmo.",
    )


def _of_user(batch: StoredBatch) -> Notice:
    return Notice(
        "info",
        "Pausado",
        "Alguém pausou este lote. Nada é consultado nem cobrado enquanto isso.",
        "Retome quando quiser: ele continua de onde parou.",
    )


def _of_source(batch: StoredBatch) -> Notice:
    return Notice(
        "warn",
        "Pausado: a fonte não responde",
        "Quem responde esta consulta está fora do ar. As linhas esperam, sem custo.",
        "Não é preciso fazer nada: o lote continua sozinho assim que a fonte voltar.",
    )


def _of_key(batch: StoredBatch) -> Notice:
    known = CODES.get(batch.code or "")
    return Notice(
        "warn",
        "Pausado: quem pediu o lote não pode mais consultar",
        f"{known.text}." if known else "A chave ou a conta do lote está fora de uso ou no limite.",
        "Fale com quem administra a conta; depois retome.",
    )


_PAUSES: Mapping[str, Callable[[StoredBatch], Notice]] = {
    "teto": _of_ceiling,
    "saldo": _of_balance,
    "usuario": _of_user,
    "fonte": _of_source,
    "limite_da_chave": _of_key,
}


def pause_notice(batch: StoredBatch) -> Notice | None:
    """Why a batch is paused, and what to do; None: it is not."""
    if batch.state != "pausado" or batch.reason is None:
        return None
    if batch.reason == "teto" and batch.code not in {None, "TETO_DO_LOTE"}:
        told = _of_client(batch)
    else:
        told = _PAUSES[batch.reason](batch)
    return replace(told, code=batch.code if batch.code in CODES else None)


def troubled(sources: Sequence[QuotedSource]) -> Sequence[str]:
    """What is known to be wrong now with those who may have to be asked."""
    down = [source_names(one.nome) for one in sources if one.estado == "parada"]
    unsteady = [source_names(one.nome) for one in sources if one.estado == "instavel"]
    told = []
    if down and len(down) == len(sources):
        told.append(
            f"Sem resposta agora: {listed(down)}. O que depende disso espera até que volte."
        )
    elif down:
        told.append(f"Sem resposta agora: {listed(down)}. Quem vem depois responde no lugar.")
    if unsteady:
        told.append(f"Com falhas agora: {listed(unsteady)}. O que falhar não custa nada.")
    return told
