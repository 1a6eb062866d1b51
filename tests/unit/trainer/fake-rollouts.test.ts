import { describe, expect, test } from "vitest";
import { fakeRollouts } from "../../../ts/trainer/index.ts";

const NOT_SAMPLED = 0xffffffff;
const receive = { deadlineMs: 1000, signal: new AbortController().signal };

describe("made-up batches", () => {
  const options = { seqLen: 64, vocabSize: 10, seed: 1 };

  test("have so many sequences of one length, in micro batches, half of each sampled by the version before", async () => {
    const fake = { batch_size: 5, micro_batch_size: 2, seq_len: 7 };
    const batch = await fakeRollouts({ ...options, fake }).receive(3, 0, receive);
    expect([...batch.cuSeqlens]).toEqual([0, 7, 14, 21, 28, 35]);
    expect([...batch.binSeqOffsets]).toEqual([0, 2, 4, 5]);
    expect(batch.counts.rl).toBe(5 * 4);
    expect([...batch.lossMask.subarray(0, 7)]).toEqual([0, 0, 0, 1, 1, 1, 1]);
    expect([...batch.policyVersionSpans.subarray(0, 4)]).toEqual([0, NOT_SAMPLED, 3, 2]);
    expect(Math.max(...batch.inputIds)).toBeLessThan(10);
  });

  test("follow from seed and step; the config's length is the default", async () => {
    const rollouts = fakeRollouts({ ...options, fake: { batch_size: 2, micro_batch_size: 1, seq_len: null } });
    const [first, again, next] = [
      await rollouts.receive(1, 0, receive),
      await rollouts.receive(1, 0, receive),
      await rollouts.receive(2, 0, receive),
    ];
    expect(first.inputIds).toHaveLength(128);
    expect(again).toEqual(first);
    expect(next.inputIds).not.toEqual(first.inputIds);
  });
});
