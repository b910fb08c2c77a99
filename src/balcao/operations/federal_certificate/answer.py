"""The body of a result (specification, "Federal joint tax clearance certificate")."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from balcao.core.described import described, said
from balcao.core.ledger import Origin
from balcao.operations.envelope import AlwaysFalse, RequestId


@described("Cobranca", "Créditos e caminho executado.")
class Billing(msgspec.Struct, frozen=True):
    """Credits consumed, and the path that was executed."""

    credits: Annotated[int, said("Créditos.")]
    source: Annotated[Origin, said("`cache` ou `online`.")]


@described(
    "RespostaCertidaoFederal",
    "Certidão federal, ou o resultado negativo da consulta (404 com `error: false`).",
)
class FederalAnswer(msgspec.Struct, frozen=True):
    """The body of a result, functional negatives included; these have a `message` too."""

    request_id: RequestId
    success: Annotated[bool, said("`true`: CND ou CPEND; `false`: a consulta terminou sem elas.")]
    error: AlwaysFalse
    error_message: Annotated[
        Mapping[str, str], said("Objeto sempre vazio nesta resposta: não há erro.", maxProperties=0)
    ]
    certificate_type: Annotated[
        str | None,
        said(
            "`CND`, `CPEND`, `CPD`, o texto da fonte quando não pôde ser classificado, ou nulo"
            " quando nada pôde ser emitido."
        ),
    ]
    certificate: Annotated[str, said("Título da certidão.")]
    certificate_code: Annotated[str | None, said("Código de controle.")]
    cnpj: Annotated[str | None, said("CNPJ consultado, com pontuação.")]
    certificate_cnpj: Annotated[
        str | None,
        said(
            "CNPJ da certidão, com pontuação: o da matriz, também quando `cnpj` é de uma filial."
            " A certidão vale para todos os estabelecimentos. Nulo numa consulta por CPF."
        ),
    ]
    cpf: Annotated[str | None, said("CPF consultado, com pontuação.")]
    corporate_name: Annotated[str, said("Nome, quando a fonte o diz.")]
    status: Annotated[str, said("Situação da certidão, nas palavras da fonte.")]
    issued_at: Annotated[str | None, said("Dia da emissão.", format="date")]
    validity: Annotated[str | None, said("Validade original.", format="date")]
    extended_validity: Annotated[str | None, said("Prorrogação, quando há.", format="date")]
    effective_validity: Annotated[str | None, said("A maior das duas.", format="date")]
    valid_until: Annotated[
        str | None,
        said(
            "Último dia em que este resultado pode ser servido do cache; nulo: em nenhum.",
            format="date",
        ),
    ]
    source_queried_at: Annotated[str, said("Quando a fonte foi consultada.", format="date-time")]
    served_at: Annotated[str, said("Quando esta resposta foi dada.", format="date-time")]
    source: Annotated[Origin, said("`cache` ou `online`.")]
    issued_successfully: Annotated[bool, said("Indicador de emissão da fonte.")]
    rfb_debts: Annotated[bool | None, said("Débitos na Receita Federal, quando a fonte o diz.")]
    pgfn_debts: Annotated[bool | None, said("Débitos na PGFN, quando a fonte o diz.")]
    receipt_type: Annotated[str, said("Tipo do comprovante; vazio quando não há.")]
    receipt_verification_code: Annotated[str, said("Código de verificação do comprovante.")]
    print: Annotated[str | None, said("Endereço do comprovante, que pede a chave da mesma conta.")]
    provider_code: Annotated[int, said("Código devolvido pelo fornecedor.")]
    provider_billable: Annotated[bool, said("Se o fornecedor cobra por esta consulta.")]
    provider_elapsed_time_in_milliseconds: Annotated[int, said("Tempo do fornecedor.")]
    billing: Annotated[Billing, said("O que esta consulta custou.")]
    message: Annotated[
        str | msgspec.UnsetType, said("Só no resultado negativo: o que aconteceu.")
    ] = msgspec.UNSET
