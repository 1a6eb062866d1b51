/** Programs against tests of their output: a convenience over `runMany`. */

import { PrlError } from "../errors.ts";
import type { RunLimits, RunRequest, RunResult } from "./types.ts";

export interface CodeTest {
  /** Standard input. */
  input: string;
  /** Expected standard output; spaces at the ends of lines and empty lines at the end do not count. */
  output: string;
}

export interface CodeOptions {
  /** Default python. */
  language?: "python" | "javascript" | "shell";
  /** Of each test. */
  limits?: RunLimits;
  signal?: AbortSignal;
}

export interface CodeTestResult {
  /** The program exited with 0 and printed the output; null when the infrastructure failed or the test was cancelled. */
  passed: boolean | null;
  run: RunResult;
}

export interface CodeResult {
  /** Every test passed; null when none failed but one has no verdict. */
  passed: boolean | null;
  /** In the order of the tests. */
  results: CodeTestResult[];
  /** Wall time of the whole call. */
  latencyMs: number;
}

const PROGRAMS = {
  python: { file: "main.py", command: ["python3", "main.py"] },
  javascript: { file: "main.mjs", command: ["node", "main.mjs"] },
  shell: { file: "main.sh", command: ["sh", "main.sh"] },
} as const;

/** Errors: PRL_SANDBOX_REQUEST without tests, PRL_SANDBOX_UNSUPPORTED for another language. */
export async function executeCode(
  runMany: (requests: RunRequest[], options: { signal: AbortSignal | undefined }) => Promise<RunResult[]>,
  code: string,
  tests: readonly CodeTest[],
  options: CodeOptions,
): Promise<CodeResult> {
  const { language = "python", limits, signal } = options;
  if (!Object.hasOwn(PROGRAMS, language)) {
    const known = Object.keys(PROGRAMS).join(", ");
    throw new PrlError("PRL_SANDBOX_UNSUPPORTED", `language ${JSON.stringify(language)}: implemented are ${known}`);
  }
  if (tests.length === 0)
    throw new PrlError("PRL_SANDBOX_REQUEST", "a program without tests is neither right nor wrong");
  const { file, command } = PROGRAMS[language];
  const startedAt = performance.now();
  const requests = tests.map(({ input }) => ({
    command,
    stdin: input,
    files: { [file]: code },
    ...(limits === undefined ? {} : { limits }),
  }));
  const runs = await runMany(requests, { signal });
  const results = runs.map((run, i) => ({ passed: verdict(run, tests[i]?.output ?? ""), run }));
  return { passed: overall(results), results, latencyMs: performance.now() - startedAt };
}

function verdict(run: RunResult, expected: string): boolean | null {
  if (run.cause === "INFRA" || run.cause === "CANCELLED") return null;
  if (run.cause !== "EXITED" || run.exitCode !== 0 || run.stdoutGap > 0) return false;
  return comparable(run.stdout.toString("utf8")) === comparable(expected);
}

function overall(results: readonly CodeTestResult[]): boolean | null {
  if (results.some(({ passed }) => passed === false)) return false;
  return results.some(({ passed }) => passed === null) ? null : true;
}

function comparable(output: string): string {
  return output
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();
}
