/** The outside world of a command: streams, environment, signals. */
import type { CommandIo, Output } from "./command.ts";
import { outlivesTerminal, STOP_SIGNALS, stopExit, type StopSignal } from "../stop-signal.ts";

/** The surroundings of a command line; in production those of the process. */
export interface World {
  /** Default: the process's. */
  readonly stdin?: NodeJS.ReadableStream;
  readonly stdout: Output & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** The io of one command, and what happened to it. */
export interface IoHandle {
  readonly io: CommandIo;
  /** The signal that was received; null when there was none. */
  received(): StopSignal | null;
  /** A JSON document was written. */
  hasJson(): boolean;
  /** Removes the signal handlers. */
  close(): void;
}

const DEFAULT_COLUMNS = 80;
/** A signal this soon after another is the same one: the terminal sends Ctrl-C to npx and to us, and npx hands its own on. */
const ECHO_MS = 500;

export function openIo(world: World, json: boolean): IoHandle {
  const controller = new AbortController();
  const impatience = new AbortController();
  let received: StopSignal | null = null;
  let receivedAt = 0;
  let isListening = false;
  let wroteJson = false;
  const stop = (name: StopSignal): void => {
    if (name === "SIGHUP" && outlivesTerminal()) return;
    const now = performance.now();
    if (received !== null && now - receivedAt < ECHO_MS) return;
    receivedAt = now;
    if (impatience.signal.aborted) process.exit(stopExit(received));
    if (received !== null) return impatience.abort(name);
    received = name;
    controller.abort(name);
  };
  const handlers = STOP_SIGNALS.map((name) => [name, () => stop(name)] as const);
  const io: CommandIo = {
    get stdin() {
      return world.stdin ?? process.stdin;
    },
    stdout: world.stdout,
    stderr: world.stderr,
    isTerminal: world.stdout.isTTY === true && !json,
    columns: world.stdout.columns ?? DEFAULT_COLUMNS,
    json,
    env: world.env,
    cwd: world.cwd,
    get signal() {
      if (!isListening) {
        isListening = true;
        for (const [name, handler] of handlers) process.on(name, handler);
      }
      return controller.signal;
    },
    hurry: impatience.signal,
    writeJson(value) {
      wroteJson = true;
      world.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    },
  };
  return {
    io,
    received: () => received,
    hasJson: () => wroteJson,
    close() {
      for (const [name, handler] of handlers) process.off(name, handler);
    },
  };
}

/** Breaks text into lines of at most `width` characters, at spaces. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}
