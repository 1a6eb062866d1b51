/** Rewards and metrics: what an author writes, and how they are computed and checked. */
import { PrlError } from "../errors.ts";
import type { SandboxAccess } from "./sandboxes.ts";
import type { Trace } from "./trace.ts";

/** How long one reward or metric may take unless it says otherwise. */
export const REWARD_TIMEOUT_MS = 30_000;

export interface RewardContext<Row, Config = unknown> extends SandboxAccess {
  readonly task: Row;
  readonly config: Config;
  readonly trace: Trace;
  /** Aborted when the time is up or the rollout is cancelled. */
  readonly signal: AbortSignal;
}

/** A finite number; true counts as 1, false as 0. An exception is an error of the rollout, never a reward of 0. */
export type RewardFunction<Row, Config = unknown> = (
  context: RewardContext<Row, Config>,
) => number | boolean | Promise<number | boolean>;

/** A reward function that carries its weight; `reward` makes it. */
export interface Reward<Row, Config = unknown> {
  (context: RewardContext<Row, Config>): number | boolean | Promise<number | boolean>;
  readonly weight: number;
  readonly timeoutMs?: number;
}

/** The same as a plain object. */
export interface WeightedScore<Row, Config = unknown> {
  readonly weight: number;
  readonly score: RewardFunction<Row, Config>;
  readonly timeoutMs?: number;
}

/** The rewards of an environment by name. A bare function has weight 1 (weight 0 as a metric). */
export type RewardMap<Row, Config = unknown> = Readonly<
  Record<string, RewardFunction<Row, Config> | WeightedScore<Row, Config>>
>;

/**
 * A weighted reward. Task and config are typed by the definition around it, except where `tasks` takes an argument without a type and nothing
 * that is written in place stands between the two: there name the row, `reward(1, ({ task }: RewardContext<MyRow>) => ...)`, or write
 * `{ weight: 1, score: ({ task }) => ... }`. (TypeScript reads a nested call before it has read `tasks`.)
 */
export function reward<Row, Config = unknown>(
  weight: number,
  // Only the definition says what Row and Config are, not the function.
  score: RewardFunction<NoInfer<Row>, NoInfer<Config>>,
  options: { timeoutMs?: number } = {},
): Reward<Row, Config> {
  return Object.assign((context: RewardContext<Row, Config>) => score(context), { weight, ...options });
}

/** Names in `rewards` and `metrics` are distinct and weights are finite; there is at least one reward. */
export function checkRewards(
  environment: string,
  rewards: Readonly<Record<string, unknown>>,
  metrics: Readonly<Record<string, unknown>>,
): void {
  const fail = (problem: string): never => {
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `environment "${environment}": ${problem}`);
  };
  if (Object.keys(rewards).length === 0) fail("it has no rewards; give at least one");
  for (const [name, entry] of Object.entries({ ...metrics, ...rewards })) {
    if (name in rewards && name in metrics) fail(`"${name}" is both a reward and a metric; rename one`);
    const isObject = typeof entry === "object" && entry !== null && "score" in entry && "weight" in entry;
    const isScored = typeof entry === "function" || (isObject && typeof entry.score === "function");
    if (!isScored) fail(`"${name}" is neither a function nor reward(weight, fn)`);
    const { weight } = entry as { weight?: number };
    if (weight !== undefined && !Number.isFinite(weight))
      fail(`"${name}" has the weight ${String(weight)}; a weight is a finite number`);
  }
}

/** The weight of each reward. */
export function rewardWeights<Row, Config>(rewards: RewardMap<Row, Config>): Record<string, number> {
  const weightOf = ({ weight = 1 }: { readonly weight?: number }): number => weight;
  return Object.fromEntries(
    Object.entries(rewards).map(([name, entry]) => [name, "weight" in entry ? weightOf(entry) : 1]),
  );
}

/**
 * Runs all of them at once, each within its own time. Rejects with the first failure: PRL_ENVIRONMENT_TIMEOUT, or
 * PRL_ENVIRONMENT_FAILED naming the reward, with what it threw as cause.
 */
export async function scoreAll<Row, Config>(
  rewards: RewardMap<Row, Config>,
  context: RewardContext<Row, Config>,
  defaultWeight: 0 | 1,
): Promise<Record<string, { score: number; weight: number }>> {
  const scored = Object.entries(rewards).map(async ([name, entry]) => {
    const { weight = defaultWeight, timeoutMs = REWARD_TIMEOUT_MS } = entry as Partial<WeightedScore<Row, Config>>;
    const score = typeof entry === "function" ? entry : entry.score;
    return [name, { score: await scoreOne(name, score, context, timeoutMs), weight }] as const;
  });
  return Object.fromEntries(await Promise.all(scored));
}

async function scoreOne<Row, Config>(
  name: string,
  score: RewardFunction<Row, Config>,
  context: RewardContext<Row, Config>,
  timeoutMs: number,
): Promise<number> {
  const timeout = new AbortController();
  const timer = setTimeout(() => {
    timeout.abort(new PrlError("PRL_ENVIRONMENT_TIMEOUT", `reward "${name}" did not end within ${timeoutMs} ms`));
  }, timeoutMs);
  const signal = AbortSignal.any([context.signal, timeout.signal]);
  try {
    return finiteScore(name, await untilAborted(async () => score({ ...context, signal }), signal));
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    if (cause instanceof PrlError) throw cause;
    const message = `reward "${name}" threw: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new PrlError("PRL_ENVIRONMENT_FAILED", message, { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** The outcome of `work`, or a rejection with the signal's reason as soon as it is aborted, whatever `work` does. */
export async function untilAborted<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(asError(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

function finiteScore(name: string, value: unknown): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const what = typeof value === "number" ? String(value) : `a ${typeof value}`;
  const message = `reward "${name}" returned ${what}; it must be a finite number or a boolean`;
  throw new PrlError("PRL_ENVIRONMENT_FAILED", message);
}
