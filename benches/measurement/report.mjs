// How benches report: a line for people, and target/prl-bench/<name>.json for machines (CONTRIBUTING.md).
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const OUT = join(import.meta.dirname, "../..", "target", "prl-bench");
/** Longer than any rival takes; only a hang reaches it. */
const DEADLINE_MS = 30 * 60_000;
const { values } = parseArgs({
  options: { threads: { type: "string", default: "2" }, python: { type: "string", default: "python3" } },
});

export const threads = Number(values.threads);

/** Prints ours beside each rival of the same run and writes both; `ratio` is above 1 where ours is better. */
export function report({ name, unit, better, ours, rivals = {} }) {
  const measured = Object.entries(rivals).filter(([, value]) => value !== undefined);
  const ratioTo = (value) => (better === "higher" ? ours / value : value / ours);
  const beside = measured.map(([other, value]) => `${other} ${format(value)} (${ratioTo(value).toFixed(2)}x)`);
  console.log([`${name}: ${format(ours)} ${unit}`, ...beside].join(" | "));
  const ratio = measured.length === 0 ? null : Math.min(...measured.map(([, value]) => ratioTo(value)));
  const machine = { cpu: cpus()[0]?.model, cores: availableParallelism(), threads, load1: loadavg()[0] };
  mkdirSync(OUT, { recursive: true });
  const result = { name, unit, better, ours, rivals: Object.fromEntries(measured), ratio, machine };
  writeFileSync(join(OUT, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`);
}

/** Runs a rival's script, which prints one JSON object; undefined, with a line that says so, when it is not installed. */
export function rival(script, args) {
  const file = join(import.meta.dirname, "../rivals", script);
  const run = spawnSync(values.python, [file, ...args], { encoding: "utf8", timeout: DEADLINE_MS });
  if (run.status === 0) return JSON.parse(run.stdout.trim().split("\n").at(-1));
  const why = run.error ? String(run.error) : run.stderr.trim().split("\n").at(-1);
  console.log(`${script}: not measured (${why}); give --python an interpreter that has its packages`);
  return undefined;
}

/** Best seconds per call over `rounds` calls after one that warms up. */
export async function best(rounds, call) {
  await call();
  let seconds = Infinity;
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    await call();
    seconds = Math.min(seconds, (performance.now() - startedAt) / 1000);
  }
  return seconds;
}

/** The one in the middle. */
export function middle(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
}

function format(value) {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
