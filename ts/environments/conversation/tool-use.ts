/** Rollouts in which the policy calls tools until it answers without a call. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { callback, checkOptions, number, only, table } from "../../options.ts";
import type { ContextEdit } from "./context-editing.ts";
import type { SampledTurn, Rollout, RolloutContext, RolloutEnd } from "../model/environment.ts";
import { type Message, type Prompt, promptMessages } from "../../message.ts";
import { promptOf } from "./multi-turn.ts";
import { type Tool, type ToolContext, toolSchemas, type ToolSource } from "./tool.ts";
import type { Trace } from "../episode/trace.ts";

export interface ToolUseOptions<Row, Config, State> {
  tools?: Readonly<Record<string, Tool<Row, Config, State>>>;
  /** Additional sources of tools, opened for each rollout: `mcpTools(...)`. */
  servers?: readonly ToolSource[] | ((task: Row, context: RolloutContext<Row, Config>) => readonly ToolSource[]);
  /** Most model calls, without those of `edit`; then it stops as `max_turns`. Default 10. */
  maxTurns?: number;
  /** Default: the row's `prompt`. */
  prompt?: (task: Row, context: RolloutContext<Row, Config>) => Prompt | Promise<Prompt>;
  /**
   * The part of the conversation that the policy sees from its second call on: `pruning(...)`, `summarizing(...)` or your own function.
   * Default: all.
   */
  edit?: ContextEdit<Row, Config>;
  /** State that the tools of one rollout share and the model never sees. `close` always runs at the end. */
  state?: (context: RolloutContext<Row, Config>) => State | Promise<State>;
  close?: (state: State) => void | Promise<void>;
  /** Checked after every reply: the first that is true gives the stop condition its name. */
  stops?: Readonly<Record<string, (trace: Trace, task: Row) => boolean | Promise<boolean>>>;
}

const optionsSchema = only<ToolUseOptions<never, unknown, unknown>>({
  tools: table.optional(),
  servers: z.union([z.array(z.unknown()), callback], "must be a list or a function").optional(),
  maxTurns: number.optional(),
  prompt: callback.optional(),
  edit: callback.optional(),
  state: callback.optional(),
  close: callback.optional(),
  stops: table.optional(),
});

/**
 * Calls of one reply run at the same time; their results come back in the order of the calls. A call that cannot be read, names no tool or has
 * wrong arguments is answered with what is wrong, and the policy may try again. Metrics: `tool_calls`, `tool_errors` and `<tool>_calls`.
 */
export function toolUse<Row extends object, Config = unknown, State = undefined>(
  options: ToolUseOptions<Row, Config, State>,
): Rollout<Row, Config> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "toolUse", optionsSchema, options);
  const {
    tools: own = {},
    servers = [],
    maxTurns = 10,
    prompt = promptOf,
    state: makeState,
    close,
    edit,
    stops = {},
  } = options;
  return async (context): Promise<RolloutEnd> => {
    const { task, config, trace, signal, sample } = context;
    const opened = await openAll(typeof servers === "function" ? servers(task, context) : servers, signal);
    // Without `state` the type State is undefined.
    let state = undefined as State;
    let hasState = false;
    try {
      const tools = merge<Row, Config, State>(own, opened);
      const schemas = toolSchemas(tools);
      const counts: Record<string, number> = { tool_calls: 0, tool_errors: 0 };
      for (const name of Object.keys(tools)) counts[`${name}_calls`] = 0;
      if (makeState !== undefined) state = await makeState(context);
      hasState = true;
      let messages = promptMessages(await prompt(task, context));
      for (let turn = 1; ; turn++) {
        const reply = await sample(messages, { tools: schemas });
        for (const [name, holds] of Object.entries(stops)) {
          if (await holds(trace, task)) return { stopCondition: name, metrics: counts };
        }
        if (reply.toolCalls.length === 0) return { metrics: counts };
        if (turn >= maxTurns) return { stopCondition: "max_turns", metrics: counts };
        const results = await answerCalls(tools, reply, { task, config, state, signal }, counts);
        messages = [...messages, reply.message, ...results];
        if (edit !== undefined) messages = [...(await edit(messages, context))];
      }
    } finally {
      await Promise.all([hasState ? close?.(state) : undefined, ...opened.map((server) => server.close())]);
    }
  };
}

type Opened = Awaited<ReturnType<ToolSource["open"]>>;

/** Opens all of them, or none when one fails. */
async function openAll(servers: readonly ToolSource[], signal: AbortSignal): Promise<Opened[]> {
  const settled = await Promise.allSettled(servers.map((server) => server.open(signal)));
  const opened = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  const failed = settled.find((one) => one.status === "rejected");
  if (failed === undefined) return opened;
  await Promise.all(opened.map((server) => server.close()));
  throw failed.reason;
}

function merge<Row, Config, State>(
  own: Readonly<Record<string, Tool<Row, Config, State>>>,
  opened: readonly Opened[],
): Record<string, Tool<Row, Config, State>> {
  const tools = { ...own };
  for (const [name, tool] of opened.flatMap((server) => Object.entries(server.tools))) {
    if (Object.hasOwn(tools, name))
      throw new PrlError("PRL_ENVIRONMENT_INVALID", `two tools are named "${name}": give their servers a prefix`);
    tools[name] = tool;
  }
  return tools;
}

async function answerCalls<Row, Config, State>(
  tools: Readonly<Record<string, Tool<Row, Config, State>>>,
  { toolCalls, message }: SampledTurn,
  context: ToolContext<Row, Config, State>,
  counts: Record<string, number>,
): Promise<Message[]> {
  const count = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);
  let read = 0;
  return Promise.all(
    toolCalls.map(async (call): Promise<Message> => {
      count("tool_calls");
      // Only well-formed calls are in the message, so the answer to another one names no call.
      const id = call.status === "ok" ? message.tool_calls?.[read++]?.id : undefined;
      const answer = (content: string): Message => ({
        role: "tool",
        content,
        ...(id === undefined ? {} : { tool_call_id: id }),
      });
      const found = call.name !== null && Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
      if (call.status !== "ok" || found === undefined || call.name === null) {
        count("tool_errors");
        const known = Object.keys(tools).join(", ");
        return answer(
          call.status === "ok"
            ? `Error: there is no tool ${call.name}; there are ${known}`
            : `Error: the call is malformed (${call.status})`,
        );
      }
      count(`${call.name}_calls`);
      const { text, failed } = await found.call(call.arguments, context);
      if (failed) count("tool_errors");
      return answer(text);
    }),
  );
}
