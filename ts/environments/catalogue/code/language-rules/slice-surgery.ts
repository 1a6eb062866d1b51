/** slice-surgery: a Python list after slices with negative steps and bounds are read, assigned and deleted. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Bound = number | null;
interface Step {
  readonly kind: "assign" | "delete" | "take" | "insert" | "pop";
  readonly slice: readonly [Bound, Bound, Bound];
  readonly values: readonly number[];
}
export interface SliceProblem {
  source: string[];
}

/** By level: statements, length of the list, largest step of a slice. */
const SIZES = [
  [2, 6, 1],
  [3, 7, 2],
  [5, 9, 3],
  [7, 11, 3],
  [11, 13, 4],
] as const;

export const sliceSurgery = itemRow<SliceProblem>({
  id: "slice-surgery",
  asks: "a Python list after statements that read, assign and delete slices with steps and negative bounds",
  form: "lines",
  tries: 40,
  make,
  prompts: [
    ({ source }) => `What does this Python program print?\n\n${source.join("\n")}\n\nGive each printed line.`,
    ({ source }) =>
      `${source.join("\n")}\n\nWrite down the output of this Python 3 code, one line for each print, as Python prints lists.`,
    ({ source }) =>
      `Slices, negative indices and steps:\n\n${source.join("\n")}\n\nPredict the lines that Python prints.`,
    ({ source }) => `Trace the list through the program and state what is printed.\n\n${source.join("\n")}`,
  ],
});

/** Indices that a slice of Python names, in its order. */
function indicesOf([from, to, by]: Step["slice"], length: number): number[] {
  const step = by ?? 1;
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1];
  const bound = (value: Bound, missing: number): number =>
    value === null ? missing : Math.min(high, Math.max(low, value < 0 ? value + length : value));
  const [first, last] = [bound(from, step > 0 ? 0 : length - 1), bound(to, step > 0 ? length : -1)];
  const indices: number[] = [];
  for (let index = first; step > 0 ? index < last : index > last; index += step) indices.push(index);
  return indices;
}

function textOf({ kind, slice: [from, to, by], values }: Step): string {
  const inner = `${from ?? ""}:${to ?? ""}${by === null ? "" : `:${by}`}`;
  if (kind === "assign") return `a[${inner}] = [${values.join(", ")}]`;
  if (kind === "delete") return `del a[${inner}]`;
  if (kind === "take") return `print(a[${inner}])`;
  return kind === "insert" ? `a.insert(${from ?? 0}, ${values[0] ?? 0})` : `print(a.pop(${from ?? -1}))`;
}

/** The list afterwards; null where Python raises an error. Printed values go to `out`. */
function apply({ kind, slice, values }: Step, list: readonly number[], out: string[]): number[] | null {
  const [from] = slice;
  const indices = indicesOf(slice, list.length);
  if (kind === "take") {
    out.push(shown(indices.map((index) => at(list, index))));
    return [...list];
  }
  if (kind === "delete") return list.filter((_, index) => !indices.includes(index));
  if (kind === "insert") {
    const place = indicesOf([from, null, null], list.length)[0] ?? list.length;
    return list.toSpliced(place, 0, at(values, 0));
  }
  if (kind === "pop") {
    const place = (from ?? -1) < 0 ? list.length + (from ?? -1) : (from ?? 0);
    const value = list[place];
    if (value === undefined) return null;
    out.push(String(value));
    return list.toSpliced(place, 1);
  }
  if (slice[2] !== null) {
    if (indices.length !== values.length) return null;
    return list.map((value, index) => values[indices.indexOf(index)] ?? value);
  }
  const start =
    slice[0] === null ? 0 : Math.min(list.length, Math.max(0, slice[0] < 0 ? slice[0] + list.length : slice[0]));
  return list.toSpliced(indices[0] ?? start, indices.length, ...values);
}

function shown(list: readonly number[]): string {
  return `[${list.join(", ")}]`;
}

function make(rng: Rng, level: Level) {
  const [count, length, most] = at(SIZES, level - 1);
  const first = range(length).map(() => between(rng, 1, 9));
  const bound = (): Bound => (rng.integer(3) === 0 ? null : between(rng, -length - 1, length + 1));
  const out: string[] = [];
  const steps: Step[] = [];
  let list = first;
  let fresh = 10;
  let touched = 0;
  for (let draw = 0; draw < 20 * count && steps.length < count; draw++) {
    const kind = rng.pick(["assign", "assign", "delete", "take", "insert", "pop"] as const);
    const by = rng.integer(2) === 0 ? null : rng.pick([-1, -2, 2, -3, 3, -4, 4].filter((one) => Math.abs(one) <= most));
    const isPlace = kind === "insert" || kind === "pop";
    const slice: Step["slice"] = isPlace ? [between(rng, -length, length), null, null] : [bound(), bound(), by];
    const indices = indicesOf(slice, list.length);
    const size = kind === "insert" ? 1 : kind !== "assign" ? 0 : by === null ? between(rng, 0, 3) : indices.length;
    const step: Step = { kind, slice, values: range(size).map((index) => fresh + index) };
    const next = apply(step, list, []);
    if (
      next === null ||
      (kind !== "insert" && indices.length === 0) ||
      next.length < 3 ||
      indices.length === list.length
    )
      continue;
    fresh += size;
    touched += isPlace ? 1 : indices.length;
    list = apply(step, list, out) ?? list;
    steps.push(step);
  }
  if (steps.length < count || !steps.some(({ slice }) => slice.some((one) => one !== null && one < 0))) return null;
  const items = [...out, shown(list)];
  // Readers who take negative bounds from the front, forget the step, or include the end.
  const reread = (change: (slice: Step["slice"]) => Step["slice"]): string[] => {
    const printed: string[] = [];
    let now = first;
    for (const step of steps) now = apply({ ...step, slice: change(step.slice) }, now, printed) ?? now;
    return [...printed, shown(now)];
  };
  const misses = [
    reread(([from, to, by]) => [from === null ? null : Math.abs(from), to === null ? null : Math.abs(to), by]),
    reread(([from, to, by]) => [from, to === null ? null : to + 1, by]),
    reread(([from, to, by]) => [from, to, by === null ? null : Math.abs(by)]),
    [...out, shown(first)],
    [...out, shown(list.toReversed())],
  ];
  const source = [`a = ${shown(first)}`, ...steps.map(textOf), "print(a)"];
  return { problem: { source }, items, misses, effort: touched + 3 * count };
}
