/** The rewards and metrics of an episode's traces. */
import type { AgentRole } from "../rollout/seats.ts";
import type { Trace } from "../episode/trace.ts";
import type { Score } from "./configured-environment.ts";
import type { EnvironmentDefinition } from "./environment.ts";
import { sumOf } from "./group-reward.ts";
import { type RewardContext, scoreAll, type UnjudgedContext } from "./reward.ts";

/** The score of each trace, in their order. */
export async function scoreTraces<Config, Row extends object, Agent extends string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
  context: Omit<UnjudgedContext<RewardContext<Row, Config, Agent>>, "trace" | "agent" | "traces">,
  agents: readonly Agent[],
  seats: readonly { readonly role: AgentRole<Agent>; readonly trace: Trace }[],
): Promise<Score[]> {
  const of = (agent: Agent): Trace[] => seats.filter(({ role }) => role.name === agent).map(({ trace }) => trace);
  // The record has all of `agents`, also those that said nothing.
  const traces = Object.fromEntries(agents.map((agent) => [agent, of(agent)])) as Record<Agent, Trace[]>;
  return Promise.all(
    seats.map(async ({ role, trace }) => {
      const own = { ...context, trace, traces, agent: role.name };
      const [rewards, metrics] = await Promise.all([
        scoreAll(definition.rewards, own, 1),
        scoreAll(definition.metrics ?? {}, own, 0),
      ]);
      const numbers = Object.entries(metrics).map(([name, { score }]) => [name, score] as const);
      return { reward: sumOf(rewards), rewards, metrics: Object.fromEntries(numbers) };
    }),
  );
}
