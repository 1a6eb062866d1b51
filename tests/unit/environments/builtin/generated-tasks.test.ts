/** Environments whose answers can be found again from the text that the policy gets. */
import { describe, expect, it } from "vitest";

import { loadEnvironment, type Message, scoreGroup } from "../../../../ts/environments/index.ts";

async function rewardsOf(id: string, task: object, replies: string[]): Promise<number[]> {
  const rollouts = replies.map((content) => ({ task, messages: [{ role: "assistant" as const, content }] }));
  return (await scoreGroup(await loadEnvironment(id), rollouts)).map(({ reward }) => reward);
}

async function tasksOf<Row>(id: string, args: object, count: number): Promise<Row[]> {
  const configured = (await loadEnvironment(id)).configure(args);
  const { tasks } = await configured.tasks("train", 11).page(null, count);
  return tasks.map(({ data }) => data as Row);
}

describe("arithmetic-chain", () => {
  interface Row {
    prompt: Message[];
    answer: number;
  }

  it("shows its computation, in the requested number of steps", async () => {
    const rows = await tasksOf<Row>("arithmetic-chain", { minSteps: 3, maxSteps: 5, largest: 9 }, 100);
    for (const { prompt, answer } of rows) {
      const text = prompt[0]?.content ?? "";
      const steps = /: start with (\d+), (.*)\. Give/u.exec(text);
      let value = Number(steps?.[1]);
      const operations = steps?.[2]?.split(", ") ?? [];
      expect(operations.length).toBeGreaterThanOrEqual(3);
      expect(operations.length).toBeLessThanOrEqual(5);
      for (const operation of operations) {
        const number = Number(/\d+$/u.exec(operation)?.[0]);
        if (operation.startsWith("add")) value += number;
        else if (operation.startsWith("subtract")) value -= number;
        else if (operation.startsWith("multiply")) value *= number;
        else value -= number * Math.floor(value / number);
      }
      expect(value).toBe(answer);
    }
  });

  it("counts the last box, whatever is around it", async () => {
    const task = { prompt: [], steps: [], answer: -12 };
    const replies = [
      "\\boxed{-12}",
      "\\boxed{3}, no: \\boxed{ -12 }.",
      "-12",
      "\\boxed{12}",
      "\\boxed{-12} \\boxed{1}",
    ];
    expect(await rewardsOf("arithmetic-chain", task, replies)).toEqual([1, 1, 0, 0, 0]);
  });
});

describe("json-extraction", () => {
  const people = [
    { name: "Ada", age: 30, city: "Ulm", likes: ["tea"] },
    { name: "Bo", age: 40, city: "Ely", likes: ["ink", "jam"] },
  ];
  const said = (...given: object[]): string => JSON.stringify(given);
  const [ada = {}, bo = {}] = people;

  it("pays for the share of right fields, in order, and takes off for people who are not there", async () => {
    const replies = [
      said(ada, bo),
      `Here:\n\`\`\`json\n${said(ada, bo)}\n\`\`\``,
      said(ada),
      said(ada, { ...bo, age: 41 }),
      said(bo, ada),
      said(ada, bo, ada, bo),
      said({ ...ada, likes: ["Tea"] }, bo),
      "[",
      "{}",
      "",
    ];
    expect(await rewardsOf("json-extraction", { prompt: [], people }, replies)).toEqual([
      1, 1, 0.5, 0.875, 0, 0.5, 0.875, 0, 0, 0,
    ]);
  });

  it("every fact is in the text", async () => {
    for (const row of await tasksOf<{ prompt: Message[]; people: typeof people }>("json-extraction", {}, 50)) {
      const text = row.prompt[0]?.content ?? "";
      for (const { name, age, city, likes } of row.people) {
        expect([name, String(age), city, ...likes].filter((fact) => !text.includes(fact))).toEqual([]);
      }
    }
  });
});
