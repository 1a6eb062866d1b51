/** Router replay from the server through client and batch to the trainer, on a small mixture of experts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createInferenceServer, type InferenceServer } from "../../../ts/inference/index.ts";
import { type Completion, InferenceClient } from "../../../ts/inference-client/index.ts";
import {
  buildBatch,
  loadModel,
  type Model,
  noExperts,
  openTrainer,
  packSequences,
  type Sample,
  type Trainer,
} from "../../../ts/native/index.ts";
import { EXPERTS, publishVersion, scratch } from "../inference/tiny-model.ts";

/** Layers with a router times experts of a token. */
const WIDTH = 4;
const PROMPT = [104, 101, 108, 108, 111];

let root: Awaited<ReturnType<typeof scratch>>;
let dir: string;
let model: Model;
let server: InferenceServer;
let client: InferenceClient;

beforeAll(async () => {
  root = await scratch();
  ({ dir } = await publishVersion(root.dir, 0, EXPERTS));
  model = await loadModel(dir, { threads: 2, kvCacheBytes: 8 * 1024 * 1024 });
  server = await createInferenceServer(model, { modelDir: dir, modelNames: ["tiny"], returnsRoutedExperts: true });
  client = new InferenceClient({ url: await server.listen("127.0.0.1", 0), model: "tiny" });
});
afterAll(async () => {
  await client.close();
  await server.close();
  await model.close();
  await root.remove();
});

const sample = (seed: number, more: Partial<Parameters<InferenceClient["generate"]>[0]> = {}): Promise<Completion> =>
  client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 30, seed, ignoreEos: true }, ...more });

describe("a server that returns experts", () => {
  test("gives a row for every token but the last, streamed or not, from the token that is asked for", async () => {
    const whole = await sample(3);
    expect(whole.routedExperts).toMatchObject({ layers: 2, topK: 2 });
    const ids = whole.routedExperts?.ids ?? new Uint8Array();
    expect(ids).toHaveLength((PROMPT.length + 30 - 1) * WIDTH);
    expect(ids.every((id) => id < EXPERTS.num_experts)).toBe(true);
    const streamed = await sample(3, { onTokens: () => undefined });
    expect(streamed.routedExperts).toEqual(whole.routedExperts);
    const rest = await sample(3, { routedExpertsFrom: 4 });
    expect(rest.routedExperts?.ids).toEqual(ids.slice(4 * WIDTH));
  });

  test("leaves out the rows behind a stop string", async () => {
    const { tokenIds, routedExperts } = await sample(3);
    const stop = String.fromCharCode(...tokenIds.slice(6, 8).filter((id) => id < 128));
    const cut = await sample(3, {
      sampling: { maxTokens: 30, seed: 3, ignoreEos: true, stop: [stop === "" ? "q" : stop] },
    });
    const rows = PROMPT.length + cut.tokenIds.length - 1;
    expect(cut.routedExperts?.ids).toEqual(routedExperts?.ids.slice(0, rows * WIDTH));
  });

  test("refuses a place behind the prompt, and a server without the option one that is not 0", async () => {
    await expect(sample(3, { routedExpertsFrom: 6 })).rejects.toThrow("routed_experts_prompt_start: is 6");
    const plain = await createInferenceServer(model, { modelDir: dir });
    const other = new InferenceClient({ url: await plain.listen("127.0.0.1", 0) });
    try {
      await expect(other.generate({ tokenIds: PROMPT, routedExpertsFrom: 2 })).rejects.toThrow(
        "start it with --enable-return-routed-experts",
      );
      const { routedExperts } = await other.generate({ tokenIds: PROMPT, sampling: { maxTokens: 2 } });
      expect(routedExperts).toBeUndefined();
    } finally {
      await other.close();
      await plain.close();
    }
  });
});

/** A completion as a sample; its last token has no experts. */
function toSample({ tokenIds, logprobs, routedExperts }: Completion): Sample {
  if (routedExperts === undefined) throw new Error("no experts");
  const length = PROMPT.length + tokenIds.length;
  const experts = noExperts(routedExperts, length);
  experts.ids.set(routedExperts.ids);
  const onPrompt = <Column extends Float32Array | Uint8Array>(column: Column, values: ArrayLike<number>): Column => {
    column.set(values, PROMPT.length);
    return column;
  };
  const mask = onPrompt(new Uint8Array(length), new Uint8Array(tokenIds.length).fill(1));
  return {
    tokenIds: Uint32Array.of(...PROMPT, ...tokenIds),
    mask,
    logprobs: onPrompt(new Float32Array(length), logprobs),
    advantages: Float32Array.from(mask, (on, t) => (on === 0 ? 0 : t % 3 === 0 ? -1 : 1)),
    temperature: 1,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, 0xffff_ffff, PROMPT.length, 0),
    routedExperts: experts,
  };
}

async function mismatch(trainer: Trainer, batch: Parameters<Trainer["forwardBackward"]>[0]): Promise<number> {
  const { metrics } = await trainer.forwardBackward(batch);
  await trainer.step({ lr: 0 });
  return metrics["mismatch_kl/all"] ?? Number.NaN;
}

test("replay changes nothing under the weights that sampled, and brings later weights closer to them", async () => {
  const completions = await Promise.all(Array.from({ length: 16 }, (_, seed) => sample(seed)));
  const samples = completions.map(toSample);
  const bins = packSequences(
    samples.map(({ tokenIds }) => tokenIds.length),
    { seqLen: 128 },
  );
  const [batch] = buildBatch(samples, bins);
  if (batch === undefined) throw new Error("no batch");
  const { routedExperts: _, ...without } = batch;
  const trainer = await openTrainer(dir, { threads: 2, optim: { type: "adamw", lr: 2e-3 } });
  try {
    const onPolicy = { onPolicyVersion: 0 };
    for (const given of [batch, without]) {
      const { metrics } = await trainer.forwardBackward({ ...given, ...onPolicy });
      expect(metrics["mismatch_on_policy/max_abs_logprob_diff"]).toBe(0);
      expect(metrics["mismatch_on_policy/tokens"]).toBe(16 * 30);
      await trainer.step({ lr: 0 });
    }
    for (let step = 0; step < 3; step++) {
      await trainer.forwardBackward(batch);
      await trainer.step();
    }
    const [replayed, own] = [await mismatch(trainer, batch), await mismatch(trainer, without)];
    expect(replayed).toBeGreaterThan(0);
    expect(replayed).toBeLessThan(own);
  } finally {
    await trainer.close();
  }
});
