/**
 * The embedded engine behind vLLM's HTTP interface (design section 7).
 *
 * A fastify server over one `Model`. It converts and checks; scheduling, sampling and weights are the engine's. Invariants: every error
 * has a code; nothing waits without a deadline; control calls share no queue with generation. It does not own the model.
 */
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { fastify, type FastifyInstance } from "fastify";

import { PrlError } from "../errors.ts";
import type { Model } from "../native/index.ts";
import { loadRenderer, loadTokenizer, type Renderer, type Tokenizer } from "../renderers/index.ts";
import type { WeightPuller } from "../transports/index.ts";
import type { Deadlines, ServerContext } from "./context.ts";
import { HttpError, toWire } from "./errors.ts";
import { registerChat } from "./routes/chat.ts";
import { registerCompletions } from "./routes/completions.ts";
import { CutRequests } from "./cut-requests.ts";
import { registerControl } from "./routes/control.ts";
import { registerGenerate } from "./routes/generate.ts";
import { registerStatus } from "./routes/status.ts";
import { registerTokenize } from "./routes/tokenize.ts";
import { registerUnsupported } from "./routes/unsupported.ts";
import { seedSequence } from "./seed-sequence.ts";

export interface InferenceServerOptions {
  /** Folder of the model: for its tokenizer (stop strings) and for `/v1/models`. */
  modelDir: string;
  /** Name under which the model is served; then requests naming another model are refused. */
  modelName?: string;
  /** Most tokens of prompt and completion together. Default and limit: the model's. */
  maxModelLen?: number;
  /** Seeds requests that bring no seed of their own. Default 0. */
  seed?: number;
  deadlines?: Partial<Deadlines>;
  /** For weights from other nodes (`source.grpc`); without it they come from folders only. It is not closed with the server. */
  puller?: WeightPuller;
  /** Requests wait for the first `/resume`. Default false. */
  startPaused?: boolean;
  /** `always` digests every byte of every version that is loaded; `once` (default) leaves out what this machine has digested. */
  verifyWeights?: "once" | "always";
}

export interface InferenceServer {
  /** The fastify instance, for `inject` and further routes. */
  readonly app: FastifyInstance;
  /** Listens; a port that is taken, or 0, gives another free one. Returns the base address, `http://127.0.0.1:8000`. */
  listen(host: string, port: number): Promise<string>;
  /** Ends what runs (503) and stops listening. The model stays open. */
  close(): Promise<void>;
}

/** A policy that samples for an hour has other problems than this deadline. */
const DEFAULT_DEADLINES: Deadlines = { generateMs: 3_600_000, controlMs: 300_000, updateMs: 720_000 };
/** For a client to send its whole request. */
const RECEIVE_TIMEOUT_MS = 60_000;
/** Longer than clients keep idle connections, so that they are the ones to close them. */
const KEEP_ALIVE_MS = 75_000;
/** For the answers to requests that are cut short when the server stops. */
const LAST_ANSWERS_MS = 1_000;
const MAX_RENDERERS = 16;
/** A token id in JSON, separators and slack included. */
const BODY_BYTES_PER_TOKEN = 16;
const LEAST_BODY_LIMIT_BYTES = 1024 * 1024;

/** A server over `model`; call `listen` to start it. */
export async function createInferenceServer(model: Model, options: InferenceServerOptions): Promise<InferenceServer> {
  const context = await createContext(model, options);
  if (context.paused) await model.pause("keep");
  const app = fastify({
    bodyLimit: Math.max(LEAST_BODY_LIMIT_BYTES, context.limits.maxModelLen * BODY_BYTES_PER_TOKEN),
    requestTimeout: RECEIVE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: true,
  });
  acceptEmptyJson(app);
  app.setErrorHandler((error, _request, reply) => {
    const { status, body } = toWire(error);
    return reply.code(status).send(body);
  });
  app.setNotFoundHandler((request, reply) => {
    const { status, body } = toWire(
      new HttpError(404, "PRL_INFERENCE_REQUEST", `no endpoint ${request.method} ${request.url}`),
    );
    return reply.code(status).send(body);
  });
  registerGenerate(app, context);
  registerControl(app, context);
  registerStatus(app, context);
  registerChat(app, context);
  registerCompletions(app, context);
  registerTokenize(app, context);
  registerUnsupported(app);
  return {
    app,
    listen: (host, port) => listen(app, host, port),
    close: () => close(app, context),
  };
}

/** Requests under way get their 503 before the connections are cut. */
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
  const named = options.modelName === undefined ? [] : [options.modelName];
  const seeds = seedSequence(options.seed ?? 0);
  let tokenizer: Promise<Tokenizer> | undefined;
  const renderers = new Map<string, Promise<Renderer>>();
  let requests = 0;
  return {
    model,
    puller: options.puller ?? null,
    verifyWeights: options.verifyWeights ?? "once",
    modelDir: options.modelDir,
    modelNames: options.modelName === undefined ? [basename(options.modelDir)] : named,
    limits: {
      vocabSize: model.config.vocabSize,
      maxModelLen: Math.min(model.config.maxModelLen, options.maxModelLen ?? Number.MAX_SAFE_INTEGER),
      servedModelNames: named,
    },
    deadlines: { ...DEFAULT_DEADLINES, ...options.deadlines },
    packageVersion: await packageVersion(),
    active: new Set(),
    cuts: new CutRequests(),
    paused: options.startPaused ?? false,
    closing: false,
    nextId: () => String(requests++),
    nextSeed: () => seeds.next(),
    tokenizer: () => (tokenizer ??= loadTokenizer(options.modelDir)),
    renderer: (templateKwargs) => rendererOf(options.modelDir, renderers, templateKwargs),
  };
}

/** One renderer for each set of template variables; only so many are kept. */
function rendererOf(
  modelDir: string,
  known: Map<string, Promise<Renderer>>,
  templateKwargs: Readonly<Record<string, unknown>>,
): Promise<Renderer> {
  const key = JSON.stringify(templateKwargs);
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= MAX_RENDERERS) known.clear();
  const loading = loadRenderer(modelDir, { templateKwargs });
  known.set(key, loading);
  return loading;
}

/** Control calls come with `content-type: application/json` and no body; fastify alone would refuse them. */
function acceptEmptyJson(app: FastifyInstance): void {
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) => {
    if (body === "") return done(null, undefined);
    try {
      done(null, JSON.parse(body as string));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      done(new PrlError("PRL_INFERENCE_REQUEST", `body: not valid JSON: ${reason}`), undefined);
    }
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
