/** Serves a model while a command needs it, and ends the server in order. */
import { atMost, untilAborted } from "../../async/deadline.ts";
import {
  createInferenceServer,
  type InferenceProcessConfig,
  type InferenceServerOptions,
  isWide,
} from "../../inference/index.ts";
import { samplingKey } from "../../inference-client/sampling-key.ts";
import type { Model } from "../../native/index.ts";
import { transportToken, type WeightPuller } from "../../transports/index.ts";
import type { CommandIo } from "../command.ts";

/** Time to end answers under way and connections; with the engine's part it is below 10 s. */
const CLOSE_SERVER_MS = 3_000;
export const CLOSE_ENGINE_MS = 4_000;

/** For serving until a signal stops the process. */
export const FOREVER = new Promise<never>(() => undefined);

/** A loaded model and how it is served. */
export interface ServedModel {
  readonly config: InferenceProcessConfig;
  readonly model: Model;
  /** Where new weights come from; null: they are only read from folders. */
  readonly puller: WeightPuller | null;
  /** Number of the server among its replicas. */
  readonly index: number;
  /** Names of the model in requests; by default that of the config. */
  readonly names?: readonly string[];
  /** Folders that control calls may load weights from; by default that of the model. */
  readonly weightRoots?: readonly string[];
  /** Keys for callers that sample, beside that of the run; by default none. */
  readonly apiKeys?: readonly string[];
  /** How chats are written and read; by default as the model's files say. */
  readonly chats?: InferenceServerOptions["chats"];
  /** Sampling parameters of requests under /v1 that leave them out; by default the API's own. */
  readonly samplingDefaults?: InferenceServerOptions["samplingDefaults"];
  readonly adapters?: InferenceServerOptions["adapters"];
}

/** Serves while `use` works with the address; rejects as soon as a signal stops the process. */
export async function serve(served: ServedModel, io: CommandIo, use: (url: string) => Promise<void>): Promise<void> {
  const { config, model, puller, index, names, weightRoots = [config.model_dir] } = served;
  const { apiKeys = [], chats = {}, samplingDefaults = {}, adapters = {} } = served;
  const { max_num_seqs: running, max_waiting: waiting, model: named, server: place } = config.inference;
  const controlKey = transportToken(io.env);
  const server = await createInferenceServer(model, {
    modelDir: config.model_dir,
    seed: config.seed,
    modelNames: names ?? (named === undefined ? [] : [named.name]),
    weightRoots,
    apiKeys: await samplingKeys(apiKeys, place.host, controlKey),
    chats,
    samplingDefaults,
    adapters,
    maxSamples: running + waiting,
    returnsRoutedExperts: config.inference.enable_return_routed_experts,
    ...(puller === null ? {} : { puller }),
    verifyWeights: config.weight_broadcast.verify,
    startPaused: config.start_paused,
    controlKey,
  });
  try {
    const { host, port } = place;
    // Replicas share the config section: each takes the port plus its index.
    const url = await server.listen(host, port === 0 ? 0 : port + index);
    io.stderr.write(`inference ${index}: ${config.model_dir} at ${url}, ${model.isa}, ${model.threads} threads\n`);
    await orStopped(io.signal, use(url));
  } finally {
    await closeWithin(CLOSE_SERVER_MS, "closing the server", server.close(), io);
  }
}

/** Where a key is demanded, the key of the run is one. */
async function samplingKeys(given: readonly string[], host: string, controlKey: string | null): Promise<string[]> {
  const isDemanded = given.length > 0 || (await isWide(host).catch(() => true));
  return [...given, ...(controlKey !== null && isDemanded ? [samplingKey(controlKey)] : [])];
}

/** Settles as `work` does, or rejects as soon as a signal stops the process. */
export async function orStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    throw signal.aborted ? new Error(`stopped by ${String(signal.reason)}`) : error;
  }
}

/** Waits for `work` no longer than `ms`; the process ends in any case, so a timeout is only reported. */
export async function closeWithin(ms: number, what: string, work: Promise<unknown>, io: CommandIo): Promise<void> {
  const isDone = await atMost(
    work.then(() => true),
    ms,
  );
  if (isDone === undefined) io.stderr.write(`${what} took longer than ${ms} ms\n`);
}
