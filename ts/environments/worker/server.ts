/**
 * The env worker: hosts environments behind HTTP, or HTTPS where other machines reach it (`door.ts`).
 *
 * `GET /health`, `GET /worker`, `GET /metrics`, `GET /tasks`, `POST /run`, `POST /cancel`, `POST /score_group`. The outcome of a rollout is in
 * its episode, with status 200; 400 means that the request itself is wrong. Error bodies: `{error: {code, message}}`.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyReply } from "fastify";
import { z } from "zod";

import { sandboxBlock } from "../../config/index.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { WITHOUT_SCHEMAS } from "../../server-options.ts";
import { ifThere } from "../../files/file-presence.ts";
import { loadRenderer, loadTokenizer } from "../../renderers/index.ts";
import type { ConfiguredEnvironment } from "../model/configured-environment.ts";
import { type Split, taskHash } from "../../datasets/index.ts";
import { encodeEpisode, EPISODE_CONTENT_TYPE } from "../episode/episode-frame.ts";
import { loadEnvironment } from "../model/load-environment.ts";
import { type Task, type TaskSource } from "../model/tasks.ts";
import type { EnvWorkerConfig } from "./config.ts";
import { sandboxSource } from "../sandboxes/sandbox-config.ts";
import type { SandboxSource } from "../sandboxes/sandboxes.ts";
import { type Door, guard, HANDSHAKE_TIMEOUT_MS, openDoor, REQUEST_TIMEOUT_MS } from "./door.ts";
import { EpisodeRunner } from "./episode-runner.ts";
import { identityDigest, workerIdentity } from "./identity.ts";
import { openWorkerMetrics, type WorkerMetrics } from "./metrics.ts";
import { cancelRequestSchema, runRequestSchema, scoreGroupRequestSchema, tasksQuerySchema } from "./protocol.ts";

export interface EnvWorker {
  /** Address that it listens on. */
  readonly url: string;
  /** Cancels the rollouts under way, answers their requests, and closes, within `STOP_DEADLINE_MS`. */
  stop(): Promise<void>;
}

const BODY_LIMIT_BYTES = 64 * 1024 * 1024;
const STOP_DEADLINE_MS = 5_000;

const KEYS = ["PRL_ENV_WORKER_TOKEN", "PRL_TRANSPORT_TOKEN"];

interface Source {
  readonly name: string;
  readonly split: Split;
  readonly environment: ConfiguredEnvironment;
  readonly tasks: TaskSource;
}

/**
 * Loads tokenizer and environments and listens. `env`: where the token is. Code of an environment finds no key of the run in `process.env`.
 * Errors: those of loading and of `openDoor`, PRL_ENV_WORKER_ADDRESS for an address that is taken, PRL_CONFIG_INVALID for two sources of one name and split.
 */
export async function startEnvWorker(
  config: EnvWorkerConfig,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<EnvWorker> {
  const door = await openDoor(config.listen, env);
  for (const key of KEYS) delete process.env[key];
  const sandboxes = sandboxSource(sandboxBlock.parse(config.sandbox ?? {}));
  const [tokenizer, renderer, vocabSize, sources] = await Promise.all([
    loadTokenizer(config.model_dir),
    loadRenderer(config.model_dir),
    vocabSizeOf(config.model_dir),
    loadSources(config, sandboxes),
  ]);
  const runner = new EpisodeRunner({ tokenizer, renderer, vocabSize }, config.max_concurrent);
  // It is loaded here, because programs that only score or read data do not need it.
  const { fastify } = await import("fastify");
  const limits = {
    ...WITHOUT_SCHEMAS,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: "idle",
  } as const;
  const app =
    door.tls === null
      ? fastify(limits)
      : (fastify({
          ...limits,
          https: { ...door.tls, handshakeTimeout: HANDSHAKE_TIMEOUT_MS },
        }) as unknown as FastifyInstance);
  const identity = await workerIdentity(config);
  guard(app, door, { digest: identityDigest(identity), mostRollouts: config.max_concurrent });
  app.get("/worker", async () => identity);
  const load = () => ({ active: runner.active, waiting: runner.waiting });
  const metrics = await openWorkerMetrics(config.run_id, load, () => sandboxes.localHealth());
  addRoutes(app, sources, runner, metrics);
  const url = await listening(app, door);
  return {
    url,
    async stop() {
      await runner.stop();
      await sandboxes.close();
      const late = new AbortController();
      const closed = app.close().finally(() => late.abort());
      const deadline = sleep(STOP_DEADLINE_MS, undefined, { signal: late.signal }).then(
        () => app.server.closeAllConnections(),
        () => undefined,
      );
      await Promise.all([closed, deadline]);
      metrics.close();
    },
  };
}

async function listening(app: FastifyInstance, { host, port }: Door): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (cause) {
    throw new PrlError("PRL_ENV_WORKER_ADDRESS", `the env worker cannot listen on ${host}:${port}`, { cause });
  }
}

/** Rows of the model's embedding, which may be more than the tokenizer has; null where the folder has no config.json. */
async function vocabSizeOf(folder: string): Promise<number | null> {
  const path = join(folder, "config.json");
  const text = await ifThere(readFile(path, "utf8"), path);
  const size = text === null ? null : (JSON.parse(text) as { vocab_size?: unknown }).vocab_size;
  return typeof size === "number" ? size : null;
}

function addRoutes(
  app: FastifyInstance,
  sources: readonly Source[],
  runner: EpisodeRunner,
  metrics: WorkerMetrics,
): void {
  app.setErrorHandler(async (error, _request, reply) => {
    const [status, code] = statusOf(error);
    const message = messageOf(error);
    await reply.code(status).send({ error: { code, message } });
  });

  app.get("/health", async () => ({ status: "ok", environments: [...new Set(sources.map(({ name }) => name))] }));

  app.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));

  app.get("/tasks", (request) => {
    const { env, split, after, limit } = parse(tasksQuerySchema, request.query);
    const { tasks, environment } = findSource(sources, env, split);
    return tasks.page(after ?? null, limit).then((page) => ({ ...page, scores_groups: environment.scoresGroups }));
  });

  app.post("/run", async (request, reply) => {
    const order = parse(runRequestSchema, request.body);
    const { environment } = findSource(sources, order.env, order.run.type);
    checkHash(order.task);
    if (runner.isActive(order.episode_id)) throw malformed(`episode ${order.episode_id} is already at work`);
    const begun = performance.now();
    const frame = await runner.run(environment, order, disconnection(reply));
    metrics.count(frame.episode, (performance.now() - begun) / 1000);
    return reply.type(EPISODE_CONTENT_TYPE).send(encodeEpisode(frame));
  });

  app.post("/cancel", (request) => {
    const { episode_id: episodeId } = parse(cancelRequestSchema, request.body);
    return { cancelled: runner.cancel(episodeId) };
  });

  app.post("/score_group", async (request, reply) => {
    const { env, split, task, episodes, deadline_ms: deadlineMs } = parse(scoreGroupRequestSchema, request.body);
    const { environment } = findSource(sources, env, split);
    checkHash(task);
    const late = new AbortController();
    const error = new PrlError("PRL_ENVIRONMENT_TIMEOUT", `the rewards of a group did not end within ${deadlineMs} ms`);
    const timer = setTimeout(() => late.abort(error), deadlineMs);
    try {
      return await environment.scoreGroup(task, episodes, AbortSignal.any([late.signal, disconnection(reply)]));
    } finally {
      clearTimeout(timer);
    }
  });
}

/** Aborted when the connection is closed before the answer has been sent. */
function disconnection({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) closed.abort(new PrlError("PRL_EPISODE_CANCELLED", "the connection was closed"));
  });
  return closed.signal;
}

function checkHash(task: Task): void {
  if (taskHash(task.data) !== task.hash) throw malformed(`task ${task.key} does not match its hash`);
}

async function loadSources({ sources, seed }: EnvWorkerConfig, sandboxes: SandboxSource): Promise<Source[]> {
  const loaded = await Promise.all(
    sources.map(async ({ name, split, env }) => {
      const environment = (await loadEnvironment({ id: env.id, path: env.path })).configure(env.args, { sandboxes });
      return { name, split, environment, tasks: environment.tasks(split, seed) };
    }),
  );
  const twice = loaded.find((source, index) => loaded.findIndex(isSame(source)) !== index);
  if (twice === undefined) return loaded;
  throw new PrlError(
    "PRL_CONFIG_INVALID",
    `two ${twice.split} sources are named "${twice.name}": give each another name`,
  );
}

function isSame({ name, split }: Source) {
  return (other: Source): boolean => other.name === name && other.split === split;
}

function findSource(sources: readonly Source[], name: string, split: Split): Source {
  const source = sources.find((candidate) => candidate.name === name && candidate.split === split);
  if (source !== undefined) return source;
  const known = sources.map((candidate) => `${candidate.name} (${candidate.split})`).join(", ");
  throw new PrlError("PRL_ENVIRONMENT_UNKNOWN", `this env worker has no ${split} source "${name}"; it has: ${known}`);
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw malformed(z.prettifyError(parsed.error));
}

function malformed(problem: string): PrlError {
  return new PrlError("PRL_ENVIRONMENT_REQUEST", `the request to the env worker is malformed: ${problem}`);
}

/** HTTP status and code of an error; fastify's own errors (bad JSON, too large a body) bring their status. */
function statusOf(error: unknown): [number, string] {
  if (error instanceof PrlError) {
    const status = STATUS_OF_CODE[error.code] ?? 500;
    return [status, error.code];
  }
  const status = typeof error === "object" && error !== null && "statusCode" in error ? Number(error.statusCode) : 500;
  return status < 500 ? [status, "PRL_ENVIRONMENT_REQUEST"] : [500, "PRL_ENVIRONMENT_FAILED"];
}

const STATUS_OF_CODE: Partial<Record<string, number>> = {
  PRL_ENV_WORKER_AUTH: 401,
  PRL_ENV_WORKER_MISMATCH: 409,
  PRL_ENVIRONMENT_REQUEST: 400,
  PRL_ENVIRONMENT_UNKNOWN: 400,
  PRL_ENVIRONMENT_UNSUPPORTED: 501,
};
