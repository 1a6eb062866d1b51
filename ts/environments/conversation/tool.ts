/** A function that the policy may call: a zod schema describes it, it runs with a deadline, and the policy sees its failures. */
import { z } from "zod";

import { messageOf, PrlError } from "../../errors.ts";
import { callback, checkOptions, number, only } from "../../options.ts";
import { RolloutStop } from "../model/limits.ts";
import { LinkedAbort } from "../../async/linked-abort.ts";
import { untilAborted } from "../../async/deadline.ts";

export interface ToolDefinition<Parameters extends z.ZodObject, Row = never, Config = never, State = unknown> {
  /** Description for the model. */
  description: string;
  /** The arguments that the model gives; descriptions of their fields are for the model too. */
  parameters: Parameters;
  /** The policy sees the result: a text unchanged, anything else as JSON. `state` is that of the rollout. */
  execute: (args: z.output<Parameters>, context: ToolContext<Row, Config, State>) => unknown;
  /** Default 30000. */
  timeoutMs?: number;
}

export interface ToolContext<Row, Config, State> {
  readonly task: Row;
  readonly config: Config;
  /** The state that `state` of `toolUse` made for this rollout: sessions, handles, secrets that the model never sees. */
  readonly state: State;
  /** Aborted at the tool's deadline or the rollout's end. */
  readonly signal: AbortSignal;
}

/** A tool with its argument types hidden inside. */
export interface Tool<Row = never, Config = never, State = never> {
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The text for the policy. It does not reject for wrong calls or errors of the tool: these are `failed`. */
  call(args: unknown, context: ToolContext<Row, Config, State>): Promise<{ text: string; failed: boolean }>;
}

/** Tools that are known only when a rollout begins, such as a server's. */
export interface ToolSource {
  /** Opens the source for one rollout, whose end closes it. */
  open(signal: AbortSignal): Promise<{
    readonly tools: Readonly<Record<string, Tool<unknown, unknown, unknown>>>;
    close(): Promise<void>;
  }>;
}

const definitionSchema = only<ToolDefinition<z.ZodObject>>({
  description: z.string(),
  parameters: z.instanceof(z.ZodObject, { error: "must be a zod object" }),
  execute: callback,
  timeoutMs: number.optional(),
});

const TIMEOUT_MS = 30_000;
/** A longer result is cut in its middle, so that a tool cannot fill the context. */
const MAX_RESULT_CHARS = 100_000;

export function tool<Parameters extends z.ZodObject, Row = unknown, Config = unknown, State = unknown>(
  definition: ToolDefinition<Parameters, Row, Config, State>,
): Tool<Row, Config, State> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "tool", definitionSchema, definition);
  const { description, parameters, execute, timeoutMs = TIMEOUT_MS } = definition;
  const { $schema: _dialect, ...schema } = z.toJSONSchema(parameters, { io: "input" });
  return {
    description,
    schema,
    async call(args, context) {
      const parsed = parameters.safeParse(args);
      if (!parsed.success) return { text: `Error: ${z.prettifyError(parsed.error)}`, failed: true };
      const time = new LinkedAbort(context.signal).abortAfter(timeoutMs, () => new Error("too late"));
      const { signal } = time;
      try {
        const result = await untilAborted(async () => execute(parsed.data, { ...context, signal }), signal);
        return { text: shown(result), failed: false };
      } catch (error) {
        context.signal.throwIfAborted();
        if (error instanceof PrlError || error instanceof RolloutStop) throw error;
        const message = time.isLate ? `the tool did not end within ${timeoutMs} ms` : messageOf(error);
        return { text: `Error: ${message}`, failed: true };
      } finally {
        time.release();
      }
    },
  };
}

/** The tools as OpenAI's API and chat templates describe them. */
export function toolSchemas(
  tools: Readonly<Record<string, Pick<Tool, "description" | "schema">>>,
): Record<string, unknown>[] {
  return Object.entries(tools).map(([name, { description, schema }]) => ({
    type: "function",
    function: { name, description, parameters: schema },
  }));
}

/** The text of a tool's result for the policy. */
export function shown(result: unknown): string {
  const text = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
  if (text.length <= MAX_RESULT_CHARS) return text;
  const half = MAX_RESULT_CHARS / 2;
  return `${text.slice(0, half)}\n[${text.length - MAX_RESULT_CHARS} characters left out]\n${text.slice(-half)}`;
}
