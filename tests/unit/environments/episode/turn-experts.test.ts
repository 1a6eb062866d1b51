/** The experts of a conversation's tokens: from turns to the columns of a trace, to an episode's bytes and to a batch. */
import { describe, expect, it } from "vitest";

import { encodeTraceColumns } from "../../../../ts/environments/episode/episode-frame.ts";
import { TraceGraph, type Turn } from "../../../../ts/environments/episode/trace.ts";
import type { Message } from "../../../../ts/message.ts";
import { RolloutSamples, type RoutedExperts, SampleSet } from "../../../../ts/native/index.ts";

const NONE = 255;
const message = (role: Message["role"], content: string): Message => ({ role, content });
const [USER, REPLY, NEXT] = [message("user", "a"), message("assistant", "b"), message("user", "c")];

/** Rows `[10 t, 10 t + 1]` of the tokens from `first` to before `end`. */
function rows(first: number, end: number, add = 0): RoutedExperts {
  const ids = Array.from({ length: end - first }, (_, t) => [10 * (first + t) + add, 10 * (first + t) + add + 1]);
  return { layers: 1, topK: 2, ids: Uint8Array.from(ids.flat()) };
}

function turn(prompt: Message[], promptIds: number[], completionIds: number[], more: Partial<Turn> = {}): Turn {
  return {
    prompt,
    promptIds: Uint32Array.from(promptIds),
    completionIds: Uint32Array.from(completionIds),
    logprobs: new Float32Array(completionIds.length),
    response: message("assistant", "b"),
    ...more,
  };
}

describe("the experts of turns", () => {
  it("belong to their messages' tokens; the next turn tells those of the last sampled token", () => {
    const trace = new TraceGraph();
    expect(trace.recordedExperts([USER], Uint32Array.of(1, 2))).toBe(0);
    trace.commitTurn(turn([USER], [1, 2], [3, 4], { routedExperts: rows(0, 3) }));
    expect([...(trace.columns().routedExperts?.ids ?? [])]).toEqual([0, 1, 10, 11, 20, 21, NONE, NONE]);

    const history = [USER, REPLY, NEXT];
    const promptIds = [1, 2, 3, 4, 5, 6];
    expect(trace.recordedExperts(history, Uint32Array.from(promptIds))).toBe(3);
    trace.commitTurn(turn(history, promptIds, [7], { routedExperts: rows(3, 6), routedExpertsFrom: 3 }));
    const { tokenIds, routedExperts } = trace.columns();
    expect([...tokenIds]).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(routedExperts).toEqual({ layers: 1, topK: 2, ids: Uint8Array.of(...rows(0, 6).ids, NONE, NONE) });
  });

  it("are those of each branch where a conversation forks, and the first turn's where branches share tokens", () => {
    const trace = new TraceGraph();
    trace.commitTurn(turn([USER], [1, 2], [3], { routedExperts: rows(0, 2) }));
    const other = turn([USER, REPLY, NEXT], [1, 2, 9, 4], [5], { routedExperts: rows(0, 4, 100) });
    expect(trace.recordedExperts(other.prompt, other.promptIds)).toBe(1);
    trace.commitTurn(other);
    const { branchOffsets, routedExperts } = trace.columns();
    expect([...branchOffsets]).toEqual([0, 3, 8]);
    const second = [...rows(0, 2).ids, ...rows(2, 4, 100).ids, NONE, NONE];
    expect([...(routedExperts?.ids ?? [])]).toEqual([...rows(0, 2).ids, NONE, NONE, ...second]);
  });

  it("are asked for from the beginning while a part of the conversation has none", () => {
    const trace = new TraceGraph();
    trace.commitTurn(turn([USER], [1, 2], [3]));
    expect(trace.columns().routedExperts).toBeUndefined();
    expect(trace.recordedExperts([USER, REPLY, NEXT], Uint32Array.of(1, 2, 3, 4))).toBe(0);
  });

  it("arrive in the batch, beside traces that have none", async () => {
    const [recorded, plain] = [new TraceGraph(), new TraceGraph()];
    recorded.commitTurn(turn([USER], [1, 2], [3, 4], { routedExperts: rows(0, 3) }));
    plain.commitTurn(turn([USER], [5], [6]));
    const blob = encodeTraceColumns([plain, recorded].map((trace) => trace.columns()));
    const samples = RolloutSamples.parse(blob, 2);
    const set = new SampleSet();
    set.add(samples, { advantage: 1, temperature: 1, envId: 0 });
    const [batch] = await set.pack({ seqLen: 16 });
    const { inputIds, routedExperts } = batch?.columns() ?? {};
    const found = Array.from(inputIds ?? [], (id, t) => [id, ...(routedExperts?.ids.slice(2 * t, 2 * t + 2) ?? [])]);
    expect(found.toSorted(([a = 0], [b = 0]) => a - b)).toEqual([
      [1, 0, 1],
      [2, 10, 11],
      [3, 20, 21],
      [4, NONE, NONE],
      [5, NONE, NONE],
      [6, NONE, NONE],
    ]);
  });
});
