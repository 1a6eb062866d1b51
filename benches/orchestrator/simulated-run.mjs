// An orchestrator's run for benches: everything is real but the engines and the trainer, which publishes a version as soon as it has a batch.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
// The orchestrator is no public entry: what is measured is the program as it is built.
import { rlConfigSchema } from "../../dist/config/schema/rl.js";
import { EngineFleet, runOrchestrator } from "../../dist/orchestrator/index.js";
import { filesystemRollouts, writeHalf } from "../../dist/transports/index.js";

/**
 * `engine` is the address that env workers get.
 *
 * @param {{ runDir: string, config: object, engine: string, workers: any, onStep?: (step: number) => void }} options `onStep` is called when a batch is
 *   with the trainer.
 */
export async function simulatedRun({ runDir, config: input, engine, workers, onStep = () => {} }) {
  const config = rlConfigSchema.parse(input);
  const files = filesystemRollouts(runDir, "bench", 1);
  const published = new Set([0]);
  const never = { recovery_interval: Infinity, interval: null, keep_last: null, keep_interval: null };
  const checkpoints = { root: join(runDir, "checkpoints"), run: "bench", attempt: 1, rules: never };
  const holding = { status: "ok", paused: false, policyVersion: 0, digest: "", running: 0, waiting: 0 };
  const admin = {
    prefetchWeights: async () => {},
    pause: async () => {},
    updateWeights: async ({ version: policyVersion, digest }) => {
      Object.assign(holding, { policyVersion, digest });
      return { skipped: false };
    },
    resume: async () => {},
    promptLogprobs: async () => new Float32Array(0),
    health: async () => holding,
    load: async () => [],
    sleep: async () => {},
    wakeUp: async () => {},
    isSleeping: async () => false,
  };
  const quiet = { log() {}, event() {}, close() {} };
  const placed = {
    name: "inference-0",
    identity: engine,
    engine: { url: engine, isa: "portable", dtype: "float32", weights: null, admin },
  };
  await runOrchestrator({
    resume: null,
    checkpoints,
    runDir,
    config,
    modelName: "m",
    engines: new EngineFleet([placed], { maxMeanAbs: 0, metrics: quiet }),
    workers,
    rollouts: {
      async send(step, batches, envNames, commit) {
        await files.send(step, batches, envNames, commit);
        published.add(step);
        // The last step always has a checkpoint; the trainer's half of it is empty here.
        if (step === config.max_steps) await writeHalf(checkpoints, step, "trainer", async () => undefined);
        onStep(step);
      },
      recover: async (committed) => files.recover(committed),
      close: async () => {},
    },
    weights: {
      async receive(version, { signal }) {
        while (!published.has(version)) await delay(5, undefined, { signal });
        const about = { format: "prl-weights", version, digest: String(version), base: null };
        return {
          manifest: { ...about, encoding: "full", shards: [], canary: null },
          source: { dir: runDir },
          acknowledge: async () => {},
          release: async () => {},
        };
      },
      close: async () => {},
    },
    metrics: quiet,
    signal: new AbortController().signal,
  });
}
