/** Runs against workers and engines that are slow, die, answer something else and lie: every rollout is accounted for, and the run ends. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Episode } from "../../../ts/environments/index.ts";
import type { ReceivedEpisode, RunRequest } from "../../../ts/environments/internal.ts";
import { rewardByHash, scored, simulate, type Simulation, type SimulationOptions } from "./simulation.ts";
import { IS_LONG } from "../../support/form.ts";

const RUNS = { numRuns: IS_LONG ? 120 : 12 };
const TIMEOUT_MS = IS_LONG ? 600_000 : 60_000;
const groupsOf = ({ episodes }: Simulation["sent"][number]) => [...new Set(episodes.map(({ group }) => group.id))];

/** Answers that are not what was asked for. `before`: an answer that somebody else got. */
const LIES: Record<string, (answer: ReceivedEpisode, before: ReceivedEpisode | undefined) => ReceivedEpisode> = {
  "another rollout's answer": (answer, before) => before ?? answer,
  "another id": (answer) => edit(answer, { id: `${answer.episode.id}0` }),
  "another task": (answer) => edit(answer, { task: { ...answer.episode.task, key: "other" } }),
  "a task of another content": (answer) => edit(answer, { task: { ...answer.episode.task, hash: "other" } }),
  "another group": (answer) => edit(answer, { group: { id: "group-none" } }),
  "another environment": (answer) => edit(answer, { env: { id: "e", name: "other" } }),
  "an evaluation": (answer) => edit(answer, { run: { type: "eval", step: 0 } }),
  "a version of the future": (answer) => editTrace(answer, { policy: { start: 0, end: 1_000 } }),
  "versions that go back": (answer) => editTrace(answer, { policy: { start: 1, end: 0 } }),
  "no tokens": (answer) => ({ ...answer, samples: null }),
  "a reward that is no number": (answer) => editTrace(answer, { reward: Number.POSITIVE_INFINITY }),
  "success with an error": (answer) =>
    edit(answer, { errors: [{ class: "infra", code: "PRL_DEADLINE", message: "late" }] }),
  "failure without one": (answer) => edit(answer, { ok: false }),
};

const edit = (answer: ReceivedEpisode, change: Partial<Episode>): ReceivedEpisode => ({
  ...answer,
  episode: { ...answer.episode, ...change },
});
const editTrace = (answer: ReceivedEpisode, change: Partial<Episode["traces"][number]>) =>
  edit(answer, { traces: answer.episode.traces.map((trace) => ({ ...trace, ...change })) });

interface Faults {
  /** Share of rollouts whose first tries are lied about, and of those that no worker survives. */
  lies: number;
  deaths: number;
  tries: number;
}

/** Faults by content, so that two runs of different timing have the same. */
function faulty({
  lies,
  deaths,
  tries,
}: Faults): Pick<SimulationOptions, "distort" | "outcome"> & { distorted: Set<string> } {
  const distorted = new Set<string>();
  const names = Object.keys(LIES);
  let before: ReceivedEpisode | undefined;
  const luck = (request: RunRequest) => (request.seed % 997) / 997;
  return {
    distorted,
    outcome: (task, sample, attempt, request) =>
      luck(request) > 1 - deaths && attempt < tries ? "infra" : rewardByHash(task, sample),
    distort(answer, request) {
      const attempt = Number(request.episode_id.split("-").at(-1));
      const isLie = answer.episode.ok && luck(request) < lies && attempt < tries;
      const name = names[request.seed % names.length] ?? "";
      const given = isLie ? (LIES[name]?.(answer, before) ?? answer) : answer;
      if (given !== answer) distorted.add(name);
      before = answer;
      return given;
    },
  };
}

function checkAccounts(
  { sent, events, requests, config, contract, inFlight, logged }: Simulation,
  maxSteps: number,
): void {
  const { batch_size: batchSize, max_off_policy_steps: oldest } = config.orchestrator;
  const sizes = new Map(config.orchestrator.train.source.map(({ name, group_size: size }) => [name, size]));
  expect(contract).toEqual([]);
  expect(inFlight()).toBe(0);
  expect(sent.map(({ step }) => step)).toEqual(Array.from({ length: maxSteps }, (_, i) => i + 1));
  const training = new Map(requests.map(({ request }) => [request.group_id, request]));
  for (const batch of sent) {
    expect(batch.version).toBeGreaterThanOrEqual(batch.step - 1 - config.max_async_level);
    expect(batch.episodes.length).toBeGreaterThanOrEqual(batchSize ?? 1);
    for (const group of groupsOf(batch)) {
      const request = training.get(group);
      expect(batch.step - 1 - Number(request?.cache_salt)).toBeLessThanOrEqual(oldest);
      const own = batch.episodes.filter((episode) => episode.group.id === group);
      expect(own).toHaveLength(sizes.get(request?.env ?? "") ?? -1);
      // What trains is what was asked for: the task of the group, versions that there were, a reward that is a number.
      for (const { ok, task, traces } of own) {
        expect(task.key).toBe(request?.task.key);
        if (!ok) expect(traces).toEqual([]);
        for (const { policy, reward } of traces) {
          expect(policy?.end).toBeLessThanOrEqual(maxSteps);
          expect(Number.isFinite(reward)).toBe(true);
        }
      }
    }
  }
  const used = sent.flatMap(groupsOf);
  expect(new Set(used).size).toBe(used.length);
  const dropped = events.flatMap(({ type, groups }) => (type === "groups_dropped" ? [Number(groups)] : []));
  expect(used.length + dropped.reduce((sum, count) => sum + count, 0)).toBe(training.size);
  // The last step's metrics say the same: nothing came back that was not dispatched, and what has not is under way.
  const last = logged.get(maxSteps) ?? {};
  const value = (name: string) => Number(last[`dispatcher/${name}`]);
  const returned = value("rollouts/ok") + value("rollouts/errored") + value("rollouts/cancelled");
  expect(value("rollouts/dispatched")).toBe(returned + value("inflight/train"));
  expect(value("rollouts/dispatched") + value("rollouts/retried")).toBeLessThanOrEqual(
    requests.filter(({ request }) => request.run.type === "train").length + value("inflight/train"),
  );
  // What waits is bounded by what may be opened, what is under way by its limit.
  const { oversampling, max_inflight: maxInflight } = config.orchestrator;
  const [least, most] = [Math.min(...sizes.values()), Math.max(...sizes.values())];
  for (const line of logged.values()) {
    expect(Number(line["dispatcher/inflight/train"] ?? 0)).toBeLessThanOrEqual(Math.max(maxInflight, most));
    if (batchSize === null) continue;
    const counted = (config.max_async_level + oversampling) * batchSize + most;
    expect(Number(line["dispatcher/queued_groups"] ?? 0) * least).toBeLessThanOrEqual(counted);
  }
  // At most four tries of each rollout, and never two at once.
  const tries = new Map<string, number>();
  for (const { request } of requests) {
    const rollout = request.episode_id.replace(/-\d+$/, "");
    tries.set(rollout, (tries.get(rollout) ?? 0) + 1);
  }
  expect(Math.max(...tries.values())).toBeLessThanOrEqual(4);
}

const schedules = fc.record({
  level: fc.integer({ min: 0, max: 3 }),
  maxSteps: fc.integer({ min: 1, max: 4 }),
  groupSizes: fc.constantFrom([2], [4], [2, 4]),
  maxInflight: fc.constantFrom(4, 13, 64),
  engines: fc.constantFrom(1, 2),
  timing: fc.integer({ min: 0, max: 2 ** 31 }),
  delayMs: fc.constantFrom(0, 1, 3),
  slowEvery: fc.constantFrom(0, 5),
  oversampling: fc.constantFrom(1, 1.5),
  fifoWindow: fc.constantFrom(undefined, 1, 4),
  tokenBatchSize: fc.constantFrom(undefined, undefined, 24),
});

const scheduled = ({
  oversampling,
  fifoWindow,
  tokenBatchSize,
  ...options
}: Record<string, unknown> & { level: number }) =>
  ({
    ...options,
    ...(options.level > 0 && { oversampling }),
    ...(fifoWindow !== undefined && { fifoWindow }),
    ...(tokenBatchSize !== undefined && { tokenBatchSize }),
  }) as SimulationOptions;

describe("under faults", { timeout: TIMEOUT_MS }, () => {
  test("every rollout comes back once with its reason, batches are whole, and the run ends", async () => {
    const faults = fc.record({
      lies: fc.constantFrom(0, 0.3, 1),
      deaths: fc.constantFrom(0, 0.2),
      tries: fc.constantFrom(1, 2),
    });
    await fc.assert(
      fc.asyncProperty(schedules, faults, async (options, given) => {
        const made = faulty(given);
        const run = await simulate({ ...scheduled(options), ...made });
        checkAccounts(run, options.maxSteps);
        // Tried again, all of them came good.
        expect(run.sent.flatMap(({ episodes }) => episodes).every(({ ok }) => ok)).toBe(true);
      }),
      RUNS,
    );
  });

  test("a rollout without a valid answer counts as missing and trains nothing", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async (options) => {
        const made = faulty({ lies: 0.3, deaths: 0.1, tries: 9 });
        const run = await simulate({ ...scheduled(options), ...made });
        checkAccounts(run, options.maxSteps);
        const errors = run.sent.flatMap(({ episodes }) => episodes.flatMap((episode) => episode.errors));
        for (const { code } of errors) expect(["PRL_EPISODE_INVALID", "PRL_ENVIRONMENT_FAILED"]).toContain(code);
      }),
      { numRuns: Math.ceil(RUNS.numRuns / 3) },
    );
  });

  test("a worker that only gives invalid answers ends the run with its name, in bounded time", async () => {
    const first = scored(
      {
        episode_id: "e",
        env: "x",
        task: { key: "0", hash: "", data: {} },
        group_id: "g",
        run: { type: "train", step: 1 },
      } as RunRequest,
      ...([1, 0, 0] as const),
    );
    const ends = Object.keys(LIES).map(async (name) => {
      let before: ReceivedEpisode = first;
      const distort: SimulationOptions["distort"] = (answer) => {
        const given = LIES[name]?.(answer, before) ?? answer;
        before = answer;
        return given;
      };
      let tried = 0;
      const run = simulate({ level: 1, maxSteps: 2, batchSize: 2, delayMs: 0, distort }, ({ requests }) => {
        tried = requests.length;
      });
      await expect(run, name).rejects.toMatchObject({
        code: "PRL_ORCHESTRATOR_STARVED",
        message: expect.stringContaining("PRL_EPISODE_INVALID") as string,
      });
      expect(tried).toBeLessThan(4 * 40);
    });
    await Promise.all(ends);
  });

  test("at level 0 the batches are those of a run without faults", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async (options) => {
        const runs = [];
        for (const given of [
          { lies: 0, deaths: 0, tries: 0 },
          { lies: 0.5, deaths: 0.3, tries: 1 },
        ]) {
          runs.push(await simulate({ ...scheduled({ ...options, level: 0 }), ...faulty(given) }));
        }
        const [whole, hit] = runs.map(({ sent }) =>
          sent.map(({ episodes }) =>
            episodes.map(({ id, traces, advantage }) => [id.replace(/-\d+$/, ""), traces[0]?.reward, advantage]),
          ),
        );
        expect(hit).toEqual(whole);
      }),
      { numRuns: Math.ceil(RUNS.numRuns / 3) },
    );
  });
});
