// Reads the sandbox with a generated client (openapi-generator, typescript-axios).

import { AxiosError } from "axios";
import {
  Configuration, ConsultasApi, ContaApi, ErroEmpresa, RespostaCertidaoFederal,
} from "./client";

const configuration = new Configuration({
  basePath: process.env.BALCAO_BASE, apiKey: process.env.BALCAO_KEY,
});

async function main() {
  const lookups = new ConsultasApi(configuration);

  const { data: zone } = await lookups.suframa("90010002000154");
  console.log("suframa 200", zone.status.descricao);

  const { data: found } = await lookups.sintegra(
    "90010001000100", "SP", undefined, undefined, undefined, true);
  const [one] = found.inscricoes_estaduais;
  console.log("sintegra 200", one.tipo_ie, one.endereco?.municipio);

  const { data: producer } = await lookups.produtorRural("90010000100", "SP");
  console.log("produtor-rural 200", producer.cpf, producer.inscricoes_estaduais.length);

  const { data: federal } = await lookups.certidaoNegativaDeDebitosFederal("90010001000100");
  console.log("federal 200", federal.certificate_type);
  try {
    await lookups.certidaoNegativaDeDebitosFederal("90010003000107");
  } catch (refused) {
    if (!(refused instanceof AxiosError) || !refused.response) throw refused;
    const body: RespostaCertidaoFederal = refused.response.data;
    console.log("federal", refused.response.status, body.certificate_type, body.error);
  }

  const { data: state } = await lookups.certidaoNegativaDeDebitosEstadual("90010001000100", "SP");
  console.log("estadual 200", state.certidao_negativa);

  const company = (await lookups.cnpjReceitaFederal("90010001000100")).data.response;
  console.log("empresa 200", company.nome_empresarial, company.socios?.length);
  try {
    await lookups.cnpjReceitaFederal("99999999000191");
  } catch (refused) {
    if (!(refused instanceof AxiosError) || !refused.response) throw refused;
    const body: ErroEmpresa = refused.response.data;
    console.log("empresa", refused.response.status, body.error_message.code);
  }

  const { data: spent } = await new ContaApi(configuration).consumo("2026-01-01", "2026-01-31");
  console.log("consumo 200", spent.de, spent.linhas.length);
}

main().catch((problem) => {
  console.error(problem);
  process.exit(1);
});
