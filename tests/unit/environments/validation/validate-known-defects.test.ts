/** Defects that built-in environments once had: each made anew from the tasks of today, so that `validate` must find it by itself. */
import { describe, expect, it } from "vitest";
import { z } from "zod";

import { CATALOG, type DrawnInstruction } from "../../../../ts/environments/builtin/instruction-following/catalog.ts";
import { emptyDraft, write } from "../../../../ts/environments/builtin/instruction-following/draft.ts";
import { problems as wordProblems } from "../../../../ts/environments/builtin/gsm8k/problems.ts";
import { KINDS, problems } from "../../../../ts/environments/builtin/math/problems.ts";
import { makeProblem } from "../../../../ts/environments/builtin/python-repl/problems.ts";
import { word } from "../../../../ts/environments/builtin/words.ts";
import {
  defineEnvironment,
  endless,
  loadEnvironment,
  type Message,
  multiTurn,
  type Rng,
  singleTurn,
  validateEnvironment,
} from "../../../../ts/environments/index.ts";
import { checkInstruction, extractAnswer, sequenceRatio, verifyMath } from "../../../../ts/verify/index.ts";

interface Row {
  prompt: string;
  gold: string;
  instructions?: DrawnInstruction[];
}

/** What `validate` says of tasks and a reward, per check. */
async function foundIn(
  rows: (rng: Rng) => Generator<Row>,
  reward: (reply: string, row: Row) => number | Promise<number>,
  tasks = 60,
): Promise<Record<string, string>> {
  const environment = defineEnvironment({
    name: "fixture",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: ({ rng }) => endless(rows(rng)),
    key: (_, index) => String(index),
    rollout: singleTurn(),
    rewards: { right: ({ task, trace }) => reward(trace.lastReply, task) },
    async validate({ task, score }) {
      await score(task.gold);
    },
  });
  return messages(await validateEnvironment(environment.configure(), { tasks, seed: 5 }));
}

function messages({ failures }: Awaited<ReturnType<typeof validateEnvironment>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { check, message } of failures) found[check] = `${found[check] ?? ""}${message}\n`;
  return found;
}

/** Compares values alone, as a verifier of mathematics does. */
const byValue = async (reply: string, { gold }: Row): Promise<number> => {
  const given = extractAnswer(reply, { strict: true });
  return given === null ? 0 : Number((await verifyMath(gold, `\\boxed{${given}}`)).correct);
};

describe("validate finds the former defect of", () => {
  it("math: operations that are not carried out", async () => {
    const found = await foundIn(
      function* (rng) {
        for (const { problem, answer } of problems(rng, ["remainder", "derivative", "complex"]))
          yield { prompt: problem, gold: `\\boxed{${answer}}` };
      },
      byValue,
      12,
    );
    expect(found["free"]).toMatch(/longest expression of the prompt, in a box/u);
    expect(found["free"]).toMatch(/a derivative that is not carried out, in a box/u);
    expect(found["free"]).toMatch(/a remainder that is not computed, in a box/u);
  });

  it("math: forms that come again", async () => {
    const found = await foundIn(
      function* (rng) {
        for (const { problem, answer } of problems(rng, KINDS)) yield { prompt: problem, gold: answer };
      },
      (reply, { gold }) => Number(reply === gold),
    );
    expect(found["duplicates"]).toMatch(/tasks repeat the content of another/u);
  });

  it("python-repl: a remainder that is not computed", async () => {
    const found = await foundIn(
      function* (rng) {
        for (;;) {
          const { text, answer } = makeProblem(rng);
          if (/remainder of \d+\^/u.test(text)) yield { prompt: text, gold: `\\boxed{${answer}}` };
        }
      },
      byValue,
      4,
    );
    expect(found["free"]).toMatch(/a remainder that is not computed, in a box/u);
  });

  it("gsm8k: the first of several numbers behind ####", async () => {
    const found = await foundIn(
      function* (rng) {
        for (const { question, answer } of wordProblems(rng)) yield { prompt: question, gold: answer };
      },
      (reply, { gold }) => Number(/#### (\d+)/u.exec(reply)?.[1] === /#### (\d+)/u.exec(gold)?.[1]),
    );
    expect(found["wrong"]).toMatch(/60 of 60 replies that leave a choice, such as "#### \d+ or \d+", get full marks/u);
  });

  it("instruction-following: a share of instructions that one text follows, or the prompt", async () => {
    const found = await foundIn(
      function* (rng) {
        for (;;) {
          const draft = emptyDraft();
          const instructions = [
            rng.pick(CATALOG.filter(({ ownWords }) => ownWords !== true)).draw({ rng, draft, topic: "a bridge" }),
          ];
          const prompt = `Write about the ${word(rng)} of ${word(rng)}. ${instructions.map(({ text }) => text).join(" ")}`;
          yield { prompt, gold: write(draft), instructions };
        }
      },
      (reply, { instructions = [] }) =>
        instructions.filter(({ id, kwargs }) => checkInstruction(id, kwargs, reply).strict).length /
        instructions.length,
    );
    expect(found["free"]).toMatch(/the last user message/u);
    expect(found["free"]).toMatch(/the answers of all tasks, one below the other/u);
  });

  it("wordle: words that come again, and the same ones in both splits", async () => {
    const environment = defineEnvironment({
      name: "fixture",
      version: "1.0.0",
      config: z.strictObject({}),
      tasks: ({ rng }) => endless(words(rng)),
      key: (_, index) => String(index),
      contentKey: ({ hidden }: { prompt: string; hidden: string }) => hidden,
      rollout: singleTurn(),
      rewards: { found: ({ task, trace }) => trace.lastReply === task.hidden },
    });
    const found = messages(await validateEnvironment(environment.configure(), { tasks: 10 }));
    expect(found["duplicates"]).toMatch(/of 1000 tasks repeat/u);
    expect(found["overlap"]).toMatch(/in train and in eval/u);
  });

  it("proposer-solver: rows without a prompt that are others in another order", async () => {
    const environment = defineEnvironment({
      name: "fixture",
      version: "1.0.0",
      config: z.strictObject({}),
      tasks: ({ split }) =>
        Array.from({ length: 50 }, (_, i) => ({ numbers: split === "train" ? [1, i, 99] : [99, 1, i] })),
      rollout: async ({ sample, task }) => {
        await sample([{ role: "user", content: task.numbers.join() }]);
      },
      rewards: { long: ({ trace }) => trace.lastReply.length > 99 },
    });
    const found = messages(await validateEnvironment(environment.configure(), { tasks: 50 }));
    expect(found["overlap"]).toMatch(/50 of the tasks looked at are in train and in eval/u);
  });

  it("alphabet-sort: similarity that names have without being sorted", async () => {
    const names = await (await loadEnvironment("alphabet-sort")).configure().tasks("train", 1).page(null, 40);
    const rows = names.tasks.map(({ data }) => data as { prompt: Message[]; turns: string[][] });
    const sorted = (turns: string[][], turn: number) =>
      turns
        .slice(0, turn + 1)
        .flat()
        .toSorted()
        .join("\n");
    const asks = (turns: string[][], turn: number) => `Add these:\n${(turns[turn] ?? []).join("\n")}`;
    const environment = defineEnvironment({
      name: "fixture",
      version: "1.0.0",
      config: z.strictObject({}),
      tasks: ({ split }) => (split === "train" ? rows : rows.slice(0, 1)),
      rollout: multiTurn<(typeof rows)[number]>({
        maxTurns: 3,
        respond: (trace, { turns }) => asks(turns, trace.turns),
      }),
      rewards: {
        similarity: ({ task: { turns }, trace }) => {
          const replies = trace.nodes.filter(({ sampled }) => sampled).map(({ message }) => message.content);
          const ratios = turns.map((_, turn) => sequenceRatio(replies[turn] ?? "", sorted(turns, turn)));
          return ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
        },
      },
      async validate({ task: { prompt, turns }, scoreMessages }) {
        await scoreMessages(
          turns.flatMap((_, turn): Message[] => [
            ...(turn === 0 ? prompt : [{ role: "user" as const, content: asks(turns, turn) }]),
            { role: "assistant", content: sorted(turns, turn) },
          ]),
        );
      },
    });
    const found = messages(await validateEnvironment(environment.configure(), { tasks: 40 }));
    expect(found["free"]).toMatch(/what stands behind the last colon, of all turns so far/u);
  });

  it("countdown: a target that is among the numbers", async () => {
    const environment = (await loadEnvironment("countdown")).configure();
    const data = { prompt: [], numbers: [3, 4, 7], target: 7, solution: "(3 + 4)" };
    await expect(environment.validate({ key: "0", hash: "", data })).rejects.toThrow(/the bare target 1/u);
  });
});

it("gsm8k's generated problems have no number for an answer, and reverse-text no palindrome", async () => {
  const tasksOf = async <Data>(id: string, args = {}): Promise<Data[]> =>
    (await (await loadEnvironment(id)).configure(args).tasks("train", 0).page(null, 2000)).tasks.map(
      ({ data }) => data as Data,
    );
  for (const { question, answer } of await tasksOf<{ question: string; answer: string }>("gsm8k", {
    data: "generated",
  }))
    expect(question.match(/\d+/gu)).not.toContain(answer);
  for (const { prompt, answer } of await tasksOf<{ prompt: string; answer: string }>("reverse-text"))
    expect(prompt).not.toContain(` ${answer}\n`);
});

function* words(rng: Rng): Generator<{ prompt: string; hidden: string }> {
  for (;;) yield { prompt: "Find the hidden word.", hidden: word(rng, 1) };
}
