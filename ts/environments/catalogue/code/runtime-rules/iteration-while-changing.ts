/** iteration-while-changing: what a Python loop does to the list that it runs over. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Change =
  | { do: "remove" }
  | { do: "append"; plus: number }
  | { do: "insert"; place: number; plus: number }
  | { do: "pop"; place: number }
  | { do: "raise"; plus: number };
interface Branch {
  divisor: number;
  rest: number;
  change: Change;
}
export interface LoopProblem {
  list: number[];
  branches: Branch[];
  most: number;
}

/** By level: elements, branches. */
const SIZES = [
  [4, 1],
  [7, 1],
  [8, 2],
  [12, 3],
  [18, 4],
] as const;

export const iterationWhileChanging = itemRow<LoopProblem>({
  id: "iteration-while-changing",
  asks: "the visited elements and the final list of a Python loop that changes the list it runs over",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${loopSource(one)}\n\nWrite the two printed lines: the visited elements, and the list at the end, each as numbers with spaces.`,
    (one) =>
      `In Python a for loop over a list keeps an index into it. What does this program print (two lines, numbers separated by spaces)?\n\n${loopSource(one)}`,
    (one) =>
      `The loop below changes the list under its feet.\n\n${loopSource(one)}\n\nFirst line of the answer: the values of x in order. Second line: what a holds afterwards. Spaces between the numbers.`,
    (one) => `Predict the output of\n\n${loopSource(one)}\n\nexactly as printed, in two lines.`,
  ],
});

export function loopSource({ list, branches, most }: LoopProblem): string {
  const lines = branches.map(({ divisor, rest, change }, index) => {
    const effect = {
      remove: () => "a.remove(x)",
      append: () => (change.do === "append" ? `a.append(x + ${change.plus})` : ""),
      insert: () => (change.do === "insert" ? `a.insert(${change.place}, x + ${change.plus})` : ""),
      pop: () => (change.do === "pop" ? `a.pop(${change.place === 0 ? 0 : -1})` : ""),
      raise: () => (change.do === "raise" ? `a[-1] += ${change.plus}` : ""),
    }[change.do]();
    return `    ${index === 0 ? "if" : "elif"} x % ${divisor} == ${rest}:\n        ${effect}`;
  });
  return `a = [${list.join(", ")}]\nseen = []\nfor x in a:\n    seen.append(x)\n    if len(seen) == ${most}:\n        break\n${lines.join("\n")}\nprint(*seen)\nprint(*a)`;
}

function make(rng: Rng, level: Level) {
  const [length, count] = at(SIZES, level - 1);
  const change = (): Change => {
    switch (rng.integer(6)) {
      case 0:
        return { do: "append", plus: between(rng, 1, 5) };
      case 1:
        return { do: "insert", place: rng.integer(3), plus: between(rng, 1, 5) };
      case 2:
        return { do: "pop", place: rng.integer(2) };
      case 3:
        return { do: "raise", plus: between(rng, 1, 5) };
      default:
        return { do: "remove" };
    }
  };
  const branches = range(count).map((): Branch => {
    const divisor = between(rng, 2, 3);
    return { divisor, rest: rng.integer(divisor), change: change() };
  });
  if (new Set(branches.map(({ divisor, rest }) => `${divisor} ${rest}`)).size < count) return null;
  const list = range(length).map(() => between(rng, 1, 30));
  const problem = { list, branches, most: length + 6 };
  const { seen, after, changes } = run(problem, false);
  const copied = run(problem, true);
  if (after.length < 2 || seen.length < Math.max(3, length / 2) || changes < Math.min(4, level + 1)) return null;
  if (copied.seen.join() === seen.join()) return null;
  const lines = (one: { seen: number[]; after: number[] }): string[] => [
    one.seen.join(" "),
    one.after.join(" ") || "-",
  ];
  return {
    problem,
    items: lines({ seen, after }),
    misses: [lines(copied), lines({ seen: list, after })],
    effort: seen.length * count + changes + length,
  };
}

/** `copies`: as if the loop ran over a copy, which is a slip. */
function run({ list, branches, most }: LoopProblem, copies: boolean) {
  const after = [...list];
  const seen: number[] = [];
  let changes = 0;
  const source = copies ? list : after;
  for (let index = 0; index < source.length; index++) {
    const x = at(source, index);
    seen.push(x);
    if (seen.length === most) break;
    const change = branches.find(({ divisor, rest }) => x % divisor === rest)?.change;
    if (change === undefined) continue;
    changes += 1;
    if (change.do === "remove") after.splice(Math.max(0, after.indexOf(x)), 1);
    else if (change.do === "append") after.push(x + change.plus);
    else if (change.do === "insert") after.splice(change.place, 0, x + change.plus);
    else if (change.do === "pop") {
      if (change.place === 0) after.shift();
      else after.pop();
    } else if (after.length > 0) after[after.length - 1] = at(after, after.length - 1) + change.plus;
  }
  return { seen, after, changes };
}
