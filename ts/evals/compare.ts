/**
 * Compares two evaluations of the same tasks task by task: the difference of two models is known better from pairs than from two means.
 *
 * Tasks are paired by evaluation and content, so that a task that was asked differently is in no pair. The interval is Student's over the
 * differences of the tasks' means, which counts rollouts of one task as one.
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";

import { meanInterval } from "../algorithms/index.ts";
import { rewardOf } from "../environments/records.ts";
import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { textLines } from "../files/text-lines.ts";
import { readEpisode } from "./read-episode.ts";

/** Keys are snake_case, as in `summary.json`. `a` and `b` are the runs in the order in which they were named. */
export interface Comparison {
  readonly name: string;
  /** Tasks that both runs scored. */
  readonly tasks: number;
  /** Tasks that only one of them scored. */
  readonly only_a: number;
  readonly only_b: number;
  /** Means over the paired tasks. */
  readonly a: number;
  readonly b: number;
  /** `b` minus `a`, with its 95 % interval; its ends are null for one task. */
  readonly difference: { readonly mean: number; readonly low: number | null; readonly high: number | null };
  /** Tasks that are better in `b`, worse, equal. */
  readonly better: number;
  readonly worse: number;
  readonly equal: number;
  /** Two-sided sign test over the tasks that differ (McNemar's exact test for rewards of 0 and 1); 1 when none does. */
  readonly p: number;
}

type Means = Map<string, Map<string, number>>;

/** By evaluation, in the order of run `a`. Errors: PRL_RUN_UNKNOWN for a folder without traces, PRL_EVAL_FAILED when no task is in both. */
export async function compareRuns(a: string, b: string): Promise<Comparison[]> {
  const [first, second] = [await taskMeans(a), await taskMeans(b)];
  const comparisons = [...first].flatMap(([name, ofA]) => {
    const ofB = second.get(name);
    const compared = ofB === undefined ? null : compare(name, ofA, ofB);
    return compared === null ? [] : [compared];
  });
  if (comparisons.length > 0) return comparisons;
  const names = (means: Means): string => [...means.keys()].join(", ") || "none";
  const message = `${a} (${names(first)}) and ${b} (${names(second)}) have no scored task in common: compare runs of the same evaluations, modes and data`;
  throw new PrlError("PRL_EVAL_FAILED", message);
}

/** Means of the tasks' scored rollouts, by evaluation and digest of the task. */
async function taskMeans(runDir: string): Promise<Means> {
  const path = join(runDir, "traces.jsonl");
  if ((await ifThere(stat(path), path)) === null)
    throw new PrlError("PRL_RUN_UNKNOWN", `${runDir} is no run of prl eval: there is no ${path}`);
  const rewards = new Map<string, Map<string, number[]>>();
  for await (const line of textLines(path)) {
    const episode = readEpisode(line);
    const reward = episode === null ? Number.NaN : rewardOf(episode);
    if (episode === null || Number.isNaN(reward)) continue;
    const tasks = rewards.get(episode.env.name) ?? new Map<string, number[]>();
    rewards.set(episode.env.name, tasks);
    tasks.set(episode.task.hash, [...(tasks.get(episode.task.hash) ?? []), reward]);
  }
  return new Map(
    [...rewards].map(([name, tasks]) => [name, new Map([...tasks].map(([task, all]) => [task, mean(all)]))]),
  );
}

function compare(name: string, ofA: ReadonlyMap<string, number>, ofB: ReadonlyMap<string, number>): Comparison | null {
  const pairs = [...ofA].flatMap(([task, a]) => {
    const b = ofB.get(task);
    return b === undefined ? [] : [{ a, b }];
  });
  if (pairs.length === 0) return null;
  const interval = meanInterval(
    pairs.map(({ a, b }) => b - a),
    { method: "t", level: 0.95 },
  );
  const [better, worse] = [pairs.filter(({ a, b }) => b > a).length, pairs.filter(({ a, b }) => b < a).length];
  const end = (value: number): number | null => (Number.isNaN(value) ? null : value);
  return {
    name,
    tasks: pairs.length,
    only_a: ofA.size - pairs.length,
    only_b: ofB.size - pairs.length,
    a: mean(pairs.map(({ a }) => a)),
    b: mean(pairs.map(({ b }) => b)),
    difference: { mean: interval.mean, low: end(interval.low), high: end(interval.high) },
    better,
    worse,
    equal: pairs.length - better - worse,
    p: signTest(better, worse),
  };
}

/** Two-sided: twice the chance of at most the smaller count among so many fair coins. */
export function signTest(better: number, worse: number): number {
  const n = better + worse;
  let logCoefficient = -n * Math.LN2;
  let tail = 0;
  for (let k = 0; k <= Math.min(better, worse); k++) {
    tail += Math.exp(logCoefficient);
    logCoefficient += Math.log(n - k) - Math.log(k + 1);
  }
  return Math.min(1, 2 * tail);
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}
