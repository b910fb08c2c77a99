"""How everything that goes wrong looks to a caller: one table (decisions 3).

Messages are in Portuguese and written for the caller. The words *saldo*, *crédito* and *limite*
occur in the 402 and 429 messages only: a client in the wild takes any message with them for an
exhausted balance (decisions 1.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from balcao.core import errors
from balcao.core.file_limits import MEGABYTE

# Where each code has its page; the code follows (decisions 1.12). Known by its path alone: whoever
# stands before the service has no other path for it (`public_url` is an origin).
PAGES = "/docs/erros/"

# Code of the one error after which it is not known whether something was charged (decisions 6.4).
UNCERTAIN = "COBRANCA_INCERTA"


@dataclass(frozen=True, slots=True)
class Problem:
    """Status, stable internal code, message, and what else the answer carries."""

    status: int
    code: str
    message: str
    # Further top-level fields.
    fields: Mapping[str, int | str | None] = field(default_factory=dict)
    retry_after_seconds: int | None = None


_ROOM_AGAIN = "Apague os dados de lotes que já terminaram e envie o arquivo de novo."

_TABLE: Mapping[type[errors.BalcaoError], tuple[int, str, str]] = {
    errors.KeyRefused: (
        401,
        "API_KEY_INVALIDA",
        "A chave de API está ausente, expirou ou é inválida. Envie-a no cabeçalho x-api-key.",
    ),
    errors.RateLimited: (
        429,
        "LIMITE_EXCEDIDO",
        "Limite de requisições atingido. Aguarde o tempo indicado em Retry-After e repita.",
    ),
    errors.UnreadFilesCrowded: (
        429,
        "ARQUIVOS_NA_FILA",
        "Os últimos arquivos desta conta ainda não foram lidos. Espere que um deles seja lido e"
        " repita.",
    ),
    errors.OpenBatchesCrowded: (
        409,
        "LOTES_ABERTOS_DEMAIS",
        "A conta já tem tantos lotes abertos quantos o plano permite. Conclua, encerre ou apague um"
        " deles.",
    ),
    errors.FileSpaceUsed: (
        409,
        "ESPACO_DA_CONTA",
        f"Os lotes da conta já ocupam o espaço que o plano permite. {_ROOM_AGAIN}",
    ),
    errors.FileRunning: (
        503,
        "ARQUIVO_EM_PREPARO",
        "Outro arquivo desta conta ainda está sendo feito ou baixado. Espere que ele termine e"
        " repita.",
    ),
    errors.NoFileSpace: (
        503,
        "SEM_ESPACO",
        "O serviço não tem espaço para mais arquivos no momento. As consultas continuam; envie o"
        " arquivo mais tarde.",
    ),
    errors.AddressNotAllowed: (
        403,
        "ENDERECO_NAO_PERMITIDO",
        "Esta chave não pode ser usada a partir do endereço desta requisição, que o serviço não"
        " conhece: há um proxy à frente que a configuração não nomeia.",
    ),
    errors.OperationNotAllowed: (
        403,
        "OPERACAO_NAO_PERMITIDA",
        "Esta chave não pode fazer esta consulta: as operações dela são outras.",
    ),
    errors.CertificatesNotEnabled: (
        403,
        "CND_POS_PAGO_NAO_HABILITADO",
        "As certidões não estão habilitadas para esta conta: é preciso um plano pago ou um"
        " contrato que as inclua.",
    ),
    errors.InvalidCnpj: (
        400,
        "CNPJ_INVALIDO",
        "CNPJ inválido: informe os 14 caracteres, com ou sem pontuação; os dois últimos são"
        " dígitos verificadores e devem conferir.",
    ),
    errors.InvalidCpf: (
        400,
        "CPF_INVALIDO",
        "CPF inválido: informe os 11 dígitos, com ou sem pontuação; os dois últimos são"
        " verificadores e devem conferir.",
    ),
    errors.InvalidParameter: (400, "PARAMETRO_INVALIDO", "Um parâmetro tem valor inválido."),
    errors.RepeatedParameter: (
        400,
        "PARAMETRO_REPETIDO",
        "Um parâmetro foi informado mais de uma vez.",
    ),
    errors.InvalidStrategy: (
        400,
        "ESTRATEGIA_INVALIDA",
        "O valor de cache_strategy não existe nesta operação.",
    ),
    errors.InvalidUf: (400, "UF_INVALIDA", "A UF informada não existe nesta operação."),
    errors.UfRequired: (
        400,
        "UF_OBRIGATORIA",
        "Informe o parâmetro uf: a sigla de um estado, do Distrito Federal ou, onde couber, BR.",
    ),
    errors.DocumentRequired: (
        400,
        "DOCUMENTO_OBRIGATORIO",
        "Informe cnpj, ou cpf com data_nascimento.",
    ),
    errors.DocumentsConflict: (
        400,
        "DOCUMENTOS_CONFLITANTES",
        "Informe um documento só: cnpj, ou cpf com data_nascimento.",
    ),
    errors.BirthDateRequired: (
        400,
        "DATA_NASCIMENTO_OBRIGATORIA",
        "Com cpf, informe também data_nascimento, na forma yyyyMMdd.",
    ),
    errors.InvalidBirthDate: (
        400,
        "DATA_NASCIMENTO_INVALIDA",
        "data_nascimento deve ser uma data que existe, na forma yyyyMMdd.",
    ),
    errors.BirthDateInFuture: (
        400,
        "DATA_NASCIMENTO_FUTURA",
        "data_nascimento está no futuro.",
    ),
    errors.ParametersConflict: (
        400,
        "PARAMETROS_CONFLITANTES",
        "SO_CACHE não consulta a fonte: não o combine com atualizar_online=true nem com"
        " preferencia_emissao=nova.",
    ),
    errors.FileUnreadable: (400, "ARQUIVO_ILEGIVEL", "O arquivo não pôde ser lido como tabela."),
    errors.NothingInCache: (
        400,
        "SEM_RESULTADO_EM_CACHE",
        "Não há resultado guardado que possa ser usado. Nada foi cobrado.",
    ),
    errors.InvalidBody: (
        400,
        "CORPO_INVALIDO",
        "O corpo da requisição não é um objeto JSON que se possa ler.",
    ),
    errors.ClientRequired: (
        400,
        "CLIENTE_OBRIGATORIO",
        "Esta chave exige o cabeçalho X-Cliente em cada consulta: diga para quem ela é.",
    ),
    errors.MarkWithCpf: (
        400,
        "MARCA_COM_CPF",
        "X-Cliente e X-Referencia ficam guardados com as cobranças e não podem ser um CPF. Use um"
        " código seu.",
    ),
    errors.InvalidIdempotencyKey: (
        400,
        "IDEMPOTENCY_KEY_INVALIDA",
        "Envie Idempotency-Key com 8 a 128 caracteres ASCII visíveis.",
    ),
    errors.IdempotencyKeyReused: (
        400,
        "IDEMPOTENCY_KEY_REUTILIZADA",
        "Esta Idempotency-Key já foi usada com outra operação ou outros parâmetros."
        " Use uma chave nova para cada consulta diferente.",
    ),
    errors.OptInNotEnabled: (
        403,
        "OPTIN_NAO_HABILITADO",
        "O CPF dos sócios (optin=1) não está habilitado para esta conta.",
    ),
    errors.PeopleNotEnabled: (
        403,
        "OPTIN_NAO_HABILITADO",
        "A busca de pessoas (pessoas=true, sócios) não está habilitada para esta conta.",
    ),
    errors.FilterRequired: (
        400,
        "FILTRO_OBRIGATORIO",
        "Informe ao menos um filtro da busca, como q, uf ou cnae.",
    ),
    errors.CursorOfAnotherMonth: (
        410,
        "CURSOR_DE_OUTRO_MES",
        "Este cursor é de um mês dos dados que não está mais em uso. Comece a busca de novo, sem"
        " cursor.",
    ),
    errors.SearchUnavailable: (
        503,
        "BUSCA_INDISPONIVEL",
        "O índice de busca do mês em uso não está pronto. Nada foi cobrado; tente mais tarde.",
    ),
    errors.StillRunning: (
        409,
        "OPERACAO_EM_ANDAMENTO",
        "A primeira requisição com esta Idempotency-Key ainda está em andamento."
        " Repita depois do tempo indicado em Retry-After.",
    ),
    errors.ResultUnavailable: (
        409,
        "RESULTADO_INDISPONIVEL",
        "O resultado da primeira requisição com esta Idempotency-Key não está disponível para"
        " reenvio. Nada foi cobrado por ela; use uma chave nova.",
    ),
    errors.ResultExpired: (
        409,
        "RESULTADO_INDISPONIVEL",
        "A certidão obtida com esta Idempotency-Key já venceu e não é reenviada."
        " Use uma chave nova para pedir outra.",
    ),
    errors.ResultErased: (
        409,
        "RESULTADO_INDISPONIVEL",
        "O resultado obtido com esta Idempotency-Key foi apagado a pedido do titular dos dados e"
        " não é reenviado. O que ele custou continua cobrado; use uma chave nova.",
    ),
    errors.InsufficientCredits: (
        402,
        "SALDO_INSUFICIENTE",
        "Saldo insuficiente: esta consulta precisa de mais créditos do que há disponíveis.",
    ),
    errors.CeilingOfRequest: (
        402,
        "TETO_DA_REQUISICAO",
        "Esta consulta pode custar mais créditos do que o máximo enviado com ela"
        " (X-Creditos-Maximos ou creditos_maximos). Nada foi consultado nem cobrado.",
    ),
    errors.CeilingOfKey: (
        402,
        "TETO_DA_CHAVE",
        "O teto desta chave não comporta a consulta. Nada foi consultado nem cobrado.",
    ),
    errors.CeilingOfBatch: (
        402,
        "TETO_DO_LOTE",
        "O teto do lote não comporta a consulta. Nada foi consultado nem cobrado.",
    ),
    errors.CeilingOfWallet: (
        402,
        "TETO_DA_CARTEIRA",
        "O teto da carteira não comporta a consulta. Nada foi consultado nem cobrado.",
    ),
    errors.CeilingOfClient: (
        402,
        "TETO_DO_CLIENTE",
        "O teto do cliente enviado em X-Cliente não comporta a consulta. Nada foi consultado nem"
        " cobrado.",
    ),
    errors.NotAdministering: (
        403,
        "CHAVE_NAO_ADMINISTRA",
        "Esta chave não administra a conta: isto pede uma chave com `administra`.",
    ),
    errors.BudgetsCrowded: (
        409,
        "ORCAMENTOS_DEMAIS",
        "Já há tantos orçamentos deste dono para a mesma operação quantos pode haver: mude ou"
        " remova um deles.",
    ),
    errors.BudgetOfItsOwner: (
        409,
        "ORCAMENTO_COM_DONO",
        "O orçamento de um lote, de uma carteira ou o diário de uma chave de face nasce e termina"
        " com ele; mude o teto.",
    ),
    errors.CnpjNotFound: (
        404,
        "CNPJ_NAO_ENCONTRADO",
        "O CNPJ não existe ou foi removido da base da Receita Federal.",
    ),
    errors.RegistrationNotFound: (
        404,
        "INSCRICAO_NAO_ENCONTRADA",
        "A empresa não tem inscrição na Suframa.",
    ),
    errors.ReceiptNotFound: (
        404,
        "COMPROVANTE_NAO_ENCONTRADO",
        "Este comprovante não existe, ou não é desta conta.",
    ),
    errors.OperationNotFound: (
        404,
        "OPERACAO_NAO_ENCONTRADA",
        "Esta conta não tem uma operação com este request_id, ou ela é antiga demais. Requisições"
        " recusadas antes de qualquer consulta não são operações e não custam nada.",
    ),
    errors.BatchNotFound: (
        404,
        "LOTE_NAO_ENCONTRADO",
        "Esta conta não tem um lote com este id.",
    ),
    errors.BatchStateRefused: (
        409,
        "ESTADO_DO_LOTE",
        "neste estado isto não é possível.",
    ),
    errors.QuoteChanged: (
        409,
        "COTACAO_MUDOU",
        "O preço ou as linhas do lote mudaram, ou o digest não é o da cotação: confira a cotação"
        " que vem nesta resposta e confirme-a.",
    ),
    errors.BatchErased: (
        410,
        "LOTE_APAGADO",
        "Os dados deste lote foram apagados; o que ele custou continua nos extratos.",
    ),
    errors.BudgetNotFound: (
        404,
        "ORCAMENTO_NAO_ENCONTRADO",
        "Não há um orçamento com este id entre os que esta chave pode ver.",
    ),
    errors.RouteNotFound: (
        404,
        "ROTA_NAO_ENCONTRADA",
        "Este endereço não existe. As operações estão descritas em /docs.",
    ),
    errors.MethodNotAllowed: (
        405,
        "METODO_NAO_PERMITIDO",
        "Este endereço não aceita este método; veja o cabeçalho Allow.",
    ),
    errors.RequestTooLarge: (
        413,
        "REQUISICAO_GRANDE_DEMAIS",
        "A requisição é grande demais: não envie corpo, e mantenha a linha e os cabeçalhos"
        " abaixo de 16 KB.",
    ),
    errors.UnsupportedMediaType: (
        415,
        "TIPO_NAO_SUPORTADO",
        "Este endereço não aceita um corpo deste tipo; veja em /docs que Content-Type ele espera.",
    ),
    errors.InvalidRequest: (
        400,
        "REQUISICAO_INVALIDA",
        "A requisição não está escrita como o HTTP/1.1 pede (linha, cabeçalhos ou tamanho do"
        " corpo). Nada foi cobrado.",
    ),
    errors.SourceUnavailable: (
        503,
        "SERVICO_INDISPONIVEL",
        "A fonte está fora do ar ou em manutenção. Nada foi cobrado; tente mais tarde.",
    ),
    errors.NotServed: (
        503,
        "SERVICO_INDISPONIVEL",
        "Nenhuma fonte deste serviço responde esta consulta (operação, UF ou documento). Nada foi"
        " cobrado; fale com quem o opera.",
    ),
    errors.SourceFailed: (
        500,
        "ERRO_INTERNO",
        "A fonte foi consultada e falhou. Nada foi cobrado; tente novamente em instantes.",
    ),
    errors.CertificateFailed: (
        400,
        "FALHA_TECNICA",
        "A fonte foi consultada e falhou, ou recusou a emissão. Nada foi cobrado. Não repita logo:"
        " uma emissão pode ter começado; peça a 2ª via mais tarde.",
    ),
    errors.DataRefused: (
        400,
        "DADOS_RECUSADOS_PELA_FONTE",
        "A fonte recusou os dados: confira se a data de nascimento é a do CPF. Nada foi cobrado.",
    ),
    errors.NewIssueRefused: (
        400,
        "NOVA_EMISSAO_RECUSADA",
        "A fonte recusou uma emissão nova: pode haver uma certidão em vigor. Peça a 2ª via, com"
        " `preferencia_emissao=2via`. Nada foi cobrado.",
    ),
    errors.StorageFailed: (
        503,
        "SERVICO_INDISPONIVEL",
        "O serviço não consegue gravar no momento. Nada foi cobrado; tente mais tarde.",
    ),
    # Only where several nodes share a database.
    errors.CommitUncertain: (
        503,
        UNCERTAIN,
        "O serviço perdeu a ligação com o banco de dados e não sabe ainda se esta requisição foi"
        " executada e cobrada. Repita-a com a mesma Idempotency-Key, que nunca é cobrada duas"
        " vezes, ou procure por ela em /conta/v1/operacoes.",
    ),
    errors.ClockOff: (
        503,
        "SERVICO_INDISPONIVEL",
        "O relógio desta máquina difere em mais de 5 segundos do relógio do banco de dados:"
        " acerte os dois (NTP).",
    ),
    errors.Overloaded: (
        503,
        "SERVICO_INDISPONIVEL",
        "O serviço está sobrecarregado. Nada foi cobrado; repita em instantes.",
    ),
}

_BUG = Problem(500, "ERRO_INTERNO", "Falha interna. Nada foi cobrado; tente novamente.")

# Of requests that cannot be read, for other reasons than how they are written.
_INVALID_REQUESTS: Mapping[int, str] = {
    408: "A requisição não chegou inteira a tempo. Nada foi cobrado; envie-a de novo.",
    501: "A requisição usa um Transfer-Encoding que este serviço não conhece. Nada foi cobrado.",
    505: "Esta versão do HTTP não é aceita aqui; use HTTP/1.1. Nada foi cobrado.",
}

# 50,000 rows are written, or read, in about as long.
_FILE_SECONDS = 10

# A full disk takes a person to empty it; a moment of contention is over by then.
_STORAGE_RETRY_SECONDS = 30

# Until the outcome of a commit is known: after the promotion of a standby that takes one second.
_UNCERTAIN_RETRY_SECONDS = 5

# Client libraries sleep for as long as a 503 tells them, and most outages end sooner than anybody
# knows: what truly takes longer is told again (decisions 9.4).
UNAVAILABLE_RETRY_SECONDS_MAX = 300


def problem_of(error: Exception) -> Problem:
    """The face of an error. What is not in the table is a bug and says nothing of itself."""
    known = _TABLE.get(type(error)) if isinstance(error, errors.BalcaoError) else None
    if known is None:
        return _BUG
    status, code, message = known
    match error:
        case (
            errors.InvalidParameter(detail=detail)
            | errors.RepeatedParameter(detail=detail)
            | errors.InvalidStrategy(detail=detail)
            | errors.InvalidUf(detail=detail)
            | errors.FileUnreadable(detail=detail)
            | errors.FilterRequired(detail=detail)
            | errors.MarkWithCpf(detail=detail)
            | errors.InvalidBody(detail=detail)
        ) if detail:
            return Problem(status, code, detail)
        case errors.BatchStateRefused(state=state):
            return Problem(status, code, f"O lote está no estado {state}: {message}")
        case errors.PeopleNotEnabled(detail=sent) if sent:
            text = f"A busca de pessoas ({sent}) não está habilitada para esta conta."
            return Problem(status, code, text)
        case errors.AddressNotAllowed(address=address) if address:
            return Problem(status, code, f"Esta chave não pode ser usada a partir de {address}.")
        case errors.FileRunning() | errors.UnreadFilesCrowded():
            return Problem(status, code, message, retry_after_seconds=_FILE_SECONDS)
        case errors.NoFileSpace():
            seconds = UNAVAILABLE_RETRY_SECONDS_MAX
            return Problem(status, code, message, retry_after_seconds=seconds)
        case errors.FileSpaceUsed(kept_bytes=kept, kept_bytes_max=most) if most:
            used = f"Os lotes da conta ocupam {kept // MEGABYTE} MB, e este não cabe nos"
            return Problem(status, code, f"{used} {most // MEGABYTE} MB do plano. {_ROOM_AGAIN}")
        case errors.RateLimited(retry_in_seconds=seconds):
            return Problem(status, code, message, retry_after_seconds=seconds)
        case errors.InsufficientCredits():
            needed = {
                "creditos_necessarios": error.needed_credits,
                "creditos_disponiveis": error.available_credits,
            }
            return Problem(status, code, message, fields=needed)
        case errors.CeilingOfRequest():
            needed = {
                "creditos_necessarios": error.needed_credits,
                "creditos_maximos": error.ceiling_credits,
            }
            return Problem(status, code, message, fields=needed)
        case errors.CeilingReached():
            numbers: Mapping[str, int | str | None] = {
                "teto": error.ceiling,
                "usado": error.used,
                "reservado": error.held,
                "necessario": error.needed,
                "volta_em": error.back,
            }
            return Problem(status, code, message, fields=numbers)
        case errors.RequestTooLarge(headers=True):
            return Problem(431, code, message)
        case errors.RequestTooLarge(body_bytes_max=bytes_max) if bytes_max:
            return Problem(status, code, f"O corpo da requisição passa de {bytes_max} bytes.")
        case errors.InvalidRequest(status=given):
            return Problem(given, code, _INVALID_REQUESTS.get(given, message))
        case errors.CommitUncertain():
            return Problem(status, code, message, retry_after_seconds=_UNCERTAIN_RETRY_SECONDS)
        case errors.StorageFailed():
            return Problem(status, code, message, retry_after_seconds=_STORAGE_RETRY_SECONDS)
        case errors.SearchUnavailable():
            told = UNAVAILABLE_RETRY_SECONDS_MAX
            return Problem(status, code, message, retry_after_seconds=told)
        case errors.StillRunning(retry_in_seconds=seconds):
            return Problem(status, code, message, retry_after_seconds=seconds)
        case (
            errors.SourceUnavailable(retry_in_seconds=seconds)
            | errors.Overloaded(retry_in_seconds=seconds)
        ):
            told = min(seconds, UNAVAILABLE_RETRY_SECONDS_MAX)
            return Problem(status, code, message, retry_after_seconds=told)
        case _:
            return Problem(status, code, message)


def table() -> Mapping[type[errors.BalcaoError], tuple[int, str, str]]:
    """The whole table, for the OpenAPI document and the test that it is complete."""
    return _TABLE
