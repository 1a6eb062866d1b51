/** Pausing, resuming and changing weights. None of these waits behind generation; each has a deadline. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";

import { readManifest } from "../../native/index.ts";
import type { WeightPuller, WeightSource } from "../../transports/index.ts";
import type { ServerContext } from "../context.ts";
import { controlGuard } from "../control-guard.ts";
import { badRequest, HttpError, unsupported } from "../errors.ts";
import { readAs } from "../read-as.ts";
import { readQuery, within } from "./control-call.ts";

const noQuery = z.strictObject({});
/** As in vLLM the default mode is abort, and the prefix cache is cleared unless requests are kept or `clear_cache=false`. */
const pauseQuery = z.strictObject({
  mode: z.enum(["abort", "wait", "keep"]).default("abort"),
  clear_cache: z.stringbool({ truthy: ["true", "1"], falsy: ["false", "0"], case: "sensitive" }).default(true),
});

const sourceSchema = z
  .strictObject({
    dir: z.string().optional(),
    grpc: z
      .union([z.string(), z.array(z.string()).min(1)], "must be host:port of a node, or a list of them")
      .optional(),
  })
  .transform(({ dir, grpc }, context): WeightSource => {
    if (dir !== undefined && grpc === undefined) return { dir };
    if (grpc !== undefined && dir === undefined) return { grpc: [grpc].flat() };
    context.addIssue({ code: "custom", message: "give either dir or grpc" });
    return z.NEVER;
  });
const updateSchema = z.strictObject({
  version: z.int().nonnegative(),
  digest: z.string().regex(/^[0-9a-f]{16}$/u, "must be the version's digest, 16 lower-case hex digits"),
  source: sourceSchema,
});
type WeightUpdate = z.output<typeof updateSchema>;

export function registerControl(app: FastifyInstance, context: ServerContext): void {
  const { model, deadlines } = context;
  const guarded = { onRequest: controlGuard(context) };

  app.post("/pause", guarded, (request) => {
    const { mode, clear_cache: clearCache } = readQuery(pauseQuery, request);
    return pauseEngine(context, mode, clearCache);
  });

  const resume = async (request: FastifyRequest) => {
    readQuery(noQuery, request);
    await within(deadlines.controlMs, "/resume", model.resume());
    context.paused = false;
    return { status: "resumed" };
  };
  app.post("/resume", { ...guarded, handler: resume });

  app.get("/is_paused", () => ({ is_paused: context.paused }));

  const resetCache = async (request: FastifyRequest) => {
    readQuery(noQuery, request);
    await within(deadlines.controlMs, "/reset_prefix_cache", model.resetPrefixCache());
    return { status: "ok" };
  };
  app.post("/reset_prefix_cache", { ...guarded, handler: resetCache });

  let updates: Promise<unknown> = Promise.resolve();
  const update = (request: FastifyRequest) => {
    const weights = readAs("body", updateSchema, request.body);
    const load = () => updateWeights(context, weights);
    const result = updates.then(load, load);
    updates = result;
    return within(deadlines.updateMs, "/update_weights", result);
  };
  app.post("/update_weights", guarded, update);
  app.post("/prefetch_weights", guarded, (request) =>
    within(
      deadlines.updateMs,
      "/prefetch_weights",
      prefetchWeights(context, readAs("body", updateSchema, request.body)),
    ),
  );
}

async function pauseEngine(
  context: ServerContext,
  mode: "abort" | "wait" | "keep",
  clearCache: boolean,
): Promise<{ status: string }> {
  const { model, deadlines } = context;
  // After the deadline it goes on, and the server must know that it is paused then.
  const pause = async () => {
    await model.pause(mode);
    context.paused = true;
    if (clearCache && mode !== "keep") await model.resetPrefixCache();
    return { status: "paused" };
  };
  return within(deadlines.controlMs, `/pause?mode=${mode}`, pause());
}

/** Loads a version unless it is loaded already. Updates run one after the other. */
async function updateWeights(context: ServerContext, { version, digest, source: asked }: WeightUpdate) {
  const source = "grpc" in asked ? asked : { dir: await context.weightRoots.resolve("source.dir", asked.dir) };
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
  if (manifest.encoding === "sparse")
    throw unsupported(`${dir}: sparse weights; only full versions and adapters can be loaded`);
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
