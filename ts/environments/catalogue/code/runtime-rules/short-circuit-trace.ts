/** short-circuit-trace: which calls of a C expression with &&, ||, ?: and commas happen, and its value. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Tree =
  | { do: "call"; name: string; value: number }
  | { do: "not"; of: Tree }
  | { do: "and" | "or" | "comma"; left: Tree; right: Tree }
  | { do: "choice"; test: Tree; yes: Tree; no: Tree };
export interface CircuitProblem {
  expressions: Tree[];
}

/** By level: expressions, calls of each. */
const SIZES = [
  [1, 4],
  [2, 5],
  [2, 8],
  [3, 10],
  [4, 14],
] as const;

export const shortCircuitTrace = itemRow<CircuitProblem>({
  id: "short-circuit-trace",
  asks: "the calls that a C expression of &&, ||, ?: and commas makes, in order, and its value",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${circuitSource(one)}\n\nWrite the output of this C program: for each expression the letters of the calls in their order and then its value, on one line.`,
    (one) =>
      `t(c, v) prints the letter c and returns v.\n\n${circuitSource(one)}\n\nWhich lines does the program print?`,
    (one) => `Mind precedence and short circuits in C, and give the printed lines.\n\n${circuitSource(one)}`,
    (one) => `Not every call is made. Predict the output exactly, a line per show:\n\n${circuitSource(one)}`,
  ],
});

export function circuitSource({ expressions }: CircuitProblem): string {
  const shows = expressions.map((tree) => `    show(${text(tree, 2)});`);
  return `#include <stdio.h>\nint t(char c, int v) { putchar(c); return v; }\nvoid show(int v) { printf(" %d\\n", v); }\nint main(void) {\n${shows.join("\n")}\n    return 0;\n}`;
}

/** Strength of the operators: comma 0, assignment level 1, choice 2, or 3, and 4, not 5. Brackets stand where they are needed. */
function text(tree: Tree, least: number): string {
  const bracket = (strength: number, inner: string): string => (strength < least ? `(${inner})` : inner);
  switch (tree.do) {
    case "call":
      return `t('${tree.name}', ${tree.value})`;
    case "not":
      return `!${text(tree.of, 5)}`;
    case "comma":
      return bracket(0, `${text(tree.left, 0)}, ${text(tree.right, 1)}`);
    case "or":
      return bracket(3, `${text(tree.left, 3)} || ${text(tree.right, 4)}`);
    case "and":
      return bracket(4, `${text(tree.left, 4)} && ${text(tree.right, 5)}`);
    case "choice":
      return bracket(2, `${text(tree.test, 3)} ? ${text(tree.yes, 0)} : ${text(tree.no, 2)}`);
  }
}

function make(rng: Rng, level: Level) {
  const [count, calls] = at(SIZES, level - 1);
  let letter = 0;
  const build = (leaves: number): Tree => {
    if (leaves === 1) {
      letter += 1;
      const call: Tree = {
        do: "call",
        name: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".charAt((letter - 1) % 62),
        value: rng.pick([0, 0, 1, between(rng, 2, 9)]),
      };
      return rng.integer(6) === 0 ? { do: "not", of: call } : call;
    }
    const kind = rng.integer(leaves > 2 ? 9 : 7);
    if (kind > 6) {
      const cut = between(rng, 1, leaves - 2);
      const other = between(rng, 1, leaves - cut - 1);
      return { do: "choice", test: build(cut), yes: build(other), no: build(leaves - cut - other) };
    }
    const cut = between(rng, 1, leaves - 1);
    const pair = { left: build(cut), right: build(leaves - cut) };
    return { do: kind < 3 ? "and" : kind < 6 ? "or" : "comma", ...pair };
  };
  const problem = { expressions: range(count).map(() => build(calls)) };
  const items = lines(problem, true);
  const made = items.reduce((sum, item) => sum + (item.split(" ")[0] ?? "").length, 0);
  if (items.some((item) => item.startsWith(" ")) || made > count * calls * 0.8 || made < count * 2) return null;
  const flat = problem.expressions.map((tree) => lines({ expressions: [leftToRight(tree)] }, true)[0] ?? "");
  return {
    problem,
    items,
    misses: [lines(problem, false), flat, items.map((item) => item.split(" ")[0] ?? "")],
    effort: count * calls + made,
  };
}

/** `stops`: whether && and || skip their right side. */
function lines({ expressions }: CircuitProblem, stops: boolean): string[] {
  return expressions.map((tree) => {
    let printed = "";
    const value = (one: Tree): number => {
      if (one.do === "call") {
        printed += one.name;
        return one.value;
      }
      if (one.do === "not") return Number(value(one.of) === 0);
      if (one.do === "choice") return value(one.test) !== 0 ? value(one.yes) : value(one.no);
      const left = value(one.left);
      if (one.do === "comma") return value(one.right);
      if (stops && (left !== 0) === (one.do === "or")) return Number(one.do === "or");
      const right = value(one.right);
      return Number(one.do === "or" ? left !== 0 || right !== 0 : left !== 0 && right !== 0);
    };
    const result = value(tree);
    return `${printed} ${result}`;
  });
}

/** As if && and || had one strength: a chain of them is grouped from the left. */
function leftToRight(tree: Tree): Tree {
  if (tree.do !== "or" || tree.right.do !== "and") return tree;
  return { do: "and", left: { do: "or", left: tree.left, right: tree.right.left }, right: tree.right.right };
}
