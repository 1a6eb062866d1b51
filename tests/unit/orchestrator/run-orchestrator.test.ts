import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { PrlError, type ErrorCode } from "../../../ts/errors.ts";
import type { OrchestratorState } from "../../../ts/orchestrator/checkpoint/resume.ts";
import { rewardByHash, simulate, type Simulation, type SimulationOptions } from "./simulation.ts";

const RUNS = { numRuns: 8 };

const schedules = fc.record({
  maxSteps: fc.integer({ min: 1, max: 5 }),
  groupSizes: fc.constantFrom([2], [4], [8], [2, 4], [4, 2, 8]),
  maxInflight: fc.constantFrom(8, 13, 64),
  engines: fc.constantFrom(1, 2),
  tasks: fc.constantFrom(null, 3, 70),
  timing: fc.integer({ min: 0, max: 2 ** 31 }),
  delayMs: fc.constantFrom(0, 1, 3),
  slowEvery: fc.constantFrom(0, 6),
});

/** Some rollouts, and in one task of seven all, end in an error of the environment or the model; a few reach no worker at first. */
const mixed: NonNullable<SimulationOptions["outcome"]> = (task, sample, attempt) => {
  if (task % 7 === 3) return "environment";
  if ((task + sample) % 11 === 5) return "model";
  if (task % 13 === 1 && sample === 0 && attempt === 0) return "infra";
  return rewardByHash(task, sample);
};

const groupsOf = ({ episodes }: Simulation["sent"][number]) => [...new Set(episodes.map(({ group }) => group.id))];

/** What ARCHITECTURE.md ("Steps, versions and staleness") promises of any run. */
function checkContract({ sent, requests, events, calls, contract, config }: Simulation, maxSteps: number): void {
  const { max_off_policy_steps: maxOffPolicy } = config.orchestrator;
  const batchSize = config.orchestrator.batch_size ?? 0;
  const level = config.max_async_level;
  const sizeOf = new Map(config.orchestrator.train.source.map(({ name, group_size: size }) => [name, size]));
  const largest = Math.max(...sizeOf.values());
  expect(contract).toEqual([]);
  expect(sent.map(({ step }) => step)).toEqual(Array.from({ length: maxSteps }, (_, i) => i + 1));

  const training = requests.filter(({ request }) => request.run.type === "train");
  const dispatched = new Map(training.map(({ request }) => [request.group_id, request]));
  for (const batch of sent) {
    expect(batch.version).toBeGreaterThanOrEqual(batch.step - 1 - level);
    expect(batch.episodes.length).toBeGreaterThanOrEqual(batchSize);
    expect(batch.episodes.length).toBeLessThan(batchSize + largest);
    for (const group of groupsOf(batch)) {
      const request = dispatched.get(group);
      expect(batch.step - 1 - Number(request?.cache_salt)).toBeLessThanOrEqual(maxOffPolicy);
      expect(batch.episodes.filter((episode) => episode.group.id === group)).toHaveLength(
        sizeOf.get(request?.env ?? "") ?? 0,
      );
    }
    expect(batch.episodes.filter(({ ok, advantage }) => !ok && advantage !== 0)).toEqual([]);
  }

  const used = sent.flatMap(groupsOf);
  expect(new Set(used).size).toBe(used.length);
  // Each group that was opened is in a batch or was dropped; surplus is only what a last group of another size left over.
  const dropped = events.filter(({ type }) => type === "groups_dropped");
  const count = (some: typeof events) => some.reduce<number>((sum, { groups }) => sum + Number(groups), 0);
  expect(used.length + count(dropped)).toBe(dispatched.size);
  const surplus = count(dropped.filter(({ reason }) => reason === "surplus"));
  expect(surplus * Math.min(...sizeOf.values())).toBeLessThan(sizeOf.size === 1 ? 1 : largest);
  for (const { request, batchesSent, version } of training) {
    if (request.episode_id.endsWith("-0")) expect(batchesSent - version).toBeLessThanOrEqual(level);
    expect(version).toBeGreaterThanOrEqual(Number(request.cache_salt));
  }
  const seeds = new Map<string, number>();
  for (const { request } of training) {
    const rollout = request.episode_id.replace(/-\d+$/, "");
    expect(request.seed).toBe(seeds.get(rollout) ?? request.seed);
    seeds.set(rollout, request.seed);
  }
  const updates = Array.from({ length: maxSteps + 1 }, (_, v) => ["pause", `update ${v}`, "resume", `canary ${v}`]);
  for (const engine of calls) expect(engine).toEqual(updates.flat());
}

describe("a run", () => {
  test.each([0, 1, 2, 3])(
    "at level %i keeps the staleness contract and uses every group once, whatever the timing",
    async (level) => {
      const property = fc.asyncProperty(schedules, fc.integer({ min: level, max: level + 2 }), async (options, off) => {
        const run = await simulate({ ...options, level, maxOffPolicySteps: off, outcome: mixed });
        checkContract(run, options.maxSteps);
        expect(run.inFlight()).toBe(0);
      });
      await fc.assert(property, RUNS);
    },
  );

  test("at level 0 gives the same batches for any timing, and nothing else is sampled", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, fc.integer(), async (options, other) => {
        const runs = [];
        for (const timing of [options.timing, other]) {
          const more = { slowEvery: timing % 5, maxInflight: 8 + (Math.abs(timing) % 50) };
          runs.push(await simulate({ ...options, ...more, timing, level: 0, outcome: mixed }));
        }
        const [first, second] = runs.map(({ sent, requests }) => ({
          batches: sent.map(({ episodes }) => episodes),
          sampled: requests.map(({ request }) => request.episode_id).toSorted(),
        }));
        expect(first).toEqual(second);
        for (const batch of first?.batches ?? []) {
          const order = batch.map(({ id }) => id.split("-").slice(1, 3).map(Number));
          expect(order).toEqual(order.toSorted(([a = 0, i = 0], [b = 0, j = 0]) => a - b || i - j));
        }
      }),
      RUNS,
    );
  });

  test("cancels groups that became too old while they were sampled, and makes up for them", async () => {
    const slow = (action: string, signal?: AbortSignal) =>
      action === "run group-0-1-0" ? sleep(60_000, undefined, { signal }) : undefined;
    const run = await simulate({ level: 1, maxOffPolicySteps: 1, maxSteps: 6, delayMs: 0, before: slow });
    checkContract(run, 6);
    expect(run.requests.filter(({ aborted }) => aborted).map(({ request }) => request.episode_id)).toEqual([
      "group-0-1-0",
    ]);
    expect(run.events).toContainEqual(expect.objectContaining({ type: "groups_dropped", reason: "stale", groups: 1 }));
    const dropped = [...run.logged.values()].map((line) => Number(line["off_policy/dropped_groups"] ?? 0));
    expect(dropped.reduce((sum, count) => sum + count, 0)).toBe(1);
  });

  test("traces of a teacher never become stale", async () => {
    const teacher = { base_url: "http://teacher", check_tokenizer: false };
    for (const algo of [
      { type: "sft", teacher },
      { type: "sft", min_reward: -1 },
    ]) {
      const late = new AbortController();
      const slow = async (action: string, signal?: AbortSignal) => {
        if (action === "send 4") late.abort();
        if (action !== "run group-0-1-0") return;
        const until = AbortSignal.any([late.signal, ...(signal === undefined ? [] : [signal])]);
        await sleep(60_000, undefined, { signal: until }).catch(() => undefined);
      };
      const run = await simulate({ level: 1, maxOffPolicySteps: 1, maxSteps: 8, delayMs: 0, before: slow, algo });
      const isFrozen = "teacher" in algo;
      const first = run.sent.find(({ episodes }) => episodes.some(({ group }) => group.id === "group-0"));
      const stale = run.events.filter(({ reason }) => reason === "stale");
      expect([first === undefined, stale.length]).toEqual(isFrozen ? [false, 0] : [true, 1]);
      const lines = [...run.logged.values()].filter((line) => "batch/rollouts" in line);
      expect(lines.every((line) => "off_policy/max" in line !== isFrozen)).toBe(true);
    }
  });

  test("replaces batches without a signal, and leaves traces without one out of the others", async () => {
    const flat = (task: number, sample: number) => (task < 6 ? 1 : rewardByHash(task, sample));
    const run = await simulate({ level: 0, maxSteps: 2, outcome: flat });
    checkContract(run, 2);
    expect(run.events).toContainEqual({ type: "empty_batch", step: 1, groups: 4 });
    expect(run.logged.get(1)).toMatchObject({ "batch/zero_advantage": 4, "batch/rollouts": 4 });
  });

  test("a gate keeps groups without a signal out, and the batch keeps its size", async () => {
    const flat = (task: number, sample: number) => (task % 2 === 0 ? 1 : rewardByHash(task, sample));
    const gates = { advantage_range: {} };
    await fc.assert(
      fc.asyncProperty(schedules, fc.constantFrom(0, 1), async (options, level) => {
        const run = await simulate({ ...options, tasks: null, level, outcome: flat, curriculum: { gates } });
        checkContract(run, options.maxSteps);
        for (const batch of run.sent) {
          expect(batch.samples).toBe(batch.episodes.filter(({ advantage }) => advantage !== 0).length);
          for (const group of groupsOf(batch)) {
            const own = batch.episodes.filter((episode) => episode.group.id === group);
            expect(own.some(({ advantage }) => advantage !== 0)).toBe(true);
          }
        }
        const lines = [...run.logged.values()].flatMap((line) => Object.entries(line));
        const rates = lines.filter(([name]) => /^curriculum\/source-\d+\/admission_rate$/.test(name));
        expect(rates.length).toBeGreaterThan(0);
        expect(rates.every(([, rate]) => Number(rate) >= 0 && Number(rate) <= 1)).toBe(true);
      }),
      RUNS,
    );
  });

  test("a gate that nothing passes ends the run by its name", async () => {
    const curriculum = { gates: { advantage_range: { reject_min: -9, reject_max: 9 } } };
    await expect(simulate({ level: 1, maxSteps: 2, curriculum })).rejects.toMatchObject({
      code: "PRL_ORCHESTRATOR_STARVED",
    });
  });

  test("a curriculum draws by observed rewards, the same at level 0 whatever the timing", async () => {
    const curriculum = {
      sampler: {
        type: "difficulty_pool",
        pools: [
          { name: "hard", max_reward: 0.5, weight: 0 },
          { name: "rest", max_reward: 1, weight: 1 },
        ],
      },
      gates: { advantage_range: {} },
    };
    const hard = (task: number, sample: number) =>
      task < 20 ? ([0, 0.25][sample % 2] ?? 0) : rewardByHash(task, sample);
    const runs = [];
    for (const timing of [1, 77]) {
      runs.push(
        await simulate({ level: 0, maxSteps: 12, tasks: 40, timing, delayMs: timing % 4, outcome: hard, curriculum }),
      );
    }
    const [first, second] = runs.map(({ sent }) => sent.map(({ episodes }) => episodes));
    expect(first).toEqual(second);
    const drawn = runs[0]?.requests.map(({ request }) => request) ?? [];
    const hardest = drawn.filter(({ task }) => Number(task.key.replace(/\D/g, "")) < 20);
    // Each of them is tried at most until its first group was observed, at the cut.
    const perStep = new Map<string, Set<number>>();
    for (const { task, run } of hardest) perStep.set(task.key, (perStep.get(task.key) ?? new Set()).add(run.step));
    expect([...perStep.values()].every((steps) => steps.size === 1)).toBe(true);
    const line = runs[0]?.logged.get(12);
    expect(Number(line?.["curriculum/source-0/sampler/rest"])).toBeGreaterThan(0);
  });

  test("an endless source has no curriculum to draw from", async () => {
    const curriculum = { sampler: { type: "learnability" } };
    await expect(simulate({ level: 0, maxSteps: 1, tasks: null, curriculum })).rejects.toThrow(/endless/);
  });

  test("without max_steps goes on until it is stopped", async () => {
    const stop = new AbortController();
    const before = (action: string) => (action === "send 7" ? stop.abort(new Error("enough")) : undefined);
    let steps = 0;
    const run = simulate(
      { level: 1, maxSteps: null, signal: stop.signal, before },
      ({ sent }) => void (steps = sent.length),
    );
    await expect(run).rejects.toThrow("enough");
    expect(steps).toBeGreaterThanOrEqual(6);
  });
});

function checkpointOf({ checkpoints }: Simulation, step: number): OrchestratorState {
  const state = checkpoints.get(step);
  if (state === undefined) throw new Error(`there is no checkpoint of step ${step}`);
  return state;
}

describe("a resumed run", () => {
  const rest = ({ sent }: Simulation, step: number) =>
    sent.filter((batch) => batch.step > step).map(({ episodes }) => episodes);
  const progress = ({ logged }: Simulation, step: number) =>
    [...logged].flatMap(([own, values]) =>
      own > step ? Object.entries(values).filter(([name]) => /^(progress|curriculum|off_policy)\//.test(name)) : [],
    );

  test("at level 0 goes on from any checkpoint with the batches that it would have had", async () => {
    const algorithms = fc.constantFrom({}, { gates: { advantage_range: {} } }, { sampler: { type: "learnability" } });
    await fc.assert(
      fc.asyncProperty(schedules, algorithms, fc.nat(), fc.integer(), async (options, curriculum, at, timing) => {
        const finite = { ...options, tasks: options.tasks ?? 9, level: 0, outcome: mixed, curriculum };
        const whole = await simulate({ ...finite, checkpoints: true });
        expect([...whole.checkpoints.keys()]).toEqual(whole.sent.map(({ step }) => step));
        const step = 1 + (at % options.maxSteps);
        const resumed = await simulate({ ...finite, timing, resume: checkpointOf(whole, step) });
        expect(rest(resumed, 0)).toEqual(rest(whole, step));
        expect(progress(resumed, step)).toEqual(progress(whole, step));
      }),
      RUNS,
    );
  });

  test("at other levels trains on every group once, in batches of their size, within the staleness bound", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, fc.constantFrom(1, 2), fc.nat(), async (options, level, at) => {
        const shared = { ...options, maxSteps: options.maxSteps + 2, tasks: null, level, outcome: mixed };
        const whole = await simulate({ ...shared, checkpoints: true });
        const step = 1 + (at % options.maxSteps);
        const state = checkpointOf(whole, step);
        const resumed = await simulate({ ...shared, resume: state });
        expect(resumed.contract).toEqual([]);
        expect(resumed.sent.map((batch) => batch.step)).toEqual(
          Array.from({ length: shared.maxSteps - step }, (_, i) => step + 1 + i),
        );
        const size = resumed.config.orchestrator.batch_size ?? 0;
        for (const { episodes } of resumed.sent) expect(episodes.length).toBeGreaterThanOrEqual(size);
        // No task is lost: what the checkpoint had begun comes first. Batches that were ahead may have held more than a batch has; what the
        // run then ends without is the last of it, and nothing else was begun.
        const tasks = new Set(resumed.requests.map(({ request }) => `${request.env} ${request.task.key}`));
        const begun = state.pending.map(({ source, task }) => `${source} ${task.key}`);
        const left = begun.filter((task) => !tasks.has(task));
        expect(left).toEqual(begun.slice(begun.length - left.length));
        expect([...tasks].filter((task) => left.length > 0 && !begun.includes(task))).toEqual([]);
        const used = resumed.sent.flatMap(groupsOf);
        expect(new Set(used).size).toBe(used.length);
      }),
      RUNS,
    );
  });
});

describe("evaluations", () => {
  const evaluated = ({ requests }: Simulation) => [
    ...new Set(requests.flatMap(({ request }) => (request.run.type === "eval" ? [request.run.step] : []))),
  ];

  test("pass over a version that is lost on its way, as the run does: it goes on with the next and says so", async () => {
    const lost = (action: string) => {
      if (action === "receive 2") throw new PrlError("PRL_WEIGHTS_SUPERSEDED", "there is a newer one");
    };
    const run = await simulate({ level: 1, maxSteps: 5, delayMs: 0, evaluation: { interval: 1 }, before: lost });
    expect(run.contract).toEqual([]);
    expect(run.sent.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
    const updates = (run.calls[0] ?? []).filter((call) => call.startsWith("update"));
    expect(updates).toEqual([0, 1, 3, 4, 5].map((version) => `update ${version}`));
    expect(run.events).toContainEqual(expect.objectContaining({ type: "weights_passed_over", version: 2 }));
    expect(evaluated(run)).toEqual([1, 3, 4, 5]);
  });

  test("run at the start, every interval and at the end, and say which versions sampled", async () => {
    const run = await simulate({ level: 1, maxSteps: 5, evaluation: { interval: 2, atStart: true }, delayMs: 3 });
    checkContract(run, 5);
    expect(evaluated(run)).toEqual([0, 2, 4, 5]);
    const asked = run.requests.map(({ request }) => request).filter((request) => request.run.type === "eval");
    for (const request of asked) {
      const ofOthers = run.requests.filter((other) => other.request.cache_salt === request.cache_salt);
      // What an older version computed of a prompt is never taken for a newer one's, nor training's for theirs.
      expect(new Set(ofOthers.map((other) => `${other.request.run.type} ${other.request.run.step}`)).size).toBe(1);
    }
    for (const version of [0, 2, 4, 5]) {
      const line = run.logged.get(version);
      expect(line).toMatchObject({
        "eval/held-out/policy_version": version,
        "eval/held-out/num": 6,
        "eval/held-out/errors": 0,
      });
      expect(line?.["eval/held-out/policy_version/min"]).toBeGreaterThanOrEqual(version);
      expect(line?.["eval/held-out/policy_version/max"]).toBeGreaterThanOrEqual(version);
    }
  });

  test.each([0, 2])("at level %i hold_weights keeps the version until they end", async (level) => {
    const evaluation = { interval: 1, atStart: true, ...(level === 0 ? {} : { hold: true }) };
    const run = await simulate({ level, maxSteps: 4, evaluation, delayMs: 3, slowEvery: 3 });
    checkContract(run, 4);
    expect(evaluated(run)).toEqual([0, 1, 2, 3, 4]);
    for (const [version, line] of run.logged) {
      expect(line["eval/held-out/policy_version/min"]).toBe(version);
      expect(line["eval/held-out/policy_version/max"]).toBe(version);
    }
  });

  test("staleness never cancels them", async () => {
    let swapped = (): void => undefined;
    const later = new Promise<void>((resolve) => (swapped = resolve));
    const slow = (action: string) => {
      if (action === "canary 0 2") swapped();
      return action.startsWith("run eval-1-") ? later : undefined;
    };
    const run = await simulate({
      level: 1,
      maxOffPolicySteps: 1,
      maxSteps: 5,
      evaluation: { interval: 1 },
      before: slow,
    });
    expect(evaluated(run)).toEqual([1, 2, 3, 4, 5]);
    expect(run.requests.filter(({ aborted, request }) => aborted && request.run.type === "eval")).toEqual([]);
    expect(Number(run.logged.get(1)?.["eval/held-out/policy_version/max"])).toBeGreaterThan(1);
  });
});

describe("a run ends with the error that stopped it", () => {
  async function failure(options: Partial<SimulationOptions>): Promise<unknown> {
    return simulate({ level: 1, maxSteps: 4, ...options }, ({ inFlight, contract }) => {
      expect(contract).toEqual([]);
      void inFlight;
    }).then(
      () => expect.fail("the run did not fail"),
      (error: unknown) => error,
    );
  }
  const broken = (code: ErrorCode) => new PrlError(code, "as ordered");
  const failAt = (action: string) => (current: string) => {
    if (current === action) throw broken("PRL_IO");
  };

  test.each([
    ["every group's rewards are equal", () => 1],
    ["every rollout fails", () => "environment" as const],
  ])("PRL_ORCHESTRATOR_STARVED when %s", async (_, outcome) => {
    for (const level of [0, 2]) {
      expect(await failure({ level, outcome })).toMatchObject({ code: "PRL_ORCHESTRATOR_STARVED" });
    }
  });

  test("PRL_CANARY_OUT_OF_BAND when an engine computes something else, and nothing is dispatched under that version", async () => {
    let version = 0;
    const wrong = async (action: string) => {
      if (action !== "canary 1 2") return;
      await sleep(0);
      throw new PrlError("PRL_CANARY_OUT_OF_BAND", "as ordered");
    };
    const run = simulate({ level: 1, maxSteps: 5, engines: 2, before: wrong }, ({ requests }) => {
      version = Math.max(...requests.map(({ request }) => Number(request.cache_salt)));
    });
    await expect(run).rejects.toMatchObject({ code: "PRL_CANARY_OUT_OF_BAND" });
    expect(version).toBe(1);
  });

  test.each(["receive 0", "receive 2", "tasks train", "update 0 1", "resume 0", "run group-5-1-0", "send 2"])(
    "what %s throws",
    async (action) => {
      expect(await failure({ before: failAt(action) })).toEqual(broken("PRL_IO"));
    },
  );

  test.each(["tasks eval", "run eval-0-held-out-3-0-0", "run eval-2-held-out-3-0-0", "run eval-4-held-out-3-0-0"])(
    "what %s throws in an evaluation, while the rest waits for something else",
    async (action) => {
      const before = (current: string, signal?: AbortSignal) => {
        if (current === "receive 3" && action.includes("eval-2")) return sleep(60_000, undefined, { signal });
        return failAt(action)(current);
      };
      expect(await failure({ evaluation: { interval: 2, atStart: true }, before })).toEqual(broken("PRL_IO"));
    },
  );

  test("PRL_ENVIRONMENT_FAILED when more than a tenth of an evaluation fails", async () => {
    const outcome: SimulationOptions["outcome"] = (task, sample, _, { run }) =>
      run.type === "eval" ? "environment" : rewardByHash(task, sample);
    expect(await failure({ outcome, evaluation: { interval: null } })).toMatchObject({
      code: "PRL_ENVIRONMENT_FAILED",
    });
  });
});

test("an abort ends the run promptly with its reason, wherever it waits", async () => {
  const waits = [
    "receive 0",
    "receive 2",
    "tasks train",
    "tasks eval",
    "pause 0",
    "canary 0 1",
    "run group-3-0-0",
    "run eval-0-held-out-2-0-0",
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(null, ...waits),
      fc.integer({ min: 0, max: 40 }),
      fc.constantFrom(0, 1, 3),
      fc.integer(),
      async (hangAt, abortAfterMs, level, timing) => {
        const stop = new AbortController();
        const reason = new Error("stop");
        const before = (action: string, signal?: AbortSignal) =>
          action === hangAt ? sleep(60_000, undefined, { signal }) : undefined;
        const run = simulate({
          level,
          maxSteps: null,
          timing,
          before,
          signal: stop.signal,
          evaluation: { interval: 1, atStart: true },
        });
        const outcome = run.then(
          () => "it ended",
          (error: unknown) => error,
        );
        await sleep(abortAfterMs);
        stop.abort(reason);
        const late = sleep(5_000, "it hung", { ref: false });
        expect(await Promise.race([outcome, late])).toBe(reason);
      },
    ),
    { numRuns: 30 },
  );
});
