import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  decodeEpisode,
  decodeEpisodeFrame,
  encodeEpisode,
  TraceGraph,
  versionRange,
} from "../../../../ts/environments/internal.ts";
import type { Episode, EpisodeFrame } from "../../../../ts/environments/index.ts";
import { PrlError } from "../../../../ts/errors.ts";

const turn = fc.record({
  prompt: fc.array(fc.nat(259), { minLength: 1, maxLength: 20 }),
  sampled: fc.array(fc.nat(259), { minLength: 1, maxLength: 20 }),
  version: fc.nat(1000),
});

/** Episodes of up to three traces with up to three turns, with any text anywhere. */
const frames = fc
  .record({
    turns: fc.array(fc.array(turn, { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
    text: fc.string({ unit: "binary" }),
    data: fc.dictionary(fc.string(), fc.jsonValue()),
    score: fc.double({ noNaN: true, noDefaultInfinity: true }),
  })
  .map(({ turns, text, data, score }) =>
    makeFrame(turns, text, JSON.parse(JSON.stringify(data)), score === 0 ? 0 : score),
  );

interface TurnSpec {
  prompt: number[];
  sampled: number[];
  version: number;
}

function makeFrame(turns: readonly TurnSpec[][], text: string, data: unknown, score: number): EpisodeFrame {
  const traces = turns.map((specs) => {
    const trace = new TraceGraph();
    for (const { prompt, sampled, version } of specs) {
      trace.commitTurn({
        prompt: [{ role: "user", content: text }],
        promptIds: Uint32Array.from(prompt),
        completionIds: Uint32Array.from(sampled),
        logprobs: Float32Array.from(sampled, (id) => -id / 3),
        policyVersions: [[0, version]],
        response: { role: "assistant", content: text },
      });
    }
    return trace;
  });
  const columns = traces.map((trace) => trace.columns());
  const episode: Episode = {
    id: "e-1",
    env: { id: "reverse-text", name: text },
    task: { key: "0", hash: "596b8e5dff6e80a0", data },
    group: { id: "g-1" },
    run: { type: "train", step: 3 },
    ok: true,
    errors: [],
    traces: traces.map((trace, index) => ({
      id: `t-${index}`,
      agent: "agent",
      trainable: true,
      nodes: trace.nodes.map(({ parent, message, sampled }) => ({ parent, message, sampled })),
      rewards: { similarity: { score, weight: 1 } },
      reward: score,
      metrics: { exact_match: 0 },
      stop_condition: "agent_completed",
      is_completed: true,
      is_truncated: false,
      usage: { prompt_tokens: trace.promptTokens, completion_tokens: trace.completionTokens },
      timing: { start: 1.5, generation_ms: 2, scoring_ms: 0.25, total_ms: 2.25 },
      policy: versionRange(columns[index] ?? trace.columns()) ?? { start: 0, end: 0 },
    })),
  };
  return { episode, columns };
}

const oneTrace = () => makeFrame([[{ prompt: [1, 2], sampled: [3], version: 4 }]], "a", { answer: "b" }, 0.5);

describe("episode frames", () => {
  it("come back as they were sent, from memory at any offset", () => {
    fc.assert(
      fc.property(frames, fc.nat(70), (frame, offset) => {
        const bytes = encodeEpisode(frame);
        const shifted = new Uint8Array(offset + bytes.length);
        shifted.set(bytes, offset);
        const { episode, samples } = decodeEpisode(shifted.subarray(offset));
        expect({ episode, columns: samples?.columns() }).toEqual(frame);
      }),
    );
  });

  it("are a u32 length, JSON, and a blob that begins at a multiple of 64", () => {
    const bytes = encodeEpisode(oneTrace());
    const length = bytes.readUInt32LE(0);
    expect((4 + length) % 64).toBe(0);
    expect(JSON.parse(bytes.subarray(4, 4 + length).toString())).toEqual(oneTrace().episode);
    const { episode, blob } = decodeEpisodeFrame(bytes);
    expect(episode).toEqual(oneTrace().episode);
    expect(Buffer.from(blob).equals(bytes.subarray(4 + length))).toBe(true);
  });

  it("are refused with a named error when cut off or damaged anywhere in the lengths, the JSON or the header", () => {
    const bytes = encodeEpisode(oneTrace());
    const head = 4 + bytes.readUInt32LE(0);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeEpisode(bytes.subarray(0, length))).toThrow(PrlError);
    }
    for (const at of [0, 3, 4, 20, head, head + 8]) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 0x80;
      expect(() => decodeEpisode(damaged)).toThrow(PrlError);
    }
  });

  it("are refused when a trace has no columns, or columns that do not fit", () => {
    const { episode } = oneTrace();
    expect(() => decodeEpisode(encodeEpisode({ episode, columns: [] }))).toThrow(PrlError);
  });

  it.each([
    ["mask has 3 entries for 4 tokens", { mask: new Uint8Array(3) }],
    ["mask is 2 at token 3", { mask: Uint8Array.of(0, 0, 1, 2) }],
    ["mask is 1 at token 0, where a branch starts", { mask: Uint8Array.of(1, 0, 1, 1) }],
    ["logprobs has 5 entries", { logprobs: new Float32Array(5) }],
    ["branch_offsets do not go from 0 to 4", { branchOffsets: Uint32Array.of(0, 3) }],
    ["branch_offsets do not go from 0 to 4", { branchOffsets: Uint32Array.of() }],
    ["branch_offsets do not ascend from 2 to 2", { branchOffsets: Uint32Array.of(0, 2, 2, 4) }],
    ["version_spans are not cut at token 3", { branchOffsets: Uint32Array.of(0, 3, 4), mask: new Uint8Array(4) }],
    ["version_spans are not cut at token 0", { versionSpans: Uint32Array.of(1, 1) }],
    ["version_spans do not ascend from 2 to 2", { versionSpans: Uint32Array.of(0, 1, 2, 1, 2, 3) }],
    ["version_spans reach token 4 of 4", { versionSpans: Uint32Array.of(0, 1, 4, 1) }],
  ])("are refused when their columns do not fit: %s", (problem, change) => {
    const { episode, columns } = makeFrame([[{ prompt: [1, 2], sampled: [3, 4], version: 4 }]], "a", {}, 0.5);
    const decode = () =>
      decodeEpisode(encodeEpisode({ episode, columns: columns.map((trace) => ({ ...trace, ...change })) }));
    expect(decode).toThrow(`trace 0: ${problem}`);
    expect(decode).toThrow(expect.objectContaining({ code: "PRL_EPISODE_INVALID" }));
  });
});
