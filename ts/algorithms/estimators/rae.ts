/**
 * RAE, role-conditioned advantage estimation for self-play: A = R - b_agent, then b_agent <- decay * b_agent + (1 - decay) * R.
 *
 * Source: SPIRAL, arXiv:2506.24119, with the baseline before its update (as prime-rl; the paper's listing updates first). Rollouts
 * count in the order given; a group may hold one rollout; nothing is normalised. The baselines outlive a batch: a run keeps
 * {@link AgentBaselines} and writes them into its checkpoints, where prime-rl forgets them.
 */
import type { AdvantageEstimator } from "../advantages.ts";

/** Moving averages of the reward by agent, each starting at `start`. */
export class AgentBaselines {
  readonly #values: Map<string, number>;
  readonly #decay: number;
  readonly #start: number;

  constructor(decay: number, start: number | Readonly<Record<string, number>>) {
    this.#decay = decay;
    this.#start = typeof start === "number" ? start : 0;
    this.#values = new Map(typeof start === "number" ? [] : Object.entries(start));
  }

  /** The advantage of one reward; the baseline moves towards the reward afterwards. */
  observe(agent: string, reward: number): number {
    const baseline = this.#values.get(agent) ?? this.#start;
    this.#values.set(agent, this.#decay * baseline + (1 - this.#decay) * reward);
    return reward - baseline;
  }

  /** Baselines by agent, as `params.baseline` takes them. */
  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#values);
  }
}

/** Reads `decay`, `baseline` and `agents` (absent: all rollouts are of one agent). */
export const rae: AdvantageEstimator = (groups, { decay, baseline, agents }) => {
  const baselines = new AgentBaselines(decay, baseline);
  return groups.map((group, g) => group.map((reward, i) => baselines.observe(agents?.[g]?.[i] ?? "agent", reward)));
};
