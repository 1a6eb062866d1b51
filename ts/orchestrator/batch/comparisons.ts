/**
 * Says which traces of a batch are compared with one another to find their advantages.
 *
 * Traces of one agent over the rollouts of a group have the same task and are one comparison. Where an agent has several traces in an
 * episode (the solvers of one proposer's problem), each episode has another problem, and so each episode is a comparison. Traces that do not
 * train are in no comparison. This file knows no estimator.
 */
import type { Episode } from "../../environments/index.ts";
import type { Group } from "../scheduling/dispatcher.ts";

export interface Comparison {
  readonly agent: string;
  /** NaN where the rollout failed. */
  readonly rewards: number[];
  /** The trace of each reward; trace 0 of a failed rollout stands in for the missing traces. */
  readonly members: Member[];
}

export interface Member {
  readonly group: number;
  readonly rollout: number;
  readonly trace: number;
}

interface Scored {
  readonly member: Member;
  readonly reward: number;
}

export function compareTraces(groups: readonly Group[]): Comparison[] {
  return groups.flatMap((group, g) => compareGroup(group, g));
}

function compareGroup({ rollouts }: Group, group: number): Comparison[] {
  const episodes = rollouts.map(({ episode }) => episode);
  const agents = [...new Set(episodes.flatMap(trainedTraces).map(({ agent }) => agent))];
  // A group that failed as a whole has a place too, so that the counts stay right.
  if (agents.length === 0) agents.push("agent");
  return agents.flatMap((agent) => {
    const members = episodes.map((episode, rollout) => membersOf(episode, agent, { group, rollout }));
    const isShared = members.some((own) => own.length > 1);
    const missing = (rollout: number): Scored[] => [{ member: { group, rollout, trace: 0 }, reward: Number.NaN }];
    const sets = isShared
      ? members.filter((own) => own.length > 0)
      : [members.flatMap((own, rollout) => (own.length === 0 ? missing(rollout) : own))];
    return sets.map((set) => ({
      agent,
      rewards: set.map(({ reward }) => reward),
      members: set.map(({ member }) => member),
    }));
  });
}

function membersOf(episode: Episode, agent: string, place: { group: number; rollout: number }): Scored[] {
  if (!episode.ok) return [];
  return episode.traces.flatMap((trace, index) =>
    trace.agent === agent && trace.trainable
      ? [{ member: { ...place, trace: index }, reward: trace.reward ?? Number.NaN }]
      : [],
  );
}

function trainedTraces({ ok, traces }: Episode): Episode["traces"] {
  return ok ? traces.filter(({ trainable }) => trainable) : [];
}
