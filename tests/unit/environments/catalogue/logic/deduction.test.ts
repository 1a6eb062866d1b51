/** Deduction against enumeration with code that shares nothing with the rows. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { deduction } from "../../../../../ts/environments/catalogue/logic/deduction/index.ts";
import type { Level, Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 200 : 12;

function rowOf(id: string): Row {
  const row = deduction.rows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
}

function* instancesOf<Instance>(id: string, levels: readonly Level[]): Generator<Instance> {
  const rng = createRng(15);
  for (const level of levels)
    for (let count = 0; count < INSTANCES; count++) yield drawInstance(rowOf(id), level, rng).instance as Instance;
}

function* subsetsOf<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let code = 0; code < 2 ** items.length; code++)
    yield items.filter((_, place) => Math.floor(code / 2 ** place) % 2 === 1);
}

test("needed-clue-subset: no smaller set of clues is sufficient", () => {
  for (const one of instancesOf<{ clues: object[]; best: number[] }>("needed-clue-subset", [1, 2])) {
    const numbers = one.clues.map((_, clue) => clue + 1);
    const scores = [...subsetsOf(numbers)].map((set) => ({
      size: set.length,
      score: set.length === 0 ? 0 : rowOf("needed-clue-subset").score(one, set.join(", ")),
    }));
    const sufficient = scores.filter(({ score }) => score > 0).map(({ size }) => size);
    expect(Math.min(...sufficient)).toBe(one.best.length);
    expect(scores.every(({ size, score }) => score < 1 || size === one.best.length)).toBe(true);
  }
});

test("model-or-core: verdicts and certificates are those of the truth table", () => {
  for (const one of instancesOf<{ variables: number; clauses: number[][]; model: boolean[] | null; core: number[] }>(
    "model-or-core",
    [1, 2],
  )) {
    const tables = Array.from({ length: 2 ** one.variables }, (_, code) => code);
    const isPossible = (clauses: readonly number[][]): boolean =>
      tables.some((code) =>
        clauses.every((clause) =>
          clause.some((literal) => (Math.floor(code / 2 ** (Math.abs(literal) - 1)) % 2 === 1) === literal > 0),
        ),
      );
    expect(isPossible(one.clauses)).toBe(one.model !== null);
    if (one.model !== null) continue;
    const core = one.core.map((clause) => one.clauses[clause] ?? []);
    expect(isPossible(core)).toBe(false);
    for (const dropped of core) expect(isPossible(core.filter((clause) => clause !== dropped))).toBe(true);
  }
});

test("entailed-statements: followers hold in all small models, and others do not", () => {
  type Statement = [form: string, subject: number, predicate: number];
  for (const one of instancesOf<{
    classes: string[];
    premises: Statement[];
    statements: Statement[];
    followers: number[];
  }>("entailed-statements", [1])) {
    const kinds = Array.from({ length: 2 ** one.classes.length }, (_, kind) => kind);
    const has = (kind: number, place: number): boolean => Math.floor(kind / 2 ** place) % 2 === 1;
    const holds = ([form, a, b]: Statement, world: number[]): boolean => {
      const members = world.filter((kind) => has(kind, a));
      const inside = members.filter((kind) => has(kind, b)).length;
      return (
        { A: inside === members.length, E: inside === 0, I: inside > 0, O: inside < members.length }[form] ?? false
      );
    };
    const worlds = [...subsetsOf(kinds)].filter((world) => one.premises.every((premise) => holds(premise, world)));
    const follow = one.statements.flatMap((statement, place) =>
      worlds.every((world) => holds(statement, world)) ? [place] : [],
    );
    expect(worlds.length).toBeGreaterThan(0);
    expect(one.followers).toEqual(follow);
  }
});

test("derivation-tree: without any rule of the proof it does not stand", () => {
  interface Theory {
    readonly facts: number[];
    readonly rules: { premises: number[]; conclusion: number }[];
    readonly goal: number;
    readonly proof: number[];
  }
  for (const one of instancesOf<Theory>("derivation-tree", [1, 2, 3])) {
    const proves = (rules: readonly number[]): boolean => {
      const known = [...one.facts];
      for (let round = 0; round <= rules.length; round++)
        for (const rule of rules) {
          const { premises = [], conclusion = -1 } = one.rules[rule] ?? {};
          if (premises.every((premise) => known.includes(premise))) known.push(conclusion);
        }
      return known.includes(one.goal);
    };
    expect(proves(one.proof)).toBe(true);
    for (const dropped of one.proof) expect(proves(one.proof.filter((rule) => rule !== dropped))).toBe(false);
  }
});

test("announcement-knowledge: worlds are struck out as they are said to be", () => {
  interface Talk {
    readonly cards: [number, number][];
    readonly sayings: { speaker: 0 | 1; about: string; holds: boolean }[];
    readonly card: number;
  }
  for (const { cards, sayings, card } of instancesOf<Talk>("announcement-knowledge", [1, 2, 3])) {
    let worlds = [...cards];
    for (const { speaker, about, holds } of sayings) {
      const other = speaker === 0 ? 1 : 0;
      const alike = (world: [number, number], part: 0 | 1) => worlds.filter((one) => one[part] === world[part]);
      const alone = (part: 0 | 1) => worlds.filter((world) => alike(world, part).length === 1);
      const solved = alone(other);
      worlds = worlds.filter((world) => {
        const mine = alike(world, speaker);
        const value = about === "knows" ? mine.length === 1 : !mine.some((one) => solved.includes(one));
        return value === holds;
      });
    }
    expect(worlds).toEqual([cards[card]]);
  }
});

test("smallest-explanation: no smaller set of assumptions explains everything", () => {
  interface Theory {
    readonly assumptions: number;
    readonly rules: { premises: number[]; conclusion: number }[];
    readonly observed: number[];
    readonly best: number[];
  }
  for (const one of instancesOf<Theory>("smallest-explanation", [1, 2, 3])) {
    const explains = (atom: number, assumed: readonly number[], depth: number): boolean =>
      assumed.includes(atom) ||
      (depth > 0 &&
        one.rules.some(
          ({ premises, conclusion }) =>
            conclusion === atom && premises.every((premise) => explains(premise, assumed, depth - 1)),
        ));
    const sizes = [...subsetsOf(Array.from({ length: one.assumptions }, (_, index) => index))]
      .filter((assumed) => one.observed.every((atom) => explains(atom, assumed, 12)))
      .map((assumed) => assumed.length);
    expect(Math.min(...sizes)).toBe(one.best.length);
  }
});

test("choices of nearly everything earn little", () => {
  const shares = { "needed-clue-subset": "clues", "smallest-explanation": "assumptions" } as const;
  for (const [id, of] of Object.entries(shares)) {
    const row = rowOf(id);
    let [earned, count] = [0, 0];
    for (const one of instancesOf<{ names: string[]; clues: object[]; assumptions: number }>(id, [1, 2, 3, 4, 5])) {
      const all = of === "clues" ? one.clues.map((_, clue) => String(clue + 1)) : one.names.slice(0, one.assumptions);
      expect(row.score(one, all.join(", "))).toBe(0);
      earned += row.score(one, all.slice(1).join(", "));
      count += 1;
    }
    expect(earned / count, id).toBeLessThan(0.1);
  }
});
