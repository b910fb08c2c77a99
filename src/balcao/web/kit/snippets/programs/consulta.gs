// Consulta uma empresa e a certidão federal dela. Google Apps Script: em uma planilha, Extensões,
// Apps Script, cole, e na célula escreva =EMPRESA(A2) ou =CERTIDAO_FEDERAL(A2). Formate a coluna dos
// CNPJs como texto: como números, perderiam os zeros do começo e as letras.
const ENDERECO = "http://127.0.0.1:8000"; // o Google precisa alcançá-lo pela Internet
const CHAVE = "SUA_CHAVE";

// O UrlFetchApp espera por uma resposta por 60 segundos ou mais, o que basta; uma célula espera por
// 30 ao todo, e por isso as esperas aqui são curtas.
const TENTATIVAS = 4;
const ESPERA_MAXIMA = 10;
// A tentativa pode ter sido executada e cobrada.
const EM_DUVIDA = ["SEM_RESPOSTA", "HTTP_503", "COBRANCA_INCERTA"];

/** A consulta não foi respondida, e não custou nada. Decida pelo código, nunca pelo texto. */
class ErroDaConsulta extends Error {
  constructor(codigo, mensagem) {
    super(mensagem);
    this.codigo = codigo;
  }
}

/** Os dados da resposta. Repete o que pode ser repetido; lança ErroDaConsulta. */
function consultar(caminho) {
  let idempotencia = Utilities.getUuid(); // uma por consulta: repetir com a mesma não cobra de novo
  let duvida = false; // uma tentativa pode ter sido cobrada: a chave fica
  for (let tentativa = 1; ; tentativa++) {
    let espera = 2 ** (tentativa - 1);
    let falha;
    let resposta = null;
    try {
      resposta = UrlFetchApp.fetch(`${ENDERECO}/consultas/v2/${caminho}`, {
        headers: { "x-api-key": CHAVE, "Idempotency-Key": idempotencia },
        muteHttpExceptions: true, // o corpo dos erros diz o código
      });
    } catch (erro) {
      falha = new ErroDaConsulta("SEM_RESPOSTA", String(erro)); // talvez executada: mesma chave
    }
    if (resposta) {
      const status = resposta.getResponseCode();
      const corpo = lido(resposta.getContentText("UTF-8"));
      if (corpo && corpo.error === false) return corpo;
      falha = corpo
        ? new ErroDaConsulta(corpo.error_message.code, corpo.message)
        : new ErroDaConsulta(`HTTP_${status}`, "resposta ilegível");
      const pedida = cabecalho(resposta, "retry-after");
      if (![409, 429, 503].includes(status)) throw falha;
      if (status === 409 && !pedida) throw falha; // não há mais o que repetir
      if (/^\d+$/.test(pedida)) espera = Number(pedida);
      // Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois de
      // uma que pode ter sido cobrada.
      if (status === 503 && !duvida && !EM_DUVIDA.includes(falha.codigo)) {
        idempotencia = Utilities.getUuid();
      }
    }
    duvida ||= EM_DUVIDA.includes(falha.codigo);
    if (tentativa === TENTATIVAS || espera > ESPERA_MAXIMA) throw falha;
    Utilities.sleep(espera * 1000);
  }
}

/** O corpo, ou null se não for do serviço. */
function lido(texto) {
  try {
    const corpo = JSON.parse(texto);
    return corpo && typeof corpo.error === "boolean" ? corpo : null;
  } catch (erro) {
    return null;
  }
}

/** Um cabeçalho, como quer que o tenham escrito; vazio se não veio. */
function cabecalho(resposta, nome) {
  const todos = resposta.getHeaders();
  const achado = Object.keys(todos).find((cada) => cada.toLowerCase() === nome);
  return achado ? String(todos[achado]) : "";
}

/**
 * Nome e situação da empresa.
 * @param {string} cnpj com ou sem pontuação, letras incluídas
 * @customfunction
 */
function EMPRESA(cnpj) {
  try {
    const dados = consultar(`cnpj-receita-federal/${encodeURIComponent(cnpj)}`).response;
    return `${dados.nome_empresarial} (${dados.situacao_cadastral})`;
  } catch (erro) {
    if (!(erro instanceof ErroDaConsulta)) throw erro;
    if (erro.codigo === "CNPJ_NAO_ENCONTRADO") return "o CNPJ não existe";
    return `erro ${erro.codigo}: ${erro.message}`;
  }
}

/**
 * A certidão federal da empresa.
 * @param {string} cnpj com ou sem pontuação, letras incluídas
 * @customfunction
 */
function CERTIDAO_FEDERAL(cnpj) {
  try {
    const dados = consultar(
      `certidao-negativa-de-debitos-federal?cnpj=${encodeURIComponent(cnpj)}`,
    );
    const tipo = dados.certificate_type;
    if (dados.success) return `${tipo}, válida até ${dados.effective_validity}`;
    return `não emitida (${tipo ?? dados.status})`;
  } catch (erro) {
    if (!(erro instanceof ErroDaConsulta)) throw erro;
    return `erro ${erro.codigo}: ${erro.message}`;
  }
}
