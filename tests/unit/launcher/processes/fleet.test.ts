/** How many processes a fleet keeps, and when it gives up. Its behaviour under load, with real env workers, is an integration test. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { RunChild } from "../../../../ts/launcher/processes/child-process.ts";
import { Fleet, FLEET_TIMES, type FleetOptions } from "../../../../ts/launcher/processes/fleet.ts";
import { Supervisor, SUPERVISOR_TIMES } from "../../../../ts/launcher/processes/supervisor.ts";
import { writeLoad } from "../../../../ts/monitors/index.ts";

const TIMES = {
  ...FLEET_TIMES,
  intervalMs: 20,
  busyMs: 1_000,
  calmMs: 200,
  retiredMs: 100,
  longLifeMs: 5_000,
  firstPauseMs: 1,
};
const PATIENCE = { timeout: 20_000 };

let runDir: string;
let supervisor: Supervisor;
let fleet: Fleet;
let notes: string[];
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-fleet-"));
  await mkdir(join(runDir, "run"));
  supervisor = new Supervisor(runDir, { ...SUPERVISOR_TIMES, graceMs: 200 });
  notes = [];
});
afterEach(async () => {
  fleet.stop();
  await supervisor.stop();
  await rm(runDir, { recursive: true, force: true });
});

/** Processes that do `before`, say that they are ready, and then do `then`. */
async function begin(then: string, options: Partial<FleetOptions> = {}, before = ""): Promise<RunChild[]> {
  const file = join(runDir, "worker.mjs");
  await writeFile(
    file,
    `import { existsSync, writeFileSync } from "node:fs";
     const [dir, index] = process.argv.slice(2);
     ${before}
     writeFileSync(dir + "/run/env-worker-" + index + ".json", JSON.stringify({ pid: process.pid, url: "http://x", ready_at: "" }));
     ${then}`,
  );
  fleet = new Fleet(supervisor, {
    runDir,
    component: "env-worker",
    least: 1,
    most: 3,
    rolloutsPerWorker: 10,
    spec: (index) => ({
      component: "env-worker",
      index,
      command: process.execPath,
      args: [file, runDir, String(index)],
      logs: runDir,
      finishes: false,
    }),
    note: (message) => notes.push(message),
    times: TIMES,
    ...options,
  });
  return fleet.start();
}

/** Resolves when they are ready. Use it for processes that stay: one that dies at once may never be seen as ready. */
async function start(then: string, options: Partial<FleetOptions> = {}): Promise<void> {
  await supervisor.ready(await begin(then, options), PATIENCE.timeout);
}

const STAYS = "setInterval(() => {}, 1000);";
const ready = async () => (await readdir(join(runDir, "run"))).filter((name) => name.startsWith("env-worker")).sort();
const running = () => supervisor.children.filter(({ exit }) => exit === null).map(({ name }) => name);

test("a peak that is over at once starts no worker", async () => {
  await start(STAYS);
  await writeLoad(runDir, { rollouts: 1_000, workers: {} });
  await sleep(2 * TIMES.intervalMs);
  await writeLoad(runDir, { rollouts: 0, workers: {} });
  await sleep(TIMES.busyMs + 5 * TIMES.intervalMs);
  expect(fleet.size).toBe(1);
});

test("grows with the load, up to the most, and shrinks one by one when it has been calm", async () => {
  await start(STAYS);
  await writeLoad(runDir, { rollouts: 11, workers: { "env-worker-0": 11 } });
  await expect.poll(running, PATIENCE).toEqual(["env-worker-0", "env-worker-1"]);
  await writeLoad(runDir, { rollouts: 1_000, workers: { "env-worker-0": 500, "env-worker-1": 500 } });
  await expect.poll(() => running().length, PATIENCE).toBe(3);
  await expect.poll(ready, PATIENCE).toHaveLength(3);
  // The last one has something left to do: it gets nothing new, and is not stopped.
  await writeLoad(runDir, { rollouts: 0, workers: { "env-worker-0": 0, "env-worker-1": 0, "env-worker-2": 4 } });
  await expect.poll(ready, PATIENCE).toEqual(["env-worker-0.json"]);
  await expect.poll(running, PATIENCE).toEqual(["env-worker-0", "env-worker-2"]);
  await writeLoad(runDir, { rollouts: 0, workers: { "env-worker-0": 0, "env-worker-2": 0 } });
  await expect.poll(running, PATIENCE).toEqual(["env-worker-0"]);
  expect(fleet.size).toBe(1);
  expect(notes.filter((note) => note.includes("is let go"))).toHaveLength(2);
});

test("one that fails by itself is started again, and its own reason is noted", async () => {
  await begin(
    `const note = { pid: process.pid, code: "PRL_IO", message: "the reason\\nand more" };
     writeFileSync(dir + "/run/failure-env-worker-" + index + ".json", JSON.stringify(note));
     process.exit(1);`,
  );
  await expect.poll(() => notes.length, PATIENCE).toBeGreaterThan(0);
  expect(notes[0]).toContain("env-worker-0 ended (exit code 1: the reason) and is started again");
});

test("one that dies is started again, with its ready file gone in between; one that was let go is not", async () => {
  await start(STAYS, { least: 2, times: { ...TIMES, longLifeMs: 600_000, firstPauseMs: 4_000 } });
  await expect.poll(ready, PATIENCE).toHaveLength(2);
  const died = "env-worker-0 ended (signal SIGKILL)";
  supervisor.children[0]?.signal("SIGKILL");
  await expect.poll(() => notes, PATIENCE).toEqual([expect.stringContaining(died)]);
  await expect.poll(ready, PATIENCE).toHaveLength(2);
  // The second death in a row is followed by a pause.
  supervisor.children[2]?.signal("SIGKILL");
  await expect.poll(() => notes, PATIENCE).toEqual([expect.stringContaining(died), expect.stringContaining(died)]);
  expect(await ready()).toEqual(["env-worker-1.json"]);
  await expect.poll(running, PATIENCE).toEqual(["env-worker-1", "env-worker-0"]);
  await expect.poll(ready, PATIENCE).toHaveLength(2);
});

test("under load a spare stands by, also after deaths, and it is let go when the load is gone", async () => {
  await start(STAYS, { times: { ...TIMES, busyMs: 0 } });
  await sleep(5 * TIMES.intervalMs);
  expect(fleet.size).toBe(1);
  const load = setInterval(() => void writeLoad(runDir, { rollouts: 1, workers: { "env-worker-0": 1 } }), 20);
  try {
    for (let deaths = 0; deaths <= 2; deaths++) {
      await expect.poll(() => notes.filter((note) => note.includes("ended")).length, PATIENCE).toBe(deaths);
      await expect.poll(() => running().toSorted(), PATIENCE).toEqual(["env-worker-0", "env-worker-1"]);
      if (deaths < 2) supervisor.children.find(({ exit }) => exit === null)?.signal("SIGKILL");
    }
  } finally {
    clearInterval(load);
  }
  expect(notes).toContain("env-worker-1 is started: it is a spare");
  await expect.poll(ready, PATIENCE).toEqual(["env-worker-0.json", "env-worker-1.json"]);
  await writeLoad(runDir, { rollouts: 0, workers: {} });
  await expect.poll(running, PATIENCE).toEqual(["env-worker-0"]);
});

test("where one process is the most, there is no spare", async () => {
  await start(STAYS, { times: { ...TIMES, busyMs: 0 }, most: 1 });
  await writeLoad(runDir, { rollouts: 1_000, workers: { "env-worker-0": 1_000 } });
  await sleep(10 * TIMES.intervalMs);
  expect(running()).toEqual(["env-worker-0"]);
});

test("one that dies early is started again after pauses that double", PATIENCE, async () => {
  const firstPauseMs = 100;
  const deaths: number[] = [];
  const died = () => void deaths.push(performance.now());
  await begin("process.exit(7);", { times: { ...TIMES, firstPauseMs }, onRestart: died });
  // Polls may miss a death.
  await expect.poll(() => deaths.length, PATIENCE).toBeGreaterThanOrEqual(5);
  // The first of them is started again at once.
  const pauses = deaths.slice(2, 5).map((at, i) => at - (deaths[i + 1] ?? 0));
  pauses.forEach((pause, i) => expect(pause).toBeGreaterThanOrEqual(firstPauseMs * 2 ** i - 1));
});

test("one that dies again and again is started at once each time when the run came further with it", async () => {
  // The pause after a second death in a row would last longer than the test.
  const times = { ...TIMES, longLifeMs: 600_000, firstPauseMs: 600_000 };
  const deaths: number[] = [];
  await start(STAYS, { times, onRestart: (restart) => void deaths.push(restart.deaths) });
  for (let step = 1; step <= 12; step++) {
    supervisor.furthest.note({ component: "orchestrator", step });
    supervisor.children.at(-1)?.signal("SIGKILL");
    await expect.poll(() => supervisor.children.length, PATIENCE).toBe(step + 1);
    await expect.poll(async () => (await ready()).length, PATIENCE).toBe(1);
  }
  expect(deaths).toEqual(Array<number>(12).fill(1));
  // A step that was done already is no progress.
  supervisor.furthest.note({ component: "orchestrator", step: 12 });
  supervisor.children.at(-1)?.signal("SIGKILL");
  await expect.poll(() => deaths.at(-1), PATIENCE).toBe(2);
});

test("one that dies very often fails the run, however far the run came in between", async () => {
  const times = { ...TIMES, longLifeMs: 600_000, firstPauseMs: 600_000, windowMs: 600_000 };
  let [deaths, step] = [0, 0];
  const progress = setInterval(() => supervisor.furthest.note({ component: "orchestrator", step: step++ }), 1);
  try {
    await begin("if (existsSync(dir + '/die')) process.exit(7); setInterval(() => undefined, 1_000);", {
      times,
      onRestart: () => void deaths++,
    });
    await writeFile(join(runDir, "die"), "");
    supervisor.children[0]?.signal("SIGKILL");
    await expect(supervisor.failure).rejects.toThrow(/env-worker-0 ended unexpectedly/u);
  } finally {
    clearInterval(progress);
  }
  expect(deaths).toBe(60);
});

test("one that dies again and again fails the run in the end", async () => {
  await begin("process.exit(7);");
  await expect(supervisor.failure).rejects.toThrow(/env-worker-0 ended unexpectedly: exit code 7/u);
  expect(notes.length).toBe(10);
});

/** Does `death` on the first start only. */
const once = (death: string) =>
  `const mark = dir + "/died"; if (!existsSync(mark)) { writeFileSync(mark, ""); ${death} }`;

test.each([
  ["SIGKILL", `process.kill(process.pid, "SIGKILL");`],
  ["SIGTERM", `process.kill(process.pid, "SIGTERM");`],
  ["SIGTERM, which it answers with its exit code", "process.exit(143);"],
])("one that %s ends before it was ready is started again", PATIENCE, async (_, death) => {
  await supervisor.ready(await begin(STAYS, {}, once(death)), PATIENCE.timeout);
  expect(notes).toEqual([expect.stringMatching(/^env-worker-0 ended .* and is started again$/u)]);
});

test("one whose log cannot be opened when it is started again fails the run", PATIENCE, async () => {
  let logs = runDir;
  const part = { component: "env-worker", command: process.execPath, finishes: false };
  const spec = (index: number) => ({
    ...part,
    index,
    args: [join(runDir, "worker.mjs"), runDir, String(index)],
    logs,
  });
  await start(STAYS, { spec });
  logs = join(runDir, "gone");
  supervisor.children[0]?.signal("SIGKILL");
  await expect(supervisor.failure).rejects.toMatchObject({ code: "PRL_IO", message: expect.stringContaining(logs) });
});

test("one that is killed at each start fails the run soon", PATIENCE, async () => {
  await begin(STAYS, {}, `process.kill(process.pid, "SIGKILL");`);
  await expect(supervisor.failure).rejects.toThrow(/env-worker-0 ended unexpectedly: signal SIGKILL/u);
  expect(notes.length).toBe(3);
});

test("one that fails by itself before any was ready fails the run at once", PATIENCE, async () => {
  await begin(STAYS, {}, "process.exit(7);");
  await expect(supervisor.failure).rejects.toThrow(/env-worker-0 ended unexpectedly: exit code 7/u);
  expect(notes).toEqual([]);
});
