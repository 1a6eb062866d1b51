/** fallthrough-trace: the output of C switches in loops with missing breaks, defaults in the middle and continue. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Case {
  /** Null: default. */
  label: number | null;
  effect: { factor: number; plus: number };
  prints: boolean;
  ends: "break" | "continue" | null;
}
export interface SwitchProblem {
  start: number;
  modulus: number;
  rounds: number;
  cases: Case[];
  after: number;
}

/** By level: cases, rounds. */
const SIZES = [
  [3, 3],
  [4, 4],
  [5, 6],
  [6, 9],
  [8, 14],
] as const;

export const fallthroughTrace = itemRow<SwitchProblem>({
  id: "fallthrough-trace",
  asks: "the output of C switches in loops with missing breaks, a default in the middle and continue",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) => `${switchSource(one)}\n\nWhat does this C program print? One number a line, as printed.`,
    (one) => `Some breaks are missing on purpose. Write the printed numbers, each on a line:\n\n${switchSource(one)}`,
    (one) => `Trace x through the rounds of the loop and list the output, line by line.\n\n${switchSource(one)}`,
    (one) => `Output wanted (C, one printed number per line):\n\n${switchSource(one)}`,
  ],
});

export function switchSource({ start, modulus, rounds, cases, after }: SwitchProblem): string {
  const body = cases.flatMap(({ label, effect, prints, ends }) => [
    `        ${label === null ? "default" : `case ${label}`}:`,
    `            x = x * ${effect.factor} + ${effect.plus};`,
    ...(prints ? [`            printf("%d\\n", x);`] : []),
    ...(ends === null ? [] : [`            ${ends};`]),
  ]);
  return `#include <stdio.h>\nint main(void) {\n    int x = ${start};\n    for (int i = 0; i < ${rounds}; i++) {\n        switch (x % ${modulus}) {\n${body.join("\n")}\n        }\n        x = x % 100 + ${after};\n    }\n    printf("%d\\n", x);\n    return 0;\n}`;
}

function make(rng: Rng, level: Level) {
  const [count, rounds] = at(SIZES, level - 1);
  const modulus = count + rng.integer(2);
  const labels = shuffled(range(modulus), rng).slice(0, count - 1);
  const cases = shuffled([...labels, null], rng).map((label): Case => ({
    label,
    effect: { factor: rng.pick([1, 1, 2]), plus: between(rng, 1, 9) },
    prints: rng.integer(2) === 0,
    ends: rng.pick(["break", null, null, "continue"] as const),
  }));
  const problem = { start: between(rng, 1, 30), modulus, rounds, cases, after: between(rng, 1, 9) };
  const right = run(problem, "right");
  if (right === null || right.items.length < rounds / 2 || right.falls < rounds / 2) return null;
  const slips = (["breaks", "last", "leaves"] as const).map((slip) => run(problem, slip)?.items ?? []);
  if (slips[0]?.join() === right.items.join()) return null;
  return { problem, items: right.items, misses: slips, effort: right.falls + 3 * rounds + count };
}

/** Slips: every case breaks, default is tried last in place, or continue acts as break. Null where a number gets large. */
function run({ start, modulus, rounds, cases, after }: SwitchProblem, how: "right" | "breaks" | "last" | "leaves") {
  const order =
    how === "last"
      ? [...cases.filter(({ label }) => label !== null), ...cases.filter(({ label }) => label === null)]
      : cases;
  const items: string[] = [];
  let x = start;
  let falls = 0;
  for (const _ of range(rounds)) {
    const found = order.findIndex(({ label }) => label === x % modulus);
    const first = found < 0 ? order.findIndex(({ label }) => label === null) : found;
    let isContinued = false;
    for (const { effect, prints, ends } of order.slice(first)) {
      falls += 1;
      x = x * effect.factor + effect.plus;
      if (prints) items.push(String(x));
      if (ends === null && how !== "breaks") continue;
      isContinued = ends === "continue" && how !== "leaves";
      break;
    }
    if (!isContinued) x = (x % 100) + after;
    if (x > 1e8) return null;
  }
  return { items: [...items, String(x)], falls };
}
