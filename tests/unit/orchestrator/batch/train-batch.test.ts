import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { rlConfigSchema, type RlConfig } from "../../../../ts/config/schema/rl.ts";
import type { ReceivedEpisode, RunRequest } from "../../../../ts/environments/internal.ts";
import type { TraceColumns } from "../../../../ts/environments/index.ts";
import { rewardOf } from "../../../../ts/environments/index.ts";
import { PackedBatch, readBatch, RolloutSamples } from "../../../../ts/native/index.ts";
import { Drops, emptyReport } from "../../../../ts/orchestrator/metrics/drops.ts";
import { loadFilters } from "../../../../ts/orchestrator/filters/index.ts";
import { stepMetrics } from "../../../../ts/orchestrator/metrics/metrics.ts";
import { progressOf } from "../../../../ts/orchestrator/checkpoint/progress.ts";
import { buildTrainBatch } from "../../../../ts/orchestrator/batch/train-batch.ts";
import { filesystemRollouts } from "../../../../ts/transports/index.ts";
import { AdvantageEstimation } from "../../../../ts/orchestrator/batch/advantage-estimation.ts";
import { trainGroup } from "../../../support/training/train-group.ts";
import { errored, samplesOf, scored } from "../simulation.ts";

function config(orchestrator: Record<string, unknown> = {}): RlConfig {
  return rlConfigSchema.parse({
    seq_len: 16,
    model: { name: "m" },
    orchestrator: {
      batch_size: 4,
      group_size: 2,
      train: {
        sampling: { temperature: 0.5 },
        source: ["a", "b"].map((name) => ({ name, env: { id: "reverse-text" } })),
      },
      ...orchestrator,
    },
  });
}

const request = { episode_id: "e", env: "b", group_id: "g", run: { type: "train", step: 1 } } as RunRequest;

const group = (index: number, rollouts: ReceivedEpisode[], source = "b", dispatchVersion = 3) =>
  trainGroup(rollouts, { index, source, dispatchVersion });

const rollout = (reward: number) => scored(request, reward, 3, 4);

describe("buildTrainBatch", () => {
  test("packs for every rank of the trainer, balanced by the cost of the model", async () => {
    const groups = [group(0, [rollout(1), rollout(0), rollout(1), rollout(0)])];
    const ranks = { ranks: 2, cost: { linear: 1, quadratic: 1 } };
    const { batches } = await buildTrainBatch(groups, { config: config(), trainRanks: ranks });
    const columns = batches.map((batch) => batch.columns());
    expect(columns.map(({ binSeqOffsets }) => binSeqOffsets.length)).toEqual([2, 2]);
    expect(columns.map(({ inputIds }) => inputIds.length)).toEqual([6, 6]);
    // Denominators are of the step, not of a rank.
    expect(columns.map(({ counts }) => counts.rl)).toEqual([8, 8]);
  });

  test("makes no JavaScript object of any token on the way from an env worker's bytes to the trainer's file", async () => {
    const seen = [vi.spyOn(RolloutSamples.prototype, "columns"), vi.spyOn(PackedBatch.prototype, "columns")];
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const dir = await mkdtemp(join(tmpdir(), "prl-step-"));
    onTestFinished(() => rm(dir, { recursive: true }));
    const groups = [group(0, [rollout(1), rollout(0), rollout(1), rollout(0)])];
    const ranks = { ranks: 2, cost: { linear: 1, quadratic: 1 } };
    const { batches, envNames } = await buildTrainBatch(groups, { config: config(), trainRanks: ranks });
    await filesystemRollouts(dir, "r", 1).send(1, batches, envNames);
    const { batch } = await readBatch(join(dir, "rollouts/step_1/rank_1.safetensors"));
    expect(batch.counts).toMatchObject({ rl: 8 });
    for (const columns of seen) expect(columns).not.toHaveBeenCalled();
  });

  test("gives every sampled token its rollout's advantage, temperature, environment and version", async () => {
    const groups = [group(0, [rollout(1), rollout(0)]), group(1, [rollout(0), rollout(1)], "a")];
    const { batches, envNames, advantages, samples } = await buildTrainBatch(groups, { config: config() });
    expect(advantages).toEqual([
      [0.5, -0.5],
      [-0.5, 0.5],
    ]);
    expect(envNames).toEqual(["a", "b"]);
    expect(samples).toBe(4);
    const batch = batches[0]?.columns();
    expect(batch?.counts).toEqual({ rl: 8, ce: 0, refKl: 0 });
    expect([...(batch?.temperatures ?? [])]).toEqual(Array.from({ length: 12 }, () => 0.5));
    expect([...(batch?.envIds ?? [])].toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1]);
    for (let s = 0; s < 4; s++) {
      const [first = Number.NaN, ...sampled] = batch?.advantages.subarray(3 * s, 3 * s + 3) ?? [];
      expect(first).toBe(0);
      expect(new Set(sampled).size).toBe(1);
    }
    expect([...(batch?.policyVersionSpans ?? [])].slice(0, 6)).toEqual([0, 0xffffffff, 1, 3, 2, 4]);
  });

  test("has every source of the run among its environments, so that a number is one name's at every step", async () => {
    const { batches, envNames } = await buildTrainBatch([group(0, [rollout(1), rollout(0)])], { config: config() });
    expect(envNames).toEqual(["a", "b"]);
    expect([...(batches[0]?.columns().envIds ?? [])]).toEqual([1, 1]);
  });

  test("each source has its own estimator, and rewards of two sources never share a scale", async () => {
    const source = (name: string, algo: Record<string, unknown>) => ({ name, env: { id: "reverse-text" }, algo });
    const sources = [source("a", { type: "grpo", std: "batch", eps: 0 }), source("b", { type: "max_rl" })];
    const groups = [group(0, [rollout(1), rollout(3)], "b"), group(1, [rollout(0), rollout(100)], "a")];
    const { advantages } = await buildTrainBatch(groups, { config: config({ train: { source: sources } }) });
    const half = Math.SQRT1_2;
    expect(advantages[0]).toEqual([-0.5, 0.5]);
    expect(advantages[1]?.map((value) => Math.round(value * 1e9))).toEqual(
      [-half, half].map((v) => Math.round(v * 1e9)),
    );
  });

  test("the averages of rae live on from batch to batch, and a failed rollout moves nothing", async () => {
    const resolved = config({ algo: { type: "rae", decay: 0.5 } });
    const estimation = new AdvantageEstimation(resolved.orchestrator.train.source);
    const first = await buildTrainBatch([group(0, [rollout(1), errored(request, "environment")])], {
      config: resolved,
      estimation,
    });
    expect(first.advantages).toEqual([[1, 0]]);
    const saved = new AdvantageEstimation(resolved.orchestrator.train.source, estimation.state);
    const second = await buildTrainBatch([group(1, [rollout(1), rollout(0)])], { config: resolved, estimation: saved });
    expect(second.advantages).toEqual([[0.5, -0.75]]);
  });

  test("a filtered trace does not train but counts in its group, and each filter is counted by name", async () => {
    const folder = await mkdtemp(join(tmpdir(), "prl-filter-"));
    const path = join(folder, "mine.ts");
    await writeFile(
      path,
      'export const short = (trace: { reward: number }) => (trace.reward > 2 ? "too good" : "keep");\n',
    );
    const blocks = [
      { type: "custom", name: "mine", path: `${path}#short` },
      { type: "repetition", window: 2, prob_threshold: 0.3, enforce: false },
      { type: "gibberish", token_id_threshold: 11, max_logprob: -0.5, enforce: false },
    ];
    const resolved = config({ filters: blocks });
    const groups = [group(0, [rollout(3), rollout(0)])];
    const filters = await loadFilters(resolved.orchestrator.filters);
    const batch = await buildTrainBatch(groups, { config: resolved, filters });
    await rm(folder, { recursive: true });
    expect(batch).toMatchObject({ advantages: [[1.5, -1.5]], samples: 1, scored: 2 });
    expect(Object.fromEntries(batch.filtered)).toEqual({ mine: 1, repetition: 2, gibberish: 2 });
    const dropped = emptyReport();
    expect(
      await stepMetrics({ ages: () => true, step: 4, groups, batch, dropped, seconds: 1, environments: 1 }),
    ).toMatchObject({
      "filters/mine": 0.5,
    });
  });

  test("filters that use none of their options, or share a name, are refused", () => {
    const problem = (filters: unknown[]) => () => config({ filters });
    expect(problem([{ type: "gibberish", window: 3 }])).toThrow(/window/);
    expect(problem([{ type: "custom" }])).toThrow(/path/);
    expect(problem([{ type: "repetition" }, { type: "repetition" }])).toThrow(/name of another/);
  });

  test("an errored rollout neither trains nor counts in its group's statistics", async () => {
    const groups = [group(0, [rollout(1), errored(request, "environment"), rollout(0)])];
    const { rewards, advantages, samples } = await buildTrainBatch(groups, { config: config() });
    expect(rewards).toEqual([[1, Number.NaN, 0]]);
    expect(advantages).toEqual([[0.5, 0, -0.5]]);
    expect(samples).toBe(2);
  });

  test("an episode that sampled nothing has no reward: it is not scored 0", async () => {
    const empty: ReceivedEpisode = { episode: { ...rollout(1).episode, traces: [] }, samples: null };
    expect(rewardOf(empty.episode)).toBeNaN();
    expect(
      (await buildTrainBatch([group(0, [rollout(1), rollout(0), empty])], { config: config() })).advantages,
    ).toEqual([[0.5, -0.5, 0]]);
  });

  test("leaves out traces without a signal, or keeps them with the option; without any there is no batch", async () => {
    const groups = [group(0, [rollout(1), rollout(1)]), group(1, [rollout(0), rollout(1)])];
    expect(await buildTrainBatch(groups, { config: config() })).toMatchObject({ samples: 2, zeroAdvantage: 2 });
    const kept = await buildTrainBatch(groups, { config: config({ filter_zero_advantages: false }) });
    expect(kept).toMatchObject({ samples: 4, zeroAdvantage: 0 });
    expect(await buildTrainBatch(groups.slice(0, 1), { config: config() })).toMatchObject({ samples: 0, batches: [] });
  });

  test("each branch of a trace is a separate sample, with the spans in it", async () => {
    const none = 0xffffffff;
    const columns: TraceColumns = {
      tokenIds: Uint32Array.of(1, 2, 3, 1, 2, 4, 5),
      mask: Uint8Array.of(0, 1, 1, 0, 0, 0, 1),
      logprobs: Float32Array.of(0, -1, -2, 0, 0, 0, -3),
      versionSpans: Uint32Array.of(0, none, 1, 7, 2, 8, 3, none, 6, 9),
      branchOffsets: Uint32Array.of(0, 3, 7),
    };
    const twoBranches = { episode: rollout(1).episode, samples: samplesOf([columns]) };
    const { samples, batches } = await buildTrainBatch([group(0, [twoBranches, rollout(0)])], { config: config() });
    expect(samples).toBe(3);
    const batch = batches[0]?.columns();
    expect(batch?.counts.rl).toBe(2 + 1 + 2);
    expect([...(batch?.inputIds ?? [])]).toEqual([1, 2, 3, 1, 2, 4, 5, 9, 10, 11]);
    expect([...(batch?.cuSeqlens ?? [])]).toEqual([0, 3, 7, 10]);
    const spans = [0, none, 1, 7, 2, 8, 3, none, 6, 9, 7, none, 8, 3, 9, 4];
    expect([...(batch?.policyVersionSpans ?? [])]).toEqual(spans);
  });
});

test("stepMetrics: staleness is against the version that the step trains, rewards without errored rollouts", async () => {
  const groups = [
    group(0, [rollout(1), rollout(0)], "b", 3),
    group(1, [rollout(1), errored(request, "model")], "b", 5),
    group(2, [rollout(1), rollout(1)], "b", 4),
  ];
  const batch = await buildTrainBatch(groups, { config: config() });
  const drops = new Drops();
  const aged = { ...group(3, [rollout(1), errored(request, "model")]), seconds: 9 };
  // The first waited for a batch, the second was under way.
  drops.add("stale", [aged, { ...aged, seconds: 7, rollouts: [] }]);
  drops.add("errored", [group(4, [errored(request, "model")])]);
  drops.add("rejected", [group(5, [rollout(1), rollout(1)])]);
  const dropped = drops.take();
  // One prompt token and two sampled ones each.
  expect(dropped.progress).toEqual({ tokens: 6, input_tokens: 0, output_tokens: 0, rollouts: 2, tasks: 2 });
  expect(progressOf(groups, true)).toEqual({ tokens: 15, input_tokens: 5, output_tokens: 10, rollouts: 5, tasks: 3 });
  const metrics = await stepMetrics({
    ages: () => true,
    step: 6,
    groups,
    batch,
    dropped,
    seconds: 1.5,
    environments: 1,
  });
  expect(drops.take()).toEqual(emptyReport());
  expect(metrics).toMatchObject({
    "train/agg/all/agent/reward/mean": expect.closeTo(6 / 7, 12) as number,
    "train/agg/all/agent/metrics/exact/mean": expect.closeTo(6 / 7, 12) as number,
    "train/agg/all/has_error/mean": 2 / 9,
    // Four rollouts of two groups that became too old, beside the nine that ended.
    "train/agg/all/cancelled/mean": 4 / 13,
    "train/agg/all/agent/zero_variance_groups/mean": 3 / 4,
    // Every token was sampled by version 4 at the latest; step 6 trains version 5.
    "off_policy/mean": (2 + 2 + 0 + 1 + 1) / 5,
    "off_policy/max": 2,
    "off_policy/in_flight/mean": (1 + 1) / 5,
    "off_policy/in_flight/max": 1,
    "off_policy/in_queue/mean": (1 + 1 + 0 + 1 + 1) / 5,
    "off_policy/in_queue/max": 1,
    "off_policy/dropped": 2,
    "off_policy/dropped_groups": 2,
    "time/dropped_group/mean": 8,
    "off_policy/dropped_output_tokens/mean": 2,
    "off_policy/dropped_reward/mean": 1,
    "time/group/mean": 2,
    "dispatcher/errored_groups": 1,
    "batch/tokens": 6,
    "batch/rollouts": 2,
    "batch/zero_advantage": 3,
    "time/step": 1.5,
  });
});

test("stepMetrics: each source has its share of the traces in the batch, one that has none too", async () => {
  const groups = [group(0, [rollout(1), rollout(0), rollout(1)], "a"), group(1, [rollout(1), rollout(1)], "b")];
  const batch = await buildTrainBatch(groups, { config: config() });
  const report = { ages: () => true, step: 4, groups, batch, dropped: emptyReport(), seconds: 1, environments: 2 };
  expect(await stepMetrics(report)).toMatchObject({ "batch/a": 1, "batch/b": 0 });
});
