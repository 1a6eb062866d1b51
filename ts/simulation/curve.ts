/**
 * How a config scales: simulated runs with more and more GPUs, split between trainer and servers as the config splits them.
 *
 * The batch stays as it is, or grows with the GPUs. A number of GPUs that the model does not fit is not simulated, and says why.
 */
import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import type { PlanOptions, PlanSurroundings, RunCosts } from "../plan/index.ts";
import { runCosts } from "../plan/index.ts";
import { type MeasuredCosts, withMeasured } from "./measured-costs.ts";
import type { RunMeasures } from "./run-measures.ts";
import { type Limit, limitOf, type Loads, loadsOf, saturatedAt } from "./saturation.ts";
import { simulatedConfig } from "./simulated-config.ts";
import { simulateRun } from "./simulated-run.ts";

export interface SimulationOptions extends PlanOptions {
  /** Numbers of GPUs, ascending. Default: 16, 32, ... 1024. */
  readonly gpus?: readonly number[];
  /** The batch grows with the GPUs. Default: it stays. */
  readonly scaleBatch?: boolean;
  /** Standard deviation of the completions' lengths, as a share of their mean. */
  readonly spread?: number;
  /** Bytes per second that the folder of the weights gives to all machines together. */
  readonly sharedTransfer?: number;
  readonly measured?: MeasuredCosts;
}

export interface SimulatedPoint {
  readonly gpus: number;
  readonly trainer_gpus: number;
  readonly servers: number;
  readonly batch_rollouts: number;
  /** Why it was not simulated; empty when it was. */
  readonly problems: readonly string[];
  /** Null where it was not simulated, as all that follows. */
  readonly measures: RunMeasures | null;
  /** Tokens of trained batches. */
  readonly tokens_per_second: number | null;
  readonly step_seconds: number | null;
  readonly loads: Loads | null;
  readonly limit: Limit | null;
}

export interface Curve {
  readonly points: readonly SimulatedPoint[];
  /** GPUs from which on each brings less than two thirds of what it brings at best; null: none of the curve. */
  readonly saturated_at: number | null;
  readonly assumptions: readonly string[];
}

const GPUS: readonly number[] = [16, 32, 64, 128, 256, 512, 1024];
const SPREAD = 0.6;
const SHARED_TRANSFER = 20e9;
const GPUS_PER_MACHINE = 8;
const ENV_CPU_SECONDS = 0.005;
/** `npm run bench orchestrator-scale`: up to 7,600 rollouts a second with their requests and answers. */
const EXCHANGE_CPU_SECONDS = 0.000_15;
/** A server copies a version that it has fetched already. */
const LOADED_BYTES_PER_SECOND = 2e9;
/** Steps come in pairs at level 1. */
const MEASURED_STEPS = 4;

/** Errors: those of `runCosts` and of `simulateRun`; PRL_CLI_USAGE for a number of GPUs that is too small to be split. */
export async function simulate(
  config: RlConfig,
  options: SimulationOptions = {},
  surroundings: PlanSurroundings & { readonly onPoint?: (point: SimulatedPoint) => void } = {},
): Promise<Curve> {
  const { measured = {} } = options;
  const costs = withMeasured(await runCosts(config, options, surroundings), measured);
  const points: SimulatedPoint[] = [];
  for (const gpus of options.gpus ?? GPUS) {
    const point = await pointOf(gpus, { config, costs, options, signal: surroundings.signal });
    surroundings.onPoint?.(point);
    points.push(point);
  }
  const simulated = points.flatMap(({ gpus, tokens_per_second: tokens }) =>
    tokens === null ? [] : [{ gpus, tokensPerSecond: tokens }],
  );
  return { points, saturated_at: saturatedAt(simulated), assumptions: assumptionsOf(costs, config, options) };
}

interface Given {
  readonly config: RlConfig;
  readonly costs: RunCosts;
  readonly options: SimulationOptions;
  readonly signal: AbortSignal | undefined;
}

async function pointOf(gpus: number, { config, costs, options, signal }: Given): Promise<SimulatedPoint> {
  const { ranks, servers } = split(gpus, costs);
  const factor = options.scaleBatch === true ? gpus / (costs.trainerGpus + costs.servers * costs.gpusPerServer) : 1;
  const batchSize = Math.max(1, Math.round(costs.rollouts * factor));
  const problems = costs.problems(ranks);
  const about = { gpus, trainer_gpus: ranks, servers, batch_rollouts: batchSize, problems };
  const nothing = { measures: null, tokens_per_second: null, step_seconds: null, loads: null, limit: null };
  if (problems.length > 0) return { ...about, ...nothing };
  const { orchestrator, max_async_level: level } = config;
  const mostInFlight = Math.max(1, Math.round(orchestrator.max_inflight * factor));
  const measures = await simulateRun({
    config: simulatedConfig(config, { batchSize, mostInFlight }),
    servers,
    server: costs,
    swap: swapCosts(config, costs, options, servers),
    rollout: rolloutCosts(config, costs, options, Math.min(mostInFlight, (level + 1) * batchSize)),
    trainer: {
      train: ({ tokens, completionTokens }) => costs.train({ all: tokens, trained: completionTokens }, ranks),
      publishSeconds: publishSeconds(config, costs, options),
    },
    warmUp: level + 2,
    measured: MEASURED_STEPS,
    signal: signal ?? new AbortController().signal,
  });
  const exchangeSeconds = options.measured?.exchange_cpu_s ?? EXCHANGE_CPU_SECONDS;
  const loads = loadsOf(measures, { sequences: heldTogether(costs), exchangeSeconds });
  return {
    ...about,
    measures,
    tokens_per_second: measures.tokens / measures.seconds,
    step_seconds: measures.seconds / measures.steps,
    loads,
    limit: limitOf(loads),
  };
}

/** GPUs as the config splits them; a server has all of its GPUs. Errors: PRL_CLI_USAGE. */
function split(gpus: number, { trainerGpus, servers, gpusPerServer }: RunCosts): { ranks: number; servers: number } {
  const share = trainerGpus / (trainerGpus + servers * gpusPerServer);
  const most = Math.floor((gpus - 1) / gpusPerServer);
  const wanted = Math.round((gpus * (1 - share)) / gpusPerServer);
  const count = Math.min(most, Math.max(1, wanted));
  if (count >= 1) return { ranks: gpus - count * gpusPerServer, servers: count };
  throw new PrlError(
    "PRL_CLI_USAGE",
    `--gpus: ${gpus} are too few for a trainer and a server of ${gpusPerServer}: use at least ${gpusPerServer + 1}`,
  );
}

/** Sequences of the mean length that a server holds. */
function heldTogether({ sequences, kvTokens, promptTokens, completionTokens }: RunCosts): number {
  return Math.max(1, Math.min(sequences, Math.floor(kvTokens / (promptTokens + completionTokens / 2))));
}

function rolloutCosts(config: RlConfig, costs: RunCosts, options: SimulationOptions, underWay: number) {
  const { env_workers: least, max_env_workers: most, rollouts_per_env_worker: each } = config.orchestrator;
  const { promptTokens, completionTokens, longestCompletion, envSeconds } = costs;
  return {
    promptTokens,
    completionTokens,
    longestCompletion,
    envSeconds,
    spread: options.spread ?? SPREAD,
    envCpuSeconds: options.measured?.env_cpu_s ?? ENV_CPU_SECONDS,
    envWorkers: Math.max(least, Math.min(most ?? Infinity, Math.ceil(underWay / each))),
  };
}

/** Into a folder a version is written before it can be read; over gRPC servers fetch it from the trainer's memory. */
function publishSeconds(config: RlConfig, costs: RunCosts, { measured = {} }: SimulationOptions): number {
  return measured.publish_s ?? (config.weight_broadcast.type === "grpc" ? 0 : costs.versionBytes / costs.transfer);
}

/** From a folder each machine reads once, while its servers are paused; all machines share what the folder gives. */
function swapCosts(config: RlConfig, costs: RunCosts, options: SimulationOptions, servers: number) {
  const { measured = {}, sharedTransfer = SHARED_TRANSFER } = options;
  const { versionBytes, transfer, gpusPerServer } = costs;
  const machines = Math.ceil((servers * gpusPerServer) / GPUS_PER_MACHINE);
  const isTree = config.weight_broadcast.type === "grpc";
  const speed = isTree ? LOADED_BYTES_PER_SECOND : Math.min(transfer, sharedTransfer / machines);
  return {
    hopSeconds: measured.hop_s ?? versionBytes / transfer,
    swapSeconds: measured.swap_s ?? versionBytes / speed,
  };
}

function assumptionsOf(costs: RunCosts, config: RlConfig, options: SimulationOptions): string[] {
  const { spread = SPREAD, sharedTransfer = SHARED_TRANSFER, measured = {} } = options;
  const known = Object.keys(measured);
  const folder = `the folder of the weights gives ${sharedTransfer / 1e9} GB/s to all machines together (--shared-transfer), and eight GPUs are a machine`;
  const tree = "over gRPC servers fetch versions from one another, two from each";
  return [
    ...costs.assumptions,
    `completions are log-normal with a standard deviation of ${spread} of their mean, cut at the longest (--spread); times in environments are exponential`,
    config.weight_broadcast.type === "grpc" ? tree : folder,
    `an env worker computes ${measured.env_cpu_s ?? ENV_CPU_SECONDS} s for a rollout; the orchestrator ${measured.exchange_cpu_s ?? EXCHANGE_CPU_SECONDS} s for its request and answer, beside its measured CPU time (--costs)`,
    "the trainer's speed grows with its GPUs as far as there are bins for them; collectives between them cost nothing",
    "no rollout fails, none is rejected, and nothing is evaluated",
    ...(known.length === 0 ? [] : [`measured, in place of what is said above: ${known.join(", ")} (--costs)`]),
  ];
}
