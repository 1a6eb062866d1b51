/** Rewards and metrics of one trace: what an author writes, and how they are computed and checked. */
import { z } from "zod";

import { untilAborted } from "../../async/deadline.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { callback, checkOptions, number, only } from "../../options.ts";
import type { JudgeAccess, JudgeSource } from "../judge/judge.ts";
import type { JudgeUsage } from "../judge/judge-usage.ts";
import { LinkedAbort } from "../../async/linked-abort.ts";
import type { SandboxAccess } from "../sandboxes/sandboxes.ts";
import type { Trace } from "../episode/trace.ts";
import { thrownAt } from "./thrown-at.ts";

/** How long one reward or metric may take unless it says otherwise. */
export const REWARD_TIMEOUT_MS = 30_000;

export interface RewardContext<Row, Config = unknown, Agent extends string = string>
  extends SandboxAccess, JudgeAccess {
  readonly task: Row;
  readonly config: Config;
  /** The trace to score. */
  readonly trace: Trace;
  /** The agent that sampled it: one of the environment's `agents`, `"agent"` where it names none. */
  readonly agent: Agent;
  /** All traces of the episode by agent, in the order of their beginning; an agent that sampled nothing has none. */
  readonly traces: Readonly<Record<Agent, readonly Trace[]>>;
  /** Aborted when the time is up or the rollout is cancelled. */
  readonly signal: AbortSignal;
}

/**
 * A finite number; true counts as 1, false as 0. An object holds named sub-scores: each is recorded as `<reward>/<name>` with the reward's
 * weight.
 */
export type RewardValue = number | boolean | Readonly<Record<string, number | boolean>>;

/** An exception is an error of the rollout, never a reward of 0. */
export type RewardFunction<Row, Config = unknown, Agent extends string = string> = (
  context: RewardContext<Row, Config, Agent>,
) => RewardValue | Promise<RewardValue>;

export interface RewardOptions {
  /** Default 30000. */
  readonly timeoutMs?: number;
  /** Only this agent's traces are scored. Default: all agents' traces. */
  readonly agent?: string;
}

/** A reward function that carries its weight; `reward` makes it. */
export interface Reward<Row, Config = unknown, Agent extends string = string> extends RewardOptions {
  (context: RewardContext<Row, Config, Agent>): RewardValue | Promise<RewardValue>;
  readonly weight: number;
}

/** The same as a plain object. */
export interface WeightedScore<Row, Config = unknown, Agent extends string = string> extends RewardOptions {
  readonly weight: number;
  readonly score: RewardFunction<Row, Config, Agent>;
}

/** The rewards of an environment by name. A bare function has weight 1 (weight 0 as a metric). */
export type RewardMap<Row, Config = unknown, Agent extends string = string> = Readonly<
  Record<string, RewardFunction<Row, Config, Agent> | WeightedScore<Row, Config, Agent>>
>;

/** The context before each reward gets its judge with its own deadline. */
export type UnjudgedContext<Context extends JudgeAccess> = Omit<Context, "judge"> & {
  readonly judges: JudgeSource;
  /** The judge's cost is added to it. */
  readonly usage?: JudgeUsage;
};

/** Scores and weights by name. */
export type WeightedScores = Record<string, { score: number; weight: number }>;

export const rewardOptionsSchema = only<RewardOptions>({
  timeoutMs: number.optional(),
  agent: z.string().optional(),
});
const entrySchema = only<WeightedScore<never>>({
  ...rewardOptionsSchema.shape,
  weight: number,
  score: callback,
});

/**
 * A weighted reward. Task and config are typed by the definition around it, except where `tasks` takes an argument without a type and nothing
 * that is written in place stands between the two: there name the row, `reward(1, ({ task }: RewardContext<MyRow>) => ...)`, or write
 * `{ weight: 1, score: ({ task }) => ... }`. (TypeScript reads a nested call before it has read `tasks`.)
 */
export function reward<Row, Config = unknown, Agent extends string = string>(
  weight: number,
  // NoInfer: Row, Config and Agent come from the definition, not from the function.
  score: RewardFunction<NoInfer<Row>, NoInfer<Config>, NoInfer<Agent>>,
  options: RewardOptions = {},
): Reward<Row, Config, Agent> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "reward", rewardOptionsSchema, options);
  return Object.assign((context: RewardContext<Row, Config, Agent>) => score(context), { weight, ...options });
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
    const { score } = isObject(entry) ? (entry as { score?: unknown }) : {};
    const isScored = typeof entry === "function" || typeof score === "function";
    if (!isScored) fail(`"${name}" is neither a function nor reward(weight, fn) nor groupReward(weight, fn)`);
    if (typeof entry === "object")
      checkOptions("PRL_ENVIRONMENT_INVALID", `environment "${environment}": "${name}"`, entrySchema, entry);
    const { weight, timeoutMs } = entry as { weight?: number; timeoutMs?: number };
    if (weight !== undefined && !Number.isFinite(weight))
      fail(`"${name}" has the weight ${String(weight)}; a weight is a finite number`);
    if (timeoutMs !== undefined && !(timeoutMs > 0))
      fail(`"${name}" has the time limit ${String(timeoutMs)}; it is a number of milliseconds above 0`);
  }
}

/** The weight of each reward. */
export function rewardWeights<Row, Config, Agent extends string>(
  rewards: RewardMap<Row, Config, Agent>,
): Record<string, number> {
  const weightOf = ({ weight = 1 }: { readonly weight?: number }): number => weight;
  return Object.fromEntries(
    Object.entries(rewards).map(([name, entry]) => [name, "weight" in entry ? weightOf(entry) : 1]),
  );
}

/**
 * Runs all of them at once except group rewards, each with its own deadline. Rejects with the first failure: PRL_ENVIRONMENT_TIMEOUT, or
 * PRL_ENVIRONMENT_FAILED naming the reward, with what it threw as cause.
 */
export async function scoreAll<Row, Config, Agent extends string>(
  rewards: RewardMap<Row, Config, Agent>,
  { judges, usage, ...context }: UnjudgedContext<RewardContext<Row, Config, Agent>>,
  defaultWeight: 0 | 1,
): Promise<WeightedScores> {
  const scored = Object.entries(rewards).map(async ([name, entry]) => {
    if ("scoreGroup" in entry) return [];
    const { weight = defaultWeight, timeoutMs, agent } = entry as Partial<WeightedScore<Row, Config, Agent>>;
    if (agent !== undefined && agent !== context.agent) return [];
    const score = typeof entry === "function" ? entry : entry.score;
    const work = async (signal: AbortSignal): Promise<RewardValue> =>
      score({ ...context, signal, judge: judges.within(signal, usage) });
    return Object.entries(namedScores(name, await withinTime(name, work, context.signal, timeoutMs))).map(
      ([part, value]) => [part, { score: value, weight }] as const,
    );
  });
  return Object.fromEntries((await Promise.all(scored)).flat());
}

/** Runs a reward's computation with its deadline; its errors name the reward. */
export async function withinTime<Result>(
  name: string,
  work: (signal: AbortSignal) => Promise<Result>,
  outer: AbortSignal,
  timeoutMs = REWARD_TIMEOUT_MS,
): Promise<Result> {
  const late = (): PrlError =>
    new PrlError("PRL_ENVIRONMENT_TIMEOUT", `reward "${name}" did not end within ${timeoutMs} ms`);
  const time = new LinkedAbort(outer).abortAfter(timeoutMs, late);
  const { signal } = time;
  try {
    return await untilAborted(() => work(signal), signal);
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    if (cause instanceof PrlError) throw cause;
    const message = `reward "${name}" threw: ${messageOf(cause)}${thrownAt(cause)}`;
    throw new PrlError("PRL_ENVIRONMENT_FAILED", message, { cause });
  } finally {
    time.release();
  }
}

/**
 * The scores in a reward's value: one with its name, or one for each part. Throws PRL_ENVIRONMENT_FAILED for a value that is not a
 * score.
 */
export function namedScores(name: string, value: unknown): Record<string, number> {
  if (!isObject(value)) return { [name]: finiteScore(name, value) };
  const parts = Object.entries(value);
  if (parts.length === 0 || Array.isArray(value)) return { [name]: finiteScore(name, value) };
  return Object.fromEntries(
    parts.map(([part, score]) => [`${name}/${part}`, finiteScore(`${name}/${part}`, score)] as const),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function finiteScore(name: string, value: unknown): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const what = typeof value === "number" ? String(value) : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  const message = `reward "${name}" returned ${what}; it must be a finite number or a boolean, or an object of them`;
  throw new PrlError("PRL_ENVIRONMENT_FAILED", message);
}
