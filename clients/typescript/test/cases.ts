// Runs the shared cases against a scripted server, and prints the outcome of each.
//
//     node test/cases.ts http://127.0.0.1:8080 < ../cases.json
import { readFileSync } from "node:fs";
import { Balcao, BalcaoError } from "../src/index.ts";

interface Case {
  readonly name: string;
  readonly operation: string;
  readonly arguments: Record<string, unknown>;
  readonly idempotency_key?: string;
  readonly timeout_seconds?: number;
  readonly times?: number;
}

const base = process.argv[2];
const { cases } = JSON.parse(readFileSync(0, "utf8")) as { cases: Case[] };

async function run(one: Case): Promise<unknown> {
  const waits: number[] = [];
  const client = new Balcao(`${base}/${one.name}/`, "chave", {
    timeoutSeconds: one.timeout_seconds ?? 30,
    sleep: async (seconds) => waits.push(seconds),
  });
  const camel = one.operation.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const given = { ...one.arguments, idempotencyKey: one.idempotency_key };
  const method = Reflect.get(client, camel) as (given: unknown) => ReturnType<Balcao["saldo"]>;
  try {
    for (let n = 1; n < (one.times ?? 1); n++) await method.call(client, given);
    const answer = await method.call(client, given);
    const body: unknown = answer.body;
    const { status, requestId: request_id, credits, replayed } = answer;
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body;
    return { waits, answer: { body: text, status, request_id, credits, replayed } };
  } catch (error) {
    if (!(error instanceof BalcaoError)) throw error;
    const { code, message, status, requestId: request_id, credits, body } = error;
    const retry_after = error.retryAfter;
    return { waits, error: { code, message, status, request_id, credits, retry_after, body } };
  }
}

const outcomes: Record<string, unknown> = {};
for (const one of cases) outcomes[one.name] = await run(one);
const { timeoutSeconds: timeout_seconds } = new Balcao("http://h", "k");
console.log(JSON.stringify({ timeout_seconds, outcomes }));
