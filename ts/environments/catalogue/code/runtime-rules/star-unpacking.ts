/** star-unpacking: what names are bound to by nested Python assignments with stars, swaps and indices. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Value = number | Value[];
/** A name, a starred name, or targets in brackets. */
type Target = { name: string; starred: boolean } | { targets: Target[] };
interface Assignment {
  targets: Target[];
  /** A literal, or names whose values are unpacked. */
  from: { literal: Value[] } | { names: string[] };
}
export interface UnpackProblem {
  assignments: Assignment[];
  names: string[];
}

/** By level: names, literal assignments, swaps. */
const SIZES = [
  [3, 1, 0],
  [4, 1, 2],
  [5, 2, 3],
  [6, 2, 5],
  [8, 3, 8],
] as const;

export const starUnpacking = itemRow<UnpackProblem>({
  id: "star-unpacking",
  asks: "the values of names after nested Python assignments with stars and simultaneous swaps",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) => `${unpackSource(one)}\n\nWhat is printed? One line for each print, as Python writes lists.`,
    (one) =>
      `Bind the names step by step and write the output (${one.names.length} lines, lists as in Python):\n\n${unpackSource(one)}`,
    (one) =>
      `Python evaluates the right side first and then assigns from left to right; a starred name takes a list of what is left.\n\n${unpackSource(one)}\n\nGive the printed lines.`,
    (one) => `Output of this program, line by line:\n\n${unpackSource(one)}`,
  ],
});

export function unpackSource({ assignments, names }: UnpackProblem): string {
  const target = (one: Target): string =>
    "name" in one
      ? `${one.starred ? "*" : ""}${one.name}`
      : `(${one.targets.map(target).join(", ")}${one.targets.length === 1 ? "," : ""})`;
  const lines = assignments.map(
    ({ targets, from }) =>
      `${targets.map(target).join(", ")}${targets.length === 1 ? "," : ""} = ${"literal" in from ? valueText(from.literal) : from.names.join(", ")}`,
  );
  return [...lines, ...names.map((name) => `print(${name})`)].join("\n");
}

function valueText(value: Value): string {
  return Array.isArray(value) ? `[${value.map(valueText).join(", ")}]` : String(value);
}

function make(rng: Rng, level: Level) {
  const [count, literals, swaps] = at(SIZES, level - 1);
  const names = shuffled("abcdefghk", rng).slice(0, count);
  const assignments: Assignment[] = range(literals).map(() => literalFor(rng, shuffled(names, rng), level));
  for (const _ of range(swaps)) {
    const some = sample(names, between(rng, 2, 3), rng);
    const hasStar = rng.integer(3) === 0;
    const targets = sample(names, hasStar ? some.length - 1 : some.length, rng);
    assignments.push({
      targets: targets.map((name, index) => ({ name, starred: hasStar && index === targets.length - 1 })),
      from: { names: some },
    });
  }
  const problem = { assignments, names: names.toSorted() };
  const values = run(problem, true);
  const items = problem.names.map((name) => valueText(values.get(name) ?? []));
  if (new Set(items).size < Math.max(2, count / 2) || !items.some((item) => item.startsWith("["))) return null;
  if (items.join("").length > 300) return null;
  const stepwise = run(problem, false);
  const misses = [
    problem.names.map((name) => valueText(stepwise.get(name) ?? [])),
    items.map((item) => item.replaceAll(/[[\]]/gu, "")),
    items.map((item) => (item.startsWith("[") ? `(${item.slice(1, -1)})` : item)),
  ];
  return {
    problem,
    items,
    misses,
    effort: 2 * count + 3 * swaps + assignments.flatMap(({ targets }) => targets).length,
  };
}

/** An assignment that binds all of the names, some of them in brackets. */
function literalFor(rng: Rng, names: readonly string[], level: number): Assignment {
  const build = (some: readonly string[], depth: number): { targets: Target[]; literal: Value[] } => {
    const star = rng.integer(some.length);
    const targets: Target[] = [];
    const literal: Value[] = [];
    for (let index = 0; index < some.length; index++) {
      const name = at(some, index);
      const rest = some.length - index;
      if (
        index !== star &&
        rest > 2 &&
        depth < 2 &&
        index + 2 <= some.length &&
        rng.integer(3) === 0 &&
        !(star > index && star < index + 2)
      ) {
        const inner = build(some.slice(index, index + 2), depth + 1);
        targets.push({ targets: inner.targets });
        literal.push(inner.literal);
        index += 1;
      } else if (index === star) {
        targets.push({ name, starred: true });
        literal.push(...range(rng.integer(3 + Math.floor(level / 3))).map(() => between(rng, 1, 99)));
      } else {
        targets.push({ name, starred: false });
        literal.push(rng.integer(5) === 0 ? [between(rng, 1, 9), between(rng, 1, 9)] : between(rng, 1, 99));
      }
    }
    return { targets, literal };
  };
  const { targets, literal } = build(names, 0);
  return { targets, from: { literal } };
}

/** `at once`: the right side is read before any name changes; otherwise, as a slip, names are read one after the other. */
function run({ assignments }: UnpackProblem, atOnce: boolean): Map<string, Value> {
  const values = new Map<string, Value>();
  const bind = (targets: readonly Target[], value: readonly Value[]): void => {
    const star = targets.findIndex((one) => "name" in one && one.starred);
    const after = star < 0 ? 0 : targets.length - star - 1;
    for (const [index, target] of targets.entries()) {
      const own =
        star < 0 || index < star
          ? value[index]
          : index === star
            ? value.slice(star, value.length - after)
            : value[value.length - targets.length + index];
      if ("name" in target) values.set(target.name, own ?? []);
      else bind(target.targets, Array.isArray(own) ? own : []);
    }
  };
  for (const { targets, from } of assignments) {
    if ("literal" in from) bind(targets, from.literal);
    else if (atOnce)
      bind(
        targets,
        from.names.map((name) => values.get(name) ?? 0),
      );
    else
      for (const [index, target] of targets.entries())
        if ("name" in target) values.set(target.name, values.get(from.names[index] ?? "") ?? 0);
  }
  return values;
}
