// Answers and bodies. Written by tools/generate_clients.py of the OpenAPI document: do not edit.

/** Recusa ou falha técnica. Nada foi cobrado. */
export interface Erro {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `false` nesta resposta. */
  success: boolean;
  /** Sempre `true` nesta resposta. */
  error: boolean;
  /** O que houve. */
  error_message: DetalheErro;
  /** Igual a `error_message.message`. */
  message: string;
  /** Só com status 402: os créditos que a consulta pede. */
  creditos_necessarios?: number;
  /** Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem. */
  creditos_disponiveis?: number;
  /** Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite. */
  creditos_maximos?: number;
  /** Só com `TETO_…` de um orçamento: O teto do orçamento que recusou. */
  teto?: number;
  /** Só com `TETO_…` de um orçamento: O que dele foi usado no período. */
  usado?: number;
  /** Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento. */
  reservado?: number;
  /** Só com `TETO_…` de um orçamento: O que a consulta pede. */
  necessario?: number;
  /** Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca. */
  volta_em?: string | null;
}

/** O que houve, para pessoas e para programas. */
export interface DetalheErro {
  /** Texto para pessoas. */
  message: string;
  /**
   * Código estável, para programas; podem aparecer novos. Os de cada status estão na
   * descrição das respostas.
   */
  code: string;
}

/** Recusa ou falha técnica. Nada foi cobrado. */
export interface ErroSuframa {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `false` nesta resposta. */
  success: boolean;
  /** Sempre `true` nesta resposta. */
  error: boolean;
  /** O que houve. */
  error_message: DetalheErro;
  /** Igual a `error_message.message`. */
  message: string;
  /** CNPJ consultado, sem pontuação, quando é conhecido. */
  cnpj?: string;
  /** Só com status 402: os créditos que a consulta pede. */
  creditos_necessarios?: number;
  /** Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem. */
  creditos_disponiveis?: number;
  /** Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite. */
  creditos_maximos?: number;
  /** Só com `TETO_…` de um orçamento: O teto do orçamento que recusou. */
  teto?: number;
  /** Só com `TETO_…` de um orçamento: O que dele foi usado no período. */
  usado?: number;
  /** Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento. */
  reservado?: number;
  /** Só com `TETO_…` de um orçamento: O que a consulta pede. */
  necessario?: number;
  /** Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca. */
  volta_em?: string | null;
}

/** Recusa ou falha técnica. Nada foi cobrado. */
export interface ErroInscricoes {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `false` nesta resposta. */
  success: boolean;
  /** Sempre `true` nesta resposta. */
  error: boolean;
  /** O que houve. */
  error_message: DetalheErro;
  /** Igual a `error_message.message`. */
  message: string;
  /** CNPJ consultado, sem pontuação, quando é conhecido. */
  cnpj?: string;
  /** Sempre vazia: nada se sabe das inscrições. */
  inscricoes_estaduais: Array<InscricaoEstadual>;
  /** Só com status 402: os créditos que a consulta pede. */
  creditos_necessarios?: number;
  /** Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem. */
  creditos_disponiveis?: number;
  /** Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite. */
  creditos_maximos?: number;
  /** Só com `TETO_…` de um orçamento: O teto do orçamento que recusou. */
  teto?: number;
  /** Só com `TETO_…` de um orçamento: O que dele foi usado no período. */
  usado?: number;
  /** Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento. */
  reservado?: number;
  /** Só com `TETO_…` de um orçamento: O que a consulta pede. */
  necessario?: number;
  /** Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca. */
  volta_em?: string | null;
}

/** Recusa ou falha técnica. Nada foi cobrado. */
export interface ErroProdutorRural {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `false` nesta resposta. */
  success: boolean;
  /** Sempre `true` nesta resposta. */
  error: boolean;
  /** O que houve. */
  error_message: DetalheErro;
  /** Igual a `error_message.message`. */
  message: string;
  /** CPF consultado, sem pontuação, quando é conhecido. */
  cpf?: string;
  /** Sempre vazia: nada se sabe das inscrições. */
  inscricoes_estaduais: Array<InscricaoProdutorRural>;
  /** Só com status 402: os créditos que a consulta pede. */
  creditos_necessarios?: number;
  /** Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem. */
  creditos_disponiveis?: number;
  /** Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite. */
  creditos_maximos?: number;
  /** Só com `TETO_…` de um orçamento: O teto do orçamento que recusou. */
  teto?: number;
  /** Só com `TETO_…` de um orçamento: O que dele foi usado no período. */
  usado?: number;
  /** Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento. */
  reservado?: number;
  /** Só com `TETO_…` de um orçamento: O que a consulta pede. */
  necessario?: number;
  /** Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca. */
  volta_em?: string | null;
}

/** Recusa ou falha técnica. Nada foi cobrado. */
export interface ErroEmpresa {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `false` nesta resposta. */
  success: boolean;
  /** Sempre `true` nesta resposta. */
  error: boolean;
  /** O que houve. */
  error_message: DetalheErro;
  /** Igual a `error_message.message`. */
  message: string;
  /** Sempre nulo: não há dados. */
  response: Record<string, unknown> | null;
  /** Só com status 402: os créditos que a consulta pede. */
  creditos_necessarios?: number;
  /** Só com `SALDO_INSUFICIENTE`: os créditos que a conta tem. */
  creditos_disponiveis?: number;
  /** Só com `TETO_DA_REQUISICAO`: o que X-Creditos-Maximos permite. */
  creditos_maximos?: number;
  /** Só com `TETO_…` de um orçamento: O teto do orçamento que recusou. */
  teto?: number;
  /** Só com `TETO_…` de um orçamento: O que dele foi usado no período. */
  usado?: number;
  /** Só com `TETO_…` de um orçamento: O que está reservado por consultas em andamento. */
  reservado?: number;
  /** Só com `TETO_…` de um orçamento: O que a consulta pede. */
  necessario?: number;
  /** Só com `TETO_…` de um orçamento: Quando o período recomeça; nulo: nunca. */
  volta_em?: string | null;
}

/** Inscrição na Suframa. Campos sem informação na fonte são omitidos. */
export interface RespostaSuframa {
  /** CNPJ consultado, sem pontuação. */
  cnpj: string;
  /** Número da inscrição na Suframa. */
  inscricao: string;
  /** Razão social. */
  nome: string;
  /** `true` se o estabelecimento é a matriz. */
  matriz: boolean;
  /** `true` se a inscrição está aprovada. */
  aprovado: boolean;
  /** Situação atual da inscrição. */
  status: CodigoNumerico;
  /** Última atualização do registro. */
  atualizado_em?: string;
  /** Início da inscrição. */
  desde?: string;
  /** Data da aprovação. */
  data_aprovacao?: string;
  /** Natureza jurídica. */
  natureza_juridica?: CodigoNumerico;
  /** Endereço registrado. */
  endereco?: EnderecoSuframa;
  /** Telefones registrados. */
  telefones?: Array<TelefoneSuframa>;
  /** E-mails registrados. */
  emails?: Array<EmailSuframa>;
  /** Atividade principal. */
  atividade_principal?: AtividadeSuframa;
  /** Atividades secundárias. */
  atividades_secundarias?: Array<AtividadeSuframa>;
  /** Incentivos fiscais concedidos. */
  incentivos?: Array<Incentivo>;
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
}

/** Um código numérico e sua descrição. */
export interface CodigoNumerico {
  /** O código. */
  codigo: number;
  /** A descrição. */
  descricao: string;
}

/** Endereço registrado na Suframa. */
export interface EnderecoSuframa {
  /** Código IBGE do município. */
  codigo_municipio?: number;
  /** Logradouro. */
  logradouro?: string;
  /** Número. */
  numero?: string;
  /** Bairro. */
  bairro?: string;
  /** Município. */
  cidade?: string;
  /** Sigla da UF. */
  estado?: string;
  /** CEP, só dígitos. */
  cep?: string;
  /** País. */
  pais?: Pais;
}

/** Um país. */
export interface Pais {
  /** Nome do país. */
  nome: string;
}

/** Um telefone. */
export interface TelefoneSuframa {
  /** Código de área. */
  ddd: string;
  /** Número, só dígitos. */
  numero: string;
}

/** Um e-mail. */
export interface EmailSuframa {
  /** Endereço completo. */
  endereco: string;
  /** Domínio. */
  dominio: string;
}

/** Uma atividade econômica. */
export interface AtividadeSuframa {
  /** Código CNAE. */
  codigo: number;
  /** `true` se a atividade é exercida. */
  atividade_exercida: boolean;
  /** Descrição. */
  descricao: string;
}

/** Um incentivo fiscal. */
export interface Incentivo {
  /** Fundamento legal. */
  fundamento_legal: string;
  /** Benefício: isenção, redução, … */
  beneficio: string;
  /** Finalidade. */
  finalidade: string;
  /** Tributo: IPI, ICMS, … */
  tributo: string;
}

/** Inscrições estaduais de uma empresa. */
export interface RespostaInscricoes {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** `true` se nada veio da fonte nesta consulta. */
  is_cache: boolean;
  /** CNPJ consultado, sem pontuação. */
  cnpj: string;
  /** Razão social, quando a fonte a diz. */
  razao_social: string | null;
  /** UF da própria empresa, quando conhecida. */
  uf: string | null;
  /** Inscrições encontradas: ativas primeiro, depois por UF e número. */
  inscricoes_estaduais: Array<InscricaoEstadual>;
  /** Só com `uf=BR`: de onde veio a resposta de cada UF, na ordem das UFs. */
  ufs?: Array<OrigemUf>;
  /**
   * Só quando maior que zero: quantas inscrições ficaram fora da lista, porque a fonte as
   * traz numa situação que não se sabe ler.
   */
  inscricoes_omitidas?: number;
}

/** Uma inscrição estadual. O que nenhuma fonte sabe é omitido. */
export interface InscricaoEstadual {
  /** Número da inscrição. */
  inscricao_estadual: string;
  /** UF da inscrição. */
  uf: string;
  /** `true` se está ativa. */
  ativa: boolean;
  /** Tipo da inscrição. */
  tipo_ie?: "IE Normal" | "IE Substituto Tributário" | "IE Não Contribuinte (Canteiro de Obras, IE Virtual, outros)" | "IE de Produtor Rural" | "IE Não Informada" | "IE Contribuinte da UF com Endereço em Outra UF";
  /** Situação do contribuinte na UF. */
  situacao_pj?: "Sem restrição" | "Bloqueado como destinatário na UF" | "Vedada operação como destinatário na UF" | "Emitente bloqueado no destino";
  /** Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília. */
  updated_at?: string;
  /** Só com `endereco=true`, quando a fonte tem um. */
  endereco?: EnderecoInscricao;
}

/** Endereço de uma inscrição. */
export interface EnderecoInscricao {
  /** Logradouro. */
  logradouro: string;
  /** Número. */
  numero: string;
  /** Complemento, ou nulo. */
  complemento: string | null;
  /** Bairro. */
  bairro: string;
  /** Município. */
  municipio: string;
  /** Código IBGE do município; vazio se a fonte não o diz. */
  codigo_municipio_ibge: string;
  /** Sigla da UF do endereço. */
  uf: string;
  /** CEP, só dígitos. */
  cep: string;
}

/** De onde veio a resposta de uma UF. */
export interface OrigemUf {
  /** A UF. */
  uf: string;
  /** `online`, `cache`, ou `indisponivel`: não respondeu e não foi cobrada. */
  origem: "online" | "cache" | "indisponivel";
}

/** Inscrições estaduais de um produtor rural. */
export interface RespostaProdutorRural {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** `true` se nada veio da fonte nesta consulta. */
  is_cache: boolean;
  /** CPF consultado, sem pontuação. */
  cpf: string;
  /** Nome do produtor, quando a fonte o diz. */
  nome: string | null;
  /** UF consultada, ou `BR`. */
  uf: string;
  /** Inscrições encontradas: ativas primeiro, depois por UF e número. */
  inscricoes_estaduais: Array<InscricaoProdutorRural>;
  /** Só com `uf=BR`: de onde veio a resposta de cada UF, na ordem das UFs. */
  ufs?: Array<OrigemUf>;
  /**
   * Só quando maior que zero: quantas inscrições ficaram fora da lista, porque a fonte as
   * traz numa situação que não se sabe ler.
   */
  inscricoes_omitidas?: number;
}

/** Uma inscrição de produtor rural. O que nenhuma fonte sabe é omitido. */
export interface InscricaoProdutorRural {
  /** Número da inscrição. */
  inscricao_estadual: string;
  /** UF da inscrição. */
  uf: string;
  /** `true` se está ativa. */
  ativa: boolean;
  /** Tipo da inscrição. */
  tipo_ie?: "IE Normal" | "IE Substituto Tributário" | "IE Não Contribuinte (Canteiro de Obras, IE Virtual, outros)" | "IE de Produtor Rural" | "IE Não Informada" | "IE Contribuinte da UF com Endereço em Outra UF";
  /** Situação do contribuinte na UF. */
  situacao_pj?: "Sem restrição" | "Bloqueado como destinatário na UF" | "Vedada operação como destinatário na UF" | "Emitente bloqueado no destino";
  /** Data da última mudança de situação. */
  data_status?: string;
  /** Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília. */
  updated_at?: string;
  /** Só com `endereco=true`, quando a fonte tem um. */
  endereco?: EnderecoProdutorRural;
}

/** Endereço de uma inscrição. */
export interface EnderecoProdutorRural {
  /** Logradouro. */
  logradouro: string;
  /** Número. */
  numero: string;
  /** Bairro. */
  bairro: string;
  /** Município. */
  municipio: string;
  /** Código IBGE do município; vazio se a fonte não o diz. */
  codigo_municipio_ibge: string;
  /** Sigla da UF do endereço. */
  uf: string;
  /** CEP, só dígitos. */
  cep: string;
}

/** Certidão federal, ou o resultado negativo da consulta (404 com `error: false`). */
export interface RespostaCertidaoFederal {
  /** Identificador único da operação. */
  request_id: string;
  /** `true`: CND ou CPEND; `false`: a consulta terminou sem elas. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Objeto sempre vazio nesta resposta: não há erro. */
  error_message: Record<string, unknown>;
  /**
   * `CND`, `CPEND`, `CPD`, o texto da fonte quando não pôde ser classificado, ou nulo
   * quando nada pôde ser emitido.
   */
  certificate_type: string | null;
  /** Título da certidão. */
  certificate: string;
  /** Código de controle. */
  certificate_code: string | null;
  /** CNPJ consultado, com pontuação. */
  cnpj: string | null;
  /**
   * CNPJ da certidão, com pontuação: o da matriz, também quando `cnpj` é de uma filial. A
   * certidão vale para todos os estabelecimentos. Nulo numa consulta por CPF.
   */
  certificate_cnpj: string | null;
  /** CPF consultado, com pontuação. */
  cpf: string | null;
  /** Nome, quando a fonte o diz. */
  corporate_name: string;
  /** Situação da certidão, nas palavras da fonte. */
  status: string;
  /** Dia da emissão. */
  issued_at: string | null;
  /** Validade original. */
  validity: string | null;
  /** Prorrogação, quando há. */
  extended_validity: string | null;
  /** A maior das duas. */
  effective_validity: string | null;
  /** Último dia em que este resultado pode ser servido do cache; nulo: em nenhum. */
  valid_until: string | null;
  /** Quando a fonte foi consultada. */
  source_queried_at: string;
  /** Quando esta resposta foi dada. */
  served_at: string;
  /** `cache` ou `online`. */
  source: "cache" | "online";
  /** Indicador de emissão da fonte. */
  issued_successfully: boolean;
  /** Débitos na Receita Federal, quando a fonte o diz. */
  rfb_debts: boolean | null;
  /** Débitos na PGFN, quando a fonte o diz. */
  pgfn_debts: boolean | null;
  /** Tipo do comprovante; vazio quando não há. */
  receipt_type: string;
  /** Código de verificação do comprovante. */
  receipt_verification_code: string;
  /** Endereço do comprovante, que pede a chave da mesma conta. */
  print: string | null;
  /** Código devolvido pelo fornecedor. */
  provider_code: number;
  /** Se o fornecedor cobra por esta consulta. */
  provider_billable: boolean;
  /** Tempo do fornecedor. */
  provider_elapsed_time_in_milliseconds: number;
  /** O que esta consulta custou. */
  billing: Cobranca;
  /** Só no resultado negativo: o que aconteceu. */
  message?: string;
}

/** Créditos e caminho executado. */
export interface Cobranca {
  /** Créditos. */
  credits: number;
  /** `cache` ou `online`. */
  source: "cache" | "online";
}

/** Certidão estadual, ou o resultado negativo da consulta (404 com `error: false`). */
export interface RespostaCertidaoEstadual {
  /** Identificador único da operação. */
  request_id: string;
  /** `true`: a certidão negativa foi emitida. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Sempre nulo nesta resposta: não há erro. */
  error_message: Record<string, unknown> | null;
  /** Código da certidão. */
  codigo: string | null;
  /** Mensagem fiscal da certidão. */
  certidao_mensagem: string | null;
  /** Se o resultado corresponde a uma certidão negativa. */
  certidao_negativa: boolean | null;
  /** Se a fonte a emitiu. */
  conseguiu_emitir_certidao_negativa: boolean | null;
  /** Data e hora da consulta, `YYYY-MM-DD HH:mm:ss`, em Brasília. */
  datahora: string | null;
  /** Mensagem complementar da origem. */
  mensagem: string | null;
  /** Número da certidão. */
  numero: string | null;
  /** Validade. */
  validade: string | null;
  /** Endereço público do comprovante em PDF; nulo quando não há. */
  print: string | null;
  /** Só no resultado negativo: o que aconteceu. */
  message?: string;
}

/** Resposta da consulta de dados cadastrais. */
export interface RespostaEmpresa {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Sempre nulo nesta resposta: não há erro. */
  error_message: Record<string, unknown> | null;
  /**
   * Dia a que os dados se referem: o da extração, quando vêm de uma cópia do cadastro
   * público; senão, o dia (horário de Brasília) em que a fonte foi consultada. Nulo quando
   * a fonte tem uma cópia e não informa de que dia.
   */
  data_base: string | null;
  /** Os dados cadastrais. */
  response: Empresa;
}

/**
 * Dados cadastrais de um estabelecimento e de sua empresa. Sem informação, o campo é nulo
 * ou vazio.
 */
export interface Empresa {
  /** CNPJ, sem pontuação. */
  cnpj: string;
  /** `MATRIZ` ou `FILIAL`. */
  identificador_matriz_filial?: string | null;
  /** Data de abertura. */
  data_de_abertura?: string | null;
  /** Nome empresarial (razão social). */
  nome_empresarial?: string | null;
  /** Nome fantasia. */
  nome_fantasia?: string | null;
  /** Atividade principal (CNAE). */
  atividade_economica_principal?: Codigo | null;
  /** Atividades secundárias (CNAE). */
  atividades_economicas_secundarias?: Array<Codigo>;
  /** Natureza jurídica. */
  natureza_juridica?: Codigo | null;
  /** Tipo do logradouro: RUA, AVENIDA, … */
  tipo_logradouro?: string | null;
  /** Nome do logradouro. */
  logradouro?: string | null;
  /** Número no logradouro. */
  numero?: string | null;
  /** Complemento do endereço. */
  complemento?: string | null;
  /** Bairro. */
  bairro?: string | null;
  /** Município. */
  municipio?: string | null;
  /** CEP, só dígitos. */
  cep?: string | null;
  /** Sigla da unidade da federação. */
  uf?: string | null;
  /** E-mail de contato. */
  endereco_eletronico?: string | null;
  /** Telefone com DDD, só dígitos; dois são separados por ` / `. */
  telefone?: string | null;
  /** Ente federativo responsável. */
  ente_federativo_responsavel?: string | null;
  /** `NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`. */
  situacao_cadastral?: string | null;
  /** Data da situação cadastral. */
  data_da_situacao_cadastral?: string | null;
  /** Situação especial. */
  situacao_especial?: string | null;
  /** Data da situação especial. */
  data_da_situacao_especial?: string | null;
  /** `MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`. */
  porte?: string | null;
  /** Quadro de sócios e administradores. */
  socios?: Array<Socio>;
}

/** Um código de uma tabela oficial e sua descrição. */
export interface Codigo {
  /** O código, como texto. */
  codigo: string | null;
  /** A descrição da tabela. */
  descricao: string | null;
}

/** Um sócio ou administrador. */
export interface Socio {
  /** Nome ou nome empresarial. */
  nome?: string | null;
  /** CNPJ, ou CPF na forma `***456789**`; o CPF inteiro só com `optin=1`. */
  cpf_cnpj_socio?: string | null;
  /** Qualificação na empresa. */
  qualificacao_socio?: string | null;
  /** País, de sócios do exterior. */
  pais?: string | null;
  /** CPF do representante, mascarado como acima. */
  documento_representante_legal?: string | null;
  /** Nome do representante legal. */
  nome_representante_legal?: string | null;
  /** `Entre 41 a 50 anos`, …, `Não se aplica`. */
  faixa_etaria?: string | null;
  /** Entrada na sociedade, `YYYY-MM-DD HH:mm:ss`. */
  data_entrada_sociedade?: string | null;
}

/** O que a consulta custaria agora. */
export interface RespostaCotacao {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Operação, como no endereço. */
  operacao: string;
  /** O mínimo que custaria. */
  creditos_min: number;
  /** O máximo que custaria. */
  creditos_max: number;
  /** `true`: o mínimo e o máximo são um só. */
  exato: boolean;
  /** De onde viria a resposta: da cópia própria, do cache, da fonte ou de mais de um. */
  caminho: "cache" | "fonte" | "misto" | "proprio";
  /** A regra da tabela de preços, quando a resposta está à mão; senão nulo. */
  regra: string | null;
  /** Idade da resposta que está à mão, em dias inteiros; senão nulo. */
  idade_dias: number | null;
  /** Último dia da certidão que está à mão; senão nulo. */
  valida_ate: string | null;
  /** Quem pode ser consultado sobre isto, nesta ordem. */
  fontes: Array<FonteCotada>;
  /** O disponível menos o máximo; negativo, se falta; nulo, se nada limita a conta. */
  saldo_apos_maximo: number | null;
  /** Os tetos dos quais ela faria parte. */
  tetos: Array<TetoCotado>;
  /** O código que a consulta receberia agora em vez de um resultado; senão nulo. */
  recusa: string | null;
  /** Quando isto valia. */
  cotado_em: string;
}

/** Quem pode ser consultado sobre isto, e como está. */
export interface FonteCotada {
  /** Nome da fonte. */
  nome: string;
  /** Como respondeu na última hora; `desconhecida`: ninguém a consultou. */
  estado: "desconhecida" | "instavel" | "parada" | "respondendo";
}

/** Um teto do qual a consulta faria parte. */
export interface TetoCotado {
  /**
   * De quem é: `conta`, o teto mensal do pós-pago; `chave`, `cliente`, `lote` ou
   * `carteira`, um orçamento.
   */
  de: string;
  /** O teto. */
  teto: number;
  /** Gastos no período. */
  usado: number;
  /** Reservados por consultas em andamento. */
  reservado: number;
  /** O que ainda cabe. */
  resta: number;
  /** Quando o período recomeça. */
  volta_em: string | null;
}

/** Uma página de uma busca. */
export interface RespostaBuscaEmpresas {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Em ordem de CNPJ; com `q` sozinho, os mais relevantes primeiro. */
  itens: Array<EmpresaEncontrada>;
  /** `true`: a página levaria tempo demais e veio curta; siga com `cursor`. */
  parcial: boolean;
  /** Para a página seguinte; nulo na última. */
  cursor: string | null;
  /** Mês dos dados, `AAAA-MM`. */
  competencia: string;
  /** Dia dos dados. */
  data_base: string;
  /**
   * `false`: sem empresários individuais, MEI nem outras pessoas físicas, que só
   * `pessoas=true` inclui.
   */
  inclui_pessoas: boolean;
}

/** Um estabelecimento que atende a todos os filtros. */
export interface EmpresaEncontrada {
  /** CNPJ, sem pontuação. */
  cnpj: string;
  /** Nome empresarial (razão social). */
  nome_empresarial: string | null;
  /** Nome fantasia. */
  nome_fantasia: string | null;
  /** `NULA`, `ATIVA`, `SUSPENSA`, `INAPTA` ou `BAIXADA`. */
  situacao: string | null;
  /** Data da situação cadastral. */
  data_situacao: string | null;
  /** Sigla da unidade da federação. */
  uf: string | null;
  /** Município. */
  municipio: string | null;
  /** Atividade principal (CNAE). */
  cnae_principal: Codigo | null;
  /** Natureza jurídica. */
  natureza: Codigo | null;
  /** `MICRO EMPRESA`, `EMPRESA DE PEQUENO PORTE` ou `DEMAIS`. */
  porte: string | null;
  /** Data de abertura. */
  data_de_abertura: string | null;
  /** `true`: a matriz; `false`: uma filial. */
  matriz: boolean;
  /** Capital social, em reais. */
  capital_social: number | null;
}

/** Quantos estabelecimentos atendem aos filtros. */
export interface RespostaContagem {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Quantos são; se não `exato`, ao menos estes. */
  total: number;
  /** `false`: são mais do que se conta, ou mais do que se pôde ver. */
  exato: boolean;
  /**
   * `false`: sem empresários individuais, MEI nem outras pessoas físicas, que só
   * `pessoas=true` inclui.
   */
  inclui_pessoas: boolean;
}

/** Sócios com um nome ou documento, e as suas empresas. */
export interface RespostaBuscaSocios {
  /** Identificador único da operação. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** No máximo 100, em ordem de CNPJ. */
  itens: Array<SocioEncontrado>;
  /** `true`: há, ou pode haver, mais do que isto. */
  parcial: boolean;
  /** Mês dos dados, `AAAA-MM`. */
  competencia: string;
  /** Dia dos dados. */
  data_base: string;
}

/** Um sócio, e a empresa da qual é. */
export interface SocioEncontrado {
  /** Nome ou nome empresarial. */
  nome: string | null;
  /** CNPJ, ou CPF na forma `***456789**`, como a Receita Federal publica. */
  documento: string | null;
  /** Qualificação na empresa. */
  qualificacao: string | null;
  /** Entrada na sociedade. */
  data_de_entrada: string | null;
  /** CNPJ de um estabelecimento da empresa. */
  cnpj: string;
  /** Nome empresarial da empresa. */
  nome_empresarial: string | null;
}

/** O que a conta ainda pode gastar. */
export interface RespostaSaldo {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Nome da conta. */
  conta: string;
  /** Plano. */
  plano: "gratuito" | "pre_pago" | "pos_pago";
  /** Produção ou teste. */
  modo: "live" | "test";
  /** Saldo, com o que está reservado; nulo: pós-pago, que não tem saldo. */
  saldo_creditos: number | null;
  /** Reservados por consultas em andamento. */
  creditos_reservados: number;
  /** O que se pode gastar agora; nulo: pós-pago sem teto. */
  creditos_disponiveis: number | null;
  /** Teto do mês no pós-pago, se há um. */
  teto_mensal_creditos: number | null;
  /** Mês em Brasília. */
  mes: string;
  /** Cobrados neste mês. */
  creditos_gastos_no_mes: number;
}

/** O que foi cobrado em um período. */
export interface RespostaConsumo {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Primeiro dia. */
  de: string;
  /** Último dia. */
  ate: string;
  /** Soma das linhas. */
  total_consultas: number;
  /** Soma das linhas. */
  total_creditos: number;
  /** Por dia, operação, chave, origem e cliente. */
  linhas: Array<LinhaConsumo>;
}

/** O que foi cobrado em um dia, por operação, chave, origem e cliente. */
export interface LinhaConsumo {
  /** Dia em Brasília. */
  dia: string;
  /** Operação, como no endereço. */
  operacao: string;
  /** Nome da chave que consultou. */
  chave: string | null;
  /** De onde veio. */
  origem: "cache" | "online";
  /** Consultas cobradas. */
  consultas: number;
  /** Créditos que custaram. */
  creditos: number;
  /** O `X-Cliente` delas; nulo: sem ele. */
  cliente: string | null;
  /** O `X-Referencia` delas, se `agrupar=referencia` foi pedido; senão nulo. */
  referencia: string | null;
}

/** Requisições e o que foi feito delas. */
export interface RespostaOperacoes {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** As mais novas primeiro. */
  itens: Array<OperacaoAchada>;
  /** Para pedir as que vêm depois destas; nulo: não há mais. */
  cursor: string | null;
}

/** O que foi feito de uma requisição. */
export interface OperacaoAchada {
  /** O identificador perguntado. */
  operacao_id: string;
  /** Operação, como no endereço. */
  operacao: string;
  /** O que foi feito dela. */
  estado: "em_andamento" | "cobrada" | "nao_cobrada";
  /** Cobrados. */
  creditos: number;
  /** Reservados enquanto ela está em andamento. */
  creditos_reservados: number;
  /**
   * A regra da tabela de preços que fez o preço, ou por que nada foi cobrado, em palavras,
   * que podem mudar; nulo enquanto está em andamento.
   */
  regra: string | null;
  /**
   * O código da regra, que não muda; podem surgir outros: `error`, `interrupted`,
   * `search/page`, `search/count`, `search/partners`, `suframa/lookup`,
   * `state_registration/uf`, `state_registration/uf+addresses`, `rural_producer/uf`,
   * `rural_producer/uf+addresses`, `federal_certificate/cache`,
   * `federal_certificate/online`, `state_certificate/cache`, `state_certificate/online`,
   * `company/lookup`.
   */
  regra_codigo: string | null;
  /** De onde veio o resultado; nulo enquanto não há nenhum. */
  origem: "cache" | "online" | null;
  /** Nome da chave que consultou. */
  chave: string | null;
  /** Início. */
  iniciada_em: string;
  /** Fim; nulo enquanto está em andamento. */
  concluida_em: string | null;
  /** O `X-Cliente` dela, se houve. */
  cliente: string | null;
  /** O `X-Referencia` dela, se houve. */
  referencia: string | null;
}

/** Uma página de lotes. */
export interface RespostaLotes {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Os itens. */
  itens: Array<Lote>;
  /** Para a página seguinte; nulo: a última. */
  cursor: string | null;
}

/** Um lote de consultas: o arquivo, o estado e o que custou. */
export interface Lote {
  /** Identificador do lote. */
  id: string;
  /** Nome que lhe deram; vazio, se nenhum. */
  nome: string;
  /** Operação, como no endereço. */
  operacao: string;
  /** Em que estado está. */
  estado: "concluido" | "cotado" | "encerrado" | "encerrando" | "executando" | "expirado" | "pausado" | "recebido" | "recusado" | "validando";
  /** Por que está pausado; senão nulo. */
  motivo: "fonte" | "limite_da_chave" | "saldo" | "teto" | "usuario" | null;
  /** O código do que o pausou, ou do que há com o arquivo recusado. */
  codigo: string | null;
  /** O que há com o arquivo recusado, ou por que está pausado e o que ajuda; senão nulo. */
  mensagem: string | null;
  /**
   * Como as colunas do arquivo foram entendidas, e em quantas linhas uma delas não tem um
   * código; vazio antes disso.
   */
  colunas: Array<string>;
  /** Quantas linhas há, por estado. */
  linhas: LinhasDoLote;
  /** O preço; nulo antes da cotação. */
  cotacao: CotacaoDoLote | null;
  /** O teto confirmado; nulo antes disso. */
  teto_creditos: number | null;
  /** Cobrados até agora. */
  creditos_gastos: number;
  /** Reservados pelas linhas em andamento. */
  creditos_reservados: number;
  /** O lote cujas falhas este repete; senão nulo. */
  repete: string | null;
  /** Quando chegou. */
  criado_em: string;
  /** Quando foi confirmado. */
  confirmado_em: string | null;
  /** Quando terminou. */
  terminado_em: string | null;
  /** Quando os dados são, ou foram, apagados. */
  apagado_em: string;
}

/** Quantas linhas há, por estado. */
export interface LinhasDoLote {
  /** Todas as linhas lidas. */
  total: number;
  /** Linhas a consultar ou consultadas. */
  validas: number;
  /** Linhas que não perguntam nada; não custam nada. */
  invalidas: number;
  /** Linhas iguais a uma anterior; não custam nada. */
  repetidas: number;
  /** Ainda não consultadas. */
  pendentes: number;
  /** Esperando a fonte. */
  em_andamento: number;
  /** Respondidas. */
  concluidas: number;
  /** Não respondidas; não custam nada e podem ser repetidas. */
  falhas: number;
  /** Que a conta não pode consultar; não custam nada. */
  recusadas: number;
  /** Que não serão mais consultadas; não custam nada. */
  canceladas: number;
}

/** O que o lote custaria. */
export interface CotacaoDoLote {
  /** O que se confirma: as linhas, a tabela e os parâmetros. */
  digest: string;
  /** O mínimo que custaria. */
  creditos_min: number;
  /** O máximo que custaria. */
  creditos_max: number;
  /** Pelo que linhas assim custaram antes nesta conta; nulo, se foram menos de 100. */
  creditos_esperados: number | null;
  /** Linhas a consultar. */
  validas: number;
  /** Das quais a resposta já está à mão. */
  a_mao: number;
  /** Das quais uma fonte pode ter de ser consultada. */
  a_consultar: number;
  /** Até quando pode ser confirmada. */
  valida_ate: string;
  /**
   * O disponível menos o que ainda pode custar; negativo, se falta; nulo, se nada limita a
   * conta.
   */
  saldo_apos_maximo: number | null;
  /**
   * Quantos segundos levaria, pelo que as fontes levaram na última hora, se ninguém mais
   * consultasse; nulo, se nenhuma delas respondeu.
   */
  duracao_estimada_s: number | null;
  /** Quem pode ter de ser consultado, nesta ordem, e como está agora. */
  fontes: Array<FonteCotada>;
}

/** Um lote recebido. */
export interface RespostaLoteNovo {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Identificador do lote. */
  id: string;
  /** Nome que lhe deram; vazio, se nenhum. */
  nome: string;
  /** Operação, como no endereço. */
  operacao: string;
  /** Em que estado está. */
  estado: "concluido" | "cotado" | "encerrado" | "encerrando" | "executando" | "expirado" | "pausado" | "recebido" | "recusado" | "validando";
}

/** Uma página de linhas. */
export interface RespostaLinhas {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Os itens. */
  itens: Array<LinhaDoLote>;
  /** Para a página seguinte; nulo: a última. */
  cursor: string | null;
}

/** Uma linha do arquivo e o que foi feito dela. */
export interface LinhaDoLote {
  /** Linha do arquivo; a do cabeçalho é a 1. */
  linha: number;
  /** Identificador do cliente, da coluna `ref`. */
  ref: string | null;
  /** CNPJ, ou CPF mascarado; nulo, se não foi lido. */
  documento: string | null;
  /** O que foi feito da linha. */
  estado: "cancelada" | "concluida" | "em_andamento" | "falha" | "invalida" | "pendente" | "recusada" | "repetida";
  /**
   * Por que é inválida, como `documento_invalido`, `nao_e_documento` ou `raiz_de_cnpj`; ou
   * o erro; senão nulo. Podem surgir códigos novos.
   */
  codigo: string | null;
  /** Cobrados, ou reservados enquanto em andamento. */
  creditos: number;
  /** Número da consulta, que `/conta/v1/operacoes/{request_id}` conhece. */
  request_id: string | null;
  /** A primeira linha igual; senão nulo. */
  repetida_de: number | null;
}

/** Uma página de orçamentos. */
export interface RespostaOrcamentos {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Os orçamentos em vigor, os mais antigos primeiro. */
  itens: Array<Orcamento>;
  /** Para a página seguinte; nulo: é a última. */
  cursor: string | null;
}

/** Um teto, e o que dele foi usado. */
export interface Orcamento {
  /** Identificador do orçamento. */
  id: string;
  /** De quem é. */
  de: DonoDeOrcamento;
  /** Quando recomeça, em Brasília: nunca, todo dia ou todo mês. */
  periodo: "dia" | "mes" | "uma_vez";
  /** Para reconhecê-lo. */
  nome: string;
  /** Teto em créditos; nulo: nenhum. */
  teto_creditos: number | null;
  /** Teto em consultas que custam créditos; nulo: nenhum. */
  teto_consultas: number | null;
  /** As operações que contam, como no endereço; nulo: todas. */
  operacoes: Array<string> | null;
  /** Em que parte do teto há um aviso; padrão: 80. */
  aviso_percentual: number;
  /** Gastos no período. */
  usado_creditos: number;
  /** Reservados por consultas em andamento. */
  reservado_creditos: number;
  /** Cobradas no período, e em andamento. */
  usadas_consultas: number;
  /** Quando o período recomeça; nulo: nunca. */
  volta_em: string | null;
  /** Quando foi criado. */
  criado_em: string;
}

/** De quem é um orçamento. */
export interface DonoDeOrcamento {
  /** O que tem o orçamento; criam-se os de `chave` e de `cliente`. */
  tipo: "carteira" | "chave" | "cliente" | "lote";
  /** O número da chave, do lote ou da carteira. */
  id?: string;
  /** O cliente, como em `X-Cliente`. */
  valor?: string;
}

/** O que se confirma, e até quantos créditos. */
export interface ConfirmacaoDeLote {
  /** O `digest` da cotação. */
  digest: string;
  /** O máximo que o lote pode gastar: nem um crédito a mais. */
  teto_creditos: number;
}

/** Um teto maior, se for o caso. */
export interface RetomadaDeLote {
  /** O novo teto; não pode ser menor. */
  teto_creditos?: number | null;
}

/** Quais linhas. */
export interface RepeticaoDeLote {
  /** Só as falhas se repetem. */
  somente?: "falhas";
}

/** Um orçamento a criar: com `teto_creditos`, `teto_consultas` ou os dois. */
export interface NovoOrcamento {
  /** De quem é. */
  de: DonoDeOrcamento;
  /** Quando recomeça, em Brasília: nunca, todo dia ou todo mês. */
  periodo: "dia" | "mes" | "uma_vez";
  /** Para reconhecê-lo. */
  nome?: string;
  /** Teto em créditos; nulo: nenhum. */
  teto_creditos?: number | null;
  /** Teto em consultas que custam créditos; nulo: nenhum. */
  teto_consultas?: number | null;
  /** As operações que contam, como no endereço; nulo: todas. */
  operacoes?: Array<string> | null;
  /** Em que parte do teto há um aviso; padrão: 80. */
  aviso_percentual?: number;
}

/** O que muda em um orçamento. */
export interface MudancaDeOrcamento {
  /** Para reconhecê-lo. */
  nome?: string;
  /** Teto em créditos; nulo: nenhum. */
  teto_creditos?: number | null;
  /** Teto em consultas que custam créditos; nulo: nenhum. */
  teto_consultas?: number | null;
  /** As operações que contam, como no endereço; nulo: todas. */
  operacoes?: Array<string> | null;
  /** Em que parte do teto há um aviso; padrão: 80. */
  aviso_percentual?: number;
}

/** O que foi feito de uma requisição. */
export interface RespostaOperacao {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** O identificador perguntado. */
  operacao_id: string;
  /** Operação, como no endereço. */
  operacao: string;
  /** O que foi feito dela. */
  estado: "em_andamento" | "cobrada" | "nao_cobrada";
  /** Cobrados. */
  creditos: number;
  /** Reservados enquanto ela está em andamento. */
  creditos_reservados: number;
  /**
   * A regra da tabela de preços que fez o preço, ou por que nada foi cobrado, em palavras,
   * que podem mudar; nulo enquanto está em andamento.
   */
  regra: string | null;
  /**
   * O código da regra, que não muda; podem surgir outros: `error`, `interrupted`,
   * `search/page`, `search/count`, `search/partners`, `suframa/lookup`,
   * `state_registration/uf`, `state_registration/uf+addresses`, `rural_producer/uf`,
   * `rural_producer/uf+addresses`, `federal_certificate/cache`,
   * `federal_certificate/online`, `state_certificate/cache`, `state_certificate/online`,
   * `company/lookup`.
   */
  regra_codigo: string | null;
  /** De onde veio o resultado; nulo enquanto não há nenhum. */
  origem: "cache" | "online" | null;
  /** Nome da chave que consultou. */
  chave: string | null;
  /** Início. */
  iniciada_em: string;
  /** Fim; nulo enquanto está em andamento. */
  concluida_em: string | null;
  /** O `X-Cliente` dela, se houve. */
  cliente: string | null;
  /** O `X-Referencia` dela, se houve. */
  referencia: string | null;
}

/** Um lote. */
export interface RespostaLote {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Identificador do lote. */
  id: string;
  /** Nome que lhe deram; vazio, se nenhum. */
  nome: string;
  /** Operação, como no endereço. */
  operacao: string;
  /** Em que estado está. */
  estado: "concluido" | "cotado" | "encerrado" | "encerrando" | "executando" | "expirado" | "pausado" | "recebido" | "recusado" | "validando";
  /** Por que está pausado; senão nulo. */
  motivo: "fonte" | "limite_da_chave" | "saldo" | "teto" | "usuario" | null;
  /** O código do que o pausou, ou do que há com o arquivo recusado. */
  codigo: string | null;
  /** O que há com o arquivo recusado, ou por que está pausado e o que ajuda; senão nulo. */
  mensagem: string | null;
  /**
   * Como as colunas do arquivo foram entendidas, e em quantas linhas uma delas não tem um
   * código; vazio antes disso.
   */
  colunas: Array<string>;
  /** Quantas linhas há, por estado. */
  linhas: LinhasDoLote;
  /** O preço; nulo antes da cotação. */
  cotacao: CotacaoDoLote | null;
  /** O teto confirmado; nulo antes disso. */
  teto_creditos: number | null;
  /** Cobrados até agora. */
  creditos_gastos: number;
  /** Reservados pelas linhas em andamento. */
  creditos_reservados: number;
  /** O lote cujas falhas este repete; senão nulo. */
  repete: string | null;
  /** Quando chegou. */
  criado_em: string;
  /** Quando foi confirmado. */
  confirmado_em: string | null;
  /** Quando terminou. */
  terminado_em: string | null;
  /** Quando os dados são, ou foram, apagados. */
  apagado_em: string;
}

/** Um orçamento. */
export interface RespostaOrcamento {
  /** Identificador desta requisição. */
  request_id: string;
  /** Sempre `true` nesta resposta. */
  success: boolean;
  /** Sempre `false` nesta resposta. */
  error: boolean;
  /** Identificador do orçamento. */
  id: string;
  /** De quem é. */
  de: DonoDeOrcamento;
  /** Quando recomeça, em Brasília: nunca, todo dia ou todo mês. */
  periodo: "dia" | "mes" | "uma_vez";
  /** Para reconhecê-lo. */
  nome: string;
  /** Teto em créditos; nulo: nenhum. */
  teto_creditos: number | null;
  /** Teto em consultas que custam créditos; nulo: nenhum. */
  teto_consultas: number | null;
  /** As operações que contam, como no endereço; nulo: todas. */
  operacoes: Array<string> | null;
  /** Em que parte do teto há um aviso; padrão: 80. */
  aviso_percentual: number;
  /** Gastos no período. */
  usado_creditos: number;
  /** Reservados por consultas em andamento. */
  reservado_creditos: number;
  /** Cobradas no período, e em andamento. */
  usadas_consultas: number;
  /** Quando o período recomeça; nulo: nunca. */
  volta_em: string | null;
  /** Quando foi criado. */
  criado_em: string;
}
