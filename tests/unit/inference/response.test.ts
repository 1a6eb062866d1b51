import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { TextLogprobs } from "../../../ts/inference/openai/logprobs.ts";
import { CompletionCursor, endWithStopString, joinCompletions } from "../../../ts/inference/requests/completion.ts";
import { joinRankings, rankedAt, type RankedTokens, sliceRanking } from "../../../ts/inference/requests/ranking.ts";
import {
  chunkJson,
  promptLogprobsJson,
  rankedPromptLogprobsJson,
  responseJson,
  type Completion,
} from "../../../ts/inference/requests/response.ts";

const USAGE = { promptTokens: 3, completionTokens: 2, cachedTokens: 1 };

function completion(logprobs: number[]): Completion {
  const tokenIds = Uint32Array.from(logprobs, (_, index) => index + 5);
  return {
    tokenIds,
    logprobs: Float32Array.from(logprobs),
    ranking: null,
    policyVersions: [[0, 4]],
    finishReason: "stop",
    stopReason: 6,
  };
}

describe("responseJson", () => {
  it("has vLLM's shape plus policy_versions", () => {
    expect(
      JSON.parse(
        responseJson({
          requestId: 'a"b',
          completions: [completion([-0.5, -0.25])],
          topLogprobs: 0,
          promptLogprobs: null,
          usage: USAGE,
        }),
      ),
    ).toEqual({
      request_id: 'a"b',
      choices: [
        {
          index: 0,
          token_ids: [5, 6],
          logprobs: {
            content: [
              {
                token_id: 5,
                logprob: -0.5,
                rank: null,
                top_logprobs: [],
              },
              {
                token_id: 6,
                logprob: -0.25,
                rank: null,
                top_logprobs: [],
              },
            ],
          },
          finish_reason: "stop",
          stop_reason: 6,
          routed_experts: null,
          policy_versions: [[0, 4]],
        },
      ],
      prompt_logprobs: null,
      kv_transfer_params: null,
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_tokens_details: { cached_tokens: 1 } },
    });
  });

  it("leaves log-probabilities out unless asked for", () => {
    const body = JSON.parse(
      responseJson({
        requestId: "r",
        completions: [completion([-1])],
        topLogprobs: null,
        promptLogprobs: null,
        usage: USAGE,
      }),
    ) as {
      choices: { logprobs: unknown }[];
    };
    expect(body.choices[0]?.logprobs).toBeNull();
  });

  it("carries every f32 above vLLM's floor of -9999 to its last bit", () => {
    fc.assert(
      fc.property(fc.array(fc.float({ max: 0, min: -9999, noNaN: true })), (values) => {
        const body = JSON.parse(
          responseJson({
            requestId: "r",
            completions: [completion(values)],
            topLogprobs: 0,
            promptLogprobs: null,
            usage: USAGE,
          }),
        ) as {
          choices: { logprobs: { content: { logprob: number }[] } }[];
        };
        const got = Float32Array.from(body.choices[0]?.logprobs.content ?? [], ({ logprob }) => logprob);
        expect(new Uint32Array(got.buffer)).toEqual(new Uint32Array(Float32Array.from(values).buffer));
      }),
    );
  });

  it("sends -9999 for minus infinity and refuses NaN", () => {
    expect(
      responseJson({
        requestId: "r",
        completions: [completion([-Infinity])],
        topLogprobs: 0,
        promptLogprobs: null,
        usage: USAGE,
      }),
    ).toContain('"logprob":-9999,');
    expect(() =>
      responseJson({
        requestId: "r",
        completions: [completion([Number.NaN])],
        topLogprobs: 0,
        promptLogprobs: null,
        usage: USAGE,
      }),
    ).toThrow(expect.objectContaining({ code: "PRL_INFERENCE_FAILED" }));
  });
});

describe("log-probabilities of other tokens", () => {
  /** Two tokens with the two most probable ones of their places; the first is among them, the second is not. */
  const ranked: RankedTokens = {
    tokenIds: Uint32Array.of(5, 6),
    logprobs: Float32Array.of(-0.5, -4),
    ranking: {
      ranks: Uint32Array.of(2, 9),
      topTokenIds: Uint32Array.of(7, 5, 8, 9),
      topLogprobs: Float32Array.of(-0.25, -0.5, -1, -2),
    },
  };

  it("have the token itself first, with its place as rank when it is among them", () => {
    expect(rankedAt(ranked, 0, 2)).toEqual([
      { id: 5, logprob: -0.5, rank: 2 },
      { id: 7, logprob: -0.25, rank: 1 },
    ]);
    expect(rankedAt(ranked, 1, 2)).toEqual([
      { id: 6, logprob: -4, rank: 9 },
      { id: 8, logprob: -1, rank: 1 },
      { id: 9, logprob: -2, rank: 2 },
    ]);
  });

  it("are as many in an answer as it asks for", () => {
    const one: Completion = { ...completion([-0.5, -4]), ranking: ranked.ranking };
    const topOf = (topLogprobs: number) => {
      const json = responseJson({
        requestId: "r",
        completions: [one],
        topLogprobs,
        promptLogprobs: null,
        usage: USAGE,
      });
      const body = JSON.parse(json) as {
        choices: { logprobs: { content: { rank: number; top_logprobs: { token_id: number }[] }[] } }[];
      };
      const content = body.choices[0]?.logprobs.content ?? [];
      expect(content.map(({ rank }) => rank)).toEqual([2, 9]);
      return content.map(({ top_logprobs: top }) => top.map(({ token_id: id }) => id));
    };
    expect(topOf(1)).toEqual([[5], [6]]);
    expect(topOf(2)).toEqual([
      [5, 7],
      [6, 8],
    ]);
  });

  it("of a prompt have null first and the text of each", () => {
    expect(JSON.parse(rankedPromptLogprobsJson(ranked, 1, String))).toEqual([
      null,
      {
        "6": { logprob: -4, rank: 9, decoded_token: "6" },
        "8": { logprob: -1, rank: 1, decoded_token: "8" },
      },
    ]);
  });

  it("stay with their tokens when completions are joined and cut", () => {
    const [first, second] = [sliceRanking(ranked.ranking, 1), { ...ranked.ranking }];
    expect(first).toEqual({
      ranks: Uint32Array.of(2),
      topTokenIds: Uint32Array.of(7, 5),
      topLogprobs: Float32Array.of(-0.25, -0.5),
    });
    expect(joinRankings([first, second]).topTokenIds).toEqual(Uint32Array.of(7, 5, 7, 5, 8, 9));
  });
});

describe("promptLogprobsJson", () => {
  it("has null first and each token's own id after it", () => {
    expect(JSON.parse(promptLogprobsJson(Uint32Array.of(7, 8, 9), Float32Array.of(0, -0.5, -2)))).toEqual([
      null,
      { "8": { logprob: -0.5, rank: null, decoded_token: null } },
      { "9": { logprob: -2, rank: null, decoded_token: null } },
    ]);
  });
});

describe("CompletionCursor", () => {
  const increment = (tokens: number, policyVersions: [number, number][], finished = false) => ({
    id: "x",
    tokenIds: Uint32Array.from({ length: tokens }, (_, index) => index),
    logprobs: new Float32Array(tokens),
    policyVersions,
    finishReason: finished ? ("length" as const) : null,
    stopReason: null,
    cachedTokens: 2,
  });

  it("counts versions within each chunk and repeats the one that goes on", () => {
    const cursor = new CompletionCursor();
    expect(cursor.next(increment(2, [[0, 1]])).policyVersions).toEqual([[0, 1]]);
    expect(cursor.next(increment(2, [[3, 2]])).policyVersions).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(cursor.next(increment(1, [])).policyVersions).toEqual([[0, 2]]);
    expect(cursor.next(increment(0, [], true)).policyVersions).toEqual([]);
    expect(cursor).toMatchObject({ tokens: 5, cachedTokens: 2 });
  });

  it("joins chunks into the completion that they are parts of", () => {
    const cursor = new CompletionCursor();
    const chunks = [increment(2, [[0, 1]]), increment(2, [[3, 2]]), increment(1, [], true)].map((one) =>
      cursor.next(one),
    );
    const whole = joinCompletions(chunks);
    expect(whole.policyVersions).toEqual([
      [0, 1],
      [3, 2],
    ]);
    expect(whole.tokenIds).toHaveLength(5);
    expect(whole.finishReason).toBe("length");
  });

  it("drops the versions of tokens after a stop string", () => {
    const chunk = new CompletionCursor().next(
      increment(3, [
        [0, 1],
        [2, 2],
      ]),
    );
    expect(endWithStopString(chunk, 2, "\n")).toMatchObject({
      policyVersions: [[0, 1]],
      finishReason: "stop",
      stopReason: "\n",
    });
  });
});

describe("chunkJson", () => {
  it("ends a stream with the usage alone", () => {
    expect(JSON.parse(chunkJson("r", null, null, USAGE))).toMatchObject({
      request_id: "r",
      choices: [],
      usage: { total_tokens: 5 },
    });
  });
});

it("offsets of tokens count characters, not units of UTF-16", () => {
  const logprobs = new TextLogprobs((id) => ["a", "\u{1F600}", "bc"][id] ?? "");
  const place = (id: number) => ({ id, tokens: [{ id, logprob: -1, rank: 1 }] });
  expect(logprobs.of([place(0), place(1)])).toMatchObject({ text_offset: [0, 1] });
  expect(logprobs.of([place(2), place(0)])).toMatchObject({ text_offset: [2, 4] });
});
