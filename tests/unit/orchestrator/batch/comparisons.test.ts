/** Group rewards and several agents on the orchestrator's side: who is compared with whom, and what each trace trains with. */
import { describe, expect, it } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { type Episode, type GroupScores, rewardOf } from "../../../../ts/environments/index.ts";
import type { ReceivedEpisode, RunRequest } from "../../../../ts/environments/internal.ts";
import type { EnvWorkers } from "../../../../ts/orchestrator/index.ts";
import { compareTraces } from "../../../../ts/orchestrator/batch/comparisons.ts";
import type { Group } from "../../../../ts/orchestrator/scheduling/dispatcher.ts";
import { emptyReport } from "../../../../ts/orchestrator/metrics/drops.ts";
import { stepMetrics } from "../../../../ts/orchestrator/metrics/metrics.ts";
import { scoreRollouts } from "../../../../ts/orchestrator/scheduling/rollouts.ts";
import { buildTrainBatch } from "../../../../ts/orchestrator/batch/train-batch.ts";
import { errored, samplesOf, scored } from "../simulation.ts";

const request = { episode_id: "e", env: "b", group_id: "g", run: { type: "train", step: 1 } } as RunRequest;
const task = { key: "k", hash: "", data: {} };

type Seat = readonly [agent: string, reward: number, trainable?: boolean];

/** An episode of several traces, whose tokens say which trace they are of. */
function episode(...seats: Seat[]): ReceivedEpisode {
  const base = scored(request, 0, 3, 3).episode;
  const [trace] = base.traces;
  if (trace === undefined) throw new Error("no trace");
  const traces = seats.map(([agent, reward, trainable = true]) => ({ ...trace, agent, reward, trainable }));
  const columns = seats.map((_, index) => ({
    tokenIds: Uint32Array.of(9, 10 + index),
    mask: Uint8Array.of(0, 1),
    logprobs: Float32Array.of(0, -1),
    versionSpans: Uint32Array.of(0, 0xffffffff, 1, 3),
    branchOffsets: Uint32Array.of(0, 2),
  }));
  return { episode: { ...base, traces }, samples: samplesOf(columns) };
}

function group(...rollouts: ReceivedEpisode[]): Group {
  const about = { source: "b", task, epoch: 0, groupSize: rollouts.length, scoresGroups: false };
  return {
    index: 0,
    id: "group-0",
    task: about,
    dispatchVersion: 0,
    oldestVersion: 0,
    firstIndex: 0,
    seconds: 1,
    rollouts,
  };
}

const config = rlConfigSchema.parse({
  seq_len: 16,
  model: { name: "m" },
  orchestrator: { batch_size: 4, group_size: 2, train: { source: [{ name: "b", env: { id: "reverse-text" } }] } },
});

describe("compareTraces", () => {
  it("compares each seat with the same seat of the other rollouts", () => {
    const groups = [
      group(episode(["a", 1], ["b", -1]), errored(request, "model"), episode(["a", 2], ["b", -2])),
      group(episode(["a", 0])),
    ];
    expect(
      compareTraces(groups).map(({ agent, rewards, members }) => [agent, rewards, members.map((m) => m.trace)]),
    ).toEqual([
      ["a", [1, Number.NaN, 2], [0, 0, 0]],
      ["b", [-1, Number.NaN, -2], [1, 0, 1]],
      ["a", [0], [0]],
    ]);
  });

  it("compares several attempts of an episode with one another, and leaves out who does not train", () => {
    const groups = [
      group(
        episode(["proposer", 1], ["solver", 1], ["solver", 0]),
        episode(["proposer", 0], ["solver", 0], ["judge", 5, false]),
        episode(["proposer", 0]),
      ),
    ];
    expect(compareTraces(groups).map(({ agent, rewards }) => [agent, rewards])).toEqual([
      ["proposer", [1, 0, 0]],
      ["solver", [1, 0]],
      ["solver", [0]],
    ]);
  });
});

describe("a batch of several agents", () => {
  it("trains each trace with its own advantage, and no trace of a frozen agent", async () => {
    const groups = [
      group(episode(["a", 1], ["b", -1], ["c", 9, false]), episode(["a", 0], ["b", -2], ["c", 0, false])),
    ];
    const batch = await buildTrainBatch(groups, { config });
    expect(batch.traceAdvantages).toEqual([
      [
        [0.5, 0.5],
        [-0.5, -0.5],
      ],
    ]);
    expect(batch.samples).toBe(4);
    const columns = batch.batches[0]?.columns();
    const trained = [...(columns?.inputIds ?? [])].map((id, index) => [id, columns?.advantages[index]]);
    expect(trained.filter(([id]) => id !== 9)).toEqual([
      [10, 0.5],
      [10, -0.5],
      [11, 0.5],
      [11, -0.5],
    ]);
    const metrics = await stepMetrics({
      ages: () => true,
      step: 1,
      groups,
      batch,
      dropped: emptyReport(),
      seconds: 1,
      environments: 1,
    });
    expect(metrics).toMatchObject({
      "train/agg/all/agent/reward/mean": -0.5,
      "train/agg/all/a/reward/mean": 0.5,
      "train/agg/all/b/reward/mean": -1.5,
    });
  });

  it("has the mean reward of who trains, NaN when the rollout failed", () => {
    expect(rewardOf(episode(["a", 1], ["b", 0], ["c", 7, false]).episode)).toBe(0.5);
    expect(rewardOf(episode(["c", 7, false]).episode)).toBe(7);
    expect(rewardOf(errored(request, "infra").episode)).toBeNaN();
  });
});

describe("scoreRollouts", () => {
  const order = { env: "b", split: "train", task, deadline_ms: 1000 } as const;
  const signal = new AbortController().signal;
  const one: GroupScores = {
    scores: [[{ rewards: { best: { score: 1, weight: 2 } }, metrics: { place: 0 } }], null],
    error: null,
  };
  const failure = (kind: "infra" | "environment"): GroupScores => ({
    scores: [],
    error: { class: kind, code: "PRL_PROCESS_DIED", message: "gone" },
  });

  function workers(...answers: GroupScores[]): { workers: EnvWorkers; asked: Episode[][] } {
    const asked: Episode[][] = [];
    const never = () => Promise.reject(new Error("not asked for"));
    const scoreGroup: EnvWorkers["scoreGroup"] = async ({ episodes }) => {
      asked.push(episodes);
      return answers[asked.length - 1] ?? failure("infra");
    };
    return { asked, workers: { tasks: never, run: never, scoreGroup, close: async () => undefined } };
  }

  const rollouts = [episode(["agent", 3]), errored(request, "model")];

  it("adds the group rewards, also after a worker was gone", async () => {
    const { workers: some, asked } = workers(failure("infra"), one);
    const [first, second] = await scoreRollouts(some, order, rollouts, signal);
    expect(first?.episode.traces[0]).toMatchObject({ reward: 2, metrics: { place: 0 } });
    expect(first?.samples).toBe(rollouts[0]?.samples);
    expect(second).toEqual(rollouts[1]);
    expect(asked).toHaveLength(2);
  });

  it("makes every rollout of the group fail when it cannot be scored; its own fault is not tried again", async () => {
    const { workers: some, asked } = workers(failure("environment"), one);
    const ended = await scoreRollouts(some, order, rollouts, signal);
    expect(ended[0]?.episode).toMatchObject({
      ok: false,
      errors: [{ class: "environment" }],
      traces: [{ reward: null }],
    });
    expect(asked).toHaveLength(1);
  });

  it("asks no function about a group of which nothing is left", async () => {
    const { workers: some, asked } = workers();
    await scoreRollouts(some, order, [errored(request, "infra")], signal);
    expect(asked).toEqual([]);
  });
});
