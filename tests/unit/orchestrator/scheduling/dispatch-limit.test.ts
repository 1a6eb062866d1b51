/** How many rollouts are begun: by what engines say of themselves, and by the clock. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { concurrencyProblem } from "../../../../ts/config/schema/orchestrator/concurrency.ts";
import { type EngineLoad, parseEngineLoads } from "../../../../ts/inference-client/engine-load.ts";
import { ConcurrencyController } from "../../../../ts/orchestrator/scheduling/concurrency.ts";
import { GroupDispatcher } from "../../../../ts/orchestrator/scheduling/dispatcher.ts";
import type { EngineFleet } from "../../../../ts/orchestrator/engines/engine-fleet.ts";
import { GroupRate } from "../../../../ts/orchestrator/scheduling/group-rate.ts";
import { DispatchLimit } from "../../../../ts/orchestrator/scheduling/dispatch-limit.ts";

const load = (values: Partial<EngineLoad> = {}): EngineLoad => ({
  engine: "0",
  running: 10,
  waiting: 0,
  kvUsage: 0.1,
  preemptions: 0,
  ...values,
});

/**
 * An engine that samples `SPEED` tokens in a look, the oldest requests first, and has room for so many in its cache. When that is full the
 * youngest are pushed out, and what they had is sampled again.
 */
class SimulatedEngine {
  readonly #room: number;
  readonly #lengths: () => number;
  #rollouts: { length: number; grown: number }[] = [];
  preemptions = 0;
  finished = 0;

  constructor(room: number, lengths: () => number) {
    this.#room = room;
    this.#lengths = lengths;
  }

  get inFlight(): number {
    return this.#rollouts.length;
  }

  /** One look's worth with this many rollouts under way. */
  step(limit: number): EngineLoad {
    while (this.#rollouts.length < limit) this.#rollouts.push({ length: this.#lengths(), grown: 0 });
    const begun = this.#rollouts.filter(({ grown }) => grown > 0);
    let used = begun.reduce((sum, { grown }) => sum + grown, 0);
    for (const rollout of this.#rollouts) {
      if (rollout.grown > 0 || used + PACE > this.#room * FULL) continue;
      begun.push(rollout);
      used += PACE;
    }
    const each = Math.min(PACE, Math.floor(SPEED / begun.length));
    used = 0;
    for (const rollout of begun) {
      const wanted = Math.min(rollout.length, rollout.grown + each);
      if (used + wanted <= this.#room) used += rollout.grown = wanted;
      else {
        this.preemptions += 1;
        rollout.grown = 0;
      }
    }
    const waiting = this.#rollouts.filter(({ grown }) => grown === 0).length;
    const left = this.#rollouts.filter(({ grown, length }) => grown < length);
    this.finished += this.#rollouts.length - left.length;
    this.#rollouts = left;
    return {
      engine: "0",
      running: left.length - waiting,
      waiting,
      kvUsage: used / this.#room,
      preemptions: this.preemptions,
    };
  }
}

/** Tokens per look, of the engine and at most of one request. */
const SPEED = 8_000;
const PACE = 250;
/** Nothing is begun in a cache that is fuller. */
const FULL = 0.95;

describe("the concurrency controller", () => {
  test("stays between least and most, and changes nothing without a load, whatever engines say", () => {
    const loads = fc.array(
      fc.record({
        engine: fc.constant("0"),
        running: fc.nat(2_000),
        waiting: fc.nat(2_000),
        kvUsage: fc.double({ min: 0, max: 1, noNaN: true }),
        preemptions: fc.nat(100),
      }),
      { maxLength: 3 },
    );
    const property = fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 0, max: 2_000 }),
      fc.array(fc.tuple(loads, fc.nat(3_000))),
      (least, more, looks) => {
        const most = least + more;
        const controller = new ConcurrencyController({ initial: most, least, most, target: 0.8 });
        for (const [seen, inFlight] of looks) {
          const before = controller.limit;
          controller.observe(seen, inFlight);
          expect(controller.limit).toBeGreaterThanOrEqual(least);
          expect(controller.limit).toBeLessThanOrEqual(most);
          expect(Number.isInteger(controller.limit)).toBe(true);
          if (seen.length === 0) expect(controller.limit).toBe(before);
        }
      },
    );
    fc.assert(property);
  });

  test.each([
    ["a preemption", [load(), load({ preemptions: 3 })], 80],
    ["a cache that is too full", [load({ kvUsage: 1 })], 80],
    ["a queue that stays", Array.from({ length: 3 }, () => load({ waiting: 9 })), 90],
    ["an engine that was started anew", [load({ preemptions: 3 }), load({ preemptions: 0 })], 100],
    ["a short queue", [load({ waiting: 9 }), load(), load({ waiting: 9 }), load({ waiting: 9 })], 100],
  ])("after %s", (_, loads, expected) => {
    const controller = new ConcurrencyController({ initial: 100, least: 1, most: 100, target: 0.8 });
    for (const one of loads) controller.observe([one], 100);
    expect(controller.limit).toBe(expected);
  });

  test("grows only while the limit is used up, quickly at first and by steps after a decrease", () => {
    const controller = new ConcurrencyController({ initial: 16, least: 4, most: 1_600, target: 0.8 });
    controller.observe([load()], 8);
    expect(controller.limit).toBe(16);
    controller.observe([load()], 16);
    expect(controller.limit).toBe(24);
    controller.observe([load({ kvUsage: 0.9 })], 24);
    expect(controller.limit).toBe(21);
    for (let look = 0; look < 3; look++) controller.observe([load()], 21);
    expect(controller.limit).toBe(21);
    controller.observe([load()], 21);
    expect(controller.limit).toBe(23);
  });

  test("keeps an engine busy and out of preemption, where a fixed number of rollouts thrashes or idles", () => {
    const room = 100_000;
    let random = 7;
    const lengths = () => {
      random = (random * 48_271) % 2_147_483_647;
      return 500 + (random % 4_000);
    };
    const run = (limitOf: (load: EngineLoad | null, inFlight: number) => number) => {
      random = 7;
      const engine = new SimulatedEngine(room, lengths);
      let last: EngineLoad | null = null;
      let early = 0;
      for (let look = 0; look < 800; look++) {
        last = engine.step(limitOf(last, engine.inFlight));
        if (look === 200) early = last.preemptions;
      }
      return { finished: engine.finished, preemptions: engine.preemptions - early };
    };
    const fixed = run(() => 400);
    const few = run(() => 8);
    const controller = new ConcurrencyController({ initial: 400, least: 1, most: 400, target: 0.8 });
    const adaptive = run((seen, inFlight) => {
      if (seen !== null) controller.observe([seen], inFlight);
      return controller.limit;
    });
    // Counted once the four hundred that were begun at first have ended.
    expect(adaptive.preemptions).toBeLessThan(fixed.preemptions / 10);
    expect(adaptive.finished).toBeGreaterThan(1.2 * fixed.finished);
    expect(adaptive.finished).toBeGreaterThan(2 * few.finished);
    expect(controller.limit).toBeGreaterThan(20);
    expect(controller.limit).toBeLessThan(120);
  });
});

describe("the pace", () => {
  test("begins as many tasks as its rate says, in any window, and says when the next may begin", async () => {
    let now = 0;
    let ready = 0;
    const pace = new GroupRate(
      600,
      () => (ready += 1),
      () => now,
    );
    const begun: number[] = [];
    for (; now < 20_000; now += 7) if (pace.take()) begun.push(now);
    // Ten a second and a second's worth to begin with.
    expect(begun.length).toBeGreaterThanOrEqual(205);
    expect(begun.length).toBeLessThanOrEqual(211);
    for (const [i, at] of begun.entries()) {
      const inWindow = begun.slice(i).filter((other) => other < at + 1_000).length;
      expect(inWindow).toBeLessThanOrEqual(21);
    }
    while (pace.take());
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(ready).toBe(1);
    pace.stop();
  });

  test("never delays rollouts under way: those that end are handed over while the next group waits", async () => {
    const completed: number[] = [];
    let opened = 0;
    const pace = new GroupRate(60, () => dispatcher.fill());
    const dispatcher: GroupDispatcher = new GroupDispatcher({
      dispatch: { limit: 64, mayStart: () => pace.take() },
      mayOpen: () => true,
      nextTask: async () => {
        const task = { key: String(opened++), hash: "", data: {} };
        return { source: "s", task, epoch: 0, groupSize: 4, scoresGroups: false };
      },
      runRollout: async (group, sample) => {
        await new Promise((resolve) => setTimeout(resolve, 5 * sample));
        const episode = {
          id: "",
          env: { id: "", name: "" },
          task: group.task.task,
          group: { id: "" },
          errors: [],
          traces: [],
        };
        return { episode: { ...episode, run: { type: "train", step: 1 }, ok: true }, samples: null };
      },
      onCompleted: ({ index }) => completed.push(index),
      onFailure: (error) => expect.fail(String(error)),
    });
    const startedAt = performance.now();
    dispatcher.fill();
    while (completed.length < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    // The second group has to wait for a second.
    while (completed.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    dispatcher.stop();
    pace.stop();
  });
});

describe("the metrics of an engine", () => {
  test("is read from Prometheus text: of several engines behind one address the sums, and the fullest cache", () => {
    const text = [
      "# HELP vllm:num_requests_running Requests",
      'vllm:num_requests_running{engine="0",model_name="a b"} 3.0',
      'vllm:num_requests_running{engine="1",model_name="a b"} 4.0',
      'vllm:num_requests_waiting{engine="0"} 1',
      'vllm:num_requests_waiting{engine="1"} 0',
      'vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 7',
      'vllm:kv_cache_usage_perc{engine="0"} 0.25',
      'vllm:kv_cache_usage_perc{engine="1"} 0.75 1700000000000',
      'vllm:num_preemptions_total{engine="1"} 2',
      "other_metric NaN",
    ].join("\n");
    expect(parseEngineLoads(text)).toEqual([
      { engine: "0", running: 3, waiting: 1, kvUsage: 0.25, preemptions: 0 },
      { engine: "1", running: 4, waiting: 0, kvUsage: 0.75, preemptions: 2 },
    ]);
    // Engine 2 does not say how full its cache is.
    const silent = 'num_requests_running{engine="2"} 1\nnum_requests_waiting{engine="2"} 1\n';
    expect(parseEngineLoads(`${silent}nothing 1\n`)).toEqual([]);
    const bare = "num_requests_running 1\nnum_requests_waiting 2\ngpu_cache_usage_perc 0.5\n";
    expect(parseEngineLoads(bare)).toEqual([{ engine: "0", running: 1, waiting: 2, kvUsage: 0.5, preemptions: 0 }]);
  });

  test("is never more than numbers, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        for (const { engine: _, ...numbers } of parseEngineLoads(text)) {
          expect(Object.values(numbers).every(Number.isFinite)).toBe(true);
        }
      }),
    );
  });
});

test("the dispatch follows the engines that answer, logs its changes, keeps its limit when none answers, and says what it cannot log", async () => {
  const events: Record<string, unknown>[] = [];
  const metrics = {
    log: () => {},
    event: (type: string, fields = {}) => events.push({ type, ...fields }),
    close: () => {},
  };
  let answer: () => Promise<EngineLoad[]> = async () => [];
  const engines = {
    engines: [
      { name: "inference-0", engine: { admin: { load: () => answer() } } },
      { name: "inference-1", engine: { admin: { load: async () => Promise.reject(new Error("gone")) } } },
    ],
  };
  const concurrency = {
    adaptive: true,
    initial_inflight: null,
    min_inflight: 2,
    target_kv_usage: 0.8,
    interval_s: 0.01,
  };
  let write = (...event: Parameters<typeof metrics.event>): void => void metrics.event(...event);
  const dispatch = new DispatchLimit({
    config: { orchestrator: { max_inflight: 64, concurrency, tasks_per_minute: null, request_timeout_s: 5 } },
    engines: engines as unknown as Pick<EngineFleet, "engines">,
    metrics: { ...metrics, event: (...event) => write(...event) },
    inFlight: () => 64,
    largestGroup: 4,
    onFreed: () => undefined,
  });
  const errors: unknown[] = [];
  dispatch.start((error) => errors.push(error));
  const until = async (type: string) => {
    while (!events.some((event) => event["type"] === type)) await new Promise((resolve) => setTimeout(resolve, 2));
  };
  await until("concurrency_fixed");
  expect(dispatch.limit).toBe(64);
  answer = async () => [load({ kvUsage: 1 }), load({ engine: "1", running: 4, kvUsage: 0.5, preemptions: 2 })];
  await until("concurrency");
  expect(dispatch.limit).toBe(51);
  expect(dispatch.metrics()).toMatchObject({
    "concurrency/max_inflight": 51,
    "inference/server0.0/num_requests_running": 10,
    "inference/server0.1/num_requests_running": 4,
    "inference/server0.1/num_preemptions_total": 2,
    "inference/agg/num_requests_running/min": 4,
    "inference/agg/num_requests_running/max": 10,
    "inference/agg/num_requests_running/sum": 14,
    "inference/agg/num_requests_running/mean": 7,
    "inference/agg/kv_cache_usage_perc/median": 0.75,
  });
  expect(errors).toEqual([]);
  write = () => {
    throw new Error("the disk is full");
  };
  answer = async () => [load({ kvUsage: 0.1, waiting: 0 })];
  while (errors.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  expect(errors[0]).toMatchObject({ message: "the disk is full" });
  dispatch.stop();
  expect(concurrencyProblem({ max_inflight: 1, concurrency })).toMatchObject({ key: "min_inflight" });
});
