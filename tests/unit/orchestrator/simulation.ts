/**
 * A run without processes: a trainer, engines and env workers behind the orchestrator's interfaces, with delays from a seed.
 *
 * What a rollout gives follows from its task and sample alone, so that two runs of different timing can be compared. The parts check the
 * contract that they see (an engine is swapped only while paused, a version that was pruned is not loaded, ...) and record the rest.
 */
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { RlConfig } from "../../../ts/config/schema/rl.ts";
import { createRng, type Episode, type EpisodeErrorClass } from "../../../ts/environments/index.ts";
import { encodeTraceColumns, type ReceivedEpisode, type RunRequest } from "../../../ts/environments/internal.ts";
import type { TraceColumns } from "../../../ts/environments/index.ts";
import { RolloutSamples } from "../../../ts/native/index.ts";
import {
  EngineFleet,
  readOrchestratorState,
  readSnapshot,
  runOrchestrator,
  type Engine,
  type EnvWorkers,
} from "../../../ts/orchestrator/index.ts";
import type { OrchestratorState } from "../../../ts/orchestrator/checkpoint/resume.ts";
import { configOf } from "./simulation-config.ts";
import type { TokenRollouts } from "./token-rollouts.ts";
import {
  checkpointDir,
  isCheckpointStep,
  type PublishedWeights,
  type RolloutSender,
  type WeightFollower,
  writeHalf,
} from "../../../ts/transports/index.ts";

export interface SimulationOptions {
  level: number;
  maxSteps: number | null;
  batchSize?: number;
  /** In place of it. */
  tokenBatchSize?: number;
  oversampling?: number;
  fifoWindow?: number;
  groupSizes?: readonly number[];
  /** Of the sources, one per group size. */
  ratios?: readonly number[];
  maxOffPolicySteps?: number;
  /** Of every source. */
  curriculum?: Record<string, unknown>;
  maxInflight?: number;
  engines?: number;
  /** Of every source. */
  algo?: Record<string, unknown>;
  filters?: Record<string, unknown>[];
  /** Number of tasks; null is endless. */
  tasks?: number | null;
  evaluation?: { interval: number | null; atStart?: boolean; hold?: boolean } | null;
  /** Of every delay; the outcomes do not depend on it. */
  timing?: number;
  /** Longest ordinary delay (ms); one rollout in `slowEvery` takes `slowMs`. */
  delayMs?: number;
  slowEvery?: number;
  slowMs?: number;
  outcome?: (task: number, sample: number, attempt: number, request: RunRequest) => number | EpisodeErrorClass;
  /** Sampled tokens of a rollout; default 2. */
  length?: (task: number, sample: number) => number;
  /** How long a rollout of so many tokens takes besides (ms). */
  msPerToken?: number;
  recycle?: "off" | "stale" | "tails";
  /** Rollouts are sampled token by token by these, in place of all at once. */
  tokenwise?: TokenRollouts;
  /** Changes an answer on its way back. */
  distort?: (answer: ReceivedEpisode, request: RunRequest) => ReceivedEpisode;
  /** Breaks a part: called before each of its actions, `canary 0 3` is that of engine 0 for version 3. */
  before?: (action: string, signal?: AbortSignal) => Promise<void> | void;
  /** Called with each line of metrics. */
  onLine?: (step: number) => void;
  signal?: AbortSignal;
  /** Keep a checkpoint of every step. */
  checkpoints?: boolean;
  /** Go on from one of them. */
  resume?: OrchestratorState;
  /** The orchestrator dies at these actions, counted over the whole run, and another one takes over; the other parts go on. */
  crashes?: readonly number[];
}

export interface SentBatch {
  step: number;
  /** Lowest version on an engine when it was sent. */
  version: number;
  episodes: (Episode & { advantage: number | null })[];
  samples: number;
}

export interface Simulation {
  config: RlConfig;
  sent: SentBatch[];
  requests: { request: RunRequest; batchesSent: number; version: number; aborted: boolean }[];
  /** Calls of each engine in order: `pause`, `update 1`, `resume`, `canary 1`. */
  calls: string[][];
  events: Record<string, unknown>[];
  logged: Map<number, Record<string, unknown>>;
  /** Rollouts at work when the run had ended. */
  inFlight: () => number;
  /** Most of them at once, evaluations included. */
  mostInFlight: () => number;
  contract: string[];
  /** By step, of a run with checkpoints. */
  checkpoints: Map<number, OrchestratorState>;
  /** Step and kind of each line of metrics, in their order. */
  lines: string[];
  /** Orchestrators that died. */
  crashed: number;
}

export const rewardByHash = (task: number, sample: number): number => ((task * 7 + sample * 3) % 5) / 4;

/** Runs to the end; rejects with what the orchestrator rejects with, after `inspect` saw what happened. */
export async function simulate(
  options: SimulationOptions,
  inspect: (simulation: Simulation) => void | Promise<void> = () => undefined,
): Promise<Simulation> {
  const runDir = await mkdtemp(join(tmpdir(), "prl-simulation-"));
  try {
    const parts = makeParts(options, runDir);
    const ended = new AbortController();
    const trainer = parts.train(ended.signal);
    try {
      await parts.orchestrate(options.signal);
    } finally {
      ended.abort();
      await trainer;
      await readCheckpoints(parts.simulation, parts.job.checkpoints.root);
      await inspect(parts.simulation);
    }
    return parts.simulation;
  } finally {
    await rm(runDir, { recursive: true, force: true });
  }
}

/** The end of an orchestrator that is killed. */
class Crash extends Error {}

async function readCheckpoints({ checkpoints }: Simulation, root: string): Promise<void> {
  for (let step = 1; ; step++) {
    try {
      await access(join(checkpointDir(root, step), "manifest.json"));
    } catch {
      return;
    }
    checkpoints.set(step, await readOrchestratorState(checkpointDir(root, step)));
  }
}

function makeParts(options: SimulationOptions, runDir: string) {
  const config = configOf(options);
  const { delayMs = 2, slowEvery = 0, slowMs = 20, outcome = rewardByHash } = options;
  const crashes = new Set(options.crashes);
  let actions = 0;
  let life = new AbortController();
  const before = async (action: string, signal?: AbortSignal) => {
    if (crashes.delete(actions++)) life.abort(new Crash());
    // A process that has died does nothing more.
    life.signal.throwIfAborted();
    await options.before?.(action, signal);
  };
  const rng = createRng(Math.abs(options.timing ?? 1));
  const pause = async (signal?: AbortSignal) => {
    const ms = rng.integer(delayMs + 1);
    if (ms > 0) await sleep(ms, undefined, signal === undefined ? {} : { signal });
  };
  const versions: number[] = Array.from({ length: options.engines ?? 1 }, () => -1);
  const published = new Map<number, PublishedWeights>();

  let inFlight = 0;
  let mostInFlight = 0;
  const simulation: Simulation = {
    config,
    sent: [],
    requests: [],
    calls: versions.map(() => []),
    events: [],
    logged: new Map(),
    inFlight: () => inFlight,
    mostInFlight: () => mostInFlight,
    contract: [],
    checkpoints: new Map(),
    lines: [],
    crashed: 0,
  };
  const { sent, requests, calls, contract } = simulation;

  const engines: Engine[] = versions.map((_, e) => {
    let isPaused = false;
    const act = async (action: string, signal?: AbortSignal) => {
      await before(action, signal);
      signal?.throwIfAborted();
      await pause(signal);
    };
    return {
      url: `http://engine-${e}`,
      isa: "portable",
      dtype: "float32",
      weights: null,
      admin: {
        prefetchWeights: async () => Promise.reject(new Error("weights are in a folder")),
        async pause(mode, signal) {
          await act(`pause ${e}`, signal);
          if (mode !== "keep") contract.push(`paused with ${mode}`);
          isPaused = true;
          calls[e]?.push("pause");
        },
        async updateWeights({ version }, signal) {
          if (!isPaused) contract.push(`engine ${e} was swapped while running`);
          await act(`update ${e} ${version}`, signal);
          if (!published.has(version)) contract.push(`version ${version} was pruned while engine ${e} loaded it`);
          versions[e] = version;
          calls[e]?.push(`update ${version}`);
          return { skipped: false };
        },
        async resume(signal) {
          await act(`resume ${e}`, signal);
          isPaused = false;
          calls[e]?.push("resume");
        },
        sleep: async () => Promise.reject(new Error("it never sleeps")),
        wakeUp: async () => Promise.reject(new Error("it never sleeps")),
        isSleeping: async () => Promise.reject(new Error("it never sleeps")),
        async promptLogprobs(tokenIds, signal) {
          const version = versions[e] ?? -1;
          await act(`canary ${e} ${version}`, signal);
          calls[e]?.push(`canary ${version}`);
          return Float32Array.from(tokenIds, (_id, t) => (t === 0 ? 0 : -version - t));
        },
        health: async () => {
          const version = versions[e] ?? -1;
          return {
            status: "ok",
            paused: isPaused,
            policyVersion: version,
            digest: String(version),
            running: 0,
            waiting: 0,
          };
        },
        load: async () => [],
      },
    };
  });

  const lowest = () => Math.min(...versions);
  const taskCount = options.tasks === undefined ? null : options.tasks;
  const workers: EnvWorkers = {
    async tasks({ split, after, limit }, signal) {
      await before(`tasks ${split}`, signal);
      signal.throwIfAborted();
      await pause(signal);
      const start = Number(after ?? 0);
      const all = split === "eval" ? 6 : (taskCount ?? Infinity);
      const end = Math.min(start + limit, all);
      const tasks = Array.from({ length: end - start }, (_, i) => ({ key: String(start + i), hash: "", data: {} }));
      return { tasks, next: end === all ? null : String(end), endless: all === Infinity };
    },
    async run(request, signal) {
      const record = { request, batchesSent: sent.length, version: lowest(), aborted: false };
      requests.push(record);
      mostInFlight = Math.max(mostInFlight, ++inFlight);
      const start = lowest();
      try {
        await before(`run ${request.episode_id}`, signal);
        if (signal.aborted) throw signal.reason;
        if (slowEvery > 0 && rng.integer(slowEvery) === 0) await sleep(slowMs, undefined, { signal });
        await pause(signal);
        await pause(signal);
        const [sample = 0, attempt = 0] = request.episode_id.split("-").slice(-2).map(Number);
        const task = Number(request.task.key);
        const tokens = options.length?.(task, sample);
        if (options.tokenwise !== undefined && request.run.type === "train") {
          const msPerToken = options.msPerToken ?? 0;
          const reward = rewardByHash(task, sample);
          const answer = await options.tokenwise.run(request, {
            length: tokens ?? 2,
            msPerToken,
            reward,
            version: lowest,
            signal,
          });
          record.aborted = signal.aborted;
          return options.distort?.(answer, request) ?? answer;
        }
        if (tokens !== undefined) await sleep(tokens * (options.msPerToken ?? 0), undefined, { signal });
        const result = outcome(task, sample, attempt, request);
        const answer =
          typeof result === "number" ? scored(request, result, start, lowest(), tokens) : errored(request, result);
        return options.distort?.(answer, request) ?? answer;
      } catch (error) {
        if (!signal.aborted) throw error;
        record.aborted = true;
        return errored(request, "infra");
      } finally {
        inFlight--;
      }
    },
    scoreGroup: async () => Promise.reject(new Error("there are no group rewards")),
    close: async () => undefined,
  };

  let staged: (() => void) | null = null;
  const rollouts: RolloutSender = {
    async send(step, batches, _names, commit) {
      await before(`send ${step}`);
      const lines = (await readFile(join(runDir, "rollouts", `step_${step}`, "traces.jsonl"), "utf8")).trim();
      const episodes = lines.split("\n").map((line) => JSON.parse(line) as SentBatch["episodes"][number]);
      const samples = batches.reduce((sum, { counts }) => sum + counts.rl, 0) / 2;
      const show = () => void sent.push({ step, version: lowest(), episodes, samples });
      staged = show;
      await commit?.();
      await before(`show ${step}`);
      staged = null;
      show();
      await before(`sent ${step}`);
      await pause();
    },
    async recover(committed) {
      if (committed > (resume?.step ?? 0) + sent.length) staged?.();
      staged = null;
    },
    close: async () => {},
  };
  const weights: WeightFollower = {
    async receive(version, { signal }) {
      await before(`receive ${version}`, signal);
      for (;;) {
        signal.throwIfAborted();
        const found = published.get(version);
        if (found !== undefined) {
          return {
            manifest: found.manifest,
            source: { dir: found.dir },
            acknowledge: async () => {},
            release: async () => {},
          };
        }
        await sleep(1, undefined, { signal });
      }
    },
    close: async () => {},
  };
  const publish = (version: number) => {
    const tokenIds = [1, 2, 3];
    const logprobs = tokenIds.map((_, t) => (t === 0 ? 0 : -version - t));
    const canary = { tokenIds, logprobs, isa: "portable", dtype: "float32" };
    const manifest = { format: "prl-weights", version, digest: String(version), base: null, shards: [], canary };
    published.set(version, { dir: `/weights/${version}`, manifest: { ...manifest, encoding: "full" } });
    published.delete(version - config.weight_broadcast.keep);
  };

  const metrics = {
    log: (step: number, values: object) => {
      simulation.lines.push(`${"time/evaluation" in values ? "evaluation" : "step"} ${step}`);
      simulation.logged.set(step, { ...simulation.logged.get(step), ...values });
      options.onLine?.(step);
    },
    event: (type: string, fields?: Record<string, unknown>) => {
      simulation.events.push({ type, ...fields });
    },
    close: () => undefined,
  };
  const resume = options.resume ?? null;
  const rules =
    options.checkpoints === true
      ? { recovery_interval: 1, interval: 1, keep_last: null, keep_interval: null }
      : { recovery_interval: Infinity, interval: null, keep_last: null, keep_interval: null };
  const checkpoints = { root: join(runDir, "checkpoints"), run: "run", attempt: 1, rules };
  const placed = engines.map((engine) => ({ name: engine.url, identity: engine.url, engine }));
  const shared = { resume, checkpoints, runDir, config, modelName: "m", workers, rollouts, weights, metrics };
  const of = (kind: string) =>
    new Set(simulation.lines.filter((line) => line.startsWith(kind)).map((line) => Number(line.split(" ")[1])));
  return {
    simulation,
    job: shared,
    /** One orchestrator after the other, until one has done its work. */
    async orchestrate(signal = new AbortController().signal): Promise<void> {
      await mkdir(join(runDir, "run"));
      for (;;) {
        life = new AbortController();
        const fleet = new EngineFleet(placed, { maxMeanAbs: 0, metrics });
        const snapshot = await readSnapshot({ runDir, run: "run", attempt: 1 });
        const logged = { steps: of("step"), evaluations: of("evaluation") };
        const job = { ...shared, engines: fleet, snapshot, snapshots: options.crashes !== undefined, logged };
        try {
          return await runOrchestrator({ ...job, signal: AbortSignal.any([signal, life.signal]) });
        } catch (error) {
          if (!(error instanceof Crash)) throw error;
          simulation.crashed += 1;
        }
      }
    },
    /** The trainer: the version it starts from, then one per batch, with its half of the checkpoints. */
    async train(signal: AbortSignal): Promise<void> {
      const start = resume?.step ?? 0;
      publish(start);
      for (let step = start + 1; !signal.aborted;) {
        if (sent.length < step - start) await sleep(1);
        else {
          await pause();
          publish(step);
          if (isCheckpointStep(step, rules, config.max_steps)) {
            await writeHalf(checkpoints, step, "trainer", (dir) => writeFile(join(dir, "weights"), String(step)));
          }
          step++;
        }
      }
    },
  };
}

const base = (request: RunRequest) => ({
  id: request.episode_id,
  env: { id: request.env, name: request.env },
  task: request.task,
  group: { id: request.group_id },
  run: request.run,
});

export function errored(request: RunRequest, kind: EpisodeErrorClass): ReceivedEpisode {
  const errors = [{ class: kind, code: "PRL_ENVIRONMENT_FAILED", message: `a ${kind} error` }];
  return { episode: { ...base(request), ok: false, errors, traces: [] }, samples: null };
}

/** One prompt token and `tokens` sampled ones; `start` and `end`: versions that sampled them. */
export function scored(request: RunRequest, reward: number, start: number, end: number, tokens = 2): ReceivedEpisode {
  const trace: Episode["traces"][number] = {
    id: `${request.episode_id}-0`,
    agent: "agent",
    trainable: true,
    nodes: [],
    rewards: {},
    reward,
    metrics: { exact: reward === 1 ? 1 : 0 },
    stop_condition: "agent_completed",
    is_completed: true,
    is_truncated: false,
    usage: { prompt_tokens: 1, completion_tokens: tokens },
    timing: { start: 0, generation_ms: 0, scoring_ms: 0, total_ms: 0 },
    policy: { start, end },
  };
  const columns = {
    tokenIds: Uint32Array.from({ length: tokens + 1 }, (_, t) => 9 + t),
    mask: new Uint8Array(tokens + 1).fill(1, 1),
    logprobs: new Float32Array(tokens + 1).fill(-1, 1),
    versionSpans:
      start === end || tokens < 2
        ? Uint32Array.of(0, 0xffffffff, 1, end)
        : Uint32Array.of(0, 0xffffffff, 1, start, 2, end),
    branchOffsets: Uint32Array.of(0, tokens + 1),
  };
  return { episode: { ...base(request), ok: true, errors: [], traces: [trace] }, samples: samplesOf([columns]) };
}

/** As they arrive from an env worker. */
export function samplesOf(columns: readonly TraceColumns[]): RolloutSamples {
  return RolloutSamples.parse(encodeTraceColumns(columns), columns.length);
}
