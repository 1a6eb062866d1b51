/** LiveCodeBench's rows: packed tests are read without a pickle machine, days choose questions, and prompts are the published ones. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Benchmark } from "../../../../ts/environments/benchmarks/benchmark.ts";
import { findBenchmark } from "../../../../ts/environments/benchmarks/index.ts";
import { pickledText } from "../../../../ts/environments/benchmarks/scoring/live-code-bench/pickled-text.ts";
import { fencedProgram } from "../../../../ts/environments/benchmarks/scoring/live-code-bench/program.ts";
import { rowAt } from "../../../../ts/environments/benchmarks/scoring/live-code-bench/row-at.ts";
import { testsOfRow } from "../../../../ts/environments/benchmarks/scoring/live-code-bench/tests-of-row.ts";
import { loadEnvironment } from "../../../../ts/environments/index.ts";
import { scoringContext } from "../../../support/scoring-context.ts";

interface Row {
  readonly public_test_cases: string;
  readonly private_test_cases: string;
  readonly contest_date: string;
}
interface Record_ {
  readonly splits: { readonly test: readonly Row[] };
  readonly pickles: {
    readonly plain: readonly {
      readonly text: string;
      readonly repeat: string;
      readonly times: number;
      readonly pickle: string;
    }[];
    readonly refused: readonly { readonly pickle: string }[];
  };
}

const path = resolve(import.meta.dirname, "../../../fixtures/benchmarks/live-code-bench.json");
const { splits, pickles } = JSON.parse(readFileSync(path, "utf8")) as Record_;
const bytesOf = (text: string): Buffer => inflateSync(Buffer.from(text, "base64"));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "prl-live-code-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe("a pickle", () => {
  test("of a text is read as CPython wrote it, in every protocol and length", () => {
    expect(pickles.plain).toHaveLength(24);
    for (const { text, repeat, times, pickle } of pickles.plain)
      expect(pickledText(bytesOf(pickle))).toBe(times === 0 ? text : repeat.repeat(times));
  });

  test("of anything else is refused, and none of it runs", () => {
    expect(pickles.refused.length).toBeGreaterThan(50);
    for (const { pickle } of pickles.refused)
      expect(() => pickledText(bytesOf(pickle))).toThrow(expect.objectContaining({ code: "PRL_DATA_FORMAT" }));
  });

  test("with one byte changed is another text or refused", () => {
    const whole = bytesOf(pickles.plain[7]?.pickle ?? "");
    for (let at = 0; at < whole.length; at++) {
      for (const byte of [0, 0x2e, 0x52, 0x63, 0x8c, 0x93, 0xff]) {
        const changed = Buffer.from(whole);
        changed[at] = byte;
        try {
          expect(typeof pickledText(changed)).toBe("string");
        } catch (error) {
          expect(error).toMatchObject({ code: "PRL_DATA_FORMAT" });
        }
      }
    }
  });
});

describe("tests of a row", () => {
  test("are the shown and the hidden ones, packed or not", () => {
    for (const row of splits.test) {
      const tests = testsOfRow(row, "row");
      expect(tests.length).toBeGreaterThan(1);
      expect(tests[0]).toEqual({ input: expect.any(String) as string, output: expect.any(String) as string });
    }
    expect(testsOfRow(splits.test[0] as Row, "row").map(({ output }) => output)).toEqual(["3\n", "34", "0\n"]);
  });

  const packedJson = (text: string): string => deflateSync(Buffer.from(text)).toString("base64");
  test.each([
    ["no base64", "!!"],
    ["no zlib", "AAAA"],
    ["no pickle", packedJson("[]")],
    ["half of it", (splits.test[0] as Row).private_test_cases.slice(0, 40)],
    ["no tests", '[{"input": 1}]'],
  ])("that cannot be read name the place: %s", (_, hidden) => {
    expect(() => testsOfRow({ public_test_cases: "[]", private_test_cases: hidden }, "test5.jsonl:7")).toThrow(
      expect.objectContaining({
        code: "PRL_DATA_FORMAT",
        message: expect.stringContaining("test5.jsonl:7: private_test_cases") as string,
      }),
    );
  });

  test("are none: the problem is named", () => {
    expect(() => testsOfRow({ public_test_cases: "[]", private_test_cases: "[]" }, "a:1")).toThrow(/a:1.*no tests/u);
  });
});

describe("a row by its line", () => {
  test.each(["\n", ""])("is the one that stands there, the last one too: %j", async (end) => {
    const rows = Array.from({ length: 50 }, (_, i) => ({ i, text: "é".repeat(i * 900) }));
    const data = file(`rows-${end.length}.jsonl`, rows.map((row) => JSON.stringify(row)).join("\n") + end);
    for (const line of [1, 2, 17, 50]) expect(await rowAt(data, line)).toEqual(rows[line - 1]);
    await expect(rowAt(data, 51)).rejects.toMatchObject({ code: "PRL_DATA_FORMAT" });
  });

  test("of a file that is gone is an error", async () => {
    await expect(rowAt(join(folder, "none.jsonl"), 1)).rejects.toMatchObject({ code: "PRL_DATA_FILE" });
  });
});

describe("live-code-bench", () => {
  const tasks = async (settings: Record<string, unknown>) => {
    const rows = splits.test.map((row, i) => ({ ...row, contest_date: `2024-0${1 + (i % 5)}-10T00:00:00` }));
    const data = file("data.jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const source = (await loadEnvironment("benchmark/live-code-bench"))
      .configure({ data, ...settings })
      .tasks("eval", 0);
    return (await source.page(null, 100)).tasks.map(
      ({ data: task }) =>
        task as { prompt: { role: string; content: string }[]; gold: Record<string, unknown>; group: string },
    );
  };

  test("asks as published, and no test travels in a task", async () => {
    const all = await tasks({});
    expect(all).toHaveLength(10);
    expect(all[0]?.prompt.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(all[0]?.prompt[1]?.content).toMatch(
      /^### Question:\nSolve sums\.\n\n### Format: Read [\s\S]*# YOUR CODE HERE[\s\S]*backticks\)\n\n$/u,
    );
    expect(all[4]?.prompt[1]?.content).toContain(
      "```python\nclass Solution:\n    def addUp(self, n: int) -> int:\n        \n```",
    );
    expect(all[4]?.gold).toEqual({ file: "data.jsonl", line: 5, functionName: "addUp" });
    expect(JSON.stringify(all)).not.toContain("test_cases");
  });

  test("takes the questions of the days that were asked for", async () => {
    expect(await tasks({ since: "2024-02-10", until: "2024-03-10" })).toHaveLength(4);
    const environment = await loadEnvironment("benchmark/gsm8k");
    const gsm8k = environment.configure({ data: file("a.jsonl", "{}\n"), since: "2024-01-01" }).tasks("eval", 0);
    await expect(gsm8k.page(null, 1)).rejects.toThrow(/since and until: its questions have no day/u);
    expect(() => environment.configure({ since: "yesterday" })).toThrow(/since/u);
  });

  test("takes the program between the last two fences", () => {
    expect(fencedProgram("```python\na\n```\nor\n```\nb\n```")).toBe("b");
    expect(fencedProgram("```python\na")).toBe("");
    expect(fencedProgram("print(1)")).toBe("");
  });

  test("a file that lacks the tests of a task is an error, not a wrong answer", async () => {
    const { scorers } = findBenchmark("live-code-bench") as unknown as Benchmark<object>;
    const context = scoringContext({ source: { data: file("other.jsonl", "{}\n"), revision: null } });
    const gold = { file: "data.jsonl", line: 1, functionName: null };
    const score = async () => scorers["passed"]?.("```\nprint(1)\n```", gold, context);
    await expect(score()).rejects.toMatchObject({ code: "PRL_DATA_FILE" });
  });
});
