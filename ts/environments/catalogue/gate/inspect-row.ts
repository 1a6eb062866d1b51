/**
 * The quality gate: draws a row's instances at every level and tries on them what a policy would find instead of the skill.
 *
 * The same seed gives the same report except its rates, and no rate decides. Bounds are those of the catalogue's battery.
 */
import { canonicalJson } from "../../../canonical-json.ts";
import { createRng } from "../../../random/rng.ts";
import { contentOf, drawInstance, type Drawn, type DrawCounts } from "../drawn.ts";
import { asReply, scoreReply } from "../reply-answer.ts";
import { type AnswerPlace, type AnyRow, type Level, LEVELS, type Row, type RowCore } from "../row.ts";
import { median, rankCorrelation } from "./monotone.ts";
import { generalProbes, guesses, hostileProbes, instanceProbes, type Probe } from "./probes.ts";
import type { RowReport } from "./report.ts";
import { sharedBySplits } from "./splits.ts";
import { equalWordings } from "./wordings.ts";

export interface GateOptions {
  /** Instances of each level. */
  readonly perLevel: number;
  readonly seed: number;
}

/** Most different golds that are tried as constants. */
const CONSTANTS = 40;
const MORE_CONSTANTS = ["0", "1", "2", "3", "4", "5", "10", "-1", "1/2", "yes", "no", "A", "B", "0 0", "1 1"];
const MOST_FOR_CONSTANT = 0.2;
const MOST_FOR_FOREIGN = 0.1;
const MOST_FOR_GUESS = 0.1;
const LEAST_MONOTONE = 0.8;
const MOST_LEAKING = 0.05;
const MOST_DEGENERATE = 0.95;
const MOST_REPEATED = 0.02;
const LEAST_PROMPTS = 4;
export const LEAST_MISSES = 3;

export interface Sample extends Drawn {
  readonly gold: string;
  readonly misses: readonly string[];
}

export function inspectRow(id: string, row: Row, { perLevel, seed }: GateOptions): RowReport {
  const failures = new Set<string>();
  const counts: DrawCounts = { made: 0, degenerate: 0, leaking: 0 };
  const rng = createRng(seed);
  const started = performance.now();
  const drawn = LEVELS.flatMap((level) =>
    Array.from({ length: perLevel }, () => drawInstance(row, level, rng, counts)),
  );
  const tasksPerSecond = (1000 * drawn.length) / Math.max(1e-3, performance.now() - started);
  const samples = drawn.map((one): Sample => {
    // Instances are scored as the env worker gets them.
    const instance = JSON.parse(JSON.stringify(one.instance)) as object;
    return { ...one, instance, gold: row.gold(instance), misses: row.nearMisses(instance, rng) };
  });
  const times: number[] = [];
  const score = (instance: object, reply: string): number => {
    const begun = performance.now();
    const earned = scoreReply(row, instance, reply);
    times.push(performance.now() - begun);
    if (!(earned >= 0 && earned <= 1)) failures.add(`a score of ${earned} for ${shown(reply)}`);
    return earned;
  };
  checkRow(id, row, samples, failures);
  for (const sample of samples) checkSample(row, sample, score, failures);
  checkPrompts(row, samples, failures);
  checkRepeats(row, samples, failures);
  const measured = measure(row.place, samples, score);
  const report: RowReport = {
    id,
    levels: levelsOf(row, samples),
    monotone: rankCorrelation(samples.map((one): [Level, number] => [one.level, row.effort(one.instance)])),
    ...measured,
    degenerate: counts.degenerate / counts.made,
    leaking: counts.leaking / counts.made,
    nearMisses: Math.min(...samples.map(({ misses }) => misses.length)),
    rate: { tasksPerSecond, scoreP99Ms: times.toSorted((a, b) => a - b)[Math.floor(0.99 * times.length)] ?? 0 },
    failures: [],
  };
  checkBounds(report, failures);
  return { ...report, failures: [...failures] };
}

export function levelsOf(row: RowCore, samples: readonly Drawn[]): RowReport["levels"] {
  return LEVELS.map((level) => {
    const efforts = samples.filter((one) => one.level === level).map(({ instance }) => row.effort(instance));
    return { level, effort: median(efforts), instances: efforts.length };
  });
}

/** Checks that every row has to pass, whatever its answers are. `id` has the category. */
export function checkRow(id: string, row: AnyRow, samples: readonly Drawn[], failures: Set<string>): void {
  for (const shared of sharedBySplits(id, row, samples)) failures.add(shared);
  for (const level of LEVELS) {
    const first = samples.find((one) => one.level === level);
    for (const equal of first === undefined ? [] : equalWordings(row, first.instance))
      failures.add(`level ${level}: ${equal}`);
  }
  if (row.prompts.length < LEAST_PROMPTS) failures.add(`${row.prompts.length} wordings; at least ${LEAST_PROMPTS}`);
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/u.test(row.id)) failures.add(`the id ${row.id} is not lower-case words with hyphens`);
}

function checkSample(
  row: Row,
  { prompt, instance, gold, misses, level }: Sample,
  score: (instance: object, reply: string) => number,
  failures: Set<string>,
): void {
  const { place } = row;
  const where = `level ${level}`;
  const rights = [gold, ` ${gold}\n`, `**${gold}**`, ...(row.variants?.(instance) ?? [])];
  for (const right of rights.slice(gold.includes("\n") ? 3 : 0).concat(gold)) {
    const earned = score(instance, `Some reasoning.\n\n${asReply(right, place)}`);
    if (earned !== 1) failures.add(`${where}: the right answer ${shown(right)} scores ${earned}`);
  }
  if (new Set(misses).size < LEAST_MISSES)
    failures.add(`${where}: ${misses.length} wrong answers; at least ${LEAST_MISSES}`);
  for (const miss of misses) {
    if (score(instance, asReply(miss, place)) >= 1) failures.add(`${where}: the wrong answer ${shown(miss)} scores 1`);
  }
  const [first = ""] = misses;
  const replaced = score(instance, `${asReply(gold, place)}\nOnce more, with more care.\n\n${asReply(first, place)}`);
  if (replaced !== score(instance, asReply(first, place)))
    failures.add(`${where}: the right answer before ${shown(first)} changes its score to ${replaced}`);
  const probes: Probe[] = [...generalProbes(place), ...instanceProbes(place, { prompt, gold, misses })];
  for (const { name, reply } of probes) {
    const earned = score(instance, reply);
    if (earned !== 0) failures.add(`${where}: ${name}, ${shown(reply)}, scores ${earned}`);
  }
}

/** Constants, foreign golds and guesses, over all samples. */
function measure(
  place: AnswerPlace,
  samples: readonly Sample[],
  score: (instance: object, reply: string) => number,
): { bestConstant: number; foreign: number; bestGuess: number } {
  for (const { name, reply } of hostileProbes(place)) {
    for (const { instance } of samples.slice(-1)) if (score(instance, reply) !== 0) throw new Error(`${name} scores`);
  }
  const mean = (replies: readonly (string | undefined)[]): number =>
    samples.reduce((sum, { instance }, at) => sum + score(instance, asReply(replies[at] ?? "", place)), 0) /
    samples.length;
  const frequency = new Map<string, number>();
  for (const { gold } of samples) frequency.set(gold, (frequency.get(gold) ?? 0) + 1);
  const frequent = [...frequency].toSorted(([, a], [, b]) => b - a).map(([gold]) => gold);
  const constants = [...frequent.slice(0, CONSTANTS), ...MORE_CONSTANTS];
  const foreign = samples.map(({ gold, level }, at) => {
    const others = samples.filter((other) => other.level === level && other.gold !== gold);
    return others[at % Math.max(1, others.length)]?.gold;
  });
  const tried = samples.map(({ prompt }) => guesses(prompt));
  const names = new Set(tried.flatMap((one) => [...one.keys()]));
  return {
    bestConstant: Math.max(...constants.map((constant) => mean(samples.map(() => constant)))),
    foreign: mean(foreign),
    bestGuess: Math.max(0, ...[...names].map((name) => mean(tried.map((one) => one.get(name))))),
  };
}

/** Equal prompts are one task for the split. */
export function checkPrompts(row: RowCore, samples: readonly Drawn[], failures: Set<string>): void {
  const contents = new Map<string, string>();
  for (const { prompt, instance } of samples) {
    const content = canonicalJson(contentOf(row, instance));
    const known = contents.get(prompt);
    if (known !== undefined && known !== content) failures.add(`equal prompts of two tasks: ${shown(prompt)}`);
    contents.set(prompt, content);
  }
}

/** Instances do not repeat. */
export function checkRepeats(row: RowCore, samples: readonly Drawn[], failures: Set<string>): void {
  // Level 1 may have few instances; the harder levels must not.
  const hard = samples.filter(({ level }) => level > 1).map(({ instance }) => canonicalJson(contentOf(row, instance)));
  const repeated = hard.length - new Set(hard).size;
  if (repeated > MOST_REPEATED * hard.length) failures.add(`${repeated} of ${hard.length} instances repeat another`);
}

export function checkBounds(report: RowReport, failures: Set<string>): void {
  const { levels, monotone, bestConstant, foreign, bestGuess, degenerate, leaking } = report;
  const efforts = levels.map(({ effort }) => effort);
  if (efforts.some((effort, at) => at > 0 && effort <= (efforts[at - 1] ?? 0)))
    failures.add(`effort does not grow with the level: ${efforts.join(", ")}`);
  const most = (name: string, value: number | null, bound: number): void => {
    if (value !== null && value > bound) failures.add(`${name}: ${value.toFixed(3)}; at most ${bound}`);
  };
  if (monotone < LEAST_MONOTONE) failures.add(`rank correlation of level and effort: ${monotone.toFixed(2)}`);
  most("the best constant answer earns", bestConstant, MOST_FOR_CONSTANT);
  most("answers of other instances earn", foreign, MOST_FOR_FOREIGN);
  most("a number of the prompt earns", bestGuess, MOST_FOR_GUESS);
  most("share of draws that are degenerate", degenerate, MOST_DEGENERATE);
  most("share of draws that show the answer", leaking, MOST_LEAKING);
}

export function shown(text: string): string {
  return JSON.stringify(text.length > 160 ? `${text.slice(0, 160)}...` : text);
}
