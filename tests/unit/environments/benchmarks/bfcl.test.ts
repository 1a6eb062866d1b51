/** BFCL's rows, tools and checks beside its package (tests/fixtures/make/benchmarks/official.py), and rows that cannot be scored. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Benchmark } from "../../../../ts/environments/benchmarks/benchmark.ts";
import { findBenchmark } from "../../../../ts/environments/benchmarks/index.ts";
import { joinedRows } from "../../../../ts/environments/benchmarks/scoring/bfcl/rows.ts";
import { loadEnvironment } from "../../../../ts/environments/index.ts";
import { scoringContext } from "../../../support/scoring-context.ts";

interface Row {
  readonly id: string;
  readonly ground_truth?: object[];
}
interface Record_ {
  readonly splits: { readonly test: readonly Row[] };
  readonly tools: readonly object[][];
}

const path = resolve(import.meta.dirname, "../../../fixtures/benchmarks/bfcl.json");
const { splits, tools } = JSON.parse(readFileSync(path, "utf8")) as Record_;
const benchmark = findBenchmark("bfcl") as unknown as Benchmark<object>;
const context = scoringContext();

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "prl-bfcl-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = (name: string, rows: readonly object[] | string): string => {
  const text = typeof rows === "string" ? rows : rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const tasks = async (data: string) => {
  const source = (await loadEnvironment("benchmark/bfcl")).configure({ data }).tasks("eval", 0);
  return (await source.page(null, 100)).tasks.map(
    ({ data: task }) => task as { gold: unknown; group: string; tools: object[] },
  );
};

describe("bfcl", () => {
  test("gives the model the tools that the package gives", async () => {
    const all = await tasks(file("data.jsonl", splits.test));
    expect(all.map((task) => task.tools)).toEqual(tools);
    expect(new Set(all.map(({ group }) => group))).toEqual(
      new Set(["simple", "multiple", "parallel", "parallel_multiple", "irrelevance"]),
    );
  });

  test("joins questions with the answers of another file, whatever its order", async () => {
    const questions = splits.test.map((row) => ({ ...row, ground_truth: undefined }));
    const answers = splits.test.flatMap(({ id, ground_truth: truth }) =>
      truth === undefined ? [] : [{ id, ground_truth: truth }],
    );
    const files = [file("possible_answer.json", answers.toReversed()), file("questions.json", questions)];
    const joined: unknown[] = [];
    for await (const { row } of joinedRows(files)) joined.push(row);
    expect(joined).toHaveLength(splits.test.length);
    const texts = joined.map((row) => (row as { answers: string | null }).answers);
    expect(texts.map((text) => (text === null ? null : (JSON.parse(text) as Row).id))).toEqual(
      splits.test.map(({ id, ground_truth: truth }) => (truth === undefined ? null : id)),
    );
  });

  test("a whole number and a decimal of the same value are of different types, in answers and in calls", async () => {
    const row = (answers: string): string =>
      `{"id": "simple_0", "question": [[{"role": "user", "content": "a"}]], "function": [{"name": "f", "description": "d", "parameters": {"properties": {"x": {"type": "array", "items": {"type": "float"}}}, "required": []}}], "ground_truth": [{"f": {"x": [${answers}]}}]}\n`;
    const score = async (answers: string, given: string) => {
      const [task] = await tasks(file(`${answers.length}-${given.length}.jsonl`, row(answers)));
      const reply = JSON.stringify([{ name: "f", arguments: `{"x": ${given}}` }]);
      return benchmark.scorers["ast"]?.(reply, task?.gold, context);
    };
    expect(await score("[1.0, 2.0]", "[1, 2]")).toBe(false);
    expect(await score("[1.0, 2.0]", "[1.0, 2.0]")).toBe(true);
    expect(await score("[1, 2]", "[1, 2]")).toBe(true);
  });

  test.each([
    ["without answers", { ground_truth: undefined }, /data\.jsonl:1: there are no possible answers/u],
    ["of another category", { id: "multi_turn_base_0" }, /data\.jsonl:1 does not fit.*category/u],
    ["of several turns", { question: [[], []] }, /data\.jsonl:1 does not fit.*question/u],
  ])("a row %s is an error with its place", async (_, change, message) => {
    await expect(tasks(file("data.jsonl", [{ ...splits.test[0], ...change }]))).rejects.toThrow(message);
  });

  test("a file that is no JSON is an error with its place", async () => {
    await expect(tasks(file("data.jsonl", "{}\n{"))).rejects.toThrow(/data\.jsonl:2 is no JSON/u);
  });

  test("answers of another shape are an error of the data, not a wrong answer", async () => {
    const [task] = await tasks(file("data.jsonl", [{ ...splits.test[0], ground_truth: [[]] }]));
    const reply = JSON.stringify([{ name: "shape_area", arguments: '{"width": 3}' }]);
    expect(() => benchmark.scorers["ast"]?.(reply, task?.gold, context)).toThrow(
      expect.objectContaining({ code: "PRL_DATA_FORMAT" }),
    );
  });
});
