/**
 * Custom advantages: `(group) => Float32Array[]`, a function that the user gives by path (`type = "custom"`).
 *
 * It sees the rollouts of one comparison that have a reward, and returns for each of them one number, which all its sampled tokens get, or one
 * for each token of its trace; those of tokens that were not sampled are not read.
 */
import type { EpisodeTrace } from "../environments/index.ts";
import { PrlError } from "../errors.ts";
import type { TraceColumns } from "../native/index.ts";
import { UserFunction } from "./user-function.ts";

/** One rollout's trace. */
export interface RewardedTrace {
  reward: number;
  trace: EpisodeTrace;
  /** A copy of its tokens, T of all branches. */
  columns: () => TraceColumns;
}

/** The traces that are compared: those of one agent on one task. */
export interface AdvantageGroup {
  /** Name of the source. */
  env: string;
  task: { key: string; data: unknown };
  agent: string;
  rollouts: RewardedTrace[];
}

/** One array per rollout: [1], or [T] for the tokens of its trace. */
export type CustomAdvantages = (group: AdvantageGroup) => readonly Float32Array[];

/** One advantage for all sampled tokens, or one per token: 0 where a token was not sampled. */
export type Advantage = number | Float32Array;

/** Errors: those of `UserFunction.load`. */
export async function loadAdvantages(path: string, deadlineS: number | null): Promise<UserFunction> {
  return UserFunction.load(path, "advantages are a function (group) => Float32Array[]", deadlineS);
}

/** Calls the function. Errors: those of `UserFunction.call`; PRL_ADVANTAGE_INPUT when what it returned is not allowed. */
export function customAdvantages(compute: UserFunction, group: AdvantageGroup): Advantage[] {
  const what = `group ${group.env} ${group.task.key}`;
  const result = compute.call(what, group);
  const wrong = (problem: string) => new PrlError("PRL_ADVANTAGE_INPUT", `${compute.path}: ${what}: ${problem}`);
  if (!Array.isArray(result) || result.length !== group.rollouts.length) {
    throw wrong(`the function returned no list of ${group.rollouts.length} arrays, one per rollout`);
  }
  return group.rollouts.map(({ columns }, i) => {
    const values: unknown = result[i];
    if (!(values instanceof Float32Array)) throw wrong(`what it returned for rollout ${i} is not a Float32Array`);
    const own = values.length === 1 ? values : ofSampled(values, columns());
    if (typeof own === "string") throw wrong(`rollout ${i} has ${own}`);
    const bad = own.find((value) => !Number.isFinite(value));
    if (bad !== undefined) throw wrong(`rollout ${i} has an advantage of ${bad}`);
    return own.length === 1 ? (own[0] ?? 0) : own;
  });
}

/** The advantages of the sampled tokens, 0 elsewhere; a text that says what is wrong when there is not one for each token. */
function ofSampled(values: Float32Array, { mask }: TraceColumns): Float32Array | string {
  if (values.length === mask.length) return values.map((value, t) => (mask[t] === 1 ? value : 0));
  return `${values.length} advantages: give one, or one for each of its ${mask.length} tokens`;
}

/** The advantage as one number: the mean over the sampled tokens. */
export function meanAdvantage(advantage: Advantage, columns: () => TraceColumns): number {
  if (typeof advantage === "number") return advantage;
  const { mask } = columns();
  const own = advantage.filter((_, t) => mask[t] === 1);
  return own.length === 0 ? 0 : own.reduce((sum, value) => sum + value, 0) / own.length;
}
