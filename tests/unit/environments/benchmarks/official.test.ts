/** Verdicts of benchmarks beside those of their authors' graders, which `tests/fixtures/make/benchmarks/official.py` recorded. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";

import { type Benchmark } from "../../../../ts/environments/benchmarks/benchmark.ts";
import { findBenchmark } from "../../../../ts/environments/benchmarks/index.ts";
import { IFBENCH_IDS, ifbenchVerdict } from "../../../../ts/environments/benchmarks/scoring/ifbench/index.ts";
import { loadEnvironment } from "../../../../ts/environments/index.ts";
import { scoringContext } from "../../../support/scoring-context.ts";

interface Record_ {
  readonly splits: Readonly<Record<string, readonly object[]>>;
  readonly replies: readonly {
    readonly row: number;
    readonly reply: string;
    readonly scores: Readonly<Record<string, number>>;
  }[];
}

/** How many verdicts of a score differ. */
const DIFFER: Readonly<Record<string, number>> = {
  ifbench: 0,
  bfcl: 0,
};

describe.each(Object.entries(DIFFER))("%s in the mode paper", (name, differ) => {
  const path = resolve(import.meta.dirname, `../../../fixtures/benchmarks/${name}.json`);
  const { splits, replies } = JSON.parse(readFileSync(path, "utf8")) as Record_;
  const benchmark = findBenchmark(name) as unknown as Benchmark<object>;

  async function golds(): Promise<unknown[]> {
    const folder = mkdtempSync(join(tmpdir(), "prl-benchmarks-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const data = join(folder, "data.jsonl");
    writeFileSync(
      data,
      Object.values(splits)
        .flatMap((rows) => rows.map((row) => `${JSON.stringify(row)}\n`))
        .join(""),
    );
    const environment = await loadEnvironment(`benchmark/${name}`);
    const source = environment.configure({ data }).tasks("eval", 0);
    return (await source.page(null, 1000)).tasks.map(({ data: task }) => (task as { gold: unknown }).gold);
  }

  test.each(Object.keys(replies[0]?.scores ?? {}))("scores as the grader does: %s", async (scorer) => {
    const asked = await golds();
    const context = scoringContext();
    const different: { gold: unknown; reply: string; theirs: number | undefined; ours: number }[] = [];
    for (const { row, reply, scores } of replies) {
      const ours = Number(await benchmark.scorers[scorer]?.(reply, asked[row], context));
      if (!(Math.abs(ours - (scores[scorer] ?? Number.NaN)) <= 1e-9))
        different.push({ gold: asked[row], reply, theirs: scores[scorer], ours });
    }
    if (different.length > differ) expect(different).toEqual([]);
    expect(different.length / replies.length).toBeLessThanOrEqual(0.01);
  });
});

describe("ifbench", () => {
  test("has 58 kinds, and the record has verdicts of all but the one that needs a tagger", () => {
    const path = resolve(import.meta.dirname, "../../../fixtures/benchmarks/ifbench.json");
    const { splits } = JSON.parse(readFileSync(path, "utf8")) as {
      splits: { train: { instruction_id_list: string[] }[] };
    };
    const recorded = new Set(splits.train.flatMap(({ instruction_id_list: ids }) => ids));
    expect(IFBENCH_IDS).toHaveLength(58);
    expect(IFBENCH_IDS.filter((id) => !recorded.has(id))).toEqual(["words:start_verb"]);
  });

  test.each([
    ["Consider a river.", true],
    ["Running water is loud.", true],
    ["The river runs.", false],
    ["Sure, here it is.", false],
    ["Nothing runs.", false],
  ])("a reply begins with a verb: %s", (reply, begins) => {
    expect(ifbenchVerdict("words:start_verb", {}, reply, { prompt: "" }).strict).toBe(begins);
  });

  test("an instruction that it does not have is an error of the data", () => {
    expect(() => ifbenchVerdict("words:none", {}, "a", { prompt: "" })).toThrow(/"words:none" is none of its 58/u);
  });
});
