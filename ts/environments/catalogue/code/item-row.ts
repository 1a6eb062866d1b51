/**
 * Rows whose answer is a list of short texts: printed lines, values in order, or a set of names. This process scores them.
 *
 * `make` computes the answer; equal answers are equal texts apart from spaces. An answer with more, fewer, repeated or unknown items of a set earns
 * nothing, so that a list of all candidates never pays.
 */
import type { Rng } from "../../../random/rng.ts";
import { defineRow, type Level, type Row } from "../row.ts";

/** A problem with its answer. */
export interface Answered<Problem extends object> {
  readonly problem: Problem;
  readonly items: readonly string[];
  /** Answers of plausible slips; right ones among them are left out. */
  readonly misses: readonly (readonly string[])[];
  readonly effort: number;
  /** Of a set: all items that an answer may name. */
  readonly universe?: readonly string[];
}

/** `lines`: one item a line. `list`: items without spaces in order. `set`: items without spaces in any order. */
export type ItemForm = "lines" | "list" | "set";

export interface ItemRow<Problem extends object> {
  readonly id: string;
  readonly asks: string;
  readonly form: ItemForm;
  /** Null where the draw is degenerate. */
  readonly make: (rng: Rng, level: Level) => Answered<Problem> | null;
  readonly canonical?: (problem: Problem) => unknown;
  /** Four wordings; each says in which form the answer is given. */
  readonly prompts: readonly ((problem: Problem) => string)[];
  /** Draws before a level is given up for this turn, where most of them are degenerate. Default: 1. */
  readonly tries?: number;
  /** Of lists: the share of items that guessing gets right; what is above it counts, squared. Default: all items or nothing. */
  readonly base?: number;
}

export function itemRow<Problem extends object>(row: ItemRow<Problem>): Row {
  const { form } = row;
  return defineRow<Answered<Problem>>({
    id: row.id,
    asks: row.asks,
    place: "answer",
    // The items of a set are named in the prompt.
    selects: form === "set",
    make(rng, level) {
      for (let turn = 0; turn < (row.tries ?? 1); turn++) {
        const made = row.make(rng, level);
        if (made !== null && made.items.length > 0 && made.items.every((item) => item !== "")) return made;
      }
      return null;
    },
    effort: ({ effort }) => effort,
    canonical: ({ problem }) => row.canonical?.(problem) ?? problem,
    prompts: row.prompts.map(
      (wording) =>
        ({ problem }) =>
          wording(problem),
    ),
    gold: ({ items }) => joined(items, form),
    nearMisses: (one) => {
      const texts = [...one.misses, ...neighbours(one)].filter((miss) => miss.length > 0 && !isRight(one, miss, form));
      return [...new Set(texts.map((miss) => joined(miss, form)))];
    },
    ...(form === "lines"
      ? {}
      : { variants: ({ items }) => [items.join(" "), items.join(","), `[${items.join(", ")}]`] }),
    score: (one, answer) => scoreOf(one, itemsIn(answer, form), row),
  });
}

export function joined(items: readonly string[], form: ItemForm): string {
  return items.join(form === "lines" ? "\n" : ", ");
}

/** Items of an untrusted text. */
export function itemsIn(answer: string, form: ItemForm): string[] {
  if (form === "lines")
    return answer
      .split("\n")
      .map(spaced)
      .filter((line) => line !== "");
  const bare = answer.replace(/^[{[(]([^{}[\]()]*)[}\])]$/u, "$1").trim();
  return bare.split(/\s*,\s*|\s+/u);
}

function scoreOf<Problem extends object>(
  one: Answered<Problem>,
  given: readonly string[],
  { form, base }: ItemRow<Problem>,
): number {
  if (form === "set") return setScore(one, given);
  if (given.length !== one.items.length) return 0;
  const right = given.filter((item, index) => item === spaced(one.items[index] ?? "")).length / given.length;
  if (base === undefined) return right === 1 ? 1 : 0;
  return Math.max(0, (right - base) / (1 - base)) ** 2;
}

/** Hits less false hits, over the size of the set, squared. */
function setScore({ items, universe = [] }: Answered<object>, given: readonly string[]): number {
  const known = new Set(universe);
  if (new Set(given).size !== given.length || given.some((item) => !known.has(item))) return 0;
  const gold = new Set(items);
  const hits = given.filter((item) => gold.has(item)).length;
  return Math.max(0, (2 * hits - given.length) / gold.size) ** 2;
}

function spaced(text: string): string {
  return text.replaceAll(/\s+/gu, " ").trim();
}

function isRight({ items }: Answered<object>, miss: readonly string[], form: ItemForm): boolean {
  const order = (list: readonly string[]): readonly string[] => (form === "set" ? list.toSorted() : list);
  const texts = [order(items), order(miss)].map((list) => list.map(spaced).join("\n"));
  return texts[0] === texts[1];
}

/** Answers with one item missing, repeated, changed or in another place. */
export function neighbours({ items, universe = [] }: Pick<Answered<object>, "items" | "universe">): string[][] {
  const [first = "", second = ""] = items;
  const last = items.at(-1) ?? "";
  const unused = universe.filter((item) => !items.includes(item));
  return [
    items.slice(0, -1),
    [...items, unused[0] ?? last],
    [...items.slice(0, -1), unused.at(-1) ?? beside(last)],
    [beside(first), ...items.slice(1)].filter((item) => universe.length === 0 || universe.includes(item)),
    universe.length === 0 ? [second, first, ...items.slice(2)].filter((item) => item !== "") : [...universe],
  ];
}

/** The text with its last number one higher, or with a letter more. */
function beside(item: string): string {
  const found = /^(.*?)(\d+)(\D*)$/su.exec(item);
  return found === null ? `${item}a` : `${found[1] ?? ""}${BigInt(found[2] ?? "0") + 1n}${found[3] ?? ""}`;
}
