/**
 * `prl orchestrator --bench`: scheduling, advantages, packing and traces against rollouts that are made up and cost nothing.
 *
 * This process answers for engines, workers and trainer at once, so that only the orchestrator's own time is measured.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { formatCount, formatSeconds } from "../../monitors/index.ts";
import { flopModel } from "../../native/index.ts";
import { runOrchestrator } from "../../orchestrator/index.ts";
import { filesystemRollouts } from "../../transports/index.ts";
import type { CommandIo } from "../command.ts";
import { benchSetup, inScratch, keptMetrics, median, peakMemory, progress, report } from "./bench.ts";
import { madeUpEngines, madeUpTrainer, madeUpWorkers } from "./made-up-parts.ts";

export async function benchOrchestrator(args: readonly string[], io: CommandIo): Promise<number> {
  const { config: given, steps, modelDir, vocabSize } = await benchSetup(args, io);
  const config = {
    ...given,
    max_steps: steps,
    orchestrator: { ...given.orchestrator, max_steps: steps, eval: null, filters: [] },
  };
  const length = config.trainer.data.fake?.seq_len ?? config.seq_len;
  const logged: Record<string, number>[] = [];
  const metrics = keptMetrics((step, values) => {
    logged.push(values);
    progress(io, [
      `Step ${step}/${steps}`,
      `Rollouts/s ${formatCount((values["progress/rollouts"] ?? NaN) / (values["time/step"] ?? NaN))}`,
      formatSeconds(values["time/step"]),
    ]);
  });
  await inScratch(async (runDir) => {
    const rules = { recovery_interval: steps, interval: null, keep_last: null, keep_interval: null };
    const checkpoints = { root: join(runDir, "checkpoints"), run: "bench", attempt: 1, rules };
    const { rollouts, weights } = madeUpTrainer(filesystemRollouts(runDir, "bench", 1), checkpoints, steps);
    await runOrchestrator({
      resume: null,
      checkpoints,
      runDir,
      config,
      modelName: "bench",
      engines: madeUpEngines(metrics),
      workers: madeUpWorkers({ length, vocabSize }),
      rollouts,
      weights,
      trainRanks: { ranks: 1, cost: flopModel(await readFile(join(modelDir, "config.json"), "utf8")) },
      metrics,
      signal: io.signal,
    });
  });
  const warm = logged.slice(1);
  const rate = (name: string): number => median(warm.map((one) => (one[name] ?? NaN) / (one["time/step"] ?? NaN)));
  return report(
    "orchestrator",
    steps,
    [
      { name: "rollouts", unit: "1/s", value: rate("progress/rollouts") },
      { name: "tokens of batches", unit: "1/s", value: rate("batch/tokens") },
      { name: "step", unit: "s", value: median(warm.map((one) => one["time/step"])) },
      { name: "event loop lag, p99", unit: "ms", value: 1000 * median(warm.map((one) => one["event_loop_lag/p99"])) },
      peakMemory(),
    ],
    io,
  );
}
