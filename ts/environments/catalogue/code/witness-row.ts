/**
 * Rows whose answer is any list of texts that a check accepts: a schedule, an input, an assignment.
 *
 * `make` computes one right answer; the check decides on every other one and never looks at it.
 */
import type { Rng } from "../../../random/rng.ts";
import { defineRow, type Level, type Row } from "../row.ts";
import { type ItemForm, itemsIn, joined, neighbours } from "./item-row.ts";

/** A problem with one of its answers. */
export interface Witnessed<Problem extends object> {
  readonly problem: Problem;
  readonly witness: readonly string[];
  /** Answers of plausible slips; right ones among them are left out. */
  readonly misses: readonly (readonly string[])[];
  readonly effort: number;
}

export interface WitnessRow<Problem extends object> {
  readonly id: string;
  readonly asks: string;
  readonly form: Exclude<ItemForm, "set">;
  /** Null where the draw is degenerate. */
  readonly make: (rng: Rng, level: Level) => Witnessed<Problem> | null;
  /** Whether the items of an untrusted answer solve the problem. */
  readonly isRight: (problem: Problem, items: readonly string[]) => boolean;
  readonly canonical?: (problem: Problem) => unknown;
  /** Four wordings; each says in which form the answer is given. */
  readonly prompts: readonly ((problem: Problem) => string)[];
  /** Draws before a level is given up for this turn. Default: 1. */
  readonly tries?: number;
}

const MOST_ITEMS = 200;
const LONGEST_ITEM = 200;

export function witnessRow<Problem extends object>(row: WitnessRow<Problem>): Row {
  const { form } = row;
  const scoreOf = (problem: Problem, answer: string): number => {
    const items = itemsIn(answer, form);
    const isShort = items.length <= MOST_ITEMS && items.every((item) => item !== "" && item.length <= LONGEST_ITEM);
    return isShort && row.isRight(problem, items) ? 1 : 0;
  };
  return defineRow<Witnessed<Problem>>({
    id: row.id,
    asks: row.asks,
    place: "answer",
    make(rng, level) {
      for (let turn = 0; turn < (row.tries ?? 1); turn++) {
        const made = row.make(rng, level);
        if (made !== null) return made;
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
    gold: ({ witness }) => joined(witness, form),
    nearMisses: ({ problem, witness, misses }) => {
      const texts = [...misses, ...neighbours({ items: witness }), witness.toReversed(), [...witness, ...witness]];
      const wrong = texts.filter((miss) => miss.length > 0).map((miss) => joined(miss, form));
      return [...new Set(wrong)].filter((text) => scoreOf(problem, text) < 1);
    },
    ...(form === "lines"
      ? {}
      : { variants: ({ witness }) => [witness.join(" "), witness.join(","), `[${witness.join(", ")}]`] }),
    score: ({ problem }, answer) => scoreOf(problem, answer),
  });
}
