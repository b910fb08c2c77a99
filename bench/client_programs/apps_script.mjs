// Runs a Google Apps Script here: its services, as far as the snippet uses them, over curl.
//
//     node apps_script.mjs consulta.gs 90010001000100
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import vm from "node:vm";

const [, , file, cnpj] = process.argv;

const services = {
  Utilities: {
    getUuid: randomUUID,
    sleep: (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
  },
  UrlFetchApp: {
    fetch(url, { headers, muteHttpExceptions }) {
      if (!muteHttpExceptions) throw new Error("errors would be thrown without their body");
      const words = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
      const out = execFileSync("curl", ["-sS", "-i", ...words, url], { stdio: "pipe" }).toString();
      const end = out.indexOf("\r\n\r\n");
      const [line, ...lines] = out.slice(0, end).split("\r\n");
      return {
        getResponseCode: () => Number(line.split(" ")[1]),
        getContentText: () => out.slice(end + 4),
        getHeaders: () => Object.fromEntries(lines.map((each) => each.split(/:\s*/, 2))),
      };
    },
  },
};

const context = vm.createContext({ ...services, encodeURIComponent });
vm.runInContext(readFileSync(file, "utf8"), context, { filename: file });
console.log(`empresa: ${vm.runInContext("EMPRESA", context)(cnpj)}`);
console.log(`certidão federal: ${vm.runInContext("CERTIDAO_FEDERAL", context)(cnpj)}`);
