/** The gate finds what is wrong with a row of programs, and its report does not depend on how many of them run at once. */
import { afterAll, expect, test } from "vitest";

import { inspectProgram } from "../../../../ts/environments/catalogue/gate/inspect-program.ts";
import { defineProgramRow, LEVELS, type ProgramRow } from "../../../../ts/environments/catalogue/row.ts";
import { SandboxSource } from "../../../../ts/environments/sandboxes/sandboxes.ts";
import type { SandboxPool } from "../../../../ts/sandbox/index.ts";

interface Sum {
  readonly add: number;
  readonly level: number;
}

const sandboxes = new SandboxSource();
afterAll(async () => sandboxes.close());

const program = (add: number): string => `def plus(x):\n    return x + ${add}`;

const row: ProgramRow = defineProgramRow<Sum>({
  id: "plus",
  asks: "a sum",
  place: "code",
  make: (rng, level) => ({ add: 100 + rng.integer(1_000_000), level }),
  effort: ({ level }) => level,
  prompts: [
    ({ add }) => `Write plus(x), which adds ${add} to x.`,
    ({ add }) => `A shop raises every price by ${add}. Its function is called plus and gets an old price.`,
    ({ add }) => `Needed: the sum of ${add} and an argument, as the result of one Python function "plus".`,
    ({ add }) => `Implement a counter that jumps forward ${add} units at once; name it plus.`,
  ],
  gold: ({ add }) => program(add),
  nearMisses: ({ add }) => [1, 2, 3].map((more) => program(add + more)),
  cheats: () => ["def plus(x):\n    return x", "import os\nos._exit(0)"],
  exam: ({ add }) => ({
    language: "python",
    functionName: "plus",
    tests: [0, 1, 2].map((x) => ({ input: [x], output: x + add })),
    timeLimitMs: 4_000,
    base: 0,
  }),
});

async function inspected(one: ProgramRow, atOnce: number) {
  let [running, most] = [0, 0];
  const pool = await sandboxes.pool();
  const watched = new Proxy(pool, {
    get(target, name: keyof SandboxPool) {
      const value: unknown = target[name];
      if (name !== "runTests" && name !== "runOnce") return value;
      return async (request: never) => {
        most = Math.max(most, ++running);
        return target[name](request).finally(() => (running -= 1));
      };
    },
  });
  const limits = {
    perLevel: 2,
    scored: 1,
    scoredLevels: LEVELS,
    foreign: 1,
    cheated: 1,
    misses: 3,
    cheats: 4,
    injections: 100,
    atOnce,
  };
  const { rate: _, ...report } = await inspectProgram("code/plus", one, { ...limits, seed: 1, pool: watched });
  return { report, most };
}

test("a sound row passes, and the report is the same however many programs run at once", async () => {
  const [alone, together] = [await inspected(row, 1), await inspected(row, 3)];
  expect(alone.report.failures).toEqual([]);
  expect(together.report).toEqual(alone.report);
  expect([alone.most, together.most]).toEqual([1, 3]);
});

let drawn = 0;
test.each<[string, Partial<ProgramRow>, string]>([
  [
    "a row whose wordings are the same text",
    { prompts: LEVELS.flatMap(() => row.prompts.slice(0, 1)) },
    "differ in 0 words",
  ],
  ["a wrong gold program", { gold: () => program(0) }, "the gold program scores 0"],
  ["a near miss that is right", { nearMisses: (one) => [`${row.gold(one)}\n`, "a", "b"] }, "scores 1"],
  ["a near miss that is the gold program", { nearMisses: (one) => [row.gold(one), "a", "b"] }, "is the gold program"],
  ["a cheat that earns", { cheats: (one) => [row.gold(one)] }, "scores 1"],
  [
    "a verdict that the program prints and that earns",
    {
      exam(one) {
        const { functionName: _, ...exam } = row.exam(one);
        const tests = [{ input: "", output: "accepted" }];
        return { ...exam, tests, earns: (printed) => (printed.includes("1 passed") ? 1 : 0) };
      },
    },
    String.raw`print(\"accepted\")`,
  ],
  ["an exam that changes", { exam: (one) => ({ ...row.exam(one), timeLimitMs: 3_000 + drawn++ }) }, "another exam"],
  [
    "credit for less than all tests",
    { exam: (one) => ({ ...row.exam(one), credit: (passed) => (passed.filter(Boolean).length > 1 ? 1 : 0) }) },
    "a program that fails a test earns 1",
  ],
])("%s fails", async (_, change, message) => {
  const { report } = await inspected({ ...row, ...change }, 3);
  expect(report.failures).toEqual(expect.arrayContaining([expect.stringContaining(message)]));
});
