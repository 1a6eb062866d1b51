/**
 * The quality gate of rows whose answers run in a sandbox: bounds on everything that is drawn, and programs on some of it.
 *
 * The generator is measured on all instances; gold programs and `misses` near misses run on `scored` instances of each of `scoredLevels`, `cheats`
 * cheats on `cheated` of all. On `foreign` of the scored instances of a level the gold program of another instance runs, too. On the hardest instance run
 * `injections` programs that speak to the grader.
 */
import type { SandboxPool } from "../../../sandbox/index.ts";
import { drawInstance, type DrawCounts } from "../drawn.ts";
import { at } from "../lists.ts";
import { answerIn, asReply } from "../reply-answer.ts";
import { type Level, LEVELS, type ProgramRow } from "../row.ts";
import { createRng } from "../../../random/rng.ts";
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
import { programInjections } from "./program-injections.ts";
import { ProgramScorer } from "./program-scorer.ts";
import type { RowReport } from "./report.ts";
import { someOf } from "./some-of.ts";

export interface ProgramGateOptions {
  /** Instances of each level. */
  readonly perLevel: number;
  /** Those of them, from the first on, whose programs run, at these levels. */
  readonly scored: number;
  readonly scoredLevels: readonly Level[];
  /** Instances of each of these levels on which the gold program of another one runs. */
  readonly foreign: number;
  /** Instances, from the hardest level on, on which the cheats run. */
  readonly cheated: number;
  /** Near misses of an instance that run, and cheats of one, drawn by the seed. The generator has compared all near misses with the right results. */
  readonly misses: number;
  readonly cheats: number;
  /** Programs that speak to the grader, of those that no row has to name, drawn by the seed. */
  readonly injections: number;
  /** Programs that are scored at once. More than one makes their times those of a busy machine. */
  readonly atOnce: number;
  readonly seed: number;
  readonly pool: SandboxPool;
}

/** A program that does not end needs no more. */
const SHORT_MS = 150;
const ENDLESS = {
  python: "while True:\n    pass",
  javascript: "for (;;);",
  c: "int main(void) { for (;;); }",
} as const;

type Score = (instance: object, reply: string) => Promise<number>;
/** What failed. */
type Found = Promise<readonly string[]>;

export async function inspectProgram(id: string, row: ProgramRow, options: ProgramGateOptions): Promise<RowReport> {
  const { perLevel, scored, cheated, seed } = options;
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
  const scorer = new ProgramScorer(row, options);
  const { score } = scorer;
  checkRow(id, row, samples, failures);
  checkPrompts(row, samples, failures);
  checkRepeats(row, samples, failures);
  if (answerIn(asReply("a ".repeat(500_000), row.place), row.place) !== null) failures.add("a megabyte is a program");
  for (const sample of samples) checkPlaces(row, sample, failures);
  const scoredLevels = levels.filter((_, index) => options.scoredLevels.includes(at(LEVELS, index)));
  for (const [first] of levels)
    if (first !== undefined && !scorer.hasOneExam(first.instance))
      failures.add(`level ${first.level}: an instance has another exam when it is worked out again`);
  // All draws come first, so that they do not depend on what ends when.
  const programs = scoredLevels
    .flatMap((some) => some.slice(0, scored))
    .map((sample) => ({ ...sample, misses: someOf(sample.misses, options.misses, rng) }));
  const attacked = [...samples]
    .reverse()
    .slice(0, cheated)
    .map((sample, index) => ({
      sample,
      cheats: [
        ...someOf([...row.cheats(sample.instance), ...textsOf(sample.prompt)], options.cheats, rng),
        ...(index === 0 ? someOf(programInjections(scorer.examOf(sample.instance)), options.injections, rng) : []),
      ],
    }));
  const checks = Promise.all([
    ...programs.map((sample) => checkPrograms(sample, scorer)),
    ...attacked.flatMap(({ sample, cheats }) => [checkCheats(cheats, sample, score), checkEndless(sample, scorer)]),
  ]);
  const [found, foreign] = await scorer.during(
    Promise.all([checks, foreignScore(scoredLevels, options.foreign, score)]),
  );
  for (const failure of found.flat()) failures.add(failure);
  const report: RowReport = {
    id,
    levels: levelsOf(row, samples),
    monotone: rankCorrelation(samples.map((one): [Level, number] => [one.level, row.effort(one.instance)])),
    bestConstant: null,
    foreign,
    bestGuess: null,
    degenerate: counts.degenerate / counts.made,
    leaking: counts.leaking / counts.made,
    nearMisses: Math.min(...samples.map(({ misses }) => misses.length)),
    rate: { tasksPerSecond, scoreP99Ms: scorer.p99Ms },
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
  const last = asReply(misses[0] ?? "-", row.place);
  if (answerIn(`${reply}\n\n${last}`, row.place) !== answerIn(last, row.place))
    failures.add("an earlier block counts although another one comes last");
  if (prompt.includes(gold)) failures.add("the gold program stands in the prompt");
  if (misses.includes(gold)) failures.add(`a wrong answer is the gold program ${shown(gold)}`);
  if (new Set(misses).size < LEAST_MISSES) failures.add(`${misses.length} wrong answers; at least ${LEAST_MISSES}`);
}

async function checkPrograms({ level, instance, gold, misses }: Sample, scorer: ProgramScorer): Found {
  const [earned, ...missed] = await Promise.all([
    scorer.score(instance, `Some reasoning.\n\n\`\`\`\nx\n\`\`\`\n\n${asReply(gold, "code")}\nDone.`),
    ...misses.map((miss) => scorer.isFull(instance, asReply(miss, "code"))),
  ]);
  return [
    ...(scorer.lessThanAll(instance) < 1 ? [] : [`level ${level}: a program that fails a test earns 1`]),
    ...(earned === 1 ? [] : [`level ${level}: the gold program scores ${earned}: ${shown(gold)}`]),
    ...misses
      .filter((_, index) => at(missed, index))
      .map((miss) => `level ${level}: the wrong program ${shown(miss)} scores 1`),
  ];
}

/** What stands in for a program without the skill: the prompt, its last paragraph, and what other formats take for everything. */
function textsOf(prompt: string): string[] {
  const paragraphs = prompt.split(/\n\s*\n/u).map((part) => part.replaceAll("```", ""));
  return [paragraphs.join("\n\n"), ...paragraphs.slice(-1), "pass", "*", ".*", "{}"];
}

async function checkCheats(cheats: readonly string[], { level, instance }: Sample, score: Score): Found {
  const all = await Promise.all(cheats.map((text) => score(instance, asReply(text, "code"))));
  return cheats.flatMap((text, index) =>
    at(all, index) === 0 ? [] : [`level ${level}: ${shown(text)} scores ${at(all, index)}`],
  );
}

/** One test with a short limit: it would take as long for each. */
async function checkEndless({ level, instance }: Sample, scorer: ProgramScorer): Found {
  const exam = scorer.examOf(instance);
  const short = { ...exam, tests: exam.tests.slice(0, 1), timeLimitMs: SHORT_MS, program: (answer: string) => answer };
  const earned = await scorer.scoreBy(short, instance, asReply(ENDLESS[exam.language], "code"));
  return earned === 0 ? [] : [`level ${level}: a program that does not end scores ${earned}`];
}

/** Mean score of the gold programs of other instances of the level, on `count` instances of each. */
async function foreignScore(levels: readonly (readonly Sample[])[], count: number, score: Score): Promise<number> {
  const scores = await Promise.all(
    levels.flatMap((samples) =>
      samples.slice(0, count).flatMap(({ instance, gold }, index) => {
        const other = samples[(index + 1) % samples.length];
        return other === undefined || other.gold === gold ? [] : [score(instance, asReply(other.gold, "code"))];
      }),
    ),
  );
  return scores.reduce((sum, one) => sum + one, 0) / Math.max(1, scores.length);
}
