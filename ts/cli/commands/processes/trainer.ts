/** `prl trainer`: the trainer of a run, as a process. */

import { type ChildConfigs, readChildConfig } from "../../../config/index.ts";
import type { Metrics } from "../../../monitors/index.ts";
import { runTrainer } from "../../../trainer/index.ts";
import { openTrainerTransports, pruneRollouts } from "../../../transports/index.ts";
import { BENCH_OPTION, isBench } from "../../bench/option.ts";
import { eitherWay, partInput, RESUMABLE_USAGE, STANDALONE_DETAILS } from "../../processes/standalone.ts";
import { CHILD_OPTIONS, type ChildInput, openChildMetrics, untilStopped } from "../../processes/child.ts";
import { type Command, type CommandIo } from "../../command.ts";

const COMPONENT = "trainer";

export const command: Command = {
  name: COMPONENT,
  summary: "Train on the batches of a run directory and publish weights to it",
  usage:
    `trainer ${RESUMABLE_USAGE}\n       prl trainer --config <file.json> --run-dir <dir>\n` +
    "       prl trainer --bench [<steps>] <file.toml>... [--key value]...",
  details:
    STANDALONE_DETAILS +
    "With --resume, given to trainer and orchestrator, it continues the run in that directory, as prl rl --resume does.\n" +
    "`prl rl` starts it with --config. The config file holds what the launcher writes to <run>/configs/trainer.json.",
  options: [...eitherWay(CHILD_OPTIONS), BENCH_OPTION],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  if (isBench(args)) return (await import("../../bench/trainer.ts")).benchTrainer(args, io);
  const input = await partInput({ component: COMPONENT }, args, io, (path) => readChildConfig(COMPONENT, path));
  const { monitors, start_step: startStep } = input.config;
  const metrics = await openChildMetrics(COMPONENT, input, { monitors, portOffset: 1, startStep, log: io.stderr });
  return untilStopped(io, () => train(input, metrics, io.signal).finally(() => metrics.close()));
}

async function train(
  { config, runDir, attempt, member }: ChildInput<ChildConfigs["trainer"]>,
  metrics: Metrics,
  signal: AbortSignal,
): Promise<void> {
  const place = { runDir, runId: config.run_id, attempt };
  const { rollouts, weights, addresses } = await openTrainerTransports(place, config);
  await runTrainer({
    modelDir: config.model_dir,
    baseDir: config.base_dir,
    referenceDir: config.reference_dir,
    baseWeights: config.base_weights,
    config: config.trainer,
    maxSteps: config.max_steps,
    startStep: config.start_step,
    checkpoints: { root: config.checkpoints, run: config.run_id, attempt, rules: config.ckpt },
    rollouts,
    weights,
    metrics,
    signal,
    onTrained: (step) => pruneRollouts(runDir, step, config.rollout_transport.keep),
    onReady: (info) => member.ready({ ...info, ...addresses }),
  });
}
