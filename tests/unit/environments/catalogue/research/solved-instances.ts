/** Draws instances of a research row for its comparison with a second method that shares no code with it. */
import { expect } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { FieldInstance } from "../../../../../ts/environments/catalogue/field-row.ts";
import { LEVELS, type Level, type Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

/** Instances of each level. */
const INSTANCES = IS_LONG ? 100 : 5;

/** `second` gives the values of the fields, in their order; it sees the facts, of the type that its row has, and the prompt. */
export function expectAgreement(
  row: Row,
  second: (given: never, prompt: string) => readonly string[],
  levels: readonly Level[] = LEVELS,
): void {
  const rng = createRng(11);
  for (const level of levels) {
    for (let count = 0; count < INSTANCES; count++) {
      const { instance, prompt } = drawInstance(row, level, rng);
      const { given, solution } = instance as FieldInstance<never>;
      const values = solution.fields.map(({ value }) => value);
      expect(second(given, prompt), `${row.id} ${JSON.stringify(given)}`).toEqual(values);
    }
  }
}
