/** Summarises the episodes of an evaluation in numbers. */
import { type Episode, type EpisodeTrace, rewardOf } from "../environments/records.ts";
import { type MeanInterval, meanInterval } from "../algorithms/index.ts";
import { passCurves } from "../algorithms/internal.ts";
import { votedReward } from "./votes.ts";

/** Keys are snake_case, because it is written to `summary.json`. */
export interface EvaluationReport {
  name: string;
  env: string;
  model: string;
  /** Number of tasks. */
  examples: number;
  /** Rows of the data that gave no task. */
  rows_left_out: number;
  rollouts_per_example: number;
  /** Rollouts that were scored. */
  scored: number;
  errors: number;
  errors_by_code: Record<string, number>;
  /** The message of the first error of each code. */
  error_messages: Record<string, string>;
  /**
   * Mean over the means of the tasks, because rollouts of one task are similar; null when nothing was scored. Its 95 % interval is
   * Wilson's for one rollout per task and rewards of 0 and 1, else Student's.
   */
  reward: (MeanInterval & { level: number; method: "wilson" | "t" }) | null;
  /** By k (1, 2, 4, ... and the number of rollouts), over the tasks whose rollouts were all scored; empty when there are none. */
  pass_at_k: Record<string, number>;
  pass_hat_k: Record<string, number>;
  /** `[low, high]` of the 95 % interval of each: Student's over the tasks, Wilson's where each task is 0 or 1. */
  pass_at_k_interval: Record<string, [number, number]>;
  pass_hat_k_interval: Record<string, [number, number]>;
  /** By the number of rollouts: share of tasks whose most frequent answer is right; empty where rollouts name no answers. */
  cons_at_k: Record<string, number>;
  cons_at_k_interval: Record<string, [number, number]>;
  /** Mean rewards by agent; empty where there is one agent. */
  agents: Record<string, number>;
  /** Means by name, over scored rollouts; of several agents as `<agent>/<name>`. */
  rewards: Record<string, number>;
  metrics: Record<string, number>;
  /** Numbers that follow from the means of the metrics, as a benchmark publishes them. */
  derived: Record<string, number>;
  /** By part of a benchmark (a subject, a category): its tasks, and the mean of their rewards. Empty where there are no parts. */
  by_group: Record<string, { examples: number; reward: number | null }>;
  /** Share of scored rollouts whose last reply was cut. */
  truncated: number;
  stop_conditions: Record<string, number>;
  /** Totals of the endpoint's counts, those of failed rollouts included. */
  usage: { prompt_tokens: number; completion_tokens: number };
  /** Price of these tokens by the config's `price`, without those of a judge; null: no price is known. */
  cost: number | null;
  /** Mean seconds of a scored rollout, and of its scoring; null when nothing was scored. */
  seconds: { rollout: number; scoring: number } | null;
}

export interface ReportOptions {
  name: string;
  env: string;
  model: string;
  rollouts: number;
  passThreshold: number;
  /** Default 0. */
  rowsLeftOut?: number;
  /** Prices of a million tokens. Default null: unknown. */
  price?: { readonly input: number; readonly output: number } | null;
  /** Parts of the benchmark that the tasks belong to, in their order. */
  parts?: readonly (string | null)[];
  derive?: (means: Readonly<Record<string, number>>) => Record<string, number>;
}

const LEVEL = 0.95;
const MILLION = 1_000_000;

/** @param groups the episodes of each task. */
export function report(groups: readonly (readonly Episode[])[], options: ReportOptions): EvaluationReport {
  const { name, env, model, rollouts, passThreshold, rowsLeftOut = 0, parts = [], derive, price = null } = options;
  const episodes = groups.flat();
  const firstErrors = episodes.flatMap(({ errors }) => errors.slice(0, 1));
  const traces = episodes.flatMap((episode) => (episode.ok ? episode.traces : []));
  const agents = new Set(traces.map(({ agent }) => agent));
  /** Numbers of a trace, under their agent's name where there are several agents. */
  const named = (numbers: (trace: EpisodeTrace) => Readonly<Record<string, number>>) => (trace: EpisodeTrace) =>
    agents.size < 2
      ? numbers(trace)
      : Object.fromEntries(Object.entries(numbers(trace)).map(([key, value]) => [`${trace.agent}/${key}`, value]));
  const rewards = groups.map(rewardsOf);
  const complete = rewards.filter((group) => group.length === rollouts);
  const passes = complete.map((group) => group.filter((reward) => reward >= passThreshold).length);
  const { at, hat } = passCurves(passes, rollouts);
  const calls = episodes.flatMap((episode) => episode.traces);
  const usage = {
    prompt_tokens: sum(calls.map((trace) => trace.usage.prompt_tokens)),
    completion_tokens: sum(calls.map((trace) => trace.usage.completion_tokens)),
  };
  const metrics = meansByName(traces.map(named((trace) => trace.metrics)));
  return {
    name,
    env,
    model,
    examples: groups.length,
    rows_left_out: rowsLeftOut,
    rollouts_per_example: rollouts,
    scored: sum(rewards.map((group) => group.length)),
    errors: episodes.filter(({ ok }) => !ok).length,
    errors_by_code: countBy(firstErrors.map(({ code }) => code)),
    error_messages: Object.fromEntries(firstErrors.toReversed().map(({ code, message }) => [code, message])),
    reward: rewardInterval(rewards),
    pass_at_k: mapValues(at, ({ mean: rate }) => rate),
    pass_hat_k: mapValues(hat, ({ mean: rate }) => rate),
    pass_at_k_interval: mapValues(at, ({ low, high }) => [low, high]),
    pass_hat_k_interval: mapValues(hat, ({ low, high }) => [low, high]),
    ...consensus(
      groups.filter((_, index) => rewards[index]?.length === rollouts),
      rollouts,
    ),
    agents: meansByAgent(traces),
    rewards: meansByName(traces.map(named((trace) => mapValues(trace.rewards, ({ score }) => score)))),
    metrics,
    derived: traces.length === 0 ? {} : (derive?.(metrics) ?? {}),
    by_group: rewardsByPart(rewards, parts),
    truncated: traces.length === 0 ? 0 : mean(traces.map(({ is_truncated: cut }) => Number(cut))),
    stop_conditions: countBy(traces.flatMap(({ stop_condition: stop }) => stop ?? [])),
    usage,
    cost:
      price === null ? null : (usage.prompt_tokens * price.input + usage.completion_tokens * price.output) / MILLION,
    seconds:
      traces.length === 0
        ? null
        : {
            rollout: mean(traces.map(({ timing }) => timing.generation_ms)) / 1000,
            scoring: mean(traces.map(({ timing }) => timing.scoring_ms)) / 1000,
          },
  };
}

/** Rewards of a task's scored rollouts. */
function rewardsOf(group: readonly Episode[]): number[] {
  return group.map(rewardOf).filter((reward) => !Number.isNaN(reward));
}

function rewardInterval(rewards: readonly (readonly number[])[]): EvaluationReport["reward"] {
  const scored = rewards.filter((group) => group.length > 0);
  if (scored.length === 0) return null;
  const isBinary = scored.every((group) => group.length === 1 && (group[0] === 0 || group[0] === 1));
  const method = isBinary ? "wilson" : "t";
  return { ...meanInterval(scored.map(mean), { method, level: LEVEL }), level: LEVEL, method };
}

/** Votes of the tasks whose rollouts were all scored. */
function consensus(
  groups: readonly (readonly Episode[])[],
  rollouts: number,
): Pick<EvaluationReport, "cons_at_k" | "cons_at_k_interval"> {
  const voted = groups.flatMap((group) => votedReward(group) ?? []);
  if (rollouts < 2 || voted.length === 0) return { cons_at_k: {}, cons_at_k_interval: {} };
  const method = voted.every((value) => value === 0 || value === 1) ? "wilson" : "t";
  const { mean: rate, low, high } = meanInterval(voted, { method, level: LEVEL });
  return { cons_at_k: { [rollouts]: rate }, cons_at_k_interval: { [rollouts]: [low, high] } };
}

/** @param rewards of each task. */
function rewardsByPart(
  rewards: readonly (readonly number[])[],
  parts: readonly (string | null)[],
): EvaluationReport["by_group"] {
  const names = [...new Set(parts.flatMap((part) => part ?? []))].toSorted();
  return Object.fromEntries(
    names.map((name) => {
      const own = rewards.filter((_, index) => parts[index] === name);
      const scored = own.filter((group) => group.length > 0);
      return [name, { examples: own.length, reward: scored.length === 0 ? null : mean(scored.map(mean)) }];
    }),
  );
}

function meansByAgent(traces: readonly EpisodeTrace[]): Record<string, number> {
  const names = [...new Set(traces.map(({ agent }) => agent))].toSorted();
  if (names.length < 2) return {};
  const own = (name: string): number[] => traces.flatMap(({ agent, reward }) => (agent === name ? (reward ?? []) : []));
  return Object.fromEntries(names.map((name) => [name, mean(own(name))]));
}

function meansByName(records: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = [...new Set(records.flatMap(Object.keys))];
  return Object.fromEntries(names.map((name) => [name, mean(records.flatMap((record) => record[name] ?? []))]));
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, to(value)]));
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
