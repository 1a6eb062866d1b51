/**
 * Runs shell commands in the held sandbox of a row: those of a rollout, of a recorded conversation, and of a script.
 *
 * The state that is left is read at the end of the rollout and goes with its trace as JSON, so that grading needs no sandbox and the
 * sandbox is closed however the rollout ends. A conversation that comes without it is carried out again in a new sandbox. What the
 * infrastructure does wrong throws, with a code of the class `infra`; it is never the policy's fault.
 */
import { z } from "zod";

import { atMost, withDeadline } from "../../../async/deadline.ts";
import { PrlError } from "../../../errors.ts";
import type { Message, ToolCall } from "../../../message.ts";
import { type Box, requireRun, type RunLimits, type RunResult, type SandboxPool } from "../../../sandbox/index.ts";
import { tool, toolSchemas } from "../../conversation/tool.ts";
import { toolUse } from "../../conversation/tool-use.ts";
import type { Trace } from "../../episode/trace.ts";
import type { Rollout, RolloutEnd } from "../../model/environment.ts";
import { RolloutStop } from "../../model/limits.ts";
import { ALL_COMMANDS_MS, BOX_TURNS, COMMAND_MS, LONGEST_COMMAND, MOST_COMMANDS, MOST_PRINTED } from "./box-limits.ts";
import { leftBox } from "./left-box.ts";
import { callsIn } from "../play.ts";
import type { BoxRow, Commands, ShellStep } from "../row.ts";

/** Name of the state that is left in the facts of a trace. */
const LEFT = "left";
/** The sandbox ends after this time in any case. */
const BOX_MS = 3_600_000;
const QUEUE_MS = 120_000;
const SET_UP_MS = 30_000;
/** Reading the state, with its checks. */
const LOOK_MS = 120_000;
const CLOSE_MS = 5_000;
/** Above the time of a command and the client's own wait for its result. */
const TOOL_MS = 200_000;
const LIMITS: RunLimits = {
  wallMs: COMMAND_MS,
  cpuMs: COMMAND_MS,
  memoryBytes: 512 << 20,
  processes: 64,
  diskBytes: 128 << 20,
  inodes: 10_000,
  outputBytes: 256 << 10,
};

const parameters = z.object({ command: z.string().describe("a command for sh") });
const shell = tool<typeof parameters, unknown, unknown, BoxPlay>({
  description: "Runs a command with sh in your sandbox and shows what it prints, errors included",
  parameters,
  execute: ({ command }, { state, signal }) => state.run(command, signal),
  timeoutMs: TOOL_MS,
});
export const SHELL_SCHEMAS = toolSchemas({ shell });

/** A row's sandbox under way. It is made at once, and the first command waits for it. */
export class BoxPlay {
  readonly #pool: SandboxPool;
  readonly #row: BoxRow;
  readonly #instance: object;
  readonly #over = new AbortController();
  readonly #box: Promise<Box>;
  /** Calls of one reply come at once and run one after the other, in their order. */
  #last: Promise<unknown> = Promise.resolve();
  #commands = 0;
  #usedMs = 0;

  constructor(pool: SandboxPool, row: BoxRow, instance: object) {
    this.#pool = pool;
    this.#row = row;
    this.#instance = instance;
    this.#box = this.#made();
    // Its failures are those of the first command, or of the look.
    this.#box.catch(() => undefined);
  }

  /** What a command printed. Errors: those of `SandboxPool.create`, PRL_SANDBOX_INFRA. */
  async run(command: string, signal?: AbortSignal): Promise<string> {
    const result = this.#last.then(() => this.#run(command, signal));
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** What is left, as the row reads it. */
  async look(): Promise<unknown> {
    const box = await this.#box;
    const late = (): Error => new PrlError("PRL_SANDBOX_DEADLINE", `what is left was not read within ${LOOK_MS} ms`);
    return withDeadline(this.#row.look(this.#instance, leftBox(this.#pool, box, this.#row.id)), LOOK_MS, late);
  }

  /** Never rejects. A sandbox that is still being made is closed when it is ready. */
  async close(): Promise<void> {
    this.#over.abort(new PrlError("PRL_EPISODE_CANCELLED", "the rollout ended before its sandbox was there"));
    const closed = this.#box.then((box) => box.close()).catch(() => undefined);
    await atMost(closed, CLOSE_MS);
  }

  async #made(): Promise<Box> {
    const { files, setUp } = this.#row.start(this.#instance);
    const box = await this.#pool.create({
      files,
      profile: "python",
      limits: LIMITS,
      ttlMs: BOX_MS,
      queueMs: QUEUE_MS,
      labels: { row: this.#row.id },
      signal: this.#over.signal,
    });
    try {
      if (setUp !== undefined) {
        const { signal } = this.#over;
        const done = requireRun(await box.exec(["python3", "-I", "-"], { stdin: setUp, timeoutMs: SET_UP_MS, signal }));
        if (done.exitCode !== 0) {
          const problem = `${endOf(done)}: ${done.stderr.toString("utf8").slice(-500)}`;
          throw new PrlError("PRL_ENVIRONMENT_FAILED", `${this.#row.id}: its sandbox cannot be set up, ${problem}`);
        }
      }
      return box;
    } catch (error) {
      await box.close().catch(() => undefined);
      throw error;
    }
  }

  async #run(command: string, signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    this.#commands += 1;
    const refusal = this.#refusalOf(command);
    if (refusal !== null) return `Error: ${refusal}`;
    const box = await this.#box;
    const begun = performance.now();
    const result = await box.exec(["sh", "-c", `exec 2>&1\n${command}`], signal === undefined ? {} : { signal });
    this.#usedMs += performance.now() - begun;
    signal?.throwIfAborted();
    return printed(requireRun(result));
  }

  #refusalOf(command: string): string | null {
    if (this.#commands > MOST_COMMANDS) return `no more than ${MOST_COMMANDS} commands are run`;
    if (this.#usedMs > ALL_COMMANDS_MS) return `all commands together may take ${ALL_COMMANDS_MS / 1000} s`;
    if (command.length > LONGEST_COMMAND) return `the command has more than ${LONGEST_COMMAND} characters`;
    return command.includes("\0") ? "a command cannot have NUL characters" : null;
  }
}

/** The rollout of an instance. Its metrics are those of `toolUse` without the counts of each tool. */
export function boxRollout<Task extends { readonly instance: object }>(row: BoxRow, task: Task): Rollout<Task> {
  return async (context) => {
    const play = new BoxPlay(await context.sandboxes(), row, task.instance);
    const rollout = toolUse<Task, unknown, BoxPlay>({ tools: { shell }, maxTurns: BOX_TURNS, state: () => play });
    try {
      const end = await stoppedEnd(rollout(context));
      const { tool_calls: calls = 0, tool_errors: errors = 0 } = end.metrics ?? {};
      const metrics = { tool_calls: calls, tool_errors: errors };
      return { ...end, metrics, info: { [LEFT]: await play.look() } };
    } finally {
      await play.close();
    }
  };
}

/** The end of a rollout that a limit has stopped is a normal one: what it left is graded. */
async function stoppedEnd(rollout: Promise<RolloutEnd | void>): Promise<RolloutEnd> {
  try {
    return (await rollout) ?? {};
  } catch (error) {
    if (error instanceof RolloutStop) return { stopCondition: error.stopCondition };
    throw error;
  }
}

interface Sandboxes {
  readonly pool: () => Promise<SandboxPool>;
  readonly signal?: AbortSignal;
}

/** What a rollout left, or what the commands of a conversation leave in a new sandbox. */
export async function leftBy(
  row: BoxRow,
  instance: object,
  trace: Pick<Trace, "info" | "messages">,
  { pool, signal }: Sandboxes,
): Promise<unknown> {
  if (LEFT in trace.info) return trace.info[LEFT];
  return leftByCommands(row, instance, commandsIn(trace.messages), {
    pool,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** What commands leave in a new sandbox. */
export async function leftByCommands(
  row: BoxRow,
  instance: object,
  commands: Commands,
  { pool, signal }: Sandboxes,
): Promise<unknown> {
  const play = new BoxPlay(await pool(), row, instance);
  try {
    for (const command of commands) await play.run(command, signal);
    return await play.look();
  } finally {
    await play.close();
  }
}

/** The commands of a conversation that were carried out. */
export function commandsIn(messages: readonly Message[]): string[] {
  return callsIn(messages).flatMap(({ tool: name, args }) => {
    const parsed = parameters.safeParse(args);
    return name === "shell" && parsed.success ? [parsed.data.command] : [];
  });
}

/** A conversation that carries a gold script out, with what its commands print. */
export function goldConversationOf(prompt: readonly Message[], steps: readonly ShellStep[]): Message[] {
  const exchanges = steps.flatMap(({ command, prints }, index): Message[] => {
    const id = `call_${index}`;
    const call: ToolCall = {
      id,
      type: "function",
      function: { name: "shell", arguments: JSON.stringify({ command }) },
    };
    return [
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", content: shownText(prints), tool_call_id: id },
    ];
  });
  return [...prompt, ...exchanges, { role: "assistant", content: "Done." }];
}

/** The same of commands whose output is not known; it is good enough to be carried out again. */
export function boxConversationOf(prompt: readonly Message[], commands: Commands): Message[] {
  return goldConversationOf(
    prompt,
    commands.map((command) => ({ command, prints: "" })),
  );
}

/** What the model reads of a command that ended well and printed this. */
export function shownText(text: string): string {
  const whole = text.trimEnd();
  if (whole === "") return "(no output)";
  if (whole.length <= MOST_PRINTED) return whole;
  const half = MOST_PRINTED / 2;
  return `${whole.slice(0, half)}\n[${whole.length - MOST_PRINTED} characters left out]\n${whole.slice(-half)}`;
}

function printed(result: RunResult): string {
  const { cause, exitCode, stdout, stdoutGap, stdoutGapAt } = result;
  const [head, tail] = [stdout.subarray(0, stdoutGapAt), stdout.subarray(stdoutGapAt)].map((part) =>
    part.toString("utf8"),
  );
  const text = (
    stdoutGap === 0 ? stdout.toString("utf8") : `${head}\n[${stdoutGap} bytes left out]\n${tail}`
  ).trimEnd();
  if (cause === "EXITED" && exitCode === 0) return shownText(text);
  return [...(text === "" ? [] : [shownText(text)]), `[${endOf(result)}]`].join("\n");
}

function endOf({ cause, exitCode, signal }: RunResult): string {
  if (cause === "EXITED") return `exit code ${exitCode ?? 0}`;
  if (cause === "WALL_TIMEOUT" || cause === "CPU_TIMEOUT") return `killed after ${COMMAND_MS / 1000} s`;
  return cause === "SIGNALED" ? `killed by ${signal ?? "a signal"}` : cause.toLowerCase().replaceAll("_", " ");
}
