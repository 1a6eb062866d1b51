/**
 * Rollouts by an agent program: it runs in the rollout's sandbox, may be written in any language, and uses the interception server
 * as its model. Its requests become the turns of the trace.
 */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { callback, checkOptions, number, only, table } from "../../options.ts";
import {
  type FileContent,
  type Files,
  type Network,
  requireRun,
  type RunLimits,
  type RunResult,
} from "../../sandbox/index.ts";
import type { Rollout, RolloutContext, RolloutEnd } from "../model/environment.ts";
import { sharedInterceptionServer } from "../interception/shared-server.ts";
import type { InterceptionSession, SessionParts } from "../interception/session.ts";
import { RolloutStop } from "../model/limits.ts";
import { promptOf } from "./multi-turn.ts";
import type { Trace } from "../episode/trace.ts";
import { MODEL_PORT, type Requirements } from "../sandboxes/sandboxes.ts";

/** A value, or a function that computes it from the task. */
type ForTask<Row, Config, Value> =
  | Value
  | ((task: Row, context: RolloutContext<Row, Config>) => Value | Promise<Value>);

export interface AgentProgramOptions<Row, Config = unknown> extends Pick<SessionParts, "maxOutputTokens" | "formats"> {
  /** Program and arguments; no shell in between. */
  command: ForTask<Row, Config, readonly string[]>;
  /** Most model calls; then it stops as `max_turns`. Default 100. */
  maxTurns?: number | ((config: Config) => number);
  /** Checked before each turn except the first: the first that is true gives the stop condition its name. */
  stops?: Readonly<Record<string, (trace: Trace, task: Row) => boolean | Promise<boolean>>>;
  /** Name of an image known to the sandbox daemon. Default: the machine's own system directories. */
  image?: string;
  /** Variables in addition to the addresses and keys of the policy. */
  env?: ForTask<Row, Config, Readonly<Record<string, string>>>;
  /** Files written to the work directory before the start: the program itself, and files of the task. */
  files?: ForTask<Row, Config, Files>;
  /** Default: the row's `prompt`, messages as JSON. */
  prompt?: (task: Row, context: RolloutContext<Row, Config>) => string | Promise<string>;
  /** How the prompt gets to the program: on standard input (default), in a file, or in a variable. */
  promptIn?: "stdin" | { readonly file: string } | { readonly env: string };
  /** Time for the program; then it is killed and the rollout stops as `agent_timeout`. Default 600000. */
  timeoutMs?: number;
  /** CPU time is by default as long as `timeoutMs`. */
  limits?: RunLimits;
  /** Hosts that it can reach besides the policy. Default: none. */
  network?: Exclude<Network, "none">;
}

const optionsSchema = only<AgentProgramOptions<never>>({
  command: z.union([z.array(z.string()), callback], "must be a list of words or a function"),
  maxTurns: z.union([number, callback], "must be a number or a function").optional(),
  maxOutputTokens: number.optional(),
  formats: z.enum(["refused", "checked", "enforced"]).optional(),
  stops: table.optional(),
  image: z.string().optional(),
  env: z.union([table, callback], "must be an object or a function").optional(),
  files: z.union([table, callback], "must be an object or a function").optional(),
  prompt: callback.optional(),
  promptIn: z
    .union(
      [z.literal("stdin"), z.strictObject({ file: z.string() }), z.strictObject({ env: z.string() })],
      'must be "stdin", { file } or { env }',
    )
    .optional(),
  timeoutMs: number.optional(),
  limits: table.optional(),
  network: table.optional(),
});

const TIMEOUT_MS = 600_000;
/** Time that a program has to end when its rollout has stopped. */
const STOP_GRACE_MS = 2_000;
/** Characters of each stream that the trace keeps. */
const SHOWN_CHARACTERS = 4_000;

/**
 * The program finds OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY. How it ended is `trace.info.agent`; a program
 * that fails is scored (`agent_failed`, `agent_timeout`, `agent_oom`, ...), one that never called the model is PRL_AGENT_SILENT. A
 * failure of the model's side that no later turn repaired is the rollout's error.
 */
export function agent<Row extends object, Config = unknown>(
  options: AgentProgramOptions<Row, Config>,
): Rollout<Row, Config> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "agent", optionsSchema, options);
  const { image, limits, network } = options;
  const sandbox = {
    model: true,
    ...(image === undefined ? {} : { image }),
    ...(limits === undefined ? {} : { limits }),
    ...(network === undefined ? {} : { network }),
  };
  const requires: Requirements = { sandbox };
  return Object.assign((context: RolloutContext<Row, Config>) => run(options, context), { requires });
}

async function run<Row extends object, Config>(
  options: AgentProgramOptions<Row, Config>,
  context: RolloutContext<Row, Config>,
): Promise<RolloutEnd> {
  const { maxTurns, maxOutputTokens, formats, stops = {} } = options;
  const named = Object.entries(stops).map(
    ([name, holds]) => [name, (trace: Trace) => holds(trace, context.task)] as const,
  );
  const stopped = new AbortController();
  let grace: NodeJS.Timeout | undefined;
  const server = await sharedInterceptionServer();
  const { session, close } = server.open({
    ...context,
    ...(maxTurns === undefined ? {} : { maxTurns: typeof maxTurns === "number" ? maxTurns : maxTurns(context.config) }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(formats === undefined ? {} : { formats }),
    stops: Object.fromEntries(named),
    onStop: () => void (grace = setTimeout(() => stopped.abort(), STOP_GRACE_MS)),
  });
  try {
    const result = await execute(options, context, session, stopped.signal);
    if (!(context.signal.reason instanceof RolloutStop)) context.signal.throwIfAborted();
    // Processes that the program left behind cannot take a turn while it is scored.
    close();
    await session.settled();
    return toEnd(result, session, context.signal.aborted);
  } finally {
    clearTimeout(grace);
    close();
  }
}

async function execute<Row extends object, Config>(
  options: AgentProgramOptions<Row, Config>,
  context: RolloutContext<Row, Config>,
  session: InterceptionSession,
  stopped: AbortSignal,
): Promise<RunResult> {
  const { command, env = {}, files = {}, promptIn = "stdin", timeoutMs = TIMEOUT_MS, limits } = options;
  const forTask = async <Value>(value: ForTask<Row, Config, Value>): Promise<Value> =>
    typeof value === "function"
      ? (value as (task: Row, context: RolloutContext<Row, Config>) => Value | Promise<Value>)(context.task, context)
      : value;
  const prompt = await (options.prompt ?? promptText)(context.task, context);
  const box = await context.sandbox();
  for (const [path, file] of Object.entries(await forTask(files))) {
    const { content, mode } = withMode(file);
    await box.write(path, content, mode === null ? {} : { mode });
  }
  if (typeof promptIn === "object" && "file" in promptIn) await box.write(promptIn.file, prompt);
  const url = `http://127.0.0.1:${MODEL_PORT}`;
  return box.exec(await forTask(command), {
    ...(promptIn === "stdin" ? { stdin: prompt } : {}),
    env: {
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: session.key,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: session.key,
      ...(typeof promptIn === "object" && "env" in promptIn ? { [promptIn.env]: prompt } : {}),
      ...(await forTask(env)),
    },
    limits: { cpuMs: timeoutMs, ...limits, wallMs: timeoutMs },
    signal: AbortSignal.any([context.signal, stopped]),
  });
}

function promptText(task: object): string {
  const prompt = promptOf(task);
  return typeof prompt === "string" ? prompt : JSON.stringify(prompt);
}

function withMode(file: Files[string]): { content: FileContent; mode: number | null } {
  return typeof file === "string" || file instanceof Uint8Array ? { content: file, mode: null } : file;
}

/** `isStopped`: a limit of the environment stopped it, and the rollout has that limit's name already. */
function toEnd(result: RunResult, session: InterceptionSession, isStopped: boolean): RolloutEnd {
  // This process cancelled the run: the rollout has stopped and the program did not end.
  if (result.cause !== "CANCELLED" || (session.stopCondition === null && !isStopped)) requireRun(result);
  if (session.failure !== null) throw session.failure;
  const { cause, exitCode, signal, usage, timings } = result;
  const stdout = result.stdout.toString("utf8").slice(-SHOWN_CHARACTERS);
  const stderr = result.stderr.toString("utf8").slice(-SHOWN_CHARACTERS);
  if (session.turns === 0 && session.stopCondition === null && !isStopped) {
    const how = exitCode === null ? cause : `exit code ${exitCode}`;
    const said = stderr.trim() || stdout.trim();
    throw new PrlError("PRL_AGENT_SILENT", `the agent program ended (${how}) without a model call: ${said}`);
  }
  const stopCondition = session.stopCondition ?? stopOf(result);
  return {
    ...(stopCondition === null ? {} : { stopCondition }),
    metrics: { ...session.metrics, "timing/agent": timings.runMs / 1000 },
    info: {
      agent: {
        cause,
        exit_code: exitCode,
        signal,
        stdout,
        stderr,
        cpu_ms: usage.cpuMs,
        peak_memory_bytes: usage.peakMemoryBytes,
      },
    },
  };
}

function stopOf({ cause, exitCode }: RunResult): string | null {
  if (cause === "EXITED") return exitCode === 0 ? null : "agent_failed";
  return cause === "WALL_TIMEOUT" ? "agent_timeout" : `agent_${cause.toLowerCase()}`;
}
