// Minutes: `prl rl configs/reverse-text/rl.toml` at level 1 (sampling beside training) against level 0 (one after the other), in turns. Per run the
// seconds of all steps and the held-out reward after the last; then the seconds until the held-out reward of every run had been reached, evaluations
// included, which level 0 waits for and level 1 does not. Warm starts come from a cache that a run before fills.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { report } from "./measurement/report.mjs";

const ROOT = join(import.meta.dirname, "..");
const SEEDS = [1, 2];
const EVERY = 5;
/** Of the lowest final reward: what every run reaches before its end, whatever the noise of 256 samples. */
const SHARE = 0.97;
const REWARD = "eval/sampled/all/agent/reward/mean";

const cache = mkdtempSync(join(tmpdir(), "prl-bench-cache-"));
try {
  for (const seed of SEEDS) train(0, seed, ["--max-steps", "1"]);
  const runs = SEEDS.flatMap((seed) => [0, 1].map((level) => train(level, seed, [])));
  const target = SHARE * Math.min(...runs.map(({ evaluations }) => evaluations.at(-1).reward));
  for (const { level, seed, seconds, evaluations } of runs) {
    const { reward } = evaluations.at(-1);
    const reached = secondsTo(target, evaluations).toFixed(1);
    console.log(
      `level ${level}, seed ${seed}: ${seconds.toFixed(1)} s, reward ${reward.toFixed(3)}, ${reached} s to ${target.toFixed(3)}`,
    );
  }
  const mean = (level, value) => {
    const own = runs.filter((run) => run.level === level).map(value);
    return own.reduce((sum, seconds) => sum + seconds, 0) / own.length;
  };
  const compared = (name, value) =>
    report({ name, unit: "s", better: "lower", ours: mean(1, value), rivals: { "level 0": mean(0, value) } });
  compared("async-level", ({ evaluations }) => secondsTo(target, evaluations));
  compared("async-level-steps", ({ seconds }) => seconds);
} finally {
  rmSync(cache, { recursive: true });
}

/** When the reward was reached for the first time, in a straight line between two evaluations. */
function secondsTo(target, evaluations) {
  const after = evaluations.findIndex(({ reward }) => reward >= target);
  const [from, to] = [evaluations[after - 1], evaluations[after]];
  if (to === undefined) return Infinity;
  if (from === undefined) return to.seconds;
  return from.seconds + ((target - from.reward) / (to.reward - from.reward)) * (to.seconds - from.seconds);
}

function train(level, seed, flags) {
  const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
  try {
    const config = [
      "--max-async-level",
      String(level),
      "--seed",
      String(seed),
      "--orchestrator.eval.interval",
      String(EVERY),
    ];
    const args = [
      join(ROOT, "bundle/cli/main.js"),
      "rl",
      join(ROOT, "configs/reverse-text/rl.toml"),
      ...config,
      ...flags,
    ];
    const { status } = spawnSync(process.execPath, [...args, "--run.name", "bench"], {
      cwd: dir,
      env: { ...process.env, PRL_CACHE_DIR: cache },
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (status !== 0) throw new Error(`prl rl exited with ${status}`);
    const lines = readFileSync(join(dir, "outputs/bench/metrics.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const own = lines.filter(({ component }) => component === "orchestrator");
    // The first evaluation is of the weights that the run starts with: the clock starts when it has ended.
    const start = Number(own.find((line) => REWARD in line).time);
    const evaluations = own
      .filter((line) => REWARD in line)
      .map((line) => ({ seconds: line.time - start, reward: line[REWARD] }))
      .toSorted((a, b) => a.seconds - b.seconds);
    const steps = own.filter((line) => "time/step" in line);
    return { level, seed, seconds: steps.at(-1).time - start, evaluations };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
