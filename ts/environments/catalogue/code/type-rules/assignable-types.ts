/** assignable-types: which assignments TypeScript accepts between arrays, functions, unions and generic types of some variance. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Type =
  | { is: "class"; name: string }
  | { is: "array" | "readonly" | "producer" | "consumer" | "cell"; of: Type }
  | { is: "function"; from: Type[]; to: Type | null }
  | { is: "union"; parts: Type[] };
export interface AssignProblem {
  /** Class and the class that it extends. */
  classes: { name: string; parent: string | null }[];
  pairs: { source: Type; target: Type }[];
}

/** By level: pairs, depth of types. */
const SIZES = [
  [4, 1],
  [5, 2],
  [7, 2],
  [8, 3],
  [10, 4],
] as const;

export const assignableTypes = itemRow<AssignProblem>({
  id: "assignable-types",
  asks: "which assignments between arrays, functions, unions and generic types a structural type checker accepts",
  form: "list",
  tries: 80,
  make,
  prompts: [
    (one) =>
      `${assignHead(one)}\n\nTypeScript in strict mode. Which assignments does it accept?\n${text(one)}\n\nWrite yes or no for each in order, separated by commas.`,
    (one) =>
      `${text(one)}\n\nIs each source assignable to its target (TypeScript, strict)? The types are\n\n${assignHead(one)}\n\nAnswer with yes or no per line, in order, with commas between.`,
    (one) =>
      `Check the variance of these types under strictFunctionTypes:\n\n${assignHead(one)}\n\n${text(one)}\n\nList the verdicts (yes: it compiles, no: it is an error) in order, comma-separated.`,
    (one) =>
      `Every line assigns a value of the type on the left to a variable of the type on the right.\n\n${text(one)}\n\n${assignHead(one)}\n\nDoes tsc --strict compile it? One word, yes or no, for each line; commas between the words.`,
  ],
});

export function assignHead({ classes }: AssignProblem): string {
  const lines = classes.map(
    ({ name, parent }) => `declare class ${name}${parent === null ? "" : ` extends ${parent}`} { in${name}: number; }`,
  );
  return [
    ...lines,
    "interface Producer<T> { get: () => T; }",
    "interface Consumer<T> { put: (x: T) => void; }",
    "interface Cell<T> { get: () => T; put: (x: T) => void; }",
  ].join("\n");
}

export function typeText(type: Type, isInner = false): string {
  switch (type.is) {
    case "class":
      return type.name;
    case "array":
      return `${typeText(type.of, true)}[]`;
    case "readonly":
      return isInner ? `(readonly ${typeText(type.of, true)}[])` : `readonly ${typeText(type.of, true)}[]`;
    case "producer":
    case "consumer":
    case "cell":
      return `${type.is.charAt(0).toUpperCase()}${type.is.slice(1)}<${typeText(type.of)}>`;
    case "function": {
      const body = `(${type.from.map((one, index) => `${"xyz".charAt(index)}: ${typeText(one)}`).join(", ")}) => ${type.to === null ? "void" : typeText(type.to, true)}`;
      return isInner ? `(${body})` : body;
    }
    case "union": {
      const body = type.parts.map((one) => typeText(one, true)).join(" | ");
      return isInner ? `(${body})` : body;
    }
  }
}

function text({ pairs }: AssignProblem): string {
  return pairs
    .map(({ source, target }, index) => `${index + 1}. ${typeText(source)}   to   ${typeText(target)}`)
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, depth] = at(SIZES, level - 1);
  const names = ["Animal", "Dog", "Puppy", "Cat"];
  const classes = names.map((name, index) => ({ name, parent: index === 0 ? null : index === 2 ? "Dog" : "Animal" }));
  const draw = (left: number): Type => {
    if (left === 0)
      return rng.integer(5) === 0
        ? {
            is: "union",
            parts: [
              { is: "class", name: "Dog" },
              { is: "class", name: "Cat" },
            ],
          }
        : { is: "class", name: rng.pick(names) };
    const kind = rng.pick([
      "array",
      "readonly",
      "producer",
      "consumer",
      "consumer",
      "cell",
      "function",
      "function",
    ] as const);
    if (kind === "function")
      return {
        is: "function",
        from: range(1 + rng.integer(2)).map(() => draw(rng.integer(left))),
        to: rng.integer(3) === 0 ? null : draw(left - 1),
      };
    return { is: kind, of: draw(left - 1) };
  };
  /** The same shape with other leaves, now and then with a change on the way. */
  const near = (type: Type): Type => {
    if (type.is === "class" || type.is === "union") return rng.integer(3) > 0 ? type : draw(0);
    if (type.is === "function")
      return {
        is: "function",
        from: (rng.integer(6) === 0 ? type.from.slice(0, 1) : type.from).map(near),
        to: type.to === null || rng.integer(6) === 0 ? null : near(type.to),
      };
    const is =
      rng.integer(5) === 0
        ? type.is === "array"
          ? "readonly"
          : type.is === "readonly"
            ? "array"
            : type.is === "cell"
              ? "producer"
              : type.is
        : type.is;
    return { is, of: near(type.of) };
  };
  const pairs = range(count).map(() => {
    const one = draw(depth);
    const other = near(one);
    return rng.integer(2) === 0 ? { source: one, target: other } : { source: other, target: one };
  });
  if (pairs.some(({ source, target }) => typeText(source) === typeText(target))) return null;
  const parents = new Map(classes.map(({ name, parent }) => [name, parent]));
  const verdicts = (how: Rule): string[] =>
    pairs.map(({ source, target }) => (isAssignable(source, target, parents, how) ? "yes" : "no"));
  const items = verdicts("right");
  const yes = items.filter((item) => item === "yes").length;
  const misses = [verdicts("covariant"), verdicts("invariant"), items.map((item) => (item === "yes" ? "no" : "yes"))];
  if (
    yes < 1 ||
    yes === count ||
    misses[0]?.join() === items.join() ||
    (level > 2 && Math.abs(2 * yes - count) > count / 2)
  )
    return null;
  const size = pairs.reduce((sum, { source, target }) => sum + typeText(source).length + typeText(target).length, 0);
  return { problem: { classes, pairs }, items, misses, effort: Math.round(size / 4) + count };
}

type Rule = "right" | "covariant" | "invariant";

/** Slips: parameters vary like results, or generic types do not vary at all. */
function isAssignable(source: Type, target: Type, parents: ReadonlyMap<string, string | null>, how: Rule): boolean {
  const goes = (from: Type, to: Type): boolean => isAssignable(from, to, parents, how);
  const varies = (from: Type, to: Type, kind: "out" | "in" | "both"): boolean => {
    if (how === "invariant") return goes(from, to) && goes(to, from);
    if (kind === "both") return goes(from, to) && (how === "covariant" || goes(to, from));
    return kind === "out" || how === "covariant" ? goes(from, to) : goes(to, from);
  };
  if (source.is === "union") return source.parts.every((part) => goes(part, target));
  if (target.is === "union") return target.parts.some((part) => goes(source, part));
  if (source.is === "class") {
    let name: string | null = source.name;
    while (name !== null && !(target.is === "class" && name === target.name)) name = parents.get(name) ?? null;
    return name !== null;
  }
  if (source.is === "function") {
    if (target.is !== "function" || source.from.length > target.from.length) return false;
    const isFed = source.from.every((from, index) =>
      how === "covariant" ? goes(from, at(target.from, index)) : goes(at(target.from, index), from),
    );
    if (target.to === null) return isFed;
    return isFed && source.to !== null && goes(source.to, target.to);
  }
  if (target.is === "class" || target.is === "function") return false;
  if (source.is === "array" && (target.is === "array" || target.is === "readonly")) return goes(source.of, target.of);
  if (source.is === "cell" && target.is === "producer") return varies(source.of, target.of, "out");
  if (source.is === "cell" && target.is === "consumer") return varies(source.of, target.of, "in");
  if (source.is !== target.is) return false;
  if (source.is === "readonly") return goes(source.of, target.of);
  return varies(source.of, target.of, source.is === "producer" ? "out" : source.is === "consumer" ? "in" : "both");
}
