/**
 * The quality gate of rows whose answers run in a sandbox: bounds on everything that is drawn, and programs on some of it.
 *
 * The generator is measured on all instances; gold programs and `misses` near misses run on `scored` instances of each of `scoredLevels`, `cheats`
 * cheats on `cheated` of all. On the scored instances the gold programs of other instances run, too.
 */
import type { SandboxPool } from "../../../sandbox/index.ts";
import { drawInstance, type DrawCounts } from "../drawn.ts";
import { answerIn, asReply } from "../reply-answer.ts";
import { type Level, LEVELS, type ProgramRow } from "../row.ts";
import { createRng } from "../../../random/rng.ts";
import { scoreProgram } from "../score-program.ts";
import {
  checkBounds,
  checkPrompts,
  checkRepeats,
  checkRow,
  LEAST_MISSES,
  levelsOf,
  type Sample,
  shown,
} from "./inspect-row.ts";
import { rankCorrelation } from "./monotone.ts";
import { signatureOf } from "./near-duplicates.ts";
import type { RowReport } from "./report.ts";
import { someOf } from "./some-of.ts";

export interface ProgramGateOptions {
  /** Instances of each level. */
  readonly perLevel: number;
  /** Those of them, from the first on, whose programs run, at these levels. */
  readonly scored: number;
  readonly scoredLevels: readonly Level[];
  /** Instances, from the hardest level on, on which the cheats run. */
  readonly cheated: number;
  /** Near misses of an instance that run, and cheats of one, drawn by the seed. The generator has compared all near misses with the right results. */
  readonly misses: number;
  readonly cheats: number;
  readonly seed: number;
  readonly pool: SandboxPool;
}

/** Prompts of a signature. */
const SIGNED = 12;
/** A program that does not end needs no more. */
const SHORT_MS = 300;
const ENDLESS = {
  python: "while True:\n    pass",
  javascript: "for (;;);",
  c: "int main(void) { for (;;); }",
} as const;

type Score = (instance: object, reply: string) => Promise<number>;

export async function inspectProgram(id: string, row: ProgramRow, options: ProgramGateOptions): Promise<RowReport> {
  const { perLevel, scored, cheated, seed, pool } = options;
  const failures = new Set<string>();
  const counts: DrawCounts = { made: 0, degenerate: 0, leaking: 0 };
  const rng = createRng(seed);
  const started = performance.now();
  const drawn = LEVELS.map((level) => Array.from({ length: perLevel }, () => drawInstance(row, level, rng, counts)));
  const tasksPerSecond = (1000 * drawn.flat().length) / Math.max(1e-3, performance.now() - started);
  const levels = drawn.map((some) =>
    some.map((one): Sample => {
      const instance = JSON.parse(JSON.stringify(one.instance)) as object;
      return { ...one, instance, gold: row.gold(instance), misses: row.nearMisses(instance, rng) };
    }),
  );
  const samples = levels.flat();
  const times: number[] = [];
  const score: Score = async (instance, reply) => {
    const begun = performance.now();
    const earned = await scoreProgram(row, instance, reply, { pool: async () => pool });
    times.push(performance.now() - begun);
    return earned;
  };
  checkRow(row, failures);
  checkPrompts(row, samples, failures);
  checkRepeats(row, samples, failures);
  for (const sample of samples) checkPlaces(row, sample, failures);
  const scoredLevels = LEVELS.flatMap((level, at) => (options.scoredLevels.includes(level) ? [levels[at] ?? []] : []));
  for (const sample of scoredLevels.flatMap((some) => some.slice(0, scored))) {
    await checkPrograms({ ...sample, misses: someOf(sample.misses, options.misses, rng) }, score, failures);
  }
  for (const sample of [...samples].reverse().slice(0, cheated)) {
    const cheats = someOf([...row.cheats(sample.instance), ...textsOf(sample.prompt)], options.cheats, rng);
    await checkCheats(cheats, sample, score, failures);
    await checkEndless(row, sample, pool, failures);
  }
  const report: RowReport = {
    id,
    levels: levelsOf(row, samples),
    monotone: rankCorrelation(samples.map((one): [Level, number] => [one.level, row.effort(one.instance)])),
    bestConstant: null,
    foreign: await foreignScore(scoredLevels, scored, score),
    bestGuess: null,
    degenerate: counts.degenerate / counts.made,
    leaking: counts.leaking / counts.made,
    nearMisses: Math.min(...samples.map(({ misses }) => misses.length)),
    signature: signatureOf(samples.slice(0, SIGNED).map(({ prompt }) => prompt)),
    rate: { tasksPerSecond, scoreP99Ms: times.toSorted((a, b) => a - b)[Math.floor(0.99 * times.length)] ?? 0 },
    failures: [],
  };
  checkBounds(report, failures);
  return { ...report, failures: [...failures] };
}

/** Replies that state no program: none of them reaches a sandbox. */
function checkPlaces(row: ProgramRow, { prompt, gold, misses }: Sample, failures: Set<string>): void {
  const reply = asReply(gold, row.place);
  const none = ["", " \n ", "I do not know.", "<think>", gold, `<think>${reply}`, reply.slice(0, -4), "```\n\n```"];
  for (const text of none) if (answerIn(text, row.place) !== null) failures.add(`a program is found in ${shown(text)}`);
  if (answerIn(asReply("a ".repeat(500_000), row.place), row.place) !== null) failures.add("a megabyte is a program");
  const last = asReply(misses[0] ?? "-", row.place);
  if (answerIn(`${reply}\n\n${last}`, row.place) !== answerIn(last, row.place))
    failures.add("an earlier block counts although another one comes last");
  if (prompt.includes(gold)) failures.add("the gold program stands in the prompt");
  if (new Set(misses).size < LEAST_MISSES) failures.add(`${misses.length} wrong answers; at least ${LEAST_MISSES}`);
}

async function checkPrograms({ level, instance, gold, misses }: Sample, score: Score, failures: Set<string>) {
  const earned = await score(instance, `Some reasoning.\n\n\`\`\`\nx\n\`\`\`\n\n${asReply(gold, "code")}\nDone.`);
  if (earned !== 1) failures.add(`level ${level}: the gold program scores ${earned}: ${shown(gold)}`);
  for (const miss of misses) {
    if ((await score(instance, asReply(miss, "code"))) >= 1)
      failures.add(`level ${level}: the wrong program ${shown(miss)} scores 1`);
  }
}

/** What stands in for a program without the skill: the prompt, its last paragraph, and what other formats take for everything. */
function textsOf(prompt: string): string[] {
  const paragraphs = prompt.split(/\n\s*\n/u).map((part) => part.replaceAll("```", ""));
  return [paragraphs.join("\n\n"), ...paragraphs.slice(-1), "pass", "*", ".*", "{}"];
}

async function checkCheats(
  cheats: readonly string[],
  { level, instance }: Sample,
  score: Score,
  failures: Set<string>,
) {
  for (const text of cheats) {
    const earned = await score(instance, asReply(text, "code"));
    if (earned !== 0) failures.add(`level ${level}: ${shown(text)} scores ${earned}`);
  }
}

/** One test with a short limit: it would take as long for each. */
async function checkEndless(row: ProgramRow, { level, instance }: Sample, pool: SandboxPool, failures: Set<string>) {
  const exam = row.exam(instance);
  const short = { ...exam, tests: exam.tests.slice(0, 1), timeLimitMs: SHORT_MS, program: (answer: string) => answer };
  const reply = asReply(ENDLESS[exam.language], "code");
  const earned = await scoreProgram({ ...row, exam: () => short }, instance, reply, { pool: async () => pool });
  if (earned !== 0) failures.add(`level ${level}: a program that does not end scores ${earned}`);
}

/** Mean score of the gold programs of other instances of the level, on `scored` instances of each. */
async function foreignScore(levels: readonly (readonly Sample[])[], scored: number, score: Score): Promise<number> {
  const scores: number[] = [];
  for (const samples of levels) {
    for (const [index, { instance, gold }] of samples.slice(0, scored).entries()) {
      const other = samples[(index + 1) % samples.length];
      if (other !== undefined && other.gold !== gold) scores.push(await score(instance, asReply(other.gold, "code")));
    }
  }
  return scores.reduce((sum, one) => sum + one, 0) / Math.max(1, scores.length);
}
