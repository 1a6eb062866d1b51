/** `prl trainer`: the trainer of a run, as a process. */

import { joinRun } from "../../../monitors/index.ts";
import { runTrainer } from "../../../trainer/index.ts";
import { openTrainerTransports, pruneRollouts } from "../../../transports/index.ts";
import { BENCH_OPTION, isBench } from "../../bench/option.ts";
import { asStartedByLauncher, BY_HAND_DETAILS, eitherWay, RESUMABLE_USAGE } from "../../processes/standalone.ts";
import {
  CHILD_OPTIONS,
  openChildMetrics,
  parseChildOptions,
  readChildConfig,
  untilStopped,
} from "../../processes/child.ts";
import { type Command, type CommandIo } from "../../command.ts";
import type { TrainerChildConfig } from "../../../launcher/index.ts";

const COMPONENT = "trainer";

export const command: Command = {
  name: COMPONENT,
  summary: "Train on the batches of a run directory and publish weights to it",
  usage:
    `trainer ${RESUMABLE_USAGE}\n       prl trainer --config <file.json> --run-dir <dir>\n` +
    "       prl trainer --bench [<steps>] <file.toml>... [--key value]...",
  details:
    BY_HAND_DETAILS +
    "With --resume, given to trainer and orchestrator, it continues the run in that directory, as prl rl --resume does.\n" +
    "`prl rl` starts it with --config. The config file holds what the launcher writes to <run>/configs/trainer.json.",
  options: [...eitherWay(CHILD_OPTIONS), BENCH_OPTION],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  if (isBench(args)) return (await import("../../bench/trainer.ts")).benchTrainer(args, io);
  const { configPath, runDir, index, attempt } = parseChildOptions(
    COMPONENT,
    await asStartedByLauncher(COMPONENT, args, io),
    io.cwd,
  );
  const { signal } = io;
  const member = joinRun({ component: COMPONENT, index, runDir });
  const config = await readChildConfig<TrainerChildConfig>(configPath);
  const { monitors, start_step: startStep } = config;
  const metrics = await openChildMetrics(
    COMPONENT,
    { runDir, attempt },
    { monitors, portOffset: 1, startStep, log: io.stderr },
  );
  const work = async () => {
    const { rollouts, weights, addresses } = await openTrainerTransports(
      { runDir, runId: config.run_id, attempt },
      config,
    );
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
  };
  return untilStopped(io, () => work().finally(() => metrics.close()));
}
