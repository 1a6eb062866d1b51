/** mutant-killing-input: arguments for which a function and its changed version return different values. */
import { firstDrawn } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";
import {
  type Branchy,
  drawBranchy,
  drawInputs,
  type Edit,
  editsOf,
  inputsIn,
  numberedSource,
  resultOf,
} from "./branchy.ts";

interface Problem {
  function: Branchy;
  mutant: Edit;
}

/** By level: parameters, branches, largest argument, inputs of 150 that may show the change, of which half do. */
const SIZES = [
  [2, 2, 12, 14],
  [3, 4, 20, 9],
  [3, 6, 30, 6],
  [4, 9, 50, 4],
  [4, 14, 80, 3],
] as const;
const SAMPLES = 150;
const MOST = 12;

export const mutantKillingInput = witnessRow<Problem>({
  id: "mutant-killing-input",
  asks: "arguments that tell a function from a version of it with one changed token",
  form: "list",
  tries: 12,
  make,
  isRight: ({ function: one, mutant }, items) => {
    const inputs = inputsIn(one, items.join(" "));
    return inputs !== null && resultOf(one, one.body, inputs) !== resultOf(one, mutant.program, inputs);
  },
  prompts: [
    (one) =>
      `${source(one)}\n\nIn a mutant of this function ${change(one)}. Find arguments for which the two return different values. ${format(one)}`,
    (one) =>
      `Kill the mutant in which ${change(one)}:\n\n${source(one)}\n\nWhich call returns something else after the change? ${format(one)} Any such call is right.`,
    (one) =>
      `Someone refactored f so that ${change(one)}, and no test failed. Write the missing test: inputs on which the old and the new f disagree.\n\n${source(one)}\n\n${format(one)}`,
    (one) =>
      `Two versions of a function are not equal. The first is\n\n${source(one)}\n\nand in the second ${change(one)}. Give a counterexample to their equality. ${format(one)}`,
  ],
});

function source({ function: one }: Problem): string {
  return numberedSource(one, one.body);
}

function change({ mutant: { line, text } }: Problem): string {
  return `line ${line} is \`${text}\``;
}

function format({ function: { parameters, largest } }: Problem): string {
  return `Arguments are whole numbers from 0 to ${largest}; write the values of ${parameters.join(", ")} in this order, separated by commas.`;
}

function make(rng: Rng, level: Level) {
  const [parameters, branches, largest, most] = at(SIZES, level - 1);
  const one = drawBranchy(rng, parameters, branches, largest);
  const inputs = range(SAMPLES).map(() => drawInputs(one, rng));
  const right = inputs.map((each) => resultOf(one, one.body, each));
  const edits = editsOf(one.body, one.parameters, (value) => [value + 1, Math.max(0, value - 1)]);
  if (right.includes(null)) return null;
  return firstDrawn(MOST, () => {
    const mutant = rng.pick(edits);
    const killing = inputs.filter((each, index) => resultOf(one, mutant.program, each) !== right[index]);
    const [witness] = killing;
    if (witness === undefined || killing.length > most || killing.length < most / 2) return null;
    const spared = inputs.filter((each) => !killing.includes(each)).slice(0, 3);
    return {
      problem: { function: one, mutant },
      witness: witness.map(String),
      misses: spared.map((each) => each.map(String)),
      effort: branches * Math.ceil(SAMPLES / killing.length / 4 + largest / 4),
    };
  });
}
