import { describe, expect, it } from "vitest";

import { isCopied, isFinished } from "../../../../ts/environments/builtin/finished-answer.ts";
import { problems } from "../../../../ts/environments/builtin/math/problems.ts";
import { createRng, loadEnvironment, scoreGroup } from "../../../../ts/environments/index.ts";

describe("isFinished", () => {
  it.each([
    "8",
    "-12",
    "1,200",
    "0.50",
    "\\$12.50",
    "x = 3.0",
    "\\frac{3}{4}",
    "-\\dfrac{3}{4}",
    "3/4",
    "\\sqrt{13}",
    "2\\sqrt{3}",
    "\\{2, 5\\}",
    "(3, -4)",
    "\\left(\\frac{6}{2}, 5\\right)",
    "(-\\infty, 4]",
    "[3, \\infty)",
    "x \\geq -3",
    "6x^2 - 4x + 5",
    "5 - 4 \\cdot x + 6 \\cdot x \\cdot x",
    "12 - 5i",
    "-5i + 12",
    "18 \\text{ dollars}",
  ])("%s has been worked out", (answer) => expect(isFinished(answer)).toBe(true));

  it.each([
    "2^{19} \\bmod 15",
    "2^{19}",
    "\\frac{1}{2} + \\frac{3}{4}",
    "\\frac{1}{2} \\cdot \\frac{3}{4}",
    "1/2 + 3/4",
    "3 + 4",
    "8 + 1 - 1",
    "3 * 4",
    "3 \\times 4",
    "\\binom{15}{4}",
    "4!",
    "\\sqrt{3^2 + 4^2}",
    "(3 + 2i)(4 - i)",
    "\\frac{d}{dx}(3x^3 + 2x)",
    "120 \\cdot \\frac{85}{100}",
    "\\frac{1}{32}1",
    "\\gcd(12, 18)",
    "(2 + 1, 5)",
    "\\{6/2 + 1, 5\\}",
  ])("%s has not", (answer) => expect(isFinished(answer)).toBe(false));
});

it("an answer that stands in the problem was copied, unless the gold answer is written in the same way", () => {
  expect(isCopied("2^{10}", "Compute $2^{10}$.", "1024")).toBe(true);
  expect(isCopied("2^{ 10 }", "Compute $2^{10}$.", "1024")).toBe(true);
  expect(isCopied("2^{10}", "Which is larger, 2^{10} or 10^2?", "2^{10}")).toBe(false);
  expect(isCopied("1024", "Is it 1024 or 2048?", "1024")).toBe(false);
  expect(isCopied("-3", "Solve x - 3 = -6; not -3 + 1.", "-3")).toBe(false);
});

it("no generated problem pays for its own text", async () => {
  const environment = await loadEnvironment("math");
  const made = problems(createRng(5), [
    "fractions",
    "remainder",
    "counting",
    "triangle",
    "derivative",
    "complex",
    "percent",
  ]);
  for (let index = 0; index < 200; index++) {
    const { value } = made.next();
    if (value === undefined) throw new Error("they ended");
    const { problem, answer, other, wrong, unevaluated = "" } = value;
    const task = { prompt: [], problem, answer, other, wrong, unevaluated };
    const [copied, gold] = await scoreGroup(
      environment,
      [unevaluated, answer].map((text) => ({
        task,
        messages: [{ role: "assistant" as const, content: `\\boxed{${text}}` }],
      })),
    );
    expect([problem, unevaluated, copied?.reward, gold?.reward]).toEqual([problem, unevaluated, 0, 1]);
  }
});

it.each(["math", "python-repl", "wordle", "gsm8k"])("%s: no task comes twice among the first 500", async (id) => {
  const args = id === "gsm8k" ? { data: "generated" } : {};
  const { tasks } = await (await loadEnvironment(id)).configure(args).tasks("train", 3).page(null, 500);
  const content = tasks.map(({ data }) => JSON.stringify({ ...(data as object), key: null }));
  expect(new Set(content).size).toBe(500);
});

it("countdown gives no target that is among the numbers, proposer-solver no task of train in another order in eval", async () => {
  const tasksOf = async <Row>(id: string, split: "train" | "eval", args = {}): Promise<Row[]> =>
    (await (await loadEnvironment(id)).configure(args).tasks(split, 3).page(null, 400)).tasks.map(
      ({ data }) => data as Row,
    );
  const rows = await tasksOf<{ numbers: number[]; target: number }>("countdown", "train");
  expect(rows.filter(({ numbers, target }) => numbers.includes(target))).toEqual([]);
  const keys = async (split: "train" | "eval"): Promise<string[]> =>
    (await tasksOf<{ numbers: number[] }>("proposer-solver", split, { numbers: 3, largest: 12 })).map(({ numbers }) =>
      numbers.toSorted((a, b) => a - b).join(),
    );
  const train = new Set(await keys("train"));
  expect((await keys("eval")).filter((key) => train.has(key))).toEqual([]);
});
