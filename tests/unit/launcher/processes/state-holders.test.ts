/** How a trainer's or an orchestrator's end decides whether the run goes back to its checkpoint or fails. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { ChildSpec, RunChild } from "../../../../ts/launcher/processes/child-process.ts";
import { RestartBudget } from "../../../../ts/launcher/processes/restarts/restart-budget.ts";
import { type LostProcess, runStateHolders } from "../../../../ts/launcher/processes/state-holders.ts";
import { Supervisor } from "../../../../ts/launcher/processes/supervisor.ts";

let runDir: string;
let supervisor: Supervisor;
let started: RunChild[][];
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-holders-"));
  for (const folder of ["logs", "run"]) await mkdir(join(runDir, folder));
  supervisor = new Supervisor(runDir);
  started = [];
});
afterEach(async () => {
  await supervisor.stop();
  await rm(runDir, { recursive: true, force: true });
});

const spec = (component: string, script: string): ChildSpec => ({
  component,
  index: 0,
  command: "/bin/sh",
  args: ["-c", script],
  logs: join(runDir, "logs"),
  finishes: true,
});

/** Runs a trainer that ends as `script` says beside an orchestrator that waits; from the second start on both are done at once. */
async function run(script: string, most = 3, meanwhile = async () => {}): Promise<LostProcess[]> {
  const losses: LostProcess[] = [];
  await runStateHolders(supervisor, [spec("trainer", script), spec("orchestrator", "exec sleep 600")], {
    runDir,
    budget: new RestartBudget({ most, windowMs: 3_600_000 }),
    ready: async (children) => void started.push([...children]),
    onReady: () => undefined,
    goBack: async (lost) => {
      losses.push(lost);
      await meanwhile();
      expect(started.at(-1)?.map(({ exit }) => exit !== null)).toEqual([true, true]);
      return [spec("trainer", "exit 0"), spec("orchestrator", "exit 0")];
    },
  });
  return losses;
}

/** A shell script that leaves the note of a failure with this code and ends with 1. */
const failing = (code: string) =>
  `printf '{"pid": %d, "code": "${code}", "message": "so it is"}' $$ > '${runDir}/run/failure-trainer-0.json'; exit 1`;

test.each([
  ["is killed", "kill -9 $$", "signal SIGKILL"],
  ["crashes", "kill -SEGV $$", "signal SIGSEGV"],
  ["is asked to stop by something else", "exit 143", "exit code 143"],
])("a trainer that %s takes the run back, and the orchestrator with it", async (_what, script, exit) => {
  expect(await run(script)).toEqual([{ component: "trainer", index: 0, exit, pauseMs: 0, losses: 1 }]);
  expect(started).toHaveLength(2);
});

test("a trainer that has lost a process which it started takes the run back", async () => {
  expect(await run(failing("PRL_PROCESS_DIED"))).toMatchObject([{ component: "trainer", exit: "exit code 1" }]);
});

test("a trainer that gets no more memory counts as killed", async () => {
  expect(await run(failing("PRL_MEMORY"))).toMatchObject([{ component: "trainer", exit: "exit code 1" }]);
});

test("a trainer that cannot do the steps of a lost one again takes the run back", async () => {
  expect(await run(failing("PRL_TRAIN_REPLAY"))).toMatchObject([{ component: "trainer", exit: "exit code 1" }]);
});

test.each(["PRL_IO", "PRL_CONFIG_INVALID", "PRL_TRAIN_NON_FINITE", "PRL_TRAIN_DIFFERS"])(
  "a trainer that fails by itself with %s fails the run with that code",
  async (code) => {
    await expect(run(failing(code))).rejects.toMatchObject({ code, message: "trainer-0: so it is" });
    expect(started).toHaveLength(1);
  },
);

test("an exit code without a note fails the run", async () => {
  await expect(run("exit 3")).rejects.toMatchObject({ code: "PRL_PROCESS_DIED" });
});

test("a note that another process in its place has left is not its own", async () => {
  const note = JSON.stringify({ pid: 1, code: "PRL_IO", message: "old" });
  await writeFile(join(runDir, "run/failure-trainer-0.json"), note);
  expect(await run("kill -9 $$")).toHaveLength(1);
});

test("a spent budget fails the run and says how to go on", async () => {
  const advice = /signal SIGKILL; go on with --resume, from the newest checkpoint/u;
  await expect(run("kill -9 $$", 0)).rejects.toMatchObject({
    code: "PRL_PROCESS_DIED",
    message: expect.stringMatching(advice) as string,
  });
});

test("a run that has ended meanwhile starts nothing again", async () => {
  await expect(run("kill -9 $$", 3, () => supervisor.stop())).rejects.toMatchObject({ code: "PRL_RUN_INTERRUPTED" });
  expect(supervisor.children).toHaveLength(2);
});

/**
 * A trainer that does `trainer` beside an orchestrator that ends as `script` says; `taken` are the scripts of those that take its place, one after the
 * other. A file `lost` appears when the orchestrator is lost. `waits`: nothing takes its place before the run has gone back.
 */
async function runAlone(script: string, taken: readonly string[], { trainer = "exit 0", waits = false } = {}) {
  const calls: string[] = [];
  const scripts = [...taken];
  let goneBack: () => void = () => undefined;
  const back = new Promise<void>((resolve) => (goneBack = resolve));
  await runStateHolders(supervisor, [spec("trainer", trainer), spec("orchestrator", script)], {
    runDir,
    budget: new RestartBudget({ most: 5, windowMs: 3_600_000 }),
    onReady: () => undefined,
    takeOver: async ({ component, exit }, others) => {
      calls.push(`${component} ${exit} beside ${others.map(({ name }) => name).join()}`);
      await writeFile(join(runDir, "lost"), "");
      if (waits && component === "orchestrator") await back;
      const next = scripts.shift();
      return component === "trainer" || next === undefined ? null : spec("orchestrator", next);
    },
    goBack: async ({ component }) => {
      calls.push(`back for ${component}`);
      goneBack();
      return [spec("trainer", "exit 0"), spec("orchestrator", "exit 0")];
    },
  });
  return calls;
}

describe("an orchestrator that is lost", () => {
  const lost = "orchestrator signal SIGKILL beside trainer-0";
  const whenLost = (then: string) => `while [ ! -e '${runDir}/lost' ]; do sleep 0.02; done; ${then}`;

  test("is replaced while the trainer goes on, again and again", async () => {
    expect(await runAlone("kill -9 $$", ["kill -9 $$", "exit 0"], { trainer: whenLost("exit 0") })).toEqual([
      lost,
      lost,
    ]);
    expect(supervisor.children.map(({ component }) => component)).toEqual([
      "trainer",
      ...Array<string>(3).fill("orchestrator"),
    ]);
    expect(supervisor.children[0]?.exit).toEqual({ code: 0, signal: null });
  });

  test("takes the trainer back with it when nothing can take its place", async () => {
    expect(await runAlone("kill -9 $$", [], { trainer: "sleep 600" })).toEqual([lost, "back for orchestrator"]);
    expect(supervisor.children).toHaveLength(4);
  });

  test("takes the run back when the trainer fails because it is missing", async () => {
    const options = { trainer: whenLost(failing("PRL_IO")), waits: true };
    expect(await runAlone("kill -9 $$", ["exit 0"], options)).toEqual([lost, "back for orchestrator"]);
  });

  test("takes the run back when the trainer is lost beside it", async () => {
    const calls = await runAlone("kill -9 $$", ["exit 0"], { trainer: whenLost("kill -9 $$"), waits: true });
    expect(calls).toEqual([lost, "trainer signal SIGKILL beside orchestrator-0", "back for trainer"]);
  });

  test("is started again at once when the run came further with it, else after a pause", async () => {
    const pauses: number[] = [];
    /** Is killed as soon as the file of this number is there. */
    const until = (number: number) =>
      spec("orchestrator", `while [ ! -e '${runDir}/go-${number}' ]; do sleep 0.02; done; kill -9 $$`);
    const orchestrators = () => supervisor.children.filter(({ component }) => component === "orchestrator").length;
    const ended = runStateHolders(supervisor, [spec("trainer", "exit 0"), until(1)], {
      runDir,
      budget: new RestartBudget({ most: 5, windowMs: 3_600_000 }),
      onReady: () => undefined,
      takeOver: async ({ pauseMs }) => {
        pauses.push(pauseMs);
        return pauses.length < 4 ? until(pauses.length + 1) : spec("orchestrator", "exit 0");
      },
      goBack: () => Promise.reject(new Error("nothing goes back")),
    });
    for (const [number, step] of [1, 1, 2, 2].entries()) {
      await expect.poll(orchestrators, { timeout: 60_000 }).toBe(number + 1);
      supervisor.furthest.note({ component: "orchestrator", step });
      await writeFile(join(runDir, `go-${number + 1}`), "");
    }
    await ended;
    expect(pauses).toEqual([0, 250, 0, 250]);
  });

  test("fails the run when what takes its place fails by itself", async () => {
    const ended = runAlone("kill -9 $$", ["exit 3"], { trainer: "sleep 600" });
    await expect(ended).rejects.toMatchObject({ code: "PRL_PROCESS_DIED" });
  });
});
