/** LiveCodeBench's programs in real sandboxes, beside the verdicts that its grader gave them (tests/fixtures/make/benchmarks/official.py). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type Benchmark } from "../../../ts/environments/benchmarks/benchmark.ts";
import { findBenchmark } from "../../../ts/environments/benchmarks/index.ts";
import { loadEnvironment } from "../../../ts/environments/index.ts";
import { SandboxPool } from "../../../ts/sandbox/index.ts";
import { scoringContext } from "../../support/scoring-context.ts";

interface Record_ {
  readonly splits: { readonly test: readonly object[] };
  readonly replies: readonly {
    readonly row: number;
    readonly reply: string;
    readonly scores: { readonly passed: number };
  }[];
}

const path = resolve(import.meta.dirname, "../../fixtures/benchmarks/live-code-bench.json");
const { splits, replies } = JSON.parse(readFileSync(path, "utf8")) as Record_;
const { scorers } = findBenchmark("live-code-bench") as unknown as Benchmark<object>;

let pool: SandboxPool;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "prl-live-code-"));
  pool = await SandboxPool.start();
});
afterAll(async () => {
  await pool.close();
  rmSync(folder, { recursive: true });
});

test("programs pass as LiveCodeBench's grader lets them pass", async () => {
  const data = join(folder, "data.jsonl");
  writeFileSync(data, splits.test.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const source = (await loadEnvironment("benchmark/live-code-bench")).configure({ data }).tasks("eval", 0);
  const golds = (await source.page(null, 100)).tasks.map((task) => (task.data as { gold: unknown }).gold);
  const context = scoringContext({ sandboxes: () => Promise.resolve(pool), source: { data, revision: null } });
  const different: string[] = [];
  for (const { row, reply, scores } of replies) {
    const ours = Number(await scorers["passed"]?.(reply, golds[row], context));
    if (ours !== scores.passed) different.push(`theirs ${scores.passed}, ours ${ours}: ${reply}`);
  }
  expect(different).toEqual([]);
}, 300_000);
