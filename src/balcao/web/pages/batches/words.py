"""Names of the states of batches and rows, and texts about pauses."""

from collections.abc import Mapping, Sequence

from balcao.batches import words
from balcao.batches.pauses import pause_of
from balcao.core.batches import BatchState, RowState
from balcao.core.notices import Notice, Tone
from balcao.core.writing import counted, listed
from balcao.lookup.source_status import QuotedSource
from balcao.storage.batches import StoredBatch
from balcao.web.kit.words.vocabulary import CODES, Word, source_names

_STATE_TONES: Mapping[BatchState, Tone] = {
    "recebido": "info",
    "validando": "info",
    "cotado": "warn",
    "executando": "info",
    "pausado": "warn",
    "concluido": "good",
    "encerrando": "info",
    "encerrado": "neutral",
    "expirado": "neutral",
    "recusado": "bad",
}
STATES: Mapping[BatchState, Word] = {
    state: Word(text, _STATE_TONES[state]) for state, text in words.BATCH_STATES.items()
}

_TONES: Mapping[RowState, Tone] = {
    "pendente": "neutral",
    "em_andamento": "info",
    "concluida": "good",
    "falha": "bad",
    "recusada": "warn",
    "invalida": "warn",
    "repetida": "neutral",
    "cancelada": "neutral",
}
ROW_STATES: Mapping[RowState, Word] = {
    state: Word(text, _TONES[state]) for state, text in words.STATES.items()
}

# The filter above the rows, the most used first.
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

# Why a row is invalid: for one row, and for several.
_FLAWS: Mapping[str, tuple[str, str]] = {
    "sem_documento": ("sem documento", "sem documento"),
    "documento_invalido": ("com dígito errado", "com dígito errado"),
    "nao_e_documento": ("que não é CNPJ nem CPF", "que não são CNPJ nem CPF"),
    "tamanho_errado": ("com dígitos a mais ou a menos", "com dígitos a mais ou a menos"),
    "raiz_de_cnpj": ("só com a raiz do CNPJ", "só com a raiz do CNPJ"),
    "varios_documentos": ("com mais de um documento", "com mais de um documento"),
    "documento_de_outro_tipo": ("com documento de outro tipo", "com documento de outro tipo"),
    "cpf_em_coluna_de_cnpj": ("com CPF em coluna de CNPJ", "com CPF em coluna de CNPJ"),
    "cnpj_em_coluna_de_cpf": ("com CNPJ em coluna de CPF", "com CNPJ em coluna de CPF"),
    "documento_ambiguo": ("com mais de um documento possível", "com mais de um documento possível"),
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
    """Return why one row is invalid; an unknown code is returned unchanged."""
    if code in _FLAWS:
        text = _FLAWS[code][0].removeprefix("com ").removeprefix("que ")
        return text[:1].upper() + text[1:]
    return CODES[code].text if code in CODES else code


def flaws(code: str, count: int) -> str:
    """Return a count of invalid rows: `1 com dígito errado`, `3 cortadas pela planilha`."""
    one, many = _FLAWS.get(code) or (f"inválida ({flaw(code)})", f"inválidas ({flaw(code)})")
    return counted(count, one, many)


def row_word(state: RowState, code: str | None, repeated_of: int | None) -> Word:
    """Return the name of a row's state."""
    word = ROW_STATES[state]
    if state == "repetida" and repeated_of is not None:
        return Word(f"Igual à linha {repeated_of}", word.tone)
    if state == "invalida" and code:
        return Word(flaw(code), word.tone)
    if state in {"falha", "recusada"} and code is not None and code in CODES:
        return Word(CODES[code].text, word.tone)
    return word


def state_word(batch: StoredBatch) -> Word:
    """Return the name of a batch's state; if it ended with failures, with their number."""
    failed = batch.rows("falha", "recusada")
    if batch.state == "concluido" and failed:
        return Word(f"Concluído, {counted(failed, 'falha', 'falhas')}", "warn")
    return STATES[batch.state]


def pause_notice(batch: StoredBatch, available: int | None) -> Notice | None:
    """Return why a batch is paused, and what to do. `available`: see `pause_of`."""
    pause = pause_of(batch, available)
    if pause is None:
        return None
    tone: Tone = "info" if batch.reason == "usuario" else "warn"
    code = batch.code if batch.code in CODES else None
    return Notice(tone, pause.title, pause.text, pause.advice, code)


def troubled(sources: Sequence[QuotedSource]) -> Sequence[str]:
    """Return texts about the sources that fail always or sometimes."""
    down = [source_names(one.nome) for one in sources if one.estado == "parada"]
    unsteady = [source_names(one.nome) for one in sources if one.estado == "instavel"]
    texts = []
    if down and len(down) == len(sources):
        texts.append(
            f"Sem resposta agora: {listed(down)}. As linhas que dependem dessa fonte aguardam até"
            " ela voltar."
        )
    elif down:
        texts.append(f"Sem resposta agora: {listed(down)}. A fonte seguinte responde no lugar.")
    if unsteady:
        texts.append(f"Com falhas agora: {listed(unsteady)}. Linhas com falha não são cobradas.")
    return texts
