import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { evaluate } from "../../../../ts/environments/builtin/countdown/expression.ts";
import { solves } from "../../../../ts/environments/builtin/countdown/index.ts";
import { BUILTIN } from "../../../../ts/environments/builtin/index.ts";
import { marks } from "../../../../ts/environments/builtin/wordle/index.ts";
import { loadEnvironment, scoreGroup, validateEnvironment } from "../../../../ts/environments/index.ts";
import { IS_LONG } from "../../../support/form.ts";

const TASKS = IS_LONG ? 60 : 30;
/** Of environments that run programs, whose own tests take more. */
const SANDBOXED_TASKS = IS_LONG ? 8 : 4;
const VALIDATED_TASKS = IS_LONG ? 40 : 16;
/** Arguments of those whose tasks are a dataset of the hub. */
const OFFLINE: Readonly<Record<string, object>> = { gsm8k: { data: "generated" } };

async function tasksOf(id: string, split: "train" | "eval", seed: number) {
  const environment = await loadEnvironment(id);
  const configured = environment.configure(OFFLINE[id]);
  const count = environment.requires.sandbox === undefined ? TASKS : SANDBOXED_TASKS;
  const { tasks } = await configured.tasks(split, seed).page(null, count);
  return { configured, tasks };
}

describe.each([...BUILTIN.keys()])("%s", (id) => {
  it("gives the same tasks for a seed, others for another, and none of train in eval", async () => {
    const hashes = async (split: "train" | "eval", seed: number) =>
      (await tasksOf(id, split, seed)).tasks.map(({ hash }) => hash);
    const train = await hashes("train", 1);
    expect(await hashes("train", 1)).toEqual(train);
    expect(await hashes("train", 2)).not.toEqual(train);
    const heldOut = new Set([...(await hashes("eval", 1)), ...(await hashes("eval", 2))]);
    expect(train.filter((hash) => heldOut.has(hash))).toEqual([]);
  });

  it("the gold answer of every task scores full marks, and nothing at all does not", async () => {
    const { configured, tasks } = await tasksOf(id, "train", 3);
    for (const task of tasks) await configured.validate(task);
    const empty = await Promise.all(tasks.map((task) => configured.score(task, "")));
    const best = Math.max(...empty.map(({ reward }) => reward));
    expect(best).toBeLessThan(0.5);
  });

  it("gives no reward for free replies, and no task twice", async () => {
    const environment = await loadEnvironment(id);
    const tasks = environment.requires.sandbox === undefined ? VALIDATED_TASKS : SANDBOXED_TASKS / 2;
    const { failures } = await validateEnvironment(environment.configure(OFFLINE[id]), { tasks, seed: 5 });
    expect(failures).toEqual([]);
  });
});

describe("countdown's expressions", () => {
  it.each([
    ["(3 + 4) * 2", 14n, [3, 4, 2]],
    ["7 / 2 * 4 = 14", 14n, [7, 2, 4]],
    ["-(2 - 5)", 3n, [2, 5]],
    ["2 × 3 − 1", 5n, [2, 3, 1]],
  ])("%s", (text, value, numbers) => {
    expect(evaluate(text)).toEqual({ value: { numerator: value, denominator: 1n }, numbers });
  });

  it.each(["", "2 +", "2 ** 3", "x + 1", "process.exit()", "(1", "1)", "1 2 + 3".replace(" 2", ";2")])(
    "%j is refused",
    (text) => {
      expect(evaluate(text)).toBeNull();
    },
  );

  it("division by zero has no value, wherever it stands", () => {
    expect(evaluate("1 / (2 - 2)")?.value).toBeNull();
    expect(evaluate("0 * (1 / 0) + 5")?.value).toBeNull();
  });

  it("agrees with exact arithmetic on random expressions", () => {
    const tree = fc.letrec<{ node: { text: string; value: number } }>((tie) => ({
      node: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.integer({ min: 0, max: 20 }).map((n) => ({ text: String(n), value: n })),
        fc.tuple(fc.constantFrom("+", "-", "*"), tie("node"), tie("node")).map(([operator, a, b]) => ({
          text: `(${a.text} ${operator} ${b.text})`,
          value: operator === "+" ? a.value + b.value : operator === "-" ? a.value - b.value : a.value * b.value,
        })),
      ),
    })).node;
    fc.assert(
      fc.property(tree, ({ text, value }) => {
        fc.pre(text.length < 400 && Number.isSafeInteger(value));
        expect(evaluate(text)?.value).toEqual({ numerator: BigInt(value), denominator: 1n });
      }),
    );
  });

  it("a solution uses each number at most as often as it is given", () => {
    const task = { numbers: [2, 3, 3], target: 9 };
    expect(solves("3 * 3", task)).toBe(true);
    expect(solves("3 + 3 + 3", task)).toBe(false);
    expect(solves("9", task)).toBe(false);
    expect(solves("2 * 3 + 3", task)).toBe(true);
    expect(solves("2 * 3", task)).toBe(false);
  });
});

it.each([
  ["crane", "crane", "GGGGG"],
  ["eerie", "crane", "--Y-G"],
  ["nacre", "crane", "YYYYG"],
  ["lolly", "hello", "-YGG-"],
  ["xyzzy", "crane", "-----"],
])("wordle marks %s for %s as %s", (guess, word, expected) => {
  expect(marks(guess, word)).toBe(expected);
});

it("alphabet-sort pays for each turn's list", async () => {
  const environment = await loadEnvironment("alphabet-sort");
  const { tasks } = await environment.configure({ minTurns: 2, maxTurns: 2 }).tasks("train", 1).page(null, 1);
  const row = tasks[0]?.data as { prompt: { role: "user"; content: string }[]; turns: string[][] };
  const first = { role: "assistant", content: (row.turns[0] ?? []).toSorted().join("\n") } as const;
  const [half] = await scoreGroup(environment, [{ task: row, messages: [...row.prompt, first] }]);
  expect(half?.reward).toBeCloseTo(0.5);
});

it("alphabet-sort pays for order, not for names", async () => {
  interface Row {
    prompt: { role: "user"; content: string }[];
    turns: string[][];
  }
  const environment = await loadEnvironment("alphabet-sort");
  const { tasks } = await environment.configure().tasks("train", 1).page(null, 200);
  const rollouts = (order: (names: string[]) => string[]) =>
    tasks.map(({ data }) => {
      const { prompt, turns } = data as Row;
      const messages = turns.map((_, turn) => ({
        role: "assistant" as const,
        content: order(turns.slice(0, turn + 1).flat()).join("\n"),
      }));
      return { task: data as object, messages: [...prompt, ...messages] };
    });
  const mean = async (order: (names: string[]) => string[]) => {
    const scored = await scoreGroup(environment, rollouts(order));
    return scored.reduce((sum, { reward }) => sum + reward, 0) / scored.length;
  };
  expect(await mean((names) => names.toSorted())).toBe(1);
  expect(await mean((names) => names)).toBeLessThan(0.1);
  expect(await mean((names) => names.toReversed())).toBeLessThan(0.25);
  // One swap of neighbours is nearly right, and worth something.
  const swapped = await mean((names) => {
    const [first = "", second = "", ...rest] = names.toSorted();
    return [second, first, ...rest];
  });
  expect(swapped).toBeGreaterThan(0.2);
  expect(swapped).toBeLessThan(0.9);
});

it("json-extraction reads a code block that is not closed once, however many line ends it has", async () => {
  const { configured, tasks } = await tasksOf("json-extraction", "train", 1);
  const [task] = tasks;
  if (task === undefined) throw new Error("there are tasks");
  expect((await configured.score(task, `\`\`\`json${"\n".repeat(300_000)}`)).reward).toBe(0);
});
