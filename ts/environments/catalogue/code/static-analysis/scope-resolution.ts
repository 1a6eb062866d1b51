/** scope-resolution: which binding each read of a name sees, in nested functions and classes with global and nonlocal. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { Stackless } from "../../stackless.ts";
import { itemRow } from "../item-row.ts";

type Line =
  | { do: "print"; name: string }
  | { do: "set"; name: string; value: number }
  | { do: "raise"; name: string; value: number }
  | { do: "declare"; how: "global" | "nonlocal"; name: string }
  | { do: "function" | "class"; body: Line[]; calls: boolean };
export interface ScopeProblem {
  body: Line[];
}

/** By level: names, lines of a body, depth, least and most printed lines. */
const SIZES = [
  [1, 3, 1, 3, 5],
  [2, 3, 2, 5, 8],
  [2, 4, 2, 8, 12],
  [3, 4, 3, 12, 18],
  [3, 5, 3, 17, 30],
] as const;
const TRIES = 1_500;
const MOST_LINES = 40;

export const scopeResolution = itemRow<ScopeProblem>({
  id: "scope-resolution",
  asks: "the bindings that reads see in nested functions and classes with global and nonlocal",
  form: "lines",
  tries: TRIES,
  make: draw,
  prompts: [
    ({ body }) =>
      `Resolve the names by Python's rules of scope and give the output:\n\n${scopeSource(body)}\n\nOne printed line a line.`,
    ({ body }) =>
      `${scopeSource(body)}\n\nNames are local, global, nonlocal or in a class here. Which lines does Python 3 print? List them in order.`,
    ({ body }) =>
      `For each print, decide which assignment its variable refers to when it is reached. The program:\n\n${scopeSource(body)}\n\nWrite down its whole output, one line under the other.`,
    ({ body }) =>
      `A linter explains shadowed variables with this example. What does the example print? (Remember that functions do not see the names of a class body around them.)\n\n${scopeSource(body)}`,
  ],
});

export function scopeSource(body: readonly Line[]): string {
  let number = 0;
  const write = (lines: readonly Line[], depth: number): string[] =>
    lines.flatMap((line) => {
      const pad = "    ".repeat(depth);
      if (line.do === "print") return [`${pad}print("${line.name}", ${line.name})`];
      if (line.do === "set") return [`${pad}${line.name} = ${line.value}`];
      if (line.do === "raise") return [`${pad}${line.name} += ${line.value}`];
      if (line.do === "declare") return [`${pad}${line.how} ${line.name}`];
      const name = `${line.do === "class" ? "C" : "f"}${++number}`;
      const head = line.do === "class" ? `${pad}class ${name}:` : `${pad}def ${name}():`;
      return [
        head,
        ...write(line.body, depth + 1),
        ...(line.do === "function" && line.calls ? [`${pad}${name}()`] : []),
      ];
    });
  return write(body, 0).join("\n");
}

function draw(rng: Rng, level: Level) {
  const [count, length, depth, least, most] = at(SIZES, level - 1);
  const names = "xyz".slice(0, count).split("");
  const block = (left: number, isFunction: boolean): Line[] => {
    const declared: Line[] = isFunction
      ? names.flatMap((name): Line[] =>
          rng.integer(4) === 0 ? [{ do: "declare", how: rng.pick(["global", "nonlocal"] as const), name }] : [],
        )
      : [];
    const lines = range(length).map((): Line => {
      const name = rng.pick(names);
      const kind = rng.integer(left > 0 ? 9 : 6);
      if (kind >= 6) return { do: kind === 8 ? "class" : "function", body: block(left - 1, kind !== 8), calls: true };
      if (kind === 0) return { do: "raise", name, value: between(rng, 1, 9) };
      return kind <= 2 ? { do: "set", name, value: between(rng, 10, 99) } : { do: "print", name };
    });
    return [...declared, ...lines];
  };
  const body: Line[] = [
    ...names.map((name): Line => ({ do: "set", name, value: between(rng, 10, 99) })),
    ...block(depth, false),
    { do: "function", body: block(depth - 1, true), calls: true },
    ...sample(names, names.length, rng).map((name): Line => ({ do: "print", name })),
  ];
  const items = linesOf(body, "python");
  if (items === null || items.length < least || items.length > most) return null;
  const dynamic = linesOf(body, "one scope");
  if (dynamic === null || dynamic.join("\n") === items.join("\n")) return null;
  const misses = [
    dynamic,
    ...(["classes are seen", "no declarations"] as const).map((how) => linesOf(body, how) ?? dynamic),
  ];
  return { problem: { body }, items, misses, effort: items.length + 3 * depth + count };
}

type Reading = "python" | "one scope" | "classes are seen" | "no declarations";

interface Scope {
  kind: "module" | "function" | "class";
  values: Map<string, number>;
  /** Names that are assigned here and not declared. */
  own: ReadonlySet<string>;
  declared: ReadonlyMap<string, "global" | "nonlocal">;
  outer: Scope | null;
}

class Unbound extends Stackless {}

/** Null where Python refuses the program, or a name has no value. */
function linesOf(body: readonly Line[], reading: Reading): string[] | null {
  const lines: string[] = [];
  const module: Scope = { kind: "module", values: new Map(), own: new Set(), declared: new Map(), outer: null };
  const enter = (kind: Scope["kind"], inner: readonly Line[], outer: Scope): Scope => {
    if (reading === "one scope") return outer;
    const declared = new Map(inner.flatMap((line) => (line.do === "declare" ? [[line.name, line.how] as const] : [])));
    if (reading === "no declarations") declared.clear();
    const own = new Set(
      inner.flatMap((line) =>
        (line.do === "set" || line.do === "raise") && !declared.has(line.name) ? [line.name] : [],
      ),
    );
    return { kind, values: new Map(), own, declared, outer };
  };
  /** The function around a scope that binds the name. */
  const enclosing = (name: string, from: Scope | null): Scope | null => {
    for (let scope = from; scope !== null && scope.kind !== "module"; scope = scope.outer) {
      const isSeen = scope.kind === "function" || reading === "classes are seen";
      if (isSeen && scope.own.has(name)) return scope;
      const how = isSeen ? scope.declared.get(name) : undefined;
      if (how === "global") return module;
    }
    return null;
  };
  /** Where the name is written and read, apart from the class rule. */
  const home = (name: string, scope: Scope): Scope => {
    if (scope.kind === "module") return module;
    const how = scope.declared.get(name);
    if (how === "global") return module;
    if (how === "nonlocal") {
      const found = enclosing(name, scope.outer);
      // Python refuses a nonlocal name that no function around binds.
      if (found === null || found === module) throw new Unbound();
      return found;
    }
    if (scope.own.has(name)) return scope;
    return enclosing(name, scope.outer) ?? module;
  };
  const read = (name: string, scope: Scope): number => {
    const place = home(name, scope);
    let value = place.values.get(name);
    // A name that a class has not bound yet is looked up among the globals.
    if (value === undefined && place.kind === "class") value = module.values.get(name);
    if (value === undefined) throw new Unbound();
    return value;
  };
  const run = (inner: readonly Line[], scope: Scope): void => {
    for (const line of inner) {
      if (line.do === "declare") home(line.name, scope);
      else if (line.do === "print") lines.push(`${line.name} ${read(line.name, scope)}`);
      else if (line.do === "set") home(line.name, scope).values.set(line.name, line.value);
      else if (line.do === "raise") {
        const value = read(line.name, scope) + line.value;
        home(line.name, scope).values.set(line.name, value);
      } else if (line.do === "class" || line.calls) run(line.body, enter(line.do, line.body, scope));
      if (lines.length > MOST_LINES) throw new Unbound();
    }
  };
  try {
    run(body, module);
  } catch (error) {
    if (error instanceof Unbound) return null;
    throw error;
  }
  return lines;
}
