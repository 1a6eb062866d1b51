/** default-argument-trace: the results of Python functions whose default lists live on and whose closures read late. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** A function that changes a list argument and returns it. */
interface Mutator {
  name: string;
  how: "append" | "rebind" | "insert" | "fresh";
}
type Step =
  | { do: "call"; mutator: number; value: number; list: string | null; into: string }
  /** Makes functions in a loop; with `early` each keeps its own number. */
  | { do: "closures"; count: number; factor: number; early: boolean; index: number; into: string };
export interface DefaultsProblem {
  mutators: Mutator[];
  steps: Step[];
  names: string[];
}

/** By level: functions, steps. */
const SIZES = [
  [1, 3],
  [2, 5],
  [2, 7],
  [3, 10],
  [4, 15],
] as const;
const BODIES = {
  append: (name: string) => `def ${name}(x, seen=[]):\n    seen.append(x)\n    return seen`,
  rebind: (name: string) => `def ${name}(x, seen=[]):\n    seen = seen + [x]\n    return seen`,
  insert: (name: string) => `def ${name}(x, seen=[]):\n    seen.insert(0, x)\n    return list(seen)`,
  fresh: (name: string) => `def ${name}(x, seen=None):\n    seen = seen or []\n    seen.append(x)\n    return seen`,
} as const;

export const defaultArgumentTrace = itemRow<DefaultsProblem>({
  id: "default-argument-trace",
  asks: "what Python names hold after calls with default lists that live on and closures that read late",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) => `${defaultsSource(one)}\n\nWhat does this Python program print, line by line?`,
    (one) =>
      `Default values are evaluated once, and names that share a list see its changes. Write the printed lines of\n\n${defaultsSource(one)}`,
    (one) => `Predict the output (lists as Python writes them, a line for each print):\n\n${defaultsSource(one)}`,
    (one) =>
      `A reviewer suspects shared state in this module.\n\n${defaultsSource(one)}\n\nShow it by the lines that are printed.`,
  ],
});

export function defaultsSource({ mutators, steps, names }: DefaultsProblem): string {
  const lines = steps.map((step) =>
    step.do === "call"
      ? `${step.into} = ${at(mutators, step.mutator).name}(${step.value}${step.list === null ? "" : `, ${step.list}`})`
      : `${step.into} = [lambda${step.early ? " i=i" : ""}: i * ${step.factor} for i in range(${step.count})][${step.index}]()`,
  );
  return `${mutators.map(({ name, how }) => BODIES[how](name)).join("\n\n")}\n\n${lines.join("\n")}\n${names.map((name) => `print(${name})`).join("\n")}`;
}

function make(rng: Rng, level: Level) {
  const [functions, count] = at(SIZES, level - 1);
  const kinds = shuffled(["append", "rebind", "insert", "fresh"] as const, rng);
  const mutators = range(functions).map((index): Mutator => ({
    name: at(["note", "keep", "push", "take"], index),
    how: level === 1 ? rng.pick(["append", "insert"] as const) : at(kinds, index),
  }));
  const names = "pqrstuvwxyz".slice(0, Math.ceil(count * 0.6)).split("");
  const lists: string[] = [];
  const steps = range(count).map((index): Step => {
    const into = index < names.length ? at(names, index) : rng.pick(names);
    if (level > 1 && index > 0 && rng.integer(6) === 0) {
      const size = between(rng, 3, 5);
      if (lists.includes(into)) lists.splice(lists.indexOf(into), 1);
      return {
        do: "closures",
        count: size,
        factor: between(rng, 2, 9),
        early: rng.integer(3) === 0,
        index: rng.integer(size - 1),
        into,
      };
    }
    const list = lists.length > 0 && rng.integer(2) === 0 ? rng.pick(lists) : null;
    if (!lists.includes(into)) lists.push(into);
    return { do: "call", mutator: rng.integer(functions), value: between(rng, 1, 99), list, into };
  });
  const problem = { mutators, steps, names };
  const items = run(problem, "right");
  const misses = (["fresh", "early"] as const).map((slip) => run(problem, slip));
  if (new Set(items).size < Math.min(3, names.length) || misses[0]?.join() === items.join()) return null;
  return { problem, items, misses, effort: 3 * count + items.join("").split(",").length };
}

/** Slips: a default list is new for each call, or closures keep the number of their round. */
function run({ mutators, steps, names }: DefaultsProblem, how: "right" | "fresh" | "early"): string[] {
  const values = new Map<string, number[] | number>();
  const defaults = mutators.map((): number[] => []);
  for (const step of steps) {
    if (step.do === "closures") {
      values.set(step.into, (step.early || how === "early" ? step.index : step.count - 1) * step.factor);
      continue;
    }
    const kind = at(mutators, step.mutator).how;
    const given = step.list === null ? undefined : values.get(step.list);
    const own = Array.isArray(given) ? given : how === "fresh" ? [] : at(defaults, step.mutator);
    // An empty list counts as none where the function says `seen or []`.
    const list = kind === "fresh" && (!Array.isArray(given) || given.length === 0) ? [] : own;
    if (kind === "rebind") values.set(step.into, [...list, step.value]);
    else if (kind === "insert") {
      list.unshift(step.value);
      values.set(step.into, [...list]);
    } else {
      list.push(step.value);
      values.set(step.into, list);
    }
  }
  return names.map((name) => {
    const value = values.get(name);
    return Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
  });
}
