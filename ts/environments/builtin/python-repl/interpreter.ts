/**
 * The interpreter of one rollout: started with the first piece of code, in the rollout's own sandbox, and anew when it has died.
 *
 * The policy sees the results and errors of the code; failures of the infrastructure throw and are never the policy's fault.
 */
import { type Box, type Repl, requireRun, type RunResult } from "../../../sandbox/index.ts";

/** What is longer is cut in its middle. */
const MAX_OUTPUT_CHARS = 8_000;

export class Interpreter {
  readonly #box: () => Promise<Box>;
  readonly #timeoutMs: number;
  #repl: Repl | null = null;
  /** Calls of one reply come at once and run one after the other, in their order. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(box: () => Promise<Box>, timeoutMs: number) {
    this.#box = box;
    this.#timeoutMs = timeoutMs;
  }

  /** What it printed, the value of the last expression, and what was raised. Errors: those of `Box.repl`, PRL_SANDBOX_INFRA. */
  async run(code: string, signal: AbortSignal): Promise<string> {
    const before = this.#last;
    const result = before.then(() => this.#run(code, signal));
    // What went wrong is the caller's; the next call begins all the same.
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #run(code: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    this.#repl ??= await (await this.#box()).repl("python");
    const { run, value, error, alive } = await this.#repl.run(code, { timeoutMs: this.#timeoutMs, signal });
    signal.throwIfAborted();
    requireRun(run);
    if (!alive) this.#repl = null;
    const raised = run.stderr.toString().trimEnd();
    const parts = [
      run.stdout.toString().trimEnd(),
      ...(run.stdoutGap > 0 ? [`[${run.stdoutGap} bytes of output left out]`] : []),
      raised === "" ? (error ?? "") : raised,
      value ?? "",
      ...(alive
        ? []
        : [`The interpreter was ended (${endOf(run)}); the next call starts a new one, without its variables.`]),
    ];
    const text = parts.filter((part) => part !== "").join("\n");
    return text === "" ? "(no output)" : shortened(text);
  }
}

function endOf({ cause, signal, exitCode }: RunResult): string {
  switch (cause) {
    case "WALL_TIMEOUT":
    case "CPU_TIMEOUT":
      return "it ran out of time";
    case "OOM":
      return "it ran out of memory";
    case "EXITED":
      return `it left with exit code ${exitCode ?? 0}`;
    case "SIGNALED":
      return signal ?? "a signal";
    default:
      return cause.toLowerCase().replaceAll("_", " ");
  }
}

function shortened(text: string): string {
  if (text.length <= MAX_OUTPUT_CHARS) return text;
  const half = MAX_OUTPUT_CHARS / 2;
  return `${text.slice(0, half)}\n[${text.length - MAX_OUTPUT_CHARS} characters left out]\n${text.slice(-half)}`;
}
