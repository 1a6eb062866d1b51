/** The record of a rollout: its episode and the token columns of its traces. */
import { randomUUID } from "node:crypto";

import type { BusyTime } from "../rollout/busy-time.ts";
import type { RolloutOrder, Score } from "../model/configured-environment.ts";
import type { RolloutEnd } from "../model/environment.ts";
import type { EpisodeError, EpisodeTrace } from "./episode.ts";
import type { EpisodeFrame } from "./episode-frame.ts";
import type { Sampler } from "../rollout/sampler.ts";
import type { AgentRole } from "../rollout/seats.ts";
import type { PromptForm, TraceGraph } from "./trace.ts";
import { versionRange } from "./trace-columns.ts";

/** Times of a rollout: `start` in seconds since 1970, the others by `performance.now()`, 0 until they happen. */
export interface Clock {
  start: number;
  begun: number;
  generated: number;
  scored: number;
}

export function startClock(): Clock {
  return { start: Date.now() / 1000, begun: performance.now(), generated: 0, scored: 0 };
}

/** One agent's trace and how it was sampled. */
export interface SeatRecord<Agent extends string = string> {
  readonly role: AgentRole<Agent>;
  readonly trace: TraceGraph;
  readonly sampler?: Pick<Sampler, "rerendered" | "recycled">;
  readonly calls?: Pick<BusyTime, "ms">;
}

export interface RolloutOutcome {
  clock: Clock;
  errors: EpisodeError[];
  end: RolloutEnd;
  /** Scores of the seats, in their order; null when the rollout failed. */
  scores: readonly Score[] | null;
}

export function toFrame(
  definition: { readonly name: string },
  order: Pick<RolloutOrder, "episodeId" | "groupId" | "source" | "task" | "run" | "keepsPartial">,
  seats: readonly SeatRecord[],
  outcome: RolloutOutcome,
): EpisodeFrame {
  const { episodeId, groupId, source, task, run, keepsPartial = false } = order;
  const columns = seats.map(({ trace }) => trace.columns());
  const now = performance.now();
  const traces = seats.map((seat, index): EpisodeTrace => {
    const policy = columns[index] === undefined ? null : versionRange(columns[index]);
    const turns = keepsPartial ? turnsOf(seat.trace) : {};
    return { ...recordOf(seat, outcome.scores?.[index] ?? null, outcome, now), ...turns, policy };
  });
  const { errors } = outcome;
  const episode = {
    id: episodeId,
    env: { id: definition.name, name: source },
    task: { key: task.key, hash: task.hash, data: task.data },
    group: { id: groupId },
    run,
    ok: errors.length === 0,
    errors,
    traces,
  };
  return { episode, columns };
}

function recordOf(
  { role, trace, sampler, calls }: SeatRecord,
  score: Score | null,
  { clock, end }: RolloutOutcome,
  now: number,
): Omit<EpisodeTrace, "policy"> {
  // Conversations that were only scored have no generation time.
  const hasEnded = clock.generated > 0 || score !== null;
  const generated = clock.generated || now;
  // Turns that could not extend the tokens of the turn before, and additional branches, are recorded when there are any.
  const rerendered = sampler?.rerendered() ?? 0;
  const branches = trace.branches().length;
  // Tokens that an earlier rollout had sampled.
  const recycled = sampler?.recycled() ?? 0;
  const counted = {
    ...(recycled > 0 ? { recycled_tokens: recycled } : {}),
    ...(rerendered > 0 ? { rerendered_turns: rerendered } : {}),
    ...(branches > 1 ? { branches } : {}),
  };
  return {
    id: randomUUID(),
    agent: role.name,
    trainable: role.trains,
    nodes: trace.nodes.map(({ parent, message, sampled, tokenIds }) => ({
      parent,
      message,
      sampled,
      ...(tokenIds.length > 0 && { tokens: tokenIds.length }),
    })),
    ...(trace.asked === null ? {} : { asked: recordedForm(trace.asked) }),
    rewards: score?.rewards ?? {},
    reward: score?.reward ?? null,
    metrics: hasEnded ? { ...end.metrics, ...counted, ...score?.metrics } : {},
    ...(end.info === undefined ? {} : { info: end.info }),
    stop_condition: hasEnded
      ? (end.stopCondition ?? (trace.truncated ? "max_output_tokens" : "agent_completed"))
      : null,
    is_completed: score !== null,
    is_truncated: trace.truncated,
    usage: { prompt_tokens: trace.promptTokens, completion_tokens: trace.completionTokens },
    timing: {
      start: clock.start,
      generation_ms: generated - clock.begun,
      // A call that was given up may end after the generation.
      ...(calls !== undefined && { model_ms: Math.min(calls.ms, generated - clock.begun) }),
      scoring_ms: (clock.scored || now) - generated,
      total_ms: now - clock.begun,
    },
  };
}

function turnsOf(trace: TraceGraph): Pick<EpisodeTrace, "turns"> {
  const turns = trace.turnSpans()?.map(({ first, end, finishReason, stopReason }) => {
    return { first, end, finish_reason: finishReason, stop_reason: stopReason };
  });
  return turns === undefined ? {} : { turns };
}

function recordedForm(asked: PromptForm | "varied"): EpisodeTrace["asked"] {
  if (asked === "varied") return asked;
  return { is_text: asked.isText, ...(asked.tools !== undefined && { tools: [...asked.tools] }) };
}
