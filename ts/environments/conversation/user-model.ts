/**
 * A user that another model plays, for `respond` of `multiTurn`.
 *
 * The user sees the conversation with the roles exchanged and never the policy's system prompt, thinking or tools. The policy does not
 * sample its messages, so they do not train. It knows only the rollout that asks it.
 */
import { z } from "zod";

import { callback, checkOptions, number, only } from "../../options.ts";
import type { RolloutContext } from "../model/environment.ts";
import { type EndpointConfig, replyClientOf } from "../endpoint/endpoint-config.ts";
import type { Message } from "../../message.ts";
import type { Response } from "./multi-turn.ts";
import { partialSamplingSchema, type Sampling } from "../rollout/policy-client.ts";
import type { ReplyClient } from "../rollout/reply-client.ts";
import { seed as deriveSeed } from "../../random/seed.ts";
import type { Trace } from "../episode/trace.ts";
import { stripThinking } from "../../verify/index.ts";

export interface UserModelOptions<Row, Config = unknown> {
  /** The model that plays the user, from the arguments. */
  endpoint: (context: { config: Config }) => EndpointConfig | ReplyClient;
  /** A description of the user and its goal. */
  system: string | ((task: Row, context: RolloutContext<Row, Config>) => string);
  /** The mark by which the user ends the conversation; text before it gets no answer. Default `###DONE###`. */
  done?: string;
  /** Most messages of the user after the prompt; then the rollout stops as `max_user_turns`. Default 10. */
  maxTurns?: number;
  sampling?: Partial<Sampling>;
}

const optionsSchema = only<UserModelOptions<never>>({
  endpoint: callback,
  system: z.union([z.string(), callback], "must be a text or a function"),
  done: z.string().optional(),
  maxTurns: number.optional(),
  sampling: partialSamplingSchema.optional(),
});

const SAMPLING: Sampling = { temperature: 1, maxCompletionTokens: 1024, topP: 1, topK: -1 };
const OPENING: Message = { role: "user", content: "(The conversation begins: you speak first.)" };

/** Errors: those of the endpoint, as `provider` or `infra` errors of the rollout. It stops as `user_done` when the user says so. */
export function userModel<Row extends object, Config = unknown>(
  options: UserModelOptions<Row, Config>,
): (trace: Trace, task: Row, context: RolloutContext<Row, Config>) => Promise<Response> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "userModel", optionsSchema, options);
  const { endpoint, system, done = "###DONE###", maxTurns = 10, sampling = {} } = options;
  return async (trace, task, context) => {
    // Each reply of the policy except the first answers the user.
    if (trace.turns > maxTurns) return { stop: "max_user_turns" };
    const client = replyClientOf(endpoint(context));
    const persona = typeof system === "string" ? system : system(task, context);
    const rule = `When you have nothing more to say, answer with ${done} alone.`;
    const { message } = await client.reply({
      prompt: [{ role: "system", content: `${persona}\n\n${rule}` }, OPENING, ...exchanged(trace.messages)],
      sampling: { ...SAMPLING, ...sampling },
      seed: deriveSeed(context.seed, "user", "", "", 0, 0, trace.turns),
      signal: context.signal,
    });
    const said = stripThinking(message.content, { strict: false }).trim();
    return said.includes(done) || said === "" ? { stop: "user_done" } : said;
  };
}

/**
 * Exchanges the roles: the policy's replies become the user model's input, the user's messages its own replies; tool messages are left
 * out.
 */
function exchanged(messages: readonly Message[]): Message[] {
  return messages.flatMap(({ role, content }): Message[] => {
    if (role === "user") return [{ role: "assistant", content }];
    return role === "assistant" && content !== ""
      ? [{ role: "user", content: stripThinking(content, { strict: false }) }]
      : [];
  });
}
