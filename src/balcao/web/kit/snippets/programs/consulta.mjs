// Consulta uma empresa e a certidão federal dela. Node 18 ou mais novo, sem pacotes.
//
//     node consulta.mjs 90010001000100
import { randomUUID } from "node:crypto";
import { setTimeout as dormir } from "node:timers/promises";

const ENDERECO = "http://127.0.0.1:8000";
const CHAVE = "SUA_CHAVE";

const PRAZO = 60; // segundos; mais que o das fontes, para que a resposta paga sempre chegue
const TENTATIVAS = 4;
const ESPERA_MAXIMA = 60;
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
async function consultar(caminho) {
  let idempotencia = randomUUID(); // uma por consulta: repetir com a mesma não cobra de novo
  let duvida = false; // uma tentativa pode ter sido cobrada: a chave fica
  for (let tentativa = 1; ; tentativa++) {
    let espera = 2 ** (tentativa - 1);
    let falha;
    let resposta;
    let texto;
    try {
      resposta = await fetch(`${ENDERECO}/consultas/v2/${caminho}`, {
        headers: { "x-api-key": CHAVE, "Idempotency-Key": idempotencia },
        signal: AbortSignal.timeout(PRAZO * 1000),
      });
      texto = await resposta.text();
    } catch (erro) {
      resposta = undefined; // pode ter sido executada: mesma chave
      falha = new ErroDaConsulta("SEM_RESPOSTA", String(erro.cause ?? erro));
    }
    if (resposta) {
      const status = resposta.status;
      const corpo = lido(texto);
      if (corpo?.error === false) return corpo;
      falha = new ErroDaConsulta(
        corpo?.error_message?.code ?? `HTTP_${status}`,
        corpo?.message ?? "resposta ilegível",
      );
      const pedida = resposta.headers.get("Retry-After") ?? "";
      if (![409, 429, 503].includes(status)) throw falha;
      if (status === 409 && !pedida) throw falha; // não há mais o que repetir
      if (/^\d+$/.test(pedida)) espera = Number(pedida);
      // Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois de
      // uma que pode ter sido cobrada.
      if (status === 503 && !duvida && !EM_DUVIDA.includes(falha.codigo)) {
        idempotencia = randomUUID();
      }
    }
    duvida ||= EM_DUVIDA.includes(falha.codigo);
    if (tentativa === TENTATIVAS || espera > ESPERA_MAXIMA) throw falha;
    await dormir(espera * 1000);
  }
}

/** O corpo, ou null se não for do serviço. */
function lido(texto) {
  try {
    const corpo = JSON.parse(texto);
    return typeof corpo?.error === "boolean" ? corpo : null;
  } catch {
    return null;
  }
}

const cnpj = encodeURIComponent(process.argv[2] ?? "90010001000100"); // letras e pontuação ficam

try {
  const { response: empresa } = await consultar(`cnpj-receita-federal/${cnpj}`);
  console.log(`empresa: ${empresa.nome_empresarial} (${empresa.situacao_cadastral})`);
} catch (erro) {
  if (!(erro instanceof ErroDaConsulta)) throw erro;
  if (erro.codigo === "CNPJ_NAO_ENCONTRADO") console.log("empresa: o CNPJ não existe");
  else console.log(`empresa: erro ${erro.codigo}: ${erro.message}`);
}

try {
  const certidao = await consultar(`certidao-negativa-de-debitos-federal?cnpj=${cnpj}`);
  const { certificate_type: tipo, effective_validity: validade } = certidao;
  if (certidao.success) console.log(`certidão federal: ${tipo}, válida até ${validade}`);
  else console.log(`certidão federal: não emitida (${tipo ?? certidao.status})`);
} catch (erro) {
  if (!(erro instanceof ErroDaConsulta)) throw erro;
  console.log(`certidão federal: erro ${erro.codigo}: ${erro.message}`);
}
