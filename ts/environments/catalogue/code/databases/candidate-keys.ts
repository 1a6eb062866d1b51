/** candidate-keys: all keys of a relation under functional dependencies. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface KeyProblem {
  attributes: string;
  dependencies: [string, string][];
}

/** By level: attributes, dependencies, least and most keys. */
const SIZES = [
  [4, 3, 1, 2],
  [5, 4, 2, 2],
  [6, 5, 2, 3],
  [7, 6, 3, 4],
  [8, 8, 4, 9],
] as const;

export const candidateKeys = itemRow<KeyProblem>({
  id: "candidate-keys",
  asks: "all candidate keys of a relation with given functional dependencies",
  form: "set",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `A relation R(${letters(one)}) satisfies exactly the functional dependencies that follow from\n\n${list(one)}\n\nList all candidate keys (minimal sets of attributes that determine all others), each as its letters in alphabetical order, with commas between keys. A wrong key takes away a right one.`,
    (one) =>
      `Functional dependencies of a table with the columns ${letters(one)}:\n\n${list(one)}\n\nWhich sets of columns are keys from which no column can be left out? Write each set as letters in alphabetical order without blanks, the sets separated by commas. False sets are subtracted from true ones.`,
    (one) =>
      `Find every candidate key.\n\nAttributes: ${letters(one)}\n${list(one)}\n\nForm of the answer: keys such as ab, separated by commas, letters of a key in alphabetical order. Wrong ones cost as much as right ones earn.`,
    (one) =>
      `Before a schema is normalised, somebody needs all minimal keys of R(${letters(one)}), given\n\n${list(one)}\n\n(and nothing that does not follow from them). Give them comma-separated, each written as its attributes in alphabetical order. Each false key cancels a true one.`,
  ],
});

function letters({ attributes }: KeyProblem): string {
  return attributes.split("").join(", ");
}

function list({ dependencies }: KeyProblem): string {
  return dependencies.map(([from, to]) => `${from} -> ${to}`).join("\n");
}

function closure(set: string, dependencies: KeyProblem["dependencies"]): Set<string> {
  const found = new Set(set);
  let size = -1;
  while (size < found.size) {
    size = found.size;
    for (const [from, to] of dependencies)
      if (from.split("").every((one) => found.has(one))) for (const one of to) found.add(one);
  }
  return found;
}

/** Non-empty subsets, smaller ones first. */
function subsets(attributes: string): string[] {
  const all = range(2 ** attributes.length).map((mask) =>
    attributes
      .split("")
      .filter((_, index) => Math.floor(mask / 2 ** index) % 2 === 1)
      .join(""),
  );
  return all.filter((set) => set !== "").toSorted((a, b) => a.length - b.length);
}

function keysOf({ attributes, dependencies }: KeyProblem): string[] {
  const keys: string[] = [];
  for (const set of subsets(attributes)) {
    const isSmaller = keys.every((key) => key.split("").some((one) => !set.includes(one)));
    if (isSmaller && closure(set, dependencies).size === attributes.length) keys.push(set);
  }
  return keys;
}

function make(rng: Rng, level: Level) {
  const [count, rules, least, most] = at(SIZES, level - 1);
  const attributes = "abcdefgh".slice(0, count);
  const dependencies = range(rules).map((): [string, string] => {
    const mixed = shuffled(attributes, rng);
    const size = between(rng, 1, level < 3 ? 2 : 3);
    const text = (some: readonly string[]): string => some.toSorted((a, b) => (a < b ? -1 : 1)).join("");
    return [text(mixed.slice(0, size)), text(mixed.slice(size, size + between(rng, 1, 2)))];
  });
  const problem = { attributes, dependencies };
  const items = keysOf(problem);
  if (items.length < least || items.length > most || items.some((key) => key.length < 2)) return null;
  const universe = subsets(attributes);
  const larger = items.map(
    (key) => universe.find((set) => set.length > key.length && key.split("").every((one) => set.includes(one))) ?? key,
  );
  const smaller = items.map((key) => key.slice(1));
  const misses = [
    larger,
    smaller,
    keysOf({ attributes, dependencies: dependencies.slice(1) }),
    sample(universe, items.length, rng),
  ];
  return {
    problem,
    items,
    misses: misses.filter((miss) => new Set(miss).size === miss.length),
    universe,
    effort: items.length * count + rules,
  };
}
