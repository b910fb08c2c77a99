"""Answers and bodies. Written by tools/generate_clients.py of the OpenAPI document: do not edit."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Erro(TypedDict):
    """Recusa ou falha técnica. Nada foi cobrado."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `false` nesta resposta."""
    error: bool
    """Sempre `true` nesta resposta."""
    error_message: DetalheErro
    """O que houve."""
    message: str
    """Igual a `error_message.message`."""
    creditos_necessarios: NotRequired[int]
    """Só com status 402: os créditos que a consulta pede."""
    creditos_disponiveis: NotRequired[int]
    """Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem."""
    creditos_maximos: NotRequired[int]
    """Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite."""
    teto: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O teto do orçamento que recusou."""
    usado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que dele foi usado no período."""
    reservado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento."""
    necessario: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que a consulta pede."""
    volta_em: NotRequired[str | None]
    """Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca."""


class DetalheErro(TypedDict):
    """O que houve, para pessoas e para programas."""

    message: str
    """Texto para pessoas."""
    code: str
    """Código estável, para programas; podem aparecer novos. Os de cada status estão na
    descrição das respostas.
    """


class ErroSuframa(TypedDict):
    """Recusa ou falha técnica. Nada foi cobrado."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `false` nesta resposta."""
    error: bool
    """Sempre `true` nesta resposta."""
    error_message: DetalheErro
    """O que houve."""
    message: str
    """Igual a `error_message.message`."""
    cnpj: NotRequired[str]
    """CNPJ consultado, sem pontuação, quando é conhecido."""
    creditos_necessarios: NotRequired[int]
    """Só com status 402: os créditos que a consulta pede."""
    creditos_disponiveis: NotRequired[int]
    """Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem."""
    creditos_maximos: NotRequired[int]
    """Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite."""
    teto: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O teto do orçamento que recusou."""
    usado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que dele foi usado no período."""
    reservado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento."""
    necessario: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que a consulta pede."""
    volta_em: NotRequired[str | None]
    """Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca."""


class ErroInscricoes(TypedDict):
    """Recusa ou falha técnica. Nada foi cobrado."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `false` nesta resposta."""
    error: bool
    """Sempre `true` nesta resposta."""
    error_message: DetalheErro
    """O que houve."""
    message: str
    """Igual a `error_message.message`."""
    cnpj: NotRequired[str]
    """CNPJ consultado, sem pontuação, quando é conhecido."""
    inscricoes_estaduais: list[InscricaoEstadual]
    """Sempre vazia: nada se sabe das inscrições."""
    creditos_necessarios: NotRequired[int]
    """Só com status 402: os créditos que a consulta pede."""
    creditos_disponiveis: NotRequired[int]
    """Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem."""
    creditos_maximos: NotRequired[int]
    """Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite."""
    teto: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O teto do orçamento que recusou."""
    usado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que dele foi usado no período."""
    reservado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento."""
    necessario: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que a consulta pede."""
    volta_em: NotRequired[str | None]
    """Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca."""


class ErroProdutorRural(TypedDict):
    """Recusa ou falha técnica. Nada foi cobrado."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `false` nesta resposta."""
    error: bool
    """Sempre `true` nesta resposta."""
    error_message: DetalheErro
    """O que houve."""
    message: str
    """Igual a `error_message.message`."""
    cpf: NotRequired[str]
    """CPF consultado, sem pontuação, quando é conhecido."""
    inscricoes_estaduais: list[InscricaoProdutorRural]
    """Sempre vazia: nada se sabe das inscrições."""
    creditos_necessarios: NotRequired[int]
    """Só com status 402: os créditos que a consulta pede."""
    creditos_disponiveis: NotRequired[int]
    """Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem."""
    creditos_maximos: NotRequired[int]
    """Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite."""
    teto: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O teto do orçamento que recusou."""
    usado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que dele foi usado no período."""
    reservado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento."""
    necessario: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que a consulta pede."""
    volta_em: NotRequired[str | None]
    """Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca."""


class ErroEmpresa(TypedDict):
    """Recusa ou falha técnica. Nada foi cobrado."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `false` nesta resposta."""
    error: bool
    """Sempre `true` nesta resposta."""
    error_message: DetalheErro
    """O que houve."""
    message: str
    """Igual a `error_message.message`."""
    response: dict[str, object] | None
    """Sempre nulo: não há dados."""
    creditos_necessarios: NotRequired[int]
    """Só com status 402: os créditos que a consulta pede."""
    creditos_disponiveis: NotRequired[int]
    """Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem."""
    creditos_maximos: NotRequired[int]
    """Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite."""
    teto: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O teto do orçamento que recusou."""
    usado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que dele foi usado no período."""
    reservado: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento."""
    necessario: NotRequired[int]
    """Só com `TETO_…` de um orçamento: O que a consulta pede."""
    volta_em: NotRequired[str | None]
    """Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca."""


class RespostaSuframa(TypedDict):
    """Inscrição na Suframa. Campos sem informação na fonte são omitidos."""

    cnpj: str
    """CNPJ consultado, sem pontuação."""
    inscricao: str
    """Número da inscrição na Suframa."""
    nome: str
    """Razão social."""
    matriz: bool
    """`true` se o estabelecimento é a matriz."""
    aprovado: bool
    """`true` se a inscrição está aprovada."""
    status: CodigoNumerico
    """Situação atual da inscrição."""
    atualizado_em: NotRequired[str]
    """Última atualização do registro."""
    desde: NotRequired[str]
    """Início da inscrição."""
    data_aprovacao: NotRequired[str]
    """Data da aprovação."""
    natureza_juridica: NotRequired[CodigoNumerico]
    """Natureza jurídica."""
    endereco: NotRequired[EnderecoSuframa]
    """Endereço registrado."""
    telefones: NotRequired[list[TelefoneSuframa]]
    """Telefones registrados."""
    emails: NotRequired[list[EmailSuframa]]
    """E-mails registrados."""
    atividade_principal: NotRequired[AtividadeSuframa]
    """Atividade principal."""
    atividades_secundarias: NotRequired[list[AtividadeSuframa]]
    """Atividades secundárias."""
    incentivos: NotRequired[list[Incentivo]]
    """Incentivos fiscais concedidos."""
    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""


class CodigoNumerico(TypedDict):
    """Um código numérico e sua descrição."""

    codigo: int
    """O código."""
    descricao: str
    """A descrição."""


class EnderecoSuframa(TypedDict):
    """Endereço registrado na Suframa."""

    codigo_municipio: NotRequired[int]
    """Código IBGE do município."""
    logradouro: NotRequired[str]
    """Logradouro."""
    numero: NotRequired[str]
    """Número."""
    bairro: NotRequired[str]
    """Bairro."""
    cidade: NotRequired[str]
    """Município."""
    estado: NotRequired[str]
    """Sigla da UF."""
    cep: NotRequired[str]
    """CEP, só dígitos."""
    pais: NotRequired[Pais]
    """País."""


class Pais(TypedDict):
    """Um país."""

    nome: str
    """Nome do país."""


class TelefoneSuframa(TypedDict):
    """Um telefone."""

    ddd: str
    """Código de área."""
    numero: str
    """Número, só dígitos."""


class EmailSuframa(TypedDict):
    """Um e-mail."""

    endereco: str
    """Endereço completo."""
    dominio: str
    """Domínio."""


class AtividadeSuframa(TypedDict):
    """Uma atividade econômica."""

    codigo: int
    """Código CNAE."""
    atividade_exercida: bool
    """`true` se a atividade é exercida."""
    descricao: str
    """Descrição."""


class Incentivo(TypedDict):
    """Um incentivo fiscal."""

    fundamento_legal: str
    """Fundamento legal."""
    beneficio: str
    """Benefício: isenção, redução, …"""
    finalidade: str
    """Finalidade."""
    tributo: str
    """Tributo: IPI, ICMS, …"""


class RespostaInscricoes(TypedDict):
    """Inscrições estaduais de uma empresa."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    is_cache: bool
    """`true` se nada veio da fonte nesta consulta."""
    cnpj: str
    """CNPJ consultado, sem pontuação."""
    razao_social: str | None
    """Razão social, quando a fonte a diz."""
    uf: str | None
    """UF da própria empresa, quando conhecida."""
    inscricoes_estaduais: list[InscricaoEstadual]
    """Inscrições encontradas: ativas primeiro, depois por UF e número."""
    ufs: NotRequired[list[OrigemUf]]
    """Só com `uf=BR`: de onde veio a resposta de cada UF, na ordem das UFs."""
    inscricoes_omitidas: NotRequired[int]
    """Só quando maior que zero: quantas inscrições ficaram fora da lista, porque a fonte as
    traz numa situação que não se sabe ler.
    """


class InscricaoEstadual(TypedDict):
    """Uma inscrição estadual. O que nenhuma fonte sabe é omitido."""

    inscricao_estadual: str
    """Número da inscrição."""
    uf: str
    """UF da inscrição."""
    ativa: bool
    """`true` se está ativa."""
    tipo_ie: NotRequired[
        Literal[
            "IE Normal",
            "IE Substituto Tributário",
            "IE Não Contribuinte (Canteiro de Obras, IE Virtual, outros)",
            "IE de Produtor Rural",
            "IE Não Informada",
            "IE Contribuinte da UF com Endereço em Outra UF",
        ]
    ]
    """Tipo da inscrição."""
    situacao_pj: NotRequired[
        Literal[
            "Sem restrição",
            "Bloqueado como destinatário na UF",
            "Vedada operação como destinatário na UF",
            "Emitente bloqueado no destino",
        ]
    ]
    """Situação do contribuinte na UF."""
    updated_at: NotRequired[str]
    """Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília."""
    endereco: NotRequired[EnderecoInscricao]
    """Só com `endereco=true`, quando a fonte tem um."""


class EnderecoInscricao(TypedDict):
    """Endereço de uma inscrição."""

    logradouro: str
    """Logradouro."""
    numero: str
    """Número."""
    complemento: str | None
    """Complemento, ou nulo."""
    bairro: str
    """Bairro."""
    municipio: str
    """Município."""
    codigo_municipio_ibge: str
    """Código IBGE do município; vazio se a fonte não o diz."""
    uf: str
    """Sigla da UF do endereço."""
    cep: str
    """CEP, só dígitos."""


class OrigemUf(TypedDict):
    """De onde veio a resposta de uma UF."""

    uf: str
    """A UF."""
    origem: Literal["online", "cache", "indisponivel"]
    """`online`, `cache`, ou `indisponivel`: não respondeu e não foi cobrada."""


class RespostaProdutorRural(TypedDict):
    """Inscrições estaduais de um produtor rural."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    is_cache: bool
    """`true` se nada veio da fonte nesta consulta."""
    cpf: str
    """CPF consultado, sem pontuação."""
    nome: str | None
    """Nome do produtor, quando a fonte o diz."""
    uf: str
    """UF consultada, ou `BR`."""
    inscricoes_estaduais: list[InscricaoProdutorRural]
    """Inscrições encontradas: ativas primeiro, depois por UF e número."""
    ufs: NotRequired[list[OrigemUf]]
    """Só com `uf=BR`: de onde veio a resposta de cada UF, na ordem das UFs."""
    inscricoes_omitidas: NotRequired[int]
    """Só quando maior que zero: quantas inscrições ficaram fora da lista, porque a fonte as
    traz numa situação que não se sabe ler.
    """


class InscricaoProdutorRural(TypedDict):
    """Uma inscrição de produtor rural. O que nenhuma fonte sabe é omitido."""

    inscricao_estadual: str
    """Número da inscrição."""
    uf: str
    """UF da inscrição."""
    ativa: bool
    """`true` se está ativa."""
    tipo_ie: NotRequired[
        Literal[
            "IE Normal",
            "IE Substituto Tributário",
            "IE Não Contribuinte (Canteiro de Obras, IE Virtual, outros)",
            "IE de Produtor Rural",
            "IE Não Informada",
            "IE Contribuinte da UF com Endereço em Outra UF",
        ]
    ]
    """Tipo da inscrição."""
    situacao_pj: NotRequired[
        Literal[
            "Sem restrição",
            "Bloqueado como destinatário na UF",
            "Vedada operação como destinatário na UF",
            "Emitente bloqueado no destino",
        ]
    ]
    """Situação do contribuinte na UF."""
    data_status: NotRequired[str]
    """Data da última mudança de situação."""
    updated_at: NotRequired[str]
    """Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília."""
    endereco: NotRequired[EnderecoProdutorRural]
    """Só com `endereco=true`, quando a fonte tem um."""


class EnderecoProdutorRural(TypedDict):
    """Endereço de uma inscrição."""

    logradouro: str
    """Logradouro."""
    numero: str
    """Número."""
    bairro: str
    """Bairro."""
    municipio: str
    """Município."""
    codigo_municipio_ibge: str
    """Código IBGE do município; vazio se a fonte não o diz."""
    uf: str
    """Sigla da UF do endereço."""
    cep: str
    """CEP, só dígitos."""


class RespostaCertidaoFederal(TypedDict):
    """Certidão federal, ou o resultado negativo da consulta (404 com `error: false`)."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """`true`: CND ou CPEND; `false`: a consulta terminou sem elas."""
    error: bool
    """Sempre `false` nesta resposta."""
    error_message: dict[str, object]
    """Objeto sempre vazio nesta resposta: não há erro."""
    certificate_type: str | None
    """`CND`, `CPEND`, `CPD`, o texto da fonte quando não pôde ser classificado, ou nulo
    quando nada pôde ser emitido.
    """
    certificate: str
    """Título da certidão."""
    certificate_code: str | None
    """Código de controle."""
    cnpj: str | None
    """CNPJ consultado, com pontuação."""
    certificate_cnpj: str | None
    """CNPJ da certidão, com pontuação: o da matriz, também quando `cnpj` é de uma filial. A
    certidão vale para todos os estabelecimentos. Nulo numa consulta por CPF.
    """
    cpf: str | None
    """CPF consultado, com pontuação."""
    corporate_name: str
    """Nome, quando a fonte o diz."""
    status: str
    """Situação da certidão, nas palavras da fonte."""
    issued_at: str | None
    """Dia da emissão."""
    validity: str | None
    """Validade original."""
    extended_validity: str | None
    """Prorrogação, quando há."""
    effective_validity: str | None
    """A maior das duas."""
    valid_until: str | None
    """Último dia em que este resultado pode ser servido do cache; nulo: em nenhum."""
    source_queried_at: str
    """Quando a fonte foi consultada."""
    served_at: str
    """Quando esta resposta foi dada."""
    source: Literal["cache", "online"]
    """`cache` ou `online`."""
    issued_successfully: bool
    """Indicador de emissão da fonte."""
    rfb_debts: bool | None
    """Débitos na Receita Federal, quando a fonte o diz."""
    pgfn_debts: bool | None
    """Débitos na PGFN, quando a fonte o diz."""
    receipt_type: str
    """Tipo do comprovante; vazio quando não há."""
    receipt_verification_code: str
    """Código de verificação do comprovante."""
    print: str | None
    """Endereço do comprovante, que pede a chave da mesma conta."""
    provider_code: int
    """Código devolvido pelo fornecedor."""
    provider_billable: bool
    """Se o fornecedor cobra por esta consulta."""
    provider_elapsed_time_in_milliseconds: int
    """Tempo do fornecedor."""
    billing: Cobranca
    """O que esta consulta custou."""
    message: NotRequired[str]
    """Só no resultado negativo: o que aconteceu."""


class Cobranca(TypedDict):
    """Créditos e caminho executado."""

    credits: int
    """Créditos."""
    source: Literal["cache", "online"]
    """`cache` ou `online`."""


class RespostaCertidaoEstadual(TypedDict):
    """Certidão estadual, ou o resultado negativo da consulta (404 com `error: false`)."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """`true`: a certidão negativa foi emitida."""
    error: bool
    """Sempre `false` nesta resposta."""
    error_message: dict[str, object] | None
    """Sempre nulo nesta resposta: não há erro."""
    codigo: str | None
    """Código da certidão."""
    certidao_mensagem: str | None
    """Mensagem fiscal da certidão."""
    certidao_negativa: bool | None
    """Se o resultado corresponde a uma certidão negativa."""
    conseguiu_emitir_certidao_negativa: bool | None
    """Se a fonte a emitiu."""
    datahora: str | None
    """Data e hora da consulta, `YYYY-MM-DD HH:mm:ss`, em Brasília."""
    mensagem: str | None
    """Mensagem complementar da origem."""
    numero: str | None
    """Número da certidão."""
    validade: str | None
    """Validade."""
    print: str | None
    """Endereço público do comprovante em PDF; nulo quando não há."""
    message: NotRequired[str]
    """Só no resultado negativo: o que aconteceu."""


class RespostaEmpresa(TypedDict):
    """Resposta da consulta de dados cadastrais."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    error_message: dict[str, object] | None
    """Sempre nulo nesta resposta: não há erro."""
    data_base: str | None
    """Dia a que os dados se referem: o da extração, quando vêm de uma cópia do cadastro
    público; senão, o dia (horário de Brasília) em que a fonte foi consultada. Nulo quando
    a fonte tem uma cópia e não informa de que dia.
    """
    response: Empresa
    """Os dados cadastrais."""


class Empresa(TypedDict):
    """Dados cadastrais de um estabelecimento e de sua empresa. Sem informação, o campo é
    nulo ou vazio.
    """

    cnpj: str
    """CNPJ, sem pontuação."""
    identificador_matriz_filial: NotRequired[str | None]
    """`MATRIZ` ou `FILIAL`."""
    data_de_abertura: NotRequired[str | None]
    """Data de abertura."""
    nome_empresarial: NotRequired[str | None]
    """Nome empresarial (razão social)."""
    nome_fantasia: NotRequired[str | None]
    """Nome fantasia."""
    atividade_economica_principal: NotRequired[Codigo | None]
    """Atividade principal (CNAE)."""
    atividades_economicas_secundarias: NotRequired[list[Codigo]]
    """Atividades secundárias (CNAE)."""
    natureza_juridica: NotRequired[Codigo | None]
    """Natureza jurídica."""
    tipo_logradouro: NotRequired[str | None]
    """Tipo do logradouro: RUA, AVENIDA, …"""
    logradouro: NotRequired[str | None]
    """Nome do logradouro."""
    numero: NotRequired[str | None]
    """Número no logradouro."""
    complemento: NotRequired[str | None]
    """Complemento do endereço."""
    bairro: NotRequired[str | None]
    """Bairro."""
    municipio: NotRequired[str | None]
    """Município."""
    cep: NotRequired[str | None]
    """CEP, só dígitos."""
    uf: NotRequired[str | None]
    """Sigla da unidade da federação."""
    endereco_eletronico: NotRequired[str | None]
    """E-mail de contato."""
    telefone: NotRequired[str | None]
    """Telefone com DDD, só dígitos; dois são separados por ` / `."""
    ente_federativo_responsavel: NotRequired[str | None]
    """Ente federativo responsável."""
    situacao_cadastral: NotRequired[str | None]
    """`NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`."""
    data_da_situacao_cadastral: NotRequired[str | None]
    """Data da situação cadastral."""
    situacao_especial: NotRequired[str | None]
    """Situação especial."""
    data_da_situacao_especial: NotRequired[str | None]
    """Data da situação especial."""
    porte: NotRequired[str | None]
    """`MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`."""
    socios: NotRequired[list[Socio]]
    """Quadro de sócios e administradores."""


class Codigo(TypedDict):
    """Um código de uma tabela oficial e sua descrição."""

    codigo: str | None
    """O código, como texto."""
    descricao: str | None
    """A descrição da tabela."""


class Socio(TypedDict):
    """Um sócio ou administrador."""

    nome: NotRequired[str | None]
    """Nome ou nome empresarial."""
    cpf_cnpj_socio: NotRequired[str | None]
    """CNPJ, ou CPF na forma `***456789**`; o CPF inteiro só com `optin=1`."""
    qualificacao_socio: NotRequired[str | None]
    """Qualificação na empresa."""
    pais: NotRequired[str | None]
    """País, de sócios do exterior."""
    documento_representante_legal: NotRequired[str | None]
    """CPF do representante, mascarado como acima."""
    nome_representante_legal: NotRequired[str | None]
    """Nome do representante legal."""
    faixa_etaria: NotRequired[str | None]
    """`Entre 41 a 50 anos`, …, `Não se aplica`."""
    data_entrada_sociedade: NotRequired[str | None]
    """Entrada na sociedade, `YYYY-MM-DD HH:mm:ss`."""


class RespostaCotacao(TypedDict):
    """O que a consulta custaria agora."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    operacao: str
    """Operação, como no endereço."""
    creditos_min: int
    """O mínimo que custaria."""
    creditos_max: int
    """O máximo que custaria."""
    exato: bool
    """`true`: o mínimo e o máximo são um só."""
    caminho: Literal["cache", "fonte", "misto", "proprio"]
    """De onde viria a resposta: da cópia própria, do cache, da fonte ou de mais de um."""
    regra: str | None
    """A regra da tabela de preços, quando a resposta está à mão; senão nulo."""
    idade_dias: int | None
    """Idade da resposta que está à mão, em dias inteiros; senão nulo."""
    valida_ate: str | None
    """Último dia da certidão que está à mão; senão nulo."""
    fontes: list[FonteCotada]
    """Quem pode ser consultado sobre isto, nesta ordem."""
    saldo_apos_maximo: int | None
    """O disponível menos o máximo; negativo, se falta; nulo, se nada limita a conta."""
    tetos: list[TetoCotado]
    """Os tetos dos quais ela faria parte."""
    recusa: str | None
    """O código que a consulta receberia agora em vez de um resultado; senão nulo."""
    cotado_em: str
    """Quando isto valia."""


class FonteCotada(TypedDict):
    """Quem pode ser consultado sobre isto, e como está."""

    nome: str
    """Nome da fonte."""
    estado: Literal["desconhecida", "instavel", "parada", "respondendo"]
    """Como respondeu na última hora; `desconhecida`: ninguém a consultou."""


class TetoCotado(TypedDict):
    """Um teto do qual a consulta faria parte."""

    de: str
    """De quem é: `conta`, o teto mensal do pós-pago; `chave`, `cliente`, `lote` ou
    `carteira`, um orçamento.
    """
    teto: int
    """O teto."""
    usado: int
    """Gastos no período."""
    reservado: int
    """Reservados por consultas em andamento."""
    resta: int
    """O que ainda cabe."""
    volta_em: str | None
    """Quando o período recomeça."""


class RespostaBuscaEmpresas(TypedDict):
    """Uma página de uma busca."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    itens: list[EmpresaEncontrada]
    """Em ordem de CNPJ; com `q` sozinho, os mais relevantes primeiro."""
    parcial: bool
    """`true`: a página levaria tempo demais e veio curta; siga com `cursor`."""
    cursor: str | None
    """Para a página seguinte; nulo na última."""
    competencia: str
    """Mês dos dados, `AAAA-MM`."""
    data_base: str
    """Dia dos dados."""
    inclui_pessoas: bool
    """`false`: sem empresários individuais, MEI nem outras pessoas físicas, que só
    `pessoas=true` inclui.
    """


class EmpresaEncontrada(TypedDict):
    """Um estabelecimento que atende a todos os filtros."""

    cnpj: str
    """CNPJ, sem pontuação."""
    nome_empresarial: str | None
    """Nome empresarial (razão social)."""
    nome_fantasia: str | None
    """Nome fantasia."""
    situacao: str | None
    """`NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`."""
    data_situacao: str | None
    """Data da situação cadastral."""
    uf: str | None
    """Sigla da unidade da federação."""
    municipio: str | None
    """Município."""
    cnae_principal: Codigo | None
    """Atividade principal (CNAE)."""
    natureza: Codigo | None
    """Natureza jurídica."""
    porte: str | None
    """`MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`."""
    data_de_abertura: str | None
    """Data de abertura."""
    matriz: bool
    """`true`: a matriz; `false`: uma filial."""
    capital_social: float | None
    """Capital social, em reais."""


class RespostaContagem(TypedDict):
    """Quantos estabelecimentos atendem aos filtros."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    total: int
    """Quantos são; se não `exato`, ao menos estes."""
    exato: bool
    """`false`: são mais do que se conta, ou mais do que se pôde ver."""
    inclui_pessoas: bool
    """`false`: sem empresários individuais, MEI nem outras pessoas físicas, que só
    `pessoas=true` inclui.
    """


class RespostaBuscaSocios(TypedDict):
    """Sócios com um nome ou documento, e as suas empresas."""

    request_id: str
    """Identificador único da operação."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    itens: list[SocioEncontrado]
    """No máximo 100, em ordem de CNPJ."""
    parcial: bool
    """`true`: há, ou pode haver, mais do que isto."""
    competencia: str
    """Mês dos dados, `AAAA-MM`."""
    data_base: str
    """Dia dos dados."""


class SocioEncontrado(TypedDict):
    """Um sócio, e a empresa da qual é."""

    nome: str | None
    """Nome ou nome empresarial."""
    documento: str | None
    """CNPJ, ou CPF na forma `***456789**`, como a Receita Federal publica."""
    qualificacao: str | None
    """Qualificação na empresa."""
    data_de_entrada: str | None
    """Entrada na sociedade."""
    cnpj: str
    """CNPJ de um estabelecimento da empresa."""
    nome_empresarial: str | None
    """Nome empresarial da empresa."""


class RespostaSaldo(TypedDict):
    """O que a conta ainda pode gastar."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    conta: str
    """Nome da conta."""
    plano: Literal["gratuito", "pre_pago", "pos_pago"]
    """Plano."""
    modo: Literal["live", "test"]
    """Produção ou teste."""
    saldo_creditos: int | None
    """Saldo, com o que está reservado; nulo: pós-pago, que não tem saldo."""
    creditos_reservados: int
    """Reservados por consultas em andamento."""
    creditos_disponiveis: int | None
    """O que se pode gastar agora; nulo: pós-pago sem teto."""
    teto_mensal_creditos: int | None
    """Teto do mês no pós-pago, se há um."""
    mes: str
    """Mês em Brasília."""
    creditos_gastos_no_mes: int
    """Cobrados neste mês."""


class RespostaConsumo(TypedDict):
    """O que foi cobrado em um período."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    de: str
    """Primeiro dia."""
    ate: str
    """Último dia."""
    total_consultas: int
    """Soma das linhas."""
    total_creditos: int
    """Soma das linhas."""
    linhas: list[LinhaConsumo]
    """Por dia, operação, chave, origem e cliente."""


class LinhaConsumo(TypedDict):
    """O que foi cobrado em um dia, por operação, chave, origem e cliente."""

    dia: str
    """Dia em Brasília."""
    operacao: str
    """Operação, como no endereço."""
    chave: str | None
    """Nome da chave que consultou."""
    origem: Literal["cache", "online"]
    """De onde veio."""
    consultas: int
    """Consultas cobradas."""
    creditos: int
    """Créditos que custaram."""
    cliente: str | None
    """O `X-Cliente` delas; nulo: sem ele."""
    referencia: str | None
    """O `X-Referencia` delas, se `agrupar=referencia` foi pedido; senão nulo."""


class RespostaOperacoes(TypedDict):
    """Requisições e o que foi feito delas."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    itens: list[OperacaoAchada]
    """As mais novas primeiro."""
    cursor: str | None
    """Para pedir as que vêm depois destas; nulo: não há mais."""


class OperacaoAchada(TypedDict):
    """O que foi feito de uma requisição."""

    operacao_id: str
    """O identificador perguntado."""
    operacao: str
    """Operação, como no endereço."""
    estado: Literal["em_andamento", "cobrada", "nao_cobrada"]
    """O que foi feito dela."""
    creditos: int
    """Cobrados."""
    creditos_reservados: int
    """Reservados enquanto ela está em andamento."""
    regra: str | None
    """A regra da tabela de preços que fez o preço, ou por que nada foi cobrado, em palavras,
    que podem mudar; nulo enquanto está em andamento.
    """
    regra_codigo: str | None
    """O código da regra, que não muda; podem surgir outros: `error`, `interrupted`,
    `search/page`, `search/count`, `search/partners`, `suframa/lookup`,
    `state_registration/uf`, `state_registration/uf+addresses`, `rural_producer/uf`,
    `rural_producer/uf+addresses`, `federal_certificate/cache`,
    `federal_certificate/online`, `state_certificate/cache`, `state_certificate/online`,
    `company/lookup`.
    """
    origem: Literal["cache", "online"] | None
    """De onde veio o resultado; nulo enquanto não há nenhum."""
    chave: str | None
    """Nome da chave que consultou."""
    iniciada_em: str
    """Início."""
    concluida_em: str | None
    """Fim; nulo enquanto está em andamento."""
    cliente: str | None
    """O `X-Cliente` dela, se houve."""
    referencia: str | None
    """O `X-Referencia` dela, se houve."""


class RespostaLotes(TypedDict):
    """Uma página de lotes."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    itens: list[Lote]
    """Os itens."""
    cursor: str | None
    """Para a página seguinte; nulo: a última."""


class Lote(TypedDict):
    """Um lote de consultas: o arquivo, o estado e o que custou."""

    id: str
    """Identificador do lote."""
    nome: str
    """Nome que lhe deram; vazio, se nenhum."""
    operacao: str
    """Operação, como no endereço."""
    estado: Literal[
        "concluido",
        "cotado",
        "encerrado",
        "encerrando",
        "executando",
        "expirado",
        "pausado",
        "recebido",
        "recusado",
        "validando",
    ]
    """Em que estado está."""
    motivo: Literal["fonte", "limite_da_chave", "saldo", "teto", "usuario"] | None
    """Por que está pausado; senão nulo."""
    codigo: str | None
    """O código do que o pausou, ou do que há com o arquivo recusado."""
    mensagem: str | None
    """O que há com o arquivo recusado, ou por que está pausado e o que ajuda; senão nulo."""
    colunas: list[str]
    """Como as colunas do arquivo foram entendidas, e em quantas linhas uma delas não tem um
    código; vazio antes disso.
    """
    linhas: LinhasDoLote
    """Quantas linhas há, por estado."""
    cotacao: CotacaoDoLote | None
    """O preço; nulo antes da cotação."""
    teto_creditos: int | None
    """O teto confirmado; nulo antes disso."""
    creditos_gastos: int
    """Cobrados até agora."""
    creditos_reservados: int
    """Reservados pelas linhas em andamento."""
    repete: str | None
    """O lote cujas falhas este repete; senão nulo."""
    criado_em: str
    """Quando chegou."""
    confirmado_em: str | None
    """Quando foi confirmado."""
    terminado_em: str | None
    """Quando terminou."""
    apagado_em: str
    """Quando os dados são, ou foram, apagados."""


class LinhasDoLote(TypedDict):
    """Quantas linhas há, por estado."""

    total: int
    """Todas as linhas lidas."""
    validas: int
    """Linhas a consultar ou consultadas."""
    invalidas: int
    """Linhas que não perguntam nada; não custam nada."""
    repetidas: int
    """Linhas iguais a uma anterior; não custam nada."""
    pendentes: int
    """Ainda não consultadas."""
    em_andamento: int
    """Esperando a fonte."""
    concluidas: int
    """Respondidas."""
    falhas: int
    """Não respondidas; não custam nada e podem ser repetidas."""
    recusadas: int
    """Que a conta não pode consultar; não custam nada."""
    canceladas: int
    """Que não serão mais consultadas; não custam nada."""


class CotacaoDoLote(TypedDict):
    """O que o lote custaria."""

    digest: str
    """O que se confirma: as linhas, a tabela e os parâmetros."""
    creditos_min: int
    """O mínimo que custaria."""
    creditos_max: int
    """O máximo que custaria."""
    creditos_esperados: int | None
    """Pelo que linhas assim custaram antes nesta conta; nulo, se foram menos de 100."""
    validas: int
    """Linhas a consultar."""
    a_mao: int
    """Das quais a resposta já está à mão."""
    a_consultar: int
    """Das quais uma fonte pode ter de ser consultada."""
    valida_ate: str
    """Até quando pode ser confirmada."""
    saldo_apos_maximo: int | None
    """O disponível menos o que ainda pode custar; negativo, se falta; nulo, se nada limita a
    conta.
    """
    duracao_estimada_s: int | None
    """Quantos segundos levaria, pelo que as fontes levaram na última hora, se ninguém mais
    consultasse; nulo, se nenhuma delas respondeu.
    """
    fontes: list[FonteCotada]
    """Quem pode ter de ser consultado, nesta ordem, e como está agora."""


class RespostaLoteNovo(TypedDict):
    """Um lote recebido."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    id: str
    """Identificador do lote."""
    nome: str
    """Nome que lhe deram; vazio, se nenhum."""
    operacao: str
    """Operação, como no endereço."""
    estado: Literal[
        "concluido",
        "cotado",
        "encerrado",
        "encerrando",
        "executando",
        "expirado",
        "pausado",
        "recebido",
        "recusado",
        "validando",
    ]
    """Em que estado está."""


class RespostaLinhas(TypedDict):
    """Uma página de linhas."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    itens: list[LinhaDoLote]
    """Os itens."""
    cursor: str | None
    """Para a página seguinte; nulo: a última."""


class LinhaDoLote(TypedDict):
    """Uma linha do arquivo e o que foi feito dela."""

    linha: int
    """Linha do arquivo; a do cabeçalho é a 1."""
    ref: str | None
    """Identificador do cliente, da coluna `ref`."""
    documento: str | None
    """CNPJ, ou CPF mascarado; nulo, se não foi lido."""
    estado: Literal[
        "cancelada",
        "concluida",
        "em_andamento",
        "falha",
        "invalida",
        "pendente",
        "recusada",
        "repetida",
    ]
    """O que foi feito da linha."""
    codigo: str | None
    """Por que é inválida, como `documento_invalido`, `nao_e_documento` ou `raiz_de_cnpj`; ou
    o erro; senão nulo. Podem surgir códigos novos.
    """
    creditos: int
    """Cobrados, ou reservados enquanto em andamento."""
    request_id: str | None
    """Número da consulta, que `/conta/v1/operacoes/{request_id}` conhece."""
    repetida_de: int | None
    """A primeira linha igual; senão nulo."""


class RespostaOrcamentos(TypedDict):
    """Uma página de orçamentos."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    itens: list[Orcamento]
    """Os orçamentos em vigor, os mais antigos primeiro."""
    cursor: str | None
    """Para a página seguinte; nulo: é a última."""


class Orcamento(TypedDict):
    """Um teto, e o que dele foi usado."""

    id: str
    """Identificador do orçamento."""
    de: DonoDeOrcamento
    """De quem é."""
    periodo: Literal["dia", "mes", "uma_vez"]
    """Quando recomeça, em Brasília: nunca, todo dia ou todo mês."""
    nome: str
    """Para reconhecê-lo."""
    teto_creditos: int | None
    """Teto em créditos; nulo: nenhum."""
    teto_consultas: int | None
    """Teto em consultas que custam créditos; nulo: nenhum."""
    operacoes: list[str] | None
    """As operações que contam, como no endereço; nulo: todas."""
    aviso_percentual: int
    """Em que parte do teto há um aviso; padrão: 80."""
    usado_creditos: int
    """Gastos no período."""
    reservado_creditos: int
    """Reservados por consultas em andamento."""
    usadas_consultas: int
    """Cobradas no período, e em andamento."""
    volta_em: str | None
    """Quando o período recomeça; nulo: nunca."""
    criado_em: str
    """Quando foi criado."""


class DonoDeOrcamento(TypedDict):
    """De quem é um orçamento."""

    tipo: Literal["carteira", "chave", "cliente", "lote"]
    """O que tem o orçamento; criam-se os de `chave` e de `cliente`."""
    id: NotRequired[str]
    """O número da chave, do lote ou da carteira."""
    valor: NotRequired[str]
    """O cliente, como em `X-Cliente`."""


class ConfirmacaoDeLote(TypedDict):
    """O que se confirma, e até quantos créditos."""

    digest: str
    """O `digest` da cotação."""
    teto_creditos: int
    """O máximo que o lote pode gastar: nem um crédito a mais."""


class RetomadaDeLote(TypedDict):
    """Um teto maior, se for o caso."""

    teto_creditos: NotRequired[int | None]
    """O novo teto; não pode ser menor."""


class RepeticaoDeLote(TypedDict):
    """Quais linhas."""

    somente: NotRequired[Literal["falhas"]]
    """Só as falhas se repetem."""


class NovoOrcamento(TypedDict):
    """Um orçamento a criar: com `teto_creditos`, `teto_consultas` ou os dois."""

    de: DonoDeOrcamento
    """De quem é."""
    periodo: Literal["dia", "mes", "uma_vez"]
    """Quando recomeça, em Brasília: nunca, todo dia ou todo mês."""
    nome: NotRequired[str]
    """Para reconhecê-lo."""
    teto_creditos: NotRequired[int | None]
    """Teto em créditos; nulo: nenhum."""
    teto_consultas: NotRequired[int | None]
    """Teto em consultas que custam créditos; nulo: nenhum."""
    operacoes: NotRequired[list[str] | None]
    """As operações que contam, como no endereço; nulo: todas."""
    aviso_percentual: NotRequired[int]
    """Em que parte do teto há um aviso; padrão: 80."""


class MudancaDeOrcamento(TypedDict):
    """O que muda em um orçamento."""

    nome: NotRequired[str]
    """Para reconhecê-lo."""
    teto_creditos: NotRequired[int | None]
    """Teto em créditos; nulo: nenhum."""
    teto_consultas: NotRequired[int | None]
    """Teto em consultas que custam créditos; nulo: nenhum."""
    operacoes: NotRequired[list[str] | None]
    """As operações que contam, como no endereço; nulo: todas."""
    aviso_percentual: NotRequired[int]
    """Em que parte do teto há um aviso; padrão: 80."""


class RespostaOperacao(TypedDict):
    """O que foi feito de uma requisição."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    operacao_id: str
    """O identificador perguntado."""
    operacao: str
    """Operação, como no endereço."""
    estado: Literal["em_andamento", "cobrada", "nao_cobrada"]
    """O que foi feito dela."""
    creditos: int
    """Cobrados."""
    creditos_reservados: int
    """Reservados enquanto ela está em andamento."""
    regra: str | None
    """A regra da tabela de preços que fez o preço, ou por que nada foi cobrado, em palavras,
    que podem mudar; nulo enquanto está em andamento.
    """
    regra_codigo: str | None
    """O código da regra, que não muda; podem surgir outros: `error`, `interrupted`,
    `search/page`, `search/count`, `search/partners`, `suframa/lookup`,
    `state_registration/uf`, `state_registration/uf+addresses`, `rural_producer/uf`,
    `rural_producer/uf+addresses`, `federal_certificate/cache`,
    `federal_certificate/online`, `state_certificate/cache`, `state_certificate/online`,
    `company/lookup`.
    """
    origem: Literal["cache", "online"] | None
    """De onde veio o resultado; nulo enquanto não há nenhum."""
    chave: str | None
    """Nome da chave que consultou."""
    iniciada_em: str
    """Início."""
    concluida_em: str | None
    """Fim; nulo enquanto está em andamento."""
    cliente: str | None
    """O `X-Cliente` dela, se houve."""
    referencia: str | None
    """O `X-Referencia` dela, se houve."""


class RespostaLote(TypedDict):
    """Um lote."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    id: str
    """Identificador do lote."""
    nome: str
    """Nome que lhe deram; vazio, se nenhum."""
    operacao: str
    """Operação, como no endereço."""
    estado: Literal[
        "concluido",
        "cotado",
        "encerrado",
        "encerrando",
        "executando",
        "expirado",
        "pausado",
        "recebido",
        "recusado",
        "validando",
    ]
    """Em que estado está."""
    motivo: Literal["fonte", "limite_da_chave", "saldo", "teto", "usuario"] | None
    """Por que está pausado; senão nulo."""
    codigo: str | None
    """O código do que o pausou, ou do que há com o arquivo recusado."""
    mensagem: str | None
    """O que há com o arquivo recusado, ou por que está pausado e o que ajuda; senão nulo."""
    colunas: list[str]
    """Como as colunas do arquivo foram entendidas, e em quantas linhas uma delas não tem um
    código; vazio antes disso.
    """
    linhas: LinhasDoLote
    """Quantas linhas há, por estado."""
    cotacao: CotacaoDoLote | None
    """O preço; nulo antes da cotação."""
    teto_creditos: int | None
    """O teto confirmado; nulo antes disso."""
    creditos_gastos: int
    """Cobrados até agora."""
    creditos_reservados: int
    """Reservados pelas linhas em andamento."""
    repete: str | None
    """O lote cujas falhas este repete; senão nulo."""
    criado_em: str
    """Quando chegou."""
    confirmado_em: str | None
    """Quando foi confirmado."""
    terminado_em: str | None
    """Quando terminou."""
    apagado_em: str
    """Quando os dados são, ou foram, apagados."""


class RespostaOrcamento(TypedDict):
    """Um orçamento."""

    request_id: str
    """Identificador desta requisição."""
    success: bool
    """Sempre `true` nesta resposta."""
    error: bool
    """Sempre `false` nesta resposta."""
    id: str
    """Identificador do orçamento."""
    de: DonoDeOrcamento
    """De quem é."""
    periodo: Literal["dia", "mes", "uma_vez"]
    """Quando recomeça, em Brasília: nunca, todo dia ou todo mês."""
    nome: str
    """Para reconhecê-lo."""
    teto_creditos: int | None
    """Teto em créditos; nulo: nenhum."""
    teto_consultas: int | None
    """Teto em consultas que custam créditos; nulo: nenhum."""
    operacoes: list[str] | None
    """As operações que contam, como no endereço; nulo: todas."""
    aviso_percentual: int
    """Em que parte do teto há um aviso; padrão: 80."""
    usado_creditos: int
    """Gastos no período."""
    reservado_creditos: int
    """Reservados por consultas em andamento."""
    usadas_consultas: int
    """Cobradas no período, e em andamento."""
    volta_em: str | None
    """Quando o período recomeça; nulo: nunca."""
    criado_em: str
    """Quando foi criado."""
