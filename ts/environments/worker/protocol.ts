/** Requests of the env-worker protocol (ARCHITECTURE.md), snake_case as on the wire. */
import { z } from "zod";

import { type Episode, type EpisodeError, episodeSchema } from "../episode/episode.ts";
import { partialRolloutSchema } from "../episode/partial-rollout.ts";
import type { Sampling } from "../rollout/policy-client.ts";

const count = z.int().nonnegative();
const name = z.string().min(1);

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

const taskSchema = z.strictObject({
  key: z.string(),
  hash: z.string(),
  data: z.unknown().refine(isObject, "must be an object"),
});

export const runRequestSchema = z.strictObject({
  /** Name of the source. */
  env: name,
  task: taskSchema,
  /** The one engine that this rollout uses. `model` null: the server has only one model. `frozen`: the engine does not serve the policy. */
  inference: z.strictObject({
    url: z.url(),
    model: name.nullable(),
    api: z.enum(["prl", "vllm", "frozen"]).optional(),
    api_key: name.optional(),
  }),
  sampling: z.strictObject({
    temperature: z.number().min(0),
    max_completion_tokens: z.int().positive().nullable().optional(),
    top_p: z.number().gt(0).max(1).optional(),
    top_k: z.int().min(-1).optional(),
  }),
  seed: count,
  /** Requests with the same salt share cached prefixes. */
  cache_salt: z.string(),
  /** A lower priority is served earlier. */
  priority: z.int(),
  /** Milliseconds from the request's arrival on, with the wait. */
  deadline_ms: z.number().positive(),
  episode_id: name,
  group_id: z.string(),
  /** The split of the source `env`, and the step that the episode is for. */
  run: z.strictObject({ type: z.enum(["train", "eval"]), step: count }),
  /** The episode has to hold its turns, so that another rollout can continue from them, also when it is cancelled. */
  keep_partial: z.boolean().optional(),
  /** Turns of an earlier rollout of the task and sample, to continue from. */
  partial: partialRolloutSchema.optional(),
});

/** One rollout, as the orchestrator requests it. */
export type RunRequest = z.output<typeof runRequestSchema>;

/** The episode of a rollout that failed; `environment` is the environment's own name, where that is known. */
export function failedEpisode(request: RunRequest, error: EpisodeError, environment = request.env): Episode {
  return {
    id: request.episode_id,
    env: { id: environment, name: request.env },
    task: request.task,
    group: { id: request.group_id },
    run: request.run,
    ok: false,
    errors: [error],
    traces: [],
  };
}

/** A group of rollouts that have all ended, to get the rewards that compare them. */
export const scoreGroupRequestSchema = z.strictObject({
  env: name,
  split: z.enum(["train", "eval"]),
  task: taskSchema,
  episodes: z.array(episodeSchema).min(1),
  /** Milliseconds from the request's arrival on. */
  deadline_ms: z.number().positive(),
});

export type ScoreGroupRequest = z.output<typeof scoreGroupRequestSchema>;

export const cancelRequestSchema = z.strictObject({ episode_id: name });

/** Most tasks in one page. */
const MAX_PAGE = 10_000;

/** Query of `GET /tasks`; `after` is the `next` of the page before. */
export const tasksQuerySchema = z.strictObject({
  env: name,
  split: z.enum(["train", "eval"]),
  after: z.string().optional(),
  limit: z.coerce.number().int().positive().max(MAX_PAGE).default(100),
});

export function samplingOf({ temperature, max_completion_tokens, top_p, top_k }: RunRequest["sampling"]): Sampling {
  return { temperature, maxCompletionTokens: max_completion_tokens ?? null, topP: top_p ?? 1, topK: top_k ?? -1 };
}
