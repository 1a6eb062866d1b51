/**
 * `prl inference`: an inference server, of a run or by itself.
 *
 * As a process of a run it loads the model, listens, joins the run and serves until SIGTERM or until the launcher is gone; it is down within
 * 10 s then. It knows nothing of the other processes. With a model folder it serves that until it is told to stop.
 */
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";

import { PrlError } from "../../errors.ts";
import {
  createInferenceServer,
  engineOptions,
  parseInferenceProcessConfig,
  readInferenceProcessConfig,
  type InferenceProcessConfig,
} from "../../inference/index.ts";
import { joinRun } from "../../monitors/index.ts";
import { loadModel, type Model } from "../../native/index.ts";
import { openInferencePuller, type WeightPuller } from "../../transports/index.ts";
import { integerOption, parseOptions } from "../args.ts";
import { CHILD_OPTIONS, parseChildOptions, untilStopped } from "../child.ts";
import type { Command, CommandIo } from "../command.ts";

const COMPONENT = "inference";
/** For answers under way and connections; together with the engine's part below the promised 10 s. */
const CLOSE_SERVER_MS = 3_000;
const CLOSE_ENGINE_MS = 4_000;
const DEFAULT_PORT = 8000;
const FOLDER_OPTIONS = [
  { flag: "--host", value: "<address>", summary: "Address to listen on (default 127.0.0.1)" },
  { flag: "--port", value: "<n>", summary: "Port (default 8000); another free one when it is taken" },
  { flag: "--name", value: "<name>", summary: "Name of the model in requests (default: the folder's)" },
  { flag: "--threads", value: "<n>", summary: "Threads of the engine (default: all cores)" },
  { flag: "--max-model-len", value: "<n>", summary: "Longest sequence (tokens; default: the model's)" },
] as const;

export const command: Command = {
  name: COMPONENT,
  summary: "Serve a model over HTTP: token ids in, token ids and log-probabilities out",
  usage:
    "inference <model folder> [--host 127.0.0.1] [--port 8000] [--name <name>] [--threads <n>] [--max-model-len <n>]\n" +
    "       prl inference --config <file.json> --run-dir <dir> [--index <i>]",
  details:
    "With a folder (config.json, weights, tokenizer): serves it, OpenAI's endpoints under /v1 included; the address is the first line of stdout.\n" +
    "The second form is started by `prl rl` for each replica. The config file holds {model_dir, version, seed, inference: {...}} with the keys\n" +
    "of [inference]. The address is in <run-dir>/run/inference-<i>.json as soon as the server takes requests.\n",
  options: [...FOLDER_OPTIONS, ...CHILD_OPTIONS.map((option) => ({ ...option, required: false }))],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [first] = args;
  return first === undefined || first.startsWith("-") ? runChild(args, io) : serveFolder(first, args.slice(1), io);
}

async function serveFolder(folder: string, args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions({ name: COMPONENT, options: FOLDER_OPTIONS }, args);
  if (positionals.length > 0)
    throw new PrlError("PRL_CLI_USAGE", `prl inference takes one folder, not ${positionals.join(" ")} too`);
  const dir = resolve(io.cwd, folder);
  await checkFolder(dir);
  const number = (flag: string): number | null => (options.has(flag) ? integerOption(options, flag, 0) : null);
  const config = parseInferenceProcessConfig(
    {
      model_dir: dir,
      inference: {
        threads: number("--threads"),
        max_model_len: number("--max-model-len"),
        server: { host: options.get("--host") ?? "127.0.0.1", port: number("--port") ?? DEFAULT_PORT },
        model: { name: options.get("--name") ?? basename(dir) },
      },
    },
    "prl inference",
  );
  const { signal } = io;
  return untilStopped(io, async () => {
    const model = await orStopped(signal, loadModel(dir, await engineOptions(config)));
    try {
      await serve(config, model, null, 0, io, async (url) => {
        if (io.json) io.writeJson({ url, model: config.inference.model?.name });
        else io.stdout.write(`${url}\n`);
      });
    } finally {
      await atMost(CLOSE_ENGINE_MS, "closing the engine", model.close(), io);
    }
  });
}

async function checkFolder(dir: string): Promise<void> {
  const isFolder = await stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new PrlError("PRL_CONFIG_FILE", `prl inference: ${dir} is no folder with a model`);
}

async function runChild(args: readonly string[], io: CommandIo): Promise<number> {
  const { configPath, runDir, index } = parseChildOptions(COMPONENT, args, io.cwd);
  const { signal } = io;
  const member = joinRun({ component: COMPONENT, index, runDir });
  return untilStopped(io, async () => {
    const config = await readInferenceProcessConfig(configPath);
    const model = await orStopped(signal, loadModel(config.model_dir, await engineOptions(config)));
    let puller: WeightPuller | null = null;
    try {
      puller = await openInferencePuller(runDir, index, config.weight_broadcast);
      await serve(config, model, puller, index, io, async (url) => {
        const weights = puller === null ? {} : { weights: puller.address };
        await member.ready({ url, isa: model.isa, dtype: model.dtype, version: config.version, ...weights });
      });
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
  io: CommandIo,
  onListening: (url: string) => Promise<void>,
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
    await onListening(url);
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
