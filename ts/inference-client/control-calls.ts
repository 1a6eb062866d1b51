/**
 * Control calls to one inference server of either kind: over separate connections, so that none waits behind generation, with a deadline
 * for each kind of call, and retries when the server was not reached. All of them may safely be repeated: each names the wanted state.
 */
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { Connections } from "./connections.ts";
import { exchange } from "./http-json.ts";
import { type EngineLoad, parseEngineLoads } from "./engine-load.ts";

export interface AdminDeadlines {
  /** Pause, resume, cache reset. Default 5 minutes. */
  controlMs: number;
  /** Loading weights. Default 12 minutes. */
  updateMs: number;
  /** Health, models, metrics. Default 10 s. */
  statusMs: number;
}

export interface AdminOptions {
  url: string;
  /** Bearer token for the server's control routes, which opens its other routes, too. */
  token?: string | null;
  deadlines?: Partial<AdminDeadlines>;
  /** Retries of a call that does not reach the server. */
  retries?: number;
}

export interface ServedModel {
  id: string;
  maxModelLen: number;
}

const DEFAULT_DEADLINES: AdminDeadlines = { controlMs: 300_000, updateMs: 720_000, statusMs: 10_000 };
const CONNECTIONS = 4;
/** Characters of a message that say what is wrong with an answer. */
const LONGEST_PROBLEM = 500;
const modelsSchema = z.object({ data: z.array(z.object({ id: z.string(), max_model_len: z.number() })).optional() });
const KEEP_ALIVE_MS = 30_000;
const RETRIES = 5;

/** Errors of every call: PRL_INFERENCE_UNREACHABLE, _TIMEOUT, _REQUEST, _AUTH, _UNSUPPORTED, _FAILED, of weights PRL_WEIGHTS_SUPERSEDED and PRL_INFERENCE_FOLDER; an abort rejects with its reason. */
export class ControlCalls {
  readonly url: string;
  readonly deadlines: AdminDeadlines;
  readonly #connections: Connections;
  readonly #retries: number;
  readonly #headers: Record<string, string>;

  constructor({ url, token = null, deadlines, retries = RETRIES }: AdminOptions) {
    this.url = url.replace(/\/+$/, "");
    this.deadlines = { ...DEFAULT_DEADLINES, ...deadlines };
    this.#retries = retries;
    this.#headers = token === null ? {} : { authorization: `Bearer ${token}` };
    this.#connections = new Connections(this.url, { connections: CONNECTIONS, keepAliveTimeout: KEEP_ALIVE_MS });
  }

  get(path: string, signal?: AbortSignal, deadlineMs = this.deadlines.statusMs): Promise<string> {
    return this.#send({ method: "GET", path, deadlineMs, signal });
  }

  post(path: string, body?: unknown, signal?: AbortSignal, deadlineMs = this.deadlines.controlMs): Promise<string> {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return this.#send({ method: "POST", path, ...text, deadlineMs, signal });
  }

  /** The fields of an answer. Errors: PRL_INFERENCE_FAILED for what is no JSON, or not of this schema. */
  parse<Schema extends z.ZodType>(path: string, text: string, schema: Schema): z.output<Schema> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw new PrlError("PRL_INFERENCE_FAILED", `${this.url}${path}: the answer is not JSON`, { cause });
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const problem = z.prettifyError(parsed.error).slice(0, LONGEST_PROBLEM);
    throw new PrlError("PRL_INFERENCE_FAILED", `${this.url}${path}: the answer makes no sense: ${problem}`);
  }

  async models(signal?: AbortSignal): Promise<ServedModel[]> {
    const { data = [] } = this.parse("/v1/models", await this.get("/v1/models", signal), modelsSchema);
    return data.map(({ id, max_model_len: maxModelLen }) => ({ id, maxModelLen }));
  }

  /** Loads of the server's engines; empty when its metrics do not have them. */
  async load(signal?: AbortSignal): Promise<EngineLoad[]> {
    return parseEngineLoads(await this.get("/metrics", signal));
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  #send(request: Omit<Parameters<typeof exchange>[2], "retries" | "headers">): Promise<string> {
    return exchange(this.#connections, this.url, { ...request, headers: this.#headers, retries: this.#retries });
  }
}
