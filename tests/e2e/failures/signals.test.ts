/** Signals to a run, readers and terminals that go away, processes that are killed while it starts, a directory that is taken away. */
import { spawn } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import { mkdir, readdir, readFile, readlink, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import { IS_LONG, longTest } from "../../support/form.ts";
import { childPids, isAlive, MAIN, prl, readJson, ROOT, type Running, start, workspace } from "../../support/prl.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);
const summary = (name: string) => readJson(join(runDir(name), "summary.json"));
/** Without a warm start and evaluations, so that it trains at once; `steps` as many as it takes to be under way. */
const args = (name: string, steps = 5000) =>
  ["rl", SYNC, "--warm-start", "None", "--orchestrator.eval", "None"].concat([
    "--run.name",
    name,
    "--max-steps",
    String(steps),
  ]);

/** Resolves when the process has written `text` to stdout. */
function printed({ child }: Running, text: string): Promise<void> {
  return new Promise((resolve) => {
    let seen = "";
    child.stdout?.on("data", (chunk) => {
      seen += String(chunk);
      if (seen.includes(text)) resolve();
    });
  });
}

const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ...(IS_LONG
    ? ([
        ["SIGHUP", 129],
        ["SIGQUIT", 131],
      ] as const)
    : []),
] as const;

test.each(SIGNALS)("%s stops a run in an orderly way, and the exit code is %i", async (signal, code) => {
  const run = start(args("stopped"), options());
  await printed(run, "Step 1/");
  run.child.kill(signal);
  expect(await run.finished).toMatchObject({ code, signal: null });
  expect(await summary("stopped")).toMatchObject({ status: "interrupted", error: { code: "PRL_RUN_INTERRUPTED" } });
});

/** The command with a launcher that waits ten minutes, longer than this test, for processes that do not end. */
async function patientCommand(): Promise<string> {
  const path = join(place.dir, "patient.mjs");
  const module = (file: string) => JSON.stringify(join(ROOT, "dist", file));
  await writeFile(
    path,
    `import { SUPERVISOR_TIMES } from ${module("launcher/processes/supervisor.js")};
     SUPERVISOR_TIMES.graceMs = 600_000;
     await import(${module("cli/main.js")});`,
  );
  return path;
}

test.each([["SIGINT", "SIGINT", 130], ...(IS_LONG ? ([["SIGTERM", "SIGINT", 143]] as const) : [])] as const)(
  "a run that is still stopping after %s ends at once at a second signal (%s), with exit code %i and no process left",
  async (first, second, code) => {
    const run = start(args("hurried"), { ...options(), main: await patientCommand() });
    await printed(run, "Step 1/");
    const pids = await childPids(runDir("hurried"));
    // Processes that stand still do not end when they are asked to.
    const deaf = [pids["trainer-0"], pids["env-worker-0"]].map(Number);
    for (const pid of deaf) process.kill(pid, "SIGSTOP");
    const stopping = printed(run, "Stopping every process of the run");
    run.child.kill(first);
    await stopping;
    // A signal within half a second counts as an echo of the first.
    await sleep(510);
    expect(deaf.map(isAlive)).toEqual([true, true]);
    run.child.kill(second);
    expect(await run.finished).toMatchObject({ code, signal: null });
    expect(Object.entries(pids).filter(([, pid]) => isAlive(pid))).toEqual([]);
    expect(await summary("hurried")).toMatchObject({ status: "interrupted" });
  },
);

test("a run whose output goes to a file goes on when its terminal is closed, as nohup has it", async () => {
  const log = join(place.dir, "log");
  const file = openSync(log, "w");
  const child = spawn("nohup", [process.execPath, MAIN, ...args("nohup", 3)], {
    cwd: place.dir,
    env: { ...process.env, PRL_CACHE_DIR: place.cache },
    stdio: ["ignore", file, file],
  });
  const ended = new Promise((resolve) => void child.on("close", (code, signal) => resolve([code, signal])));
  while (!existsSync(join(runDir("nohup"), "run"))) await sleep(50);
  child.kill("SIGHUP");
  expect(await ended).toEqual([0, null]);
  expect(await summary("nohup")).toMatchObject({ status: "completed", steps: 3 });
});

test("a run whose stdout is closed says so and goes on", async () => {
  const run = start(args("closed", 4), options());
  await printed(run, "Step 1/");
  run.child.stdout?.destroy();
  const { code, stderr } = await run.finished;
  expect(stderr).toContain("stdout cannot be written any more");
  expect(code).toBe(0);
  expect(await summary("closed")).toMatchObject({ status: "completed", steps: 4 });
});

longTest("a run goes on when stdout and stderr are closed", async () => {
  const run = start(args("mute", 4), options());
  await printed(run, "Step 1/");
  run.child.stdout?.destroy();
  run.child.stderr?.destroy();
  expect((await run.finished).code).toBe(0);
  expect(await summary("mute")).toMatchObject({ status: "completed", steps: 4 });
});

/** The child of a run's launcher that writes this log, as soon as there is one; null before. A look at all processes would often come too late. */
async function writerOf(log: string, launcher: number): Promise<number | null> {
  const children = await readFile(`/proc/${launcher}/task/${launcher}/children`, "utf8").catch(() => "");
  for (const pid of children.split(" ").filter((text) => text !== ""))
    if ((await readlink(`/proc/${pid}/fd/1`).catch(() => "")) === log) return Number(pid);
  return null;
}

test("an env worker that is killed while the run starts is started again", async () => {
  const run = start(args("killed", 2), options());
  const log = join(runDir("killed"), "logs/attempt_1/env-worker-0.log");
  let pid: number | null = null;
  while (pid === null) pid = await writerOf(log, run.child.pid ?? 0);
  expect(existsSync(join(runDir("killed"), "run/env-worker-0.json"))).toBe(false);
  process.kill(pid, "SIGKILL");
  const { code, stdout } = await run.finished;
  expect(stdout).toContain("env-worker-0 ended (signal SIGKILL) and is started again");
  expect(code).toBe(0);
});

test.each(["moved", ...(IS_LONG ? ["removed"] : [])])(
  "a run whose directory is %s stops, and nothing is made in its place",
  async (what) => {
    const run = start(args("gone"), options());
    await printed(run, "Step 1/");
    const elsewhere = join(place.dir, "elsewhere");
    if (what === "moved") await rename(runDir("gone"), elsewhere);
    else await rm(runDir("gone"), { recursive: true, force: true, maxRetries: 5 });
    const { code, stderr } = await run.finished;
    expect(code).toBe(1);
    expect(stderr).toContain("PRL_RUN_GONE");
    expect(stderr).toContain(what === "moved" ? `was moved to ${elsewhere}` : "was removed");
    if (what === "moved") {
      expect(await readJson(join(elsewhere, "summary.json"))).toMatchObject({ error: { code: "PRL_RUN_GONE" } });
    }
    expect(existsSync(runDir("gone"))).toBe(false);
  },
);

test("a run directory that cannot be made is an error that names it", async () => {
  const { code, stderr } = await prl([...args("none"), "--output-dir", "/proc/none"], options());
  expect([code, stderr]).toEqual([1, expect.stringContaining("cannot make the folder /proc/none")]);
});

test.each(["pipe", "folder"])("a %s is no config file", async (what) => {
  const path = join(place.dir, "config.toml");
  if (what === "folder") await mkdir(path);
  else await new Promise((resolve) => void spawn("mkfifo", [path]).on("close", resolve));
  const { code, stderr } = await prl(["rl", path], options());
  expect([code, stderr]).toEqual([2, expect.stringMatching(/config\.toml is a (named pipe|folder), not a file/u)]);
});

test.each(["trainer", "orchestrator", "inference", "env-server"])(
  "prl %s makes no folder when its config is invalid",
  async (name) => {
    await writeFile(join(place.dir, "garbage.json"), "{");
    const { code, stderr } = await prl([name, "--config", "garbage.json", "--run-dir", "run"], options());
    expect([code, stderr]).toEqual([2, expect.stringContaining("garbage.json")]);
    expect(await readdir(place.dir)).toEqual(["garbage.json"]);
  },
);
