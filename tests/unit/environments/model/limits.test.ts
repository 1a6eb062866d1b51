import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";

import {
  defineEnvironment,
  type Limits,
  multiTurn,
  type ReplyClient,
  type ReplyRequest,
  type Rollout,
  RolloutStop,
  tool,
  toolUse,
  userModel,
} from "../../../../ts/environments/index.ts";
import { PrlError } from "../../../../ts/errors.ts";

interface Row {
  prompt: string;
}

/** A model that says these texts in turn, the last one for ever. */
function model(...texts: string[]): ReplyClient & { requests: ReplyRequest[] } {
  const requests: ReplyRequest[] = [];
  return {
    requests,
    async reply(request) {
      requests.push(request);
      const content = texts[Math.min(requests.length, texts.length) - 1] ?? "";
      if (content === "HANG")
        return new Promise((_, reject) =>
          request.signal.addEventListener("abort", () => reject(request.signal.reason as Error)),
        );
      const isCall = content.startsWith("{");
      return {
        message: { role: "assistant", content },
        toolCalls: isCall ? [{ status: "ok", name: "act", arguments: {}, raw: "{}" }] : [],
        finishReason: "stop",
        usage: { promptTokens: 10 * requests.length, completionTokens: 5 },
      };
    },
  };
}

async function run(
  rollout: Rollout<Row>,
  endpoint: ReplyClient,
  limits: Limits = {},
  signal = new AbortController().signal,
) {
  const environment = defineEnvironment({
    name: "t",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: (): Row[] => [],
    rollout,
    limits,
    rewards: { turns: ({ trace }) => trace.turns },
  }).configure();
  const { episode } = await environment.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task: { key: "0", hash: "", data: { prompt: "hi" } },
    endpoint,
    sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "eval", step: 0 },
    signal,
  });
  const [trace] = episode.traces;
  return { episode, stop: trace?.stop_condition, reward: trace?.reward, code: episode.errors[0]?.code };
}

const talk = multiTurn<Row>({ maxTurns: 50, respond: () => "more" });
const endlessly: Rollout<Row> = async ({ sample }) => {
  for (;;) await sample("again");
};

describe("limits", () => {
  it.each<[string, Limits, string, number]>([
    ["turns", { turns: 3 }, "max_turns", 3],
    ["outputTokens", { outputTokens: 12 }, "max_output_tokens", 3],
    ["promptTokens", { promptTokens: 24 }, "max_prompt_tokens", 2],
  ])("of %s end any rollout under a name, and it is scored", async (_, limits, stop, turns) => {
    expect(await run(talk, model("word"), limits)).toMatchObject({ stop, reward: turns, code: undefined });
  });

  it("a policy that has filled its context stops and is scored; a task that does not fit is an error", async () => {
    const full = (turns: number): ReplyClient => {
      const inner = model("word");
      return {
        reply: async (request) => {
          if (inner.requests.length === turns) throw new PrlError("PRL_INFERENCE_CONTEXT", "547 tokens are too many");
          return inner.reply(request);
        },
      };
    };
    expect(await run(talk, full(2))).toMatchObject({ stop: "prompt_too_long", reward: 2, code: undefined });
    expect(await run(endlessly, full(3))).toMatchObject({ stop: "prompt_too_long", reward: 3, code: undefined });
    expect(await run(talk, full(0))).toMatchObject({ stop: undefined, code: "PRL_INFERENCE_CONTEXT" });
  });

  it("hold for rollouts that do not know of them", async () => {
    expect(await run(endlessly, model("word"), { turns: 7 })).toMatchObject({ stop: "max_turns", reward: 7 });
    const swallowing: Rollout<Row> = async ({ sample }) => {
      for (;;) await sample("again").catch(() => sleep(1));
    };
    expect(await run(swallowing, model("word"), { turns: 2 })).toMatchObject({ stop: "max_turns", reward: 2 });
  });

  it("of time end a turn that is at work, a tool and a user that hang", async () => {
    const limits = { timeMs: 60 };
    expect(await run(talk, model("one", "HANG"), limits)).toMatchObject({ stop: "max_time", reward: 1 });
    const act = tool({ description: "", parameters: z.object({}), execute: () => new Promise(() => undefined) });
    expect(await run(toolUse<Row>({ tools: { act } }), model("{}"), limits)).toMatchObject({
      stop: "max_time",
      reward: 1,
    });
    const silent = multiTurn<Row>({ respond: () => new Promise(() => undefined) });
    expect(await run(silent, model("one"), limits)).toMatchObject({ stop: "max_time", reward: 1 });
  });

  it("are an error when nothing was said in time, and no match for a cancellation", async () => {
    expect(await run(talk, model("HANG"), { timeMs: 20 })).toMatchObject({ code: "PRL_ENVIRONMENT_TIMEOUT" });
    const cancelled = new AbortController();
    setTimeout(() => cancelled.abort(new PrlError("PRL_EPISODE_CANCELLED", "enough")), 20);
    const waits = run(talk, model("one", "HANG"), { timeMs: 5000 }, cancelled.signal);
    expect(await waits).toMatchObject({ code: "PRL_EPISODE_CANCELLED" });
  });

  it("do not matter to a rollout that is cancelled before it begins, or while it is called", async () => {
    const cancelled = new AbortController();
    let begun = 0;
    const late: Rollout<Row> = async () => {
      begun += 1;
      cancelled.abort(new PrlError("PRL_EPISODE_CANCELLED", "enough"));
      await sleep(1);
      throw new Error("an error that is not handled would end the process");
    };
    for (let i = 0; i < 2; i++)
      expect(await run(late, model("x"), {}, cancelled.signal)).toMatchObject({ code: "PRL_EPISODE_CANCELLED" });
    await sleep(20);
    expect(begun).toBe(1);
  });

  it("are numbers above 0 with known names", async () => {
    const wrong = [{ turns: 0 }, { outputTokens: Number.NaN }, JSON.parse('{"time": 3}') as Limits];
    for (const limits of wrong) {
      await expect(run(talk, model("x"), limits)).rejects.toMatchObject({ code: "PRL_ENVIRONMENT_INVALID" });
    }
  });

  it("have a sibling: a stop thrown by a tool ends the rollout under its name", async () => {
    const act = tool({
      description: "",
      parameters: z.object({}),
      execute: () => {
        throw new RolloutStop("exploded");
      },
    });
    expect(await run(toolUse<Row>({ tools: { act } }), model("{}"))).toMatchObject({ stop: "exploded", reward: 1 });
  });
});

describe("userModel", () => {
  const policy = () => model("How can I help?", "<think>hm</think>Done so.");

  it("speaks with the roles exchanged until it is done", async () => {
    const user = model("Sort my list.", "Thanks. ###DONE###");
    const rollout = multiTurn<Row>({
      respond: userModel<Row>({ endpoint: () => user, system: ({ prompt }) => `You said ${prompt}.` }),
    });
    expect(await run(rollout, policy())).toMatchObject({ stop: "user_done", reward: 2 });
    expect(user.requests[1]?.prompt).toEqual([
      { role: "system", content: expect.stringContaining("You said hi.") },
      { role: "user", content: expect.any(String) },
      { role: "assistant", content: "hi" },
      { role: "user", content: "How can I help?" },
      { role: "assistant", content: "Sort my list." },
      { role: "user", content: "Done so." },
    ]);
    expect(user.requests[0]?.seed).not.toBe(user.requests[1]?.seed);
  });

  it("speaks at most so often, and its endpoint's failure is not the environment's", async () => {
    const talker = multiTurn<Row>({
      respond: userModel<Row>({ endpoint: () => model("go on"), system: "", maxTurns: 2 }),
    });
    expect(await run(talker, policy())).toMatchObject({ stop: "max_user_turns", reward: 3 });
    const dead: ReplyClient = { reply: () => Promise.reject(new PrlError("PRL_INFERENCE_UNREACHABLE", "gone")) };
    const failing = multiTurn<Row>({ respond: userModel<Row>({ endpoint: () => dead, system: "" }) });
    expect((await run(failing, policy())).episode.errors).toMatchObject([{ class: "infra" }]);
  });
});
