/** Scores a reply whose answer is a program: its tests run in a sandbox. A failure of the sandbox is an error, never a score. */
import { randomInt } from "node:crypto";

import type { SandboxPool } from "../../sandbox/index.ts";
import { PrlError } from "../../errors.ts";
import { gradeProgram, programReward } from "../../verify/index.ts";
import { answerIn } from "./reply-answer.ts";
import type { Exam, ProgramRow } from "./row.ts";

export interface ProgramScoring {
  readonly pool: () => Promise<SandboxPool>;
  readonly signal?: AbortSignal;
}

/** What a program earned, from 0 to 1, and what the tests of each part that the exam names earn on average. */
export interface Earned {
  readonly score: number;
  readonly parts: Readonly<Record<string, number>>;
}

/** From 0 to 1; 0 without an answer. Throws as `earnedByProgram`. */
export async function scoreProgram(
  row: ProgramRow,
  instance: object,
  reply: string,
  scoring: ProgramScoring,
): Promise<number> {
  return (await earnedByProgram(row, instance, reply, scoring)).score;
}

/** Throws PRL_SANDBOX_INFRA, PRL_VERIFY_UNSUPPORTED where the sandbox lacks a module that the exam needs, and what the pool throws. */
export async function earnedByProgram(
  row: ProgramRow,
  instance: object,
  reply: string,
  scoring: ProgramScoring,
): Promise<Earned> {
  const answer = answerIn(reply, row.place);
  const exam = row.exam(instance);
  if (answer === null || exam.refuses?.(answer) === true) return { score: 0, parts: partsOf(exam, []) };
  const { tests, base, credit, parts, earns, modules = [], gate = 0 } = exam;
  if (modules.length > 0) await assertModules(await scoring.pool(), modules, scoring.signal);
  const first = gate === 0 ? [] : await earnedByTests(exam, answer, { from: 0, to: gate, stops: true, scoring });
  if (first.some((one) => one < 1)) return { score: 0, parts: partsOf(exam, first) };
  const stops = base === undefined && credit === undefined && parts === undefined && earns === undefined;
  const rest = await earnedByTests(exam, answer, { from: gate, to: tests.length, stops, scoring });
  const all = [...first, ...rest];
  return { score: creditOf(exam, all), parts: partsOf(exam, all) };
}

/** Modules that the Python of a pool has. */
const FOUND = new WeakMap<SandboxPool, Set<string>>();
/** As for the tests, which wait for each other. */
const QUEUE_MS = 120_000;

/** Asks for them without an answer in the sandbox: no program can pretend that one is missing. */
async function assertModules(
  pool: SandboxPool,
  modules: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = FOUND.get(pool) ?? new Set<string>();
  FOUND.set(pool, found);
  if (modules.every((name) => found.has(name))) return;
  const command = ["python3", "-c", `import ${modules.join(", ")}`];
  const stop = signal === undefined ? {} : { signal };
  const { cause, exitCode, stderr, reason } = await pool.runOnce({ command, queueMs: QUEUE_MS, ...stop });
  signal?.throwIfAborted();
  const said = stderr.toString("utf8").trim().split("\n").at(-1) ?? "";
  if (cause !== "EXITED")
    throw new PrlError(
      "PRL_SANDBOX_INFRA",
      `the sandbox could not say whether its Python has ${modules.join(", ")}: ${reason}`,
    );
  if (exitCode !== 0) {
    const what = `the sandbox's python3 lacks a module that this environment needs (${said === "" ? reason : said})`;
    throw new PrlError(
      "PRL_VERIFY_UNSUPPORTED",
      `${what}: install a Python with ${modules.join(", ")} where the sandboxes run`,
    );
  }
  for (const name of modules) found.add(name);
}

interface Round {
  /** Which tests run. */
  readonly from: number;
  readonly to: number;
  /** No test runs after one that failed. */
  readonly stops: boolean;
  readonly scoring: ProgramScoring;
}

/**
 * Of each test: 1 where the run printed what is expected, or what its output earns. Where all run they do so in a drawn order, for a program can
 * count the runs before it by its process's number, and what is expected may follow from a test's place among the others.
 */
async function earnedByTests(
  { language, functionName, beforeCall, timeLimitMs, earns, tests, program = (code: string) => code }: Exam,
  answer: string,
  { from, to, stops, scoring: { pool, signal } }: Round,
): Promise<number[]> {
  const order = stops ? tests.map((_, index) => index).slice(from, to) : drawnOrder(from, to);
  const grade = await gradeProgram(await pool(), {
    language,
    code: program(answer),
    tests: order.flatMap((index) => tests[index] ?? []),
    timeLimitMs,
    stopOnFailure: stops,
    ...(functionName === undefined ? {} : { functionName }),
    ...(beforeCall === undefined ? {} : { beforeCall }),
    ...(signal === undefined ? {} : { signal }),
  });
  // Throws where the infrastructure left a test without a verdict that counts.
  programReward(grade, { partial: !stops });
  const earned = order.map(() => 0);
  for (const [place, { verdict, run }] of grade.results.entries()) {
    const index = order[place] ?? from;
    // Any other verdict says that the program did not end well.
    const isJudged = verdict === "accepted" || verdict === "wrong_answer";
    if (earns === undefined) earned[index - from] = verdict === "accepted" ? 1 : 0;
    else if (isJudged && run?.stdoutGap === 0) earned[index - from] = earns(run.stdout.toString("utf8"), index);
  }
  return earned;
}

/** The numbers from `from` to before `to`, in an order that no program can know. */
function drawnOrder(from: number, to: number): number[] {
  const left = Array.from({ length: to - from }, (_, index) => from + index);
  const order: number[] = [];
  while (left.length > 0) order.push(...left.splice(randomInt(left.length), 1));
  return order;
}

function creditOf({ base, credit, earns }: Exam, all: readonly number[]): number {
  if (earns !== undefined) return meanOf(all);
  if (credit !== undefined) return credit(all.map((one) => one === 1));
  if (base === undefined) return all.some((one) => one < 1) ? 0 : 1;
  const share = all.filter((one) => one === 1).length / all.length;
  return Math.max(0, (share - base) / (1 - base)) ** 2;
}

/** Tests without a result earn nothing. */
function partsOf({ parts = [] }: Exam, all: readonly number[]): Record<string, number> {
  const earned = new Map<string, number[]>();
  for (const [index, names] of parts.entries())
    for (const name of names) earned.set(name, [...(earned.get(name) ?? []), all[index] ?? 0]);
  return Object.fromEntries([...earned].map(([name, some]) => [name, meanOf(some)]));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}
