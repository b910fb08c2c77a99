"""The body of a result (specification, "Company registry data")."""

from typing import Annotated

import msgspec

from balcao.core.company import Company
from balcao.core.described import described, said
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, NoError, RequestId


@described("RespostaEmpresa", "Resposta da consulta de dados cadastrais.")
class CompanyAnswer(msgspec.Struct, frozen=True):
    """What `conclude` writes, as a type: for the OpenAPI document and for tests."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    error_message: NoError
    data_base: Annotated[
        str | None,
        said(
            "Dia a que os dados se referem: o da extração, quando vêm de uma cópia do cadastro"
            " público; senão, o dia (horário de Brasília) em que a fonte foi consultada. Nulo"
            " quando a fonte tem uma cópia e não informa de que dia.",
            format="date",
        ),
    ]
    response: Annotated[Company, said("Os dados cadastrais.")]
