// The orchestrator with 4,096 rollouts in flight, on two cores with the env workers that answer them, through the real protocol to batch files and
// traces on disk. What is counted is a rollout's whole way through it: its group opened, its task, seed and engine chosen, the request sent, the
// answer read and checked, its tokens in native memory, compared and weighed, packed into a batch, its trace written.
//
// Paced: an answer of 64 tokens comes after 0.4 to 1.9 seconds, at most some 3,500 a second: the rate, how late the loop is and the memory, all of
// one run. Flat out: after 0.1 to 0.3 seconds: how many rollouts a second it gets through, beside the same bytes exchanged over HTTP with nothing
// done to them.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";
import { watchLoopLag } from "../dist/monitors/index.js";
import { connectEnvWorkers } from "../dist/orchestrator/index.js";
import { report } from "./measurement/report.mjs";
import { simulatedRun } from "./orchestrator/simulated-run.mjs";

const IN_FLIGHT = 4096;
const BATCH = 512;
const GROUP = 8;
/** 20 seconds: that few collections of garbage do not make the worst hundredth. */
const PACED_STEPS = 160;
const FLAT_OUT_STEPS = 60;
/** Steps before it counts: code is compiled, the first 4,096 are opened at once. */
const WARM_UP = 20;
const WORKERS = 2;
const MEBIBYTE = 2 ** 20;
const LAG = { p99: "event_loop_lag/p99", max: "event_loop_lag/max" };

const pinned = spawnSync("taskset", ["-acp", "0,1", String(process.pid)]).status === 0;
if (!pinned) console.log("orchestrator-scale: taskset is not there, all cores are used");
/** @type {[number, number]} */
const PACED = [400, 1900];
/** @type {[number, number]} */
const FLAT_OUT = [100, 300];
const runDir = mkdtempSync(join(tmpdir(), "prl-bench-"));
try {
  const idle = watchLoopLag();
  await delay(2_000);
  const idleLag = idle.take();
  idle.stop();
  const {
    perSecond: paced,
    lag,
    most,
    heap,
  } = await answered(PACED, (urls) => orchestrate(urls, "paced", PACED_STEPS));
  const rss = process.resourceUsage().maxRSS / 1024;
  console.log(`paced: ${most} in flight at most, ${Math.round(heap)} MiB of heap at most`);
  report({ name: "orchestrator-scale-paced", unit: "rollouts/s", better: "higher", ours: paced });
  const lags = { unit: "ms", better: "lower" };
  const beside = (key) => ({ "idle loop": Math.max(1000 * idleLag[key], 0.01) });
  report({ name: "orchestrator-scale-lag", ...lags, ours: 1000 * lag[LAG.p99], rivals: beside(LAG.p99) });
  report({ name: "orchestrator-scale-lag-max", ...lags, ours: 1000 * lag[LAG.max], rivals: beside(LAG.max) });
  report({ name: "orchestrator-scale-memory", unit: "MiB", better: "lower", ours: rss });
  const bare = await answered(FLAT_OUT, exchange);
  const { perSecond } = await answered(FLAT_OUT, (urls) => orchestrate(urls, "flat-out", FLAT_OUT_STEPS));
  const rate = { unit: "rollouts/s", better: "higher", ours: perSecond };
  report({ name: "orchestrator-scale", ...rate, rivals: { "bare exchange": bare } });
} finally {
  rmSync(runDir, { recursive: true });
}

/** What comes of it with env workers that answer after so long (ms). */
async function answered([shortest, longest], measure) {
  const children = [];
  try {
    const urls = [];
    for (let i = 0; i < WORKERS; i++) {
      const args = [
        join(import.meta.dirname, "orchestrator/rollout-answers.mjs"),
        String(shortest),
        String(longest),
        "64",
      ];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      children.push(child);
      urls.push(String((await once(child.stdout, "data"))[0]).trim());
    }
    return await measure(urls);
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}

async function orchestrate(urls, name, steps) {
  const own = join(runDir, name);
  mkdirSync(own);
  const workers = connectEnvWorkers(urls, { connections: IN_FLIGHT });
  const config = {
    max_steps: steps,
    max_async_level: (2 * IN_FLIGHT) / BATCH - 1,
    weight_broadcast: { keep: 100 },
    model: { name: "m" },
    orchestrator: {
      batch_size: BATCH,
      group_size: GROUP,
      max_inflight: IN_FLIGHT,
      max_off_policy_steps: 100,
      train: { source: [{ name: "reverse", env: { id: "reverse-text" } }] },
    },
  };
  const watch = watchLoopLag();
  let [most, heap, begun, seconds, lag] = [0, 0, 0, 0, null];
  const counting = setInterval(() => {
    most = Math.max(most, workers.load().rollouts);
    heap = Math.max(heap, process.memoryUsage().heapUsed / MEBIBYTE);
  }, 100);
  const onStep = (step) => {
    if (step === WARM_UP) {
      watch.take();
      begun = performance.now();
    }
    if (step !== steps) return;
    lag = watch.take();
    seconds = (performance.now() - begun) / 1000;
  };
  await simulatedRun({ runDir: own, config, engine: "http://engine", workers, onStep });
  clearInterval(counting);
  watch.stop();
  await workers.close();
  return { perSecond: ((steps - WARM_UP) * BATCH) / seconds, lag, most, heap };
}

/** Rollouts per second of as many exchanges at once, of which nothing is read. */
async function exchange(urls) {
  const pools = urls.map((url) => new Pool(url, { connections: IN_FLIGHT }));
  const task = { key: "0", hash: "", data: {} };
  const run = { type: "train", step: 1 };
  const body = JSON.stringify({ episode_id: "e", env: "reverse", task, group_id: "g", run });
  const headers = { "content-type": "application/json" };
  let [ended, counted, begun] = [0, 0, Infinity];
  const until = performance.now() + 8_000;
  const lane = async (i) => {
    while (performance.now() < until) {
      const answer = await pools[i % pools.length].request({ method: "POST", path: "/run", headers, body });
      await answer.body.arrayBuffer();
      ended++;
      if (ended === IN_FLIGHT * 2) begun = performance.now();
      if (ended > IN_FLIGHT * 2) counted++;
    }
  };
  const all = Array.from({ length: IN_FLIGHT }, (_, i) => lane(i));
  await delay(8_000);
  const perSecond = (counted * 1000) / (performance.now() - begun);
  await Promise.all(all);
  await Promise.all(pools.map((pool) => pool.destroy()));
  return perSecond;
}
