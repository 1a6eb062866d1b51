import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  encodeTraceColumns,
  type Turn,
  TraceGraph,
  truncateTurn,
  UNSAMPLED_VERSION,
  versionRange,
} from "../../../../ts/environments/internal.ts";
import type { Message } from "../../../../ts/environments/index.ts";
import { RolloutSamples } from "../../../../ts/native/index.ts";

const ids = (...values: number[]) => Uint32Array.from(values);
const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });

function completion(
  tokens: number[],
  versions: [number, number][] = [[0, 0]],
  finishReason: "stop" | "length" = "stop",
): Pick<Turn, "completionIds" | "logprobs" | "policyVersions" | "finishReason"> {
  const logprobs = Float32Array.from(tokens, (token) => -token / 8);
  return { completionIds: ids(...tokens), logprobs, policyVersions: versions, finishReason };
}

describe("TraceGraph", () => {
  it("gives the prompt to unsampled tokens and the completion to sampled ones with logprobs and versions", () => {
    const trace = new TraceGraph();
    trace.commitTurn({
      prompt: [user("hi")],
      promptIds: ids(1, 2, 3),
      ...completion(
        [4, 5, 6],
        [
          [0, 7],
          [2, 8],
        ],
      ),
      response: assistant("yo"),
    });
    const columns = trace.columns();
    expect([...columns.tokenIds]).toEqual([1, 2, 3, 4, 5, 6]);
    expect([...columns.mask]).toEqual([0, 0, 0, 1, 1, 1]);
    expect([...columns.logprobs]).toEqual([0, 0, 0, -0.5, -0.625, -0.75]);
    expect([...columns.versionSpans]).toEqual([0, UNSAMPLED_VERSION, 3, 7, 5, 8]);
    expect([...columns.branchOffsets]).toEqual([0, 6]);
    expect(versionRange(columns)).toEqual({ start: 7, end: 8 });
    expect(trace.lastReply).toBe("yo");
    expect(trace.messages).toEqual([user("hi"), assistant("yo")]);
    expect([trace.promptTokens, trace.completionTokens, trace.truncated]).toEqual([3, 3, false]);
  });

  it("continues a branch whose messages and tokens the next prompt begins with", () => {
    const trace = new TraceGraph();
    trace.commitTurn({ prompt: [user("a")], promptIds: ids(1, 2), ...completion([3]), response: assistant("b") });
    const messages = [user("a"), assistant("b"), user("c")];
    trace.commitTurn({
      prompt: messages,
      promptIds: ids(1, 2, 3, 4, 5),
      ...completion([6], [[0, 1]], "length"),
      response: assistant("d"),
    });
    expect(trace.nodes.map(({ parent, sampled }) => [parent, sampled])).toEqual([
      [null, false],
      [0, true],
      [1, false],
      [2, true],
    ]);
    const columns = trace.columns();
    expect([...columns.tokenIds]).toEqual([1, 2, 3, 4, 5, 6]);
    expect([...columns.mask]).toEqual([0, 0, 1, 0, 0, 1]);
    expect([...columns.versionSpans]).toEqual([0, UNSAMPLED_VERSION, 2, 0, 3, UNSAMPLED_VERSION, 5, 1]);
    expect(trace.truncated).toBe(true);
  });

  it("starts a new branch when a token of the history differs, and patches nothing", () => {
    const trace = new TraceGraph();
    trace.commitTurn({ prompt: [user("a")], promptIds: ids(1, 2), ...completion([3]), response: assistant("b") });
    const messages = [user("a"), assistant("b"), user("c")];
    trace.commitTurn({ prompt: messages, promptIds: ids(1, 2, 9, 4), ...completion([6]), response: assistant("d") });
    const columns = trace.columns();
    expect([...columns.branchOffsets]).toEqual([0, 3, 8]);
    expect([...columns.tokenIds]).toEqual([1, 2, 3, 1, 2, 9, 4, 6]);
    expect([...columns.mask]).toEqual([0, 0, 1, 0, 0, 0, 0, 1]);
    expect([...columns.versionSpans]).toEqual([0, UNSAMPLED_VERSION, 2, 0, 3, UNSAMPLED_VERSION, 7, 0]);
  });

  it("refuses a completion whose parts do not fit together", () => {
    const commit = (broken: Partial<Turn>) => () =>
      new TraceGraph().commitTurn({
        prompt: [user("a")],
        promptIds: ids(1),
        ...completion([2, 3]),
        ...broken,
        response: assistant(""),
      });
    expect(commit({ logprobs: Float32Array.of(0) })).toThrow(/1 log-probabilities for 2 tokens/);
    expect(commit({ policyVersions: [] })).toThrow(/no policy version for the first token/);
    expect(
      commit({
        policyVersions: [
          [0, 1],
          [0, 2],
        ],
      }),
    ).toThrow(/not in order/);
  });

  it("keeps every prompt of the policy as a branch or a part of one, for any conversation", () => {
    const token = fc.nat(5);
    const turnSteps = fc.array(
      fc.record({
        extend: fc.boolean(),
        fresh: fc.array(token, { minLength: 1, maxLength: 4 }),
        sampled: fc.array(token, { minLength: 1, maxLength: 4 }),
        switchAt: fc.nat(5),
      }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(turnSteps, (steps) => {
        const trace = new TraceGraph();
        const seen: number[][] = [];
        let history: { messages: Message[]; tokens: number[] } = { messages: [], tokens: [] };
        steps.forEach(({ extend, fresh, sampled, switchAt }, turn) => {
          if (!extend) history = { messages: [], tokens: [] };
          const messages = [...history.messages, user(`u${turn}`)];
          const prompt = [...history.tokens, ...fresh];
          const versions: [number, number][] =
            switchAt > 0 && switchAt < sampled.length
              ? [
                  [0, turn],
                  [switchAt, turn + 1],
                ]
              : [[0, turn]];
          trace.commitTurn({
            prompt: messages,
            promptIds: ids(...prompt),
            ...completion(sampled, versions),
            response: assistant(`a${turn}`),
          });
          history = { messages: [...messages, assistant(`a${turn}`)], tokens: [...prompt, ...sampled] };
          seen.push(history.tokens);
        });
        const columns = trace.columns();
        expect(RolloutSamples.parse(encodeTraceColumns([columns]), 1).columns()).toEqual([columns]);
        const branches = [...columns.branchOffsets.subarray(1)].map((end, b) => [
          ...columns.tokenIds.subarray(columns.branchOffsets[b], end),
        ]);
        expect(branches.length).toBe(1 + steps.slice(1).filter((step) => !step.extend).length);
        for (const tokens of seen)
          expect(branches.some((branch) => tokens.every((value, i) => branch[i] === value))).toBe(true);
        const sampledTokens = steps.reduce((sum, step) => sum + step.sampled.length, 0);
        expect(columns.mask.reduce((sum, value) => sum + value, 0)).toBe(sampledTokens);
        columns.logprobs.forEach((logprob, t) => {
          expect(logprob).toBe(columns.mask[t] === 1 ? -(columns.tokenIds[t] ?? 0) / 8 : 0);
        });
      }),
    );
  });
});

describe("prepareTurn, samples, truncateTurn", () => {
  it("finds the deepest match and the turn to extend, without changing anything", () => {
    const trace = new TraceGraph();
    expect(trace.prepareTurn([user("a")])).toEqual({ matchedMessages: 0, pathTokens: 0, bridgeAnchor: null });
    trace.commitTurn({ prompt: [user("a")], promptIds: ids(1, 2), ...completion([3, 4]), response: assistant("b") });
    const prepared = trace.prepareTurn([user("a"), assistant("b"), user("c")]);
    expect(prepared).toEqual({
      matchedMessages: 2,
      pathTokens: 4,
      bridgeAnchor: { promptIds: ids(1, 2), completionIds: ids(3, 4), tools: "[]" },
    });
    expect(trace.prepareTurn([user("a")])).toEqual({ matchedMessages: 1, pathTokens: 2, bridgeAnchor: null });
    expect(trace.prepareTurn([user("x")]).matchedMessages).toBe(0);
    expect(trace.nodes).toHaveLength(2);
  });

  it("distinguishes messages by reasoning, calls and their ids, with arguments compared as JSON", () => {
    const trace = new TraceGraph();
    const call = (args: string, id = "1"): Message => ({
      role: "assistant",
      content: "",
      tool_calls: [{ id, type: "function", function: { name: "f", arguments: args } }],
    });
    trace.commitTurn({ prompt: [user("a")], promptIds: ids(1), ...completion([2]), response: call('{"x":1,"y":2}') });
    expect(trace.prepareTurn([user("a"), call('{"y": 2, "x": 1}')]).matchedMessages).toBe(2);
    expect(trace.prepareTurn([user("a"), call('{"x":1,"y":2}', "2")]).matchedMessages).toBe(1);
    expect(trace.prepareTurn([user("a"), { ...call('{"x":1,"y":2}'), reasoning_content: "" }]).matchedMessages).toBe(1);
  });

  it("samples of one prompt share its tokens; an older sibling can go on", () => {
    const trace = new TraceGraph();
    const prompt = [user("a")];
    trace.commitTurn({ prompt, promptIds: ids(1, 2), ...completion([3]), response: assistant("same") });
    trace.commitTurn({ prompt, promptIds: ids(1, 2), ...completion([4]), response: assistant("same") });
    trace.commitTurn({
      prompt: [user("a"), assistant("same"), user("b")],
      promptIds: ids(1, 2, 3, 5),
      ...completion([6]),
      response: assistant("c"),
    });
    expect(trace.samples().map(({ tokenIds, mask }) => [[...tokenIds], [...mask]])).toEqual([
      [
        [1, 2, 4],
        [0, 0, 1],
      ],
      [
        [1, 2, 3, 5, 6],
        [0, 0, 1, 0, 1],
      ],
    ]);
  });

  it("a reply that two branches share trains in the first", () => {
    const trace = new TraceGraph();
    trace.commitTurn({ prompt: [user("a")], promptIds: ids(1), ...completion([2]), response: assistant("b") });
    for (const [text, id] of [
      ["c", 3],
      ["d", 4],
    ] as const) {
      trace.commitTurn({
        prompt: [user("a"), assistant("b"), user(text)],
        promptIds: ids(1, 2, id),
        ...completion([5]),
        response: assistant("e"),
      });
    }
    expect(trace.samples().map(({ mask }) => [...mask])).toEqual([
      [0, 1, 0, 1],
      [0, 0, 0, 1],
    ]);
  });

  it("spans give each message its tokens, the generation prompt goes to the reply", () => {
    const trace = new TraceGraph();
    trace.commitTurn({
      prompt: [user("a"), user("b")],
      promptIds: ids(1, 2, 3, 4, 5),
      messageSpans: [2, 4],
      ...completion([6]),
      response: assistant("c"),
    });
    expect(trace.nodes.map(({ tokenIds, promptTokens }) => [[...tokenIds], promptTokens])).toEqual([
      [[1, 2], 2],
      [[3, 4], 2],
      [[5, 6], 1],
    ]);
  });

  it("cuts turns to a length", () => {
    const turn: Turn = {
      prompt: [user("a")],
      promptIds: ids(1, 2, 3),
      ...completion(
        [4, 5, 6],
        [
          [0, 1],
          [2, 2],
        ],
      ),
      response: assistant("b"),
    };
    expect(truncateTurn(turn, 6)).toEqual({ turn, overlongPrompt: false, truncated: false });
    const cut = truncateTurn(turn, 5);
    expect([cut.overlongPrompt, cut.truncated]).toEqual([false, true]);
    expect(cut.turn).toMatchObject({ completionIds: ids(4, 5), policyVersions: [[0, 1]] });
    expect(cut.turn.logprobs).toHaveLength(2);
    const over = truncateTurn(turn, 2);
    expect([over.overlongPrompt, [...over.turn.promptIds], over.turn.completionIds.length]).toEqual([true, [1, 2], 0]);
  });
});
