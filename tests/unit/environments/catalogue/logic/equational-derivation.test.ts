/** Steps, distances and proofs of equational-derivation, against verdicts of tests/fixtures/make/catalogue/equational_derivations.py and of egglog. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import {
  drawInstance,
  type Instance,
  problemOf,
} from "../../../../../ts/environments/catalogue/logic/equational-derivation/generator.ts";
import { type Problem, stepsIn } from "../../../../../ts/environments/catalogue/logic/equational-derivation/proof.ts";
import { Search } from "../../../../../ts/environments/catalogue/logic/equational-derivation/search.ts";
import {
  type Equation,
  isStep,
  parsed,
  printed,
  type Term,
} from "../../../../../ts/environments/catalogue/logic/equational-derivation/terms.ts";
import { canonicalTheory } from "../../../../../ts/environments/catalogue/logic/equational-derivation/theory.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { at } from "../../../../../ts/environments/catalogue/lists.ts";

interface Case {
  equations: string[];
  start: string;
  bound: number;
  atoms: string[];
  /** Within three steps of the start. */
  terms: number;
  distances: [term: string, distance: number][];
  different: string[];
  steps: [before: string, after: string, equation: number, isStep: boolean][];
}

const LEVELS = [1, 2, 3, 4, 5] as const;
const FIXTURE = join(import.meta.dirname, "../../../../fixtures/equations/derivations.json");
const cases = JSON.parse(readFileSync(FIXTURE, "utf8")) as Case[];
const arities = new Map<string, number>([
  ...["f", "g"].map((name) => [name, 2] as const),
  ["i", 1],
  ...["a", "b", "c", "e", "x", "y", "z"].map((name) => [name, 0] as const),
]);

function termOf(text: string): Term {
  const term = parsed(text, arities);
  if (term === null) throw new Error(`no term: ${text}`);
  return term;
}

function equationsOf({ equations }: Case): Equation[] {
  return equations.map((text) => {
    const [left = "", right = ""] = text.split(" = ");
    return { left: termOf(left), right: termOf(right) };
  });
}

describe("against another implementation", () => {
  test("a step is one, and no other is", () => {
    for (const one of cases) {
      const equations = equationsOf(one);
      for (const [before, after, equation, verdict] of one.steps)
        expect(
          isStep(at(equations, equation), termOf(before), termOf(after)),
          `${before} ${after} by ${at(one.equations, equation)}`,
        ).toBe(verdict);
    }
  });

  test("terms have the same distances, and a path is a proof of this length", () => {
    for (const one of cases) {
      const [equations, from] = [equationsOf(one), termOf(one.start)];
      const { nodes } = new Search(from, equations, { size: one.bound, terms: 6_000, atoms: one.atoms });
      expect(nodes.filter(({ depth }) => depth <= 3)).toHaveLength(one.terms);
      const named = new Map(equations.map((equation, index) => [`A${index + 1}`, equation]));
      for (const [text, distance] of one.distances) {
        const node = nodes.find(({ term }) => printed(term) === text);
        expect(node?.depth).toBe(distance);
        if (node === undefined || distance === 0) continue;
        const lines = Search.path(node).map(({ equation, term }) => `A${equation + 1}: ${printed(term)}`);
        expect(stepsIn(lines.join("\n"), { equations: named, arities, from, to: node.term })).toBe(distance);
      }
      for (const text of one.different)
        expect(
          nodes.some(({ term }) => printed(term) === text),
          `${one.start} ${text}`,
        ).toBe(false);
    }
  });
});

describe("derivations", () => {
  const equations = new Map<string, Equation>([
    ["A1", { left: termOf("f(x, e)"), right: "x" }],
    ["A2", { left: termOf("f(x, y)"), right: termOf("f(y, x)") }],
  ]);
  const problem: Problem = { equations, arities, from: termOf("g(f(e, a), f(e, b))"), to: termOf("g(a, b)") };
  const lemma = ["lemma L1: f(e, x) = x", "A2: f(x, e)", "A1: x", "qed"];
  const uses = ["L1: g(a, f(e, b))", "L1: g(a, b)"];

  test("count the steps of lemmas, which stand for any terms once they are proved", () => {
    expect(stepsIn([...lemma, ...uses].join("\n"), problem)).toBe(4);
    const direct = ["A2: g(f(a, e), f(e, b))", "A1: g(a, f(e, b))", "A2: g(a, f(b, e))", "A1: g(a, b)"];
    expect(stepsIn(direct.join("\n"), problem)).toBe(4);
    expect(stepsIn([direct[0], direct[1], ...lemma, uses[1]].join("\n"), problem)).toBe(5);
  });

  test.each([
    ["a lemma that is not proved", ["lemma L1: f(e, x) = x", "qed", ...uses]],
    ["a lemma in its proof", ["lemma L1: f(e, x) = x", "L1: x", "qed", ...uses]],
    ["a lemma that is not closed", [...lemma.slice(0, -1), ...uses]],
    ["a lemma in a lemma", ["lemma L2: f(e, x) = x", ...lemma, "L1: x", "qed", ...uses]],
    ["a name twice", [...lemma, ...lemma, ...uses]],
    ["an equation's name for a lemma", ["lemma A1: a = b", ...uses]],
    [
      "a lemma about one element as if it were about all",
      ["lemma L1: f(e, a) = a", "A2: f(a, e)", "A1: a", "qed", ...uses],
    ],
    ["lines after the goal", [...lemma, ...uses, "A2: g(a, b)"]],
    ["two steps in a line", [...lemma, "L1: g(a, b)"]],
    ["qed alone", ["qed"]],
    ["nothing", []],
  ])("are refused with %s", (_, lines) => {
    expect(stepsIn(lines.join("\n"), problem)).toBeNull();
  });

  test("with a line changed or left out are refused, or prove the goal in another way", () => {
    const rng = createRng(5);
    for (const instance of LEVELS.flatMap((level) => drawn(level, 4))) {
      const { proof, steps } = instance;
      expect(stepsIn(proof.join("\n"), problemOf(instance))).toBe(steps);
      for (let line = 0; line < proof.length; line++) {
        const left = proof.filter((_, index) => index !== line);
        const other = proof.with(line, at(proof, rng.integer(proof.length)));
        for (const changed of [left, other]) {
          const found = stepsIn(changed.join("\n"), problemOf(instance));
          if (found !== null) expect(found).toBeGreaterThanOrEqual(Math.min(steps, changed.length - 2));
        }
      }
    }
  });
});

test("theories that differ in names, sides and order have one canonical form", () => {
  for (const { theory } of drawn(5, 6)) {
    const swapped = (name: string): string => (name === "f" ? "g" : name === "g" ? "f" : name);
    const text = (term: Term): Term =>
      typeof term === "string" ? term : { operation: swapped(term.operation), args: term.args.map(text) };
    const equations = theory.equations
      .map(({ left, right }) => ({ left: text(right), right: text(left) }))
      .toReversed();
    expect(canonicalTheory({ ...theory, equations })).toBe(canonicalTheory(theory));
    expect(canonicalTheory({ ...theory, equations: equations.slice(1) })).not.toBe(canonicalTheory(theory));
  }
});

function drawn(level: (typeof LEVELS)[number], count: number): Instance[] {
  const rng = createRng(17 + level);
  const found: Instance[] = [];
  for (let draw = 0; draw < 2_000 && found.length < count; draw++) {
    const instance = drawInstance(rng, level);
    if (instance !== null) found.push(instance);
  }
  return found;
}
