/**
 * Tasks as a solver gets them, for second methods: they read the prompt and nothing of the instance, so that a wording which says something
 * else than the row means fails as a wrong answer does.
 */
import { expect } from "vitest";

import { drawInstance } from "../../../ts/environments/catalogue/drawn.ts";
import { type Level, LEVELS, type Row } from "../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../ts/random/rng.ts";
import { IS_LONG } from "../form.ts";

/** Instances of each level. */
const INSTANCES = IS_LONG ? 200 : 12;

export interface Posed {
  readonly level: Level;
  readonly prompt: string;
  readonly gold: string;
  readonly score: (answer: string) => number;
}

export function* posed(row: Row, levels: readonly Level[] = LEVELS, count = INSTANCES): Generator<Posed> {
  const rng = createRng(43);
  for (const level of levels) {
    for (let turn = 0; turn < count; turn++) {
      const { instance, prompt } = drawInstance(row, level, rng);
      yield { level, prompt, gold: row.gold(instance), score: (answer) => row.score(instance, answer) };
    }
  }
}

/** The answer earns everything. */
export function expectRight({ prompt, gold, score }: Posed, answer: string): void {
  expect(score(answer), `answer\n${answer}\ngold\n${gold}\nof\n${prompt}`).toBe(1);
}

/** The verdict is the solver's own, whatever the answer is; a wrong one earns less than everything. */
export function expectVerdict({ prompt, score }: Posed, answer: string, isRight: boolean): void {
  expect(score(answer) === 1, `answer\n${answer}\nof\n${prompt}`).toBe(isRight);
}

/** The groups of all places of the text that match, without the match itself. */
export function found(text: string, pattern: RegExp): string[][] {
  return [...text.matchAll(new RegExp(pattern, "gmu"))].map(([, ...groups]) => groups.map((group) => group ?? ""));
}

/** The groups of the first place that matches. Throws where there is none. */
export function first(text: string, pattern: RegExp): string[] {
  const [groups] = found(text, pattern);
  if (groups === undefined) throw new Error(`nothing matches ${pattern} in\n${text}`);
  return groups;
}

/** Lines of the answer of a row with several fields. */
export function fields(values: Iterable<readonly [name: string, value: string | number]>): string {
  return [...values].map(([name, value]) => `${name}: ${value}`).join("\n");
}

/** A fraction of whole numbers in lowest terms, as text. */
export function fraction(n: bigint, d: bigint): string {
  const divisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : divisor(b, a % b));
  const common = divisor(n, d) * (d < 0n ? -1n : 1n) * (divisor(n, d) < 0n ? -1n : 1n);
  return d === common ? String(n / common) : `${n / common}/${d / common}`;
}
