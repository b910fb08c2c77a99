"""Errors about lookups and searches: parameters, idempotency keys, results."""

from balcao.core.errors.base import CallerError, InvalidInput, NotFound
from balcao.core.notices import Notice


class InvalidCnpj(InvalidInput):
    """The CNPJ is malformed or incomplete, or its check digits do not match."""

    code = "CNPJ_INVALIDO"
    message = (
        "CNPJ inválido: informe os 14 caracteres, com ou sem pontuação; os dois últimos são"
        " dígitos verificadores e devem conferir."
    )
    short = "CNPJ inválido"
    field = "cnpj"
    hint = (
        "Informe os 14 caracteres do CNPJ, com ou sem pontuação. Os dois últimos são dígitos"
        " verificadores e devem conferir."
    )


class InvalidCpf(InvalidInput):
    """The CPF is malformed, or its check digits do not match."""

    code = "CPF_INVALIDO"
    message = (
        "CPF inválido: informe os 11 dígitos, com ou sem pontuação; os dois últimos são"
        " verificadores e devem conferir."
    )
    short = "CPF inválido"
    field = "cpf"
    hint = (
        "Informe os 11 dígitos do CPF, com ou sem pontuação. Os dois últimos são verificadores e"
        " devem conferir."
    )


class InvalidParameter(InvalidInput):
    """The value of a parameter is not valid (contract 2.4, 2.6, 2.7)."""

    code = "PARAMETRO_INVALIDO"
    message = "Um parâmetro tem valor inválido."
    detail_is_message = True
    short = "Parâmetro inválido"
    field = "dias"  # the only one typed into a form
    hint = "Informe um número inteiro de dias, de 0 a {days_max}."


class RepeatedParameter(InvalidInput):
    """A parameter of the contract was given twice (contract 2.6)."""

    code = "PARAMETRO_REPETIDO"
    message = "Um parâmetro foi informado mais de uma vez."
    detail_is_message = True
    short = "Parâmetro repetido"


class InvalidStrategy(InvalidInput):
    """This operation has no such cache strategy (contract 2.5)."""

    code = "ESTRATEGIA_INVALIDA"
    message = "O valor de cache_strategy não existe nesta operação."
    detail_is_message = True
    short = "Estratégia desconhecida"


class InvalidUf(InvalidInput):
    """This operation has no such UF (contract 2.3)."""

    code = "UF_INVALIDA"
    message = "A UF informada não existe nesta operação."
    detail_is_message = True
    short = "UF inválida"
    field = "uf"
    hint = "Escolha uma das UFs da lista."


class UfRequired(InvalidInput):
    """No UF was given, and the company's own is not known (contract 2.3)."""

    code = "UF_OBRIGATORIA"
    message = (
        "Informe o parâmetro uf: a sigla de um estado, do Distrito Federal ou, onde couber, BR."
    )
    short = "Faltou a UF"
    notice: Notice = Notice(
        "warn",
        "Faltou a UF",
        "Não foi possível descobrir a UF da empresa. Escolha a UF.",
        "Consulte de novo e informe a UF.",
    )
    field = "uf"
    hint = "Escolha a UF."


class DocumentRequired(InvalidInput):
    """Neither CNPJ nor CPF was given (contract 2.8, 2.11)."""

    code = "DOCUMENTO_OBRIGATORIO"
    message = "Informe cnpj, ou cpf com data_nascimento."
    detail_is_message = True
    short = "Faltou o documento"
    field = InvalidCnpj.field
    hint = InvalidCnpj.hint


class DocumentsConflict(InvalidInput):
    """A CNPJ was given together with a CPF or birth date (contract 2.8, 2.11)."""

    code = "DOCUMENTOS_CONFLITANTES"
    message = "Informe um documento só: cnpj, ou cpf com data_nascimento."
    detail_is_message = True
    short = "Documentos em conflito"


class BirthDateRequired(InvalidInput):
    """A CPF was given without a birth date (contract 2.8)."""

    code = "DATA_NASCIMENTO_OBRIGATORIA"
    message = "Com cpf, informe também data_nascimento, na forma yyyyMMdd."
    short = "Data de nascimento ausente"
    field = "nascimento"
    hint = "Informe a data de nascimento do titular deste CPF."


class InvalidBirthDate(InvalidInput):
    """The birth date is malformed or impossible (contract 2.8)."""

    code = "DATA_NASCIMENTO_INVALIDA"
    message = "data_nascimento deve ser uma data que existe, na forma yyyyMMdd."
    short = "Data de nascimento inválida"
    field = "nascimento"
    hint = "Informe uma data válida no formato dia/mês/ano, como 25/03/1980."


class BirthDateInFuture(InvalidInput):
    """The birth date is later than today in Brasília (contract 2.8)."""

    code = "DATA_NASCIMENTO_FUTURA"
    message = "data_nascimento está no futuro."
    short = "Data de nascimento no futuro"
    field = "nascimento"
    hint = "Esta data está no futuro."


class ParametersConflict(InvalidInput):
    """Two parameters exclude each other (contract 2.8)."""

    code = "PARAMETROS_CONFLITANTES"
    message = (
        "SO_CACHE não consulta a fonte: não o combine com atualizar_online=true nem com"
        " preferencia_emissao=nova."
    )
    short = "Parâmetros em conflito"


class TagWithCpf(InvalidInput):
    """A tag or a name contains a valid CPF, which must not be stored permanently (contract 11.1).

    `detail`: the message for a name; empty: it is a tag.
    """

    code = "MARCA_COM_CPF"
    message = (
        "X-Cliente e X-Referencia ficam guardados com as cobranças e não podem ser um CPF. Use um"
        " código seu."
    )
    detail_is_message = True
    short = "CPF em um código ou nome"


class InvalidIdempotencyKey(InvalidInput):
    """The idempotency key is not 8 to 128 visible ASCII characters (contract 2.9)."""

    code = "IDEMPOTENCY_KEY_INVALIDA"
    message = "Envie Idempotency-Key com 8 a 128 caracteres ASCII visíveis."
    short = "Idempotency-Key inválida"
    notice = Notice(
        "info",
        "O formulário chegou incompleto",
        "Faltou o número que evita cobrança em dobro.",
        "Confira os dados abaixo e consulte de novo.",
    )


class IdempotencyKeyReused(InvalidInput):
    """The key was used for another operation or other parameters (contract 3)."""

    code = "IDEMPOTENCY_KEY_REUTILIZADA"
    message = (
        "Esta Idempotency-Key já foi usada com outra operação ou outros parâmetros."
        " Use uma chave nova para cada consulta diferente."
    )
    short = "Idempotency-Key de outra consulta"
    notice = Notice(
        "info",
        "Este formulário já tinha sido usado",
        "Outra consulta já foi feita com ele e está no histórico.",
        "Confira os dados abaixo e consulte de novo.",
    )


class StillRunning(CallerError):
    """The first execution under this idempotency key has not finished."""

    status = 409
    code = "OPERACAO_EM_ANDAMENTO"
    message = (
        "A primeira requisição com esta Idempotency-Key ainda está em andamento."
        " Repita depois do tempo indicado em Retry-After."
    )
    short = "Consulta igual em andamento"
    notice = Notice(
        "info",
        "Já estava em andamento",
        "O mesmo formulário já tinha sido enviado e a primeira consulta ainda estava em andamento.",
        "O resultado está no histórico, na linha da primeira consulta.",
    )
    sample_arguments = ({"retry_in_seconds": 26},)

    def __init__(self, retry_in_seconds: int) -> None:
        super().__init__()
        self.retry_in_seconds: int = retry_in_seconds


class ResultUnavailable(CallerError):
    """The first execution under this idempotency key died, or its result was purged."""

    status = 409
    code = "RESULTADO_INDISPONIVEL"
    message = (
        "O resultado da primeira requisição com esta Idempotency-Key não está disponível para"
        " reenvio. Nada foi cobrado por ela; use uma chave nova."
    )
    short = "Resultado não pode ser reenviado"
    notice = Notice(
        "warn",
        "Consulta interrompida",
        "O serviço parou no meio desta consulta e o resultado se perdeu.",
        "Consulte de novo.",
    )


class ResultExpired(CallerError):
    """The result under this idempotency key is a certificate that has expired."""

    status = 409
    code = ResultUnavailable.code
    message = (
        "A certidão obtida com esta Idempotency-Key já venceu e não é reenviada."
        " Use uma chave nova para pedir outra."
    )
    short = ResultUnavailable.short


class ResultErased(CallerError):
    """The result under this idempotency key was erased at a person's request."""

    status = 409
    code = ResultUnavailable.code
    message = (
        "O resultado obtido com esta Idempotency-Key foi apagado a pedido do titular dos dados e"
        " não é reenviado. O que ele custou continua cobrado; use uma chave nova."
    )
    short = ResultUnavailable.short


class NothingInCache(CallerError):
    """The caller asks for a cached result only (`SO_CACHE`), and there is no usable one."""

    code = "SEM_RESULTADO_EM_CACHE"
    message = "Não há resultado guardado que possa ser usado. Nada foi cobrado."
    short = "Nada guardado"
    notice = Notice(
        "info",
        "Nenhum resultado guardado",
        "Não há certidão guardada válida, e a fonte não foi consultada.",
        "Para consultar a fonte, escolha “Usar a certidão guardada, se ainda for válida”.",
    )


class CnpjNotFound(NotFound):
    """The CNPJ does not exist, as proven by a source."""

    code = "CNPJ_NAO_ENCONTRADO"
    message = "O CNPJ não existe ou foi removido da base da Receita Federal."
    short = "CNPJ não encontrado"
    notice = Notice(
        "warn",
        "Este CNPJ não existe",
        "Segundo a fonte, o CNPJ não existe ou foi removido da base da Receita Federal.",
        "Confira o número. Uma empresa aberta há poucos dias pode ainda não constar.",
    )


class RegistrationNotFound(NotFound):
    """The company has no registration with Suframa."""

    code = "INSCRICAO_NAO_ENCONTRADA"
    message = "A empresa não tem inscrição na Suframa."
    short = "Sem inscrição na Suframa"
    notice = Notice(
        "info",
        "Sem inscrição na Suframa",
        "A Suframa respondeu que esta empresa não tem inscrição.",
        "Confira o número. Cada filial tem a própria inscrição.",
    )


class ReceiptNotFound(NotFound):
    """The receipt does not exist, or belongs to another account."""

    code = "COMPROVANTE_NAO_ENCONTRADO"
    message = "Este comprovante não existe, ou não é desta conta."
    short = "Comprovante não encontrado"


class OperationNotFound(NotFound):
    """The account has no such operation, or it was purged."""

    code = "OPERACAO_NAO_ENCONTRADA"
    message = (
        "Esta conta não tem uma operação com este request_id, ou ela é antiga demais. Requisições"
        " recusadas antes de qualquer consulta não são operações e não custam nada."
    )
    short = "Operação não encontrada"


class FilterRequired(InvalidInput):
    """A search needs a filter (contract 14.1)."""

    code = "FILTRO_OBRIGATORIO"
    message = "Informe ao menos um filtro da busca, como q, uf ou cnae."
    detail_is_message = True
    short = "Nenhum filtro informado"


class CursorOfAnotherMonth(CallerError):
    """The search was begun in a month that is no longer in use (contract 14.3)."""

    status = 410
    code = "CURSOR_DE_OUTRO_MES"
    message = (
        "Este cursor é de um mês dos dados que não está mais em uso. Comece a busca de novo, sem"
        " cursor."
    )
    short = "Cursor de outro mês"
