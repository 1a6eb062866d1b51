/** Problems whose two solutions agree in real sandboxes, and replies that do not deserve full marks. */
import { describe, expect, test } from "vitest";
import { loadEnvironment, OWN_SANDBOXES, type Task } from "../../../../ts/environments/index.ts";
import { extractCode } from "../../../../ts/verify/index.ts";
import { IS_LONG } from "../../../support/form.ts";

const TASKS = IS_LONG ? 300 : 12;

async function problems(
  level: string,
  count: number,
  args: object = {},
): Promise<{
  tasks: Task[];
  score: (task: Task, reply: string) => Promise<number>;
  validate: (task: Task) => Promise<void>;
}> {
  const configured = (await loadEnvironment("code-contests")).configure({ level, ...args });
  const { tasks } = await configured.tasks("train", 7).page(null, count);
  return {
    tasks,
    score: async (task, reply) => (await configured.score(task, reply)).reward,
    validate: async (task) => void (await configured.validate(task)),
  };
}

const reply = (code: string, tag = "python"): string => `Here it is:\n\n\`\`\`${tag}\n${code}\n\`\`\`\nDone.`;

describe.each(["easy", "medium", "hard"])("%s problems", (level) => {
  test("are solved by their solution and not by their example", async () => {
    const { tasks, validate } = await problems(level, TASKS);
    expect(new Set(tasks.map(({ data }) => (data as { family: string }).family)).size).toBe(3);
    for (let at = 0; at < tasks.length; at += 8) await Promise.all(tasks.slice(at, at + 8).map(validate));
  });

  test("are not solved by a reply without a program, nor by one that crashes or prints nothing", async () => {
    const { tasks, score } = await problems(level, 3);
    for (const task of tasks) {
      for (const text of ["", "print(1)", "```python\nprint(1)", reply("pass"), reply("1 / 0"), reply("def (")]) {
        expect(await score(task, text)).toBe(0);
      }
    }
  });
});

test("trying everything is too slow", async () => {
  const { tasks, score } = await problems("medium", 20, { timeLimitMs: 1_000, partial: true });
  const window = tasks.find(({ data }) => (data as { family: string }).family === "longest-window");
  if (window === undefined) throw new Error("no such problem");
  const { prompt } = window.data as { prompt: { content: string }[] };
  const kinds = /at most (\d+) different/u.exec(prompt[0]?.content ?? "")?.[1] ?? "";
  const slow = `n = int(input())
a = input().split()
best = place = 0
for i in range(n):
    for j in range(i, n):
        if len(set(a[i:j + 1])) <= ${kinds} and j - i + 1 > best: best, place = j - i + 1, i + 1
print(best, place)`;
  const share = await score(window, reply(slow));
  expect(share).toBeGreaterThan(0);
  expect(share).toBeLessThan(1);
});

test("a program in another language is graded, too", async () => {
  const { tasks, score } = await problems("easy", 30, { language: "javascript" });
  const words = tasks.find(({ data }) => (data as { family: string }).family === "orbit");
  if (words === undefined) throw new Error("no such problem");
  const { prompt } = words.data as { prompt: { content: string }[] };
  const [, a, c, m] = /\((\d+) \* x \+ (\d+)\) mod (\d+)/u.exec(prompt[0]?.content ?? "") ?? [];
  const code = `const [, ...starts] = require("fs").readFileSync(0, "utf8").trim().split("\\n").map(Number);
for (let x of starts) { const seen = new Set(); while (!seen.has(x)) { seen.add(x); x = (${a} * x + ${c}) % ${m}; } console.log(seen.size); }`;
  const exists = (await (await OWN_SANDBOXES.pool()).runOnce({ command: ["node", "--version"] })).exitCode === 0;
  if (exists) expect(await score(words, reply(code, "js"))).toBe(1);
  expect(await score(words, reply(code, "python"))).toBe(0);
});

test.each([
  ["the last of its language", "```python\na\n```\n```python\nb\n```\n```js\nc\n```", "b\n"],
  ["one without a tag, when none has it", "```\na\n```\n```js\nc\n```", "a\n"],
  ["fences inside of longer ones are code", "````py\n```\n````", "```\n"],
  ["none of another language", "```js\nc\n```", null],
  ["none that is cut off", "```python\na", null],
  ["none at all", "print(1)", null],
])("the program in a reply: %s", (_, text, code) => {
  expect(extractCode(text, "python")).toBe(code);
});

test("without a language, the last closed block is the program", () => {
  expect(extractCode("```python\na\n```\n```js\nb\n```\n```\nc", null)).toBe("b\n");
  expect(extractCode("a", null)).toBeNull();
});
