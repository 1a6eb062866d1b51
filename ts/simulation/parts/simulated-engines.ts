/** Simulated servers as the engine fleet sees them: versions reach them after the time that their bytes take. */
import type { EngineAdmin } from "../../orchestrator/internal.ts";
import type { PlacedEngine } from "../../orchestrator/index.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { SimulatedServer } from "./simulated-server.ts";

export interface SwapCosts {
  /** Seconds of a version from one node of the tree to the next, while the servers sample. */
  readonly hopSeconds: number;
  /** Seconds in which a server is paused. */
  readonly swapSeconds: number;
}

/** A node of the tree sends to two at once. */
const SHARED = 2;

export class SimulatedEngines {
  readonly placed: readonly PlacedEngine[];
  #moving = 0;

  constructor(clock: VirtualClock, servers: readonly SimulatedServer[], costs: SwapCosts) {
    this.placed = servers.map((server, index) => {
      const name = `inference-${index}`;
      const url = urlOf(index);
      const admin = this.#adminOf(clock, server, costs);
      return { name, identity: url, engine: { url, isa: "none", dtype: "bfloat16", weights: name, admin } };
    });
  }

  /** Some server gets or loads a version. */
  get isMoving(): boolean {
    return this.#moving > 0;
  }

  #adminOf(clock: VirtualClock, server: SimulatedServer, { hopSeconds, swapSeconds }: SwapCosts): EngineAdmin {
    const takes = async (seconds: number, signal?: AbortSignal): Promise<void> => {
      if (seconds === 0) return;
      this.#moving += 1;
      await clock.until(clock.now + seconds, signal);
      this.#moving -= 1;
      signal?.throwIfAborted();
    };
    return {
      // The run begins with version 0 on all servers.
      async prefetchWeights({ version, source }, signal) {
        const hops = "grpc" in source ? source.grpc.length : 0;
        if (version > 0 && hops > 0) await takes(hopSeconds * (1 + SHARED * (hops - 1)), signal);
      },
      pause: async () => server.pause(),
      async updateWeights({ version }, signal) {
        if (version > 0) await takes(swapSeconds, signal);
        server.version = version;
        return { skipped: false };
      },
      resume: async () => server.resume(),
      // Simulated servers have their GPUs to themselves.
      sleep: async () => undefined,
      wakeUp: async () => undefined,
      isSleeping: async () => false,
      promptLogprobs: async (tokenIds) => new Float32Array(tokenIds.length),
      health: async () => {
        const { running, waiting } = server.load();
        const { version } = server;
        return { status: "ok", paused: false, policyVersion: version, digest: String(version), running, waiting };
      },
      load: async () => [{ engine: "0", ...server.load() }],
    };
  }
}

export function urlOf(index: number): string {
  return `http://inference-${index}`;
}
