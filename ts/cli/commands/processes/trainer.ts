/** `prl trainer`: the trainer of a run, as a process. */

import { join } from "node:path";

import { batchRanks, type ChildConfigs, readChildConfig } from "../../../config/index.ts";
import { PrlError } from "../../../errors.ts";
import { type Metrics, readReadyFile } from "../../../monitors/index.ts";
import { PROFILE_FOLDER, runTrainer, takeOver, type TakenOver, untilAdopted } from "../../../trainer/index.ts";
import {
  openTrainerTransports,
  pruneRollouts,
  trainerStop,
  trainerTurn,
  type TrainerTransports,
  type WeightSender,
} from "../../../transports/index.ts";
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
  const taken = await takenOver(input);
  const { monitors, start_step: begun } = input.config;
  const startStep = taken === null ? begun : (taken.logged ?? begun);
  const metrics = await openChildMetrics(COMPONENT, input, { monitors, portOffset: 1, startStep, log: io.stderr });
  return untilStopped(io, () => train(input, taken, metrics, io.signal).finally(() => metrics.close()));
}

type Input = ChildInput<ChildConfigs["trainer"]>;

function checkpointsOf({ config, attempt }: Input) {
  return { root: config.checkpoints, run: config.run_id, attempt, rules: config.ckpt };
}

/** The work that earlier processes of the attempt have left; a process that the launcher started takes it over. Errors: PRL_TRAIN_REPLAY, PRL_WEIGHTS_MANIFEST, PRL_IO. */
async function takenOver(input: Input): Promise<TakenOver | null> {
  const { config, runDir, member } = input;
  if (!member.supervised) return null;
  return takeOver({
    runDir,
    component: COMPONENT,
    checkpoints: checkpointsOf(input),
    begun: { step: config.start_step, modelDir: config.model_dir },
    ranks: batchRanks(config.trainer),
  });
}

async function train(input: Input, taken: TakenOver | null, metrics: Metrics, signal: AbortSignal): Promise<void> {
  const { config, runDir, member } = input;
  const { rollouts, weights, addresses } = await openTransports(input, taken !== null);
  const turn = config.colocated ? trainerTurn(runDir, input.attempt) : null;
  await runTrainer({
    modelDir: taken?.start.modelDir ?? config.model_dir,
    baseDir: config.base_dir,
    referenceDir: config.reference_dir,
    baseWeights: config.base_weights,
    config: config.trainer,
    mergesAdapter: config.merges_adapter,
    maxSteps: config.max_steps,
    startStep: taken?.start.step ?? config.start_step,
    ...(taken !== null && { earlier: taken }),
    profileDir: join(runDir, PROFILE_FOLDER),
    checkpoints: checkpointsOf(input),
    rollouts,
    weights: taken === null ? weights : afterTheLast(weights, input, taken.published.version),
    metrics,
    signal,
    turn,
    stop: trainerStop(runDir, checkpointsOf(input), member.endAsked),
    onTrained: (step) => pruneRollouts(runDir, step, config.rollout_transport.keep, config.checkpoints),
    onReady: (info) => member.ready({ ...info, ...addresses }),
  });
}

/** `weights` of a trainer that takes the place of another, which had published `newest`: its last version may have arrived already. */
function afterTheLast(weights: WeightSender, { config, runDir, attempt }: Input, newest: number): WeightSender {
  if (config.weight_broadcast.type === "filesystem" || newest !== config.max_steps) return weights;
  return { ...weights, delivered: (signal) => untilAdopted(runDir, { attempt, version: newest }, signal) };
}

/** The transports; those of a trainer that takes the place of another are where that one was. */
async function openTransports({ config, runDir, attempt, index }: Input, isLater: boolean): Promise<TrainerTransports> {
  const place = { runDir, runId: config.run_id, attempt };
  const earlier = isLater ? await readReadyFile(runDir, COMPONENT, index) : null;
  if (earlier === null) return openTrainerTransports(place, config);
  try {
    return await openTrainerTransports(place, config, earlier);
  } catch (cause) {
    if (!(cause instanceof PrlError) || cause.code !== "PRL_TRANSPORT_ADDRESS") throw cause;
    throw new PrlError("PRL_TRAIN_REPLAY", `the others look for the trainer where it was: ${cause.message}`, { cause });
  }
}
