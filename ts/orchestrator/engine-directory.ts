/**
 * Where the inference servers of a run are: those that its launcher keeps, by their ready files, which come and go with the processes; and
 * those that were running before, by their addresses.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { PrlError } from "../errors.ts";
import { InferenceAdmin } from "../inference/index.ts";
import { type ReadyFile, readyFilePath } from "../monitors/index.ts";
import type { EngineFleet } from "./engine-fleet.ts";
import type { PlacedEngine } from "./engine-member.ts";

const COMPONENT = "inference";
const INTERVAL_MS = 250;
const ANSWER_POLL_MS = 500;

/** Connections to engines, kept as long as the engines are there. */
export class EngineDirectory {
  readonly #connected = new Map<string, { placed: PlacedEngine; admin: InferenceAdmin }>();

  /** The servers of the run that have said that they are ready, of `count`. Errors: PRL_IO. */
  async ready(runDir: string, count: number): Promise<PlacedEngine[]> {
    const found: PlacedEngine[] = [];
    for (let index = 0; index < count; index++) {
      const file = await readReadyFile(runDir, index);
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
   * Servers that run already; each is asked what it is and which model it serves, until it answers.
   *
   * @throws PrlError `PRL_INFERENCE_UNREACHABLE` when one does not answer within `deadlineMs`
   */
  async running(urls: readonly string[], deadlineMs: number, signal: AbortSignal): Promise<PlacedEngine[]> {
    const latest = performance.now() + deadlineMs;
    return Promise.all(
      urls.map(async (given, index) => {
        const url = given.replace(/\/+$/u, "").replace(/\/v1$/u, "");
        const admin = new InferenceAdmin({ url });
        try {
          const { isa, dtype, weights } = await untilAnswered(() => admin.about(signal), latest, signal);
          const [model] = await admin.models(signal);
          const engine = { url, isa, dtype, weights, ...(model !== undefined && { model: model.id }) };
          return this.#place(`${COMPONENT}-${index}`, url, engine);
        } finally {
          await admin.close();
        }
      }),
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connected.values()].map(({ admin }) => admin.close()));
  }

  #place(name: string, identity: string, engine: Omit<PlacedEngine["engine"], "admin">): PlacedEngine {
    const known = this.#connected.get(`${name} ${identity}`);
    if (known !== undefined) return known.placed;
    const admin = new InferenceAdmin({ url: engine.url });
    const placed = { name, identity, engine: { ...engine, admin } };
    this.#connected.set(`${name} ${identity}`, { placed, admin });
    return placed;
  }

  #forgetOthers(placed: readonly PlacedEngine[]): void {
    for (const [key, { placed: known, admin }] of this.#connected) {
      if (placed.includes(known)) continue;
      this.#connected.delete(key);
      admin.close().catch(() => undefined);
    }
  }
}

async function readReadyFile(runDir: string, index: number): Promise<ReadyFile | null> {
  try {
    return JSON.parse(await readFile(readyFilePath(runDir, COMPONENT, index), "utf8")) as ReadyFile;
  } catch (cause) {
    // Not written yet, or taken away by the launcher because its process has ended; it is written in one piece.
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new PrlError("PRL_IO", `the ready file of ${COMPONENT}-${index} cannot be read`, { cause });
  }
}

async function untilAnswered<T>(ask: () => Promise<T>, latest: number, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isSilent = error instanceof PrlError && error.code === "PRL_INFERENCE_UNREACHABLE";
      if (!isSilent || signal.aborted || performance.now() > latest) throw error;
      await sleep(ANSWER_POLL_MS, undefined, { signal });
    }
  }
}
