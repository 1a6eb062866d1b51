/** Programs against tests of their output: a convenience over `runTests`. */

import { PrlError } from "../errors.ts";
import { knownKeys } from "./request-checks.ts";
import type { RunLimits, RunResult, TestsRequest, TestsResult } from "./types.ts";

export interface CodeTest {
  /** Standard input. */
  input: string;
  /** Expected standard output; spaces at the ends of lines and empty lines at the end do not count. */
  output: string;
}

export interface CodeOptions {
  /** Default python. C is compiled with gcc, where the machine or the image has it. */
  language?: "python" | "javascript" | "shell" | "c";
  /** Limits of each test. */
  limits?: RunLimits;
  /** Begin no test after the first one that fails; the others have no verdict. Default false. */
  stopOnFailure?: boolean;
  signal?: AbortSignal;
}

export interface CodeTestResult {
  /**
   * The program exited with 0 and printed the output; null when the infrastructure failed, or the test was cancelled or not begun. After a
   * build that failed it is false.
   */
  passed: boolean | null;
  /** Null when it was not begun. */
  run: RunResult | null;
}

export interface CodeResult {
  /** Every test passed; null when none failed but one has no verdict. */
  passed: boolean | null;
  /** Results in the order of the tests. */
  results: CodeTestResult[];
  /** Result of the compiler; null where there is none. */
  build: RunResult | null;
  /** Wall time of the whole call. */
  latencyMs: number;
}

interface Program {
  file: string;
  program: readonly string[];
  build?: readonly string[];
}

const PROGRAMS: Readonly<Record<NonNullable<CodeOptions["language"]>, Program>> = {
  python: { file: "main.py", program: ["python3", "main.py"] },
  javascript: { file: "main.mjs", program: ["node", "main.mjs"] },
  shell: { file: "main.sh", program: ["sh", "main.sh"] },
  c: { file: "main.c", program: ["./main"], build: ["gcc", "-O2", "-o", "main", "main.c", "-lm"] },
};
const CODE: Readonly<Record<keyof CodeOptions, true>> = {
  language: true,
  limits: true,
  stopOnFailure: true,
  signal: true,
};
/** A compiler may take longer than a program. */
const BUILD_LIMITS: RunLimits = { wallMs: 30_000, cpuMs: 30_000 };

/** Errors: PRL_SANDBOX_REQUEST without tests, PRL_SANDBOX_UNSUPPORTED for another language. */
export async function executeCode(
  runTests: (request: TestsRequest) => Promise<TestsResult>,
  code: string,
  tests: readonly CodeTest[],
  options: CodeOptions,
): Promise<CodeResult> {
  knownKeys(options, CODE, "");
  const { language = "python", limits, stopOnFailure = false, signal } = options;
  if (!Object.hasOwn(PROGRAMS, language)) {
    const known = Object.keys(PROGRAMS).join(", ");
    throw new PrlError("PRL_SANDBOX_UNSUPPORTED", `language ${JSON.stringify(language)}: implemented are ${known}`);
  }
  if (tests.length === 0) {
    throw new PrlError("PRL_SANDBOX_REQUEST", "a program without tests is neither right nor wrong");
  }
  const { file, program, build } = PROGRAMS[language];
  const startedAt = performance.now();
  const ran = await runTests({
    program,
    files: { [file]: code },
    cases: tests.map(({ input }) => ({ stdin: input })),
    stopOnFailure,
    ...(limits === undefined ? {} : { limitsPerCase: limits }),
    ...(build === undefined ? {} : { build, buildLimits: BUILD_LIMITS }),
    ...(signal === undefined ? {} : { signal }),
  });
  const built = ran.build === null ? null : ended(ran.build);
  const results = ran.results.map((run, i) => ({
    passed: built === false ? false : run === null ? null : verdict(run, tests[i]?.output ?? ""),
    run,
  }));
  return { passed: overall(results), results, build: ran.build, latencyMs: performance.now() - startedAt };
}

/** Whether it exited with 0; null when that is not known. */
function ended({ cause, exitCode }: RunResult): boolean | null {
  if (cause === "INFRA" || cause === "CANCELLED") return null;
  return cause === "EXITED" && exitCode === 0;
}

function verdict(run: RunResult, expected: string): boolean | null {
  const isEnded = ended(run);
  if (isEnded !== true) return isEnded;
  return run.stdoutGap === 0 && comparable(run.stdout.toString("utf8")) === comparable(expected);
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
