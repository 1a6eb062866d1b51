/** `validateEnvironment` finds by itself what can be had for nothing, and tasks that come twice. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";

import { contentKeyOf } from "../../../../ts/environments/model/content-key.ts";
import {
  defineEnvironment,
  type Message,
  multiTurn,
  singleTurn,
  validateEnvironment,
  type ValidationFailure,
} from "../../../../ts/environments/index.ts";
import { bareAnswer, copiedTexts, saidInstead, wrapped } from "../../../../ts/environments/validation/lazy-replies.ts";

interface Row {
  prompt: string;
  answer: string;
  /** Its gold reply; default: the answer. */
  gold?: string;
}

interface Fixture {
  /** A row of one of the splits. */
  row: (index: number, split: "train" | "eval") => Row;
  reward?: (reply: string, row: Row) => number | boolean;
  contentKey?: (row: Row) => string;
}

const COUNT = 40;
const OFFSET = { train: 1000, eval: 5000 };
const sum = (index: number, split: "train" | "eval"): Row => {
  const [a, b] = [OFFSET[split] + index, 37 * index + 11];
  return { prompt: `Compute ${a} + ${b}.`, answer: String(a + b) };
};

async function failuresOf({ row, reward, contentKey }: Fixture, tasks = COUNT): Promise<readonly ValidationFailure[]> {
  const environment = defineEnvironment({
    name: "fixture",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: ({ split }) => Array.from({ length: tasks }, (_, index) => row(index, split)),
    key: (_, index) => String(index),
    ...(contentKey !== undefined && { contentKey }),
    rollout: singleTurn(),
    rewards: {
      right: { weight: 1, score: ({ task, trace }) => (reward ?? exact)(trace.lastReply, task) },
    },
    async validate({ task, score }) {
      await score(task.gold ?? task.answer);
    },
  });
  return (await validateEnvironment(environment.configure(), { tasks })).failures;
}

const exact = (reply: string, { answer, gold }: Row): boolean => reply === (gold ?? answer);
/** As a verifier that compares values would: a sum is worth as much as its value. */
const valued = (reply: string, { answer }: Row): boolean => {
  const inside = /\\boxed\{(.*)\}|<answer>(.*)<\/answer>|#### (.*)/u.exec(reply);
  const text = inside?.slice(1).find((part) => part !== undefined) ?? "";
  const terms = text.split("+").map(Number);
  return text !== "" && terms.reduce((total, term) => total + term, 0) === Number(answer);
};

describe("replies that cost nothing", () => {
  it("are refused by a sound environment", async () => {
    expect(await failuresOf({ row: sum })).toEqual([]);
  });

  it.each<[string, Fixture, RegExp]>([
    [
      "the prompt given back",
      { row: sum, reward: (reply, row) => reply.includes(row.prompt) || exact(reply, row) },
      /last user message/u,
    ],
    [
      "a part for the prompt given back",
      { row: sum, reward: (reply, row) => (exact(reply, row) ? 1 : Number(reply === row.prompt) * 0.6) },
      /last user message.*gets 0\.60 of 1\.0/u,
    ],
    [
      "the sum as it stands, in a box",
      { row: (...at) => ({ ...sum(...at), gold: `So it is \\boxed{${sum(...at).answer}}.` }), reward: valued },
      /longest calculation of the prompt, in a box/u,
    ],
    [
      "the sum as it stands, in its tag",
      { row: (...at) => ({ ...sum(...at), gold: `<answer>${sum(...at).answer}</answer>` }), reward: valued },
      /in <answer>/u,
    ],
    [
      "the sum as it stands, behind ####",
      { row: (...at) => ({ ...sum(...at), gold: `It is so.\n#### ${sum(...at).answer}` }), reward: valued },
      /behind ####/u,
    ],
    [
      "LaTeX of the prompt",
      {
        row: (...at) => ({ prompt: `Simplify \\(x^{${sum(...at).answer}}\\).`, answer: `x^{${sum(...at).answer}}` }),
      },
      /LaTeX of the prompt/u,
    ],
    [
      "a quotation of the prompt",
      { row: (...at) => ({ prompt: `Say "${sum(...at).answer}" backwards.`, answer: sum(...at).answer }) },
      /quotation of the prompt/u,
    ],
    [
      "a few copied expressions in a hundred",
      {
        row: (index, split) => ({
          ...sum(index, split),
          ...(index % 10 === 0 && { answer: sum(index, split).prompt }),
        }),
      },
      /full marks on 4 of 40/u,
    ],
    [
      "one answer for all tasks",
      { row: (index, split) => ({ ...sum(index, split), answer: index % 2 === 0 ? "yes" : sum(index, split).answer }) },
      /one answer for all tasks, such as "yes"/u,
    ],
    [
      "an answer that a single task has",
      { row: sum, reward: (reply) => /^\d+$/u.test(reply) },
      /one answer for all tasks/u,
    ],
  ])("%s", async (_, fixture, message) => {
    const failures = await failuresOf(fixture);
    const free = failures.filter(({ check }) => check === "free");
    expect(new Set(free.map(({ split }) => split))).toEqual(new Set(["train", "eval"]));
    expect(free.map((failure) => failure.message).join("\n")).toMatch(message);
  });

  it("fail also when the answers are few: yes in four tasks of five is no even choice", async () => {
    const skewed: Fixture["row"] = (index, split) => ({ ...sum(index, split), answer: index % 5 === 0 ? "no" : "yes" });
    const found = await failuresOf({ row: skewed });
    expect(found.map(({ message }) => message).join("\n")).toMatch(
      /one answer for all tasks, such as "yes".*32 of 40/u,
    );
  });

  it("fail when all answers at once are right everywhere", async () => {
    const found = await failuresOf({ row: sum, reward: (reply, { answer }) => reply.split("\n").includes(answer) });
    expect(found.map(({ message }) => message).join("\n")).toMatch(/the answers of all tasks, one below the other/u);
  });

  it("may be as right as a guess among two answers", async () => {
    const even: Fixture["row"] = (index, split) => ({ ...sum(index, split), answer: index % 2 === 0 ? "no" : "yes" });
    expect((await failuresOf({ row: even })).filter(({ check }) => check === "free")).toEqual([]);
  });

  it("may be right for one task in four, and for two by chance", async () => {
    const choice: Fixture["row"] = (index, split) => ({ ...sum(index, split), answer: "ABCD".charAt(index % 4) });
    expect(await failuresOf({ row: choice })).toEqual([]);
    const lucky: Fixture["row"] = (index, split) => ({
      ...sum(index, split),
      ...(index < 2 && { answer: sum(index, split).prompt }),
    });
    expect(await failuresOf({ row: lucky }, 8)).toEqual([]);
  });

  it("are tried in each turn of a conversation", async () => {
    const environment = defineEnvironment({
      name: "fixture",
      version: "1.0.0",
      config: z.strictObject({}),
      tasks: ({ split }) => Array.from({ length: 10 }, (_, index) => sum(index, split)),
      rollout: multiTurn<Row>({ maxTurns: 2, respond: () => "Say it again." }),
      rewards: {
        repeats: {
          weight: 1,
          score: ({ trace }) => {
            const messages = trace.nodes.map(({ message }) => message.content);
            const replies = [1, 3].map((at) => messages[at] === messages[at - 1] || /^\d+$/u.test(messages[at] ?? ""));
            return Number(replies.every(Boolean));
          },
        },
      },
      async validate({ task, scoreMessages }) {
        const says = (role: "user" | "assistant", content: string): Message => ({ role, content });
        await scoreMessages([
          says("user", task.prompt),
          says("assistant", task.answer),
          says("user", "Say it again."),
          says("assistant", task.answer),
        ]);
      },
    });
    const { failures } = await validateEnvironment(environment.configure(), { tasks: 10 });
    expect(failures.map(({ message }) => message).join("\n")).toMatch(/last user message.*full marks on 10 of 10/u);
  });
});

describe("tasks that come twice or in both splits", () => {
  const checks = async (fixture: Fixture) =>
    (await failuresOf(fixture)).map(({ check, split, message }) => [check, split, message] as const);

  it("fail when more than 2 % repeat another, whatever case and blanks", async () => {
    const repeated: Fixture["row"] = (index, split) => {
      const row = sum(index < 38 ? index : index - 20, split);
      return index < 38 ? row : { ...row, prompt: `  ${row.prompt.toUpperCase().replace(".", " . ")}` };
    };
    expect(await checks({ row: repeated })).toEqual([
      ["duplicates", "train", expect.stringMatching(/2 of 40 tasks repeat the content of another/u)],
      ["duplicates", "eval", expect.any(String)],
    ]);
  });

  it("fail when one of train is in eval", async () => {
    const row: Fixture["row"] = (index, split) => sum(index, index === 3 ? "train" : split);
    expect(await checks({ row })).toEqual([
      [
        "overlap",
        "eval",
        expect.stringMatching(/^1 of the tasks looked at are in train and in eval: "compute 1003 \+ 122"/u),
      ],
    ]);
  });

  it("are distinguished by the environment's own key", async () => {
    const hidden: Fixture["row"] = (...at) => ({ ...sum(...at), prompt: "Guess the number." });
    expect(new Set((await checks({ row: hidden })).map(([check]) => check))).toEqual(
      new Set(["duplicates", "overlap"]),
    );
    expect(await checks({ row: hidden, contentKey: ({ answer }) => answer })).toEqual([]);
    const unordered = ({ prompt }: Row) =>
      Array.from(prompt.matchAll(/\d/gu), ([digit]) => Number(digit))
        .toSorted((a, b) => a - b)
        .join("");
    const permuted: Fixture["row"] = (index, split) => {
      const [a, b] = [1000 + index, 5000 + index * 3];
      return { prompt: split === "train" ? `Add ${a} and ${b}.` : `Add ${b} and ${a}.`, answer: String(a + b) };
    };
    expect((await checks({ row: permuted, contentKey: unordered })).map(([check]) => check)).toContain("overlap");
  });

  it("a content key that throws is a failure by name", async () => {
    const contentKey = () => {
      throw new Error("no key today");
    };
    const found = await checks({ row: sum, contentKey });
    expect(found.map(([check]) => check)).toEqual(["duplicates", "duplicates"]);
    expect(found[0]?.[2]).toContain("no key today");
  });
});

describe("the content of a row", () => {
  it.each([
    [{ prompt: "Say  HI!\n" }, { prompt: "say hi!" }],
    [{ prompt: 'Say "hi", now.' }, { prompt: "say hi now" }],
    [
      { prompt: "a", answer: "1" },
      { prompt: [{ role: "user", content: "A" }], seed: 3 },
    ],
    [
      { numbers: [1, 2], answer: "3" },
      { answer: "4", numbers: [2, 1] },
    ],
  ])("%j is that of %j", (a, b) => {
    expect(contentKeyOf(a)).toBe(contentKeyOf(b));
  });

  it.each([
    [{ prompt: "5 - 3" }, { prompt: "5 + 3" }],
    [{ prompt: "what is 2.5" }, { prompt: "what is 25" }],
    [{ prompt: "compute 5!" }, { prompt: "compute 5" }],
    [{ numbers: [1, 2] }, { numbers: [2, 2] }],
    [{ grid: [[1, 2], [3]] }, { grid: [[3], [1, 2]] }],
  ])("%j is not that of %j", (a, b) => {
    expect(contentKeyOf(a)).not.toBe(contentKeyOf(b));
  });
});

describe("a copied reply", () => {
  it("is each kind of expression of a prompt", () => {
    const texts = (prompt: string) => [...new Set(copiedTexts(prompt).map(({ text }) => text))];
    expect(texts("Take $x^2$ and \\[ y \\], then `z`.")).toEqual(["x^2", "y", "z"]);
    expect(texts("From 3, 4 and 5 make (3 + 4) * 5 or -2-1.")).toEqual(["(3 + 4) * 5"]);
    expect(texts("Reverse “abc” on 2024.")).toEqual(["abc"]);
    expect(texts("Nothing here, 12 apples.")).toEqual([]);
  });

  it("is wrapped as the gold reply is", () => {
    const shapes = (gold: string) => wrapped({ strategy: "s", text: "7" }, gold).map(({ text }) => text);
    expect(shapes("so \\boxed{\\frac{1}{2}}")).toEqual(["7", "\\boxed{7}"]);
    expect(shapes("<think>a</think> 5")).toEqual(["7", "<think>7</think>"]);
    expect(shapes("1 + 1\n#### 2")).toEqual(["7", "#### 7"]);
    expect(shapes("```python\nx\n```")).toEqual(["7", "```python\n7\n```"]);
    expect(bareAnswer("so it is \\boxed{\\frac{1}{2}}")).toBe("\\boxed{\\frac{1}{2}}");
    expect(bareAnswer("1 + 1\n#### 2")).toBe("#### 2");
    expect(bareAnswer("2")).toBe("2");
  });

  it("takes the place of an assistant's text, without its calls", () => {
    const call = { id: "1", type: "function" as const, function: { name: "f", arguments: "{}" } };
    const gold: Message[] = [
      { role: "user", content: "a" },
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", content: "b", tool_call_id: "1" },
      { role: "assistant", content: "c" },
    ];
    expect(saidInstead(gold, (before) => `${before?.content}!`)).toEqual([
      { role: "user", content: "a" },
      { role: "assistant", content: "a!" },
    ]);
  });

  it("is found in any prompt within its time", () => {
    const pieces = fc.array(fc.constantFrom("$", "(", ")", "\\(", "\\)", '"', "`", "1", "+", " ", "x", "\\[", "- "), {
      maxLength: 2000,
    });
    fc.assert(
      fc.property(pieces, (parts) => {
        const prompt = parts.join("");
        for (const { text } of copiedTexts(prompt)) expect(prompt).toContain(text);
      }),
      { numRuns: 60 },
    );
  }, 20_000);
});
