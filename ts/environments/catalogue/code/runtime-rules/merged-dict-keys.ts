/** merged-dict-keys: a Python dictionary whose keys are equal across types, in its order after updates and removals. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Key = "0" | "1" | "2" | "0.0" | "1.0" | "2.0" | "False" | "True" | "'1'" | "(1, 2)" | "(True, 2.0)";
type Step =
  | { do: "set" | "setdefault"; key: Key; value: number }
  | { do: "pop"; key: Key }
  | { do: "update"; entries: [Key, number][] }
  | { do: "popitem" };
export interface DictProblem {
  start: [Key, number][];
  steps: Step[];
}

/** By level: entries at first, steps. */
const SIZES = [
  [3, 2],
  [4, 4],
  [4, 6],
  [5, 10],
  [6, 16],
] as const;
const KEYS: readonly Key[] = ["0", "1", "2", "0.0", "1.0", "2.0", "False", "True", "'1'", "(1, 2)", "(True, 2.0)"];
/** Keys that are equal in Python, as one text. */
const EQUALS: Readonly<Record<string, string>> = {
  "0.0": "0",
  False: "0",
  "1.0": "1",
  True: "1",
  "2.0": "2",
  "(True, 2.0)": "(1, 2)",
};

export const mergedDictKeys = itemRow<DictProblem>({
  id: "merged-dict-keys",
  asks: "the keys and values of a Python dictionary, in order, when keys of several types are equal",
  form: "lines",
  tries: 40,
  make,
  prompts: [
    (one) => `${dictSource(one)}\n\nWrite the output of this Python program: one line for each entry, as printed.`,
    (one) => `Which keys are the same key? Predict the printed lines (key, colon, value) of\n\n${dictSource(one)}`,
    (one) =>
      `Python 3 keeps the order of insertion, and 1, 1.0 and True are equal.\n\n${dictSource(one)}\n\nGive the printed entries, a line each.`,
    (one) =>
      `What is in d at the end, and in which order? Answer with the lines that this program prints.\n\n${dictSource(one)}`,
  ],
});

export function dictSource({ start, steps }: DictProblem): string {
  const entries = (some: readonly [Key, number][]): string =>
    `{${some.map(([key, value]) => `${key}: ${value}`).join(", ")}}`;
  const lines = steps.map((step) => {
    if (step.do === "set") return `d[${step.key}] = ${step.value}`;
    if (step.do === "setdefault") return `d.setdefault(${step.key}, ${step.value})`;
    if (step.do === "pop") return `d.pop(${step.key}, None)`;
    return step.do === "update" ? `d.update(${entries(step.entries)})` : "d.popitem()";
  });
  return `d = ${entries(start)}\n${lines.join("\n")}\nfor key, value in d.items():\n    print(f"{key!r}: {value}")`;
}

function make(rng: Rng, level: Level) {
  const [size, count] = at(SIZES, level - 1);
  const entry = (): [Key, number] => [rng.pick(KEYS), between(rng, 1, 99)];
  const start = range(size).map(entry);
  const steps = range(count).map((index): Step => {
    const [key, value] = entry();
    const kind = rng.integer(9);
    if (kind < 4) return { do: "set", key, value };
    if (kind === 4) return { do: "setdefault", key, value };
    if (kind < 7) return { do: "pop", key };
    return kind === 7 || index < 2 ? { do: "update", entries: [entry(), entry()] } : { do: "popitem" };
  });
  const problem = { start, steps };
  const { items, merges, isWhole } = run(problem, "right");
  if (!isWhole || items.length < 2 || merges < Math.min(4, level)) return null;
  const misses = (["types", "new", "moves"] as const).map((slip) => run(problem, slip).items);
  if (misses[0]?.join() === items.join() || misses[1]?.join() === items.join()) return null;
  return { problem, items, misses, effort: size + 2 * count + merges };
}

/** Slips: keys of other types differ, a set takes over the new key, or a set moves the entry to the end. */
function run({ start, steps }: DictProblem, how: "right" | "types" | "new" | "moves") {
  const entries = new Map<string, { key: Key; value: number }>();
  let merges = 0;
  let isWhole = true;
  const canonical = (key: Key): string => (how === "types" ? key : (EQUALS[key] ?? key));
  const set = (key: Key, value: number): void => {
    const known = entries.get(canonical(key));
    if (known !== undefined && known.key !== key) merges += 1;
    if (how === "moves") entries.delete(canonical(key));
    entries.set(canonical(key), { key: how === "new" ? key : (known?.key ?? key), value });
  };
  for (const [key, value] of start) set(key, value);
  for (const step of steps) {
    if (step.do === "set") set(step.key, step.value);
    else if (step.do === "setdefault") {
      if (!entries.has(canonical(step.key))) set(step.key, step.value);
    } else if (step.do === "pop") entries.delete(canonical(step.key));
    else if (step.do === "popitem") {
      isWhole &&= entries.size > 0;
      entries.delete([...entries.keys()].at(-1) ?? "");
    } else if (step.do === "update") {
      // A literal is a dictionary itself: its equal keys merge before the update.
      const inner = new Map<string, [Key, number]>();
      for (const [key, value] of step.entries)
        inner.set(canonical(key), [inner.get(canonical(key))?.[0] ?? key, value]);
      for (const [key, value] of inner.values()) set(key, value);
    }
  }
  return { items: [...entries.values()].map(({ key, value }) => `${key}: ${value}`), merges, isWhole };
}
