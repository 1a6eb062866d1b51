// The whole of `prl rl configs/reverse-text/rl.toml` with empty caches against TRL on the same task, TRL before and after: minutes.
// Pin both to the same cores: `taskset -c 0,1 npm run bench time-to-reward -- --python FILE`.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { report, rival, threads } from "./measurement/report.mjs";

const ROOT = join(import.meta.dirname, "..");
const SEEDS = [1, 2, 3];
const model = join(ROOT, "configs", "reverse-text", "model");
const trl = (seed) =>
  rival("trl_reverse_text.py", ["--model", model, "--threads", String(threads), "--seed", String(seed)]);

const rivals = [trl(0)];
const ours = SEEDS.map(run);
rivals.push(trl(1));
const measured = rivals.filter((result) => result !== undefined);
for (const { seed, seconds, before, after } of ours)
  console.log(`prl seed ${seed}: ${seconds} s, reward ${before} -> ${after}`);
for (const { seconds, before, after } of measured)
  console.log(`TRL: ${seconds.toFixed(1)} s, reward ${before.toFixed(3)} -> ${after.toFixed(3)}`);
report({
  name: "time-to-reward",
  unit: "s",
  better: "lower",
  ours: Math.max(...ours.map(({ seconds }) => seconds)),
  rivals: { TRL: measured.length === 0 ? undefined : Math.min(...measured.map(({ seconds }) => seconds)) },
});

function run(seed) {
  const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
  try {
    const args = [
      join(ROOT, "bundle/cli/main.js"),
      "rl",
      join(ROOT, "configs/reverse-text/rl.toml"),
      "--seed",
      String(seed),
    ];
    const startedAt = performance.now();
    const { status } = spawnSync(process.execPath, [...args, "--run.name", "bench"], {
      cwd: dir,
      env: { ...process.env, PRL_CACHE_DIR: join(dir, "cache") },
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (status !== 0) throw new Error(`prl rl exited with ${status}`);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const { reward } = JSON.parse(readFileSync(join(dir, "outputs/bench/summary.json"), "utf8"));
    return { seed, seconds: Number(seconds), before: reward.first.toFixed(3), after: reward.last.toFixed(3) };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
