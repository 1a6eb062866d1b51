/** Prompts and verdicts of benchmarks beside those of lm-evaluation-harness, which `tests/fixtures/make/benchmark_verdicts.py` recorded. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";

import { type Benchmark } from "../../../../ts/environments/benchmarks/benchmark.ts";
import { findBenchmark } from "../../../../ts/environments/benchmarks/index.ts";
import { loadEnvironment } from "../../../../ts/environments/index.ts";
import { scoringContext } from "../../../support/scoring-context.ts";

interface Record_ {
  readonly splits: Readonly<Record<string, readonly object[]>>;
  readonly shots: readonly object[] | null;
  readonly prompts: readonly string[];
  readonly replies: readonly {
    readonly row: number;
    readonly reply: string;
    readonly scores: Readonly<Record<string, number>>;
  }[];
}

interface Compared {
  /** Split that the questions are in. */
  readonly split: string;
  /** Our scorers by the harness's names of filter and metric. */
  readonly scorers: Readonly<Record<string, string>>;
  /** How many verdicts differ; the reasons are beside the set. */
  readonly differ: Readonly<Record<string, number>>;
}

const SETS: Readonly<Record<string, Compared>> = {
  gsm8k: {
    split: "test",
    scorers: { "strict-match,exact_match": "strict_match", "flexible-extract,exact_match": "flexible_extract" },
    differ: {},
  },
  "math-500": { split: "test", scorers: { exact_match: "minerva" }, differ: {} },
  "gpqa-diamond": {
    split: "train",
    scorers: { "strict-match,exact_match": "strict_match", "flexible-extract,exact_match": "flexible_extract" },
    differ: {},
  },
  "human-eval-plus": { split: "test", scorers: {}, differ: {} },
  "mbpp-plus": { split: "test", scorers: {}, differ: {} },
  "mmlu-pro": { split: "test", scorers: { "custom-extract,exact_match": "custom_extract" }, differ: {} },
  ifeval: {
    split: "train",
    scorers: {
      prompt_level_strict_acc: "prompt_strict",
      prompt_level_loose_acc: "prompt_loose",
      inst_level_strict_acc: "instruction_strict",
      inst_level_loose_acc: "instruction_loose",
    },
    // The harness asks langdetect, at random, whether a few words are English; here their script and frequent words decide.
    differ: {
      prompt_level_strict_acc: 7,
      prompt_level_loose_acc: 7,
      inst_level_strict_acc: 13,
      inst_level_loose_acc: 12,
    },
  },
  "aime-2025": { split: "test", scorers: { exact_match: "exact_match" }, differ: {} },
};

const fixture = (name: string): Record_ =>
  JSON.parse(
    readFileSync(resolve(import.meta.dirname, `../../../fixtures/benchmarks/${name}.json`), "utf8"),
  ) as Record_;

describe.each(Object.entries(SETS))("%s in the mode lm-eval", (name, { split, scorers, differ }) => {
  const { splits, shots, prompts, replies } = fixture(name);
  const benchmark = findBenchmark(name) as unknown as Benchmark<object>;

  async function tasks() {
    const folder = mkdtempSync(join(tmpdir(), "prl-benchmarks-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const write = (file: string, rows: readonly object[]): string => {
      const path = join(folder, file);
      writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
      return path;
    };
    const pool = shots ?? splits["train"] ?? splits["validation"];
    const environment = await loadEnvironment(`benchmark/${name}`);
    const source = environment
      .configure({
        mode: "lm-eval",
        data: write("data.jsonl", splits[split] ?? []),
        ...(pool === undefined || pool === splits[split] ? {} : { shots: write("shots.jsonl", pool) }),
      })
      .tasks("eval", 0);
    return (await source.page(null, 1000)).tasks.map(({ data }) => data as { prompt: string; gold: unknown });
  }

  test("asks what the harness asks", async () => {
    expect((await tasks()).map(({ prompt }) => prompt)).toEqual(prompts);
  });

  if (Object.keys(scorers).length === 0) return;
  test.each(Object.entries(scorers))("scores as the harness does: %s", async (theirs, ours) => {
    const asked = await tasks();
    const different: { gold: unknown; reply: string; theirs: number | undefined; ours: number }[] = [];
    for (const { row, reply, scores } of replies) {
      const { gold } = asked[row] ?? { gold: null };
      const context = scoringContext();
      const score = Number(await benchmark.scorers[ours]?.(reply, gold, context));
      if (!(Math.abs(score - (scores[theirs] ?? Number.NaN)) <= 1e-9))
        different.push({ gold, reply, theirs: scores[theirs], ours: score });
    }
    if (different.length > (differ[theirs] ?? 0)) expect(different).toEqual([]);
    expect(different.length / replies.length).toBeLessThanOrEqual(0.01);
  });
});
