/** Groups that are cancelled and gone on with: no token is lost or doubled or changes its version, and the staleness bound holds for the oldest. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import type { ReceivedEpisode } from "../../../../ts/environments/internal.ts";
import { Recycling } from "../../../../ts/orchestrator/scheduling/recycling.ts";
import { simulate, type Simulation, type SimulationOptions } from "../simulation.ts";
import { TokenRollouts } from "../token-rollouts.ts";
import { IS_LONG } from "../../../support/form.ts";

const RUNS = { numRuns: IS_LONG ? 120 : 12 };
const TIMEOUT_MS = IS_LONG ? 600_000 : 90_000;

/** Most are short, some are long enough to outlive several versions. */
const length = (task: number, sample: number) => ((task + sample) % 5 === 0 ? 60 : 2 + ((task * 13 + sample * 7) % 12));

function checkTokens({ sent, logged, config, events, requests, inFlight }: Simulation, rollouts: TokenRollouts): void {
  const { max_off_policy_steps: oldest } = config.orchestrator;
  expect(inFlight()).toBe(0);
  const used = new Set<number>();
  const groups = new Set<string>();
  let recycled = 0;
  for (const { step, episodes } of sent) {
    const own = new Set(episodes.map(({ group }) => group.id));
    for (const group of own) expect(groups.has(group)).toBe(false);
    for (const group of own) groups.add(group);
    for (const { id, task, ok, traces } of episodes) {
      expect(ok).toBe(true);
      const { tokens = [], versions = [] } = rollouts.answered.get(id) ?? {};
      const [sample = 0] = id.split("-").slice(-2).map(Number);
      expect(tokens).toHaveLength(length(Number(task.key), sample));
      for (const [t, token] of tokens.entries()) {
        expect(used.has(token)).toBe(false);
        used.add(token);
        expect(versions[t]).toBe(rollouts.sampled.get(token)?.version);
      }
      expect(step - 1 - Math.min(...versions)).toBeLessThanOrEqual(oldest);
      expect(traces[0]?.policy).toEqual({ start: Math.min(...versions), end: Math.max(...versions) });
      recycled += traces[0]?.metrics["recycled_tokens"] ?? 0;
    }
  }
  // Every group ended once, whatever became of its tokens.
  const dropped = events.flatMap(({ type, groups: count }) => (type === "groups_dropped" ? [Number(count)] : []));
  const opened = new Set(requests.flatMap(({ request }) => (request.run.type === "train" ? [request.group_id] : [])));
  expect(groups.size + dropped.reduce((sum, count) => sum + count, 0)).toBe(opened.size);
  const last = logged.get(sent.length) ?? {};
  const value = (name: string) => Number(last[`dispatcher/${name}`]);
  const returned = value("rollouts/ok") + value("rollouts/errored") + value("rollouts/cancelled");
  expect(value("rollouts/dispatched")).toBe(returned + value("inflight/train"));
  expect(rollouts.given).toBeGreaterThanOrEqual(recycled);
}

const schedules = fc.record({
  level: fc.integer({ min: 1, max: 3 }),
  maxSteps: fc.integer({ min: 3, max: 6 }),
  groupSizes: fc.constantFrom([2], [4], [2, 4]),
  maxInflight: fc.constantFrom(8, 64),
  timing: fc.integer({ min: 0, max: 2 ** 31 }),
  oversampling: fc.constantFrom(1, 1.5, 2),
  recycle: fc.constantFrom("stale" as const, "tails" as const),
  maxOffPolicySteps: fc.constantFrom(3, 4, 8),
});

describe("tokens of groups that are cancelled", { timeout: TIMEOUT_MS }, () => {
  test("train once each, whole rollouts only, and none that is older than allowed", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async (options) => {
        const tokenwise = new TokenRollouts();
        const recycle = options.oversampling > 1 ? options.recycle : "stale";
        const run = await simulate({ ...options, recycle, length, msPerToken: 1, delayMs: 1, tokenwise });
        expect(run.contract).toEqual([]);
        checkTokens(run, tokenwise);
      }),
      RUNS,
    );
  });

  test("are gone on with after a cut: tails with every batch, and the metrics count it", async () => {
    const tokenwise = new TokenRollouts();
    const options: SimulationOptions = { level: 1, maxSteps: 8, oversampling: 2, recycle: "tails", delayMs: 1 };
    const run = await simulate({ ...options, length, msPerToken: 2, tokenwise });
    checkTokens(run, tokenwise);
    const last = run.logged.get(8) ?? {};
    expect(Number(last["dispatcher/dropped/tail"])).toBeGreaterThan(0);
    expect(Number(last["dispatcher/recycled/rollouts"])).toBeGreaterThan(0);
    expect(Number(last["dispatcher/recycled/tokens_saved"])).toBeGreaterThan(0);
    expect(tokenwise.given).toBeGreaterThanOrEqual(Number(last["dispatcher/recycled/tokens_saved"]));
  });

  test("are lost when nothing is to be recycled, and no rollout is asked for them", async () => {
    const tokenwise = new TokenRollouts();
    const run = await simulate({ level: 1, maxSteps: 4, oversampling: 2, length, msPerToken: 1, tokenwise });
    checkTokens(run, tokenwise);
    expect(tokenwise.given).toBe(0);
    const training = run.requests.filter(({ request }) => request.run.type === "train");
    expect(training.filter(({ request }) => request.keep_partial === true)).toEqual([]);
  });

  test("at level 0 change nothing: the batches are those of a run without", async () => {
    const batches = [];
    for (const recycle of ["off", "stale"] as const) {
      const run = await simulate({
        level: 0,
        maxSteps: 3,
        length,
        msPerToken: 0,
        recycle,
        tokenwise: new TokenRollouts(),
      });
      batches.push(run.sent.map(({ episodes }) => episodes.map(({ id, advantage }) => [id, advantage])));
    }
    expect(batches[1]).toEqual(batches[0]);
  });
});

test(
  "a checkpoint has the tasks of cancelled groups and none of their tokens: a resumed run samples them afresh",
  { timeout: TIMEOUT_MS },
  async () => {
    const options: SimulationOptions = { level: 1, maxSteps: 8, oversampling: 2, recycle: "tails", delayMs: 1 };
    const tokens = { length, msPerToken: 2 };
    const first = await simulate({ ...options, ...tokens, checkpoints: true, tokenwise: new TokenRollouts() });
    const cutBy = first.events.filter(({ type }) => type === "groups_dropped");
    expect(cutBy.length).toBeGreaterThan(0);
    const [step, state] = [...first.checkpoints].findLast(([, { pending }]) => pending.length > 0) ?? [];
    if (step === undefined || state === undefined) throw new Error("no checkpoint has pending tasks");
    for (const pending of state.pending)
      expect(Object.keys(pending).toSorted()).toEqual(["epoch", "groupSize", "scoresGroups", "source", "task"]);
    const tokenwise = new TokenRollouts();
    const again = await simulate({ ...options, ...tokens, maxSteps: step + 2, resume: state, tokenwise });
    const begun = again.requests.filter(({ request }) => request.run.type === "train");
    const samples = state.pending.reduce((sum, { groupSize }) => sum + groupSize, 0);
    const earliest = begun.slice(0, samples);
    expect(earliest.map(({ request }) => request.task.key)).toEqual(
      state.pending.flatMap(({ task: { key }, groupSize }) => Array.from({ length: groupSize }, () => key)),
    );
    expect(earliest.filter(({ request }) => request.partial !== undefined)).toEqual([]);
  },
);

describe("a task that was cancelled", () => {
  const task = { source: "s", task: { key: "0", hash: "", data: {} }, epoch: 0, groupSize: 2, scoresGroups: false };
  const rollouts = async (version: number): Promise<ReceivedEpisode[]> => {
    const made = new TokenRollouts();
    const abort = new AbortController();
    const ask = (sample: number) => {
      const request = {
        episode_id: `g-${sample}-0`,
        env: "s",
        task: task.task,
        group_id: "g",
        run: { type: "train", step: 1 },
      };
      const options = { length: 4, msPerToken: 0, reward: 1, version: () => version, signal: abort.signal };
      return made.run(request as Parameters<TokenRollouts["run"]>[0], options);
    };
    return Promise.all([ask(0), ask(1)]);
  };

  test("comes back when its last rollout has, the one that was begun first before the others, and only so often", async () => {
    const recycling = new Recycling();
    recycling.cancelled({ index: 4, task });
    expect(recycling.next(0)).toBeUndefined();
    recycling.cancelled({ index: 3, task: { ...task, epoch: 3 } });
    recycling.returned({ index: 4, task }, await rollouts(2));
    recycling.returned({ index: 3, task }, []);
    expect(recycling.next(0)?.epoch).toBe(3);
    let again = recycling.next(0);
    expect(again).toEqual(task);
    for (let index = 10; again !== undefined; index++) {
      expect(index).toBeLessThan(14);
      expect(recycling.originOf(again)).toMatchObject({ firstIndex: 4, oldestVersion: 2, times: index - 9 });
      expect(recycling.partial(again, 1)?.turns).toMatchObject([{ first: 1, end: 5 }]);
      recycling.cancelled({ index, task: again });
      // Rollouts that bring nothing leave what they went on from.
      recycling.returned({ index, task: again }, []);
      again = recycling.next(0);
    }
    expect(recycling.metrics()).toMatchObject({ "dispatcher/recycled/groups_given_up": 1 });
  });

  test("is sampled afresh where its tokens are too old", async () => {
    const recycling = new Recycling();
    recycling.cancelled({ index: 0, task });
    const [first, second] = [await rollouts(1), await rollouts(3)];
    recycling.returned(
      { index: 0, task },
      [first[0], second[1]].filter((one) => one !== undefined),
    );
    const again = recycling.next(2);
    if (again === undefined) throw new Error("it did not come back");
    expect(recycling.partial(again, 0)).toBeUndefined();
    expect(recycling.partial(again, 1)).toBeDefined();
    expect(recycling.originOf(again)).toMatchObject({ oldestVersion: 3 });
    const counts = { "dispatcher/recycled/rollouts": 1, "dispatcher/recycled/rollouts_afresh": 1 };
    expect(recycling.metrics()).toMatchObject(counts);
  });
});

test("tails are only cut where there are some", () => {
  const source = [{ name: "s", env: { id: "reverse-text" } }];
  const config = { model: { name: "m" }, orchestrator: { recycle: "tails", train: { source } } };
  const { error } = rlConfigSchema.safeParse(config);
  expect(error?.issues.map(({ path }) => path.join("."))).toEqual(["orchestrator.recycle"]);
});
