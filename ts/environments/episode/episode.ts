/**
 * An episode: the result of one rollout, as an env worker sends it to the orchestrator and as it is written to
 * `traces.jsonl`.
 *
 * Keys are snake_case, as in the file. It has no token arrays: they travel beside it as columns
 * (`episode-frame.ts`), one set per trace. An episode with errors trains nothing; its reward is null, never 0.
 */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { thrownAt } from "../model/thrown-at.ts";

/**
 * The part at fault. `infra` (an engine or worker is gone, cancelled) and `provider` (an engine answered wrongly or late)
 * may be retried with the same seed; `environment` (its code threw or hung) and `model` (the reply made the rollout
 * impossible) may not.
 */
export const ERROR_CLASSES = ["infra", "provider", "environment", "model"] as const;

const count = z.int().nonnegative();
export const scoresSchema = z.record(z.string(), z.strictObject({ score: z.number(), weight: z.number() }));

export const episodeErrorSchema = z.strictObject({
  class: z.enum(ERROR_CLASSES),
  code: z.string(),
  message: z.string(),
});

export const turnSpanSchema = z.strictObject({
  first: count,
  end: count,
  finish_reason: z.enum(["stop", "length", "abort"]),
  stop_reason: z.union([z.string(), z.number(), z.null()]),
});

const messageSchema = z.strictObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string(),
  reasoning_content: z.string().optional(),
  tool_calls: z
    .array(
      z.strictObject({
        id: z.string(),
        type: z.literal("function"),
        function: z.strictObject({ name: z.string(), arguments: z.string() }),
      }),
    )
    .readonly()
    .optional(),
  tool_call_id: z.string().optional(),
});

const traceSchema = z.strictObject({
  id: z.string(),
  /** The agent that sampled it. */
  agent: z.string().default("agent"),
  /** False: another model played, or the agent does not train. */
  trainable: z.boolean().default(true),
  nodes: z.array(
    z.strictObject({
      parent: count.nullable(),
      message: messageSchema,
      sampled: z.boolean(),
      /** Number of tokens that the message adds to a branch; absent where an endpoint gives none. */
      tokens: count.optional(),
    }),
  ),
  /**
   * The form of its prompts besides the messages; `varied`: they differ, or the caller began, forced or stopped replies. Absent where
   * nothing was sampled.
   */
  asked: z
    .union([
      z.strictObject({
        /** The prompts are raw texts without a template. */
        is_text: z.boolean(),
        tools: z.array(z.record(z.string(), z.unknown())).optional(),
      }),
      z.literal("varied"),
    ])
    .optional(),
  rewards: scoresSchema,
  /** Sum of score times weight; null when the episode has errors. */
  reward: z.number().nullable(),
  metrics: z.record(z.string(), z.number()),
  /** Facts from the rollout that are not numbers. */
  info: z.record(z.string(), z.unknown()).optional(),
  /** Why it ended: `agent_completed`, `max_output_tokens`, or a name from the environment; null when it failed before its end. */
  stop_condition: z.string().nullable(),
  /** The rollout ran to its end and was scored. */
  is_completed: z.boolean(),
  /** The last completion was cut by its token limit. */
  is_truncated: z.boolean(),
  /** Tokens that were sent and sampled, over all turns. */
  usage: z.strictObject({ prompt_tokens: count, completion_tokens: count }),
  /**
   * `start`: seconds since 1970. `generation_ms` covers the rollout, environment code included; `model_ms` is the part of it in which the
   * trace's agent waited for its own replies, where that was measured.
   */
  timing: z.strictObject({
    start: z.number(),
    generation_ms: z.number(),
    model_ms: z.number().optional(),
    scoring_ms: z.number(),
    total_ms: z.number(),
  }),
  /**
   * With `keep_partial`: `[first, end)` of each turn's reply among its tokens, and how it ended, `abort` where it was cut.
   * Absent where the conversation forked.
   */
  turns: z.array(turnSpanSchema).optional(),
  /** Lowest and highest policy version that sampled one of its tokens; null when an endpoint sampled it, which gives no tokens. */
  policy: z.strictObject({ start: count, end: count }).nullable(),
});

export const episodeSchema = z.strictObject({
  id: z.string(),
  env: z.strictObject({ id: z.string(), name: z.string() }),
  task: z.strictObject({ key: z.string(), hash: z.string(), data: z.unknown() }),
  group: z.strictObject({ id: z.string() }),
  run: z.strictObject({ type: z.enum(["train", "eval"]), step: count }),
  ok: z.boolean(),
  errors: z.array(episodeErrorSchema),
  /** One trace per agent that sampled anything. */
  traces: z.array(traceSchema),
});

export type Episode = z.output<typeof episodeSchema>;
export type EpisodeTrace = Episode["traces"][number];
export type EpisodeError = z.output<typeof episodeErrorSchema>;
export type EpisodeErrorClass = EpisodeError["class"];

const CLASS_OF_CODE: Partial<Record<string, EpisodeErrorClass>> = {
  PRL_INFERENCE_UNREACHABLE: "infra",
  PRL_INFERENCE_TIMEOUT: "provider",
  PRL_INFERENCE_FAILED: "provider",
  PRL_INFERENCE_AUTH: "provider",
  PRL_INFERENCE_RATE_LIMIT: "provider",
  PRL_INFERENCE_ANSWER: "provider",
  PRL_EPISODE_CANCELLED: "infra",
  PRL_DEADLINE: "infra",
  PRL_TOOL_SERVER: "infra",
  PRL_JUDGE_VERDICT: "provider",
  PRL_SANDBOX_UNREACHABLE: "infra",
  PRL_SANDBOX_START_FAILED: "infra",
  PRL_SANDBOX_START_TIMEOUT: "infra",
  PRL_SANDBOX_CLOSED: "infra",
  PRL_SANDBOX_OVERLOADED: "infra",
  PRL_SANDBOX_DRAINING: "infra",
  PRL_SANDBOX_SETUP: "infra",
  PRL_SANDBOX_SPAWNER: "infra",
  PRL_SANDBOX_INIT_DIED: "infra",
  PRL_SANDBOX_BOX_ENDED: "infra",
  PRL_SANDBOX_CONNECTION_LOST: "infra",
  PRL_SANDBOX_DAEMON_EXITED: "infra",
  PRL_SANDBOX_DAEMON_RESTARTED: "infra",
  PRL_SANDBOX_DEADLINE: "infra",
  PRL_SANDBOX_PROTOCOL: "infra",
  PRL_SANDBOX_RESULT_EXPIRED: "infra",
  PRL_SANDBOX_UNREAD: "infra",
  PRL_SANDBOX_CANCELLED: "infra",
  PRL_SANDBOX_INFRA: "infra",
};

/** An exception as an error of the episode: its class follows from its code, else the environment is at fault. */
export function toEpisodeError(error: unknown): EpisodeError {
  if (error instanceof PrlError) {
    return { class: CLASS_OF_CODE[error.code] ?? "environment", code: error.code, message: error.message };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}${thrownAt(error)}` : String(error);
  return { class: "environment", code: "PRL_ENVIRONMENT_FAILED", message };
}

/**
 * Reward of an episode: the mean over the traces that train, over all when none does. NaN when it has none: it ended in an error, or nothing
 * was sampled.
 */
export function rewardOf({ ok, traces }: Pick<Episode, "ok" | "traces">): number {
  const trained = traces.filter(({ trainable }) => trainable);
  const counted = trained.length > 0 ? trained : traces;
  if (!ok || counted.length === 0) return Number.NaN;
  return counted.reduce((sum, { reward }) => sum + (reward ?? Number.NaN), 0) / counted.length;
}

/** Whether the rollout may be tried again with the same seed. */
export function isRetryable(error: EpisodeError): boolean {
  return error.class === "infra" || error.class === "provider";
}
