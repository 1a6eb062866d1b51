/**
 * Hierarchical GRPO for episodes of several agents (a proposer whose problem several solvers try): rollouts that share a label in
 * `subgroups` are compared with one another, A_i = R_i - mean of those; the others (label null) with each other across the group.
 *
 * Source: prime-rl's `hierarchical_grpo`: solvers are compared within one episode because each episode has another problem, proposers
 * across the episodes of a group. No division by a standard deviation.
 */
import type { AdvantageEstimator } from "../advantages.ts";
import { centred, singletonAdvantage } from "../moments.ts";
import { requiredColumn } from "../rollout-columns.ts";

/** Reads `subgroups` (required) and `singleton`. */
export const hierarchicalGrpo: AdvantageEstimator = (groups, { subgroups, singleton }) => {
  const labels = requiredColumn("hierarchical_grpo", "subgroups", subgroups);
  return groups.map((group, g) => {
    const members = new Map<string | null, number[]>();
    for (const [i] of group.entries()) {
      const label = labels[g]?.[i] ?? null;
      members.set(label, [...(members.get(label) ?? []), i]);
    }
    const advantages = group.map(() => 0);
    for (const indices of members.values()) {
      const rewards = indices.map((i) => group[i] ?? 0);
      const values =
        rewards.length === 1 ? rewards.map((reward) => singletonAdvantage(reward, singleton)) : centred(rewards);
      indices.forEach((i, k) => (advantages[i] = values[k] ?? 0));
    }
    return advantages;
  });
};
