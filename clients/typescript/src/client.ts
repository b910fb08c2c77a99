// The client. Written by tools/generate_clients.py of the OpenAPI document: do not edit.
import { asJson, part, Runtime } from "./runtime.ts";
import type { Answer } from "./runtime.ts";
import type * as types from "./types.ts";

export type Uf = "" | "BR" | "AC" | "AL" | "AM" | "AP" | "BA" | "CE" | "DF" | "ES" | "GO" | "MA" | "MG" | "MS" | "MT" | "PA" | "PB" | "PE" | "PI" | "PR" | "RJ" | "RN" | "RO" | "RR" | "RS" | "SC" | "SE" | "SP" | "TO";
export type Uf2 = "BR" | "AC" | "AL" | "AM" | "AP" | "BA" | "CE" | "DF" | "ES" | "GO" | "MA" | "MG" | "MS" | "MT" | "PA" | "PB" | "PE" | "PI" | "RJ" | "RN" | "RO" | "RR" | "RS" | "SC" | "SE" | "SP" | "TO";
export type Uf3 = "AC" | "AL" | "AM" | "AP" | "BA" | "CE" | "DF" | "ES" | "GO" | "MA" | "MG" | "MS" | "MT" | "PA" | "PB" | "PE" | "PI" | "PR" | "RJ" | "RN" | "RO" | "RR" | "RS" | "SC" | "SE" | "SP" | "TO";
export type Estado = "invalida" | "repetida" | "pendente" | "em_andamento" | "concluida" | "falha" | "recusada" | "cancelada";

/** Asks, and is awaited. Parameters are called as in the API. */
export class Balcao extends Runtime {
  /** Inscrição na Suframa. */
  async suframa(given: {
    /**
     * CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não).
     * Letras são aceitas nas doze primeiras posições.
     */
    cnpj: string;
    /**
     * Idade máxima, em dias, de um resultado guardado, que então é usado sem consultar a
     * fonte. 0 força uma consulta nova. Prevalece sobre o cabeçalho.
     */
    cache?: number;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
    idempotencyKey?: string;
  }): Promise<Answer<types.RespostaSuframa>> {
    return this.ask({
      method: "GET",
      path: `/consultas/v2/suframa/${part(given.cnpj)}`,
      query: {
        cache: given.cache,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Inscrições estaduais da empresa (Sintegra). */
  async sintegra(given: {
    /**
     * CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não).
     * Letras são aceitas nas doze primeiras posições.
     */
    cnpj: string;
    /** UF consultada; `BR` consulta todas. Sem ela, a UF da própria empresa. */
    uf?: Uf;
    /** Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade. */
    cache?: number;
    /** Cache ou fonte primeiro, e o que fazer quando a fonte falha; decidido por UF. */
    cache_strategy?: "CACHE_SE_EXISTIR" | "CACHE_PREFERENCIAL" | "SO_ONLINE" | "ONLINE_PREFERENCIAL";
    /** true: se a fonte falhar, aceita um resultado guardado de qualquer idade. */
    error_fallback?: boolean;
    /** true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por requisição. */
    endereco?: boolean;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
    idempotencyKey?: string;
  }): Promise<Answer<types.RespostaInscricoes>> {
    return this.ask({
      method: "GET",
      path: `/consultas/v2/sintegra/${part(given.cnpj)}`,
      query: {
        uf: given.uf,
        cache: given.cache,
        cache_strategy: given.cache_strategy,
        error_fallback: given.error_fallback,
        endereco: given.endereco,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Inscrições estaduais do produtor rural. */
  async produtorRural(given: {
    /** CPF completo, com ou sem pontuação. */
    cpf: string;
    /** UF consultada; `BR` consulta todas. */
    uf: Uf2;
    /** Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade. */
    cache?: number;
    /** Cache ou fonte primeiro, e o que fazer quando a fonte falha; decidido por UF. */
    cache_strategy?: "CACHE_SE_EXISTIR" | "CACHE_PREFERENCIAL" | "SO_ONLINE" | "ONLINE_PREFERENCIAL";
    /** true: se a fonte falhar, aceita um resultado guardado de qualquer idade. */
    error_fallback?: boolean;
    /** true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por requisição. */
    endereco?: boolean;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
    idempotencyKey?: string;
  }): Promise<Answer<types.RespostaProdutorRural>> {
    return this.ask({
      method: "GET",
      path: `/consultas/v2/produtor-rural/${part(given.cpf)}`,
      query: {
        uf: given.uf,
        cache: given.cache,
        cache_strategy: given.cache_strategy,
        error_fallback: given.error_fallback,
        endereco: given.endereco,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Certidão de débitos federais (CND). */
  async certidaoNegativaDeDebitosFederal(given: {
    /** CNPJ, com ou sem pontuação. Não se combina com cpf nem data_nascimento. */
    cnpj?: string;
    /** CPF, com ou sem pontuação; exige data_nascimento. */
    cpf?: string;
    /** Data de nascimento, yyyyMMdd; obrigatória com cpf. */
    data_nascimento?: string;
    /** Cache ou fonte primeiro. Uma certidão vencida nunca é entregue como válida. */
    cache_strategy?: "CACHE_PREFERENCIAL" | "CACHE_SE_EXISTIR" | "SO_CACHE" | "SO_ONLINE" | "ONLINE_PREFERENCIAL";
    /**
     * `2via` procura na fonte uma certidão ainda válida antes de emitir outra; `nova` pede
     * uma emissão nova à fonte.
     */
    preferencia_emissao?: "2via" | "nova";
    /** true: consulta a fonte mesmo que haja um resultado guardado. */
    atualizar_online?: boolean;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
    idempotencyKey?: string;
  } = {}): Promise<Answer<types.RespostaCertidaoFederal>> {
    return this.ask({
      method: "GET",
      path: `/consultas/v2/certidao-negativa-de-debitos-federal`,
      query: {
        cnpj: given.cnpj,
        cpf: given.cpf,
        data_nascimento: given.data_nascimento,
        cache_strategy: given.cache_strategy,
        preferencia_emissao: given.preferencia_emissao,
        atualizar_online: given.atualizar_online,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Certidão de débitos estaduais. */
  async certidaoNegativaDeDebitosEstadual(given: {
    /**
     * CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não).
     * Letras são aceitas nas doze primeiras posições.
     */
    cnpj: string;
    /** UF cuja certidão se pede; uma por requisição. */
    uf: Uf3;
    /** true: consulta a fonte mesmo que haja uma certidão guardada. */
    atualizar_online?: boolean;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
    idempotencyKey?: string;
  }): Promise<Answer<types.RespostaCertidaoEstadual>> {
    return this.ask({
      method: "GET",
      path: `/consultas/v2/certidao-negativa-de-debitos-estadual/${part(given.cnpj)}`,
      query: {
        uf: given.uf,
        atualizar_online: given.atualizar_online,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Dados cadastrais da empresa (Receita Federal). */
  async cnpjReceitaFederal(given: {
    /**
     * CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não).
     * Letras são aceitas nas doze primeiras posições.
     */
    cnpj: string;
    /** Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade. */
    cache?: number;
    /** Cache ou fonte primeiro, e o que fazer quando a fonte falha. */
    cache_strategy?: "CACHE_SE_EXISTIR" | "CACHE_PREFERENCIAL" | "SO_ONLINE" | "ONLINE_PREFERENCIAL";
    /** 1 pede o CPF dos sócios; precisa estar habilitado na conta. */
    optin?: "0" | "1";
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
    idempotencyKey?: string;
  }): Promise<Answer<types.RespostaEmpresa>> {
    return this.ask({
      method: "GET",
      path: `/consultas/v2/cnpj-receita-federal/${part(given.cnpj)}`,
      query: {
        cache: given.cache,
        cache_strategy: given.cache_strategy,
        optin: given.optin,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Quanto custaria: Inscrição na Suframa. */
  async cotacaoSuframa(given: {
    /**
     * CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não).
     * Letras são aceitas nas doze primeiras posições.
     */
    cnpj: string;
    /**
     * Idade máxima, em dias, de um resultado guardado, que então é usado sem consultar a
     * fonte. 0 força uma consulta nova. Prevalece sobre o cabeçalho.
     */
    cache?: number;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
  }): Promise<Answer<types.RespostaCotacao>> {
    return this.ask({
      method: "GET",
      path: `/cotacoes/v2/suframa/${part(given.cnpj)}`,
      query: {
        cache: given.cache,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
    });
  }

  /** Quanto custaria: Inscrições estaduais da empresa (Sintegra). */
  async cotacaoSintegra(given: {
    /**
     * CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não).
     * Letras são aceitas nas doze primeiras posições.
     */
    cnpj: string;
    /** UF consultada; `BR` consulta todas. Sem ela, a UF da própria empresa. */
    uf?: Uf;
    /** Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade. */
    cache?: number;
    /** Cache ou fonte primeiro, e o que fazer quando a fonte falha; decidido por UF. */
    cache_strategy?: "CACHE_SE_EXISTIR" | "CACHE_PREFERENCIAL" | "SO_ONLINE" | "ONLINE_PREFERENCIAL";
    /** true: se a fonte falhar, aceita um resultado guardado de qualquer idade. */
    error_fallback?: boolean;
    /** true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por requisição. */
    endereco?: boolean;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
  }): Promise<Answer<types.RespostaCotacao>> {
    return this.ask({
      method: "GET",
      path: `/cotacoes/v2/sintegra/${part(given.cnpj)}`,
      query: {
        uf: given.uf,
        cache: given.cache,
        cache_strategy: given.cache_strategy,
        error_fallback: given.error_fallback,
        endereco: given.endereco,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
    });
  }

  /** Quanto custaria: Inscrições estaduais do produtor rural. */
  async cotacaoProdutorRural(given: {
    /** CPF completo, com ou sem pontuação. */
    cpf: string;
    /** UF consultada; `BR` consulta todas. */
    uf: Uf2;
    /** Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade. */
    cache?: number;
    /** Cache ou fonte primeiro, e o que fazer quando a fonte falha; decidido por UF. */
    cache_strategy?: "CACHE_SE_EXISTIR" | "CACHE_PREFERENCIAL" | "SO_ONLINE" | "ONLINE_PREFERENCIAL";
    /** true: se a fonte falhar, aceita um resultado guardado de qualquer idade. */
    error_fallback?: boolean;
    /** true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por requisição. */
    endereco?: boolean;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
  }): Promise<Answer<types.RespostaCotacao>> {
    return this.ask({
      method: "GET",
      path: `/cotacoes/v2/produtor-rural/${part(given.cpf)}`,
      query: {
        uf: given.uf,
        cache: given.cache,
        cache_strategy: given.cache_strategy,
        error_fallback: given.error_fallback,
        endereco: given.endereco,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
    });
  }

  /** Quanto custaria: Certidão de débitos federais (CND). */
  async cotacaoCertidaoNegativaDeDebitosFederal(given: {
    /** CNPJ, com ou sem pontuação. Não se combina com cpf nem data_nascimento. */
    cnpj?: string;
    /** CPF, com ou sem pontuação; exige data_nascimento. */
    cpf?: string;
    /** Data de nascimento, yyyyMMdd; obrigatória com cpf. */
    data_nascimento?: string;
    /** Cache ou fonte primeiro. Uma certidão vencida nunca é entregue como válida. */
    cache_strategy?: "CACHE_PREFERENCIAL" | "CACHE_SE_EXISTIR" | "SO_CACHE" | "SO_ONLINE" | "ONLINE_PREFERENCIAL";
    /**
     * `2via` procura na fonte uma certidão ainda válida antes de emitir outra; `nova` pede
     * uma emissão nova à fonte.
     */
    preferencia_emissao?: "2via" | "nova";
    /** true: consulta a fonte mesmo que haja um resultado guardado. */
    atualizar_online?: boolean;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
  } = {}): Promise<Answer<types.RespostaCotacao>> {
    return this.ask({
      method: "GET",
      path: `/cotacoes/v2/certidao-negativa-de-debitos-federal`,
      query: {
        cnpj: given.cnpj,
        cpf: given.cpf,
        data_nascimento: given.data_nascimento,
        cache_strategy: given.cache_strategy,
        preferencia_emissao: given.preferencia_emissao,
        atualizar_online: given.atualizar_online,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
    });
  }

  /** Quanto custaria: Certidão de débitos estaduais. */
  async cotacaoCertidaoNegativaDeDebitosEstadual(given: {
    /**
     * CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não).
     * Letras são aceitas nas doze primeiras posições.
     */
    cnpj: string;
    /** UF cuja certidão se pede; uma por requisição. */
    uf: Uf3;
    /** true: consulta a fonte mesmo que haja uma certidão guardada. */
    atualizar_online?: boolean;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
  }): Promise<Answer<types.RespostaCotacao>> {
    return this.ask({
      method: "GET",
      path: `/cotacoes/v2/certidao-negativa-de-debitos-estadual/${part(given.cnpj)}`,
      query: {
        uf: given.uf,
        atualizar_online: given.atualizar_online,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
    });
  }

  /** Quanto custaria: Dados cadastrais da empresa (Receita Federal). */
  async cotacaoCnpjReceitaFederal(given: {
    /**
     * CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não).
     * Letras são aceitas nas doze primeiras posições.
     */
    cnpj: string;
    /** Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade. */
    cache?: number;
    /** Cache ou fonte primeiro, e o que fazer quando a fonte falha. */
    cache_strategy?: "CACHE_SE_EXISTIR" | "CACHE_PREFERENCIAL" | "SO_ONLINE" | "ONLINE_PREFERENCIAL";
    /** 1 pede o CPF dos sócios; precisa estar habilitado na conta. */
    optin?: "0" | "1";
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    /**
     * Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo.
     * Não é parte do que torna duas requisições a mesma. Um CPF é recusado
     * (`MARCA_COM_CPF`).
     */
    cliente?: string;
    /**
     * A que a consulta pertence, num código seu, como o número de um pedido: por ela se
     * acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).
     */
    referencia?: string;
  }): Promise<Answer<types.RespostaCotacao>> {
    return this.ask({
      method: "GET",
      path: `/cotacoes/v2/cnpj-receita-federal/${part(given.cnpj)}`,
      query: {
        cache: given.cache,
        cache_strategy: given.cache_strategy,
        optin: given.optin,
        creditos_maximos: given.creditos_maximos,
      },
      headers: { "X-Cliente": given.cliente, "X-Referencia": given.referencia },
    });
  }

  /** Busca de empresas. */
  async buscaDeEmpresas(given: {
    /**
     * Palavras do nome empresarial ou do nome fantasia, sem distinguir acentos; a última
     * pode terminar em `*`, depois de ao menos três letras.
     */
    q?: string;
    /** Siglas de UF; `EX`, exterior. */
    uf?: string;
    /** Nomes (com `uf`), códigos da Receita Federal (4 dígitos) ou do IBGE (7 dígitos). */
    municipio?: string;
    /** Atividades principais ou secundárias, 7 dígitos. */
    cnae?: string;
    /** Atividades principais, 7 dígitos. */
    cnae_principal?: string;
    /** Divisões da atividade principal, 2 dígitos. */
    divisao?: string;
    /** Naturezas jurídicas, 4 dígitos. */
    natureza?: string;
    /** `ATIVA`, `BAIXADA`, `INAPTA`, `SUSPENSA`, `NULA`. */
    situacao?: string;
    /** Motivos da situação, 2 dígitos. */
    motivo?: string;
    /** `ME`, `EPP`, `DEMAIS`. */
    porte?: string;
    /** `true`: só matrizes; `false`: só filiais. */
    matriz?: boolean;
    /** Optante pelo Simples Nacional. */
    simples?: boolean;
    /**
     * Optante pelo MEI. `true`, só para contas habilitadas a `pessoas`; quase todos são
     * empresários individuais, que só `pessoas=true` inclui.
     */
    mei?: boolean;
    /** DDDs dos telefones. */
    ddd?: string;
    /** Domínios do e-mail de contato. */
    dominio?: string;
    /** Primeiro dia de abertura. */
    aberta_desde?: string;
    /** Último dia de abertura. */
    aberta_ate?: string;
    /** Primeiro dia da situação cadastral. */
    situacao_desde?: string;
    /** Último dia da situação cadastral. */
    situacao_ate?: string;
    /** Menor capital social, em reais. */
    capital_min?: number;
    /** Maior capital social, em reais. */
    capital_max?: number;
    /** CEPs, ou como começam: de 5 a 8 dígitos. */
    cep?: string;
    /** Raízes de CNPJ, 8 caracteres. */
    raiz?: string;
    /** Também pessoas físicas; para contas habilitadas. */
    pessoas?: boolean;
    /** Resultados por página. */
    limite?: number;
    /** O `cursor` da página anterior. */
    cursor?: string;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    idempotencyKey?: string;
  } = {}): Promise<Answer<types.RespostaBuscaEmpresas>> {
    return this.ask({
      method: "GET",
      path: `/buscas/v1/empresas`,
      query: {
        q: given.q,
        uf: given.uf,
        municipio: given.municipio,
        cnae: given.cnae,
        cnae_principal: given.cnae_principal,
        divisao: given.divisao,
        natureza: given.natureza,
        situacao: given.situacao,
        motivo: given.motivo,
        porte: given.porte,
        matriz: given.matriz,
        simples: given.simples,
        mei: given.mei,
        ddd: given.ddd,
        dominio: given.dominio,
        aberta_desde: given.aberta_desde,
        aberta_ate: given.aberta_ate,
        situacao_desde: given.situacao_desde,
        situacao_ate: given.situacao_ate,
        capital_min: given.capital_min,
        capital_max: given.capital_max,
        cep: given.cep,
        raiz: given.raiz,
        pessoas: given.pessoas,
        limite: given.limite,
        cursor: given.cursor,
        creditos_maximos: given.creditos_maximos,
      },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Quantas empresas são. */
  async contagemDeEmpresas(given: {
    /**
     * Palavras do nome empresarial ou do nome fantasia, sem distinguir acentos; a última
     * pode terminar em `*`, depois de ao menos três letras.
     */
    q?: string;
    /** Siglas de UF; `EX`, exterior. */
    uf?: string;
    /** Nomes (com `uf`), códigos da Receita Federal (4 dígitos) ou do IBGE (7 dígitos). */
    municipio?: string;
    /** Atividades principais ou secundárias, 7 dígitos. */
    cnae?: string;
    /** Atividades principais, 7 dígitos. */
    cnae_principal?: string;
    /** Divisões da atividade principal, 2 dígitos. */
    divisao?: string;
    /** Naturezas jurídicas, 4 dígitos. */
    natureza?: string;
    /** `ATIVA`, `BAIXADA`, `INAPTA`, `SUSPENSA`, `NULA`. */
    situacao?: string;
    /** Motivos da situação, 2 dígitos. */
    motivo?: string;
    /** `ME`, `EPP`, `DEMAIS`. */
    porte?: string;
    /** `true`: só matrizes; `false`: só filiais. */
    matriz?: boolean;
    /** Optante pelo Simples Nacional. */
    simples?: boolean;
    /**
     * Optante pelo MEI. `true`, só para contas habilitadas a `pessoas`; quase todos são
     * empresários individuais, que só `pessoas=true` inclui.
     */
    mei?: boolean;
    /** DDDs dos telefones. */
    ddd?: string;
    /** Domínios do e-mail de contato. */
    dominio?: string;
    /** Primeiro dia de abertura. */
    aberta_desde?: string;
    /** Último dia de abertura. */
    aberta_ate?: string;
    /** Primeiro dia da situação cadastral. */
    situacao_desde?: string;
    /** Último dia da situação cadastral. */
    situacao_ate?: string;
    /** Menor capital social, em reais. */
    capital_min?: number;
    /** Maior capital social, em reais. */
    capital_max?: number;
    /** CEPs, ou como começam: de 5 a 8 dígitos. */
    cep?: string;
    /** Raízes de CNPJ, 8 caracteres. */
    raiz?: string;
    /** Também pessoas físicas; para contas habilitadas. */
    pessoas?: boolean;
    /** Resultados por página. */
    limite?: number;
    /** O `cursor` da página anterior. */
    cursor?: string;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    idempotencyKey?: string;
  } = {}): Promise<Answer<types.RespostaContagem>> {
    return this.ask({
      method: "GET",
      path: `/buscas/v1/empresas/contagem`,
      query: {
        q: given.q,
        uf: given.uf,
        municipio: given.municipio,
        cnae: given.cnae,
        cnae_principal: given.cnae_principal,
        divisao: given.divisao,
        natureza: given.natureza,
        situacao: given.situacao,
        motivo: given.motivo,
        porte: given.porte,
        matriz: given.matriz,
        simples: given.simples,
        mei: given.mei,
        ddd: given.ddd,
        dominio: given.dominio,
        aberta_desde: given.aberta_desde,
        aberta_ate: given.aberta_ate,
        situacao_desde: given.situacao_desde,
        situacao_ate: given.situacao_ate,
        capital_min: given.capital_min,
        capital_max: given.capital_max,
        cep: given.cep,
        raiz: given.raiz,
        pessoas: given.pessoas,
        limite: given.limite,
        cursor: given.cursor,
        creditos_maximos: given.creditos_maximos,
      },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Busca de sócios. */
  async buscaDeSocios(given: {
    /** Palavras do nome do sócio. */
    nome?: string;
    /** Os seis dígitos publicados de um CPF (`***456789**`), um CNPJ ou a sua raiz. */
    documento?: string;
    /** Resultados por página. */
    limite?: number;
    /** O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre ele. */
    creditos_maximos?: number;
    idempotencyKey?: string;
  } = {}): Promise<Answer<types.RespostaBuscaSocios>> {
    return this.ask({
      method: "GET",
      path: `/buscas/v1/socios`,
      query: {
        nome: given.nome,
        documento: given.documento,
        limite: given.limite,
        creditos_maximos: given.creditos_maximos,
      },
      once: true,
      idempotencyKey: given.idempotencyKey,
    });
  }

  /** Comprovante de uma certidão federal. */
  async comprovanteFederal(given: {
    /** O fim do endereço em `print`. */
    receipt_id: string;
  }): Promise<Answer<Uint8Array<ArrayBuffer>>> {
    return this.ask({
      method: "GET",
      path: `/consultas/v2/certidao-negativa-de-debitos-federal/print/${part(given.receipt_id)}`,
      reads: "bytes",
    });
  }

  /** Comprovante de uma certidão estadual. */
  async comprovanteEstadual(given: {
    /** O fim do endereço em `print`. */
    receipt_id: string;
  }): Promise<Answer<Uint8Array<ArrayBuffer>>> {
    return this.ask({
      method: "GET",
      path: `/consultas/v2/certidao-negativa-de-debitos-estadual/print/${part(given.receipt_id)}`,
      reads: "bytes",
    });
  }

  /** Saldo da conta. */
  async saldo(): Promise<Answer<types.RespostaSaldo>> {
    return this.ask({
      method: "GET",
      path: `/conta/v1/saldo`,
    });
  }

  /** Consumo da conta em um período. */
  async consumo(given: {
    /** Primeiro dia, `AAAA-MM-DD`; padrão: 30 dias até `ate`. */
    de?: string;
    /** Último dia, incluído, `AAAA-MM-DD`; padrão: hoje, em Brasília. */
    ate?: string;
    /** Só as linhas deste `X-Cliente`. */
    cliente?: string;
    /**
     * `referencia`: uma linha também por `X-Referencia`; no máximo 100000 linhas. Sem ele
     * as referências não separam linhas.
     */
    agrupar?: "referencia" | "";
  } = {}): Promise<Answer<types.RespostaConsumo>> {
    return this.ask({
      method: "GET",
      path: `/conta/v1/consumo`,
      query: {
        de: given.de,
        ate: given.ate,
        cliente: given.cliente,
        agrupar: given.agrupar,
      },
    });
  }

  /** Operações de uma Idempotency-Key ou de uma referência. */
  async operacoesDe(given: {
    /** A `Idempotency-Key` da requisição: acha uma ou nenhuma. */
    idempotency_key?: string;
    /** O `X-Referencia` das requisições. */
    referencia?: string;
    /** Quantas por página, de 1 a 1000; padrão: 100. */
    limite?: number;
    /** O `cursor` da página anterior. */
    cursor?: string;
  } = {}): Promise<Answer<types.RespostaOperacoes>> {
    return this.ask({
      method: "GET",
      path: `/conta/v1/operacoes`,
      query: {
        idempotency_key: given.idempotency_key,
        referencia: given.referencia,
        limite: given.limite,
        cursor: given.cursor,
      },
    });
  }

  /** Uma operação: se foi cobrada. */
  async operacoes(given: {
    /** O `request_id` da resposta, ou do cabeçalho `X-Request-Id`. */
    request_id: string;
  }): Promise<Answer<types.RespostaOperacao>> {
    return this.ask({
      method: "GET",
      path: `/conta/v1/operacoes/${part(given.request_id)}`,
    });
  }

  /** Os lotes da conta. */
  async lotes(given: {
    /** Quantos por página, de 1 a 1000. */
    limite?: number;
    /** O `cursor` da página anterior. */
    cursor?: string;
  } = {}): Promise<Answer<types.RespostaLotes>> {
    return this.ask({
      method: "GET",
      path: `/lotes/v1`,
      query: {
        limite: given.limite,
        cursor: given.cursor,
      },
    });
  }

  /** Um lote novo. */
  async criarLote(given: {
    /** O que perguntar: o caminho de uma consulta. */
    operacao: string;
    /** Um nome para o lote. */
    nome?: string;
    /** A coluna do documento, de qualquer tipo: nome ou letra. */
    coluna_documento?: string;
    /** A coluna do CNPJ: nome ou letra; vazio, nenhuma. */
    coluna_cnpj?: string;
    /** A coluna do CPF: nome ou letra; vazio, nenhuma. */
    coluna_cpf?: string;
    /** A coluna do nascimento: nome ou letra; vazio, nenhuma. */
    coluna_data_nascimento?: string;
    /** A coluna da UF: nome ou letra; vazio, nenhuma. */
    coluna_uf?: string;
    /** A coluna da sua referência: nome ou letra; vazio, nenhuma. */
    coluna_ref?: string;
    /** A coluna do cliente: nome ou letra; vazio, nenhuma. */
    coluna_cliente?: string;
    content: Uint8Array<ArrayBuffer> | Blob | string;
    contentType: string;
    idempotencyKey?: string;
  }): Promise<Answer<types.RespostaLoteNovo>> {
    return this.ask({
      method: "POST",
      path: `/lotes/v1`,
      query: {
        operacao: given.operacao,
        nome: given.nome,
        coluna_documento: given.coluna_documento,
        coluna_cnpj: given.coluna_cnpj,
        coluna_cpf: given.coluna_cpf,
        coluna_data_nascimento: given.coluna_data_nascimento,
        coluna_uf: given.coluna_uf,
        coluna_ref: given.coluna_ref,
        coluna_cliente: given.coluna_cliente,
      },
      once: true,
      idempotencyKey: given.idempotencyKey,
      content: given.content,
      contentType: given.contentType,
    });
  }

  /** Um lote. */
  async lote(given: {
    /** O `id` do lote. */
    id: string;
  }): Promise<Answer<types.RespostaLote>> {
    return this.ask({
      method: "GET",
      path: `/lotes/v1/${part(given.id)}`,
    });
  }

  /** Um lote apagado. */
  async apagarLote(given: {
    /** O `id` do lote. */
    id: string;
  }): Promise<Answer<types.RespostaLote>> {
    return this.ask({
      method: "DELETE",
      path: `/lotes/v1/${part(given.id)}`,
    });
  }

  /** Um lote confirmado. */
  async confirmarLote(given: {
    /** O `id` do lote. */
    id: string;
    body: types.ConfirmacaoDeLote;
  }): Promise<Answer<types.RespostaLote>> {
    return this.ask({
      method: "POST",
      path: `/lotes/v1/${part(given.id)}/confirmar`,
      content: asJson(given.body),
    });
  }

  /** Um lote pausado. */
  async pausarLote(given: {
    /** O `id` do lote. */
    id: string;
  }): Promise<Answer<types.RespostaLote>> {
    return this.ask({
      method: "POST",
      path: `/lotes/v1/${part(given.id)}/pausar`,
    });
  }

  /** Um lote retomado. */
  async retomarLote(given: {
    /** O `id` do lote. */
    id: string;
    body?: types.RetomadaDeLote;
  }): Promise<Answer<types.RespostaLote>> {
    return this.ask({
      method: "POST",
      path: `/lotes/v1/${part(given.id)}/retomar`,
      content: asJson(given.body),
    });
  }

  /** Um lote encerrado. */
  async encerrarLote(given: {
    /** O `id` do lote. */
    id: string;
  }): Promise<Answer<types.RespostaLote>> {
    return this.ask({
      method: "POST",
      path: `/lotes/v1/${part(given.id)}/encerrar`,
    });
  }

  /** Um lote novo, das falhas de outro. */
  async repetirLote(given: {
    /** O `id` do lote. */
    id: string;
    body?: types.RepeticaoDeLote;
    idempotencyKey?: string;
  }): Promise<Answer<types.RespostaLoteNovo>> {
    return this.ask({
      method: "POST",
      path: `/lotes/v1/${part(given.id)}/repetir`,
      once: true,
      idempotencyKey: given.idempotencyKey,
      content: asJson(given.body),
    });
  }

  /** As linhas de um lote. */
  async linhasDoLote(given: {
    /** O `id` do lote. */
    id: string;
    /** Só as linhas deste estado. */
    estado?: Estado;
    /** Quantos por página, de 1 a 1000. */
    limite?: number;
    /** O `cursor` da página anterior. */
    cursor?: string;
  }): Promise<Answer<types.RespostaLinhas>> {
    return this.ask({
      method: "GET",
      path: `/lotes/v1/${part(given.id)}/linhas`,
      query: {
        estado: given.estado,
        limite: given.limite,
        cursor: given.cursor,
      },
    });
  }

  /** O arquivo resultado.csv. */
  async resultadoCsv(given: {
    /** O `id` do lote. */
    id: string;
  }): Promise<Answer<Uint8Array<ArrayBuffer>>> {
    return this.ask({
      method: "GET",
      path: `/lotes/v1/${part(given.id)}/resultado.csv`,
      reads: "bytes",
    });
  }

  /** O arquivo resultado.xlsx. */
  async resultadoXlsx(given: {
    /** O `id` do lote. */
    id: string;
  }): Promise<Answer<Uint8Array<ArrayBuffer>>> {
    return this.ask({
      method: "GET",
      path: `/lotes/v1/${part(given.id)}/resultado.xlsx`,
      reads: "bytes",
    });
  }

  /** O arquivo resultado.jsonl. */
  async resultadoJsonl(given: {
    /** O `id` do lote. */
    id: string;
  }): Promise<Answer<Uint8Array<ArrayBuffer>>> {
    return this.ask({
      method: "GET",
      path: `/lotes/v1/${part(given.id)}/resultado.jsonl`,
      reads: "bytes",
    });
  }

  /** O arquivo recibos.zip. */
  async recibosZip(given: {
    /** O `id` do lote. */
    id: string;
  }): Promise<Answer<Uint8Array<ArrayBuffer>>> {
    return this.ask({
      method: "GET",
      path: `/lotes/v1/${part(given.id)}/recibos.zip`,
      reads: "bytes",
    });
  }

  /** Os orçamentos em vigor. */
  async orcamentos(given: {
    /** Quantos por página, de 1 a 1000. */
    limite?: number;
    /** O `cursor` da página anterior. */
    cursor?: string;
  } = {}): Promise<Answer<types.RespostaOrcamentos>> {
    return this.ask({
      method: "GET",
      path: `/conta/v1/orcamentos`,
      query: {
        limite: given.limite,
        cursor: given.cursor,
      },
    });
  }

  /** Um orçamento novo. */
  async criarOrcamento(given: {
    body: types.NovoOrcamento;
    idempotencyKey?: string;
  }): Promise<Answer<types.RespostaOrcamento>> {
    return this.ask({
      method: "POST",
      path: `/conta/v1/orcamentos`,
      once: true,
      idempotencyKey: given.idempotencyKey,
      content: asJson(given.body),
    });
  }

  /** Um orçamento. */
  async orcamento(given: {
    /** O `id` do orçamento. */
    id: string;
  }): Promise<Answer<types.RespostaOrcamento>> {
    return this.ask({
      method: "GET",
      path: `/conta/v1/orcamentos/${part(given.id)}`,
    });
  }

  /** Um orçamento mudado. */
  async mudarOrcamento(given: {
    /** O `id` do orçamento. */
    id: string;
    body: types.MudancaDeOrcamento;
  }): Promise<Answer<types.RespostaOrcamento>> {
    return this.ask({
      method: "PATCH",
      path: `/conta/v1/orcamentos/${part(given.id)}`,
      content: asJson(given.body),
    });
  }

  /** Um orçamento removido. */
  async removerOrcamento(given: {
    /** O `id` do orçamento. */
    id: string;
  }): Promise<Answer<types.RespostaOrcamento>> {
    return this.ask({
      method: "DELETE",
      path: `/conta/v1/orcamentos/${part(given.id)}`,
    });
  }
}
