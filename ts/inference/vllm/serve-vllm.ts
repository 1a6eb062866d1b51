/**
 * An inference server of a run that is a vLLM: starts `vllm serve`, waits until it answers as the orchestrator's client needs it, and
 * watches it. It knows nothing of versions: the orchestrator brings the weights before it sends a request.
 */
import { delimiter } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { untilAborted } from "../../async/deadline.ts";
import { explain, PrlError } from "../../errors.ts";
import { apiKeyFrom, VllmAdmin } from "../../inference-client/index.ts";
import { weightDtype } from "../../native/index.ts";
import { findInterpreter, probe } from "../../python/index.ts";
import { checkCapacity, type InferenceProcessConfig } from "../process-config.ts";
import { freePort } from "./free-port.ts";
import { gpusOf, visibleGpus } from "./gpus.ts";
import { serveCommand } from "./serve-command.ts";
import { VllmProcess } from "./vllm-process.ts";
import { isCpuVllm } from "./vllm-version.ts";
import { VLLM_KEY } from "./vllm-key.ts";

export interface VllmServer {
  url: string;
  /** Format of the weights that it computes with. */
  dtype: string;
}

export interface ServeVllmOptions {
  /** Number of the server among its replicas. */
  index: number;
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  log: (text: string) => void;
  times?: { pollMs: number; watchMs: number; silenceMs: number };
}

/** How often it is asked while it starts and while it serves, and how long it may be silent. */
const TIMES = { pollMs: 250, watchMs: 5_000, silenceMs: 120_000 };

/**
 * Serves the model of `config` until the signal is aborted; `use` is called when the server answers. Rejects with the signal's reason, or
 * with PRL_PYTHON_MISSING, PRL_PROCESS_DIED when vLLM ends, PRL_PROCESS_NOT_READY when it does not answer within `start_timeout_s`,
 * PRL_INFERENCE_UNSUPPORTED when it lacks what the client needs, PRL_INFERENCE_TIMEOUT when it no longer answers.
 */
export async function serveVllm(
  config: InferenceProcessConfig,
  options: ServeVllmOptions,
  use: (server: VllmServer) => Promise<void>,
): Promise<never> {
  const { index, signal, log } = options;
  const { server } = config.inference;
  const port = server.port === 0 ? await freePort(server.host) : server.port + index;
  const process = new VllmProcess({ ...(await commandOf(config, port, options)), log });
  const url = `http://${server.host}:${port}`;
  const admin = new VllmAdmin({ url, retries: 0, token: keyOf(config, options.env) ?? null });
  const work = async (): Promise<never> => {
    await answering(admin, process, config.inference.vllm.start_timeout_s * 1000, options);
    const { dtype } = await admin.about(signal);
    log(`inference ${index}: vLLM (process ${process.pid}) serves ${config.model_dir} at ${url}, ${dtype}\n`);
    await use({ url, dtype });
    return watch(admin, options);
  };
  try {
    return await untilAborted(Promise.race([work(), process.failure()]), signal);
  } finally {
    await process.stop();
    await admin.close();
  }
}

async function commandOf(config: InferenceProcessConfig, port: number, { index, env }: ServeVllmOptions) {
  const { inference, model_dir: dir } = config;
  if (inference.model?.base_dtype) {
    const message = 'inference.model.base_dtype is not read by backend = "vllm": use inference.vllm.quantization';
    throw new PrlError("PRL_CONFIG_INVALID", message);
  }
  const interpreter = await findInterpreter("vllm", inference.python, "inference.python");
  const isCpu = isCpuVllm((await probe("vllm", interpreter)).packages["vllm"] ?? "");
  const [{ maxPositions }, dtype] = await Promise.all([
    checkCapacity(dir, { max_model_len: inference.max_model_len ?? 1, kv_cache_bytes: null }),
    weightDtype(inference.model?.dtype ?? "auto", dir),
  ]);
  const pythonPath = (env["PYTHONPATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const gpus = isCpu ? null : gpusOf(index, inference, await visibleGpus(env), config.colocated);
  const settings = { port, dtype, isCpu, gpus, maxPositions, pythonPath, apiKey: keyOf(config, env) ?? null };
  return { interpreter, ...serveCommand(config, settings) };
}

function keyOf({ inference }: InferenceProcessConfig, env: ServeVllmOptions["env"]): string | undefined {
  return apiKeyFrom(inference.vllm.api_key_var, VLLM_KEY, env).apiKey;
}

/** Resolves when the server answers. Errors: PRL_PROCESS_NOT_READY after `deadlineMs`, with the last lines that it printed. */
async function answering(
  admin: VllmAdmin,
  process: VllmProcess,
  deadlineMs: number,
  { signal, times = TIMES }: ServeVllmOptions,
): Promise<void> {
  const latest = performance.now() + deadlineMs;
  while (!process.hasEnded) {
    try {
      await admin.health(signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PrlError && error.code === "PRL_INFERENCE_UNSUPPORTED") throw error;
    }
    if (performance.now() > latest) {
      const text = `vLLM did not answer within ${deadlineMs / 1000} s (inference.vllm.start_timeout_s)`;
      throw new PrlError("PRL_PROCESS_NOT_READY", `${text}. ${process.summary}`);
    }
    await sleep(times.pollMs, undefined, { signal });
  }
  // Its end is the failure.
  await new Promise<never>(() => undefined);
}

/** Asks again and again. Errors: PRL_INFERENCE_TIMEOUT when it has not answered for too long. */
async function watch(admin: VllmAdmin, { signal, times = TIMES }: ServeVllmOptions): Promise<never> {
  let silentSince: number | null = null;
  for (;;) {
    await sleep(times.watchMs, undefined, { signal });
    silentSince ??= performance.now();
    try {
      await admin.health(signal);
      silentSince = null;
    } catch (cause) {
      signal.throwIfAborted();
      const silentMs = performance.now() - (silentSince ?? 0);
      if (silentMs < times.silenceMs) continue;
      const seconds = Math.round(silentMs / 1000);
      const text = `vLLM at ${admin.url} has not answered for ${seconds} s: ${explain(cause)}`;
      throw new PrlError("PRL_INFERENCE_TIMEOUT", text, { cause });
    }
  }
}
