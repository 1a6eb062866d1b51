/** An orchestrator that dies at any moment, and the one that takes over from its snapshot while the trainer goes on. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { rewardByHash, simulate, type Simulation, type SimulationOptions } from "./simulation.ts";
import { IS_LONG } from "../../support/form.ts";

const RUNS = { numRuns: IS_LONG ? 200 : 12 };

const schedules = fc.record({
  maxSteps: fc.integer({ min: 2, max: 6 }),
  groupSizes: fc.constantFrom([2], [4], [2, 4]),
  maxInflight: fc.constantFrom(8, 64),
  engines: fc.constantFrom(1, 2),
  tasks: fc.constantFrom(5, 70),
  timing: fc.integer({ min: 0, max: 2 ** 31 }),
  delayMs: fc.constantFrom(0, 1),
});
/** Actions from one death to the next. */
const deaths = fc
  .array(fc.integer({ min: 0, max: 90 }), { minLength: 1, maxLength: 6 })
  .map((gaps) => gaps.map((_, i) => gaps.slice(0, i + 1).reduce((sum, gap) => sum + gap, i)));

/** Some rollouts, and in one task of seven all, end in an error of the environment or the model. */
const mixed: NonNullable<SimulationOptions["outcome"]> = (task, sample, _attempt, { run }) => {
  // An evaluation with many errors ends the run.
  if (run.type === "eval") return rewardByHash(task, sample);
  if (task % 7 === 3) return "environment";
  if ((task + sample) % 11 === 5) return "model";
  return rewardByHash(task, sample);
};

const groupsOf = ({ episodes }: Simulation["sent"][number]) => [...new Set(episodes.map(({ group }) => group.id))];
const stepsUpTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);
const metricsOf = ({ logged }: Simulation) =>
  [...logged].flatMap(([step, values]) =>
    Object.entries(values)
      .filter(([name]) => /^(progress|curriculum|off_policy|batch|train|eval)\//.test(name))
      .filter(([name]) => !/time|timing/.test(name))
      .map(([name, value]) => `${step} ${name} ${String(value)}`),
  );

/** The states of all checkpoints. */
const statesOf = ({ checkpoints }: Simulation) => [...checkpoints.values()];

/** Each batch and each line once, every checkpoint whole, and what the other parts see as in any run. */
function expectWhole(run: Simulation, maxSteps: number): void {
  expect(run.contract).toEqual([]);
  expect(run.sent.map(({ step }) => step)).toEqual(stepsUpTo(maxSteps));
  const steps = run.lines.filter((line) => line.startsWith("step"));
  expect(steps.toSorted()).toEqual(
    stepsUpTo(maxSteps)
      .map((step) => `step ${step}`)
      .toSorted(),
  );
  expect(new Set(run.lines).size).toBe(run.lines.length);
  expect([...run.checkpoints.keys()]).toEqual(stepsUpTo(maxSteps));
  const used = run.sent.flatMap(groupsOf);
  expect(new Set(used).size).toBe(used.length);
}

describe("an orchestrator that dies while the trainer goes on", () => {
  test("is followed at level 0 by one that makes the same batches, metrics and evaluations", async () => {
    const curricula = fc.constantFrom({}, { gates: { advantage_range: {} } }, { sampler: { type: "learnability" } });
    await fc.assert(
      fc.asyncProperty(schedules, curricula, deaths, async (options, curriculum, crashes) => {
        const evaluation = { interval: 2, atStart: true };
        const shared = { ...options, level: 0, outcome: mixed, curriculum, evaluation, checkpoints: true };
        const whole = await simulate(shared);
        const killed = await simulate({ ...shared, crashes });
        expectWhole(killed, options.maxSteps);
        expect(killed.sent.map(({ episodes }) => episodes)).toEqual(whole.sent.map(({ episodes }) => episodes));
        expect(metricsOf(killed).toSorted()).toEqual(metricsOf(whole).toSorted());
        expect(statesOf(killed)).toEqual(statesOf(whole));
      }),
      RUNS,
    );
  });

  test("is followed at other levels by one that keeps the size of batches and the bound on staleness", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, fc.constantFrom(1, 2), deaths, async (options, level, crashes) => {
        const evaluation = { interval: 2, atStart: true };
        const shared = { ...options, maxOffPolicySteps: level, evaluation, checkpoints: true };
        const run = await simulate({ ...shared, level, outcome: mixed, crashes });
        expectWhole(run, options.maxSteps);
        const versions = new Map(run.requests.map(({ request }) => [request.group_id, Number(request.cache_salt)]));
        const size = run.config.orchestrator.batch_size ?? 0;
        for (const batch of run.sent) {
          expect(batch.episodes.length).toBeGreaterThanOrEqual(size);
          expect(batch.version).toBeGreaterThanOrEqual(batch.step - 1 - level);
          for (const group of groupsOf(batch)) {
            const dispatched = versions.get(group) ?? Number.NaN;
            expect(batch.step - 1 - dispatched).toBeLessThanOrEqual(level);
          }
        }
      }),
      RUNS,
    );
  });

  test("dies often enough in these tests", async () => {
    const run = await simulate({ level: 0, maxSteps: 4, crashes: [3, 40, 80], checkpoints: true });
    expect(run.crashed).toBe(3);
  });
});
