import { describe, expect, test } from "vitest";

import { branchesOf } from "../../../ts/algorithms/branches.ts";
import { customAdvantages, meanAdvantage, type AdvantageGroup } from "../../../ts/algorithms/custom-advantages.ts";
import { echoWeights } from "../../../ts/algorithms/loss-streams/echo.ts";
import { lossStreamsOf } from "../../../ts/algorithms/loss-streams/loss-streams.ts";
import { distillStreams } from "../../../ts/algorithms/loss-streams/opd.ts";
import { hintedPrompt } from "../../../ts/algorithms/loss-streams/opsd.ts";
import { sftStreams } from "../../../ts/algorithms/loss-streams/sft.ts";
import { UserFunction } from "../../../ts/algorithms/user-function.ts";
import { algoBlock, algoProblems } from "../../../ts/config/schema/orchestrator/algo.ts";
import type { EpisodeTrace } from "../../../ts/environments/index.ts";
import { TraceGraph } from "../../../ts/environments/internal.ts";
import type { TraceColumns } from "../../../ts/environments/index.ts";

type Role = "user" | "assistant" | "tool";
const say = (role: Role, content: string) => ({ role, content });

/** Two turns with a tool between them, and a fork from the first reply: 2 prompt tokens, 2 sampled, 1 of the tool, 1 of scaffold, 1 sampled. */
function conversation() {
  const graph = new TraceGraph();
  const first = [say("user", "q")];
  const turn = (
    prompt: readonly object[],
    promptIds: number[],
    spans: number[],
    completionIds: number[],
    reply: string,
  ) =>
    graph.commitTurn({
      prompt: prompt as never,
      promptIds: Uint32Array.from(promptIds),
      completionIds: Uint32Array.from(completionIds),
      logprobs: new Float32Array(completionIds.length).fill(-1),
      messageSpans: spans,
      response: say("assistant", reply),
    });
  turn(first, [1, 2], [2], [3, 4], "a");
  const second = [...first, say("assistant", "a"), say("tool", "t")];
  turn(second, [1, 2, 3, 4, 5, 6], [2, 4, 5], [7], "b");
  const forked = [...first, say("assistant", "a"), say("tool", "u")];
  turn(forked, [1, 2, 3, 4, 8, 6], [2, 4, 5], [9], "c");
  const nodes = graph.nodes.map(({ parent, message, sampled, tokenIds }) => ({
    parent,
    message,
    sampled,
    tokens: tokenIds.length,
  }));
  return { nodes: nodes as EpisodeTrace["nodes"], columns: graph.columns() };
}

describe("echo", () => {
  test("learns what tools said after the first reply, in each branch its own", () => {
    const { nodes, columns } = conversation();
    expect([...columns.tokenIds]).toEqual([1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 8, 6, 9]);
    expect(branchesOf(nodes).map((branch) => branch.map(({ tokens }) => tokens))).toEqual([
      [2, 2, 1, 2],
      [2, 2, 1, 2],
    ]);
    const alpha = Math.fround(0.1);
    expect([...(echoWeights(nodes, columns, {}) ?? [])]).toEqual([0, 0, 0, 0, alpha, 0, 0, 0, 0, 0, 0, alpha, 0, 0]);
    // The user spoke before the first reply only.
    expect(echoWeights(nodes, columns, { user: 1 })).toBeNull();
  });

  test("keeps the cross-entropy of a trace whose advantage is 0, and takes it out of the policy stream", () => {
    const { nodes, columns } = conversation();
    const algo = algoBlock.parse({ type: "echo" });
    const scored = { trace: { nodes, reward: 1 } as EpisodeTrace, columns: () => columns, reference: null };
    const silent = lossStreamsOf(algo, { ...scored, advantage: 0 }, true)?.streams;
    expect(silent?.rlWeights).toEqual(new Float32Array(14));
    expect(silent?.ceWeights?.[4]).toBeCloseTo(0.1);
    expect(lossStreamsOf(algo, { ...scored, advantage: 0.5 }, true)?.streams).not.toHaveProperty("rlWeights");
    expect(lossStreamsOf(algo, { ...scored, advantage: 0 }, false)?.streams).not.toHaveProperty("rlWeights");
    const silentUser = algoBlock.parse({ type: "echo", roles: { user: 1 } });
    expect(lossStreamsOf(silentUser, { ...scored, advantage: 0 }, true)).toBeNull();
    expect(lossStreamsOf(silentUser, { ...scored, advantage: 1 }, true)).toEqual({});
  });
});

describe("distillation", () => {
  const columns = (mask: number[]): TraceColumns => ({
    tokenIds: new Uint32Array(mask.length),
    mask: Uint8Array.from(mask),
    logprobs: new Float32Array(mask.length),
    versionSpans: Uint32Array.of(0, 0xffffffff),
    branchOffsets: Uint32Array.of(0, mask.length),
  });

  test("opd puts sampled tokens into the reference stream alone, with the teacher's scores", () => {
    expect(distillStreams(columns([0, 0, 1, 1]), Float32Array.of(0, -5, -1, -2))).toEqual({
      rlWeights: new Float32Array(4),
      refKlWeights: Float32Array.of(0, 0, 1, 1),
      referenceLogprobs: Float32Array.of(0, 0, -1, -2),
    });
  });

  test("sft puts it into the cross-entropy stream, when the reward is high enough", () => {
    const own = columns([0, 1]);
    expect(sftStreams(own)).toEqual({ rlWeights: new Float32Array(2), ceWeights: Float32Array.of(0, 1) });
    const algo = algoBlock.parse({ type: "sft", min_reward: 0.5 });
    const streamsFor = (reward: number) =>
      lossStreamsOf(
        algo,
        { trace: { reward } as EpisodeTrace, advantage: 0, columns: () => own, reference: null },
        true,
      );
    expect(streamsFor(0.4)).toBeNull();
    expect(streamsFor(0.5)).toEqual({ streams: sftStreams(own) });
  });

  test("opsd puts the hint before the first message of the user, or before a raw text", async () => {
    const seen: string[] = [];
    const renderer = {
      render: async (messages: readonly { role: string; content: string }[]) => {
        seen.push(messages.map(({ role, content }) => `${role}:${content}`).join("|"));
        return Uint32Array.of(1);
      },
      encode: async (text: string) => {
        seen.push(text);
        return Uint32Array.of(2);
      },
    };
    const messages = [
      { role: "system" as const, content: "s" },
      { role: "user" as const, content: "q" },
    ];
    expect(await hintedPrompt({ messages, isText: false }, "$& 42", "({hint}) ", renderer)).toEqual(Uint32Array.of(1));
    const text = [{ role: "user" as const, content: "q" }];
    expect(await hintedPrompt({ messages: text, isText: true }, "42", "({hint}) ", renderer)).toEqual(
      Uint32Array.of(2),
    );
    expect(seen).toEqual(["system:s|user:($& 42) q", "(42) q"]);
  });
});

describe("custom advantages", () => {
  const columns = (): TraceColumns => ({
    tokenIds: new Uint32Array(3),
    mask: Uint8Array.of(0, 1, 1),
    logprobs: new Float32Array(3),
    versionSpans: Uint32Array.of(0, 0),
    branchOffsets: Uint32Array.of(0, 3),
  });
  const group: AdvantageGroup = {
    env: "e",
    task: { key: "k", data: null },
    agent: "agent",
    rollouts: [1, 0].map((reward) => ({ reward, trace: {} as EpisodeTrace, columns })),
  };
  const ask = (result: unknown) => customAdvantages(new UserFunction("./a.ts", () => result), group);

  test("are one number for a rollout, or one for each of its tokens", () => {
    const perToken = Float32Array.of(0, 2, 4);
    expect(ask([Float32Array.of(0.5), perToken])).toEqual([0.5, perToken]);
    expect([0.5, perToken].map((advantage) => meanAdvantage(advantage, columns))).toEqual([0.5, 3]);
  });

  test("of tokens that were not sampled are not read", () => {
    const own = ask([Float32Array.of(Number.NaN, 2, 4), Float32Array.of(9, 0, 0)]);
    expect(own).toEqual([Float32Array.of(0, 2, 4), Float32Array.of(0, 0, 0)]);
    const scored = { trace: { reward: 1 } as EpisodeTrace, columns, reference: null };
    const taught = own.map((advantage) =>
      lossStreamsOf(algoBlock.parse({ type: "custom", path: "./a.ts" }), { ...scored, advantage }, true),
    );
    expect(taught).toEqual([{ streams: { advantages: own[0] } }, null]);
    expect(() => ask([Float32Array.of(1), Float32Array.of(0, Number.NaN, 0)])).toThrow("an advantage of NaN");
  });

  test.each([
    ["one array too few", [Float32Array.of(1)], "no list of 2 arrays"],
    ["an ordinary list", [[1], [2]], "is not a Float32Array"],
    ["another length", [Float32Array.of(1), Float32Array.of(1, 2)], "one for each of its 3 tokens"],
    ["NaN", [Float32Array.of(1), Float32Array.of(Number.NaN)], "rollout 1 has an advantage of NaN"],
  ])("%s is refused by name", (_what, result, message) => {
    const expected = { code: "PRL_ADVANTAGE_INPUT", message: expect.stringContaining(message) as string };
    expect(() => ask(result)).toThrow(expect.objectContaining(expected) as Error);
  });

  test("the function's exception is the cause", () => {
    const cause = new Error("mine");
    const throws = () => {
      throw cause;
    };
    expect(() => customAdvantages(new UserFunction("./a.ts", throws), group)).toThrow(
      expect.objectContaining({ code: "PRL_USER_MODULE", cause }) as Error,
    );
  });
});

test("[orchestrator.algo] says which keys an algorithm lacks and which it does not read", () => {
  const keys = (block: object) => algoProblems(algoBlock.parse(block)).map(({ key }) => key);
  const teacher = { base_url: "http://t" };
  expect(keys({ type: "opd" })).toEqual(["teacher"]);
  expect(keys({ type: "opd", teacher })).toEqual([]);
  expect(keys({ type: "opsd" })).toEqual(["demo_key"]);
  expect(keys({ type: "custom" })).toEqual(["path"]);
  expect(keys({ type: "sft" })).toEqual(["min_reward"]);
  expect(keys({ type: "sft", teacher })).toEqual([]);
  expect(keys({ type: "grpo", teacher, roles: { tool: 1 } })).toEqual(["roles", "teacher"]);
  expect(keys({ type: "opd", teacher, length_penalty: {} })).toEqual(["length_penalty"]);
  expect(keys({ type: "rloo", std: "group", decay: 0.5, template: "{hint}" })).toEqual(["std", "decay", "template"]);
  expect(keys({ type: "echo", std: "group", roles: { tool: 1 } })).toEqual([]);
  expect(keys({ type: "rae", decay: 0.5 })).toEqual([]);
  expect(() => algoBlock.parse({ type: "opsd", demo_key: "k", template: "no place" })).toThrow("{hint}");
});
