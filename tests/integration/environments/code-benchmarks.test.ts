/** HumanEval+ and MBPP+ with programs in sandboxes, on tasks of our own in the published shape. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { SandboxPool } from "../../../ts/sandbox/index.ts";
import type { Benchmark } from "../../../ts/environments/benchmarks/benchmark.ts";
import { findBenchmark } from "../../../ts/environments/benchmarks/index.ts";
import { scoringContext } from "../../support/scoring-context.ts";
import { loadEnvironment } from "../../../ts/environments/index.ts";

let dir: string;
let pool: SandboxPool;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "prl-code-"));
  pool = await SandboxPool.start();
});
afterAll(async () => {
  await pool.close();
  rmSync(dir, { recursive: true });
});

async function taskOf(name: string, row: object, args: object = {}) {
  const data = join(dir, `${name}.jsonl`);
  writeFileSync(data, JSON.stringify(row));
  const source = (await loadEnvironment(`benchmark/${name}`)).configure({ data, ...args }).tasks("eval", 0);
  const [task] = (await source.page(null, 10)).tasks;
  const { prompt, gold } = (task?.data ?? {}) as { prompt?: unknown; gold?: unknown };
  const { scorers } = findBenchmark(name) as unknown as Benchmark<object>;
  const context = scoringContext({ sandboxes: () => Promise.resolve(pool) });
  return { prompt, scored: async (scorer: string, reply: string) => scorers[scorer]?.(reply, gold, context) };
}

const SUM = {
  task_id: "Made/0",
  prompt: 'def add(a, b):\n    """Adds."""\n',
  entry_point: "add",
  test: "def check(candidate):\n    for i in range(9):\n        assert candidate(i, 2) == i + 2\n",
};
const TWICE = {
  prompt: "Write a function that doubles a number.",
  code: "def twice(n):\n    return 2 * n",
  test_imports: [],
  test_list: ["assert twice(1) == 2", "assert twice(0) == 0", "assert twice(-1) == -2"],
  test: "for i in range(50):\n    assert twice(i) == 2 * i\n",
};
const fenced = (code: string): string => `Here it is.\n\`\`\`python\n${code}\n\`\`\`\n`;

test("a program of a chat reply passes when it runs through all tests", async () => {
  const { prompt, scored } = await taskOf("human-eval-plus", SUM);
  expect(JSON.stringify(prompt)).toContain("markdown code block");
  expect(await scored("passed", fenced("def add(a, b):\n    return a + b"))).toBe(true);
  expect(await scored("passed", fenced("def add(a, b):\n    return a - b"))).toBe(false);
  expect(await scored("passed", fenced("import sys\nsys.exit(0)"))).toBe(false);
  expect(await scored("passed", fenced("def add(a, b:"))).toBe(false);
  expect(await scored("passed", "")).toBe(false);
});

test("a completion continues the function in the mode lm-eval", async () => {
  const { prompt, scored } = await taskOf("human-eval-plus", SUM, { mode: "lm-eval" });
  expect(prompt).toBe(SUM.prompt);
  expect(await scored("passed", "    return a + b\n")).toBe(true);
  expect(await scored("passed", "    return a\n")).toBe(false);
});

test("the three tests of MBPP and all tests are scored apart", async () => {
  const { scored } = await taskOf("mbpp-plus", TWICE);
  const only = fenced("def twice(n):\n    return 2 * n if n < 5 else 0");
  expect([await scored("passed_base", only), await scored("passed", only)]).toEqual([true, false]);
  expect(await scored("passed", fenced(TWICE.code))).toBe(true);
});

test("a module that the tests need and the sandbox lacks is an error, no wrong answer", async () => {
  const { scored } = await taskOf("mbpp-plus", { ...TWICE, test: `import no_such_module\n${TWICE.test}` });
  await expect(scored("passed", fenced(TWICE.code))).rejects.toMatchObject({ code: "PRL_VERIFY_UNSUPPORTED" });
});
