import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { type Metrics, readRunLoad, type RunLoad } from "../../../../ts/monitors/index.ts";
import { reportLoad } from "../../../../ts/orchestrator/metrics/load-report.ts";

const load = (step: number, ready: number): RunLoad => ({
  step,
  version: step - 1,
  batch: { ready, size: 8, unit: "rollouts" },
  rollouts_in_flight: 8 - ready,
  groups_open: 1,
  groups_queued: 0,
  evaluating: 0,
  engines: null,
});

test("a watcher finds the newest load, and a long step writes events", async () => {
  const runDir = await mkdtemp(join(tmpdir(), "prl-load-"));
  expect(await readRunLoad(runDir)).toBeNull();
  const events: Record<string, unknown>[] = [];
  const metrics: Metrics = {
    log: () => undefined,
    event: (type, fields) => events.push({ type, ...fields }),
    close: () => undefined,
  };
  let now = load(1, 0);
  const end = new AbortController();
  const until = async (what: () => boolean | Promise<boolean>): Promise<void> => {
    for (const limit = Date.now() + 20_000; !(await what());) {
      if (Date.now() > limit) throw new Error("it did not come");
      await sleep(2);
    }
  };
  const reporting = reportLoad({ runDir, metrics }, () => now, end.signal, { intervalMs: 1, eventMs: 30 });
  try {
    await until(async () => (await readRunLoad(runDir))?.step === 1);
    expect(await readRunLoad(runDir)).toEqual(load(1, 0));
    await until(() => events.length > 1);
    now = load(1, 5);
    await until(async () => (await readRunLoad(runDir))?.batch.ready === 5);
    await until(() => events.some((event) => event["rollouts_in_flight"] === 3));
    expect(events.every(({ type, step }) => type === "load" && step === 1)).toBe(true);
    now = load(2, 0);
    await until(() => events.some(({ step }) => step === 2));
  } finally {
    end.abort();
    await reporting;
    await rm(runDir, { recursive: true, force: true });
  }
});
