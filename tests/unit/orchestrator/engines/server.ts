/** An inference server for tests of the fleet, and versions for it. */
import { setTimeout as sleep } from "node:timers/promises";

import { type ErrorCode, PrlError } from "../../../../ts/errors.ts";
import type { PlacedEngine } from "../../../../ts/orchestrator/index.ts";
import type { AvailableWeights } from "../../../../ts/transports/index.ts";

/** A server: what it holds, and what is wrong with it. */
export class Server {
  readonly url: string;
  holds = "0 base";
  isPaused = false;
  isUp = true;
  isHung = false;
  failures = 0;
  failure: ErrorCode = "PRL_INFERENCE_FAILED";
  swapMs = 0;
  /** A version that cannot be brought there. */
  neverHas = -1;
  /** What is asleep, and all calls that change it. */
  readonly asleep = new Set<"weights" | "kv_cache">();
  readonly calls: string[] = [];
  /** Changes with the process. */
  life = 0;

  constructor(url: string) {
    this.url = url;
  }

  startAnew(): void {
    this.asleep.clear();
    Object.assign(this, {
      holds: "0 base",
      isPaused: false,
      isUp: true,
      isHung: false,
      failures: 0,
      life: this.life + 1,
    });
  }

  async #answer(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { life } = this;
    if (this.isHung) {
      // The client's deadline.
      await sleep(30, undefined, { signal });
      if (this.isHung) throw new PrlError("PRL_INFERENCE_TIMEOUT", "no answer in time");
    } else await sleep(0);
    if (!this.isUp || life !== this.life) throw new PrlError("PRL_INFERENCE_UNREACHABLE", "it is down");
  }

  placed(name: string): PlacedEngine {
    const admin: PlacedEngine["engine"]["admin"] = {
      prefetchWeights: async () => Promise.reject(new Error("weights are in a folder")),
      pause: async (_mode, signal) => {
        await this.#answer(signal);
        this.calls.push("pause");
        this.isPaused = true;
      },
      sleep: async (level, signal) => {
        await this.#answer(signal);
        this.calls.push(`sleep ${level}`);
        this.asleep.add("weights").add("kv_cache");
        if (level > 1) this.holds = "-1 loading";
      },
      wakeUp: async (what, signal) => {
        await this.#answer(signal);
        this.calls.push(`wake ${what}`);
        this.asleep.delete(what);
        if (this.asleep.size === 0) this.isPaused = false;
      },
      isSleeping: async (signal) => {
        await this.#answer(signal);
        return this.isPaused || this.asleep.size > 0;
      },
      updateWeights: async ({ version, digest }, signal) => {
        await this.#answer(signal);
        if (!this.isPaused) throw new Error("swapped while it ran");
        if (this.asleep.has("weights")) throw new Error("swapped while its weights were asleep");
        if (version === this.neverHas) throw new PrlError("PRL_WEIGHTS_SUPERSEDED", "there is a newer one");
        const { life } = this;
        await sleep(this.swapMs, undefined, { signal });
        if (life !== this.life) throw new PrlError("PRL_INFERENCE_UNREACHABLE", "the connection broke");
        if (this.failures > 0) {
          this.failures -= 1;
          throw new PrlError(this.failure, "out of memory");
        }
        this.calls.push(`update ${version}`);
        this.holds = `${version} ${digest}`;
        return { skipped: false };
      },
      resume: async (signal) => {
        await this.#answer(signal);
        this.calls.push("resume");
        this.isPaused = false;
      },
      promptLogprobs: async (_ids, signal) => {
        await this.#answer(signal);
        // Of weights that are not the asked ones the canary is another.
        return Float32Array.of(0, this.holds === "0 base" ? -9 : -1);
      },
      health: async (signal) => {
        await this.#answer(signal);
        const [version, digest = null] = this.holds.split(" ");
        return { status: "ok", paused: this.isPaused, policyVersion: Number(version), digest, running: 0, waiting: 0 };
      },
      load: async () => [],
    };
    const engine = { url: this.url, isa: "portable", dtype: "float32", weights: null, admin };
    return { name, identity: `${this.life}`, engine };
  }
}

export function weights(version: number, release: () => void = () => {}): AvailableWeights {
  const canary = { tokenIds: [1, 2], logprobs: [0, -1], isa: "portable", dtype: "float32" };
  const manifest = { format: "prl-weights", version, digest: `d${version}`, base: null, shards: [], canary };
  return {
    manifest: { ...manifest, encoding: "full" },
    source: { dir: "/weights" },
    acknowledge: async () => {},
    release: async () => release(),
  };
}
