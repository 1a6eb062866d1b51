// How late the orchestrator's event loop is (99th percentile, ms) with 1,024 rollouts under way, on two cores with everything else of a run:
// real env workers, the real protocol, batches cut and written; the engine and the trainer are simulated. Beside it the same loop with
// nothing to do. The engine takes 2 to 6 seconds for a rollout and gives 256 tokens.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
// The orchestrator is no public entry: what is measured is the program as it is built.
import { watchLoopLag } from "../dist/monitors/index.js";
import { connectEnvWorkers, readyEnvWorkers } from "../dist/orchestrator/index.js";
import { report } from "./measurement/report.mjs";
import { simulatedRun } from "./orchestrator/simulated-run.mjs";

const IN_FLIGHT = 1024;
const BATCH = 256;
const STEPS = 14;
/** Steps before it counts: code is compiled, the first 1,024 are opened at once. */
const WARM_UP = 4;
const WORKERS = 2;
const MODEL = join(import.meta.dirname, "../configs/reverse-text/model");
const MAIN = join(import.meta.dirname, "../bundle/cli/main.js");

await measure();

async function measure() {
  const pinned = spawnSync("taskset", ["-acp", "0,1", String(process.pid)]).status === 0;
  if (!pinned) console.log("orchestrator-loop-lag: taskset is not there, all cores are used");
  const runDir = mkdtempSync(join(tmpdir(), "prl-bench-"));
  const children = [];
  try {
    const idle = await lagOf(() => delay(3_000));
    const engine = spawn(process.execPath, [join(import.meta.dirname, "orchestrator/slow-engine.mjs")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(engine);
    const url = String((await once(engine.stdout, "data"))[0]).trim();
    mkdirSync(join(runDir, "run"));
    const config = join(runDir, "env-worker.json");
    const sources = [{ name: "reverse-text", split: "train", env: { id: "reverse-text" } }];
    writeFileSync(
      config,
      JSON.stringify({ run_id: "r", seed: 1, model_dir: MODEL, sources, max_concurrent: IN_FLIGHT }),
    );
    for (let i = 0; i < WORKERS; i++) {
      const args = [MAIN, "env-server", "--config", config, "--run-dir", runDir, "--index", String(i)];
      children.push(spawn(process.execPath, args, { stdio: "ignore" }));
    }
    while ((await readyEnvWorkers(runDir)).length < WORKERS) await delay(50);
    const { lag, most, seconds } = await train(runDir, url);
    console.log(
      `${most} rollouts under way at most, ${Math.round(((STEPS - WARM_UP) * BATCH) / seconds)} done per second`,
    );
    report({
      name: "orchestrator-loop-lag",
      unit: "ms (p99)",
      better: "lower",
      ours: 1000 * lag["event_loop_lag/p99"],
      rivals: { "idle loop": Math.max(1000 * idle["event_loop_lag/p99"], 0.01) },
    });
    report({
      name: "orchestrator-loop-lag-max",
      unit: "ms",
      better: "lower",
      ours: 1000 * lag["event_loop_lag/max"],
      rivals: { "idle loop": Math.max(1000 * idle["event_loop_lag/max"], 0.01) },
    });
  } finally {
    for (const child of children) child.kill("SIGKILL");
    rmSync(runDir, { recursive: true });
  }
}

async function lagOf(work) {
  const lag = watchLoopLag();
  await work();
  const taken = lag.take();
  lag.stop();
  return taken;
}

async function train(runDir, url) {
  const config = {
    max_steps: STEPS,
    max_async_level: IN_FLIGHT / BATCH - 1,
    weight_broadcast: { keep: IN_FLIGHT / BATCH },
    model: { name: MODEL },
    orchestrator: {
      batch_size: BATCH,
      group_size: 8,
      max_inflight: IN_FLIGHT,
      train: { source: [{ name: "reverse-text", env: { id: "reverse-text" } }] },
    },
  };
  const workers = connectEnvWorkers(await readyEnvWorkers(runDir), { connections: 2 * IN_FLIGHT });
  let [most, lag, begun, seconds] = [0, null, 0, 0];
  const watch = watchLoopLag();
  const counting = setInterval(() => (most = Math.max(most, workers.load().rollouts)), 100);
  const onStep = (step) => {
    if (step === WARM_UP) {
      watch.take();
      begun = performance.now();
    }
    if (step !== STEPS) return;
    lag = watch.take();
    seconds = (performance.now() - begun) / 1000;
  };
  await simulatedRun({ runDir, config, engine: url, workers, onStep });
  clearInterval(counting);
  watch.stop();
  await workers.close();
  return { lag, most, seconds };
}
