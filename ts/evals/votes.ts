/**
 * cons@k: the share of tasks whose most frequent answer is right (Wang et al., 2022, "self-consistency").
 *
 * Rollouts vote with `info.answer` of their trace; one without an answer does not vote. Answers that tie share the task.
 */
import { type Episode, rewardOf } from "../environments/records.ts";

/**
 * Reward of the most frequent answer of a task, from its scored rollouts; 0 when none has an answer, null when the environment names no
 * answers.
 */
export function votedReward(group: readonly Episode[]): number | null {
  const rewards = new Map<string, number[]>();
  let names = false;
  for (const episode of group) {
    const answer = episode.traces[0]?.info?.["answer"];
    if (answer === undefined) continue;
    names = true;
    if (typeof answer !== "string") continue;
    rewards.set(answer, [...(rewards.get(answer) ?? []), rewardOf(episode)]);
  }
  if (!names) return null;
  const most = Math.max(0, ...[...rewards.values()].map(({ length }) => length));
  const winners = [...rewards.values()].filter(({ length }) => length === most).map(mean);
  return winners.length === 0 ? 0 : mean(winners);
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}
