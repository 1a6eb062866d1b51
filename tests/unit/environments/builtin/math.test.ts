import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { KINDS, problems } from "../../../../ts/environments/builtin/math/problems.ts";
import { countTasks } from "../../../../ts/environments/internal.ts";
import { createRng, loadEnvironment, scoreGroup } from "../../../../ts/environments/index.ts";

describe("generated problems", () => {
  it.each(KINDS)("%s: each is another, with one line, an answer, and a wrong one", (kind) => {
    const seen = new Set<string>();
    const made = problems(createRng(7), [kind]);
    for (let i = 0; i < 200; i++) {
      const { value } = made.next();
      if (value === undefined) throw new Error("they ended");
      seen.add(value.problem);
      expect(value.answer).not.toBe(value.wrong);
      expect(`${value.problem}${value.answer}${value.other}`).not.toMatch(/NaN|undefined|Infinity|\+ -|- -|\n/u);
    }
    expect(seen.size).toBeGreaterThan(30);
  });

  it("remainders and roots are right by another way", () => {
    const made = problems(createRng(3), ["remainder", "triangle"]);
    for (let i = 0; i < 100; i++) {
      const { value } = made.next();
      const text = value?.problem ?? "";
      const numbers = (text.match(/\d+/gu) ?? []).map(Number);
      const [a = 0, b = 0, c = 1] = numbers;
      if (value?.kind === "remainder") expect(value.answer).toBe(String(BigInt(a) ** BigInt(b) % BigInt(c)));
      else {
        const [, outside = "1", inside = "1"] = /^(\d*)(?:\\sqrt\{(\d+)\})?$/u.exec(value?.answer ?? "") ?? [];
        expect(Number(outside || "1") ** 2 * Number(inside)).toBe(a * a + b * b);
      }
    }
  });

  it("only those that are asked for", async () => {
    const environment = (await loadEnvironment("math")).configure({ kinds: ["percent"] });
    const { tasks } = await environment.tasks("train", 1).page(null, 20);
    expect(tasks.every(({ data }) => (data as { problem: string }).problem.includes("discount"))).toBe(true);
    expect(() => environment.tasks("train", 1)).not.toThrow();
    await expect(async () => (await loadEnvironment("math")).configure({ kinds: [] })).rejects.toThrow("kinds");
  });
});

it("a reply is compared as mathematics, in a box unless it may be without", async () => {
  const environment = await loadEnvironment("math");
  const task = { prompt: [], problem: "?", answer: "\\frac{1}{2}" };
  const rewards = async (replies: string[], args: object) =>
    (
      await scoreGroup(
        environment,
        replies.map((content) => ({ task, messages: [{ role: "assistant" as const, content }] })),
        args,
      )
    ).map(({ reward }) => reward);
  const replies = [
    "\\boxed{0.5}",
    "so \\boxed{\\frac{2}{4}}.",
    "The answer is 1/2.",
    "\\boxed{2}",
    "\\boxed{2} 1/2",
    "",
    "\\boxed{",
  ];
  expect(await rewards(replies, {})).toEqual([1, 1, 0, 0, 0, 0, 0]);
  expect(await rewards(replies, { boxed: false })).toEqual([1, 1, 1, 0, 0, 0, 0]);
});

describe("rows of data", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "prl-math-"));
  });
  afterAll(() => rmSync(dir, { recursive: true }));
  const first = async (row: object) => {
    const data = join(dir, "a.jsonl");
    writeFileSync(data, JSON.stringify(row));
    const environment = (await loadEnvironment("math")).configure({ data, evalData: data });
    return (await environment.tasks("eval", 1).page(null, 1)).tasks[0]?.data;
  };

  it.each<[object, object]>([
    [
      { problem: "p", answer: "7", level: 3 },
      { problem: "p", answer: "7" },
    ],
    [
      { question: "q", answer: 7 },
      { problem: "q", answer: "7" },
    ],
    [
      { problem: "p", solution: "so \\boxed{3} or \\boxed{\\frac{1}{4}}" },
      { problem: "p", answer: "3, \\frac{1}{4}" },
    ],
  ])("%j", async (row, expected) => {
    expect(await first(row)).toMatchObject(expected);
  });

  it.each<[object, string]>([
    [{ text: "p" }, 'no "problem" or "question"'],
    [{ problem: "p", solution: "it is 3" }, "no box"],
    [{ problem: 5, answer: "1" }, "does not fit"],
  ])("%j is refused", async (row, message) => {
    await expect(first(row)).rejects.toThrow(message);
  });

  it("without an answer may be left out, and are counted", async () => {
    const data = join(dir, "some.jsonl");
    const rows = [{ problem: "p", answer: "1" }, { problem: "p", answer: " " }, { problem: "p" }];
    writeFileSync(data, rows.map((row) => JSON.stringify(row)).join("\n"));
    const math = await loadEnvironment("math");
    const environment = math.configure({ data, evalData: data, unanswered: "leave_out" });
    expect(await countTasks(environment, "eval")).toEqual({ count: 1, complete: true, endless: false, leftOut: 2 });
    const strict = math.configure({ data, evalData: data });
    await expect(countTasks(strict, "eval")).rejects.toMatchObject({ code: "PRL_DATA_ROW" });
  });
});
