/** Pausing, resuming and changing weights. None of these waits behind generation; each has a deadline. */
import { isAbsolute } from "node:path";

import type { FastifyInstance, FastifyRequest } from "fastify";

import { PrlError } from "../../errors.ts";
import { readManifest } from "../../native/index.ts";
import type { WeightPuller, WeightSource } from "../../transports/index.ts";
import type { ServerContext } from "../context.ts";
import { controlGuard } from "../control-guard.ts";
import { badRequest, HttpError, unsupported } from "../errors.ts";

const PAUSE_MODES = ["abort", "wait", "keep"] as const;
type PauseMode = (typeof PAUSE_MODES)[number];

export function registerControl(app: FastifyInstance, context: ServerContext): void {
  const { model, deadlines } = context;
  const guarded = { onRequest: controlGuard(context.controlKey) };

  app.post("/pause", guarded, (request) => {
    onlyQuery(request, ["mode", "clear_cache"]);
    const mode = pauseMode(queryOf(request)["mode"]);
    return pauseEngine(context, mode, queryFlag(request, "clear_cache", true));
  });

  const resume = async (request: FastifyRequest) => {
    onlyQuery(request, []);
    await within(deadlines.controlMs, "/resume", model.resume());
    context.paused = false;
    return { status: "resumed" };
  };
  app.post("/resume", { ...guarded, handler: resume });

  app.get("/is_paused", () => ({ is_paused: context.paused }));

  const resetCache = async (request: FastifyRequest) => {
    onlyQuery(request, []);
    await within(deadlines.controlMs, "/reset_prefix_cache", model.resetPrefixCache());
    return { status: "ok" };
  };
  app.post("/reset_prefix_cache", { ...guarded, handler: resetCache });

  let updates: Promise<unknown> = Promise.resolve();
  const update = (request: FastifyRequest) => {
    const weights = parseUpdate(request.body);
    const load = () => updateWeights(context, weights);
    const result = updates.then(load, load);
    updates = result;
    return within(deadlines.updateMs, "/update_weights", result);
  };
  app.post("/update_weights", guarded, update);
  app.post("/prefetch_weights", guarded, (request) =>
    within(deadlines.updateMs, "/prefetch_weights", prefetchWeights(context, parseUpdate(request.body))),
  );
}

/** As in vLLM the default mode is abort, and the prefix cache is cleared unless requests are kept or `clear_cache=false`. */
async function pauseEngine(context: ServerContext, mode: PauseMode, clearCache: boolean): Promise<{ status: string }> {
  const { model, deadlines } = context;
  await within(deadlines.controlMs, `/pause?mode=${mode}`, model.pause(mode));
  context.paused = true;
  if (clearCache && mode !== "keep") {
    await within(deadlines.controlMs, "resetting the prefix cache", model.resetPrefixCache());
  }
  return { status: "paused" };
}

interface WeightUpdate {
  version: number;
  digest: string;
  source: WeightSource;
}

/** Loads a version unless it is loaded already. Updates run one after the other. */
async function updateWeights(context: ServerContext, { version, digest, source }: WeightUpdate) {
  const loaded = context.model.stats();
  if (loaded.version === version && loaded.digest === digest) return { status: "ok", version, digest, skipped: true };
  if ("grpc" in source) {
    const received = await pullerOf(context).receive(version, digest, source.grpc);
    try {
      await loadWeights(context, { version, digest, dir: received.dir });
    } finally {
      received.release();
    }
  } else await loadWeights(context, { version, digest, dir: source.dir });
  return { status: "ok", version, digest, skipped: false };
}

async function loadWeights(
  context: ServerContext,
  { version, digest, dir }: { version: number; digest: string; dir: string },
): Promise<void> {
  const manifest = await readManifest(dir, { verify: context.verifyWeights === "always" || "once" });
  if (manifest.version !== version || manifest.digest !== digest) {
    const found = `version ${manifest.version} with digest ${manifest.digest}`;
    const asked = `version ${version} with digest ${digest}`;
    throw new HttpError(
      409,
      "PRL_WEIGHTS_MANIFEST",
      `${dir}/manifest.json is of ${found}, the request asks for ${asked}`,
    );
  }
  if (manifest.encoding !== "full")
    throw unsupported(`${dir}: ${manifest.encoding} weights; only full versions can be loaded`);
  await context.model.swapWeights(dir, { version, digest });
}

/** Pulls a version; sampling goes on unchanged. */
async function prefetchWeights(context: ServerContext, { version, digest, source }: WeightUpdate) {
  if (!("grpc" in source)) throw badRequest("source.grpc", "must name nodes: a folder needs no fetching");
  await pullerOf(context).fetch(version, digest, source.grpc);
  return { status: "ok", version, digest };
}

function pullerOf({ puller }: ServerContext): WeightPuller {
  if (puller === null)
    throw unsupported("source.grpc: this server takes weights from folders only (weight_broadcast.type is not grpc)");
  return puller;
}

function parseUpdate(body: unknown): WeightUpdate {
  const { version, digest, source, ...others } = record(body, "body");
  refuseOthers("body", others, "version, digest and source");
  if (typeof version !== "number" || !Number.isSafeInteger(version) || version < 0) {
    throw badRequest("version", "must be a policy version, an integer of at least 0");
  }
  if (typeof digest !== "string" || !/^[0-9a-f]{16}$/.test(digest)) {
    throw badRequest("digest", "must be the version's digest, 16 lower-case hex digits");
  }
  return { version, digest, source: parseSource(record(source, "source")) };
}

function parseSource({ dir, grpc, ...others }: Record<string, unknown>): WeightSource {
  refuseOthers("source", others, "dir or grpc");
  if (dir !== undefined && grpc !== undefined) throw badRequest("source", "give either dir or grpc");
  if (grpc !== undefined) {
    const addresses: unknown[] = Array.isArray(grpc) ? grpc : [grpc];
    if (addresses.length === 0 || !addresses.every((address) => typeof address === "string"))
      throw badRequest("source.grpc", "must be host:port of a node that has the version, or a list of them");
    return { grpc: addresses };
  }
  if (typeof dir !== "string" || !isAbsolute(dir))
    throw badRequest("source.dir", "must be the absolute path of a weight version");
  return { dir };
}

function refuseOthers(field: string, others: object, known: string): void {
  const [other] = Object.keys(others);
  if (other !== undefined) throw badRequest(field, `has the unknown field ${JSON.stringify(other)}; it has ${known}`);
}

/** Refuses a body and unknown query parameters in calls that take their parameters from the query, because they would have no effect. */
function onlyQuery(request: FastifyRequest, known: readonly string[]): void {
  const other = Object.keys(queryOf(request)).find((name) => !known.includes(name));
  const has = known.length === 0 ? "there is none" : `there are ${known.join(", ")}`;
  if (other !== undefined) throw badRequest("query", `unknown parameter ${JSON.stringify(other)}; ${has}`);
  if (request.body !== undefined && request.body !== null && Object.keys(request.body).length > 0)
    throw badRequest("body", `must be empty: this call takes its parameters from the query; ${has}`);
}

function pauseMode(value: unknown): PauseMode {
  const mode = value === undefined ? "abort" : PAUSE_MODES.find((known) => known === value);
  if (mode === undefined)
    throw badRequest("mode", `must be one of ${PAUSE_MODES.join(", ")}, got ${JSON.stringify(value)}`);
  return mode;
}

function queryFlag(request: FastifyRequest, name: string, fallback: boolean): boolean {
  const value = queryOf(request)[name];
  if (value === undefined) return fallback;
  if (value === "true" || value === "1") return true;
  if (value === "false" || value === "0") return false;
  throw badRequest(name, `must be true or false, got ${JSON.stringify(value)}`);
}

function queryOf(request: FastifyRequest): Record<string, unknown> {
  return request.query as Record<string, unknown>;
}

function record(value: unknown, field: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw badRequest(field, "must be a JSON object");
}

/** `work`, or PRL_INFERENCE_TIMEOUT after `ms`; the engine still finishes the work. */
async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new PrlError("PRL_INFERENCE_TIMEOUT", `${what} was not done within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
