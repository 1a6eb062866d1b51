/**
 * Grades a program by tests, in one sandbox: standard input against standard output, or calls of one of its functions.
 *
 * The sandbox gets only the inputs; the expected results stay in this process and are compared here, so that no program can read them.
 * Every verdict has a cause that the sandbox saw: a failure of the infrastructure is `infra`, never a wrong answer.
 */
import { randomBytes } from "node:crypto";

import { z } from "zod";

import { messageOf, PrlError } from "../../errors.ts";
import { abortSignal, checkOptions, only } from "../../options.ts";
import type { RunLimits, RunResult, SandboxPool, TestsRequest, TestsResult } from "../../sandbox/index.ts";
import { compareLines, compareStdout } from "../compare-stdout.ts";
import { equalsExpected, expectedValue } from "./call-value.ts";
import { type ExactJson, parseExactJson } from "./exact-json.ts";
import { HARNESSES } from "./harness.ts";
import { BUILD_LIMITS, LANGUAGES, type ProgramLanguage } from "./languages.ts";

export type ProgramVerdict =
  | "accepted"
  | "wrong_answer"
  | "time_limit"
  | "memory_limit"
  | "crash"
  | "compile_error"
  | "infra";

export interface ProgramTest {
  /**
   * Standard input; with `functionName` the arguments, as JSON values one per line (LiveCodeBench's form) or as an array of values.
   */
  input: string | readonly unknown[];
  /** Expected standard output; with `functionName` the expected value, as JSON text when the arguments are text, else as it is. */
  output: unknown;
}

export interface GradeProgramOptions {
  language: ProgramLanguage;
  code: string;
  /** Function, or method of a class `Solution`, to call. Python and JavaScript. */
  functionName?: string;
  /**
   * Trusted Python that runs before the arguments are read, so that a process which it forks knows nothing of them. The code finds its names in
   * `__main__`. Only with `functionName`.
   */
  beforeCall?: string;
  tests: readonly ProgramTest[];
  /**
   * Limit of each test in CPU time, so that a busy machine fails no program: a program may wait for the processor twice as long and a
   * second more, but one that only lets time pass is late after one and a half times as long. Default 10000.
   */
  timeLimitMs?: number;
  /** Default 512 MiB. */
  memoryLimitBytes?: number;
  /**
   * `lines` (default): as many lines, each equal as text or as exact decimals; `tokens`: words, and decimals within the tolerance.
   */
  compare?: "lines" | "tokens";
  /** Tolerance of numbers. Default: 0.001 between tokens, 0 between values of functions. */
  tolerance?: number;
  /** Begin no test after the first one that is not accepted; the others have no verdict. Default false. */
  stopOnFailure?: boolean;
  signal?: AbortSignal;
}

export interface ProgramTestResult {
  /** Null when it was not begun. */
  verdict: ProgramVerdict | null;
  /** The sandbox's own result; null when it was not begun, or nothing could be built. */
  run: RunResult | null;
}

export interface ProgramGrade {
  /** `accepted` when all tests are; else the first other one, `infra` only where no test says more. */
  verdict: ProgramVerdict;
  /** Results in the order of the tests. */
  results: ProgramTestResult[];
  /** Standard error of the compiler, or of the first test that failed. */
  message: string;
}

const DEFAULT_TIME_LIMIT_MS = 10_000;
/** Many graders start at once: they wait for each other rather than fail. */
const QUEUE_MS = 120_000;
const LEAST_OUTPUT_BYTES = 1 << 20;
const TOKEN_TOLERANCE = 1e-3;
const WORD_BYTES = 16;
/** A program that let time pass: it took longer than this many times the limit, with less than `IDLE_SHARE` of the time on a processor. */
const LATE = 1.5;
const IDLE_SHARE = 0.05;

/** Their values are checked one by one. */
const rewardSchema = only<{ partial?: boolean }>({ partial: z.boolean().optional() });
const optionsSchema = only<GradeProgramOptions>({
  language: z.unknown(),
  code: z.unknown(),
  functionName: z.unknown().optional(),
  beforeCall: z.string().optional(),
  tests: z.unknown(),
  timeLimitMs: z.unknown().optional(),
  memoryLimitBytes: z.unknown().optional(),
  compare: z.unknown().optional(),
  tolerance: z.unknown().optional(),
  stopOnFailure: z.boolean().optional(),
  signal: abortSignal.optional(),
});

/**
 * Errors, all of them mistakes of the caller: PRL_VERIFY_OPTIONS (no tests, a limit, a name, arguments that are no JSON),
 * PRL_VERIFY_UNSUPPORTED (a language, or calls in C, or C where there is no gcc), those of `SandboxPool.runTests`. An abort rejects with
 * the signal's reason.
 */
export async function gradeProgram(pool: SandboxPool, options: GradeProgramOptions): Promise<ProgramGrade> {
  checkOptions("PRL_VERIFY_OPTIONS", "gradeProgram", optionsSchema, options);
  check(options);
  const { language, code, functionName, tests, stopOnFailure = false, signal } = options;
  const { file, program, build } = LANGUAGES[language];
  const judge = functionName === undefined ? judgeOutput(options) : judgeCalls(options, functionName);
  const request: TestsRequest = {
    program,
    files: { [file]: code },
    cases: judge.inputs.map((stdin) => ({ stdin })),
    limitsPerCase: limitsOf(options),
    queueMs: QUEUE_MS,
    stopOnFailure,
    ...judge.request,
    ...(build === undefined ? {} : { build, buildLimits: BUILD_LIMITS }),
    ...(signal === undefined ? {} : { signal }),
  };
  const ran = await runCases(pool, request);
  signal?.throwIfAborted();
  if (ran.build !== null && !hasEnded(ran.build)) return unbuilt(ran.build, tests.length);
  const results = stopAtFirst(
    ran.results.map((run, i) => ({
      verdict: run === null ? null : verdictOf(run, options, () => judge.accepts(run, i)),
      run,
    })),
    stopOnFailure,
  );
  const suspect = results.find(({ verdict }) => verdict !== "accepted")?.run ?? null;
  if (suspect !== null && (await cannotBeProgram(pool, options, suspect))) {
    const rest = results.map(({ run }) => ({ verdict: "compile_error" as const, run }));
    return { verdict: "compile_error", results: rest, message: suspect.stderr.toString() };
  }
  return { verdict: overall(results), results, message: suspect?.stderr.toString() ?? "" };
}

/** A single case needs no sandbox in which others can follow it: a run takes less than half of the processor time. */
async function runCases(pool: SandboxPool, request: TestsRequest): Promise<TestsResult> {
  const { program, cases, limitsPerCase = {}, stopOnFailure: _, ...rest } = request;
  const [first, ...others] = cases;
  if (first === undefined || others.length > 0 || request.build !== undefined) return pool.runTests(request);
  const { stdin = "" } = first;
  return { build: null, results: [await pool.runOnce({ ...rest, command: program, stdin, limits: limitsPerCase })] };
}

/** How tests are given to the program and how its answers are judged. */
interface Judge {
  readonly inputs: readonly string[];
  readonly request: Partial<TestsRequest>;
  accepts(run: RunResult, index: number): ProgramVerdict;
}

function judgeOutput({ tests, compare = "lines", tolerance = TOKEN_TOLERANCE }: GradeProgramOptions): Judge {
  const expected = tests.map(({ output }, i) => textOf(output, `tests[${i}].output`));
  const same = (actual: string, wanted: string): boolean =>
    compare === "lines" ? compareLines(actual, wanted) : compareStdout(actual, wanted, { tolerance });
  return {
    inputs: tests.map(({ input }, i) => textOf(input, `tests[${i}].input`)),
    request: {},
    accepts: ({ stdout, stdoutGap }, i) =>
      stdoutGap === 0 && same(stdout.toString("utf8"), expected[i] ?? "") ? "accepted" : "wrong_answer",
  };
}

function judgeCalls(
  { language, code, tests, beforeCall = "", tolerance = 0 }: GradeProgramOptions,
  name: string,
): Judge {
  if (language === "c") throw unsupported("calls of functions in C; its programs are graded by what they print");
  const harness = HARNESSES[language];
  const words = tests.map(() => randomBytes(WORD_BYTES).toString("hex"));
  const calls = tests.map((test, i) => readCall(test, i));
  return {
    inputs: calls.map(
      ({ args }, i) => `{"name":${JSON.stringify(name)},"word":"${words[i] ?? ""}","arguments":[${args}]}`,
    ),
    request: {
      program: harness.program,
      files: { [LANGUAGES[language].file]: code, [harness.file]: beforeCall + harness.source },
    },
    accepts({ stdout }, i) {
      const answer = answerOf(stdout.toString("utf8"), words[i] ?? "");
      // It ended without a return value, so it exited by itself.
      if (answer === "none") return "crash";
      const expected = calls[i]?.expected;
      return answer !== "unreadable" && expected !== undefined && equalsExpected(answer.value, expected, tolerance)
        ? "accepted"
        : "wrong_answer";
    },
  };
}

/** The arguments as JSON texts, so that none of their numbers changes on the way. */
function readCall({ input, output }: ProgramTest, index: number): { args: string; expected: ExactJson } {
  try {
    if (typeof input === "string") {
      const lines = input.split("\n").filter((line) => line.trim() !== "");
      for (const line of lines) parseExactJson(line);
      return { args: lines.join(","), expected: expectedValue(output) };
    }
    const args = input.map((value) => JSON.stringify(value) ?? "null");
    return { args: args.join(","), expected: parseExactJson(JSON.stringify(output) ?? "null") };
  } catch (cause) {
    const why = messageOf(cause);
    throw wrong(`tests[${index}]: arguments and result of a function are JSON values: ${why}`, cause);
  }
}

/** `unreadable` when there are several, or something follows it. */
function answerOf(stdout: string, word: string): { value: ExactJson } | "none" | "unreadable" {
  const start = stdout.indexOf(`\n${word} `);
  if (start < 0) return "none";
  const line = stdout.slice(start + word.length + 2);
  if (!line.endsWith("\n") || line.indexOf("\n") !== line.length - 1) return "unreadable";
  try {
    return { value: parseExactJson(line) };
  } catch {
    // The program wrote the line itself, or the value is nested too deep: it equals nothing.
    return "unreadable";
  }
}

function limitsOf({ tests, timeLimitMs = DEFAULT_TIME_LIMIT_MS, memoryLimitBytes }: GradeProgramOptions): RunLimits {
  const longest = Math.max(
    ...tests.map(({ output }) => (typeof output === "string" ? output : JSON.stringify([output])).length),
  );
  return {
    cpuMs: timeLimitMs,
    wallMs: 2 * timeLimitMs + 1_000,
    outputBytes: Math.max(LEAST_OUTPUT_BYTES, 4 * longest),
    ...(memoryLimitBytes === undefined ? {} : { memoryBytes: memoryLimitBytes }),
  };
}

function verdictOf(
  run: RunResult,
  { language, timeLimitMs = DEFAULT_TIME_LIMIT_MS }: GradeProgramOptions,
  judged: () => ProgramVerdict,
): ProgramVerdict {
  switch (run.cause) {
    case "INFRA":
    case "CANCELLED":
      return "infra";
    case "WALL_TIMEOUT":
    case "CPU_TIMEOUT":
      return "time_limit";
    case "OOM":
      return "memory_limit";
    case "EXITED":
      if (letTimePass(run, timeLimitMs)) return "time_limit";
      if (run.exitCode === 0) return judged();
      break;
    default:
  }
  return LANGUAGES[language].outOfMemory.test(run.stderr.toString("utf8")) ? "memory_limit" : "crash";
}

function letTimePass({ timings: { runMs }, usage: { cpuMs } }: RunResult, timeLimitMs: number): boolean {
  return runMs > LATE * timeLimitMs && (cpuMs === null || cpuMs < IDLE_SHARE * runMs);
}

/** Whether the program's text is wrong, not its behaviour. */
async function cannotBeProgram(
  pool: SandboxPool,
  { language, code, signal }: GradeProgramOptions,
  { cause, exitCode, stderr }: RunResult,
): Promise<boolean> {
  const { file, check: command, syntaxError } = LANGUAGES[language];
  if (command === undefined || syntaxError === undefined) return false;
  if (cause !== "EXITED" || exitCode === 0 || !syntaxError.test(stderr.toString("utf8"))) return false;
  const stop = signal === undefined ? {} : { signal };
  const checked = await pool.runOnce({ command, files: { [file]: code }, queueMs: QUEUE_MS, ...stop });
  signal?.throwIfAborted();
  return checked.cause === "EXITED" && checked.exitCode !== 0;
}

function unbuilt(build: RunResult, tests: number): ProgramGrade {
  const isInfra = build.cause === "INFRA" || build.cause === "CANCELLED";
  // The exit code of shells and of our daemon for a missing program.
  if (build.exitCode === 127) throw unsupported(`C here: there is no gcc in the sandbox (${build.reason})`);
  const verdict = isInfra ? "infra" : "compile_error";
  return {
    verdict,
    results: Array.from({ length: tests }, () => ({ verdict, run: null })),
    message: isInfra ? `${build.reason}: ${build.detail ?? ""}` : build.stderr.toString(),
  };
}

function hasEnded({ cause, exitCode }: RunResult): boolean {
  return cause === "EXITED" && exitCode === 0;
}

/** The sandbox stops at a program that fails; its output is only judged here. */
function stopAtFirst(results: ProgramTestResult[], stopOnFailure: boolean): ProgramTestResult[] {
  const first = results.findIndex(({ verdict }) => verdict !== "accepted");
  if (!stopOnFailure || first < 0) return results;
  return results.map((result, i) => (i <= first ? result : { verdict: null, run: null }));
}

function overall(results: readonly ProgramTestResult[]): ProgramVerdict {
  const verdicts = results.flatMap(({ verdict }) => (verdict === null ? [] : [verdict]));
  const failed = verdicts.find((verdict) => verdict !== "accepted" && verdict !== "infra");
  return failed ?? (verdicts.includes("infra") ? "infra" : "accepted");
}

/**
 * 1 for an accepted program and 0 for any other; with `partial` the share of its tests that are accepted. Throws PRL_SANDBOX_INFRA where
 * the infrastructure failed, so that such a program is tried again and never scored.
 */
export function programReward(grade: ProgramGrade, options: { partial?: boolean } = {}): number {
  checkOptions("PRL_VERIFY_OPTIONS", "programReward", rewardSchema, options);
  const { verdict, results, message } = grade;
  const { partial = false } = options;
  const passed = results.filter((result) => result.verdict === "accepted").length;
  const unknown = results.some((result) => result.verdict === "infra");
  if (verdict === "infra" || (partial && unknown)) {
    throw new PrlError("PRL_SANDBOX_INFRA", `the program could not be graded: ${message}`);
  }
  if (partial) return passed / results.length;
  return verdict === "accepted" ? 1 : 0;
}

function check(options: GradeProgramOptions): void {
  const { language, code, functionName, beforeCall, tests, timeLimitMs, memoryLimitBytes } = options;
  const { compare = "lines", tolerance } = options;
  if (!Object.hasOwn(LANGUAGES, language)) {
    throw unsupported(`language ${JSON.stringify(language)}; there are ${Object.keys(LANGUAGES).join(", ")}`);
  }
  if (typeof code !== "string") throw wrong("code: expected a text");
  if (!Array.isArray(tests) || tests.length === 0) throw wrong("a program without tests is neither right nor wrong");
  if (functionName !== undefined && !/^[A-Za-z_]\w*$/u.test(functionName)) {
    throw wrong(`functionName: expected the name of a function, got ${JSON.stringify(functionName)}`);
  }
  if (beforeCall !== undefined && (functionName === undefined || language !== "python"))
    throw wrong("beforeCall: there is a call with functionName in Python only");
  for (const [name, value] of Object.entries({ timeLimitMs, memoryLimitBytes })) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0)) {
      throw wrong(`${name}: expected a whole number above 0, got ${String(value)}`);
    }
  }
  if (compare !== "lines" && compare !== "tokens")
    throw wrong(`compare: expected lines or tokens, got ${String(compare)}`);
  if (tolerance !== undefined && !(tolerance >= 0 && tolerance < Infinity)) {
    throw wrong(`tolerance: expected a number from 0, got ${String(tolerance)}`);
  }
}

function textOf(value: unknown, where: string): string {
  if (typeof value === "string") return value;
  throw wrong(`${where}: expected a text; values are for functions (functionName)`);
}

function wrong(problem: string, cause?: unknown): PrlError {
  return new PrlError("PRL_VERIFY_OPTIONS", `gradeProgram, ${problem}`, { cause });
}

function unsupported(what: string): PrlError {
  return new PrlError("PRL_VERIFY_UNSUPPORTED", `gradeProgram does not know ${what}`);
}
