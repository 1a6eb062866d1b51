/**
 * The embedded engine behind vLLM's HTTP interface (ARCHITECTURE.md, "HTTP contract").
 *
 * A fastify server over one `Model`. It converts and checks; scheduling, sampling and weights are the engine's. Invariants: every error
 * has a code; nothing waits without a deadline; control calls share no queue with generation. It does not own the model.
 */
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { fastify, type FastifyInstance } from "fastify";

import { Slots } from "../async/slots.ts";
import { PrlError } from "../errors.ts";
import { exactJson } from "../exact-json.ts";
import { WITHOUT_SCHEMAS } from "../server-options.ts";
import type { Model } from "../native/index.ts";
import {
  loadRenderer,
  loadTokenizer,
  type Renderer,
  type RendererOptions,
  type Tokenizer,
} from "../renderers/index.ts";
import type { WeightPuller } from "../transports/index.ts";
import { type AdapterOptions, LoadedAdapters } from "./adapters.ts";
import type { Deadlines, ServerContext } from "./context.ts";
import { apiKeyGuard, hostProblem } from "./control-guard.ts";
import { isWide } from "../loopback.ts";
import { HttpError } from "./errors.ts";
import type { SamplingDefaults } from "./generation-config.ts";
import { Admission } from "./requests/admission.ts";
import { registerChat } from "./routes/chat.ts";
import { registerCompletions } from "./routes/completions.ts";
import { InterruptibleRequests } from "./requests/interruptible-requests.ts";
import { ProgressWatch } from "./progress-watch.ts";
import { RequestMetrics } from "./request-metrics.ts";
import { readJson } from "./requests/read-json.ts";
import { registerControl } from "./routes/control.ts";
import { registerDialects } from "./routes/dialects.ts";
import { registerGenerate } from "./routes/generate.ts";
import { registerSleep } from "./routes/sleep.ts";
import { registerStatus } from "./routes/status.ts";
import { registerTokenize } from "./routes/tokenize.ts";
import { registerAdapters } from "./routes/adapters.ts";
import { seedSequence } from "./requests/seed-sequence.ts";
import { sendError } from "./send-error.ts";
import { WeightRoots } from "./weight-roots.ts";

export interface InferenceServerOptions {
  /** Folder of the model, for its tokenizer (stop strings) and for `/v1/models`. */
  modelDir: string;
  /** Names under which the model is served, the first in answers; requests that name another model are then refused. */
  modelNames?: readonly string[];
  /** Most tokens of prompt and completion together. Default and limit: the model's. */
  maxModelLen?: number;
  /** Seed for requests without one. Default 0. */
  seed?: number;
  deadlines?: Partial<Deadlines>;
  /** Pulls weights from other nodes (`source.grpc`); without it they come only from folders. The server does not close it. */
  puller?: WeightPuller;
  /** Folders that control calls may load weights and adapters from, with all below them. Default: that of the model. */
  weightRoots?: readonly string[];
  /** Requests wait for the first `/resume`. Default false. */
  startPaused?: boolean;
  /** Bearer token that control calls have to present; it opens the other routes, too. Without one other machines cannot control the server. */
  controlKey?: string | null;
  /** Keys of which a caller that samples has to present one as bearer token. Default: none is needed on an address of this machine. */
  apiKeys?: readonly string[];
  /** Most samples that run and wait at once; more are answered with 429. Default: no bound but the engine's. */
  maxSamples?: number;
  /** The template of chats, its variables, and how calls and thinking in replies are read. By default as the model's files say. */
  chats?: Pick<RendererOptions, "chatTemplate" | "templateKwargs" | "toolCallParser" | "reasoningParser">;
  /** Sampling parameters of requests under `/v1` that leave them out. Default: the API's own. */
  samplingDefaults?: SamplingDefaults;
  /** Adapters that are loaded at the start, the most that may be loaded, and their largest rank. */
  adapters?: AdapterOptions;
  /** Answers of `/inference/v1/generate` have the experts that tokens went to; for models with mixtures of experts. Default false. */
  returnsRoutedExperts?: boolean;
  /** `always` digests every byte of every version that is loaded; `once` (default) leaves out versions that this machine has digested. */
  verifyWeights?: "once" | "always";
}

export interface InferenceServer {
  /** The fastify instance, for `inject` and further routes. */
  readonly app: FastifyInstance;
  /**
   * Listens; a port that is taken, or 0, gives another free one. Returns the base address, `http://127.0.0.1:8000`.
   * Errors: PRL_TRANSPORT_ADDRESS for a host that other machines reach while there is no key.
   */
  listen(host: string, port: number): Promise<string>;
  /** Ends running requests (503) and stops listening. The model stays open. */
  close(): Promise<void>;
}

/** Generous deadlines: ordinary requests take far less than the hour of `generateMs`. */
const DEFAULT_DEADLINES: Deadlines = {
  generateMs: 3_600_000,
  controlMs: 300_000,
  updateMs: 720_000,
  bodyMs: 10_000,
  // A step, or the scoring of a long prompt between two steps, takes minutes at the most.
  stallMs: 180_000,
};
/** Native calls that take long share eight threads, of which the one that fetches completions needs one. */
const SCORED_AT_ONCE = 2;
/** Time between two checks of the engine's progress. */
const WATCH_MS = 1_000;
/** Time for a client to send its whole request. */
const RECEIVE_TIMEOUT_MS = 60_000;
/** Longer than clients keep idle connections, so that they are the ones to close them. */
const KEEP_ALIVE_MS = 75_000;
/** Time for the answers to requests that are aborted when the server stops. */
const LAST_ANSWERS_MS = 1_000;
/** Bytes of a token id in JSON, with separators and slack. */
const BODY_BYTES_PER_TOKEN = 16;
/** Far more than clients that get anything done; each takes some tens of kilobytes. Requests among them beyond `max_waiting` are refused. */
const MOST_CONNECTIONS = 8_192;
const LEAST_BODY_LIMIT_BYTES = 1024 * 1024;

/** A server over `model`; call `listen` to start it. */
export async function createInferenceServer(model: Model, options: InferenceServerOptions): Promise<InferenceServer> {
  const context = await createContext(model, options);
  if (context.paused) await model.pause("keep");
  const app = fastify({
    ...WITHOUT_SCHEMAS,
    bodyLimit: Math.max(LEAST_BODY_LIMIT_BYTES, context.limits.maxModelLen * BODY_BYTES_PER_TOKEN),
    requestTimeout: RECEIVE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: true,
  });
  app.server.maxConnections = MOST_CONNECTIONS;
  acceptEmptyJson(app);
  refuseStandingBodies(app, context.deadlines.bodyMs);
  app.setErrorHandler((error, _request, reply) => sendError(reply, error));
  app.setReplySerializer(exactJson);
  app.addHook("onRequest", apiKeyGuard(context));
  app.setNotFoundHandler((request, reply) =>
    sendError(reply, new HttpError(404, "PRL_INFERENCE_REQUEST", `no endpoint ${request.method} ${request.url}`)),
  );
  watchProgress(app, context);
  registerGenerate(app, context);
  registerControl(app, context);
  registerSleep(app, context);
  registerStatus(app, context);
  registerChat(app, context);
  registerCompletions(app, context);
  registerDialects(app, context);
  registerTokenize(app, context);
  registerAdapters(app, context);
  return {
    app,
    listen: async (host, port) => {
      const problem = await hostProblem(host, context.apiKeys.length > 0 || context.controlKey !== null);
      if (problem !== null) throw new PrlError("PRL_TRANSPORT_ADDRESS", problem);
      context.isWide = await isWide(host);
      return listen(app, host, port);
    },
    close: () => close(app, context),
  };
}

/** Closes the server; requests under way get their 503 before the connections are cut. */
async function close(app: FastifyInstance, context: ServerContext): Promise<void> {
  context.closing = true;
  const answered = [...context.active].map(({ ended }) => ended);
  for (const active of context.active) {
    active.abort(new HttpError(503, "PRL_INFERENCE_FAILED", "the server is stopping"));
  }
  await Promise.race([Promise.all(answered), sleep(LAST_ANSWERS_MS, undefined, { ref: false })]);
  await app.close();
}

async function createContext(model: Model, options: InferenceServerOptions): Promise<ServerContext> {
  const named = options.modelNames ?? [];
  const seeds = seedSequence(options.seed ?? 0);
  let tokenizer: Promise<Tokenizer> | undefined;
  let renderer: Promise<Renderer> | undefined;
  let requests = 0;
  const maxModelLen = Math.min(model.config.maxModelLen, options.maxModelLen ?? Number.MAX_SAFE_INTEGER);
  const modelNames = named.length === 0 ? [basename(options.modelDir)] : named;
  const adapters = new LoadedAdapters(model, modelNames, options.adapters);
  for (const { name, dir } of options.adapters?.loaded ?? []) await adapters.load(name, dir, false);
  const context: ServerContext = {
    model,
    puller: options.puller ?? null,
    verifyWeights: options.verifyWeights ?? "once",
    weightRoots: new WeightRoots(options.weightRoots ?? [options.modelDir]),
    controlKey: options.controlKey ?? null,
    apiKeys: options.apiKeys ?? [],
    isWide: false,
    modelDir: options.modelDir,
    modelNames,
    adapters,
    limits: {
      adapters,
      vocabSize: model.config.vocabSize,
      maxModelLen,
      servedModelNames: named,
      returnsRoutedExperts: options.returnsRoutedExperts ?? false,
      samplingDefaults: options.samplingDefaults ?? {},
    },
    deadlines: { ...DEFAULT_DEADLINES, ...options.deadlines },
    packageVersion: await packageVersion(),
    active: new Set(),
    admission: new Admission(options.maxSamples ?? Number.MAX_SAFE_INTEGER),
    scorings: new Slots(SCORED_AT_ONCE),
    progress: new ProgressWatch({
      progress: () => {
        const { promptTokens, generationTokens } = model.stats();
        return promptTokens + generationTokens;
      },
      isPaused: () => context.paused || context.sleeping,
    }),
    requestMetrics: new RequestMetrics(maxModelLen),
    cuts: new InterruptibleRequests(),
    paused: options.startPaused ?? false,
    sleeping: false,
    closing: false,
    nextId: () => String(requests++),
    nextSeed: () => seeds.next(),
    tokenizer: () => (tokenizer ??= loadTokenizer(options.modelDir)),
    renderer: async (templateKwargs) => {
      const { chats = {} } = options;
      const loaded = await (renderer ??= loadRenderer(options.modelDir, chats));
      return loaded.withTemplateKwargs({ ...chats.templateKwargs, ...templateKwargs });
    },
  };
  return context;
}

/** Checks the engine's progress until the server is closed. */
function watchProgress(app: FastifyInstance, { progress }: ServerContext): void {
  const timer = setInterval(() => {
    try {
      progress.look(performance.now());
    } catch {
      // The engine is closed or has failed, which `/health` says itself.
    }
  }, WATCH_MS);
  timer.unref();
  app.addHook("onClose", async () => clearInterval(timer));
}

/** Control calls come with `content-type: application/json` and no body; fastify alone would refuse them. */
function acceptEmptyJson(app: FastifyInstance): void {
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) => {
    if (body === "") return done(null, undefined);
    try {
      done(null, readJson(body as string));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}

/**
 * Ends a request whose body stops coming, such as one that announces a huge chunk and never sends it: the client gets a 408, and
 * its connection is closed.
 */
function refuseStandingBodies(app: FastifyInstance, bodyMs: number): void {
  app.addHook("onRequest", async ({ raw }, reply) => {
    if (raw.headers["transfer-encoding"] === undefined && (raw.headers["content-length"] ?? "0") === "0") return;
    raw.setTimeout(bodyMs, () => {
      if (reply.sent) return;
      const message = `body: nothing more came for ${bodyMs} ms`;
      void reply.header("connection", "close").send(new HttpError(408, "PRL_INFERENCE_REQUEST", message));
    });
    raw.once("end", () => raw.socket.setTimeout(0));
  });
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    if (port === 0 || !(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    await app.listen({ host, port: 0 });
  }
  const address = app.server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}

/** The package's own version; the file is two folders up both in `ts/` and in `dist/`. */
async function packageVersion(): Promise<string> {
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
