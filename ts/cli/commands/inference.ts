/**
 * `prl inference`: one inference server of a run, as a process.
 *
 * Loads the model, listens, joins the run and serves until SIGTERM or until the launcher is gone; it is down within 10 s then. It knows
 * nothing of the other processes.
 */
import {
  createInferenceServer,
  engineOptions,
  readInferenceProcessConfig,
  type InferenceProcessConfig,
} from "../../inference/index.ts";
import { joinRun, type RunMember } from "../../monitors/index.ts";
import { loadModel, type Model } from "../../native/index.ts";
import { openInferencePuller, type WeightPuller } from "../../transports/index.ts";
import { CHILD_OPTIONS, parseChildOptions, untilStopped } from "../child.ts";
import type { Command, CommandIo } from "../command.ts";

const COMPONENT = "inference";
/** For answers under way and connections; together with the engine's part below the promised 10 s. */
const CLOSE_SERVER_MS = 3_000;
const CLOSE_ENGINE_MS = 4_000;

export const command: Command = {
  name: COMPONENT,
  summary: "Serve a model over HTTP: token ids in, token ids and log-probabilities out",
  usage: "inference --config <file.json> --run-dir <dir> [--index <i>]",
  details:
    "Started by `prl rl` for each replica. The config file holds {model_dir, version, seed, inference: {...}} with the keys of [inference].\n" +
    "The address is in <run-dir>/run/inference-<i>.json as soon as the server takes requests.\n",
  options: CHILD_OPTIONS,
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { configPath, runDir, index } = parseChildOptions(COMPONENT, args, io.cwd);
  const { signal } = io;
  const member = joinRun({ component: COMPONENT, index, runDir });
  return untilStopped(io, async () => {
    const config = await readInferenceProcessConfig(configPath);
    const model = await orStopped(signal, loadModel(config.model_dir, await engineOptions(config)));
    let puller: WeightPuller | null = null;
    try {
      puller = await openInferencePuller(runDir, index, config.weight_broadcast);
      await serve(config, model, puller, index, member, io);
    } finally {
      const closed = Promise.all([model.close(), puller?.close()]);
      await atMost(CLOSE_ENGINE_MS, "closing the engine", closed, io);
    }
  });
}

/** Serves until the process is told to stop, and rejects then. */
async function serve(
  config: InferenceProcessConfig,
  model: Model,
  puller: WeightPuller | null,
  index: number,
  member: RunMember,
  io: CommandIo,
): Promise<void> {
  const name = config.inference.model?.name;
  const server = await createInferenceServer(model, {
    modelDir: config.model_dir,
    seed: config.seed,
    ...(name === undefined ? {} : { modelName: name }),
    ...(puller === null ? {} : { puller }),
  });
  try {
    const { host, port } = config.inference.server;
    // Replicas share the section: each takes the port of its index.
    const url = await server.listen(host, port === 0 ? 0 : port + index);
    const weights = puller === null ? {} : { weights: puller.address };
    await member.ready({ url, isa: model.isa, dtype: model.dtype, version: config.version, ...weights });
    io.stderr.write(`inference ${index}: ${config.model_dir} at ${url}, ${model.isa}, ${model.threads} threads\n`);
    await orStopped(io.signal, new Promise<never>(() => undefined));
  } finally {
    await atMost(CLOSE_SERVER_MS, "closing the server", server.close(), io);
  }
}

/** `work`, or a rejection as soon as the process is told to stop. */
async function orStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort: (() => void) | undefined;
  try {
    const stopped = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(new Error(`told to stop: ${String(signal.reason)}`));
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
    return await Promise.race([work, stopped]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}

/** Waits for `work` no longer than `ms`; the process ends in any case, so that lateness is only reported. */
async function atMost(ms: number, what: string, work: Promise<unknown>, io: CommandIo): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((done) => {
    timer = setTimeout(() => done("late"), ms);
  });
  try {
    if ((await Promise.race([work, late])) === "late") io.stderr.write(`${what} took longer than ${ms} ms\n`);
  } finally {
    clearTimeout(timer);
  }
}
