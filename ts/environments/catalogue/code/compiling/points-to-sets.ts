/** points-to-sets: what pointers may point to by an inclusion-based analysis that ignores the order of statements. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Statement {
  do: "address" | "copy" | "load" | "store";
  left: string;
  right: string;
}
export interface PointsProblem {
  statements: Statement[];
  asked: string[];
}

/** By level: names, statements, names that are asked for. */
const SIZES = [
  [4, 5, 2],
  [5, 8, 3],
  [6, 11, 3],
  [8, 16, 4],
  [10, 24, 5],
] as const;

export const pointsToSets = itemRow<PointsProblem>({
  id: "points-to-sets",
  asks: "what pointers may point to by an inclusion-based analysis without order",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${text(one)}\n\n${RULES} To which variables may ${one.asked.join(", ")} point? One line for each in this order: letters alphabetically with spaces, or - for none.`,
    (one) =>
      `Run Andersen's analysis on\n\n${text(one)}\n\n${RULES} Write the points-to sets of ${one.asked.join(", ")}, a line each, sorted and space-separated; - is the empty set.`,
    (one) =>
      `Alias analysis, flow-insensitive and inclusion-based. ${RULES}\n\n${text(one)}\n\nState pts(v) for v = ${one.asked.join(", ")}: one line per variable, members in alphabetical order with spaces between (- if there are none).`,
    (one) =>
      `The statements below may run in any order and any number of times.\n\n${text(one)}\n\n${RULES} Find the least solution and give the sets of ${one.asked.join(", ")} on a line each (sorted letters, spaces; - when empty).`,
  ],
});

const RULES =
  "p = &x puts x into the set of p; p = q puts the set of q into that of p; p = *q puts the sets of all that q may point to into that of p; *p = q puts the set of q into the sets of all that p may point to.";

function text({ statements }: PointsProblem): string {
  return statements
    .map(
      ({ do: what, left, right }) =>
        ({
          address: `${left} = &${right};`,
          copy: `${left} = ${right};`,
          load: `${left} = *${right};`,
          store: `*${left} = ${right};`,
        })[what],
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, length, wanted] = at(SIZES, level - 1);
  const names = "abcdefghij".slice(0, count).split("");
  const statements = range(length).map((index): Statement => {
    const kind = index < count / 2 ? 0 : rng.integer(7);
    return {
      do: kind < 2 ? "address" : kind < 4 ? "copy" : kind < 6 ? "load" : "store",
      left: rng.pick(names),
      right: rng.pick(names),
    };
  });
  const { sets, work } = solve(statements, true);
  const asked = names.filter((name) => (sets.get(name)?.size ?? 0) > 0).slice(-wanted);
  const textOf = (all: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
    asked.map((name) => [...(all.get(name) ?? [])].toSorted().join(" ") || "-");
  const items = textOf(sets);
  if (
    asked.length < wanted ||
    new Set(items).size < Math.min(3, wanted) ||
    statements.some(({ do: what, left, right }) => what === "copy" && left === right)
  )
    return null;
  if (
    items.some((item) => item.split(" ").length > count - 1) ||
    !statements.some((one) => one.do === "store" || one.do === "load")
  )
    return null;
  const once = textOf(solve(statements, false).sets);
  if (once.join() === items.join()) return null;
  const direct = textOf(
    solve(
      statements.filter((one) => one.do === "address" || one.do === "copy"),
      true,
    ).sets,
  );
  return { problem: { statements, asked }, items, misses: [once, direct, items.toReversed()], effort: work };
}

/** `repeats`: until nothing changes; otherwise, as a slip, once from the top. */
function solve(statements: readonly Statement[], repeats: boolean) {
  const sets = new Map<string, Set<string>>();
  const of = (name: string): Set<string> => {
    const known = sets.get(name) ?? new Set<string>();
    sets.set(name, known);
    return known;
  };
  let work = 0;
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const { do: what, left, right } of statements) {
      const targets = what === "store" ? [...of(left)] : [left];
      const added =
        what === "address" ? [right] : what === "load" ? [...of(right)].flatMap((one) => [...of(one)]) : [...of(right)];
      work += 1;
      for (const target of targets)
        for (const one of added) {
          if (of(target).has(one)) continue;
          of(target).add(one);
          work += 1;
          isChanged = repeats;
        }
    }
  }
  return { sets, work };
}
