/**
 * Finds the inference servers of a run: those that its launcher keeps, by their ready files, which come and go with the processes; and
 * those that were running before, by their addresses. One of the latter that answers is enough to begin: the others join when they answer.
 */
import { setTimeout as sleep } from "node:timers/promises";

import { messageOf, PrlError } from "../../errors.ts";
import { InferenceAdmin, VllmAdmin } from "../../inference-client/index.ts";
import { type Metrics, readReadyFile } from "../../monitors/index.ts";
import { transportToken } from "../../transports/index.ts";
import type { EngineFleet } from "./engine-fleet.ts";
import type { PlacedEngine } from "./engine-member.ts";

const COMPONENT = "inference";
const INTERVAL_MS = 250;
const ANSWER_POLL_MS = 500;
/** How long the run waits for the other servers, which may start at the same time, once one has answered. */
const TOGETHER_MS = 5_000;
/** Errors of a server that is not up yet, or is down for now. */
const PASSING: ReadonlySet<unknown> = new Set([
  "PRL_INFERENCE_UNREACHABLE",
  "PRL_INFERENCE_TIMEOUT",
  "PRL_INFERENCE_RATE_LIMIT",
  "PRL_INFERENCE_FAILED",
]);

/** Servers by their addresses: those that have answered, in the order of the addresses, and those that have not. */
export interface RunningServers {
  placed: PlacedEngine[];
  silent: { index: number; url: string; error: unknown }[];
}

type RunningAdmin = InferenceAdmin | VllmAdmin;

/** Connections to engines, kept as long as the engines are there. */
export class EngineDirectory {
  readonly #api: "prl" | "vllm";
  readonly #apiKey: string | null;
  readonly #adapter: string | null;
  readonly #connected = new Map<string, { placed: PlacedEngine; admin: RunningAdmin }>();

  /**
   * `api`: kind of the servers; `apiKey`: the key that those want which have no key of a run; `adapter`: the name of the adapter that vLLMs of
   * the run load as its versions.
   */
  constructor(api: "prl" | "vllm" = "prl", apiKey: string | null = null, adapter: string | null = null) {
    this.#api = api;
    this.#apiKey = apiKey;
    this.#adapter = adapter;
  }

  /** Those of the run's `count` servers that have written a ready file. Errors: PRL_IO. */
  async ready(runDir: string, count: number): Promise<PlacedEngine[]> {
    const found: PlacedEngine[] = [];
    for (let index = 0; index < count; index++) {
      const file = await readReadyFile(runDir, COMPONENT, index);
      if (file?.url === undefined) continue;
      const { url, pid, ready_at: since, isa = "", dtype = "", weights = null } = file;
      found.push(this.#place(`${COMPONENT}-${index}`, `${pid} ${since}`, { url, isa, dtype, weights }));
    }
    this.#forgetOthers(found);
    return found;
  }

  /** Keeps the engines of a run up to date until the signal is aborted. Rejects with PRL_IO. */
  async follow(runDir: string, count: number, fleet: Pick<EngineFleet, "update">, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      fleet.update(await this.ready(runDir, count));
      await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Connects to servers that run already; each is asked for its kind and its model. Resolves when all have answered, or when one has and the others
   * had `togetherMs` to.
   *
   * @throws PrlError `PRL_INFERENCE_UNREACHABLE` when none answers within `deadlineMs`, and at once what a server refuses the questions with
   */
  async running(
    urls: readonly string[],
    deadlineMs: number,
    signal: AbortSignal,
    togetherMs = TOGETHER_MS,
  ): Promise<RunningServers> {
    const [latest, together] = [deadlineMs, togetherMs].map((ms) => performance.now() + ms) as [number, number];
    const placed = new Map<number, PlacedEngine>();
    for (;;) {
      const silent: RunningServers["silent"] = [];
      await Promise.all(
        [...urls.entries()].map(async ([index, given]) => {
          if (placed.has(index)) return;
          const url = addressOf(given);
          try {
            placed.set(index, await this.#ask(index, url, signal));
          } catch (error) {
            signal.throwIfAborted();
            if (!isPassing(error)) throw error;
            silent.push({ index, url, error });
          }
        }),
      );
      const now = performance.now();
      if (silent.length === 0 || (placed.size > 0 && now >= together)) return { placed: inOrder(placed), silent };
      if (placed.size === 0 && now >= latest) throw noneAnswered(silent, deadlineMs);
      await sleep(ANSWER_POLL_MS, undefined, { signal });
    }
  }

  /** Admits the silent servers of `running` as soon as they answer, until the signal is aborted; each is logged once. */
  async followRunning(
    { placed, silent }: RunningServers,
    fleet: Pick<EngineFleet, "update">,
    metrics: Pick<Metrics, "event">,
    signal: AbortSignal,
  ): Promise<void> {
    const known = new Map(placed.map((engine) => [indexOf(engine), engine]));
    const logAddress = (type: string, url: string, error: unknown): void =>
      metrics.event(type, { engine: url, reason: messageOf(error) });
    for (const { url, error } of silent) logAddress("engine_missing", url, error);
    const admit = async ({ index, url }: RunningServers["silent"][number]): Promise<void> => {
      while (!signal.aborted) {
        try {
          known.set(index, await this.#ask(index, url, signal));
          fleet.update(inOrder(known));
          return;
        } catch (error) {
          if (signal.aborted) return;
          // The run goes on with the others: a server of another kind is no reason to end it now.
          if (!isPassing(error)) return logAddress("engine_refused", url, error);
        }
        await sleep(ANSWER_POLL_MS, undefined, { signal }).catch(() => undefined);
      }
    };
    await Promise.all(silent.map(admit));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connected.values()].map(({ admin }) => admin.close()));
  }

  async #ask(index: number, url: string, signal: AbortSignal): Promise<PlacedEngine> {
    const admin = this.#admin({ url, retries: 0 });
    try {
      const { isa, dtype, weights } = await admin.about(signal);
      const [model] = await admin.models(signal);
      const engine = { url, isa, dtype, weights, ...(model !== undefined && { model: model.id }) };
      return this.#place(`${COMPONENT}-${index}`, url, engine);
    } finally {
      await admin.close();
    }
  }

  #place(name: string, identity: string, engine: Omit<PlacedEngine["engine"], "admin">): PlacedEngine {
    const known = this.#connected.get(`${name} ${identity}`);
    if (known !== undefined) return known.placed;
    const admin = this.#admin({ url: engine.url });
    const placed = { name, identity, engine: { ...engine, admin } };
    this.#connected.set(`${name} ${identity}`, { placed, admin });
    return placed;
  }

  #admin(options: { url: string; retries?: number }): RunningAdmin {
    return this.#api === "vllm"
      ? new VllmAdmin({ ...options, token: this.#apiKey, adapter: this.#adapter })
      : new InferenceAdmin({ ...options, token: transportToken(process.env) ?? this.#apiKey });
  }

  #forgetOthers(placed: readonly PlacedEngine[]): void {
    for (const [key, { placed: known, admin }] of this.#connected) {
      if (placed.includes(known)) continue;
      this.#connected.delete(key);
      admin.close().catch(() => undefined);
    }
  }
}

function addressOf(given: string): string {
  return given.replace(/\/+$/u, "").replace(/\/v1$/u, "");
}

function isPassing(error: unknown): boolean {
  return error instanceof PrlError && PASSING.has(error.code);
}

function indexOf({ name }: PlacedEngine): number {
  return Number(name.slice(COMPONENT.length + 1));
}

function inOrder(placed: ReadonlyMap<number, PlacedEngine>): PlacedEngine[] {
  return [...placed].toSorted(([a], [b]) => a - b).map(([, engine]) => engine);
}

function noneAnswered(silent: RunningServers["silent"], deadlineMs: number): PrlError {
  const urls = silent.map(({ url }) => url).join(", ");
  const message = `none of the inference servers answered within ${deadlineMs / 1000} s (${urls}): start them, or see orchestrator.client.base_url`;
  return new PrlError("PRL_INFERENCE_UNREACHABLE", message, { cause: silent[0]?.error });
}
