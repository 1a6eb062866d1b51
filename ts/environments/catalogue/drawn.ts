/** The endless stream of a row's instances, each with its level and its prompt. */
import { PrlError } from "../../errors.ts";
import type { Message } from "../../message.ts";
import { between } from "../../random/draws.ts";
import type { Rng } from "../../random/rng.ts";
import { BOX_DEEDS } from "./box/box-limits.ts";
import { type AnswerPlace, type BoxRow, type Level, LEVELS, type RowBase, type RowCore, type WorldRow } from "./row.ts";

export interface Drawn {
  readonly level: Level;
  readonly instance: object;
  readonly prompt: string;
}

/** Levels from the first to the second, both included. */
export type LevelRange = readonly [from: number, to: number];

/** A generator that gives nothing in this many draws is broken. */
const MOST_DRAWS = 2_000;
/** Shorter golds occur in many texts by chance. */
const SHORTEST_LEAK = 4;

/** Each says where the answer stands; the row's wording says what stands there. */
const PLACES: Readonly<Record<AnswerPlace, readonly string[]>> = {
  answer: [
    "Put only the answer between <answer> and </answer>.",
    "Finish with the answer alone inside <answer></answer> tags.",
    "Your reply must end with <answer>...</answer>, which holds nothing but the answer.",
    "At the end give the answer in <answer> tags, without any explanation inside.",
  ],
  boxed: [
    "Put the final answer in \\boxed{}.",
    "Finish with the answer alone in \\boxed{}.",
    "Your reply must end with the answer in \\boxed{}.",
    "At the end write the answer, and nothing else, in \\boxed{}.",
  ],
  code: [
    "Answer with one fenced code block; the last block of the reply counts.",
    "Put the complete answer in a single block between ``` marks. If there are several, the last one counts.",
    "Your reply must end with one fenced code block that holds all of it.",
    "At the end give everything in one code block (```), which is all that will be run.",
  ],
};

const DEEDS = [
  "Use the tools. What you write does not count: only what your calls have done. End with a reply without a call.",
  "Do it with the tools, then stop calling them. Only the state that you leave is looked at.",
  "Nothing happens unless you call a tool; the result is judged by the records alone. When you are done, reply in words.",
  "Work with the tools that you have. Once everything is in place, answer without calling one; texts are not graded.",
];

/** Counts of what the generator dropped, for the quality gate. */
export interface DrawCounts {
  made: number;
  degenerate: number;
  leaking: number;
}

/** One instance of this level. Throws PRL_ENVIRONMENT_FAILED when the generator finds none. */
export function drawInstance(row: RowBase | WorldRow | BoxRow, level: Level, rng: Rng, counts?: DrawCounts): Drawn {
  for (let draw = 0; draw < MOST_DRAWS; draw++) {
    const instance = row.make(rng, level);
    if (counts !== undefined) counts.made += 1;
    if (instance === null) {
      if (counts !== undefined) counts.degenerate += 1;
      continue;
    }
    const prompt = promptFor(row, instance, rng);
    if ("place" in row && row.selects !== true && isLeaked(prompt, row.gold(instance))) {
      if (counts !== undefined) counts.leaking += 1;
      continue;
    }
    return { level, instance, prompt };
  }
  throw new PrlError("PRL_ENVIRONMENT_FAILED", `${row.id}: no instance of level ${level} in ${MOST_DRAWS} draws`);
}

/** Instances of all levels of the range, each level as often as the others. */
export function* drawInstances(row: RowBase | WorldRow | BoxRow, [from, to]: LevelRange, rng: Rng): Generator<Drawn> {
  for (;;) {
    const level = LEVELS[between(rng, from, to) - 1];
    if (level === undefined) throw new PrlError("PRL_ENVIRONMENT_FAILED", `${row.id}: no level from ${from} to ${to}`);
    yield drawInstance(row, level, rng);
  }
}

/** Whether the answer stands in the prompt, apart from spaces. */
export function isLeaked(prompt: string, gold: string): boolean {
  const answer = gold.replaceAll(/\s+/gu, " ").trim();
  if (answer.length < SHORTEST_LEAK) return false;
  const text = prompt.replaceAll(/\s+/gu, " ");
  for (let at = text.indexOf(answer); at >= 0; at = text.indexOf(answer, at + 1)) {
    const [before = "", after = ""] = [text[at - 1], text[at + answer.length]];
    const isPart = (edge: string, inside: string): boolean => /[\p{L}\d]/u.test(edge) && /[\p{L}\d]/u.test(inside);
    if (!isPart(before, answer[0] ?? "") && !isPart(after, answer.at(-1) ?? "")) return true;
  }
  return false;
}

export function asMessages(prompt: string): Message[] {
  return [{ role: "user", content: prompt }];
}

/** What makes two instances one task. */
export function contentOf(row: RowCore, instance: object): unknown {
  return row.canonical === undefined ? instance : row.canonical(instance);
}

/** Equal for equal tasks. `id` is that of the row, with its category. */
export function contentKeyOf(id: string, row: RowCore, instance: object): unknown {
  return [id, contentOf(row, instance)];
}

/** Equal for tasks that belong to one split; undefined where each task stands for itself. */
export function groupKeyOf(id: string, { group }: RowCore, instance: object): unknown {
  return group && [id, group(instance)];
}

function promptFor(row: RowBase | WorldRow | BoxRow, instance: object, rng: Rng): string {
  const last = "place" in row ? PLACES[row.place] : "look" in row ? BOX_DEEDS : DEEDS;
  return `${rng.pick(row.prompts)(instance, rng).trim()}\n\n${rng.pick(last)}`;
}
