/** Health, versions, the model list and metrics. */
import type { FastifyInstance } from "fastify";

import type { ServerContext } from "../context.ts";
import { HttpError } from "../errors.ts";
import { openProcessMetrics, type ProcessMetrics } from "../../monitors/index.ts";
import { metricsText } from "../metrics.ts";

const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Fails when the engine computes nothing although requests wait for it, so that the server is started anew. */
function refuseStalled({ progress, deadlines }: ServerContext): void {
  const stalledMs = progress.stalledMs(performance.now());
  if (stalledMs < deadlines.stallMs) return;
  const waited = `${progress.waiting} requests have waited for ${Math.round(stalledMs / 1000)} s`;
  throw new HttpError(
    503,
    "PRL_INFERENCE_FAILED",
    `${waited} and the engine has computed nothing: start the server anew`,
  );
}

export function registerStatus(app: FastifyInstance, context: ServerContext): void {
  const startedAt = Math.floor(Date.now() / 1000);

  /** Throws unless the engine answers and makes progress. */
  const health = () => {
    if (context.closing) throw new HttpError(503, "PRL_INFERENCE_FAILED", "the server is stopping");
    const { version, digest, running, waiting } = context.model.stats();
    refuseStalled(context);
    return { status: "ok", paused: context.paused, policy_version: version, digest, running, waiting };
  };
  app.get("/health", health);
  app.get("/liveness", health);
  app.route({ method: ["GET", "POST"], url: "/ping", handler: health });

  app.get("/version", () => {
    const { version, digest } = context.model.stats();
    const { isa, dtype } = context.model;
    const weights = context.puller === null ? {} : { weights: context.puller.address };
    return { version: context.packageVersion, policy_version: version, digest, isa, dtype, ...weights };
  });

  const listed = (id: string, root: string, parent: string | null) => ({
    id,
    object: "model",
    created: startedAt,
    owned_by: "prl",
    root,
    parent,
    max_model_len: context.limits.maxModelLen,
    permission: [],
  });
  app.get("/v1/models", () => ({
    object: "list",
    data: [
      ...context.modelNames.map((id) => listed(id, context.modelDir, null)),
      ...context.adapters.list().map(({ name, dir }) => listed(name, dir, context.modelNames[0] ?? null)),
    ],
  }));

  // It is opened at its first use, because it would make the start longer.
  let own: Promise<ProcessMetrics> | null = null;
  app.get("/metrics", async (_request, reply) => {
    own ??= openProcessMetrics({ component: "inference" });
    const { model, modelNames, requestMetrics, adapters } = context;
    const text = metricsText(modelNames[0] ?? "", model.stats(), {
      requests: requestMetrics,
      mostAdapters: adapters.most,
    });
    return reply.header("content-type", PROMETHEUS_TYPE).send(text + (await (await own).text()));
  });
  app.addHook("onClose", async () => {
    (await own)?.close();
  });
}
