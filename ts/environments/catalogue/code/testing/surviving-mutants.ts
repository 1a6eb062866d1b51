/** surviving-mutants: the changed versions of a function that a test suite does not tell from the right one. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { type Branchy, drawBranchy, drawInputs, type Edit, editsOf, numberedSource, resultOf } from "./branchy.ts";

interface Problem {
  function: Branchy;
  mutants: Edit[];
  tests: number[][];
}

/** By level: parameters, branches, mutants, tests. */
const SIZES = [
  [2, 2, 6, 2],
  [2, 3, 7, 3],
  [3, 4, 9, 4],
  [3, 6, 11, 5],
  [4, 9, 14, 6],
] as const;
/** Inputs on which a mutant must differ somewhere. */
const PROBES = 40;

export const survivingMutants = itemRow<Problem>({
  id: "surviving-mutants",
  asks: "the mutants of a function that a given test suite does not kill",
  form: "list",
  tries: 20,
  make,
  prompts: [
    (one) =>
      `${source(one)}\n\nMutants, each with one changed line:\n${mutants(one)}\n\nTests (each compares the result with that of the function above): ${tests(one)}.\n\nWhich mutants pass all of the tests? List their names in ascending order, separated by commas.`,
    (one) =>
      `A mutation run replaces one line at a time.\n\n${source(one)}\n\n${mutants(one)}\n\nThe suite calls ${tests(one)} and expects what the unchanged function returns. Name the surviving mutants, in order of their numbers, with commas.`,
    (one) =>
      `How good are these tests: ${tests(one)}? They assert the values that this function returns.\n\n${source(one)}\n\nFind the variants that the tests fail to notice:\n${mutants(one)}\n\nAnswer with the names of all unnoticed variants, ascending, comma-separated.`,
    (one) =>
      `Changed versions of the function below:\n${mutants(one)}\n\n${source(one)}\n\nA version is killed if it returns something else than the function for at least one of ${tests(one)}. Which versions are not killed? Comma-separated names, smallest number first.`,
  ],
});

function source({ function: one }: Problem): string {
  return numberedSource(one, one.body);
}

function mutants({ mutants: all }: Problem): string {
  return all.map(({ line, text }, index) => `M${index + 1}: line ${line} is  ${text}`).join("\n");
}

function tests({ tests: all }: Problem): string {
  return all.map((inputs) => `f(${inputs.join(", ")})`).join(", ");
}

function make(rng: Rng, level: Level) {
  const [parameters, branches, mutantCount, testCount] = at(SIZES, level - 1);
  const one = drawBranchy(rng, parameters, branches, 20);
  const edits = editsOf(one.body, one.parameters, (value) => [value + 1, value - 1].filter((other) => other >= 0));
  const probes = range(PROBES).map(() => drawInputs(one, rng));
  const right = probes.map((inputs) => resultOf(one, one.body, inputs));
  // The order of the draws keeps mutants of all lines.
  const chosen = sample(edits, mutantCount + 4, rng).filter((edit) =>
    probes.some((inputs, index) => resultOf(one, edit.program, inputs) !== right[index]),
  );
  const all = chosen.slice(0, mutantCount);
  const testInputs = range(testCount).map(() => drawInputs(one, rng));
  const expected = testInputs.map((inputs) => resultOf(one, one.body, inputs));
  const alive = (used: number): string[] =>
    all.flatMap((mutant, index) =>
      testInputs.slice(0, used).every((inputs, place) => resultOf(one, mutant.program, inputs) === expected[place])
        ? [`M${index + 1}`]
        : [],
    );
  const items = alive(testCount);
  if (all.length < mutantCount || items.length < 2 || items.length > mutantCount - 2 || right.includes(null))
    return null;
  const names = all.map((_, index) => `M${index + 1}`);
  const misses = [alive(1), names.filter((each) => !items.includes(each)), alive(testCount - 1)];
  return {
    problem: { function: one, mutants: all, tests: testInputs },
    items,
    misses,
    effort: mutantCount * testCount + branches,
  };
}
