// Reads the sandbox: each operation, a negative result, an error and the account's consumption.
//
//     BALCAO_BASE=http://127.0.0.1:8000 BALCAO_KEY=balcao_test_… node test/sandbox.ts
import { Balcao, BalcaoError } from "../src/index.ts";

const balcao = new Balcao(process.env["BALCAO_BASE"]!, process.env["BALCAO_KEY"]!);

const suframa = await balcao.suframa({ cnpj: "90010002000154" });
console.log(`suframa ${suframa.status} ${suframa.body.status.descricao}`);

const registrations = await balcao.sintegra({ cnpj: "90010001000100", uf: "SP", endereco: true });
const [first] = registrations.body.inscricoes_estaduais;
console.log(`sintegra ${registrations.status} ${first?.tipo_ie} ${first?.endereco?.municipio}`);

const producer = await balcao.produtorRural({ cpf: "90010000100", uf: "SP" });
const { cpf, inscricoes_estaduais: found } = producer.body;
console.log(`produtor-rural ${producer.status} ${cpf} ${found.length}`);

for (const cnpj of ["90010001000100", "90010003000107"]) {
  const { status, body } = await balcao.certidaoNegativaDeDebitosFederal({ cnpj });
  console.log(`federal ${status} ${body.certificate_type}${status === 404 ? ` ${body.error}` : ""}`);
}

const state = await balcao.certidaoNegativaDeDebitosEstadual({ cnpj: "90010001000100", uf: "SP" });
console.log(`estadual ${state.status} ${state.body.certidao_negativa}`);

const company = await balcao.cnpjReceitaFederal({ cnpj: "90010001000100" });
const { nome_empresarial: name, socios: partners } = company.body.response;
console.log(`empresa ${company.status} ${name} ${partners?.length}`);

try {
  await balcao.cnpjReceitaFederal({ cnpj: "99999999000191" });
} catch (error) {
  if (!(error instanceof BalcaoError)) throw error;
  console.log(`empresa ${error.status} ${error.code}`);
}

const used = await balcao.consumo({ de: "2026-01-01", ate: "2026-01-02" });
console.log(`consumo ${used.status} ${used.body.de} ${used.body.linhas.length}`);
