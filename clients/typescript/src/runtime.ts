// How requests are sent, repeated and read: `cases.json` says what it must do.

/** More than the service's sources get, so that what was paid for arrives. */
export const TIMEOUT_SECONDS = 60;
const ATTEMPTS = 4;
const WAIT_SECONDS_MAX = 60;
const REPEATED = new Set([409, 429, 503]);
const UNCERTAIN = "COBRANCA_INCERTA";

/** An answer that is no error. A certificate that was refused on its merits is one, too. */
export interface Answer<T> {
  readonly body: T;
  readonly status: number;
  readonly requestId: string | null;
  /** What it cost. */
  readonly credits: number | null;
  /** Whether it is an earlier answer under the same Idempotency-Key, told again at no cost. */
  readonly replayed: boolean;
  readonly headers: Headers;
}

export interface Options {
  readonly timeoutSeconds?: number;
  /** Instead of the real pause, for tests. */
  readonly sleep?: (seconds: number) => Promise<unknown>;
}

interface Told {
  readonly status?: number;
  readonly requestId?: string | null;
  readonly credits?: number | null;
  readonly retryAfter?: number | null;
  readonly body?: Envelope | null;
}

/** The question was not answered. Decide by `code`: messages are for people, and change. */
export class BalcaoError extends Error {
  /** The service's; `SEM_RESPOSTA` without an answer, `HTTP_…` if it was somebody else's. */
  readonly code: string;
  /** 0 without an answer. */
  readonly status: number;
  readonly requestId: string | null;
  /** What it cost: 0 of an error of the service; null where nobody said. */
  readonly credits: number | null;
  /** Seconds after which the service would be asked in vain no more, if it said so. */
  readonly retryAfter: number | null;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, told: Told = {}) {
    super(message);
    this.name = "BalcaoError";
    this.code = code;
    this.status = told.status ?? 0;
    this.requestId = told.requestId ?? null;
    this.credits = told.credits ?? null;
    this.retryAfter = told.retryAfter ?? null;
    this.body = told.body ?? {};
  }
}

/** One question, as the generated methods put it. Undefined is left out of query and headers. */
export interface Call {
  readonly method: string;
  /** Each document kept to the letter: a CNPJ may have letters, and zeros at its start. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Whether the operation takes an Idempotency-Key. */
  readonly once?: boolean;
  readonly idempotencyKey?: string | undefined;
  readonly content?: BodyInit | undefined;
  readonly contentType?: string;
  readonly reads?: "json" | "bytes";
}

interface Envelope extends Record<string, unknown> {
  readonly error: boolean;
  readonly error_message?: { readonly code?: string; readonly message?: string } | null;
}

interface Came {
  readonly status: number;
  readonly headers: Headers;
  readonly content: Uint8Array;
}

/** What `Balcao` is made of. */
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

  /** Ask until there is an answer, or nothing is to be expected of asking again. */
  protected async ask<T>(call: Call): Promise<Answer<T>> {
    const own = call.idempotencyKey;
    const harmless = call.once === true || call.method === "GET";
    let once = own ?? crypto.randomUUID();
    // The last attempt that may have been carried out and charged: the key is kept to the end.
    let doubt: BalcaoError | null = null;
    for (let attempt = 1; ; attempt++) {
      const came = await this.#send(call, once);
      let wait = 2 ** (attempt - 1);
      let failure: BalcaoError;
      if (came instanceof BalcaoError) {
        // It may have been done: only what is known by its key, or changes nothing, is repeated.
        failure = doubt = came;
        if (!harmless) throw failure;
      } else {
        if (came.status >= 200 && came.status < 300 && call.reads === "bytes") {
          return answer(came, came.content as T);
        }
        const body = read(came);
        if (body?.error === false) return answer(came, body as T);
        failure = refusal(came, body);
        if (!REPEATED.has(came.status)) throw failure;
        if (came.status === 409 && failure.retryAfter === null) throw failure;
        wait = failure.retryAfter ?? wait;
        if (came.status === 503) {
          // A proxy's, or an uncertain one of the service: it may have been done.
          if (body === null || failure.code === UNCERTAIN) {
            if (!harmless) throw failure;
            doubt = failure;
          } else if (doubt === null || came.headers.get("idempotent-replayed") === "true") {
            // It ended there, at no cost, and would be told again under this key.
            doubt = null;
            if (own !== undefined) throw failure;
            once = crypto.randomUUID();
          }
        }
      }
      if (attempt === ATTEMPTS || wait > WAIT_SECONDS_MAX) {
        // A 503 is about its own attempt alone, and leaves an earlier one open.
        throw doubt !== null && failure.status === 503 ? doubt : failure;
      }
      await this.#sleep(wait);
    }
  }

  async #send(call: Call, once: string): Promise<Came | BalcaoError> {
    const headers = new Headers({ "x-api-key": this.#key });
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers.set(name, value);
    }
    if (call.once) headers.set("Idempotency-Key", once);
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
        redirect: "manual", // the key is for this address alone
        signal: AbortSignal.timeout(this.timeoutSeconds * 1000),
      });
      const content = new Uint8Array(await response.arrayBuffer());
      return { status: response.status, headers: response.headers, content };
    } catch (error) {
      return new BalcaoError("SEM_RESPOSTA", String(error));
    }
  }
}

/** A document's place in a path. */
export function part(document: string): string {
  return encodeURIComponent(document);
}

/** A body to send; undefined stays none. */
export function asJson(body: unknown): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body);
}

/** The envelope; null where it is not the service's. */
function read(came: Came): Envelope | null {
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(came.content));
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

function answer<T>(came: Came, body: T): Answer<T> {
  return {
    body,
    status: came.status,
    requestId: came.headers.get("x-request-id"),
    credits: number(came.headers.get("x-creditos-cobrados")),
    replayed: came.headers.get("idempotent-replayed") === "true",
    headers: came.headers,
  };
}

function refusal(came: Came, body: Envelope | null): BalcaoError {
  const detail = body?.error_message ?? {};
  return new BalcaoError(
    detail.code ?? `HTTP_${came.status}`,
    detail.message ?? "a resposta não é do serviço",
    {
      status: came.status,
      requestId: came.headers.get("x-request-id"),
      credits: number(came.headers.get("x-creditos-cobrados")),
      retryAfter: number(came.headers.get("retry-after")),
      body,
    },
  );
}
