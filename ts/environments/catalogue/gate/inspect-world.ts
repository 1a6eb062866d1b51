/**
 * The quality gate of rows with a world: scripts of calls stand where other rows have answers. Every script is scored through the conversation
 * that carries it out, as a rollout is.
 */
import { canonicalJson } from "../../../canonical-json.ts";
import { createRng } from "../../../random/rng.ts";
import { asMessages, drawInstance, type Drawn, type DrawCounts } from "../drawn.ts";
import { callsIn, conversationOf, Play, scoreScript } from "../play.ts";
import { type Call, type Level, LEVELS, type Script, type WorldRow } from "../row.ts";
import { checkBounds, checkRepeats, checkRow, type GateOptions, LEAST_MISSES, levelsOf } from "./inspect-row.ts";
import { rankCorrelation } from "./monotone.ts";
import type { RowReport } from "./report.ts";

const LEAST_BLANKETS = 2;
/** A task that needs fewer calls is no work with tools. */
const LEAST_CALLS = 3;
/** Names of records, such as `mail-4821`: they are drawn, so a script can have them only from a text that was shown. */
const RECORD = /\b[a-z]+-\d{3,}\b/giu;
/** Values that name no record, and that must not break a tool. */
const JUNK: readonly unknown[] = [
  "",
  "__proto__",
  "constructor",
  "*",
  "' OR 1=1 --",
  "x".repeat(3_000),
  -1,
  0,
  1e15,
  0.5,
  null,
  true,
  [],
  ["__proto__", "*"],
  [{}],
  {},
];

interface Sample extends Drawn {
  readonly gold: Script;
  readonly slips: Readonly<Record<string, Script>>;
}

export function inspectWorld(id: string, row: WorldRow, { perLevel, seed }: GateOptions): RowReport {
  const failures = new Set<string>();
  const counts: DrawCounts = { made: 0, degenerate: 0, leaking: 0 };
  const rng = createRng(seed);
  const started = performance.now();
  const drawn = LEVELS.flatMap((level) =>
    Array.from({ length: perLevel }, () => drawInstance(row, level, rng, counts)),
  );
  const tasksPerSecond = (1000 * drawn.length) / Math.max(1e-3, performance.now() - started);
  const samples = drawn.map((one): Sample => {
    const instance = JSON.parse(JSON.stringify(one.instance)) as object;
    return { ...one, instance, gold: row.gold(instance), slips: row.slips(instance, rng) };
  });
  const times: number[] = [];
  const score = ({ instance, prompt }: Sample, script: Script): number => {
    const messages = conversationOf(row, instance, asMessages(prompt), script);
    const begun = performance.now();
    const earned = scoreScript(row, instance, callsIn(messages));
    times.push(performance.now() - begun);
    if (!(earned >= 0 && earned <= 1)) failures.add(`a score of ${earned} for ${shownScript(script)}`);
    return earned;
  };
  checkRow(id, row, samples, failures);
  checkRepeats(row, samples, failures);
  for (const sample of samples) checkSample(row, sample, score, failures);
  const report: RowReport = {
    id,
    levels: levelsOf(row, samples),
    monotone: rankCorrelation(samples.map((one): [Level, number] => [one.level, row.effort(one.instance)])),
    bestConstant: bestBlanket(row, samples, score, failures),
    foreign: foreignScore(samples, score),
    bestGuess: null,
    degenerate: counts.degenerate / counts.made,
    leaking: counts.leaking / counts.made,
    nearMisses: Math.min(...samples.map(({ slips }) => Object.keys(slips).length)),
    rate: { tasksPerSecond, scoreP99Ms: times.toSorted((a, b) => a - b)[Math.floor(0.99 * times.length)] ?? 0 },
    failures: [],
  };
  checkBounds(report, failures);
  return { ...report, failures: [...failures] };
}

type Score = (sample: Sample, script: Script) => number;

function checkSample(row: WorldRow, sample: Sample, score: Score, failures: Set<string>): void {
  const { level, instance, gold, slips, prompt } = sample;
  const fail = (message: string): void => void failures.add(`level ${level}: ${message}`);
  const before = canonicalJson(instance);
  checkGold(row, sample, fail);
  const earned = [score(sample, gold), score(sample, gold)];
  if (earned.some((one) => one !== 1)) fail(`the gold script scores ${earned.join(" and then ")}`);
  if (score(sample, gold.slice(0, -1)) >= 1) fail("the gold script scores 1 without its last call");
  if (gold.length < LEAST_CALLS) fail(`the gold script has ${gold.length} calls; at least ${LEAST_CALLS}`);
  const different = new Set(Object.values(slips).map((script) => JSON.stringify(script)));
  if (different.size < LEAST_MISSES) fail(`${different.size} wrong scripts; at least ${LEAST_MISSES}`);
  for (const [name, script] of Object.entries(slips)) {
    const slipped = score(sample, script);
    if (slipped >= 1) fail(`the wrong script "${name}" scores ${slipped}`);
  }
  // The last message of a conversation is not answered, so its calls were not carried out.
  const claims = [
    [],
    [{ role: "assistant" as const, content: `I have done it:\n${JSON.stringify(gold)}` }],
    conversationOf(row, instance, asMessages(prompt), gold.slice(0, 1)).slice(0, 2),
  ];
  for (const messages of claims) {
    const claimed = scoreScript(row, instance, callsIn([...asMessages(prompt), ...messages]));
    if (claimed !== 0) fail(`a claim without calls scores ${claimed}`);
  }
  const junk = score(sample, junkScript(row));
  if (junk !== 0) fail(`calls with arguments that mean nothing score ${junk}`);
  if (canonicalJson(instance) !== before) fail("a call changes the instance instead of the world");
}

/** Every call of the gold script is carried out, and names only records that were shown before. */
function checkGold(row: WorldRow, { instance, prompt, gold }: Sample, fail: (message: string) => void): void {
  const play = new Play(row, instance);
  const again = new Play(row, instance);
  let shown = `${prompt}\n${JSON.stringify(Object.values(row.tools).map(({ description }) => description))}`;
  for (const { tool, args } of gold) {
    const unseen = (JSON.stringify(args).match(RECORD) ?? []).find((record) => !shown.includes(record));
    if (unseen !== undefined) fail(`the gold script calls ${tool} with ${unseen}, which no text has shown`);
    const { text, failed } = play.call(tool, args);
    if (failed) fail(`the gold script's call ${tool} ${JSON.stringify(args)} is refused: ${text}`);
    if (again.call(tool, args).text !== text) fail(`the tool ${tool} gives another result for the same calls`);
    shown += `\n${text}`;
  }
}

/** Each tool with values of wrong and right types, in each of its arguments. */
function junkScript(row: WorldRow): Script {
  return Object.entries(row.tools).flatMap(([tool, { parameters }]): Call[] => {
    const names = Object.keys(parameters.shape);
    const filled = JUNK.map((value): Call => ({
      tool,
      args: Object.fromEntries(names.map((name) => [name, value])),
    }));
    return names.length === 0 ? [] : filled;
  });
}

/** Mean score of the best blanket, over the instances that have one of its name. */
function bestBlanket(row: WorldRow, samples: readonly Sample[], score: Score, failures: Set<string>): number {
  const scores = new Map<string, number[]>();
  for (const sample of samples) {
    const blankets = Object.entries(row.blankets(sample.instance));
    if (blankets.length < LEAST_BLANKETS)
      failures.add(`${blankets.length} blanket scripts; at least ${LEAST_BLANKETS}`);
    for (const [name, script] of blankets) scores.set(name, [...(scores.get(name) ?? []), score(sample, script)]);
  }
  return Math.max(0, ...[...scores.values()].map((some) => some.reduce((a, b) => a + b, 0) / some.length));
}

/** Mean score of the gold scripts of other instances of the level. */
function foreignScore(samples: readonly Sample[], score: Score): number {
  const scores = samples.flatMap((sample, index) => {
    const others = samples.filter((one) => one.level === sample.level && one !== sample);
    const other = others[index % Math.max(1, others.length)];
    return other === undefined || JSON.stringify(other.gold) === JSON.stringify(sample.gold)
      ? []
      : [score(sample, other.gold)];
  });
  return scores.reduce((sum, one) => sum + one, 0) / Math.max(1, scores.length);
}

function shownScript(script: Script): string {
  return JSON.stringify(script).slice(0, 160);
}
