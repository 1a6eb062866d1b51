/** Algorithms from the config to the columns of a batch, and what bad numbers do there. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { rlConfigSchema, type RlConfig } from "../../../../ts/config/schema/rl.ts";
import type { ReceivedEpisode, RunRequest } from "../../../../ts/environments/internal.ts";
import type { Group } from "../../../../ts/orchestrator/scheduling/dispatcher.ts";
import { starved } from "../../../../ts/orchestrator/batch/starvation.ts";
import { buildTrainBatch } from "../../../../ts/orchestrator/batch/train-batch.ts";
import { AdvantageEstimation } from "../../../../ts/orchestrator/batch/advantage-estimation.ts";
import { samplesOf, scored } from "../simulation.ts";

function config(algo: Record<string, unknown>): RlConfig {
  return rlConfigSchema.parse({
    seq_len: 64,
    model: { name: "m" },
    orchestrator: {
      batch_size: 4,
      group_size: 2,
      algo,
      train: { source: [{ name: "b", env: { id: "reverse-text" } }] },
    },
  });
}

const request = { episode_id: "e", env: "b", group_id: "g", run: { type: "train", step: 1 } } as RunRequest;
const rollout = (reward: number, tokens = 2) => scored(request, reward, 3, 3, tokens);

function group(...rollouts: ReceivedEpisode[]): Group {
  const task = {
    source: "b",
    task: { key: "k", hash: "", data: null },
    epoch: 0,
    groupSize: rollouts.length,
    scoresGroups: false,
  };
  return { index: 0, id: "group-0", task, dispatchVersion: 3, oldestVersion: 3, firstIndex: 0, seconds: 1, rollouts };
}

describe("an algorithm's config", () => {
  test("shapes rewards by length before the baseline: overlong answers, and the share of the group's longest", async () => {
    const rollouts = [rollout(1, 8), rollout(1, 10), rollout(1, 12)];
    const overlong = { overlong: { max_tokens: 12, cache_tokens: 4 } };
    // 8 tokens are free, 10 cost a half, 12 cost 1.
    const late = await buildTrainBatch([group(...rollouts)], { config: config(overlong) });
    expect(late.advantages).toEqual([[0.5, 0, -0.5]]);
    const lengthy = await buildTrainBatch([group(...rollouts)], {
      config: config({ length_penalty: { output: 0.6, input: 0, turns: 0 } }),
    });
    const shaped = [8, 10, 12].map((length) => 1 - 0.6 * (length / 12));
    const mean = shaped.reduce((sum, value) => sum + value, 0) / 3;
    for (const [i, value] of shaped.entries()) expect(lengthy.advantages[0]?.[i]).toBeCloseTo(value - mean, 12);
  });

  test("takes a custom function, per rollout and per token", async () => {
    const folder = await mkdtemp(join(tmpdir(), "prl-advantages-"));
    const path = join(folder, "mine.ts");
    await writeFile(
      path,
      `export default ({ rollouts }: { rollouts: { reward: number; columns: () => { mask: Uint8Array } }[] }) =>
         rollouts.map(({ reward, columns }) =>
           reward > 1 ? Float32Array.of(reward) : Float32Array.from(columns().mask, (on, t) => on * t));`,
    );
    const own = config({ type: "custom", path });
    const estimation = new AdvantageEstimation(own.orchestrator.train.source);
    await estimation.load();
    const failed = { episode: { ...rollout(0).episode, ok: false }, samples: null };
    const batch = await buildTrainBatch([group(rollout(3), failed, rollout(1))], { config: own, estimation });
    await rm(folder, { recursive: true });
    expect(batch.advantages).toEqual([[3, 0, 1.5]]);
    const columns = batch.batches[0]?.columns();
    expect([...(columns?.advantages ?? [])]).toEqual([0, 3, 3, 0, 1, 2]);
    expect(columns?.rlWeights).toBeUndefined();
  });

  test("distils a teacher's scores, and learns good traces, whatever the rewards of the group", async () => {
    const teacher = { base_url: "http://teacher" };
    const scores = { of: () => Float32Array.of(9, -1, -2) };
    const groups = [group(rollout(1), rollout(1))];
    const distilled = await buildTrainBatch(groups, { config: config({ type: "opd", teacher }), references: scores });
    const columns = distilled.batches[0]?.columns();
    expect(columns?.counts).toEqual({ rl: 0, ce: 0, refKl: 4 });
    expect([...(columns?.referenceLogprobs ?? [])]).toEqual([0, -1, -2, 0, -1, -2]);
    const learnt = await buildTrainBatch([group(rollout(1), rollout(0.2))], {
      config: config({ type: "sft", min_reward: 0.5 }),
    });
    expect(learnt).toMatchObject({ samples: 1, zeroAdvantage: 1 });
    expect(learnt.batches[0]?.columns().counts).toEqual({ rl: 0, ce: 2, refKl: 0 });
  });

  test("is part of the denominators over all ranks: sequences too", async () => {
    const groups = [group(rollout(1), rollout(0), rollout(1), rollout(0))];
    const { batches } = await buildTrainBatch(groups, { config: config({}), trainRanks: { ranks: 2 } });
    expect(batches.map((batch) => batch.columns().rlSequences)).toEqual([4, 4]);
  });
});

const STARVED = { step: 3, batches: 10, file: "rollouts/step_3/starved.jsonl" };

describe("bad numbers", () => {
  test("a group of one has an advantage of 0, or its reward with singleton = raw; a run of them is starved and says why", async () => {
    const groups = [group(rollout(1))];
    expect(await buildTrainBatch(groups, { config: config({}) })).toMatchObject({
      advantages: [[0]],
      samples: 0,
      zeroAdvantage: 1,
    });
    expect(await buildTrainBatch(groups, { config: config({ singleton: "raw" }) })).toMatchObject({
      advantages: [[1]],
      samples: 1,
    });
    expect(starved(groups, STARVED)).toMatchObject({
      code: "PRL_ORCHESTRATOR_STARVED",
      message: expect.stringMatching(/raise group_size.*rollouts\/step_3\/starved\.jsonl$/) as string,
    });
  });

  test("rewards that are all 0 teach nothing, under every estimator", async () => {
    for (const type of ["grpo", "dr_grpo", "rloo", "max_rl", "reinforce_pp_baseline", "opo", "gdpo"]) {
      const batch = await buildTrainBatch([group(rollout(0), rollout(0))], { config: config({ type }) });
      expect(batch, type).toMatchObject({ samples: 0, zeroAdvantage: 2, batches: [] });
    }
    expect(starved([group(rollout(0), rollout(0))], STARVED).message).toContain("rewards were all equal");
  });

  test("an infinite reward is named", async () => {
    const built = buildTrainBatch([group(rollout(Infinity), rollout(0))], { config: config({}) });
    await expect(built).rejects.toMatchObject({ code: "PRL_ADVANTAGE_INPUT" });
  });

  test("a log-probability that is not finite is named with its token", () => {
    const columns = {
      tokenIds: Uint32Array.of(1, 2),
      mask: Uint8Array.of(0, 1),
      logprobs: Float32Array.of(0, Number.NaN),
      versionSpans: Uint32Array.of(0, 0xffffffff, 1, 3),
      branchOffsets: Uint32Array.of(0, 2),
    };
    // It is refused when it arrives, long before a batch.
    expect(() => samplesOf([columns])).toThrow(
      expect.objectContaining({
        code: "PRL_PACKING_INPUT",
        message: expect.stringContaining("token 1") as string,
      }) as Error,
    );
  });
});
