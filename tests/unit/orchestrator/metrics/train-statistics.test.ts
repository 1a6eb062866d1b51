import { expect, test } from "vitest";

import type { ReceivedEpisode, RunRequest } from "../../../../ts/environments/internal.ts";
import { RolloutStatistics } from "../../../../ts/orchestrator/metrics/rollout-statistics.ts";
import { TrainStatistics } from "../../../../ts/orchestrator/metrics/train-statistics.ts";
import { trainGroup } from "../../../support/training/train-group.ts";
import { errored, scored } from "../simulation.ts";

const request = { episode_id: "e", env: "b", group_id: "g", run: { type: "train", step: 1 } } as RunRequest;
const rollout = (reward: number): ReceivedEpisode => scored(request, reward, 3, 4);

const group = (source: string, rollouts: ReceivedEpisode[]) => trainGroup(rollouts, { source });

test("a distribution has numpy's percentiles, and what never came has no number", () => {
  const statistics = new RolloutStatistics();
  const episodes = [3, 1, 2, 5, 4, 10].map((reward) => rollout(reward).episode);
  statistics.addEpisodes(episodes, () => false);
  const values = statistics.metrics("x/");
  // numpy.percentile([1, 2, 3, 4, 5, 10], [10, 90]) is [1.5, 7.5].
  expect(values).toEqual({
    "x/agent/reward/mean": 25 / 6,
    "x/agent/reward/min": 1,
    "x/agent/reward/p10": 1.5,
    "x/agent/reward/p90": 7.5,
    "x/agent/reward/max": 10,
    "x/has_error/mean": 0,
  });
});

test("an agent's wait for its replies and the rest of its time are separate, where they were measured", () => {
  const { episode } = rollout(1);
  const timing = { start: 0, generation_ms: 1500, model_ms: 1000, scoring_ms: 250, total_ms: 2000 };
  const statistics = new RolloutStatistics();
  statistics.addEpisodes([{ ...episode, traces: episode.traces.map((trace) => ({ ...trace, timing })) }, episode]);
  expect(statistics.metrics("")).toMatchObject({
    "agent/timing/agent/max": 1.5,
    "agent/timing/agent/mean": 0.75,
    "agent/timing/agent/model/mean": 1,
    "agent/timing/agent/harness/mean": 0.5,
    "agent/timing/scoring/max": 0.25,
    "agent/timing/total/max": 2,
  });
});

test("where there are several agents each has its rewards beside those of the episodes, whatever it is called", () => {
  const { episode } = rollout(1);
  const own = (agent: string, reward: number) => episode.traces.map((trace) => ({ ...trace, agent, reward }));
  const statistics = new RolloutStatistics();
  statistics.addEpisodes([{ ...episode, traces: [...own("agent", 1), ...own("user", 0)] }]);
  expect(statistics.metrics("")).toMatchObject({
    "agent/reward/min": 0.5,
    "agent/reward/max": 0.5,
    "user/reward/mean": 0,
    // Of each trace three tokens, of the episode six.
    "user/num_total_tokens/mean": 3,
    "agent/num_total_tokens/mean": 3,
    "num_total_tokens/mean": 6,
  });
});

test("each source has its own numbers beside those of all, and the batch beside what gates rejected", async () => {
  const statistics = new TrainStatistics();
  const shipped = group("a", [rollout(1), rollout(0), errored(request, "model")]);
  const trained = new Set(shipped.rollouts.slice(0, 1).flatMap(({ episode }) => episode.traces));
  await statistics.addShipped([shipped], trained);
  statistics.addDropped(group("b", [rollout(1), rollout(1)]));
  statistics.addDropped(group("b", [rollout(0), rollout(0)]));
  const values = statistics.metrics(2);
  expect(values).toMatchObject({
    "train/agg/all/agent/reward/mean": 3 / 6,
    "train/a/all/agent/reward/mean": 1 / 2,
    "train/b/all/agent/reward/mean": 1 / 2,
    "train/a/effective/agent/reward/mean": 1,
    "train/agg/effective/agent/reward/mean": 1,
    // Of the two traces of "a" both were admitted, and one trains.
    "train/agg/all/agent/is_admitted/mean": 2 / 6,
    "train/agg/all/agent/is_trainable/mean": 1 / 6,
    "train/agg/all/agent/solved_all": 1 / 3,
    "train/agg/all/agent/solved_none": 1 / 3,
    "train/agg/all/agent/solved_some": 1 / 3,
    "train/b/all/agent/zero_variance_groups/mean": 1,
    "train/a/all/has_error/mean": 1 / 3,
    "train/a/all/num_output_tokens/max": 2,
    "train/a/all/agent/num_output_tokens/max": 2,
    "train/a/all/agent/stop_condition/agent_completed": 1,
    "train/a/all/agent/timing/total/p90": 0,
    "train/a/all/cancelled/mean": 0,
  });
  const errors = Object.entries(values).filter(([name]) => name.startsWith("train/a/all/error/"));
  expect(errors.map(([, count]) => count)).toEqual([1]);
  expect(Object.keys(values).filter((name) => name.startsWith("train/b/effective/"))).toEqual([]);
});

test("a run of one source has the numbers of all alone", async () => {
  const statistics = new TrainStatistics();
  await statistics.addShipped([group("a", [rollout(1)])], new Set());
  const names = Object.keys(statistics.metrics(1));
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !name.startsWith("train/agg/all/"))).toEqual([]);
});
