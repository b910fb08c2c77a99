"""Errors about an HTTP request as such, independent of its address."""

from balcao.core.errors.base import CallerError, InvalidInput, NotFound


class InvalidRequest(CallerError):
    """The bytes received are not a valid HTTP/1.1 request, or are ambiguous.

    `status`: 400; 408, it did not arrive in time; 501, unknown transfer coding; 505, another
    version.
    """

    code = "REQUISICAO_INVALIDA"
    message = (
        "A requisição não está escrita como o HTTP/1.1 pede (linha, cabeçalhos ou tamanho do"
        " corpo). Nada foi cobrado."
    )
    short = "Requisição malformada"
    sample_arguments = ({"status": 400}, {"status": 408}, {"status": 501}, {"status": 505})

    def __init__(self, status: int = 400) -> None:
        super().__init__()
        self.status = status
        match status:
            case 408:
                self.message = (
                    "A requisição não chegou inteira a tempo. Nada foi cobrado; envie-a de novo."
                )
            case 501:
                self.message = (
                    "A requisição usa um Transfer-Encoding que este serviço não conhece. Nada foi"
                    " cobrado."
                )
            case 505:
                self.message = (
                    "Esta versão do HTTP não é aceita aqui; use HTTP/1.1. Nada foi cobrado."
                )


class RequestTooLarge(CallerError):
    """The body is too large (413), or the request line and headers are (431).

    `body_bytes_max`: the largest body that this address accepts; 0: none.
    """

    status = 413
    code = "REQUISICAO_GRANDE_DEMAIS"
    message = (
        "A requisição é grande demais: não envie corpo, e mantenha a linha e os cabeçalhos"
        " abaixo de 16 KB."
    )
    short = "Requisição grande demais"
    sample_arguments = ({"headers": False}, {"headers": True})

    def __init__(self, *, headers: bool = False, body_bytes_max: int = 0) -> None:
        super().__init__()
        self.body_bytes_max = body_bytes_max
        if headers:
            self.status = 431
        elif body_bytes_max:
            self.message = f"O corpo da requisição passa de {body_bytes_max} bytes."


class RouteNotFound(NotFound):
    """The path does not exist."""

    code = "ROTA_NAO_ENCONTRADA"
    message = "Este endereço não existe. As operações estão descritas em /docs."
    short = "Endereço não existe"
    tone = "warn"


class MethodNotAllowed(CallerError):
    """The path does not accept this method."""

    status = 405
    code = "METODO_NAO_PERMITIDO"
    message = "Este endereço não aceita este método; veja o cabeçalho Allow."
    short = "Método não permitido"


class UnsupportedMediaType(CallerError):
    """The address does not accept bodies of this type."""

    status = 415
    code = "TIPO_NAO_SUPORTADO"
    message = (
        "Este endereço não aceita um corpo deste tipo; veja em /docs que Content-Type ele espera."
    )
    short = "Tipo de conteúdo não aceito"


class InvalidBody(InvalidInput):
    """The body is not a valid JSON object."""

    code = "CORPO_INVALIDO"
    message = "O corpo da requisição não é um objeto JSON que se possa ler."
    detail_is_message = True
    short = "Corpo que não é JSON"


class InvalidCursor(InvalidInput):
    """`depois` is not a cursor of the feed of events (contract 19.2)."""

    code = "CURSOR_INVALIDO"
    message = (
        "O parâmetro depois deve ser um cursor recebido antes, ou agora. Sem ele, a lista começa no"
        " evento mais antigo."
    )
    short = "Cursor inválido"


class CursorExpired(CallerError):
    """Events after the cursor may be older than what is kept (contract 19.2)."""

    status = 410
    code = "CURSOR_VENCIDO"
    message = (
        "Este cursor é mais antigo que os eventos guardados. Continue em cursor_mais_antigo e"
        " confira a situação atual dos itens."
    )
    short = "Cursor vencido"
    tone = "info"
    sample_arguments = ({"oldest": "41-1786190130120"},)

    def __init__(self, oldest: str) -> None:
        super().__init__()
        self.extra = {"cursor_mais_antigo": oldest}
