/**
 * Searches for cheap replies with a high reward, which a policy would find: it repeats the prompt, copies an expression from it that should
 * have been computed, gives the same answer to every task, or lists all answers.
 *
 * A strategy fails the check when its mean reward is at least a share of that of gold replies, or when more than a share of the tasks
 * give it the full reward.
 */
import type { ScoredReply } from "../model/configured-environment.ts";
import { promptOfRow } from "../model/content-key.ts";
import type { Split } from "../../datasets/index.ts";
import type { Task } from "../model/tasks.ts";
import type { Inspection, Reply } from "./inspection.ts";
import {
  bareAnswer,
  behindColon,
  copiedTexts,
  lastText,
  type LazyText,
  pooled,
  saidInstead,
  undoneTexts,
  wrapped,
} from "./lazy-replies.ts";
import type { Golds } from "./replies-check.ts";

/** Most tasks with a gold reply on which lazy replies are tried. */
const TASKS = 50;
/** Most constants that are tried, by frequency. */
const CONSTANTS = 8;

/** The rewards that a strategy may get without a failure. */
interface Allowance {
  /** Share of the tasks that may get full marks. */
  readonly full: number;
  /** Mean reward, as a share of what gold replies earn. */
  readonly earned: number;
  /** Fewer tasks (or all, where there are fewer) may be chance. */
  readonly least: number;
}
/** Half of the reward for nothing is a floor that learning hardly leaves; one task in twenty is a kind of task that need not be solved. */
const COPIED: Allowance = { full: 0.05, earned: 0.5, least: 3 };
/**
 * More choices than this count as this many, because answers that differ only in their writing cannot be distinguished from different
 * answers.
 */
const MOST_CHOICES = 4;
const DEVIATIONS = 3;

/**
 * One answer for all tasks is right as often as a guess among the answers that there are, which is no defect: in a quarter of the tasks
 * among four choices, in half of them among two. It fails when it is right more often by three standard deviations of such a guess, which
 * an even spread of answers exceeds once in some hundred times. Of 50 tasks that is 44 % with four answers or more, 54 % with three, 72 %
 * with two.
 */
function allowedByChance(answers: number, tasks: number): Allowance {
  const chance = 1 / Math.min(MOST_CHOICES, Math.max(2, answers));
  const full = chance + DEVIATIONS * Math.sqrt((chance * (1 - chance)) / tasks);
  return { full, earned: Math.max(COPIED.earned, full), least: 1 };
}

/** Sums of weighted rewards differ in their last digits. */
const EPSILON = 1e-9;

type Gold = readonly [Task, ScoredReply];

/** The rewards of a strategy. */
interface Standing {
  earned: number;
  full: number;
  /** One of its replies. */
  readonly example: string;
}

export async function checkFree(inspection: Inspection, split: Split, golds: Golds): Promise<void> {
  const looked = [...golds].slice(0, TASKS);
  if (looked.length === 0) return;
  const standings = new Map<string, Standing>();
  for (const gold of looked) await tryCopies(inspection, split, gold, standings);
  for (const [strategy, standing] of standings) judge(inspection, split, { strategy, standing, golds: looked }, COPIED);
  if (!looked.some(([{ data }]) => promptOfRow(data as object) !== null))
    inspection.notes.add("its rows have no `prompt`: replies that copy from it were not tried");
  await tryConstants(inspection, split, looked);
}

async function tryCopies(
  inspection: Inspection,
  split: Split,
  [task, gold]: Gold,
  standings: Map<string, Standing>,
): Promise<void> {
  const prompt = promptOfRow(task.data as object);
  if (prompt === null) return;
  const asked = prompt.findLast(({ role }) => role === "user")?.content ?? "";
  const goldText = lastText(gold.reply);
  const said = prompt.map(({ content }) => content).join("\n");
  const copies = [...copiedTexts(said), ...undoneTexts(said)].flatMap((copied) => wrapped(copied, goldText));
  const replies = [
    ...echoes(gold.reply, asked),
    ...wrapped({ strategy: "the last user message", text: asked }, goldText)
      .slice(1)
      .concat(copies)
      .map((copied): [LazyText, Reply] => [copied, saidInstead(gold.reply, () => copied.text)]),
  ];
  const rewards = new Map<string, number | null>();
  for (const [{ strategy, text }, reply] of replies) {
    const known = JSON.stringify(reply);
    const reward = rewards.has(known)
      ? (rewards.get(known) ?? null)
      : await inspection.score("free", split, task, reply);
    rewards.set(known, reward);
    if (reward === null) continue;
    const standing = standings.get(strategy) ?? { earned: 0, full: 0, example: text };
    standing.earned += reward;
    if (reward >= gold.reward - EPSILON) standing.full += 1;
    standings.set(strategy, standing);
  }
}

/** Repeats the user's text; in a conversation that of each turn, or that of all turns so far. */
function echoes(gold: Reply, asked: string): [LazyText, Reply][] {
  const parts = [
    { of: "the last user message", part: (text: string): string => text },
    { of: "what stands behind the last colon", part: (text: string): string => behindColon(text) ?? "" },
  ];
  return parts.flatMap(({ of, part }) => {
    const soFar: string[] = [];
    const last = saidInstead(gold, (before) => part(before?.content ?? asked));
    const all = saidInstead(gold, (before) => {
      soFar.push(part(before?.content ?? asked));
      return soFar.join("\n");
    });
    const echo: LazyText = { strategy: of, text: part(asked) };
    const echoOfAll: LazyText = { strategy: `${of}, of all turns so far`, text: soFar.join("\n") };
    return soFar.length > 1
      ? [
          [echo, last],
          [echoOfAll, all],
        ]
      : [[echo, last]];
  });
}

/** The most frequent answers of other tasks, one by one and all together. */
async function tryConstants(inspection: Inspection, split: Split, golds: readonly Gold[]): Promise<void> {
  const counts = new Map<string, number>();
  const answers = new Map(golds.map(([task, { reply }]) => [task, bareAnswer(lastText(reply))]));
  for (const answer of answers.values()) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  const frequent = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, CONSTANTS);
  for (const [constant, count] of frequent) {
    // A task whose answer occurs only once shows nothing about that answer.
    const others = golds.filter(([task]) => count > 1 || answers.get(task) !== constant);
    await tryConstant(inspection, split, { strategy: "one answer for all tasks", text: constant }, [
      others,
      counts.size,
    ]);
  }
  for (const pool of pooled([...new Set(golds.map(([, { reply }]) => lastText(reply)))]))
    await tryConstant(inspection, split, pool, [golds, counts.size]);
}

async function tryConstant(
  inspection: Inspection,
  split: Split,
  { strategy, text }: LazyText,
  [golds, answers]: readonly [tasks: readonly Gold[], answers: number],
): Promise<void> {
  const standing: Standing = { earned: 0, full: 0, example: text };
  for (const [task, gold] of golds) {
    const reward = await inspection.score(
      "free",
      split,
      task,
      saidInstead(gold.reply, () => text),
    );
    standing.earned += reward ?? 0;
    if (reward !== null && reward >= gold.reward - EPSILON) standing.full += 1;
  }
  judge(inspection, split, { strategy, standing, golds }, allowedByChance(answers, golds.length));
}

function judge(
  inspection: Inspection,
  split: Split,
  { strategy, standing, golds }: { strategy: string; standing: Standing; golds: readonly Gold[] },
  allowed: Allowance,
): void {
  const { earned, full, example } = standing;
  const count = golds.length;
  if (count === 0) return;
  const best = golds.reduce((sum, [, { reward }]) => sum + reward, 0) / count;
  const mean = earned / count;
  const earnsMuch = mean >= allowed.earned * best && count >= allowed.least;
  const isOftenFull = full / count > allowed.full && full >= Math.min(allowed.least, count);
  if (!earnsMuch && !isOftenFull) return;
  const shown = JSON.stringify(example.length > 60 ? `${example.slice(0, 60)}...` : example);
  const message =
    `${strategy}, such as ${shown}, gets ${mean.toPrecision(2)} of ${best.toPrecision(2)} on average and full marks on ` +
    `${full} of ${count} tasks: refuse replies that nothing was done for`;
  inspection.fail("free", split, null, message);
}
