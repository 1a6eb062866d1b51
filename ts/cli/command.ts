/**
 * The interface of a sub-command of `prl`.
 *
 * Each `ts/cli/commands/<name>.ts` exports `command: Command`; `main.ts` imports only the requested one. `main.ts` answers
 * `--help` and takes `--json` out of the arguments before it calls `run`; everything else in `args` belongs to the command (see
 * `parseOptions` in `args.ts`, `parseConfigArguments` in `ts/config`). A command knows nothing of `process.argv`, `process.exit` or the console:
 * it writes through its `io` and returns its exit code, or throws; `main.ts` turns errors into one message and a code.
 */
import type { ConfigKind } from "../config/index.ts";
import type { ErrorCode } from "../errors.ts";
import type { OptionRule } from "./arguments/option-rule.ts";

/** Exit codes of every command; `stop-signal.ts` has those of commands that a signal stopped. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

/** Errors that the user repairs on the command line, in the config or in files that it names. */
const USAGE_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "PRL_CLI_USAGE",
  "PRL_CONFIG_SYNTAX",
  "PRL_CONFIG_INVALID",
  "PRL_CONFIG_CONFLICT",
  "PRL_CONFIG_FILE",
  "PRL_CONFIG_ENVIRONMENT",
  "PRL_USER_MODULE",
  "PRL_PLAN_UNFIT",
  "PRL_PYTHON_MISSING",
  "PRL_RUN_EXISTS",
  "PRL_RUN_UNKNOWN",
  "PRL_RUN_DRIFT",
  "PRL_RUN_LOCKED",
  "PRL_CHECKPOINT_UNKNOWN",
  "PRL_CHECKPOINT_FOREIGN",
  "PRL_EVAL_RESUME",
  "PRL_BENCHMARK_UNKNOWN",
  "PRL_BENCHMARK_CHANGED",
  "PRL_ENVIRONMENT_UNKNOWN",
  "PRL_ENVIRONMENT_INVALID",
  "PRL_ENVIRONMENT_UNLOCKED",
  "PRL_DATA_FILE",
  "PRL_HUB_OFFLINE",
  "PRL_HUB_UNKNOWN",
  "PRL_ENGINE_CONFIG",
  "PRL_ENGINE_CONFIG_UNSUPPORTED",
  "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED",
  "PRL_TOKENIZER",
  "PRL_WEIGHTS_FORMAT",
]);

/** The exit code of a command that ended with an error of this code. */
export function exitCodeOf(code: string | null): number {
  return code !== null && USAGE_CODES.has(code) ? EXIT.usage : EXIT.failed;
}

/** One `--flag` of a command that is not a config key. */
export interface CommandOption {
  /** Long name with its dashes, `--run-dir`. */
  readonly flag: string;
  /** Name of the value in help, `<dir>`; absent: a switch without value. */
  readonly value?: string;
  /** Rule for the value; absent: any text that is not empty. */
  readonly rule?: OptionRule;
  /** One line for help. */
  readonly summary: string;
  /** The command cannot run without it. */
  readonly required?: boolean;
}

/** A place to write text; `process.stdout` is one. */
export interface Output {
  write(text: string): unknown;
}

/** The part of the outside world that a command sees. */
export interface CommandIo {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: Output;
  readonly stderr: Output;
  /** stdout is a terminal (and `--json` was not given): progress may move the cursor. */
  readonly isTerminal: boolean;
  /** Columns of the terminal, 80 when unknown. */
  readonly columns: number;
  /** `--json`: print exactly one JSON document with `writeJson`, nothing else on stdout. */
  readonly json: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /**
   * Aborted by the first SIGINT, SIGTERM, SIGQUIT or SIGHUP, whose name is the abort's reason; a SIGHUP is ignored when the output goes to
   * a file. The handlers are installed when this is first read, so a command that never reads it dies of a signal as any program does.
   */
  readonly signal: AbortSignal;
  /** Aborted by a second signal of these: end without waiting. A third one ends the process at once. */
  readonly hurry: AbortSignal;
  /** Writes `value` as the one JSON document of `--json` to stdout. */
  writeJson(value: unknown): void;
}

export interface Command {
  /** As typed: `rl`, `env-worker`. */
  readonly name: string;
  /** One line for `prl --help`. */
  readonly summary: string;
  /** The text after `prl`, `rl [@] <file.toml>... [--key value]...`; several lines when there are several forms. */
  readonly usage: string;
  /** Further text for `--help`, whole lines. */
  readonly details?: string;
  readonly options?: readonly CommandOption[];
  /** The command takes config files and config flags of this kind; `--help` then documents each key. */
  readonly config?: ConfigKind;
  /** Left out of `prl --help`: the launcher starts it, but users can, too. */
  readonly hidden?: boolean;
  /** Resolves to the exit code (see `EXIT`). */
  run(args: readonly string[], io: CommandIo): Promise<number>;
}
