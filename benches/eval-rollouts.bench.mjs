// What the framework costs: single-turn rollouts of reverse-text by `evaluate` (traces written, rewards computed) against an endpoint that
// answers at once, in one process on one core, 256 and 1,024 in flight. By the CPU that a rollout takes, which a busy machine changes
// little; per second of wall beside it. The rival is verifiers' own evaluation of the same (--python).
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { report, rival } from "./measurement/report.mjs";

const ROLLOUTS = 4_000;
const ROUNDS = 3;
const here = join(import.meta.dirname, "eval-rollouts");
/** @type {(core: number, args: string[]) => [string, string[]]} */
const onCore = (core, args) =>
  spawnSync("taskset", ["-c", "0", "true"]).status === 0
    ? ["taskset", ["-c", String(core), process.execPath, ...args]]
    : [process.execPath, args];

const dir = mkdtempSync(join(tmpdir(), "prl-bench-"));
const mock = spawn(...onCore(1, [join(here, "mock-endpoint.mjs")]), { stdio: ["pipe", "pipe", "inherit"] });
try {
  const [port] = await once(mock.stdout, "data");
  const url = `http://127.0.0.1:${String(port).trim()}/v1`;
  for (const inFlight of [256, 1024]) {
    const runs = [];
    for (let round = 0; round < ROUNDS; round++) {
      const [command, args] = onCore(0, [join(here, "evaluate.mjs"), url, String(ROLLOUTS), String(inFlight), dir]);
      const run = spawnSync(command, args, { encoding: "utf8", timeout: 120_000 });
      if (run.status !== 0) throw new Error(run.stderr);
      runs.push(JSON.parse(run.stdout.trim().split("\n").at(-1)));
    }
    const best = runs.toSorted((a, b) => b.perCpuSecond - a.perCpuSecond)[0];
    const calmest = runs.toSorted((a, b) => a.lagP99Ms - b.lagP99Ms)[0];
    const theirs = rival("verifiers_eval.py", [url, String(inFlight)]);
    const name = `eval-rollouts-${inFlight}`;
    const unit = "rollouts per CPU second";
    report({ name, unit, better: "higher", ours: best.perCpuSecond, rivals: { verifiers: theirs?.perCpuSecond } });
    const wall = Math.max(...runs.map(({ perSecond }) => perSecond));
    report({
      name: `${name}-wall`,
      unit: "rollouts/s",
      better: "higher",
      ours: wall,
      rivals: { verifiers: theirs?.perSecond },
    });
    const lag = { verifiers: theirs?.lagP99Ms };
    report({ name: `${name}-lag-p99`, unit: "ms", better: "lower", ours: calmest.lagP99Ms, rivals: lag });
  }
} finally {
  mock.stdin.end();
  rmSync(dir, { recursive: true });
}
