/** Formulas as the prompt writes them, judged place by place by their definitions: of belief in a model, of time along an unrolled run. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { FieldInstance } from "../../../../../ts/environments/catalogue/field-row.ts";
import { lassoFormulas } from "../../../../../ts/environments/catalogue/logic/structures/lasso-formulas.ts";
import { possibleWorlds } from "../../../../../ts/environments/catalogue/logic/structures/possible-worlds.ts";
import { LEVELS, type Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 100 : 12;

/** A formula, and the words behind it. */
type Holds = (place: number) => boolean;
type Operators = Readonly<Record<string, (...parts: Holds[]) => Holds>>;

/** Reads "not (p U X q)": a prefix operator applies to the shortest formula behind it. */
function parsed(text: string, atomAt: (atom: string) => Holds, operators: Operators): Holds {
  const words = text.replaceAll(/[()]/gu, " $& ").trim().split(/\s+/u);
  const read = (): Holds => {
    const word = words.shift() ?? "";
    if (word === "(") {
      const first = read();
      const operator = operators[words.shift() ?? ""];
      const second = read();
      expect([operator === undefined, words.shift()]).toEqual([false, ")"]);
      return operator?.(first, second) ?? first;
    }
    const prefix = operators[word];
    return prefix === undefined ? atomAt(word) : prefix(read());
  };
  const formula = read();
  expect(words).toEqual([]);
  return formula;
}

const CONNECTIVES: Operators = {
  not:
    (f = () => false) =>
    (place) =>
      !f(place),
  and:
    (f = () => false, g = () => false) =>
    (place) =>
      f(place) && g(place),
  or:
    (f = () => false, g = () => false) =>
    (place) =>
      f(place) || g(place),
  implies:
    (f = () => false, g = () => false) =>
    (place) =>
      !f(place) || g(place),
};

function* drawn(row: Row): Generator<{ given: object; formulas: string[]; values: string[] }> {
  const rng = createRng(34);
  for (const level of LEVELS) {
    for (let count = 0; count < INSTANCES; count++) {
      const { instance, prompt } = drawInstance(row, level, rng);
      const { given, solution } = instance as FieldInstance<object>;
      const formulas = [...prompt.matchAll(/^f\d+: (.*)$/gmu)].map(([, text = ""]) => text);
      const values = solution.fields.map(({ value }) => value);
      expect(formulas).toHaveLength(values.length);
      yield { given, formulas, values };
    }
  }
}

test("possible-worlds: each agent's belief looks at the worlds that it holds possible", () => {
  for (const { given, formulas, values } of drawn(possibleWorlds)) {
    const { worlds, arrows } = given as { worlds: string[][]; arrows: number[][][] };
    const operators = { ...CONNECTIVES };
    for (const [agent, sees] of arrows.entries()) {
      const name = "abc"[agent] ?? "";
      operators[`B${name}`] =
        (f = () => false) =>
        (world) =>
          !(sees[world] ?? []).some((other) => !f(other));
      operators[`D${name}`] =
        (f = () => false) =>
        (world) =>
          (sees[world] ?? []).some((other) => f(other));
    }
    for (const [index, text] of formulas.entries()) {
      const holds = parsed(text, (atom) => (world) => worlds[world]?.includes(atom) ?? false, operators);
      const found = worlds.flatMap((_, world) => (holds(world) ? [`w${world + 1}`] : []));
      expect(found.join(", "), `${text} in ${JSON.stringify(given)}`).toBe(values[index]);
    }
  }
});

test("lasso-formulas: operators look along the unrolled run, as far as states repeat", () => {
  for (const { given, formulas, values } of drawn(lassoFormulas)) {
    const { instants, back } = given as { instants: string[][]; back: number };
    const count = instants.length;
    const stateAt = (time: number): number => (time < count ? time : back + ((time - count) % (count - back)));
    // From any time on, all states that will ever come are among the next `count` ones.
    const later = (time: number): number[] => Array.from({ length: count + 1 }, (_, ahead) => stateAt(time + ahead));
    const memo = (f: Holds): Holds => {
      const known = new Map<number, boolean>();
      return (time) => {
        const state = stateAt(time);
        const truth = known.get(state) ?? f(state);
        known.set(state, truth);
        return truth;
      };
    };
    const operators: Operators = {
      ...CONNECTIVES,
      X: (f = () => false) => memo((time) => f(stateAt(time + 1))),
      F: (f = () => false) => memo((time) => later(time).some(f)),
      G: (f = () => false) => memo((time) => later(time).every(f)),
      U: (f = () => false, g = () => false) =>
        memo((time) => {
          const times = later(time);
          const goal = times.findIndex(g);
          return goal >= 0 && times.slice(0, goal).every(f);
        }),
    };
    for (const [index, text] of formulas.entries()) {
      const holds = parsed(text, (atom) => (time) => instants[stateAt(time)]?.includes(atom) ?? false, operators);
      const found = instants.flatMap((_, time) => (holds(time) ? [`t${time + 1}`] : []));
      expect(found.join(", "), `${text} in ${JSON.stringify(given)}`).toBe(values[index]);
    }
  }
});
