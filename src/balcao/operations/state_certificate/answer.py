"""The body of a result (specification, "State tax clearance certificate")."""

from typing import Annotated

import msgspec

from balcao.core.described import described, said
from balcao.operations.envelope import AlwaysFalse, NoError, RequestId


@described(
    "RespostaCertidaoEstadual",
    "Certidão estadual, ou o resultado negativo da consulta (404 com `error: false`).",
)
class StateCertificateAnswer(msgspec.Struct, frozen=True):
    """The body of a result, functional negatives included; these have a `message` too."""

    request_id: RequestId
    success: Annotated[bool, said("`true`: a certidão negativa foi emitida.")]
    error: AlwaysFalse
    error_message: NoError
    codigo: Annotated[str | None, said("Código da certidão.")]
    certidao_mensagem: Annotated[str | None, said("Mensagem fiscal da certidão.")]
    certidao_negativa: Annotated[
        bool | None, said("Se o resultado corresponde a uma certidão negativa.")
    ]
    conseguiu_emitir_certidao_negativa: Annotated[bool | None, said("Se a fonte a emitiu.")]
    datahora: Annotated[
        str | None, said("Data e hora da consulta, `YYYY-MM-DD HH:mm:ss`, em Brasília.")
    ]
    mensagem: Annotated[str | None, said("Mensagem complementar da origem.")]
    numero: Annotated[str | None, said("Número da certidão.")]
    validade: Annotated[str | None, said("Validade.", format="date")]
    print: Annotated[
        str | None, said("Endereço público do comprovante em PDF; nulo quando não há.")
    ]
    message: Annotated[
        str | msgspec.UnsetType, said("Só no resultado negativo: o que aconteceu.")
    ] = msgspec.UNSET
