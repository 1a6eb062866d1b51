/** `prl trainer --bench`: the trainer on random batches, publishing its weights into a temporary folder. */
import { join } from "node:path";

import { batchRanks } from "../../config/index.ts";
import { formatCount, formatSeconds } from "../../monitors/index.ts";
import { fakeRollouts, PROFILE_FOLDER, runTrainer } from "../../trainer/index.ts";
import { filesystemWeights } from "../../transports/index.ts";
import type { CommandIo } from "../command.ts";
import { benchSetup, inScratch, keptMetrics, median, peakMemory, progress, report } from "./bench.ts";

export async function benchTrainer(args: readonly string[], io: CommandIo): Promise<number> {
  const { config, steps, modelDir, vocabSize } = await benchSetup(args, io);
  const { trainer, seed, seq_len: seqLen } = config;
  const { batch_size: rollouts, token_batch_size: tokens } = config.orchestrator;
  const sequences = rollouts ?? Math.ceil((tokens ?? seqLen) / seqLen);
  const fake = trainer.data.fake ?? { batch_size: sequences, micro_batch_size: 1, seq_len: null };
  const logged: Record<string, number>[] = [];
  const metrics = keptMetrics((step, values) => {
    logged.push(values);
    progress(io, [
      `Step ${step}/${steps}`,
      `Tokens/s ${formatCount(values["perf/throughput"])}`,
      `Forward and backward ${formatSeconds(values["time/forward_backward"])}`,
      `Publish ${formatSeconds(values["time/broadcast_weights"])}`,
      `Step ${formatSeconds(values["time/step"])}`,
    ]);
  });
  await inScratch((dir) =>
    runTrainer({
      modelDir,
      baseDir: modelDir,
      config: trainer,
      maxSteps: steps,
      startStep: 0,
      profileDir: join(io.cwd, PROFILE_FOLDER),
      checkpoints: null,
      rollouts: fakeRollouts({ fake, seqLen, vocabSize, seed, ranks: batchRanks(trainer) }),
      weights: filesystemWeights(dir, config.weight_broadcast),
      metrics,
      signal: io.signal,
      onReady: async () => undefined,
    }),
  );
  const warm = logged.slice(1);
  const of = (name: string): number => median(warm.map((values) => values[name]));
  return report(
    "trainer",
    steps,
    [
      { name: "trained tokens", unit: "1/s", value: of("perf/throughput") },
      { name: "forward, backward, optimizer", unit: "s", value: of("time/forward_backward") },
      { name: "publishing a version", unit: "s", value: of("time/broadcast_weights") },
      { name: "whole step", unit: "s", value: of("time/step") },
      peakMemory(),
    ],
    io,
  );
}
