// Sending, retries and parsing, tested by `cases.json`.

/** Longer than the service's sources take, so that paid answers arrive. */
export const TIMEOUT_SECONDS = 60;
const ATTEMPTS = 4;
const WAIT_SECONDS_MAX = 60;
const RETRIED = new Set([409, 429, 503]);
const UNCERTAIN = "COBRANCA_INCERTA";

/** A successful answer; a certificate refused on its merits is one, too. */
export interface Answer<T> {
  readonly body: T;
  readonly status: number;
  readonly requestId: string | null;
  /** Charged credits. */
  readonly credits: number | null;
  /** Whether it is an earlier answer of the same Idempotency-Key, repeated at no cost. */
  readonly replayed: boolean;
  readonly headers: Headers;
}

export interface Options {
  readonly timeoutSeconds?: number;
  /** Replaces the pause, for tests. */
  readonly sleep?: (seconds: number) => Promise<unknown>;
}

interface ErrorDetails {
  readonly status?: number;
  readonly requestId?: string | null;
  readonly credits?: number | null;
  readonly retryAfter?: number | null;
  readonly body?: Envelope | null;
}

/** The request failed. Decide by `code`: messages are for people and may change. */
export class BalcaoError extends Error {
  /** Code of the service; `SEM_RESPOSTA` without a response, `HTTP_…` for a foreign one. */
  readonly code: string;
  /** 0 without a response. */
  readonly status: number;
  readonly requestId: string | null;
  /** Charged credits: 0 for errors of the service, null if unknown. */
  readonly credits: number | null;
  /** Seconds to wait before a retry, if the service sent them. */
  readonly retryAfter: number | null;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message);
    this.name = "BalcaoError";
    this.code = code;
    this.status = details.status ?? 0;
    this.requestId = details.requestId ?? null;
    this.credits = details.credits ?? null;
    this.retryAfter = details.retryAfter ?? null;
    this.body = details.body ?? {};
  }
}

/** A call of a generated method. Undefined is left out of query and headers. */
export interface Call {
  readonly method: string;
  /** With documents as texts: a CNPJ may have letters and leading zeros. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Whether the operation accepts an Idempotency-Key. */
  readonly idempotent?: boolean;
  readonly idempotencyKey?: string | undefined;
  readonly content?: BodyInit | undefined;
  readonly contentType?: string;
  readonly responseType?: "json" | "bytes";
}

interface Envelope extends Record<string, unknown> {
  readonly error: boolean;
  readonly error_message?: { readonly code?: string; readonly message?: string } | null;
}

interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly content: Uint8Array;
}

/** Base of `Balcao`. */
export class Runtime {
  readonly timeoutSeconds: number;
  readonly #address: string;
  readonly #key: string;
  readonly #sleep: (seconds: number) => Promise<unknown>;

  constructor(address: string, key: string, options: Options = {}) {
    this.timeoutSeconds = options.timeoutSeconds ?? TIMEOUT_SECONDS;
    this.#address = address.replace(/\/+$/, "");
    this.#key = key;
    this.#sleep =
      options.sleep ?? ((seconds) => new Promise((done) => setTimeout(done, seconds * 1000)));
  }

  /** Retry a call until there is an answer or retries are useless. */
  protected async ask<T>(call: Call): Promise<Answer<T>> {
    const givenKey = call.idempotencyKey;
    const repeatable = call.idempotent === true || call.method === "GET";
    let currentKey = givenKey ?? crypto.randomUUID();
    // An attempt that may have been executed and charged; from then on the key is not changed.
    let uncertain: BalcaoError | null = null;
    for (let attempt = 1; ; attempt++) {
      const received = await this.#send(call, currentKey);
      let wait = 2 ** (attempt - 1);
      let failure: BalcaoError;
      if (received instanceof BalcaoError) {
        // It may have been executed: repeat only with a key, or if it changes nothing.
        failure = uncertain = received;
        if (!repeatable) throw failure;
      } else {
        if (received.status >= 200 && received.status < 300 && call.responseType === "bytes") {
          return answer(received, received.content as T);
        }
        const body = read(received);
        if (body?.error === false) return answer(received, body as T);
        failure = refusal(received, body);
        if (!RETRIED.has(received.status)) throw failure;
        if (received.status === 409 && failure.retryAfter === null) throw failure;
        wait = failure.retryAfter ?? wait;
        if (received.status === 503) {
          // Of a proxy, or with an uncertain outcome: it may have been executed.
          if (body === null || failure.code === UNCERTAIN) {
            if (!repeatable) throw failure;
            uncertain = failure;
          } else if (uncertain === null || received.headers.get("idempotent-replayed") === "true") {
            // It ended at no cost, and this key would return the same answer again.
            uncertain = null;
            if (givenKey !== undefined) throw failure;
            currentKey = crypto.randomUUID();
          }
        }
      }
      if (attempt === ATTEMPTS || wait > WAIT_SECONDS_MAX) {
        // A 503 concerns only its own attempt; an earlier one may still have been charged.
        throw uncertain !== null && failure.status === 503 ? uncertain : failure;
      }
      await this.#sleep(wait);
    }
  }

  async #send(call: Call, idempotencyKey: string): Promise<Received | BalcaoError> {
    const headers = new Headers({ "x-api-key": this.#key });
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers.set(name, value);
    }
    if (call.idempotent) headers.set("Idempotency-Key", idempotencyKey);
    if (call.content !== undefined) {
      headers.set("Content-Type", call.contentType ?? "application/json");
    }
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) query.set(name, String(value));
    }
    const target = query.size > 0 ? `${call.path}?${query}` : call.path;
    try {
      const response = await fetch(this.#address + target, {
        method: call.method,
        headers,
        body: call.content ?? null,
        redirect: "manual", // the key must not reach another address
        signal: AbortSignal.timeout(this.timeoutSeconds * 1000),
      });
      const content = new Uint8Array(await response.arrayBuffer());
      return { status: response.status, headers: response.headers, content };
    } catch (error) {
      return new BalcaoError("SEM_RESPOSTA", String(error));
    }
  }
}

/** Encodes a document for a path. */
export function part(document: string): string {
  return encodeURIComponent(document);
}

/** Encodes a body, undefined if there is none. */
export function asJson(body: unknown): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body);
}

/** Returns the envelope, null if it is not the service's. */
function read(received: Received): Envelope | null {
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(received.content));
    const ours =
      typeof body === "object" && body !== null && "error" in body && typeof body.error === "boolean";
    return ours ? (body as Envelope) : null;
  } catch {
    return null;
  }
}

function number(text: string | null): number | null {
  return text !== null && /^[0-9]{1,9}$/.test(text) ? Number(text) : null;
}

function answer<T>(received: Received, body: T): Answer<T> {
  return {
    body,
    status: received.status,
    requestId: received.headers.get("x-request-id"),
    credits: number(received.headers.get("x-creditos-cobrados")),
    replayed: received.headers.get("idempotent-replayed") === "true",
    headers: received.headers,
  };
}

function refusal(received: Received, body: Envelope | null): BalcaoError {
  const detail = body?.error_message ?? {};
  return new BalcaoError(
    detail.code ?? `HTTP_${received.status}`,
    detail.message ?? "a resposta não é do serviço",
    {
      status: received.status,
      requestId: received.headers.get("x-request-id"),
      credits: number(received.headers.get("x-creditos-cobrados")),
      retryAfter: number(received.headers.get("retry-after")),
      body,
    },
  );
}
