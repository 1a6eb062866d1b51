/** A conversation: the policy speaks, the environment answers, until one of them is done. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { callback, checkOptions, only, table } from "../../options.ts";
import type { ContextEdit } from "./context-editing.ts";
import type { Rollout, RolloutContext, RolloutEnd } from "../model/environment.ts";
import { type Message, type Prompt, promptMessages } from "../../message.ts";
import type { Trace } from "../episode/trace.ts";

/** The answer to the policy: messages, a user's text, or null when the conversation is over; `stop` ends it under a name. */
export type Response = string | readonly Message[] | { readonly stop: string } | null;

export interface MultiTurnOptions<Row, Config = unknown> {
  /** Most model calls, without those of `edit`; then it stops as `max_turns`. Default 10. */
  maxTurns?: number;
  /** Most sampled tokens, checked before each call; then it stops as `max_output_tokens`. Default: no limit. */
  maxOutputTokens?: number;
  /** Default: the row's `prompt`. */
  prompt?: (task: Row, context: RolloutContext<Row, Config>) => Prompt | Promise<Prompt>;
  /** The answer of the environment, or of a simulated user, to the last reply. */
  respond: (trace: Trace, task: Row, context: RolloutContext<Row, Config>) => Response | Promise<Response>;
  /**
   * The part of the conversation that the policy sees from its second call on: `pruning(...)`, `summarizing(...)` or your own function.
   * Default: all.
   */
  edit?: ContextEdit<Row, Config>;
  /** Checked before `respond`: the first that is true gives the stop condition its name. */
  stops?: Readonly<Record<string, (trace: Trace, task: Row) => boolean | Promise<boolean>>>;
}

const count = z.union([z.int().positive(), z.literal(Infinity)], "must be a whole number from 1 on");
const optionsSchema = only<MultiTurnOptions<never>>({
  maxTurns: count.optional(),
  maxOutputTokens: count.optional(),
  prompt: callback.optional(),
  respond: callback,
  edit: callback.optional(),
  stops: table.optional(),
});

/** Errors: PRL_ENVIRONMENT_INVALID at once for limits that are not counts. */
export function multiTurn<Row extends object, Config = unknown>(
  options: MultiTurnOptions<Row, Config>,
): Rollout<Row, Config> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "multiTurn", optionsSchema, options);
  const { maxTurns = 10, maxOutputTokens = Infinity, prompt = promptOf, respond, edit, stops = {} } = options;
  return async (context): Promise<RolloutEnd> => {
    const { task, trace, sample } = context;
    let messages = promptMessages(await prompt(task, context));
    for (let turn = 1; ; turn++) {
      if (trace.completionTokens >= maxOutputTokens) return { stopCondition: "max_output_tokens" };
      const reply = await sample(messages);
      for (const [name, holds] of Object.entries(stops)) {
        if (await holds(trace, task)) return { stopCondition: name };
      }
      if (turn >= maxTurns) return { stopCondition: "max_turns" };
      const next = await respond(trace, task, context);
      if (next === null) return {};
      if (typeof next === "object" && "stop" in next) return { stopCondition: next.stop };
      const added: readonly Message[] = typeof next === "string" ? [{ role: "user", content: next }] : next;
      messages = [...messages, reply.message, ...added];
      if (edit !== undefined) messages = [...(await edit(messages, context))];
    }
  };
}

/** The row's own prompt. */
export function promptOf(task: object): Prompt {
  if ("prompt" in task && (typeof task.prompt === "string" || Array.isArray(task.prompt))) return task.prompt as Prompt;
  const keys = Object.keys(task).join(", ") || "nothing";
  throw new PrlError(
    "PRL_ENVIRONMENT_INVALID",
    `the task row has no \`prompt\` that is a text or a list of messages, it has ${keys}: name one in \`tasks\`, or give the rollout ` +
      "`prompt: (task) => ...` where it takes one",
  );
}
