/**
 * Shows a process's metrics to Prometheus: `GET /metrics` on a port of 127.0.0.1.
 *
 * The newest value of every metric is `prl_metric{name="<as in metrics.jsonl>"}`, its step `prl_step`; events are counted by type in
 * `prl_events_total`. What a process
 * lets watch is read at each request. Besides them there are prom-client's own metrics of the process: event loop lag, memory, garbage
 * collections. The number of names is bounded; those beyond it are counted in `prl_metric_names_left_out`.
 */
import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";

import { PrlError } from "../../errors.ts";
import type { Metrics } from "./metrics.ts";

const HOST = "127.0.0.1";
const MOST_NAMES = 5_000;

export interface PrometheusOptions {
  component: string;
  run: string;
  /** That of the launcher changes while it runs. */
  attempt: number | (() => number);
  /** 0: any free port. */
  port: number;
}

/** Metrics that are written as before and shown at `url` until they are closed. */
export interface ShownMetrics extends Metrics {
  readonly url: string;
}

/** @throws PrlError `PRL_IO` when the port cannot be listened on */
export async function showMetrics(metrics: Metrics, options: PrometheusOptions): Promise<ShownMetrics> {
  const { component, run, attempt, port } = options;
  // It is loaded only on demand: most commands end faster than this load.
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  registry.setDefaultLabels({ component, run });
  const registers = [registry];
  const values = new Gauge({ name: "prl_metric", help: "Newest value by name.", labelNames: ["name"], registers });
  const steps = new Gauge({ name: "prl_step", help: "Newest step that was logged.", registers });
  const events = new Counter({ name: "prl_events_total", help: "Events by type.", labelNames: ["type"], registers });
  const leftOut = new Gauge({ name: "prl_metric_names_left_out", help: "Names beyond the bound.", registers });
  const current = typeof attempt === "number" ? () => attempt : attempt;
  registry.registerMetric(
    new Gauge({
      name: "prl_attempt",
      help: "Attempts of the run, this one included: launches, and returns to a checkpoint.",
      registers: [],
      collect() {
        this.set(current());
      },
    }),
  );
  collectDefaultMetrics({ register: registry });

  const names = new Set<string>();
  const extra = new Set<string>();
  const server = await listen(registry, port);
  return {
    url: `http://${HOST}:${portOf(server)}/metrics`,
    log(step, logged) {
      metrics.log(step, logged);
      steps.set(step);
      for (const [name, value] of Object.entries(logged)) {
        if (typeof value !== "number") continue;
        if (!names.has(name) && names.size >= MOST_NAMES) {
          if (extra.size < MOST_NAMES) extra.add(name);
          leftOut.set(extra.size);
          continue;
        }
        names.add(name);
        values.set({ name }, value);
      }
    },
    event(type, fields) {
      metrics.event(type, fields);
      events.inc({ type });
    },
    watch(name, help, read) {
      const gauge = new Gauge({
        name: `prl_${name}`,
        help,
        registers: [],
        collect() {
          this.set(read());
        },
      });
      registry.registerMetric(gauge);
    },
    close() {
      server.close();
      server.closeAllConnections();
      registry.clear();
      metrics.close();
    },
  };
}

/** A scraper has one. */
const MOST_CONNECTIONS = 64;

/** Listens; the server does not keep the process alive. */
async function listen(registry: Registry, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== "GET" || request.url?.split("?")[0] !== "/metrics") {
      response.writeHead(404, { "content-type": "text/plain" }).end("GET /metrics\n");
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
      (error: unknown) => response.writeHead(500, { "content-type": "text/plain" }).end(`${String(error)}\n`),
    );
  });
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new PrlError("PRL_IO", `cannot listen on ${HOST}:${port} for monitors.prometheus`, { cause }));
    });
    server.listen(port, HOST, resolve);
  });
  return server.unref();
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
