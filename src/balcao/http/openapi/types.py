"""What the OpenAPI document says of the answers' types and fields, in Portuguese."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from balcao.core.registration import ALL_TYPE_TEXTS, SITUATION_TEXTS


@dataclass(frozen=True, slots=True)
class FieldText:
    """One field of an answer: its meaning, and what its type does not say."""

    description: str
    schema: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TypeText:
    """One type of the answers: its name in the document and its fields."""

    name: str
    description: str
    fields: Mapping[str, FieldText]


def described(text: FieldText) -> dict[str, Any]:
    """What is added to a field's schema."""
    return {"description": text.description, **text.schema}


_DATE = {"format": "date"}
_INSTANT = {"format": "date-time"}

ENVELOPE: Mapping[str, FieldText] = {
    "request_id": FieldText("Identificador único da operação.", {"format": "uuid"}),
    "success": FieldText("Resultado da consulta. Leia junto com `error`."),
    "error": FieldText("`true`: recusa ou falha técnica; nada foi cobrado."),
}

# Which of the two a boolean always is stands in its description: a `const` on a boolean is more
# than most generators of clients can read.
_POSITIVE: Mapping[str, FieldText] = {
    **ENVELOPE,
    "success": FieldText("Sempre `true` nesta resposta."),
    "error": FieldText("Sempre `false` nesta resposta."),
}

# A type that is `null` alone has no name in most languages.
_NO_ERROR = FieldText("Sempre nulo nesta resposta: não há erro.", {"type": ["object", "null"]})

# What errors carry everywhere, and what some carry too.
ENVELOPE_OF_ERRORS = ("request_id", "success", "error", "error_message", "message")
ERROR: Mapping[str, str] = {
    "cnpj": "CNPJ consultado, sem pontuação, quando é conhecido.",
    "cpf": "CPF consultado, sem pontuação, quando é conhecido.",
    "inscricoes_estaduais": "Sempre vazia: nada se sabe das inscrições.",
    "response": "Sempre nulo: não há dados.",
}
CREDITS: Mapping[str, str] = {
    "creditos_necessarios": "Só com status 402: os créditos que a consulta pede.",
    "creditos_disponiveis": "Só com status 402: os créditos que a conta tem.",
}


def _registration_types() -> Mapping[str, TypeText]:
    """State registrations and rural producers: nearly the same, field by field."""
    common = {
        **_POSITIVE,
        "is_cache": FieldText("`true` se nada veio da fonte nesta consulta."),
        "inscricoes_estaduais": FieldText(
            "Inscrições encontradas: ativas primeiro, depois por UF e número."
        ),
        "ufs": FieldText("Só com `uf=BR`: de onde veio a resposta de cada UF, na ordem das UFs."),
    }
    registration = {
        "inscricao_estadual": FieldText("Número da inscrição."),
        "uf": FieldText("UF da inscrição."),
        "ativa": FieldText("`true` se está ativa."),
        "tipo_ie": FieldText("Tipo da inscrição.", {"enum": [*ALL_TYPE_TEXTS]}),
        "situacao_pj": FieldText(
            "Situação do contribuinte na UF.", {"enum": [*SITUATION_TEXTS.values()]}
        ),
        "updated_at": FieldText("Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília."),
        "endereco": FieldText("Só com `endereco=true`, quando a fonte tem um."),
    }
    address = {
        "logradouro": FieldText("Logradouro."),
        "numero": FieldText("Número."),
        "bairro": FieldText("Bairro."),
        "municipio": FieldText("Município."),
        "codigo_municipio_ibge": FieldText("Código IBGE do município; vazio se a fonte não o diz."),
        "uf": FieldText("Sigla da UF do endereço."),
        "cep": FieldText("CEP, só dígitos."),
    }
    absent = "O que nenhuma fonte sabe é omitido."
    return {
        "StateRegistrationAnswer": TypeText(
            "RespostaInscricoes",
            "Inscrições estaduais de uma empresa.",
            {
                **common,
                "cnpj": FieldText("CNPJ consultado, sem pontuação."),
                "razao_social": FieldText("Razão social, quando a fonte a diz."),
                "uf": FieldText("UF da própria empresa, quando conhecida."),
            },
        ),
        "StateRegistration": TypeText(
            "InscricaoEstadual", f"Uma inscrição estadual. {absent}", registration
        ),
        "StateAddress": TypeText(
            "EnderecoInscricao",
            "Endereço de uma inscrição.",
            {**address, "complemento": FieldText("Complemento, ou nulo.")},
        ),
        "RuralProducerAnswer": TypeText(
            "RespostaProdutorRural",
            "Inscrições estaduais de um produtor rural.",
            {
                **common,
                "cpf": FieldText("CPF consultado, sem pontuação."),
                "nome": FieldText("Nome do produtor, quando a fonte o diz."),
                "uf": FieldText("UF consultada, ou `BR`."),
            },
        ),
        "RuralRegistration": TypeText(
            "InscricaoProdutorRural",
            f"Uma inscrição de produtor rural. {absent}",
            {
                **registration,
                "data_status": FieldText("Data da última mudança de situação.", _DATE),
            },
        ),
        "RuralAddress": TypeText("EnderecoProdutorRural", "Endereço de uma inscrição.", address),
        "UfOrigin": TypeText(
            "OrigemUf",
            "De onde veio a resposta de uma UF.",
            {
                "uf": FieldText("A UF."),
                "origem": FieldText(
                    "`online`, `cache`, ou `indisponivel`: não respondeu e não foi cobrada.",
                    {"enum": ["online", "cache", "indisponivel"]},
                ),
            },
        ),
    }


# By name of the type in the code.
TYPES: Mapping[str, TypeText] = {
    "CompanyAnswer": TypeText(
        "RespostaEmpresa",
        "Resposta da consulta de dados cadastrais.",
        {
            **_POSITIVE,
            "error_message": _NO_ERROR,
            "data_base": FieldText(
                "Dia a que os dados se referem: o da extração, quando vêm de uma cópia do cadastro"
                " público; senão, o dia (horário de Brasília) em que a fonte foi consultada. Nulo"
                " quando a fonte tem uma cópia e não informa de que dia.",
                _DATE,
            ),
            "response": FieldText("Os dados cadastrais."),
        },
    ),
    "Company": TypeText(
        "Empresa",
        "Dados cadastrais de um estabelecimento e de sua empresa. Sem informação, o campo é nulo ou"
        " vazio.",
        {
            "cnpj": FieldText("CNPJ, sem pontuação."),
            "identificador_matriz_filial": FieldText("`MATRIZ` ou `FILIAL`."),
            "data_de_abertura": FieldText("Data de abertura.", _DATE),
            "nome_empresarial": FieldText("Nome empresarial (razão social)."),
            "nome_fantasia": FieldText("Nome fantasia."),
            "atividade_economica_principal": FieldText("Atividade principal (CNAE)."),
            "atividades_economicas_secundarias": FieldText("Atividades secundárias (CNAE)."),
            "natureza_juridica": FieldText("Natureza jurídica."),
            "tipo_logradouro": FieldText("Tipo do logradouro: RUA, AVENIDA, …"),
            "logradouro": FieldText("Nome do logradouro."),
            "numero": FieldText("Número no logradouro."),
            "complemento": FieldText("Complemento do endereço."),
            "bairro": FieldText("Bairro."),
            "municipio": FieldText("Município."),
            "cep": FieldText("CEP, só dígitos."),
            "uf": FieldText("Sigla da unidade da federação."),
            "endereco_eletronico": FieldText("E-mail de contato."),
            "telefone": FieldText("Telefone com DDD, só dígitos; dois são separados por ` / `."),
            "ente_federativo_responsavel": FieldText("Ente federativo responsável."),
            "situacao_cadastral": FieldText("`NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`."),
            "data_da_situacao_cadastral": FieldText("Data da situação cadastral.", _DATE),
            "situacao_especial": FieldText("Situação especial."),
            "data_da_situacao_especial": FieldText("Data da situação especial.", _DATE),
            "porte": FieldText("`MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`."),
            "socios": FieldText("Quadro de sócios e administradores."),
        },
    ),
    "Coded": TypeText(
        "Codigo",
        "Um código de uma tabela oficial e sua descrição.",
        {
            "codigo": FieldText("O código, como texto."),
            "descricao": FieldText("A descrição da tabela."),
        },
    ),
    "Partner": TypeText(
        "Socio",
        "Um sócio ou administrador.",
        {
            "nome": FieldText("Nome ou nome empresarial."),
            "cpf_cnpj_socio": FieldText(
                "CNPJ, ou CPF na forma `***456789**`; o CPF inteiro só com `optin=1`."
            ),
            "qualificacao_socio": FieldText("Qualificação na empresa."),
            "pais": FieldText("País, de sócios do exterior."),
            "documento_representante_legal": FieldText(
                "CPF do representante, mascarado como acima."
            ),
            "nome_representante_legal": FieldText("Nome do representante legal."),
            "faixa_etaria": FieldText("`Entre 41 a 50 anos`, …, `Não se aplica`."),
            "data_entrada_sociedade": FieldText("Entrada na sociedade, `YYYY-MM-DD HH:mm:ss`."),
        },
    ),
    **_registration_types(),
    "ZoneAnswer": TypeText(
        "RespostaSuframa",
        "Inscrição na Suframa. Campos sem informação na fonte são omitidos.",
        {
            "cnpj": FieldText("CNPJ consultado, sem pontuação."),
            "inscricao": FieldText("Número da inscrição na Suframa."),
            "nome": FieldText("Razão social."),
            "matriz": FieldText("`true` se o estabelecimento é a matriz."),
            "aprovado": FieldText("`true` se a inscrição está aprovada."),
            "status": FieldText("Situação atual da inscrição."),
            "atualizado_em": FieldText("Última atualização do registro.", {"format": "date-time"}),
            "desde": FieldText("Início da inscrição.", _DATE),
            "data_aprovacao": FieldText("Data da aprovação.", _DATE),
            "natureza_juridica": FieldText("Natureza jurídica."),
            "endereco": FieldText("Endereço registrado."),
            "telefones": FieldText("Telefones registrados."),
            "emails": FieldText("E-mails registrados."),
            "atividade_principal": FieldText("Atividade principal."),
            "atividades_secundarias": FieldText("Atividades secundárias."),
            "incentivos": FieldText("Incentivos fiscais concedidos."),
            **_POSITIVE,
        },
    ),
    "NumberedText": TypeText(
        "CodigoNumerico",
        "Um código numérico e sua descrição.",
        {"codigo": FieldText("O código."), "descricao": FieldText("A descrição.")},
    ),
    "ZoneAddress": TypeText(
        "EnderecoSuframa",
        "Endereço registrado na Suframa.",
        {
            "codigo_municipio": FieldText("Código IBGE do município."),
            "logradouro": FieldText("Logradouro."),
            "numero": FieldText("Número."),
            "bairro": FieldText("Bairro."),
            "cidade": FieldText("Município."),
            "estado": FieldText("Sigla da UF."),
            "cep": FieldText("CEP, só dígitos."),
            "pais": FieldText("País."),
        },
    ),
    "ZoneCountry": TypeText("Pais", "Um país.", {"nome": FieldText("Nome do país.")}),
    "ZonePhone": TypeText(
        "TelefoneSuframa",
        "Um telefone.",
        {"ddd": FieldText("Código de área."), "numero": FieldText("Número, só dígitos.")},
    ),
    "ZoneEmail": TypeText(
        "EmailSuframa",
        "Um e-mail.",
        {"endereco": FieldText("Endereço completo."), "dominio": FieldText("Domínio.")},
    ),
    "ZoneActivity": TypeText(
        "AtividadeSuframa",
        "Uma atividade econômica.",
        {
            "codigo": FieldText("Código CNAE."),
            "atividade_exercida": FieldText("`true` se a atividade é exercida."),
            "descricao": FieldText("Descrição."),
        },
    ),
    "Incentive": TypeText(
        "Incentivo",
        "Um incentivo fiscal.",
        {
            "fundamento_legal": FieldText("Fundamento legal."),
            "beneficio": FieldText("Benefício: isenção, redução, …"),
            "finalidade": FieldText("Finalidade."),
            "tributo": FieldText("Tributo: IPI, ICMS, …"),
        },
    ),
    "FederalAnswer": TypeText(
        "RespostaCertidaoFederal",
        "Certidão federal, ou o resultado negativo da consulta (404 com `error: false`).",
        {
            **ENVELOPE,
            "error": FieldText("Sempre `false` nesta resposta."),
            "success": FieldText("`true`: CND ou CPEND; `false`: a consulta terminou sem elas."),
            "error_message": FieldText(
                "Objeto sempre vazio nesta resposta: não há erro.", {"maxProperties": 0}
            ),
            "certificate_type": FieldText(
                "`CND`, `CPEND`, `CPD`, o texto da fonte quando não pôde ser classificado, ou nulo"
                " quando nada pôde ser emitido."
            ),
            "certificate": FieldText("Título da certidão."),
            "certificate_code": FieldText("Código de controle."),
            "cnpj": FieldText("CNPJ consultado, com pontuação."),
            "cpf": FieldText("CPF consultado, com pontuação."),
            "corporate_name": FieldText("Nome, quando a fonte o diz."),
            "status": FieldText("Situação da certidão, nas palavras da fonte."),
            "issued_at": FieldText("Dia da emissão.", _DATE),
            "validity": FieldText("Validade original.", _DATE),
            "extended_validity": FieldText("Prorrogação, quando há.", _DATE),
            "effective_validity": FieldText("A maior das duas.", _DATE),
            "valid_until": FieldText(
                "Último dia em que este resultado pode ser servido do cache; nulo: em nenhum.",
                _DATE,
            ),
            "source_queried_at": FieldText("Quando a fonte foi consultada.", _INSTANT),
            "served_at": FieldText("Quando esta resposta foi dada.", _INSTANT),
            "source": FieldText("`cache` ou `online`."),
            "issued_successfully": FieldText("Indicador de emissão da fonte."),
            "rfb_debts": FieldText("Débitos na Receita Federal, quando a fonte o diz."),
            "pgfn_debts": FieldText("Débitos na PGFN, quando a fonte o diz."),
            "receipt_type": FieldText("Tipo do comprovante; vazio quando não há."),
            "receipt_verification_code": FieldText("Código de verificação do comprovante."),
            "print": FieldText("Endereço do comprovante, que pede a chave da mesma conta."),
            "provider_code": FieldText("Código devolvido pelo fornecedor."),
            "provider_billable": FieldText("Se o fornecedor cobra por esta consulta."),
            "provider_elapsed_time_in_milliseconds": FieldText("Tempo do fornecedor."),
            "billing": FieldText("O que esta consulta custou."),
            "message": FieldText("Só no resultado negativo: o que aconteceu."),
        },
    ),
    "Billing": TypeText(
        "Cobranca",
        "Créditos e caminho executado.",
        {"credits": FieldText("Créditos."), "source": FieldText("`cache` ou `online`.")},
    ),
    "StateCertificateAnswer": TypeText(
        "RespostaCertidaoEstadual",
        "Certidão estadual, ou o resultado negativo da consulta (404 com `error: false`).",
        {
            **ENVELOPE,
            "error": FieldText("Sempre `false` nesta resposta."),
            "success": FieldText("`true`: a certidão negativa foi emitida."),
            "error_message": _NO_ERROR,
            "codigo": FieldText("Código da certidão."),
            "certidao_mensagem": FieldText("Mensagem fiscal da certidão."),
            "certidao_negativa": FieldText("Se o resultado corresponde a uma certidão negativa."),
            "conseguiu_emitir_certidao_negativa": FieldText("Se a fonte a emitiu."),
            "datahora": FieldText("Data e hora da consulta, `YYYY-MM-DD HH:mm:ss`, em Brasília."),
            "mensagem": FieldText("Mensagem complementar da origem."),
            "numero": FieldText("Número da certidão."),
            "validade": FieldText("Validade.", _DATE),
            "print": FieldText("Endereço público do comprovante em PDF; nulo quando não há."),
            "message": FieldText("Só no resultado negativo: o que aconteceu."),
        },
    ),
}
