/** Compares the reference solver of a science row with a second method that shares no code with it. */
import { expect } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { type Family, LEVELS, type Level, type Row } from "../../../../../ts/environments/catalogue/row.ts";
import type { QuantityInstance } from "../../../../../ts/environments/catalogue/science/quantity-row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

/** Instances of each level. */
const INSTANCES = IS_LONG ? 200 : 12;

export function* instancesOf(
  row: Row,
  levels: readonly Level[] = LEVELS,
): Generator<{ instance: QuantityInstance<object>; prompt: string }> {
  const rng = createRng(7);
  for (const level of levels) {
    for (let count = 0; count < INSTANCES; count++) {
      const { instance, prompt } = drawInstance(row, level, rng);
      yield { instance: instance as QuantityInstance<object>, prompt };
    }
  }
}

/** The rows of a family that ask for quantities; others have exact fields, or a property is checked. */
export function quantityRowsOf({ rows }: Family): Row[] {
  return rows.filter((row) => {
    const [first] = instancesOf(row, [1]);
    return (first?.instance as Partial<QuantityInstance<object>> | undefined)?.solution?.parts !== undefined;
  });
}

/** `second` gives the values of the parts and then the words, in the solution's order. */
export function expectAgreement(
  row: Row,
  second: (given: never) => readonly (number | string)[],
  relative = 1e-6,
): void {
  for (const { instance } of instancesOf(row)) {
    const { parts, words = [] } = instance.solution;
    const found = second(instance.given as never);
    const where = `${row.id} ${JSON.stringify(instance.given)}`;
    expect(found.length, where).toBe(parts.length + words.length);
    for (const [index, { name, value, absolute = 0 }] of parts.entries()) {
      const error = Math.abs(Number(found[index]) - value);
      const allowed = Math.max(relative * Math.abs(value), absolute / 10);
      expect(error <= allowed, `${name} = ${value}, second method ${found[index]}, in ${where}`).toBe(true);
    }
    for (const [index, { value }] of words.entries()) expect(found[parts.length + index], where).toBe(value);
  }
}

/** Share of values that a number of the prompt, or a product or quotient of two, hits with the right unit. */
export function luckOf(row: Row): number {
  let [hits, tries] = [0, 0];
  for (const { instance, prompt } of instancesOf(row)) {
    const numbers = (prompt.match(/\d+(?:\.\d+)?/gu) ?? []).map(Number).filter((value) => value > 0);
    const candidates = new Set(numbers.flatMap((a) => [a, ...numbers.flatMap((b) => [a * b, a / b])]));
    for (const { value, relative = 0.01, absolute = 0 } of instance.solution.parts) {
      const allowed = Math.max(relative * Math.abs(value), absolute);
      for (const candidate of candidates) hits += Number(Math.abs(candidate - value) <= allowed);
      tries += candidates.size;
    }
  }
  return hits / tries;
}
