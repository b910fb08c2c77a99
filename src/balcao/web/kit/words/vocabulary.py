"""What our own words mean, for people: operations, outcomes, sources, strategies.

Tests hold that nothing is missing: every code of `core.problems` and every strategy has its words
here. Those of the tariff's rules stand beside each operation (`operations.tariff`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from balcao.core.access import Plan
from balcao.core.ledger import Origin, Trace
from balcao.core.people import SeatRole
from balcao.core.questions import Mode, Strategy
from balcao.core.tariff import SEARCH_COUNT, SEARCH_PAGE, SEARCH_PARTNERS
from balcao.examination.inventory import SNAPSHOT
from balcao.operations import ALL_OPERATIONS, tariff
from balcao.operations.contract import Operation
from balcao.operations.views import Tone
from balcao.providers import OFFERS

# As the command line and the ledger have them, and what they are called.
PLANS: Mapping[Plan, str] = {
    "gratuito": "gratuito",
    "pre_pago": "pré-pago",
    "pos_pago": "pós-pago",
}

MODES: Mapping[Mode, str] = {"live": "produção", "test": "teste"}
# What a user of an account may be.
ROLES: Mapping[SeatRole, str] = {"consultant": "Consultor", "manager": "Gestor"}

# Certificates first: most come for one.
IN_MENUS: Sequence[type[Operation]] = sorted(ALL_OPERATIONS, key=lambda each: not each.issues)

# What operations are called, everywhere; `title` is the operation's own, longer one.
_SEARCHES = {
    "busca-de-empresas": "Busca de empresas",
    "contagem-de-empresas": "Contagem de empresas",
    "busca-de-socios": "Busca de sócios",
}
SHORT: Mapping[str, str] = {each.path: each.form.title for each in IN_MENUS} | _SEARCHES
TITLES: Mapping[str, str] = {each.path: each.title for each in ALL_OPERATIONS} | _SEARCHES

# What each rule of the tariff is a price of. The API's sentences begin with addresses (0030).
_PRICED: Mapping[str, str] = {
    **{code: each.form.title for each in ALL_OPERATIONS for code in each.rules},
    SEARCH_PAGE: _SEARCHES["busca-de-empresas"],
    SEARCH_COUNT: _SEARCHES["contagem-de-empresas"],
    SEARCH_PARTNERS: _SEARCHES["busca-de-socios"],
}

# Where answers come from: these three, and in these words. To the ledger the last two are one.
ORIGINS: Mapping[Origin, str] = {"cache": "guardado", "online": "da fonte"}
OWN_COPY = "nossa cópia do mês"
# What is added up by them has more in it.
ORIGINS_IN_SUMS: Mapping[Origin, str] = {
    "cache": "guardado, com as buscas de empresas",
    "online": "da fonte, com a nossa cópia do mês",
}

# What is charged without a mark, or about no UF, in lines and filters.
NO_CLIENT, NO_REFERENCE, NO_UF = "sem cliente", "sem referência", "sem UF"

SOURCES: Mapping[str, str] = {offer.name: offer.title for offer in OFFERS}

_PARTS: Mapping[str, str] = {"types": "tipos de inscrição", "addresses": "endereços"}

STRATEGIES: Mapping[str, str] = {
    Strategy.CACHE_SE_EXISTIR: "primeiro o que está guardado, de qualquer idade; sem nada"
    " guardado, a fonte",
    Strategy.CACHE_PREFERENCIAL: "primeiro o que está guardado e ainda serve; senão, a fonte",
    Strategy.SO_CACHE: "só o que está guardado; a fonte não é consultada",
    Strategy.SO_ONLINE: "só a fonte; o que está guardado não é usado",
    Strategy.ONLINE_PREFERENCIAL: "primeiro a fonte; se ela falhar, o que está guardado e ainda"
    " serve",
}


@dataclass(frozen=True, slots=True)
class Word:
    """A few words and how they are shown."""

    text: str
    tone: Tone


# By internal code. A refusal is the caller's to mend (warn), a failure is not (bad).
CODES: Mapping[str, Word] = {
    "API_KEY_INVALIDA": Word("Chave de API inválida", "warn"),
    "LIMITE_EXCEDIDO": Word("Limite atingido", "warn"),
    "ENDERECO_NAO_PERMITIDO": Word("Chave usada de outro endereço", "warn"),
    "OPERACAO_NAO_PERMITIDA": Word("Operação fora das da chave", "warn"),
    "CND_POS_PAGO_NAO_HABILITADO": Word("Certidões não habilitadas", "warn"),
    "OPTIN_NAO_HABILITADO": Word("CPF dos sócios não habilitado", "warn"),
    "CNPJ_INVALIDO": Word("CNPJ inválido", "warn"),
    "CPF_INVALIDO": Word("CPF inválido", "warn"),
    "PARAMETRO_INVALIDO": Word("Parâmetro inválido", "warn"),
    "PARAMETRO_REPETIDO": Word("Parâmetro repetido", "warn"),
    "ESTRATEGIA_INVALIDA": Word("Estratégia desconhecida", "warn"),
    "UF_INVALIDA": Word("UF inválida", "warn"),
    "UF_OBRIGATORIA": Word("Faltou a UF", "warn"),
    "DOCUMENTO_OBRIGATORIO": Word("Faltou o documento", "warn"),
    "DOCUMENTOS_CONFLITANTES": Word("Documentos em conflito", "warn"),
    "DATA_NASCIMENTO_OBRIGATORIA": Word("Faltou a data de nascimento", "warn"),
    "DATA_NASCIMENTO_INVALIDA": Word("Data de nascimento inválida", "warn"),
    "DATA_NASCIMENTO_FUTURA": Word("Data de nascimento no futuro", "warn"),
    "PARAMETROS_CONFLITANTES": Word("Parâmetros em conflito", "warn"),
    "SEM_RESULTADO_EM_CACHE": Word("Nada guardado", "warn"),
    "CLIENTE_OBRIGATORIO": Word("Faltou X-Cliente", "warn"),
    "MARCA_COM_CPF": Word("CPF em marca ou nome", "warn"),
    "IDEMPOTENCY_KEY_INVALIDA": Word("Idempotency-Key inválida", "warn"),
    "IDEMPOTENCY_KEY_REUTILIZADA": Word("Idempotency-Key de outra consulta", "warn"),
    "OPERACAO_EM_ANDAMENTO": Word("Consulta igual em andamento", "warn"),
    "RESULTADO_INDISPONIVEL": Word("Resultado não pode ser reenviado", "warn"),
    "SALDO_INSUFICIENTE": Word("Créditos insuficientes", "warn"),
    "TETO_DA_REQUISICAO": Word("Acima do máximo da requisição", "warn"),
    "TETO_DA_CHAVE": Word("Teto da chave atingido", "warn"),
    "TETO_DO_LOTE": Word("Teto do lote atingido", "warn"),
    "TETO_DA_CARTEIRA": Word("Teto da carteira atingido", "warn"),
    "TETO_DO_CLIENTE": Word("Teto do cliente atingido", "warn"),
    "CHAVE_NAO_ADMINISTRA": Word("Chave que não administra", "warn"),
    "ORCAMENTOS_DEMAIS": Word("Orçamentos demais", "warn"),
    "ORCAMENTO_COM_DONO": Word("Orçamento de um lote ou carteira", "warn"),
    "ORCAMENTO_NAO_ENCONTRADO": Word("Orçamento não encontrado", "info"),
    "LOTE_NAO_ENCONTRADO": Word("Lote não encontrado", "info"),
    "LOTE_APAGADO": Word("Lote apagado", "info"),
    "ARQUIVOS_NA_FILA": Word("Arquivos na fila", "warn"),
    "LOTES_ABERTOS_DEMAIS": Word("Lotes abertos demais", "warn"),
    "ESPACO_DA_CONTA": Word("Espaço da conta esgotado", "warn"),
    "ARQUIVO_EM_PREPARO": Word("Outro arquivo em preparo", "warn"),
    "SEM_ESPACO": Word("Sem espaço para arquivos", "bad"),
    "ESTADO_DO_LOTE": Word("Lote em outro estado", "warn"),
    "COTACAO_MUDOU": Word("A cotação mudou", "warn"),
    "ARQUIVO_ILEGIVEL": Word("Arquivo ilegível", "warn"),
    "CORPO_INVALIDO": Word("Corpo que não é JSON", "warn"),
    "CNPJ_NAO_ENCONTRADO": Word("CNPJ não encontrado", "info"),
    "INSCRICAO_NAO_ENCONTRADA": Word("Sem inscrição na Suframa", "info"),
    "COMPROVANTE_NAO_ENCONTRADO": Word("Comprovante não encontrado", "info"),
    "OPERACAO_NAO_ENCONTRADA": Word("Operação não encontrada", "info"),
    "ROTA_NAO_ENCONTRADA": Word("Endereço não existe", "warn"),
    "METODO_NAO_PERMITIDO": Word("Método não permitido", "warn"),
    "REQUISICAO_GRANDE_DEMAIS": Word("Requisição grande demais", "warn"),
    "REQUISICAO_INVALIDA": Word("Requisição malformada", "warn"),
    "TIPO_NAO_SUPORTADO": Word("Tipo de conteúdo não aceito", "warn"),
    "FILTRO_OBRIGATORIO": Word("Faltou um filtro", "warn"),
    "CURSOR_DE_OUTRO_MES": Word("Cursor de outro mês", "warn"),
    "BUSCA_INDISPONIVEL": Word("Busca indisponível", "bad"),
    "SERVICO_INDISPONIVEL": Word("Indisponível", "bad"),
    "COBRANCA_INCERTA": Word("Não se sabe se foi cobrada", "bad"),
    "ERRO_INTERNO": Word("Falhou", "bad"),
    "FALHA_TECNICA": Word("A fonte falhou", "bad"),
    "DADOS_RECUSADOS_PELA_FONTE": Word("Dados recusados pela fonte", "warn"),
    "NOVA_EMISSAO_RECUSADA": Word("Emissão nova recusada", "warn"),
}

# Results, whatever they say: an answer about a certificate that is no clearance is 404 (1.1).
_RESULTS: Mapping[str, Word] = {
    each.path: Word(each.negative_result, "info") for each in ALL_OPERATIONS if each.negative_result
}

# The same of what is remembered: what the certificate was.
_VERDICTS: Mapping[tuple[str, str], Word] = {
    (each.path, verdict): Word(*said)
    for each in ALL_OPERATIONS
    for verdict, said in each.verdicts.items()
}

_GISTS: Mapping[tuple[str, str], Word] = {
    (each.path, code): Word(*said) for each in ALL_OPERATIONS for code, said in each.gists.items()
}

# What results are looked for by: texts, and the verdicts and codes that each stands for.
RESULTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "cnd": ("CND", ("CND",)),
    "cpend": ("CPEND", ("CPEND",)),
    "cpd": ("CPD", ("CPD",)),
    "sem-certidao": ("Sem certidão", ("other", "none")),
    "ativa": ("Empresa ativa", ("ATIVA",)),
    "inativa": ("Empresa não ativa", ("SUSPENSA", "INAPTA", "BAIXADA", "NULA")),
    "inscrita": ("Com inscrição ativa", ("ativa", "ativas")),
    "sem-inscricao": ("Sem inscrição ativa", ("inativa", "nenhuma")),
}


def outcome_of(trace: Trace) -> Word:
    """What came of a request, in a few words. In the web application forms are sent, not keys."""
    if trace.code == "IDEMPOTENCY_KEY_REUTILIZADA" and trace.key_id is None:
        return Word("Formulário já usado", "warn")
    if trace.certificate is not None and trace.certificate.verdict is not None:
        known = _VERDICTS.get((trace.operation, trace.certificate.verdict))
        if known is not None:
            return known
    if trace.gist is not None and trace.gist.result is not None:
        code, _, rest = trace.gist.result.partition(":")
        if (known := _GISTS.get((trace.operation, code))) is not None:
            return Word(known.text.format(rest.capitalize()), known.tone)
    if trace.code is not None:
        return CODES.get(trace.code, Word(trace.code, "bad"))
    if trace.status == 200:
        return Word("Respondida", "good")
    return _RESULTS.get(trace.operation, Word(f"Status {trace.status}", "neutral"))


def origin_of(trace: Trace) -> str | None:
    """Where an answer came from; None: there was none."""
    if trace.origin is None:
        return None
    own = trace.origin == "online" and trace.source == SNAPSHOT
    return OWN_COPY if own else ORIGINS[trace.origin]


def short(operation: str) -> str:
    """An operation in one or two words; a path that is not known any more, as it is."""
    return SHORT.get(operation, operation)


def price_of(rule: str | None) -> str | None:
    """Why something cost what it did, beginning with the operation as people know it."""
    sentence, name = tariff.sentence(rule), _PRICED.get(rule or "")
    if sentence is None or name is None:
        return sentence
    return f"{name}: {sentence.partition(': ')[2].replace('endereco', 'endereço')}"


def source_names(source: str) -> str:
    """Sources as people know them. With BR there may be several (`a,b`), and one may have filled
    in a part that another did not know (`a+b(addresses)`)."""
    said: dict[str, None] = {}  # each once, in order
    for each in source.split(","):
        first, *fillings = each.split("+")
        said[SOURCES.get(first, first)] = None
        for filling in fillings:
            name, _, part = filling.removesuffix(")").partition("(")
            said[f"{_PARTS.get(part, part)}: {SOURCES.get(name, name)}"] = None
    return "; ".join(said)
