/** Scores a reply whose answer is a program: its tests run in a sandbox. A failure of the sandbox is an error, never a score. */
import type { SandboxPool } from "../../sandbox/index.ts";
import { gradeProgram, programReward } from "../../verify/index.ts";
import { answerIn } from "./reply-answer.ts";
import type { Exam, ProgramRow } from "./row.ts";

export interface ProgramScoring {
  readonly pool: () => Promise<SandboxPool>;
  readonly signal?: AbortSignal;
}

/** What a program earned, from 0 to 1, and the share of the tests that passed of each part that the exam names. */
export interface Earned {
  readonly score: number;
  readonly parts: Readonly<Record<string, number>>;
}

/** From 0 to 1; 0 without an answer. Throws PRL_SANDBOX_INFRA, and what the pool throws. */
export async function scoreProgram(
  row: ProgramRow,
  instance: object,
  reply: string,
  scoring: ProgramScoring,
): Promise<number> {
  return (await earnedByProgram(row, instance, reply, scoring)).score;
}

/** Throws PRL_SANDBOX_INFRA, and what the pool throws. */
export async function earnedByProgram(
  row: ProgramRow,
  instance: object,
  reply: string,
  scoring: ProgramScoring,
): Promise<Earned> {
  const answer = answerIn(reply, row.place);
  const exam = row.exam(instance);
  if (answer === null || exam.refuses?.(answer) === true) return { score: 0, parts: partsOf(exam, []) };
  const { tests, base, credit, parts, gate = 0 } = exam;
  const first =
    gate === 0 ? [] : await passedTests(exam, answer, { tests: tests.slice(0, gate), stops: true, scoring });
  if (first.includes(false)) return { score: 0, parts: partsOf(exam, first) };
  const stops = base === undefined && credit === undefined && parts === undefined;
  const rest = await passedTests(exam, answer, { tests: tests.slice(gate), stops, scoring });
  const passed = [...first, ...rest];
  return { score: creditOf(exam, passed), parts: partsOf(exam, passed) };
}

interface Round {
  readonly tests: Exam["tests"];
  /** No test runs after one that failed. */
  readonly stops: boolean;
  readonly scoring: ProgramScoring;
}

async function passedTests(
  { language, functionName, timeLimitMs, program = (code: string) => code }: Exam,
  answer: string,
  { tests, stops, scoring: { pool, signal } }: Round,
): Promise<boolean[]> {
  const grade = await gradeProgram(await pool(), {
    language,
    code: program(answer),
    tests,
    timeLimitMs,
    stopOnFailure: stops,
    ...(functionName === undefined ? {} : { functionName }),
    ...(signal === undefined ? {} : { signal }),
  });
  // Throws where the infrastructure left a test without a verdict that counts.
  programReward(grade, { partial: !stops });
  return grade.results.map(({ verdict }) => verdict === "accepted");
}

function creditOf({ base, credit }: Exam, passed: readonly boolean[]): number {
  if (credit !== undefined) return credit(passed);
  if (base === undefined) return passed.includes(false) ? 0 : 1;
  const share = passed.filter(Boolean).length / passed.length;
  return Math.max(0, (share - base) / (1 - base)) ** 2;
}

/** Tests that are not in `passed` failed. */
function partsOf({ parts = [] }: Exam, passed: readonly boolean[]): Record<string, number> {
  const counts = new Map<string, { all: number; passed: number }>();
  for (const [index, names] of parts.entries())
    for (const name of names) {
      const count = counts.get(name) ?? { all: 0, passed: 0 };
      counts.set(name, { all: count.all + 1, passed: count.passed + Number(passed[index] === true) });
    }
  return Object.fromEntries([...counts].map(([name, count]) => [name, count.passed / count.all]));
}
