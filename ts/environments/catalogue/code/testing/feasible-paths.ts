/** feasible-paths: which outcomes of the tests of a straight series of branches can occur together. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { name, number, operation, type Program, sourceOf, type Statement } from "../small-python/syntax.ts";
import { execute, isTrue, type Values } from "./branchy.ts";

export interface PathsProblem {
  largest: number;
  program: Program;
}

/** By level: branches, largest value of the two inputs. */
const SIZES = [
  [2, 9],
  [3, 12],
  [4, 15],
  [5, 20],
  [6, 26],
] as const;

export const feasiblePaths = itemRow<PathsProblem>({
  id: "feasible-paths",
  asks: "the paths through a series of dependent branches that some input takes",
  form: "list",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `${source(one)}\n\nx and y are whole numbers from 0 to ${one.largest}. A path is the word of outcomes of the ifs in order, T or F each. Which paths can be taken? List them alphabetically, separated by commas.`,
    (one) =>
      `For which sequences of branch outcomes is there an input (x and y whole, 0 to ${one.largest})?\n\n${source(one)}\n\nWrite each feasible sequence as a word such as ${"TF".repeat(3).slice(0, one.program.length)} (T: the test holds), in alphabetical order with commas.`,
    (one) =>
      `Symbolic execution of\n\n${source(one)}\n\nwith 0 <= x, y <= ${one.largest} (integers) collects the path conditions. Name the satisfiable paths, F and T in the order of the tests, sorted alphabetically, comma-separated.`,
    (one) =>
      `Not every combination of branches in this code can happen:\n\n${source(one)}\n\nGiven integers x and y between 0 and ${one.largest}, list those that can, as words of T and F (one letter per if, top to bottom), alphabetically and with commas between.`,
  ],
});

function source({ program }: PathsProblem): string {
  return sourceOf(program);
}

function make(rng: Rng, level: Level) {
  const [count, largest] = at(SIZES, level - 1);
  const both = ["x", "y"] as const;
  const program = range(count).map((): Statement => {
    const [one, other] = rng.integer(2) === 0 ? both : ["y", "x"];
    const left =
      [
        name(one),
        operation(name(one), "+", name(other)),
        operation(name(one), "-", name(other)),
        operation(name(one), "%", number(between(rng, 2, 4))),
      ][rng.integer(4)] ?? name(one);
    const isRest = "op" in left && left.op === "%";
    const right = isRest
      ? number(rng.integer(2))
      : number(between(rng, 1, "op" in left && left.op === "+" ? 2 * largest - 4 : largest - 2));
    const set = (): Statement => ({
      do: "set",
      name: one,
      to: operation(name(one), rng.pick(["+", "-"] as const), rng.pick([name(other), number(between(rng, 1, 8))])),
    });
    return {
      do: "if",
      test: { left, is: isRest ? "==" : rng.pick(["<", ">", "<=", ">="] as const), right },
      holds: [set()],
      fails: rng.integer(2) === 0 ? [set()] : [],
    };
  });
  const paths = pathsOf(program, largest, true);
  const items = [...paths].toSorted();
  if (items.length < 2 || items.length > 0.8 * 2 ** count || items.length > 30) return null;
  const fixed = [...pathsOf(program, largest, false)].toSorted();
  const misses = [
    fixed,
    items.toReversed(),
    items
      .map((word) =>
        word
          .split("")
          .map((one) => (one === "T" ? "F" : "T"))
          .join(""),
      )
      .toSorted(),
  ];
  if (level > 1 && fixed.join() === items.join()) return null;
  return { problem: { largest, program }, items, misses, effort: items.length * count + largest };
}

/** Tries all inputs. `changes`: whether the branches change the variables; that they do not is a slip. */
function pathsOf(program: Program, largest: number, changes: boolean): Set<string> {
  const paths = new Set<string>();
  for (let x = 0; x <= largest; x++)
    for (let y = 0; y <= largest; y++) {
      let word = "";
      const values: Values = { x, y };
      for (const statement of program) {
        if (statement.do !== "if") continue;
        const outcome = isTrue(statement.test, values);
        word += outcome ? "T" : "F";
        if (changes) execute(outcome ? statement.holds : statement.fails, values);
      }
      paths.add(word);
    }
  return paths;
}
