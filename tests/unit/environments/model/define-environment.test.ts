import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";

import {
  defineEnvironment,
  endless,
  type EnvironmentDefinition,
  groupReward,
  type Judge,
  loadEnvironment,
  multiTurn,
  reward,
  type RewardContext,
  singleTurn,
  type TaskRows,
} from "../../../../ts/environments/index.ts";
import { isEnvironment } from "../../../../ts/environments/internal.ts";

interface Row {
  prompt: string;
  answer: number;
}

const config = z.strictObject({ size: z.int().default(3).describe("rows") });

const definition = {
  name: "count-up",
  version: "1.0.0",
  config,
  tasks: (): TaskRows<Row> => [{ prompt: "1 2 ", answer: 3 }],
  rollout: singleTurn(),
  rewards: { exact: reward(1, ({ task, trace }: RewardContext<Row>) => trace.lastReply === String(task.answer)) },
} satisfies EnvironmentDefinition<{ size: number }, Row>;

describe("defineEnvironment", () => {
  it("lets the task row and the config flow into rollout, rewards, metrics and keys without a cast", () => {
    const environment = defineEnvironment({
      name: "typed",
      version: "1.0.0",
      config,
      *tasks({ config: args, rng, split }) {
        expectTypeOf(args).toEqualTypeOf<{ size: number }>();
        expectTypeOf(split).toEqualTypeOf<"train" | "eval">();
        for (let i = 0; i < args.size; i += 1) yield { question: `${split} ${rng.integer(9)}`, answer: i };
      },
      key: (row, index) => {
        expectTypeOf(row.answer).toEqualTypeOf<number>();
        return `${row.question}-${index}`;
      },
      rollout: async ({ task, config: args, sample }) => {
        expectTypeOf(task).toEqualTypeOf<{ question: string; answer: number }>();
        expectTypeOf(args.size).toEqualTypeOf<number>();
        await sample(task.question);
      },
      rewards: {
        plain: ({ task }) => task.answer,
        weighted: { weight: 0.5, score: ({ task, config: args }) => task.answer / args.size },
        shared: reward(1, ({ task }: RewardContext<{ answer: number }>) => task.answer),
      },
      metrics: { length: ({ task, trace }) => trace.lastReply.length - task.question.length },
    });
    expect(isEnvironment(environment)).toBe(true);
    // As an author writes it: nothing is named twice and nothing is cast.
    defineEnvironment({
      name: "sorted",
      version: "1.0.0",
      tags: ["logic"],
      config: z.strictObject({ maxNames: z.int().default(5).describe("names per turn") }),
      tasks: ({ config: { maxNames }, rng }) =>
        endless(Array.from({ length: 9 }, () => ({ prompt: "sort", answer: rng.integer(maxNames) }))),
      key: (row) => String(row.answer),
      limits: ({ config: { maxNames } }) => ({ turns: maxNames }),
      rollout: multiTurn({
        maxTurns: 3,
        respond: (trace, task) => (trace.lastReply === String(task.answer) ? null : "again"),
      }),
      rewards: {
        similarity: reward(1, ({ task, trace, config: args, judge, sandbox, signal }) => {
          expectTypeOf(task.answer).toEqualTypeOf<number>();
          expectTypeOf(args).toEqualTypeOf<{ maxNames: number }>();
          expectTypeOf(judge).toEqualTypeOf<Judge>();
          expectTypeOf(sandbox).toBeFunction();
          return trace.lastReply === String(task.answer) && !signal.aborted;
        }),
        shortest: groupReward(0.5, ({ traces, task }) => traces.map(({ turns }) => turns <= task.answer)),
        parts: reward(1, ({ task }) => ({ even: task.answer % 2 === 0, size: task.answer })),
      },
      validate: async ({ task, score }) => {
        expectTypeOf(task.answer).toEqualTypeOf<number>();
        await score(String(task.answer));
      },
    });
    // @ts-expect-error: the row has no prompt for singleTurn to send.
    defineEnvironment({ ...definition, tasks: () => [{ answer: 1 }] });
    // @ts-expect-error: the row has no such key.
    defineEnvironment({ ...definition, rewards: { wrong: ({ task }) => task.anser } });
  });

  it.each([
    ["name", { name: "Count Up" }],
    ["version", { version: "" }],
    ["rewards", { rewards: {} }],
    ["weight NaN", { rewards: { exact: { weight: Number.NaN, score: () => 1 } } }],
    ["neither a function nor reward", { rewards: { exact: 3 } }],
    ["both a reward and a metric", { metrics: { exact: () => 1 } }],
    ["zod schema", { config: { size: 3 } }],
    ["rollout", { rollout: "single" }],
  ])("refuses a definition and names the mistake in its %s", (problem, change) => {
    const broken = { ...definition, ...change } as unknown as typeof definition;
    expect(() => defineEnvironment(broken)).toThrow(problem.split(" ")[0]);
    expect(() => defineEnvironment(broken)).toThrow(expect.objectContaining({ code: "PRL_ENVIRONMENT_INVALID" }));
  });

  it("fills its arguments and names the one that is wrong", async () => {
    const environment = defineEnvironment(definition);
    const page = await environment.configure({}).tasks("train", 1).page(null, 9);
    expect(page.tasks.map((task) => task.data)).toEqual([{ prompt: "1 2 ", answer: 3 }]);
    expect(() => environment.configure({ sise: 4 })).toThrow(/count-up.*sise: did you mean size\?$/s);
    expect(() => environment.configure({ other: 4 })).toThrow(/other: there are size$/s);
    const named = defineEnvironment({ ...definition, config: config.extend({ maxSteps: z.int().default(1) }) });
    expect(() => named.configure({ max_steps: 4 })).toThrow(/did you mean maxSteps\? .* variable .*__ARGS__maxSteps$/s);
    expect(() => environment.configure({ size: "4" })).toThrow(expect.objectContaining({ code: "PRL_CONFIG_INVALID" }));
  });

  it("seeds tasks by run and split, and gives no demonstrations that it does not have", async () => {
    const environment = defineEnvironment({
      ...definition,
      tasks: ({ rng }) => endless(Array.from({ length: 100 }, () => ({ prompt: "", answer: rng.next() }))),
    }).configure();
    const answers = async (split: "train" | "eval", seed: number) =>
      (await environment.tasks(split, seed).page(null, 100)).tasks.map((task) => task.hash);
    expect(await answers("train", 1)).toEqual(await answers("train", 1));
    expect(await answers("train", 2)).not.toEqual(await answers("train", 1));
    expect(await answers("eval", 1)).not.toEqual(await answers("train", 1));
    expect(() => environment.demonstrations(1)).toThrow(
      expect.objectContaining({ code: "PRL_ENVIRONMENT_UNSUPPORTED" }),
    );
  });
});

describe("loadEnvironment", () => {
  it("finds built-in environments by id and names them when the id is wrong", async () => {
    expect((await loadEnvironment("reverse-text")).name).toBe("reverse-text");
    expect((await loadEnvironment({ id: "reverse-text", path: null })).name).toBe("reverse-text");
    await expect(loadEnvironment("reverse-txt")).rejects.toMatchObject({
      code: "PRL_ENVIRONMENT_UNKNOWN",
      message: expect.stringContaining("reverse-text"),
    });
  });

  it("wants exactly one of id and path", async () => {
    await expect(loadEnvironment({})).rejects.toMatchObject({ code: "PRL_ENVIRONMENT_INVALID" });
    await expect(loadEnvironment({ id: "a", path: "./b.ts" })).rejects.toMatchObject({
      code: "PRL_ENVIRONMENT_INVALID",
    });
    await expect(loadEnvironment("./not-there.ts")).rejects.toMatchObject({ code: "PRL_USER_MODULE" });
  });
});
