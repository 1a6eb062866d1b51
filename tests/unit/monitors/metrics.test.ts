import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { EVENTS_FILE, METRICS_FILE, type MetricsLine, MetricsTail, openMetrics } from "../../../ts/monitors/index.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-metrics-"));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function lines(name: string): Promise<unknown[]> {
  const text = await readFile(join(dir, name), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

describe("openMetrics", () => {
  it("appends one line per step with component, attempt, step and time first", async () => {
    const metrics = openMetrics(dir, "trainer", 1);
    const before = Date.now() / 1000;
    metrics.log(3, { loss: 0.25, "perf/throughput": 4100 });
    metrics.close();
    const [line] = (await lines(METRICS_FILE)) as { time: number }[];
    expect(line).toMatchObject({ component: "trainer", attempt: 1, step: 3, loss: 0.25, "perf/throughput": 4100 });
    expect(line?.time).toBeGreaterThanOrEqual(before);
    expect(Object.keys(line ?? {}).slice(0, 4)).toEqual(["component", "attempt", "step", "time"]);
  });

  it("leaves out values that are not finite and says which", async () => {
    const metrics = openMetrics(dir, "trainer", 1);
    metrics.log(1, { loss: NaN, entropy: Infinity, lr: 0 });
    metrics.close();
    const [line] = await lines(METRICS_FILE);
    expect(line).toMatchObject({ lr: 0, non_finite: ["loss", "entropy"] });
    expect(line).not.toHaveProperty("loss");
  });

  it("keeps the lines of several writers apart", async () => {
    const writers = ["trainer", "orchestrator"].map((component) => openMetrics(dir, component, 1));
    for (let step = 1; step <= 200; step++)
      for (const writer of writers) writer.log(step, { filler: "x".repeat(step) });
    for (const writer of writers) writer.close();
    expect(await lines(METRICS_FILE)).toHaveLength(400);
  });

  it("writes events to a file of their own", async () => {
    const metrics = openMetrics(dir, "orchestrator", 2);
    metrics.event("canary", { version: 4, max_abs: 0 });
    metrics.close();
    expect(await lines(EVENTS_FILE)).toMatchObject([
      { component: "orchestrator", attempt: 2, type: "canary", version: 4 },
    ]);
  });
});

async function linesOf(tail: MetricsTail): Promise<MetricsLine[]> {
  const found: MetricsLine[] = [];
  for await (const line of tail.poll()) found.push(line);
  return found;
}

describe("MetricsTail", () => {
  it("gives no lines while the file is missing, then only new ones", async () => {
    const tail = new MetricsTail(join(dir, METRICS_FILE));
    expect(await linesOf(tail)).toEqual([]);
    const metrics = openMetrics(dir, "trainer", 1);
    metrics.log(1, { loss: 1 });
    expect(await linesOf(tail)).toMatchObject([{ step: 1 }]);
    expect(await linesOf(tail)).toEqual([]);
    metrics.log(2, { loss: 1 });
    metrics.log(3, { loss: 1 });
    expect((await linesOf(tail)).map((line) => line.step)).toEqual([2, 3]);
    metrics.close();
  });

  it("holds an unfinished line back until its newline comes, split characters included", async () => {
    const path = join(dir, METRICS_FILE);
    const tail = new MetricsTail(path);
    const line = Buffer.from(`${JSON.stringify({ component: "trainer", attempt: 1, step: 1, note: "größer" })}\n`);
    const cut = line.indexOf(Buffer.from("ö")) + 1;
    await appendFile(path, line.subarray(0, cut));
    expect(await linesOf(tail)).toEqual([]);
    await appendFile(path, line.subarray(cut));
    expect(await linesOf(tail)).toMatchObject([{ note: "größer" }]);
  });

  it("reads lines longer than its buffer", async () => {
    const metrics = openMetrics(dir, "trainer", 1);
    metrics.log(1, { filler: "y".repeat(200_000) });
    metrics.close();
    expect(await linesOf(new MetricsTail(join(dir, METRICS_FILE)))).toHaveLength(1);
  });

  it("skips and counts lines that a dying process tore", async () => {
    const path = join(dir, METRICS_FILE);
    await appendFile(path, '{"component":"trainer","att\n[1]\n{"component":"trainer","attempt":1,"step":7}\n');
    const tail = new MetricsTail(path);
    expect((await linesOf(tail)).map((line) => line.step)).toEqual([7]);
    expect(tail.malformed).toBe(2);
  });

  it("finds the line of the process that came after one which tore its own, on a full disk for example", async () => {
    const path = join(dir, METRICS_FILE);
    await appendFile(path, '{"component":"trainer","attempt":1,"step":1,"loss/me');
    const metrics = openMetrics(dir, "orchestrator", 2);
    metrics.log(1, { reward: 1 });
    metrics.close();
    const tail = new MetricsTail(path);
    expect(await linesOf(tail)).toMatchObject([{ component: "orchestrator", attempt: 2, step: 1, reward: 1 }]);
    expect(tail.malformed).toBe(1);
  });
});
