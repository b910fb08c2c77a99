// Recebe webhooks e confere a assinatura. Node 18 ou mais novo, sem pacotes.
//
//     WEBHOOK_SECRET=whsec_... node receber.mjs
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const PORTA = Number(process.env.PORT ?? 8080);
const SEGREDO = Buffer.from(process.env.WEBHOOK_SECRET.slice("whsec_".length), "base64");
const vistos = new Set(); // em produção: uma tabela com índice único

function confere(cabecalhos, corpo) {
  const numero = cabecalhos["webhook-id"] ?? "";
  const instante = cabecalhos["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(instante) || Math.abs(Date.now() / 1000 - Number(instante)) > 300) return false;
  const hmac = createHmac("sha256", SEGREDO).update(`${numero}.${instante}.`).update(corpo);
  const esperada = Buffer.from(`v1,${hmac.digest("base64")}`);
  return (cabecalhos["webhook-signature"] ?? "")
    .split(" ")
    .map((uma) => Buffer.from(uma))
    .some((uma) => uma.length === esperada.length && timingSafeEqual(uma, esperada));
}

createServer(async (requisicao, resposta) => {
  const partes = [];
  for await (const parte of requisicao) partes.push(parte);
  const corpo = Buffer.concat(partes); // os bytes recebidos, sem decodificar
  if (!confere(requisicao.headers, corpo)) {
    resposta.writeHead(401).end();
    return;
  }
  const numero = requisicao.headers["webhook-id"];
  if (!vistos.has(numero)) { // uma entrega pode vir mais de uma vez
    vistos.add(numero);
    const evento = JSON.parse(corpo);
    // Guarde o evento aqui e trate-o depois de responder.
    console.log(numero, evento.type);
  }
  resposta.writeHead(204).end();
}).listen(PORTA);
