/** `prl rl --bench`: the first steps of a whole run, without warm start, evaluations and checkpoints, in a temporary folder. */
import type { RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { plainLine } from "../../monitors/index.ts";
import type { CommandIo } from "../command.ts";
import { rl } from "../../launcher/index.ts";
import { benchConfig, type BenchValue, inScratch, median, progress, report } from "./bench.ts";

export async function benchRun(args: readonly string[], io: CommandIo): Promise<number> {
  const { config, steps } = await benchConfig(args, io);
  return inScratch(async (dir) => {
    const run = rl(shortened(config, steps, dir), {
      signal: io.signal,
      hurry: io.hurry,
      onEvent(event) {
        const line = event.type === "step" ? plainLine(event) : null;
        if (line !== null) progress(io, [line]);
      },
    });
    const logged: { trainer: Record<string, number>; orchestrator: Record<string, number> }[] = [];
    for await (const { metrics } of run) logged.push(metrics);
    const { peak_memory_bytes: peak, status } = await run.result;
    if (status !== "completed") throw new PrlError("PRL_RUN_INTERRUPTED", "the bench was interrupted");
    const warm = logged.slice(1);
    const trainer = (name: string): number => median(warm.map((one) => one.trainer[name]));
    const perSecond = (name: string): number =>
      median(warm.map((one) => (one.orchestrator[name] ?? NaN) / (one.orchestrator["time/step"] ?? NaN)));
    const waits = median(
      warm.map((one) => (one.trainer["time/wait_for_batch"] ?? NaN) / (one.trainer["time/step"] ?? NaN)),
    );
    const memory: BenchValue[] =
      peak === undefined ? [] : [{ name: "peak memory, all processes", unit: "bytes", value: peak }];
    return report(
      "rl",
      steps,
      [
        { name: "step", unit: "s", value: trainer("time/step") },
        { name: "rollouts", unit: "1/s", value: perSecond("progress/rollouts") },
        { name: "tokens of batches", unit: "1/s", value: perSecond("batch/tokens") },
        { name: "trained tokens, while training", unit: "1/s", value: trainer("perf/throughput") },
        { name: "publishing a version", unit: "s", value: trainer("time/broadcast_weights") },
        { name: "the trainer waits", unit: "%", value: waits * 100 },
        ...memory,
      ],
      io,
    );
  });
}

function shortened(config: RlConfig, steps: number, dir: string): RlConfig {
  return {
    ...config,
    run: { name: "bench" },
    output_dir: dir,
    clean: false,
    max_steps: steps,
    warm_start: null,
    ckpt: { ...config.ckpt, recovery_interval: steps + 1, interval: null, keep_interval: null, path: null },
    trainer: { ...config.trainer, max_steps: steps },
    orchestrator: { ...config.orchestrator, max_steps: steps, eval: null },
  };
}
