/** one-line-repair: the line with a wrong token in a function, and the line that makes it right for all inputs. */
import { sample } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import type { Program } from "../small-python/syntax.ts";
import { witnessRow } from "../witness-row.ts";
import { type Branchy, drawBranchy, drawInputs, editsOf, lineOf, numberedSource, resultOf } from "./branchy.ts";

interface Problem {
  function: Branchy;
  wrong: Program;
  line: number;
  examples: { inputs: number[]; result: number }[];
}

/** By level: parameters, branches, examples. */
const SIZES = [
  [2, 2, 8],
  [2, 3, 10],
  [3, 5, 12],
  [3, 7, 14],
  [3, 10, 16],
] as const;
const HIDDEN = 120;
const LARGEST = 20;

export const oneLineRepair = witnessRow<Problem>({
  id: "one-line-repair",
  asks: "the line of a function with one wrong token, and the line that repairs it for hidden inputs, too",
  form: "lines",
  tries: 40,
  make,
  isRight,
  canonical: ({ wrong, examples: all }) => [wrong, all],
  prompts: [
    (one) =>
      `One token of this function is wrong: a comparison, an arithmetic sign, a number or the name of a parameter.\n\n${source(one)}\n\nRight results:\n${examples(one)}\n\nRepair it. Answer with two lines: the number of the line, and the corrected line.`,
    (one) =>
      `${examples(one)}\n\nThis is what f should return. It does not:\n\n${source(one)}\n\nA single comparison, sign, number or parameter name has to be replaced. First line of the answer: the line's number; second line: how it must read. Other inputs are checked, too.`,
    (one) =>
      `Debug f. Exactly one line is faulty, in exactly one token (comparison, + - * // %, number, or parameter).\n\n${source(one)}\n\nExpected:\n${examples(one)}\n\nGive the number of the faulty line and, on the next line, its repaired text. The repaired function must be right for all inputs.`,
    (one) =>
      `A typing error crept into one line of\n\n${source(one)}\n\nwhere it changed one operator, number or name. The tests say\n${examples(one)}\n\nWrite the line number, then the whole line as it should be (on a line for itself). Hidden tests of the same function decide.`,
  ],
});

function source({ function: one, wrong }: Problem): string {
  return numberedSource(one, wrong);
}

function examples({ examples: all }: Problem): string {
  return all.map(({ inputs, result }) => `f(${inputs.join(", ")}) == ${result}`).join("\n");
}

function make(rng: Rng, level: Level) {
  const [parameters, branches, count] = at(SIZES, level - 1);
  const one = drawBranchy(rng, parameters, branches, LARGEST);
  const near = (value: number): number[] => [value - 2, value - 1, value + 1, value + 2].filter((other) => other >= 0);
  const edit = rng.pick(editsOf(one.body, one.parameters, near));
  const { line, program: wrong } = edit;
  const inputs = range(HIDDEN).map(() => drawInputs(one, rng));
  const failing = inputs.filter((each) => resultOf(one, one.body, each) !== resultOf(one, wrong, each));
  if (failing.length < 3 || failing.length > HIDDEN / 2) return null;
  const fine = inputs.filter((each) => !failing.includes(each));
  const shown = sample(
    [...failing.slice(0, Math.floor(count / 2)), ...fine.slice(0, Math.ceil(count / 2))],
    count,
    rng,
  );
  const problem: Problem = {
    function: one,
    wrong,
    line,
    examples: shown.map((each) => ({ inputs: each, result: resultOf(one, one.body, each) ?? 0 })),
  };
  const edits = editsOf(wrong, one.parameters, near);
  const passing = edits.filter((other) =>
    problem.examples.every((example) => resultOf(one, other.program, example.inputs) === example.result),
  );
  // What passes the shown examples must be right everywhere.
  if (!passing.every(({ program }) => isEqual(one, program))) return null;
  const text = lineOf(one, one.body, line);
  const other = rng.pick(edits);
  const misses = [
    [String(line), edit.text],
    [String(other.line), other.text],
    [String(line + 1), text],
    [text, String(line)],
    [String(line)],
  ];
  return { problem, witness: [String(line), text], misses, effort: branches * count + shown.length };
}

function isEqual(one: Branchy, body: Program): boolean {
  const rng = createRng(3);
  return range(HIDDEN * 2).every(() => {
    const inputs = drawInputs(one, rng);
    return resultOf(one, body, inputs) === resultOf(one, one.body, inputs);
  });
}

function isRight({ function: one, wrong, examples: all }: Problem, items: readonly string[]): boolean {
  const [line = "", written = "", ...more] = items;
  if (more.length > 0 || !/^\d{1,2}$/u.test(line)) return false;
  const text = written.replace(/^\d+\s+/u, "");
  const numbers = [...new Set(text.match(/\d{1,4}/gu) ?? [])].map(Number);
  const found = editsOf(wrong, one.parameters, () => numbers, Number(line)).find(
    (edit) => spaced(edit.text) === spaced(text),
  );
  if (found === undefined) return false;
  return (
    all.every(({ inputs, result }) => resultOf(one, found.program, inputs) === result) && isEqual(one, found.program)
  );
}

function spaced(text: string): string {
  return text.replaceAll(/\s+/gu, "");
}
