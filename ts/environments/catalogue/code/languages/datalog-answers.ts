/** datalog-answers: the answers of a query over rules with recursion and negation in layers. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** Arguments are variables (capital letters). */
export interface Literal {
  name: string;
  terms: string[];
  negated: boolean;
}
export interface RuleOfLog {
  head: Literal;
  body: Literal[];
}
export interface LogProblem {
  facts: [string, string, string][];
  marks: [string, string][];
  rules: RuleOfLog[];
  constants: string[];
}

/** By level: constants, facts of each relation, kinds of rules, least and most derived facts. */
const SIZES = [
  [6, 5, 1, 4, 9],
  [7, 6, 2, 10, 16],
  [8, 7, 3, 17, 26],
  [10, 8, 4, 27, 42],
  [12, 11, 4, 43, 150],
] as const;
/** Most derived facts of a level. */
const MOST_DERIVED = 150;
const MEANING =
  "The rules are read as Datalog: a fact holds if it is given or follows by finitely many uses of rules; \\+ means that the fact does not follow, and it is only used for relations that are settled before.";

export const datalogAnswers = itemRow<LogProblem>({
  id: "datalog-answers",
  asks: "which constants satisfy a query over recursive rules with negation",
  form: "set",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `Facts:\n${facts(one)}\n\nRules:\n${rules(one)}\n\n${MEANING} For which X does goal(X) hold? List them with commas; a wrong one takes away a right one.`,
    (one) =>
      `${MEANING}\n\n${facts(one)}\n${rules(one)}\n\n?- goal(X).\n\nAll answers for X, comma-separated, in any order. False answers are subtracted from right ones.`,
    (one) =>
      `A logic program:\n\n${rules(one)}\n\nwith the data\n\n${facts(one)}\n\nName every constant c such that goal(c) is in the model, separated by commas (extra names cost as much as right ones earn). ${MEANING}`,
    (one) =>
      `Evaluate bottom-up.\n\n${facts(one)}\n\n${rules(one)}\n\n${MEANING} Answer with the set of constants for which goal is derived: names with commas. Each false name cancels a true one.`,
  ],
});

function facts({ facts: pairs, marks }: LogProblem): string {
  return [...pairs.map(([name, a, b]) => `${name}(${a}, ${b}).`), ...marks.map(([name, a]) => `${name}(${a}).`)].join(
    " ",
  );
}

function rules({ rules: all }: LogProblem): string {
  const text = ({ name, terms, negated }: Literal): string => `${negated ? "\\+ " : ""}${name}(${terms.join(", ")})`;
  return all.map(({ head, body }) => `${text(head)} :- ${body.map(text).join(", ")}.`).join("\n");
}

function literal(text: string): Literal {
  const [, sign = "", name = "", terms = ""] = /^(!?)(\w+)\(([^)]*)\)$/u.exec(text) ?? [];
  return { name, terms: terms.split(","), negated: sign === "!" };
}

function rule(text: string): RuleOfLog {
  const [head = "", body = ""] = text.split(" <- ");
  return { head: literal(head), body: body.split(" ").map(literal) };
}

/** Layers of rules: those of a layer are settled before the next one begins. */
function layersOf(kinds: number, rng: Rng): string[][] {
  const [r, s] = rng.pick([
    ["r", "s"],
    ["s", "r"],
  ] as const);
  const reach = rng.pick([
    [`path(X,Y) <- ${r}(X,Y)`, `path(X,Z) <- path(X,Y) ${r}(Y,Z)`],
    [`path(X,Y) <- ${r}(X,Y)`, `path(X,Z) <- path(X,Y) ${s}(Y,Z)`],
    [`path(X,Y) <- ${r}(X,Y)`, `path(X,Z) <- ${s}(X,Y) path(Y,W) ${r}(W,Z)`],
  ]);
  const start = rng.pick([
    "hit(Y) <- m(X) path(X,Y)",
    "hit(X) <- m(Y) path(X,Y)",
    `hit(Y) <- m(X) path(X,Z) ${s}(Z,Y)`,
  ]);
  const again = rng.pick([
    `hit(Y) <- hit(X) ${s}(X,Y)`,
    `hit(X) <- hit(Y) ${s}(X,Y) n(X)`,
    `hit(Z) <- hit(X) hit(Y) ${s}(X,Z) ${r}(Y,Z)`,
  ]);
  const rest = rng.pick([
    `left(X) <- c(X) !hit(X)`,
    `left(Y) <- n(X) path(X,Y) !hit(Y)`,
    `left(X) <- ${s}(X,Y) !path(Y,X)`,
  ]);
  const goals = [
    ["goal(X) <- hit(X)"],
    ["goal(X) <- hit(X) !n(X)"],
    [rng.pick(["goal(X) <- left(X)", `goal(Y) <- left(X) ${r}(X,Y)`])],
    [
      `goal(Y) <- left(X) ${s}(X,Y)`,
      rng.pick([`goal(Y) <- goal(X) ${r}(X,Y) !m(Y)`, "goal(Z) <- goal(X) path(X,Z) !hit(Z)"]),
    ],
  ];
  return [[...reach, start, ...(kinds > 1 ? [again] : [])], kinds > 2 ? [rest] : [], at(goals, kinds - 1)];
}

type Known = Map<string, Map<string, readonly string[]>>;

/** Constants of the goal, and how many facts were derived. `rounds` bounds the repeats of a layer; null beyond the largest level. */
function model(
  { facts: pairs, marks, constants }: Omit<LogProblem, "rules">,
  layers: readonly (readonly RuleOfLog[])[],
  rounds = 1_000,
): { goal: string[]; derived: number } | null {
  const known: Known = new Map();
  const add = (name: string, values: readonly string[]): boolean => {
    const of = known.get(name) ?? new Map<string, readonly string[]>();
    known.set(name, of);
    const key = values.join();
    if (of.has(key)) return false;
    of.set(key, values);
    return true;
  };
  for (const [name, ...values] of [...pairs, ...marks]) add(name, values);
  for (const one of constants) add("c", [one]);
  let derived = 0;
  for (const layer of layers) {
    let isGrowing = true;
    for (let round = 0; isGrowing && round < rounds; round++) {
      const fresh = layer.flatMap(({ head, body }) =>
        matches(body, known)
          .map((values) => head.terms.map((term) => values.get(term) ?? ""))
          .map((values) => ({ name: head.name, values })),
      );
      const added = fresh.filter(({ name, values }) => add(name, values)).length;
      derived += added;
      isGrowing = added > 0;
      if (derived > MOST_DERIVED) return null;
    }
  }
  return { goal: constants.filter((one) => known.get("goal")?.has(one) === true), derived };
}

/** Values of the variables that satisfy all literals; negated ones come last. */
function matches(body: readonly Literal[], known: Known): ReadonlyMap<string, string>[] {
  let all: ReadonlyMap<string, string>[] = [new Map()];
  for (const { name, terms, negated } of body) {
    const of = known.get(name) ?? new Map<string, readonly string[]>();
    all = all.flatMap((values) => {
      const bound = terms.map((term) => values.get(term));
      if (negated || !bound.includes(undefined)) return of.has(bound.join()) === negated ? [] : [values];
      return [...of.values()].flatMap((fact) =>
        fact.every((value, index) => bound[index] === undefined || bound[index] === value)
          ? [new Map([...values, ...terms.map((term, index): [string, string] => [term, at(fact, index)])])]
          : [],
      );
    });
  }
  return all;
}

function make(rng: Rng, level: Level) {
  const [count, size, kinds, least, most] = at(SIZES, level - 1);
  const constants = distinct(count, () => word(rng, 1));
  const drawn = ["r", "s"].flatMap((name) =>
    range(size).map((): [string, string, string] => {
      const [a = "", b = ""] = sample(constants, 2, rng);
      return [name, a, b];
    }),
  );
  const pairs = [...new Map(drawn.map((one) => [one.join(), one])).values()];
  const marks = ["m", "n"].flatMap((name, index) =>
    sample(constants, 1 + index, rng).map((one): [string, string] => [name, one]),
  );
  const texts = layersOf(kinds, rng);
  const layers = texts.map((layer) => layer.map(rule));
  const data = { facts: pairs, marks, constants };
  const found = model(data, layers);
  if (found === null) return null;
  const { goal, derived } = found;
  if (derived < least || derived > most || goal.length < 2 || goal.length > 0.45 * count) return null;
  const plain = layers.map((layer) =>
    layer.map((one) => ({ ...one, body: one.body.filter(({ negated }) => !negated) })),
  );
  const misses = [
    model(data, layers, 1)?.goal ?? [],
    model(data, plain)?.goal ?? [],
    constants.filter((one) => !goal.includes(one)),
    model({ ...data, facts: pairs.map(([name, a, b]) => [name, b, a]) }, layers)?.goal ?? [],
  ];
  const used = layers.flat().some(({ body }) => body.some(({ name }) => name === "c"));
  const shown = used ? constants.map((one): [string, string] => ["c", one]) : [];
  return {
    problem: { facts: pairs, marks: [...marks, ...shown], rules: layers.flat(), constants },
    items: goal,
    misses: misses.filter((miss) => miss.length > 0),
    universe: constants,
    effort: derived + 3 * kinds,
  };
}
