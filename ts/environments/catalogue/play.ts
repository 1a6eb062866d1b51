/**
 * Runs calls on a row's world: those of a rollout, of a recorded conversation, and of a script.
 *
 * A world is a deterministic machine, so the calls of a conversation are enough to score it: they are played again on a new world. A call
 * counts once a result can have answered it: calls of the last message, which no message follows, were not carried out.
 */
import { z } from "zod";

import { messageOf } from "../../errors.ts";
import type { Message, ToolCall } from "../../message.ts";
import { toolSchemas, shown, type Tool } from "../conversation/tool.ts";
import { toolUse } from "../conversation/tool-use.ts";
import type { Rollout } from "../model/environment.ts";
import { type Call, Refusal, type Script, type WorldRow } from "./row.ts";

/** Longer arguments are refused before a tool sees them. */
const LONGEST_ARGUMENTS = 4_000;
/** Calls of one rollout; later ones are refused. */
export const MOST_CALLS = 600;
/** Model calls: as many as the gold script needs with one call each, and as many again for searching. */
const MORE_TURNS = 12;
const MOST_TURNS = 120;

export interface Played {
  readonly text: string;
  readonly failed: boolean;
}

/** A world under way: the row's state and the calls that it has had. */
export class Play {
  readonly world: unknown;
  readonly #row: WorldRow;
  readonly #offered: readonly string[];
  #calls = 0;

  constructor(row: WorldRow, instance: object) {
    this.#row = row;
    this.#offered = offeredBy(row, instance);
    this.world = row.world(instance);
  }

  /** Calls that were carried out and not refused. */
  done = 0;

  /** Never throws because of the call; an error of the row's code is thrown. */
  call(name: string, args: unknown): Played {
    const tool = this.#offered.includes(name) ? this.#row.tools[name] : undefined;
    if (tool === undefined) return refused(`there is no tool ${name}; there are ${this.#offered.join(", ")}`);
    this.#calls += 1;
    if (this.#calls > MOST_CALLS) return refused(`no more than ${MOST_CALLS} calls are carried out`);
    if (JSON.stringify(args ?? {}).length > LONGEST_ARGUMENTS)
      return refused(`the arguments have more than ${LONGEST_ARGUMENTS} characters`);
    const parsed = tool.parameters.safeParse(args);
    if (!parsed.success) return refused(z.prettifyError(parsed.error));
    try {
      const text = shown(tool.run(this.world, parsed.data));
      this.done += 1;
      return { text, failed: false };
    } catch (error) {
      if (error instanceof Refusal) return refused(messageOf(error));
      throw error;
    }
  }
}

function refused(message: string): Played {
  return { text: `Error: ${message}`, failed: true };
}

function offeredBy(row: WorldRow, instance: object): readonly string[] {
  return row.offered?.(instance) ?? Object.keys(row.tools);
}

/** The world after a script. */
export function played(row: WorldRow, instance: object, script: Script): Play {
  const play = new Play(row, instance);
  for (const { tool, args } of script) play.call(tool, args);
  return play;
}

/** From 0 to 1: what a row gives for the world that a script leaves. */
export function scoreScript(row: WorldRow, instance: object, script: Script): number {
  return row.grade(instance, played(row, instance, script).world);
}

/** The calls of a conversation that were carried out. */
export function callsIn(messages: readonly Message[]): Script {
  return messages
    .slice(0, -1)
    .flatMap(({ role, tool_calls: calls = [] }) =>
      role === "assistant" ? calls.flatMap(({ function: called }) => readCall(called)) : [],
    );
}

function readCall({ name, arguments: text }: ToolCall["function"]): Call[] {
  try {
    const args = JSON.parse(text) as unknown;
    return typeof args === "object" && args !== null ? [{ tool: name, args: args as Call["args"] }] : [];
  } catch {
    return [];
  }
}

/** A conversation that carries a script out, one call in each message, and ends with a text. */
export function conversationOf(row: WorldRow, instance: object, prompt: readonly Message[], script: Script): Message[] {
  const play = new Play(row, instance);
  const exchanges = script.flatMap(({ tool, args }, index): Message[] => {
    const id = `call_${index}`;
    const call: ToolCall = { id, type: "function", function: { name: tool, arguments: JSON.stringify(args) } };
    return [
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", content: play.call(tool, args).text, tool_call_id: id },
    ];
  });
  return [...prompt, ...exchanges, { role: "assistant", content: "Done." }];
}

/** The tools of an instance, as chat templates describe them. */
export function schemasOf(row: WorldRow, instance: object): Record<string, unknown>[] {
  return toolSchemas(toolsOf(row, instance));
}

/** The rollout of an instance. Its metrics are those of `toolUse` without the counts of each tool. */
export function worldRollout<Task extends { readonly instance: object }>(row: WorldRow, task: Task): Rollout<Task> {
  const { instance } = task;
  const rollout = toolUse<Task, unknown, Play>({
    tools: toolsOf(row, instance),
    maxTurns: Math.min(MOST_TURNS, 2 * row.gold(instance).length + MORE_TURNS),
    state: () => new Play(row, instance),
  });
  return async (context) => {
    const end = (await rollout(context)) ?? {};
    const { tool_calls: calls = 0, tool_errors: errors = 0 } = end.metrics ?? {};
    return { ...end, metrics: { tool_calls: calls, tool_errors: errors } };
  };
}

function toolsOf(row: WorldRow, instance: object): Record<string, Tool<unknown, unknown, Play>> {
  const entries = offeredBy(row, instance).map((name): [string, Tool<unknown, unknown, Play>] => {
    const { description = "", parameters = z.object({}) } = row.tools[name] ?? {};
    const { $schema: _dialect, ...schema } = z.toJSONSchema(parameters, { io: "input" });
    return [name, { description, schema, call: async (args, { state }) => state.call(name, args) }];
  });
  return Object.fromEntries(entries);
}
