/** A run whose parts are started without the launcher, from one config: on one machine, and as if each part had its own machine. */
import { access, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePorts } from "../../support/free-ports.ts";
import { readJson, readJsonLines, type Running, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { modelOfRun, undisturbedRun } from "../../support/runs/undisturbed-run.ts";
import { longTest } from "../../support/form.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const OWN = join(import.meta.dirname, "../configs/own-functions.ts");
const STEPS = 3;

let place: Awaited<ReturnType<typeof workspace>>;
let parts: Running[];
beforeEach(async () => {
  place = await workspace();
  parts = [];
});
afterEach(async () => {
  for (const { child } of parts) child.kill("SIGTERM");
  await Promise.all(parts.map(({ finished }) => finished));
  await place.remove();
});
const options = () => ({ cwd: place.dir, cache: place.cache, deadlineMs: 200_000 });
const shared = ["--max-steps", String(STEPS), "--orchestrator.eval", "None"];

/** What `prl rl` makes of it, and the model that its warm start left. */
async function launched(): Promise<{ dir: string; expected: unknown[]; model: string }> {
  const dir = await undisturbedRun(SYNC, ...shared);
  return { dir, expected: await runResult(dir, STEPS), model: await modelOfRun(dir) };
}

/** From the config as it stands, the warm start too. */
function whole(command: string, runDir: string, ...more: string[]): Running {
  const running = start([command, "@", SYNC, "--run-dir", runDir, ...shared, ...more], {
    ...options(),
    // Nothing is made already.
    cache: join(place.dir, "cache-standalone"),
  });
  parts.push(running);
  return running;
}

function part(command: string, runDir: string, ...more: string[]): Running {
  const running = start(
    [command, "@", SYNC, "--run-dir", runDir, ...shared, "--warm-start", "None", ...more],
    options(),
  );
  parts.push(running);
  return running;
}

type Summary = { status: string; steps: number; reward: object; tokens: number; mismatch: object };
const summaryOf = (runDir: string) => readJson<Summary>(join(runDir, "summary.json"));

async function ready(runDir: string, name: string): Promise<{ url: string }> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
    const file = await readJson<{ url: string }>(join(runDir, "run", `${name}.json`)).catch(() => null);
    if (file !== null) return file;
  }
  throw new Error(`${name} did not become ready`);
}

async function untilThere(path: string): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(5)) {
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return;
  }
  throw new Error(`${path} never came`);
}

test("all parts in one run directory come to what prl rl comes to, warm start and summary too", async () => {
  const { dir, expected } = await launched();
  const runDir = join(place.dir, "standalone");
  const servers = [whole("inference", runDir), whole("env-server", runDir)];
  const ending = [whole("trainer", runDir), whole("orchestrator", runDir)];
  const ended = await Promise.all(ending.map(({ finished }) => finished));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  expect(await runResult(runDir, STEPS)).toEqual(expected);
  expect(servers.map(({ child }) => child.exitCode)).toEqual([null, null]);
  const { status, steps, reward, tokens, mismatch } = await summaryOf(dir);
  const notes = [expect.stringContaining("memory")];
  expect(await summaryOf(runDir)).toMatchObject({ status, steps, reward, tokens, mismatch, notes });

  const again = await whole("orchestrator", runDir).finished;
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("PRL_RUN_EXISTS")]);
});

test.each<[string, string[], NodeJS.Signals | null, string]>([
  ["that is killed", [], "SIGKILL", "PRL_PROCESS_DIED"],
  [
    "that fails",
    ["--trainer.loss.type", "custom", "--trainer.loss.path", `${OWN}#loss`, "--trainer.loss.args.type", "nope"],
    null,
    "PRL_LOSS_UNKNOWN",
  ],
])("a trainer %s ends the run by name", async (_, more, signal, code) => {
  const runDir = join(place.dir, "dies");
  whole("inference", runDir, ...more);
  whole("env-server", runDir, ...more);
  const orchestrator = whole("orchestrator", runDir, ...more);
  const trainer = whole("trainer", runDir, ...more);
  if (signal !== null) {
    await untilThere(join(runDir, "weights/step_1/manifest.json"));
    trainer.child.kill(signal);
  }
  const ended = await orchestrator.finished;
  expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining("prl trainer --resume")]);
  expect(await readJson(join(runDir, "summary.json"))).toMatchObject({ status: "failed", error: { code } });
});

longTest(
  "a trainer that fails in its warm start ends the run by name, one that failed before is only reported",
  async () => {
    const runDir = join(place.dir, "cold");
    const sft = join(place.dir, "nothing.toml");
    await writeFile(sft, "seq_lenn = 8\n");
    const more = ["--warm-start.sft", sft];
    expect((await whole("trainer", runDir, ...more).finished).code).toBe(2);
    // As of one that was killed.
    await writeFile(
      join(runDir, "run/trainer-0.json"),
      JSON.stringify({ pid: 2 ** 30, ready_at: "2026-01-01", version: 0 }),
    );
    whole("inference", runDir, ...more);
    whole("env-server", runDir, ...more);
    const orchestrator = whole("orchestrator", runDir, ...more);
    await new Promise<void>((seen) => {
      let text = "";
      orchestrator.child.stderr?.on("data", (piece) => {
        text += String(piece);
        if (text.includes("a trainer failed here before")) seen();
      });
    });
    await Promise.all([ready(runDir, "inference-0"), ready(runDir, "env-worker-0")]);
    await sleep(500);
    expect(await readdir(join(runDir, "run"))).not.toContain("orchestrator-0.json");
    whole("trainer", runDir, ...more);
    const ended = await orchestrator.finished;
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining("trainer-0: ")]);
    expect(await readJson(join(runDir, "summary.json"))).toMatchObject({
      status: "failed",
      error: { code: "PRL_CONFIG_INVALID", message: expect.stringContaining("seq_lenn") as string },
    });
  },
);

longTest(
  "trainer and orchestrator that were killed go on with --resume, and come to what prl rl comes to",
  async () => {
    const { expected, model } = await launched();
    const runDir = join(place.dir, "killed");
    const own = ["--model", model, "--ckpt.interval", "1"];
    const early = await part("trainer", runDir, ...own, "--resume").finished;
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining("PRL_RUN_UNKNOWN")]);
    part("inference", runDir, ...own);
    part("env-server", runDir, ...own);
    const both = [part("trainer", runDir, ...own), part("orchestrator", runDir, ...own)];
    await untilThere(join(runDir, "checkpoints/step_1/manifest.json"));
    for (const { child } of both) child.kill("SIGKILL");
    await Promise.all(both.map(({ finished }) => finished));

    const drifted = await part("trainer", runDir, ...own, "--resume", "--seed", "8").finished;
    expect([drifted.code, drifted.stderr]).toEqual([2, expect.stringContaining("PRL_RUN_DRIFT")]);
    const server = await part("inference", runDir, ...own, "--resume").finished;
    expect([server.code, server.stderr]).toEqual([2, expect.stringContaining("holds nothing of a run")]);
    // The servers are those of before; of the two, either may be the first.
    const again = [part("orchestrator", runDir, ...own, "--resume"), part("trainer", runDir, ...own, "--resume")];
    const ended = await Promise.all(again.map(({ finished }) => finished));
    expect(ended.map(({ code, stderr }) => [code, code === 0 ? "" : stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    expect(await runResult(runDir, STEPS)).toEqual(expected);
    expect(await readJson(join(runDir, "run/attempt.json"))).toMatchObject({ attempt: 2 });
    const [first] = await readJsonLines<{ attempt: number }>(join(runDir, "metrics.jsonl"));
    const last = (await readJsonLines<{ attempt: number }>(join(runDir, "metrics.jsonl"))).at(-1);
    expect([first?.attempt, last?.attempt]).toEqual([1, 2]);
  },
);

test("parts that share nothing but the checkpoints' folder, by grpc and addresses, too", async () => {
  const { dir, expected, model } = await launched();
  const [rollouts = 0, weights = 0] = await freePorts(2);
  const grpc = (section: string, port: number) =>
    ["type", "grpc", "port", String(port), "connect", `127.0.0.1:${port}`].map((word, i) =>
      i % 2 === 0 ? `--${section}.${word}` : word,
    );
  const network = [...grpc("rollout-transport", rollouts), ...grpc("weight-broadcast", weights)];
  network.push("--ckpt.path", join(place.dir, "shared"), "--model", model);
  const dirOf = (machine: string) => join(place.dir, machine, "apart");
  part("inference", dirOf("samplers"), ...network);
  const { url } = await ready(dirOf("samplers"), "inference-0");
  const all = [...network, "--orchestrator.client.base-url", JSON.stringify([url])];
  const trainer = part("trainer", dirOf("trainer"), ...all);
  part("env-server", dirOf("orchestrator"), ...all);
  const orchestrator = part("orchestrator", dirOf("orchestrator"), ...all);
  const ended = await Promise.all([trainer.finished, orchestrator.finished]);
  expect(ended.map(({ code, stderr }) => [code, code === 0 ? "" : stderr])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  expect(await runResult(dirOf("trainer"), STEPS)).toEqual(expected);
  const { reward, tokens } = await summaryOf(dir);
  const here = await summaryOf(dirOf("orchestrator"));
  const notes = [expect.stringContaining("memory"), expect.stringContaining("mismatch")];
  expect(here).toMatchObject({ status: "completed", steps: STEPS, reward, tokens, mismatch: null, notes });
});
