/** Scores existing conversations, without any model. */
import { z } from "zod";

import { checkOptions, only, table } from "../../options.ts";
import type { ConfiguredEnvironment } from "./configured-environment.ts";
import type { Environment } from "./environment.ts";
import { type Episode, type EpisodeError, toEpisodeError } from "../episode/episode.ts";
import { withGroupScores } from "./group-reward.ts";
import type { Message } from "../../message.ts";
import { SOLE_AGENT } from "../rollout/seats.ts";
import { type Task } from "./tasks.ts";
import { taskHash } from "../../datasets/index.ts";

export interface ScoredRollout {
  /** NaN when it could not be scored. */
  reward: number;
  /** Metrics, and the rewards without their weights. */
  metrics: Record<string, number>;
  error?: EpisodeError;
}

interface Conversation {
  task: object;
  messages: readonly Message[];
}

const conversationsSchema = z.array(only<Conversation>({ task: table, messages: z.array(z.unknown()) }));

/**
 * Rewards and metrics of each conversation, in order. `task` is a row like those of the environment's tasks; `args` are its arguments.
 * A conversation that fails to be scored carries its error and does not affect others, except for group rewards: conversations of equal
 * tasks are one group, and fail together.
 */
export async function scoreGroup(
  environment: Environment,
  rollouts: readonly Conversation[],
  args: unknown = {},
): Promise<ScoredRollout[]> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "scoreGroup's rollouts", conversationsSchema, rollouts);
  const configured = environment.configure(args);
  const agent = configured.agents[0] ?? SOLE_AGENT;
  const scored = await Promise.all(
    rollouts.map(async ({ task: data, messages }, index): Promise<Scored> => {
      const task = { key: String(index), hash: taskHash(data), data };
      try {
        return { task, episode: await configured.scoreConversations(task, { [agent]: [messages] }) };
      } catch (error) {
        return { task, error: toEpisodeError(error) };
      }
    }),
  );
  if (configured.scoresGroups) await addGroupScores(configured, scored);
  return scored.map(toScore);
}

interface Scored {
  readonly task: Task;
  episode?: Episode;
  readonly error?: EpisodeError;
}

async function addGroupScores(configured: ConfiguredEnvironment, scored: readonly Scored[]): Promise<void> {
  for (const hash of new Set(scored.map(({ task }) => task.hash))) {
    const members = scored.filter(({ task, episode }) => task.hash === hash && episode !== undefined);
    const episodes = members.flatMap(({ episode }) => episode ?? []);
    const [first] = members;
    if (first === undefined) continue;
    const scores = await configured.scoreGroup(first.task, episodes, new AbortController().signal);
    for (const [index, episode] of withGroupScores(episodes, scores).entries()) {
      const member = members[index];
      if (member !== undefined) member.episode = episode;
    }
  }
}

function toScore({ episode, error = episode?.errors[0] }: Scored): ScoredRollout {
  if (error !== undefined) return { reward: Number.NaN, metrics: {}, error };
  const { reward = null, rewards = {}, metrics = {} } = episode?.traces[0] ?? {};
  const scores = Object.fromEntries(Object.entries(rewards).map(([name, { score }]) => [name, score]));
  return { reward: reward ?? Number.NaN, metrics: { ...metrics, ...scores } };
}
