/** this-and-prototypes: what a JavaScript program logs about properties found along prototypes, accessors, and the value of this. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** What a property is: a number, a method that returns this.<of> + by, an arrow function with the same body, or an accessor for <of>. */
interface Property {
  readonly kind: "number" | "method" | "arrow" | "accessor";
  readonly of: string;
  readonly by: number;
}
interface Thing {
  readonly name: string;
  readonly parent: Thing | null;
  readonly own: Map<string, Property>;
}
type Statement =
  | { readonly kind: "read" | "delete" | "own" | "in"; readonly thing: string; readonly key: string }
  | { readonly kind: "write"; readonly thing: string; readonly key: string; readonly value: number }
  | { readonly kind: "call" | "detached"; readonly thing: string; readonly key: string }
  | { readonly kind: "borrowed"; readonly thing: string; readonly key: string; readonly self: string };
export interface PrototypeProblem {
  source: string[];
}

/** By level: objects, properties of each, statements, kinds of properties and of statements. */
const SIZES = [
  [2, 2, 4, 1, 3],
  [3, 2, 6, 2, 5],
  [3, 3, 9, 3, 7],
  [4, 3, 12, 4, 8],
  [5, 4, 18, 4, 8],
] as const;
const KEYS = ["m", "n", "s", "t"];
const THINGS = ["a", "b", "c", "d", "e"];
const ERROR = "TypeError";

export const thisAndPrototypes = itemRow<PrototypeProblem>({
  id: "this-and-prototypes",
  asks: "what a JavaScript program logs about prototypes, accessors, deleted properties and this",
  form: "lines",
  tries: 30,
  make,
  prompts: [
    ({ source }) =>
      `What does this JavaScript module log?\n\n${source.join("\n")}\n\nGive one line for each call of log.`,
    ({ source }) => `${source.join("\n")}\n\nThe code is strict. Write down everything it logs, line by line.`,
    ({ source }) =>
      `Look up each property along the prototypes, and find out what this is in each call:\n\n${source.join("\n")}\n\nState the logged lines in order.`,
    ({ source }) => `Predict the console of Node for\n\n${source.join("\n")}\n\nOne value is logged per line.`,
  ],
});

class Interpreter {
  readonly things: ReadonlyMap<string, Thing>;
  readonly out: string[] = [];
  steps = 0;
  /** A function was added to a number, which gives its source text. */
  isOdd = false;
  constructor(things: readonly Thing[]) {
    this.things = new Map(things.map((thing) => [thing.name, thing]));
  }

  find(thing: Thing | null, key: string): Property | null {
    this.steps += 1;
    if (thing === null) return null;
    return thing.own.get(key) ?? this.find(thing.parent, key);
  }

  /** A value as text; null: a TypeError. `depth` ends accessors that ask for each other. */
  read(self: Thing, key: string, depth = 0): string | null {
    const found = this.find(self, key);
    if (found === null) return "undefined";
    if (found.kind === "number") return String(found.by);
    if (found.kind === "accessor") return this.body(found, self, depth + 1);
    return "function";
  }

  /** this.<of> + by. */
  body({ of, by }: Property, self: Thing | null, depth: number): string | null {
    if (self === null || depth > 4) return null;
    const value = this.read(self, of, depth);
    if (value === "function") this.isOdd = true;
    if (value === null || value === "function" || value === "undefined") return value === null ? null : "NaN";
    return value === "NaN" ? value : String(Number(value) + by);
  }

  write(self: Thing, key: string, value: number, depth = 0): boolean {
    const found = this.find(self, key);
    if (found?.kind !== "accessor") {
      self.own.set(key, { kind: "number", of: "", by: value });
      return true;
    }
    return depth < 4 && this.write(self, found.of, value - found.by, depth + 1);
  }

  run(statement: Statement): void {
    const { key } = statement;
    const thing = this.things.get(statement.thing);
    if (thing === undefined) return;
    if (statement.kind === "write") {
      this.write(thing, key, statement.value);
      return;
    }
    if (statement.kind === "delete") {
      thing.own.delete(key);
      return;
    }
    if (statement.kind === "own" || statement.kind === "in") {
      this.out.push(String(statement.kind === "own" ? thing.own.has(key) : this.find(thing, key) !== null));
      return;
    }
    if (statement.kind === "read") {
      this.out.push(this.read(thing, key) ?? ERROR);
      return;
    }
    const found = this.find(thing, key);
    if (found === null || found.kind === "number" || found.kind === "accessor") {
      this.out.push(ERROR);
      return;
    }
    const self =
      statement.kind === "call" ? thing : "self" in statement ? (this.things.get(statement.self) ?? null) : null;
    this.out.push(this.body(found, found.kind === "arrow" ? null : self, 0) ?? ERROR);
  }
}

function propertyText(key: string, { kind, of, by }: Property): string {
  const value = `this.${of} + ${by}`;
  if (kind === "number") return `${key}: ${by}`;
  if (kind === "method") return `${key}() { return ${value}; }`;
  if (kind === "arrow") return `${key}: () => ${value}`;
  return `get ${key}() { return ${value}; }, set ${key}(v) { this.${of} = v - ${by}; }`;
}

function statementText(statement: Statement): string {
  const { kind, thing, key } = statement;
  if (kind === "write") return `${thing}.${key} = ${statement.value};`;
  if (kind === "delete") return `delete ${thing}.${key};`;
  if (kind === "own") return `log(() => Object.hasOwn(${thing}, "${key}"));`;
  if (kind === "in") return `log(() => "${key}" in ${thing});`;
  if (kind === "read") return `log(() => ${thing}.${key});`;
  if (kind === "call") return `log(() => ${thing}.${key}());`;
  if (kind === "detached") return `{ const f = ${thing}.${key}; log(() => f()); }`;
  return `log(() => ${thing}.${key}.call(${"self" in statement ? statement.self : "undefined"}));`;
}

const PROLOGUE = [
  '"use strict";',
  "function log(make) {",
  '  try { const v = make(); console.log(typeof v === "function" ? "function" : String(v)); }',
  "  catch (error) { console.log(error.name); }",
  "}",
];

function make(rng: Rng, level: Level) {
  const [count, properties, length, kinds, moves] = at(SIZES, level - 1);
  const names = THINGS.slice(0, count);
  const parents = names.map((_, index) => (index === 0 ? -1 : rng.integer(3) === 0 ? rng.integer(index) : index - 1));
  const all = names.map(() =>
    range(properties).map((): [string, Property] => {
      const key = rng.pick(KEYS);
      const kind = rng.pick((["number", "method", "accessor", "arrow"] as const).slice(0, kinds));
      return [
        key,
        {
          kind: rng.integer(3) === 0 ? "number" : kind,
          of: rng.pick(KEYS.filter((other) => other !== key)),
          by: between(rng, 1, 60),
        },
      ];
    }),
  );
  const build = (isFlat: boolean): Thing[] => {
    const things: Thing[] = [];
    for (const [index, name] of names.entries())
      things.push({ name, parent: isFlat ? null : (things[at(parents, index)] ?? null), own: new Map(all[index]) });
    return things;
  };
  const statements = range(length).map((): Statement => {
    const [thing, key] = [rng.pick(names), rng.pick(KEYS)];
    const kind = rng.pick(
      (["read", "write", "in", "call", "own", "delete", "borrowed", "detached"] as const).slice(0, moves),
    );
    if (kind === "write") return { kind, thing, key, value: between(rng, 1, 99) };
    return kind === "borrowed" ? { kind, thing, key, self: rng.pick(names) } : { kind, thing, key };
  });
  const run = (isFlat: boolean, of: readonly Statement[] = statements): Interpreter => {
    const interpreter = new Interpreter(build(isFlat));
    for (const statement of of) interpreter.run(statement);
    return interpreter;
  };
  const { out: items, steps, isOdd } = run(false);
  const numbers = items.filter((item) => /^\d/u.test(item) || item === "true" || item === "false");
  if (isOdd || items.length < length / 2 || numbers.length < items.length / 2 || new Set(items).size < items.length / 2)
    return null;
  // Accessors that ask for each other would end in a RangeError, and a write to one may never arrive.
  const loops = all.flat().filter(([, { kind }]) => kind === "accessor");
  if (
    loops.some(([key, { of }]) =>
      loops.some(([other, back]) => other === of && (back.of === key || loops.some(([third]) => third === back.of))),
    )
  )
    return null;
  const flat = run(true).out;
  const frozen = run(
    false,
    statements.filter(({ kind }) => kind !== "write" && kind !== "delete"),
  ).out;
  if (flat.join() === items.join()) return null;
  const source = [
    ...PROLOGUE,
    ...names.map((name, index) => {
      const body = [...new Map(all[index])].map(([key, property]) => propertyText(key, property)).join(", ");
      return `const ${name} = { __proto__: ${parents[index] === -1 ? "Object.prototype" : (names[at(parents, index)] ?? "")}, ${body} };`;
    }),
    ...statements.map(statementText),
  ];
  const misses = [flat, frozen, items.map((item) => (item === ERROR ? "undefined" : item)), items.toReversed()];
  return { problem: { source }, items, misses, effort: steps + length };
}
