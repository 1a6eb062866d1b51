/** A run whose environment needs sandboxes: one daemon for all of its processes, replaced when it dies, gone when the run is. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commandLine, processTree, until } from "../integration/sandbox/support.ts";
import { prl, readJson, start, workspace } from "../support/prl.ts";

const SYNC = join(import.meta.dirname, "configs/sync.toml");
const STEPS = 8;

/** Reverse-text, scored by what a program in the rollout's sandbox says. */
const ENVIRONMENT = `
import { defineEnvironment, endless, z } from "prl/environments";
import { sequenceRatio } from "prl/environments/verify";
import { requireRun } from "prl/sandbox";
function* rows(rng) {
  for (;;) {
    const letters = Array.from({ length: 2 + rng.integer(3) }, () => rng.pick("abcdefghij"));
    yield { prompt: "reverse: " + letters.join("") + "\\n", answer: letters.toReversed().join("") };
  }
}
export default defineEnvironment({
  name: "boxed-text", version: "1.0.0", requires: { sandbox: true }, config: z.strictObject({}),
  tasks: ({ rng }) => endless(rows(rng)),
  key: (_, index) => String(index),
  rollout: async ({ task, sample }) => { await sample(task.prompt); },
  rewards: {
    similarity: async ({ task, trace, sandbox }) => {
      const { stdout } = requireRun(await (await sandbox()).exec(["cat"], { stdin: trace.lastReply }));
      return sequenceRatio(stdout.toString(), task.answer);
    },
  },
});`;

let place: Awaited<ReturnType<typeof workspace>>;
let config: string;
beforeEach(async () => {
  place = await workspace();
  await writeFile(join(place.dir, "boxed.ts"), ENVIRONMENT);
  config = join(place.dir, "rl.toml");
  const sync = await readFile(SYNC, "utf8");
  const own = sync
    .replaceAll(/^env = .*$/gm, 'env = { path = "./boxed.ts" }')
    .replace("../../../configs", join(import.meta.dirname, "../../configs"))
    .replace('sft = "sft.toml"', `sft = ${JSON.stringify(join(import.meta.dirname, "configs/sft.toml"))}`);
  await writeFile(config, own);
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);

const daemonOf = (pid: number): number | undefined =>
  processTree(pid).find((one) => (commandLine(one) ?? "").includes("prl-sandboxd --socket"));

test(
  "the daemon is killed twice, and the run comes to its end with the same weights",
  { timeout: 180_000 },
  async () => {
    const args = (name: string) => ["rl", config, "--max-steps", String(STEPS), "--run.name", name];
    const calm = await prl(args("calm"), options());
    expect([calm.code, calm.stderr]).toEqual([0, ""]);
    const run = start(args("killed"), options());
    const done = new AbortController();
    void run.finished.finally(() => done.abort());
    const killed = new Set<number>();
    while (!done.signal.aborted && killed.size < 2) {
      await sleep(100);
      const ready = await readJson<{ pid: number }>(join(runDir("killed"), "run/sandboxd-0.json")).catch(() => null);
      const pid = ready === null ? undefined : daemonOf(ready.pid);
      const begun = await readFile(join(runDir("killed"), "metrics.jsonl"), "utf8").catch(() => "");
      if (pid === undefined || killed.has(pid) || !begun.includes('"component":"orchestrator"')) continue;
      killed.add(pid);
      process.kill(pid, "SIGKILL");
    }
    const { code, stderr } = await run.finished;
    expect([code, stderr]).toEqual([0, ""]);
    expect(killed.size).toBeGreaterThan(0);
    expect(await readFile(join(runDir("killed"), "events.jsonl"), "utf8")).toContain("sandboxd-0 ended");
    const metrics = await readFile(join(runDir("killed"), "metrics.jsonl"), "utf8");
    expect(metrics).toContain('"timing/sandbox_wait"');
    expect(metrics).toContain('"loop_lag/p99_ms"');
    const digest = async (name: string) =>
      (await readJson<{ digest: string }>(join(runDir(name), `weights/step_${STEPS}/manifest.json`))).digest;
    expect(await digest("killed")).toBe(await digest("calm"));
    for (const pid of killed) expect(await until(() => commandLine(pid) === null, 5_000)).toBe(true);
  },
);

test("a run whose environment needs sandboxes that are not to be had is refused before it begins", async () => {
  const address = `unix:${join(place.dir, "nothing.sock")}`;
  const { code, stderr } = await prl(
    ["rl", config, "--run.name", "refused", "--sandbox.addresses", JSON.stringify([address])],
    options(),
  );
  expect(code).not.toBe(0);
  expect(stderr).toContain('environment "boxed-text" needs sandboxes');
  expect(stderr).toContain("prl sandbox doctor");
});
