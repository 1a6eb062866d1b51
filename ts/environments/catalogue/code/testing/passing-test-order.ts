/** passing-test-order: an order of tests that share state in which every test passes. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

interface SharedTest {
  needs: { name: string; value: number }[];
  sets: { name: string; value: number }[];
}
interface Problem {
  start: { name: string; value: number }[];
  tests: SharedTest[];
}

/** By level: tests, shared variables, values of a variable. */
const SIZES = [
  [4, 2, 2],
  [6, 2, 3],
  [8, 3, 3],
  [11, 3, 3],
  [15, 4, 4],
] as const;
const NAMES = ["user", "mode", "cache", "locale"];
const ORDERS = 40;
/** By level: random orders of these that may pass. */
const MOST_LUCKY = [3, 2, 1, 0, 0] as const;

export const passingTestOrder = witnessRow<Problem>({
  id: "passing-test-order",
  asks: "an order of tests with shared state in which none of them fails",
  form: "list",
  tries: 40,
  make,
  isRight: (problem, items) =>
    items.length === problem.tests.length &&
    new Set(items).size === items.length &&
    passes(
      problem,
      items.map((item) => (/^t\d{1,2}$/u.test(item) ? Number(item.slice(1)) - 1 : -1)),
    ),
  prompts: [
    (one) =>
      `${text(one)}\n\nA test passes if the variables have the values that it needs; then it sets some. In which order do all tests pass? List all of them, separated by commas.`,
    (one) =>
      `These tests leak state into each other:\n\n${text(one)}\n\nFind an order of the whole suite without a failure. A test fails unless everything that it needs holds when it starts. Write the names in order with commas.`,
    (one) =>
      `The suite is green only in some orders.\n\n${text(one)}\n\nGive one such order of all ${one.tests.length} tests (comma-separated names); each test's needs must hold right before it, after the assignments of the earlier ones.`,
    (one) =>
      `Why did the shuffled run fail? Because of\n\n${text(one)}\n\nShow a permutation of the tests that works: every requirement is met at the moment the test begins. Names in order of execution, commas between.`,
  ],
});

function text({ start, tests }: Problem): string {
  const list = (some: SharedTest["needs"]): string => some.map(({ name, value }) => `${name} = ${value}`).join(" and ");
  const lines = tests.map(({ needs, sets }, index) => {
    const parts = [
      ...(needs.length === 0 ? [] : [`needs ${list(needs)}`]),
      ...(sets.length === 0 ? [] : [`sets ${list(sets)}`]),
    ];
    return `t${index + 1} ${parts.join("; ") || "needs nothing"}`;
  });
  return `At first ${list(start)}.\n${lines.join("\n")}`;
}

function make(rng: Rng, level: Level) {
  const [count, variables, values] = at(SIZES, level - 1);
  const names = NAMES.slice(0, variables);
  const start = names.map((name) => ({ name, value: rng.integer(values) }));
  const state = new Map(start.map(({ name, value }) => [name, value]));
  const tests = range(count).map((): SharedTest => {
    const needs = sample(names, rng.pick([1, 1, 1, 2]), rng).map((name) => ({ name, value: state.get(name) ?? 0 }));
    const sets = sample(names, rng.pick([0, 1, 1, 1]), rng).map((name) => ({ name, value: rng.integer(values) }));
    for (const { name, value } of sets) state.set(name, value);
    return { needs, sets };
  });
  const places = shuffled(range(count), rng);
  const problem = { start, tests: places.map((place) => at(tests, place)) };
  const order = range(count).map((index) => places.indexOf(index));
  const label = (some: readonly number[]): string[] => some.map((index) => `t${index + 1}`);
  const random = range(ORDERS).map(() => shuffled(range(count), rng));
  const lucky = random.filter((one) => passes(problem, one)).length;
  if (passes(problem, range(count)) || lucky > at(MOST_LUCKY, level - 1)) return null;
  return {
    problem,
    witness: label(order),
    misses: [label(range(count)), ...random.slice(0, 3).map(label)],
    effort: count * count + variables * values,
  };
}

function passes({ start, tests }: Problem, order: readonly number[]): boolean {
  const state = new Map(start.map(({ name, value }) => [name, value]));
  return order.every((index) => {
    const test = tests[index];
    if (test === undefined || !test.needs.every(({ name, value }) => state.get(name) === value)) return false;
    for (const { name, value } of test.sets) state.set(name, value);
    return true;
  });
}
