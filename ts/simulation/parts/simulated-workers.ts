/**
 * Env workers in virtual time: a rollout samples one reply on its server, then its environment works and waits.
 *
 * Lengths, times and rewards are drawn from the seed of the rollout's request, so they depend on task and sample alone. A worker
 * computes for one rollout at a time. What comes from the orchestrator is kept until `place`, so that its own time and that of the
 * simulation can be measured apart.
 */
import { onAbort } from "../../async/aborted.ts";
import type { ReceivedEpisode, RunRequest } from "../../environments/internal.ts";
import type { EnvWorkers } from "../../orchestrator/index.ts";
import { lostRollout } from "../../orchestrator/internal.ts";
import { createRng } from "../../random/rng.ts";
import { madeUpAnswer, madeUpColumns, madeUpEpisode, madeUpTasks } from "../made-up-answers.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { completionLength, exponential } from "../draws.ts";
import { urlOf } from "./simulated-engines.ts";
import type { SimulatedServer } from "./simulated-server.ts";

export interface RolloutCosts {
  readonly promptTokens: number;
  /** Mean, and longest. */
  readonly completionTokens: number;
  readonly longestCompletion: number;
  /** Standard deviation of the completions' lengths, as a share of their mean. */
  readonly spread: number;
  /** Mean seconds that the environment waits, for sandboxes for example. */
  readonly envSeconds: number;
  /** Seconds that a worker computes for a rollout. */
  readonly envCpuSeconds: number;
  readonly envWorkers: number;
}

interface Arrival {
  readonly request: RunRequest;
  readonly signal: AbortSignal;
  readonly resolve: (answer: ReceivedEpisode) => void;
}

/** Tokens of an answer: what it says of itself is longer. */
const TOKENS = Uint32Array.of(1, 2, 3);
const PROMPT = 1;

export class SimulatedWorkers implements EnvWorkers {
  readonly tasks = madeUpTasks;
  readonly #clock: VirtualClock;
  readonly #costs: RolloutCosts;
  readonly #servers: ReadonlyMap<string, SimulatedServer>;
  #arrivals: Arrival[] = [];
  /** When each worker is free. */
  readonly #free: number[];
  readonly #columns = new Map<string, Uint8Array>();
  #assignedSeconds = 0;
  #returned = 0;

  constructor(clock: VirtualClock, servers: readonly SimulatedServer[], costs: RolloutCosts) {
    this.#clock = clock;
    this.#costs = costs;
    this.#servers = new Map(servers.map((server, index) => [urlOf(index), server]));
    this.#free = Array.from({ length: costs.envWorkers }, () => 0);
  }

  /** Sums since the beginning: seconds that workers computed, rollouts that came back. */
  totals(): { readonly busy: number; readonly returned: number } {
    const { now } = this.#clock;
    const ahead = this.#free.reduce((sum, free) => sum + Math.max(0, free - now), 0);
    return { busy: this.#assignedSeconds - ahead, returned: this.#returned };
  }

  run(request: RunRequest, signal: AbortSignal): Promise<ReceivedEpisode> {
    return new Promise((resolve) => this.#arrivals.push({ request, signal, resolve }));
  }

  scoreGroup(): Promise<never> {
    return Promise.reject(new Error("rollouts that are made up compare nothing"));
  }

  async close(): Promise<void> {}

  /** Puts what has come since the last call on its servers. True when there was something. */
  place(): boolean {
    const arrivals = this.#arrivals;
    this.#arrivals = [];
    for (const arrival of arrivals) this.#begin(arrival);
    return arrivals.length > 0;
  }

  #begin({ request, signal, resolve }: Arrival): void {
    const server = this.#servers.get(request.inference.url);
    if (server === undefined) throw new Error(`there is no simulated server at ${request.inference.url}`);
    const answer = (received: ReceivedEpisode): void => {
      signal.removeEventListener("abort", cancel);
      this.#returned += 1;
      this.#clock.seen();
      resolve(received);
    };
    let isCancelled = false;
    const cancel = (): void => {
      isCancelled = true;
      takeOff();
      answer(lostRollout(request, "PRL_EPISODE_CANCELLED", "cancelled"));
    };
    const rng = createRng(request.seed);
    const { promptTokens, envSeconds } = this.#costs;
    const completionTokens = completionLength(rng, this.#costs);
    const waits = exponential(rng, envSeconds);
    const reward = rng.next();
    const takeOff = server.add({
      group: request.group_id,
      promptTokens,
      completionTokens,
      onEnd: ({ start, end }) =>
        this.#clock.at(this.#computed() + waits, () => {
          if (isCancelled) return;
          const episode = madeUpEpisode(request, { reward, promptTokens, completionTokens, start, end });
          answer(madeUpAnswer(episode, this.#columnsOf(start, end)));
        }),
    });
    onAbort(signal, cancel);
  }

  /** When a worker has computed for a rollout that comes now. */
  #computed(): number {
    const { envCpuSeconds } = this.#costs;
    let first = 0;
    for (const [worker, free] of this.#free.entries()) if (free < (this.#free[first] ?? 0)) first = worker;
    const begins = Math.max(this.#clock.now, this.#free[first] ?? 0);
    this.#free[first] = begins + envCpuSeconds;
    this.#assignedSeconds += envCpuSeconds;
    return begins + envCpuSeconds;
  }

  #columnsOf(start: number, end: number): Uint8Array {
    const name = `${start} ${end}`;
    const known = this.#columns.get(name) ?? madeUpColumns(TOKENS, PROMPT, { start, end });
    this.#columns.set(name, known);
    return known;
  }
}
