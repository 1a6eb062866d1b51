/**
 * Calls of programs with deadlines that a test waits for, in a file that has
 * `vi.mock(import("node:child_process"), async (original) => (await import("<this file>")).shortCalls(await original(), most))`:
 * fake timers do not reach those of Node's own modules.
 */
import type * as Programs from "node:child_process";
import { promisify } from "node:util";
import { test } from "vitest";

import { RUNS_COMPILED } from "../compiled.ts";
import { IS_LONG } from "../form.ts";

/** A test of such a deadline. Compiled code knows no mocks, and waits for a minute there: only the long form does that. */
export const deadlineTest = test.skipIf(RUNS_COMPILED && !IS_LONG);

/** The module with an `execFile` whose deadlines are `most.ms` at most. */
export function shortCalls(actual: typeof Programs, most: { readonly ms: number }): typeof Programs {
  const execFile = (file: string, args: string[], options: { timeout: number }, done: () => void) =>
    actual.execFile(file, args, { ...options, timeout: Math.min(options.timeout, most.ms) }, done);
  const promised = { [promisify.custom]: promisify(actual.execFile) };
  return { ...actual, execFile: Object.assign(execFile, promised) as unknown as typeof actual.execFile };
}
