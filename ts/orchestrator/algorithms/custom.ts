/**
 * Advantages of one's own: `(group) => Float32Array[]`, a function by path (`type = "custom"`).
 *
 * It sees the rollouts of one comparison that have a reward, and returns for each of them one number, which all its sampled tokens get, or one
 * for each token of its trace; those of tokens that were not sampled are not read.
 */
import { importUserModule } from "../../config/index.ts";
import type { EpisodeTrace } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";
import type { TraceColumns } from "../../native/index.ts";

/** One rollout's trace. */
export interface RewardedTrace {
  reward: number;
  trace: EpisodeTrace;
  /** A copy of its tokens, T of all branches. */
  columns: () => TraceColumns;
}

/** What is compared: the traces of one agent on one task. */
export interface AdvantageGroup {
  /** Name of the source. */
  env: string;
  task: { key: string; data: unknown };
  agent: string;
  rollouts: RewardedTrace[];
}

/** One array per rollout: [1], or [T] for the tokens of its trace. */
export type CustomAdvantages = (group: AdvantageGroup) => readonly Float32Array[];

/** One advantage for all sampled tokens, or one per token. */
export type Worth = number | Float32Array;

/** Errors: PRL_USER_MODULE. */
export async function loadAdvantages(path: string): Promise<CustomAdvantages> {
  const found = await importUserModule(path);
  if (typeof found === "function") return found as CustomAdvantages;
  throw new PrlError("PRL_USER_MODULE", `${path}: advantages are a function (group) => Float32Array[]`);
}

/** Asks the function of `path`. Errors: PRL_USER_MODULE with what it threw, PRL_ADVANTAGE_INPUT for what it must not return. */
export function customAdvantages(path: string, compute: CustomAdvantages, group: AdvantageGroup): Worth[] {
  const what = `${path}: group ${group.env} ${group.task.key}`;
  let result: unknown;
  try {
    result = compute(group);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PrlError("PRL_USER_MODULE", `${what}: the function threw: ${why}`, { cause });
  }
  const wrong = (problem: string) => new PrlError("PRL_ADVANTAGE_INPUT", `${what}: ${problem}`);
  if (!Array.isArray(result) || result.length !== group.rollouts.length) {
    throw wrong(`the function returned no list of ${group.rollouts.length} arrays, one per rollout`);
  }
  return group.rollouts.map(({ columns }, i) => {
    const values: unknown = result[i];
    if (!(values instanceof Float32Array)) throw wrong(`what it returned for rollout ${i} is no Float32Array`);
    const bad = values.find((value) => !Number.isFinite(value));
    if (bad !== undefined) throw wrong(`rollout ${i} has an advantage of ${bad}`);
    if (values.length === 1) return values[0] ?? 0;
    const tokens = columns().tokenIds.length;
    if (values.length === tokens) return values;
    throw wrong(`rollout ${i} has ${values.length} advantages: give one, or one for each of its ${tokens} tokens`);
  });
}

/** As one number: the mean over the sampled tokens. */
export function meanWorth(worth: Worth, columns: () => TraceColumns): number {
  if (typeof worth === "number") return worth;
  const { mask } = columns();
  const own = worth.filter((_, t) => mask[t] === 1);
  return own.length === 0 ? 0 : own.reduce((sum, value) => sum + value, 0) / own.length;
}
