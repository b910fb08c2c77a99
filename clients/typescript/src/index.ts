// A client of Balcão for browsers and Node, without dependencies.
//
//     const balcao = new Balcao("https://balcao.example", key);
//     const { body, credits } = await balcao.cnpjReceitaFederal({ cnpj: "12.ABC.345/01DE-35" });
export { Balcao } from "./client.ts";
export type * from "./client.ts";
export { BalcaoError, TIMEOUT_SECONDS } from "./runtime.ts";
export type { Answer, Options } from "./runtime.ts";
export type * from "./types.ts";
