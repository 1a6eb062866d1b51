/** Scores of conversations that are there already, without any model. */
import { taskHash } from "./tasks.ts";
import type { Environment } from "./environment.ts";
import { toEpisodeError, type EpisodeError } from "./episode.ts";
import type { Message } from "./message.ts";

export interface ScoredRollout {
  /** NaN when it could not be scored. */
  reward: number;
  metrics: Record<string, number>;
  error?: EpisodeError;
}

/**
 * Rewards and metrics of each conversation, in order. `task` is a row as the environment's tasks are; `args` are its arguments. What fails to be
 * scored carries its error and hurts no other.
 */
export async function scoreGroup(
  environment: Environment,
  rollouts: readonly { task: object; messages: readonly Message[] }[],
  args: unknown = {},
): Promise<ScoredRollout[]> {
  const configured = environment.configure(args);
  return Promise.all(
    rollouts.map(async ({ task: data, messages }, index): Promise<ScoredRollout> => {
      try {
        const { reward, rewards, metrics } = await configured.score(
          { key: String(index), hash: taskHash(data), data },
          messages,
        );
        const scores = Object.fromEntries(Object.entries(rewards).map(([name, { score }]) => [name, score]));
        return { reward, metrics: { ...metrics, ...scores } };
      } catch (error) {
        return { reward: Number.NaN, metrics: {}, error: toEpisodeError(error) };
      }
    }),
  );
}
