/** Simulated runs: equal seeds give equal numbers, nothing is lost, and nothing trains that is too old. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { simulatedConfig } from "../../../ts/simulation/simulated-config.ts";
import { simulateRun, type SimulatedRunOptions } from "../../../ts/simulation/simulated-run.ts";
import { IS_LONG } from "../../support/form.ts";

interface Shape {
  seed: number;
  level: number;
  groupSize: number;
  groups: number;
  maxOffPolicySteps: number;
  servers: number;
  sequences: number;
  kvTokens: number;
  trainSeconds: number;
  swapSeconds: number;
  mostInFlight: number;
  oversampling: number;
  recycle: "off" | "stale" | "tails";
  grpc: boolean;
}

const USUAL: Shape = {
  seed: 1,
  level: 1,
  groupSize: 4,
  groups: 4,
  maxOffPolicySteps: 8,
  servers: 3,
  sequences: 4,
  kvTokens: 10_000,
  trainSeconds: 20,
  swapSeconds: 1,
  mostInFlight: 64,
  oversampling: 1,
  recycle: "off",
  grpc: false,
};

function optionsOf(shape: Shape): SimulatedRunOptions {
  const { level, groupSize, groups, mostInFlight } = shape;
  const config = rlConfigSchema.parse({
    seed: shape.seed,
    max_async_level: level,
    seq_len: 64,
    model: { name: "m" },
    weight_broadcast: { type: shape.grpc ? "grpc" : "filesystem", keep: level + 1 },
    orchestrator: {
      batch_size: groups * groupSize,
      group_size: groupSize,
      max_off_policy_steps: shape.maxOffPolicySteps,
      oversampling: shape.oversampling,
      recycle: shape.recycle,
      train: { source: [{ env: { id: "reverse-text" } }] },
    },
  });
  return {
    config: simulatedConfig(config, { batchSize: groups * groupSize, mostInFlight }),
    servers: shape.servers,
    server: {
      sequences: shape.sequences,
      kvTokens: shape.kvTokens,
      sharesPrompts: true,
      decode: (sequences, tokens) => 0.01 + 0.001 * sequences + 1e-7 * tokens,
      prefill: (tokens) => 1e-4 * tokens,
    },
    swap: { hopSeconds: 0.5, swapSeconds: shape.swapSeconds },
    rollout: {
      promptTokens: 100,
      completionTokens: 500,
      longestCompletion: 2000,
      spread: 0.8,
      envSeconds: 1,
      envCpuSeconds: 0.01,
      envWorkers: 2,
    },
    trainer: { train: () => shape.trainSeconds, publishSeconds: 0.5 },
    warmUp: level + 1,
    measured: 3,
    signal: new AbortController().signal,
  };
}

const simulated = async (shape: Partial<Shape> = {}) => {
  const { cpu_per_rollout: cpu, ...fromTheSeed } = await simulateRun(optionsOf({ ...USUAL, ...shape }));
  return { cpu, fromTheSeed };
};

describe("a simulated run", () => {
  test.each([0, 1, 2])("at level %d is the same for the same seed, and another one for another seed", async (level) => {
    const first = await simulated({ level });
    expect((await simulated({ level })).fromTheSeed).toEqual(first.fromTheSeed);
    expect((await simulated({ level, seed: 2 })).fromTheSeed.tokens).not.toBe(first.fromTheSeed.tokens);
    expect(first.cpu).toBeGreaterThan(0);
  });

  test("keeps a slow trainer busy, and lets a fast one wait", async () => {
    const { fromTheSeed: slow } = await simulated({ trainSeconds: 1000 });
    expect(slow.training).toBeGreaterThan(0.95);
    const { fromTheSeed: fast } = await simulated({ trainSeconds: 0.1 });
    expect(fast.training).toBeLessThan(0.05);
    expect(fast.seconds).toBeLessThan(slow.seconds);
  });

  test("at level 0 samples and trains by turns", async () => {
    const { fromTheSeed } = await simulated({ level: 0, trainSeconds: 30, servers: 1 });
    expect(fromTheSeed.training + fromTheSeed.publishing + fromTheSeed.sampling).toBeLessThanOrEqual(1 + 1e-9);
    expect(fromTheSeed.most_behind).toBe(0);
  });

  test("ends by name when it is aborted", async () => {
    const options = optionsOf(USUAL);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(simulateRun({ ...options, signal })).rejects.toThrow("enough");
  });

  test("loses no group, uses no part beyond its time, and trains on nothing beyond the bound of staleness", async () => {
    const shapes = fc.record({
      seed: fc.nat({ max: 1000 }),
      level: fc.nat({ max: 3 }),
      groupSize: fc.integer({ min: 1, max: 5 }),
      groups: fc.integer({ min: 1, max: 6 }),
      older: fc.nat({ max: 3 }),
      servers: fc.integer({ min: 1, max: 9 }),
      sequences: fc.integer({ min: 1, max: 8 }),
      kvTokens: fc.integer({ min: 2100, max: 9000 }),
      trainSeconds: fc.integer({ min: 0, max: 60 }),
      swapSeconds: fc.integer({ min: 0, max: 20 }),
      mostInFlight: fc.integer({ min: 5, max: 64 }),
      more: fc.constantFrom(
        { oversampling: 1, recycle: "off" as const },
        { oversampling: 1, recycle: "stale" as const },
        { oversampling: 1.5, recycle: "off" as const },
        { oversampling: 1.5, recycle: "tails" as const },
      ),
      grpc: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(shapes, async ({ older, more, ...drawn }) => {
        const isSynchronous = drawn.level === 0;
        const maxOffPolicySteps = isSynchronous ? 0 : drawn.level + older;
        const { fromTheSeed: run } = await simulated({ ...drawn, ...(!isSynchronous && more), maxOffPolicySteps });
        expect(run.steps).toBe(3);
        expect(Object.values(run.groups).reduce((sum, count) => sum + count, 0)).toBe(run.begun);
        for (const share of [run.training, run.publishing, run.sampling, run.paused, run.environments]) {
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(1 + 1e-9);
        }
        expect(run.training + run.publishing).toBeLessThanOrEqual(1 + 1e-9);
        expect(run.sampling + run.paused).toBeLessThanOrEqual(1 + 1e-9);
        expect(run.running).toBeLessThanOrEqual(drawn.sequences);
        expect(run.most_behind).toBeLessThanOrEqual(maxOffPolicySteps);
      }),
      { numRuns: IS_LONG ? 1000 : 12 },
    );
  });
});
