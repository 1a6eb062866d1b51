/**
 * One run of the real orchestrator in virtual time: its parts as `connectParts` connects them, the engine fleet and the routing of rollouts,
 * with made-up servers, env workers and a trainer behind the interfaces.
 *
 * Time moves only while the orchestrator has nothing to do: its work costs no virtual time. So results follow from config, costs and seed, never
 * from the speed of this machine; only the CPU time that the orchestrator used is measured. The run begins with version 0, saves no
 * checkpoints, evaluates nothing and ends after a number of trained batches.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";

import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import type { Metrics } from "../monitors/index.ts";
import { EngineFleet } from "../orchestrator/index.ts";
import { connectParts, type OrchestratorParts, routedWorkers } from "../orchestrator/internal.ts";
import type { WeightSource } from "../transports/index.ts";
import { CpuAccount } from "./cpu-account.ts";
import { type RunMeasures, RunMeter } from "./run-measures.ts";
import { SimulatedEngines, type SwapCosts } from "./parts/simulated-engines.ts";
import { type ServerCosts, SimulatedServer } from "./parts/simulated-server.ts";
import { type SimulatedBatch, SimulatedTrainer, type TrainerCosts } from "./parts/simulated-trainer.ts";
import { type RolloutCosts, SimulatedWorkers } from "./parts/simulated-workers.ts";
import { VirtualClock } from "./virtual-clock.ts";

export interface SimulatedRunOptions {
  /** As `simulatedConfig` makes it. */
  readonly config: RlConfig;
  readonly servers: number;
  readonly server: ServerCosts;
  readonly swap: SwapCosts;
  readonly rollout: RolloutCosts;
  readonly trainer: Omit<TrainerCosts, "source">;
  /** Batches that are trained before the measurement begins, and in it. */
  readonly warmUp: number;
  readonly measured: number;
  readonly signal: AbortSignal;
}

/** The orchestrator works on one event at most this long before it counts as hanging. */
const LONGEST_WORK_MS = 120_000;
/** Timers of the fleet: virtual time decides what is late here. */
const NEVER_MS = 2 ** 31 - 1;

/** Errors: PRL_ORCHESTRATOR_FAULT when the run comes to a stop; those of the orchestrator; an abort rejects with its reason. */
export async function simulateRun(options: SimulatedRunOptions): Promise<RunMeasures> {
  const runDir = await mkdtemp(join(tmpdir(), "prl-simulation-"));
  const run = new SimulatedRun(options, runDir);
  try {
    return await run.run();
  } finally {
    await run.stop();
    await rm(runDir, { recursive: true, force: true });
  }
}

class SimulatedRun {
  readonly #options: SimulatedRunOptions;
  readonly #clock = new VirtualClock();
  readonly #cpu = new CpuAccount();
  readonly #servers: readonly SimulatedServer[];
  readonly #engines: SimulatedEngines;
  readonly #fleet: EngineFleet;
  readonly #workers: SimulatedWorkers;
  readonly #trainer: SimulatedTrainer;
  readonly #parts: OrchestratorParts;
  readonly #ending = new AbortController();
  readonly #meter: RunMeter;
  #failure: { readonly error: unknown } | null = null;
  #assembling: Promise<void> = Promise.resolve();

  constructor(options: SimulatedRunOptions, runDir: string) {
    this.#options = options;
    const { config } = options;
    const source: WeightSource = config.weight_broadcast.type === "grpc" ? { grpc: ["trainer"] } : { dir: runDir };
    this.#servers = Array.from({ length: options.servers }, () => new SimulatedServer(this.#clock, options.server));
    this.#engines = new SimulatedEngines(this.#clock, this.#servers, options.swap);
    this.#workers = new SimulatedWorkers(this.#clock, this.#servers, options.rollout);
    this.#trainer = new SimulatedTrainer(this.#clock, { ...options.trainer, source });
    const metrics = this.#metrics();
    const times = { probeMs: NEVER_MS, swapMs: NEVER_MS, patienceMs: NEVER_MS };
    this.#fleet = new EngineFleet(this.#engines.placed, { maxMeanAbs: 0, metrics, times });
    const never = { recovery_interval: Infinity, interval: null, keep_last: null, keep_interval: null };
    this.#parts = connectParts(
      {
        resume: null,
        checkpoints: { root: join(runDir, "checkpoints"), run: "simulation", attempt: 1, rules: never },
        runDir,
        config,
        modelName: "simulated",
        engines: this.#fleet,
        workers: routedWorkers(this.#workers, this.#fleet),
        rollouts: this.#trainer.sender,
        weights: this.#trainer.follower,
        metrics,
        signal: this.#ending.signal,
      },
      (error) => this.#fail(error),
    );
    this.#meter = new RunMeter({
      clock: this.#clock,
      cpu: this.#cpu,
      servers: this.#servers,
      trainer: this.#trainer,
      workers: this.#workers,
      parts: this.#parts,
      envWorkers: options.rollout.envWorkers,
    });
  }

  async run(): Promise<RunMeasures> {
    const { warmUp, measured } = this.#options;
    await this.#start();
    await this.#until(warmUp);
    this.#meter.begin();
    await this.#until(warmUp + measured);
    return this.#meter.end();
  }

  /** Ends the orchestrator and what waits in it. */
  async stop(): Promise<void> {
    const { builder, dispatcher, follower, lag } = this.#parts;
    this.#ending.abort(new PrlError("PRL_RUN_INTERRUPTED", "the simulation has ended"));
    lag.stop();
    dispatcher.stop();
    this.#workers.place();
    await Promise.allSettled([this.#assembling, follower.settled(), builder.close(), this.#fleet.stop()]);
  }

  async #start(): Promise<void> {
    const { assembler, builder, follower } = this.#parts;
    await builder.load(this.#ending.signal);
    await follower.start();
    follower.follow();
    this.#assembling = assembler.run(Infinity);
    this.#assembling.catch((error: unknown) => this.#fail(error));
    this.#lookLater();
  }

  /** Moves time until so many batches are trained. */
  async #until(version: number): Promise<void> {
    await this.#settled();
    while (this.#trainer.version < version) {
      this.#options.signal.throwIfAborted();
      this.#move();
      await this.#settled();
    }
  }

  /** Moves to the next moment at which the orchestrator may notice something. Errors: PRL_ORCHESTRATOR_FAULT when there is none. */
  #move(): void {
    this.#workers.place();
    for (const seen = this.#clock.visible; seen === this.#clock.visible;) {
      if (!this.#clock.step()) throw this.#stuck();
    }
  }

  /** Resolves when the orchestrator waits for rollouts, versions or servers alone. */
  async #settled(): Promise<void> {
    const latest = performance.now() + LONGEST_WORK_MS;
    this.#cpu.simulated();
    do {
      await nextRound();
      if (this.#failure !== null) throw this.#failure.error;
      if (performance.now() > latest) throw this.#stuck();
    } while (!this.#isIdle());
    this.#cpu.orchestrated();
  }

  #isIdle(): boolean {
    const { assembler, dispatcher, lifecycle } = this.#parts;
    const followerWaits = this.#trainer.isAwaited || this.#engines.isMoving;
    return assembler.isWaiting && followerWaits && !dispatcher.isFilling && lifecycle.groups.scoring === 0;
  }

  /** Reads the servers' load at intervals of virtual time. */
  #lookLater(): void {
    const { interval_s: seconds, adaptive } = this.#options.config.orchestrator.concurrency;
    if (!adaptive) return;
    this.#clock.at(this.#clock.now + seconds, () => {
      this.#clock.seen();
      this.#parts.limit.look().catch((error: unknown) => this.#fail(error));
      this.#lookLater();
    });
  }

  #metrics(): Metrics {
    return {
      log: (_step, values) => this.#logged(values),
      event: (type, fields) => {
        if (type !== "weights_adopted") return;
        const version = Number(fields?.["version"]);
        if (version > 0) this.#meter.spread(this.#clock.now - this.#trainer.publishedAt(version));
      },
      close: () => undefined,
    };
  }

  /** A batch is with the trainer. */
  #logged(values: Readonly<Record<string, unknown>>): void {
    const number = (name: string): number => {
      const value = values[name];
      if (typeof value === "number") return value;
      throw new PrlError("PRL_ORCHESTRATOR_FAULT", `the orchestrator logged a step without ${name}`);
    };
    const rollouts = number("batch/rollouts");
    const batch: SimulatedBatch = {
      rollouts,
      tokens: rollouts * number("train/agg/effective/num_total_tokens/mean"),
      completionTokens: rollouts * number("train/agg/effective/num_output_tokens/mean"),
    };
    this.#meter.logged(number("off_policy/max"));
    this.#trainer.take(batch);
  }

  #fail(error: unknown): void {
    if (!this.#ending.signal.aborted) this.#failure ??= { error };
  }

  #stuck(): PrlError {
    const { assembler, dispatcher, lifecycle } = this.#parts;
    const state = `${lifecycle.inFlight} rollouts under way, assembler ${assembler.isWaiting ? "waiting" : "at work"}, dispatcher ${dispatcher.isFilling ? "at work" : "waiting"}, version ${this.#trainer.version}`;
    return new PrlError(
      "PRL_ORCHESTRATOR_FAULT",
      `the simulated run has come to a stop at ${this.#clock.now} s: ${state}`,
    );
  }
}
