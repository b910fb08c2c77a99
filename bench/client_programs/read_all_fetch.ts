// Reads the sandbox with a generated client (openapi-generator, typescript-fetch).

import {
  Configuration, ConsultasApi, ContaApi, ErroEmpresaFromJSON, RespostaCertidaoFederalFromJSON,
  ResponseError,
} from "./client";

const configuration = new Configuration({
  basePath: process.env.BALCAO_BASE, apiKey: process.env.BALCAO_KEY,
});

async function main() {
  const lookups = new ConsultasApi(configuration);

  const zone = await lookups.suframa({ cnpj: "90010002000154" });
  console.log("suframa 200", zone.status.descricao);

  const found = await lookups.sintegra({ cnpj: "90010001000100", uf: "SP", endereco: true });
  const [one] = found.inscricoesEstaduais;
  console.log("sintegra 200", one.tipoIe, one.endereco?.municipio);

  const producer = await lookups.produtorRural({ cpf: "90010000100", uf: "SP" });
  console.log("produtor-rural 200", producer.cpf, producer.inscricoesEstaduais.length);

  const federal = await lookups.certidaoNegativaDeDebitosFederal({ cnpj: "90010001000100" });
  console.log("federal 200", federal.certificateType);
  try {
    await lookups.certidaoNegativaDeDebitosFederal({ cnpj: "90010003000107" });
  } catch (refused) {
    if (!(refused instanceof ResponseError)) throw refused;
    const body = RespostaCertidaoFederalFromJSON(await refused.response.json());
    console.log("federal", refused.response.status, body.certificateType, body.error);
  }

  const state = await lookups.certidaoNegativaDeDebitosEstadual({
    cnpj: "90010001000100", uf: "SP",
  });
  console.log("estadual 200", state.certidaoNegativa);

  const company = (await lookups.cnpjReceitaFederal({ cnpj: "90010001000100" })).response;
  console.log("empresa 200", company.nomeEmpresarial, company.socios?.length);
  try {
    await lookups.cnpjReceitaFederal({ cnpj: "99999999000191" });
  } catch (refused) {
    if (!(refused instanceof ResponseError)) throw refused;
    const body = ErroEmpresaFromJSON(await refused.response.json());
    console.log("empresa", refused.response.status, body.errorMessage.code);
  }

  const spent = await new ContaApi(configuration).consumo({ de: "2026-01-01", ate: "2026-01-31" });
  console.log("consumo 200", spent.de.toISOString().slice(0, 10), spent.linhas.length);
}

main().catch((problem) => {
  console.error(problem);
  process.exit(1);
});
