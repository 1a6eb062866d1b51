/**
 * Trains the reverse-text example from a script and ends the run as soon as the mean reward of a step has reached a target.
 *
 *     node configs/from-node/train.mjs [target reward] [config]
 */
import { fileURLToPath } from "node:url";

import { loadConfig, PrlError, rl } from "prl-lm";

const target = Number(process.argv[2] ?? 0.9);
const file = process.argv[3] ?? fileURLToPath(new URL("../reverse-text/rl.toml", import.meta.url));

// What the flags of `prl rl` do, as values. PRL_A__B from the environment counts too.
const loaded = await loadConfig([file], { "orchestrator.eval": null, "trainer.scheduler.warmup_steps": 5 });
console.log(`${loaded.config.max_steps} steps of ${loaded.config.orchestrator.batch_size} rollouts at the most`);

const enough = new AbortController();
const run = rl(loaded, { signal: enough.signal });
try {
  for await (const { step, reward, staleness, metrics } of run) {
    const waited = metrics.trainer["time/wait_for_batch"]?.toFixed(2);
    console.log(`step ${step}: reward ${reward?.toFixed(4)}, staleness ${staleness}, trainer waited ${waited} s`);
    if ((reward ?? 0) >= target) enough.abort("the script: the target is reached");
  }
} catch (error) {
  // Iterating a run that was ended early tells so.
  if (!(error instanceof PrlError) || error.code !== "PRL_RUN_INTERRUPTED") throw error;
}
const { status, run_dir: folder, steps, reward } = await run.result;
console.log(`${status} after ${steps} steps, best reward ${reward?.best.toFixed(4)}: ${folder}`);
