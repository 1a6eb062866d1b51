/**
 * Rewards that compare the rollouts of a group: they are computed from the records once all rollouts have ended.
 *
 * Only rollouts that did not fail take part. A group reward that fails makes every rollout of the group fail: none keeps a part of its
 * reward. This file knows no transport.
 */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { checkOptions } from "../../options.ts";
import { type Episode, episodeErrorSchema, scoresSchema, toEpisodeError } from "../episode/episode.ts";
import { RecordedTrace } from "../episode/recorded-trace.ts";
import { JudgeUsage } from "../judge/judge-usage.ts";
import type { JudgeAccess } from "../judge/judge.ts";
import type { SandboxAccess } from "../sandboxes/sandboxes.ts";
import {
  namedScores,
  type RewardContext,
  type RewardMap,
  type RewardOptions,
  rewardOptionsSchema,
  type RewardValue,
  type UnjudgedContext,
  withinTime,
} from "./reward.ts";

export interface GroupRewardContext<Row, Config = unknown> extends SandboxAccess, JudgeAccess {
  readonly task: Row;
  readonly config: Config;
  /** The agent whose traces are scored; with several agents the function is called for each. */
  readonly agent: string;
  /** The agent's traces of all episodes of the group, by episode and in the order they were begun. */
  readonly traces: readonly RecordedTrace[];
  /** All traces of each episode by agent; `traces[i].episode` is an index of it. */
  readonly episodes: readonly Readonly<Record<string, readonly RecordedTrace[]>>[];
  /** Aborted when the time is up or the group is cancelled. */
  readonly signal: AbortSignal;
}

/** One value for each of `traces`, in their order. */
export type GroupRewardFunction<Row, Config = unknown> = (
  context: GroupRewardContext<Row, Config>,
) => readonly RewardValue[] | Promise<readonly RewardValue[]>;

/** The result of `groupReward`. */
export interface GroupReward<Row, Config = unknown, Agent extends string = string> extends RewardOptions {
  /** It is never called. TypeScript infers the row's type only from a function type around it. */
  (context: RewardContext<Row, Config, Agent>): never;
  readonly weight: number;
  readonly scoreGroup: GroupRewardFunction<Row, Config>;
}

/** A reward (or, among `metrics`, a metric) of a whole group: one value per trace. Types flow as with `reward`. */
export function groupReward<Row, Config = unknown, Agent extends string = string>(
  weight: number,
  scoreGroup: GroupRewardFunction<NoInfer<Row>, NoInfer<Config>>,
  options: RewardOptions = {},
): GroupReward<Row, Config, Agent> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "groupReward", rewardOptionsSchema, options);
  const alone = (): never => {
    throw new PrlError("PRL_ENVIRONMENT_INVALID", "a reward of a group scores no trace alone");
  };
  return Object.assign(alone, { weight, scoreGroup, ...options });
}

const traceScoresSchema = z.strictObject({ rewards: scoresSchema, metrics: z.record(z.string(), z.number()) });

/** The scores of a group, as an env worker returns them. */
export const groupScoresSchema = z.strictObject({
  /** `[episode][trace]`, null where the episode took no part. */
  scores: z.array(z.array(traceScoresSchema).nullable()),
  /** Error of the whole group; then there are no scores. */
  error: episodeErrorSchema.nullable(),
});

export type GroupScores = z.output<typeof groupScoresSchema>;
/** Scores to add to those of the trace. */
export type TraceScores = z.output<typeof traceScoresSchema>;

export function hasGroupRewards(map: Readonly<Record<string, unknown>>): boolean {
  return groupEntries(map).length > 0;
}

/** Computes the group rewards and metrics of a definition. Never rejects. */
export async function scoreGroupRewards<Row, Config, Agent extends string>(
  definition: {
    readonly rewards: RewardMap<Row, Config, Agent>;
    readonly metrics?: RewardMap<Row, Config, Agent> | undefined;
  },
  { judges, ...common }: Omit<UnjudgedContext<GroupRewardContext<Row, Config>>, "agent" | "traces" | "episodes">,
  agents: readonly Agent[],
  episodes: readonly Episode[],
): Promise<GroupScores> {
  const scored = episodes.map(({ ok, traces }, index) =>
    ok ? traces.map((trace) => new RecordedTrace(trace, index)) : null,
  );
  const all = scored.flatMap((traces) => traces ?? []);
  const byAgent = (traces: readonly RecordedTrace[]) => tracesByAgent(agents, traces);
  const usage = new JudgeUsage();
  const context = { ...common, episodes: scored.map((traces) => byAgent(traces ?? [])) };
  const found = new Map<RecordedTrace, { rewards: Record<string, Weighted>; metrics: Record<string, number> }>(
    all.map((trace) => [trace, { rewards: {}, metrics: {} }]),
  );
  const run = async (kind: "rewards" | "metrics", name: string, entry: GroupEntry<Row, Config>) => {
    for (const [agent, traces] of Object.entries(byAgent(all)) as [Agent, RecordedTrace[]][]) {
      if (traces.length === 0 || (entry.agent !== undefined && entry.agent !== agent)) continue;
      const work = async (inner: AbortSignal) =>
        entry.scoreGroup({ ...context, agent, traces, signal: inner, judge: judges.within(inner, usage) });
      // The agents come one after the other, because they share what the reward caches.
      const values = await withinTime(name, work, common.signal, entry.timeoutMs);
      checkLength(name, values, traces.length);
      for (const [index, trace] of traces.entries()) {
        for (const [part, score] of Object.entries(namedScores(name, values[index]))) {
          const scores = found.get(trace);
          if (scores === undefined) continue;
          if (kind === "rewards") scores.rewards[part] = { score, weight: entry.weight };
          else scores.metrics[part] = score;
        }
      }
    }
  };
  try {
    await Promise.all([
      ...groupEntries(definition.rewards).map(([name, entry]) => run("rewards", name, entry)),
      ...groupEntries(definition.metrics ?? {}).map(([name, entry]) => run("metrics", name, entry)),
    ]);
  } catch (error) {
    return { scores: [], error: toEpisodeError(error) };
  }
  const ofTrace = (trace: RecordedTrace): TraceScores => {
    const { rewards = {}, metrics = {} } = found.get(trace) ?? {};
    return { rewards, metrics: { ...usage.groupMetrics, ...metrics } };
  };
  return { scores: scored.map((traces) => traces?.map(ofTrace) ?? null), error: null };
}

/**
 * The episodes with their group's scores; sums of rewards are computed anew, so that a repetition changes nothing. In a failed group no
 * episode counts.
 */
export function withGroupScores(episodes: readonly Episode[], { scores, error }: GroupScores): Episode[] {
  return episodes.map((episode, e) => {
    if (!episode.ok) return episode;
    if (error !== null) {
      const traces = episode.traces.map((trace) => ({ ...trace, reward: null, is_completed: false }));
      return { ...episode, ok: false, errors: [error], traces };
    }
    const traces = episode.traces.map((trace, t) => {
      const added = scores[e]?.[t];
      if (added === undefined) return trace;
      const rewards = { ...trace.rewards, ...added.rewards };
      return { ...trace, rewards, reward: sumOf(rewards), metrics: { ...trace.metrics, ...added.metrics } };
    });
    return { ...episode, traces };
  });
}

/** The traces of each of `agents`; an agent without any has an empty list. */
export function tracesByAgent<Agent extends string, One extends { readonly agent: string }>(
  agents: readonly Agent[],
  traces: readonly One[],
): Record<Agent, One[]> {
  const lists = agents.map((agent) => [agent, traces.filter((trace) => trace.agent === agent)] as const);
  return Object.fromEntries(lists) as Record<Agent, One[]>;
}

/** Sum of score times weight. */
export function sumOf(rewards: Readonly<Record<string, Weighted>>): number {
  return Object.values(rewards).reduce((sum, { score, weight }) => sum + score * weight, 0);
}

interface Weighted {
  readonly score: number;
  readonly weight: number;
}

type GroupEntry<Row, Config> = Pick<GroupReward<Row, Config>, "weight" | "scoreGroup" | "timeoutMs" | "agent">;

function groupEntries<Row, Config, Agent extends string>(
  map: RewardMap<Row, Config, Agent> | Readonly<Record<string, unknown>>,
): [string, GroupEntry<Row, Config>][] {
  return Object.entries(map).filter((entry): entry is [string, GroupEntry<Row, Config>] => {
    const [, value] = entry;
    return typeof value === "function" && "scoreGroup" in value;
  });
}

function checkLength(name: string, values: unknown, expected: number): void {
  const length = Array.isArray(values) ? values.length : null;
  if (length === expected) return;
  const what = length === null ? `a ${typeof values}` : `${length} values`;
  const message = `group reward "${name}" returned ${what} for ${expected} traces; it must be an array with one value per trace`;
  throw new PrlError("PRL_ENVIRONMENT_FAILED", message);
}
