/** destructor-order: the output of constructors and destructors in C++ scopes, loops, returns and moved-from pointers. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Statement =
  | { do: "local"; name: string }
  /** Lives until the end of the line. */
  | { do: "temporary"; name: string }
  /** Holds an object until it is reset, given another one, or leaves its scope. */
  | { do: "pointer"; variable: string; name: string }
  | { do: "reset"; variable: string; name: string | null }
  | { do: "block"; body: Statement[] }
  | { do: "loop"; times: number; body: Statement[]; leaves: number | null }
  | { do: "return" };
export interface DestructorProblem {
  body: Statement[];
}

/** By level: statements, and depth of blocks. */
const SIZES = [
  [4, 1],
  [6, 1],
  [8, 2],
  [11, 2],
  [16, 3],
] as const;

export const destructorOrder = itemRow<DestructorProblem>({
  id: "destructor-order",
  asks: "the order of constructions and destructions in C++ scopes, loops, early returns and owning pointers",
  form: "list",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${destructorSource(one)}\n\nWhat does this C++ program print? Give the printed marks (such as +a or -a) in order, separated by commas.`,
    (one) =>
      `Objects announce their birth with + and their end with -.\n\n${destructorSource(one)}\n\nList the announcements in the order of the output, comma-separated.`,
    (one) =>
      `When does each object die? Trace the C++ program and write its output as a list of marks with commas:\n\n${destructorSource(one)}`,
    (one) =>
      `${destructorSource(one)}\n\nLocals are destroyed in reverse order at the end of their block, temporaries at the end of the full expression, and a unique_ptr destroys what it owns. Output, marks separated by commas?`,
  ],
});

export function destructorSource({ body }: DestructorProblem): string {
  const lines = (some: readonly Statement[], indent: string): string[] =>
    some.flatMap((one): string[] => {
      switch (one.do) {
        case "local":
          return [`${indent}T ${one.name}{"${one.name}"};`];
        case "temporary":
          return [`${indent}T{"${one.name}"};`];
        case "pointer":
          return [`${indent}auto ${one.variable} = std::make_unique<T>("${one.name}");`];
        case "reset":
          return [
            one.name === null
              ? `${indent}${one.variable}.reset();`
              : `${indent}${one.variable} = std::make_unique<T>("${one.name}");`,
          ];
        case "block":
          return [`${indent}{`, ...lines(one.body, `${indent}    `), `${indent}}`];
        case "loop": {
          const leave = one.leaves === null ? [] : [`${indent}    if (n == ${one.leaves}) break;`];
          return [
            `${indent}for (int n = 0; n < ${one.times}; n++) {`,
            ...lines(one.body.slice(0, 1), `${indent}    `),
            ...leave,
            ...lines(one.body.slice(1), `${indent}    `),
            `${indent}}`,
          ];
        }
        case "return":
          return [`${indent}return;`];
      }
    });
  return `#include <cstdio>
#include <memory>
struct T {
    const char *n;
    explicit T(const char *name) : n(name) { std::printf("+%s\\n", n); }
    ~T() { std::printf("-%s\\n", n); }
};
void f() {
${lines(body, "    ").join("\n")}
}
int main() {
    f();
    std::printf("end\\n");
}`;
}

function make(rng: Rng, level: Level) {
  const [size, depth] = at(SIZES, level - 1);
  let next = 0;
  const fresh = (): string => "abcdefghijklmoqrstuvwxyz".charAt(next++ % 24);
  const block = (length: number, left: number, outer: readonly string[]): Statement[] => {
    const pointers = [...outer];
    const list: Statement[] = [];
    while (list.length < length) {
      const kind = rng.integer(10);
      if (kind < 3) list.push({ do: "local", name: fresh() });
      else if (kind < 5) list.push({ do: "temporary", name: fresh() });
      else if (kind === 5) {
        const variable = `p${next}`;
        list.push({ do: "pointer", variable, name: fresh() });
        pointers.push(variable);
      } else if (kind < 8 && pointers.length > 0)
        list.push({ do: "reset", variable: rng.pick(pointers), name: rng.integer(3) === 0 ? null : fresh() });
      else if (kind >= 8 && left > 0) {
        const inner = block(between(rng, 2, 3), left - 1, pointers);
        if (rng.integer(2) === 0) list.push({ do: "block", body: inner });
        else
          list.push({
            do: "loop",
            times: between(rng, 2, 3),
            body: inner,
            leaves: rng.integer(2) === 0 ? rng.integer(2) : null,
          });
      }
    }
    return list;
  };
  const body = block(size, depth, []);
  const cut = rng.integer(3) === 0 ? between(rng, Math.ceil(body.length / 2), body.length) : body.length;
  const whole: Statement[] = cut < body.length ? [...body.slice(0, cut), { do: "return" }, ...body.slice(cut)] : body;
  const problem = { body: whole };
  const items = run(whole, "right");
  if (next > 24 || items.length > 20 * level || items.length < 2 * level + 4) return null;
  const misses = (["forward", "late"] as const).map((slip) => run(whole, slip));
  if (misses[0]?.join() === items.join()) return null;
  return { problem, items, misses, effort: items.length + size };
}

/** Slips: objects of a block die in the order of their birth, or temporaries live to the end of the block. */
function run(body: readonly Statement[], how: "right" | "forward" | "late"): string[] {
  const printed: string[] = [];
  const owned = new Map<string, string | null>();
  const create = (name: string): void => {
    printed.push(`+${name}`);
  };
  const drop = (variable: string): void => {
    const name = owned.get(variable);
    if (name !== undefined && name !== null) printed.push(`-${name}`);
    owned.set(variable, null);
  };
  const scope = (some: readonly Statement[], leaves?: () => boolean): "next" | "return" | "break" => {
    const ends: (() => void)[] = [];
    let result: "next" | "return" | "break" = "next";
    for (const [index, one] of some.entries()) {
      if (index === 1 && leaves?.() === true) {
        result = "break";
        break;
      }
      if (one.do === "local" || one.do === "temporary") {
        create(one.name);
        const end = (): void => {
          printed.push(`-${one.name}`);
        };
        if (one.do === "local" || how === "late") ends.push(end);
        else end();
      } else if (one.do === "pointer") {
        create(one.name);
        owned.set(one.variable, one.name);
        ends.push(() => drop(one.variable));
      } else if (one.do === "reset") {
        // The new object is made before the old one dies.
        if (one.name !== null) create(one.name);
        drop(one.variable);
        owned.set(one.variable, one.name);
      } else if (one.do === "return") result = "return";
      else if (one.do === "block") result = scope(one.body);
      else
        for (const round of range(one.times)) {
          const ended = scope(one.body, () => round === one.leaves);
          if (ended === "return") result = "return";
          if (ended !== "next") break;
        }
      if (result !== "next") break;
    }
    for (const end of how === "forward" ? ends : ends.toReversed()) end();
    return result;
  };
  scope(body);
  return [...printed, "end"];
}
