import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openMetrics, type ShownMetrics, showMetrics } from "../../../ts/monitors/index.ts";

async function shown(port = 0): Promise<{ runDir: string; metrics: ShownMetrics }> {
  const runDir = await mkdtemp(join(tmpdir(), "prl-prometheus-"));
  onTestFinished(() => rm(runDir, { recursive: true }));
  const written = openMetrics(runDir, "orchestrator", 2);
  const options = { component: "orchestrator", run: 'a "run"', attempt: 2, port };
  const metrics = await showMetrics(written, options).catch((error: unknown) => {
    written.close();
    throw error;
  });
  onTestFinished(() => metrics.close());
  return { runDir, metrics };
}

describe("the Prometheus endpoint of a process", () => {
  const LABELS = 'component="orchestrator",run="a \\"run\\""';

  test("shows the newest values by name, counts events, and reads watched values", async () => {
    const { runDir, metrics } = await shown();
    let waiting = 3;
    metrics.watch?.("groups_queued", "Groups that wait.", () => waiting);
    metrics.log(1, { "off_policy/mean": 0.5, note: "text", odd: null });
    metrics.log(2, { "off_policy/mean": 0.25, broken: NaN });
    metrics.event("canary");
    metrics.event("canary");
    waiting = 4;
    const response = await fetch(metrics.url);
    expect(response.headers.get("content-type")).toContain("text/plain");
    const lines = (await response.text()).split("\n");
    expect(lines).toContain(`prl_metric{name="off_policy/mean",${LABELS}} 0.25`);
    expect(lines).toContain(`prl_metric{name="broken",${LABELS}} Nan`);
    expect(lines).toContain(`prl_step{${LABELS}} 2`);
    expect(lines).toContain(`prl_attempt{${LABELS}} 2`);
    expect(lines).toContain(`prl_events_total{type="canary",${LABELS}} 2`);
    expect(lines).toContain(`prl_groups_queued{${LABELS}} 4`);
    expect(lines.some((line) => line.startsWith("nodejs_eventloop_lag_p99_seconds{"))).toBe(true);
    expect(lines.some((line) => line.includes('name="note"'))).toBe(false);
    expect((await readFile(join(runDir, "metrics.jsonl"), "utf8")).trim().split("\n")).toHaveLength(2);
  });

  test("follows the attempt of a launcher, which changes while it runs", async () => {
    let attempt = 1;
    const runDir = await mkdtemp(join(tmpdir(), "prl-prometheus-"));
    const own = { component: "launcher", run: "r", attempt: () => attempt, port: 0 };
    const metrics = await showMetrics(openMetrics(runDir, "launcher", 1), own);
    attempt = 2;
    const text = await (await fetch(metrics.url)).text();
    metrics.close();
    await rm(runDir, { recursive: true });
    expect(text).toContain('prl_attempt{component="launcher",run="r"} 2');
  });

  test("has room for 64 connections, and closes those beyond", async () => {
    const { metrics } = await shown();
    const { hostname, port } = new URL(metrics.url);
    const sockets = Array.from({ length: 65 }, () => connect(Number(port), hostname));
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    const closed = sockets.map(
      (socket) => new Promise<string>((resolve) => socket.on("close", () => resolve("closed"))),
    );
    for (const socket of sockets) socket.on("error", () => undefined);
    expect(await Promise.race(closed)).toBe("closed");
    for (const socket of sockets) socket.destroy();
    await vi.waitFor(async () => expect((await fetch(metrics.url)).status).toBe(200), 10_000);
  });

  test("answers only GET /metrics, only on this machine, and not when closed", async () => {
    const { metrics } = await shown();
    expect(new URL(metrics.url).hostname).toBe("127.0.0.1");
    expect((await fetch(new URL("/other", metrics.url))).status).toBe(404);
    expect((await fetch(metrics.url, { method: "POST" })).status).toBe(404);
    metrics.close();
    await expect(fetch(metrics.url)).rejects.toThrow();
  });

  test("names beyond the bound are counted, not kept", async () => {
    const { metrics } = await shown();
    metrics.log(1, Object.fromEntries(Array.from({ length: 5_010 }, (_, i) => [`n${i}`, i])));
    const text = await (await fetch(metrics.url)).text();
    expect(text.match(/^prl_metric\{/gm)).toHaveLength(5_000);
    expect(text).toContain(`prl_metric_names_left_out{${LABELS}} 10`);
  });

  test("a port that is taken is named", async () => {
    const { metrics } = await shown();
    const port = Number(new URL(metrics.url).port);
    await expect(shown(port)).rejects.toMatchObject({ code: "PRL_IO", message: expect.stringContaining(String(port)) });
  });
});
