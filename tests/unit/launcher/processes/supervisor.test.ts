import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { ChildSpec } from "../../../../ts/launcher/processes/child-process.ts";
import { MetricsTail } from "../../../../ts/monitors/index.ts";
import { runStage } from "../../../../ts/launcher/run/stage.ts";
import { Supervisor, SUPERVISOR_TIMES } from "../../../../ts/launcher/processes/supervisor.ts";
import { MODULE_LOADER, modulePath } from "../../../support/compiled.ts";

const JOIN = `import { joinRun } from ${JSON.stringify(modulePath("monitors/lifeline.ts"))};`;
/** Long enough for a loaded machine; no test waits for it when all is well. */
const PATIENCE_MS = 20_000;

let runDir: string;
let started: number[];
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-supervisor-"));
  await mkdir(join(runDir, "logs"));
  started = [];
});
afterEach(async () => {
  for (const pid of started) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await rm(runDir, { recursive: true, force: true });
});

async function spec(component: string, source: string, finishes = false, index = 0): Promise<ChildSpec> {
  const script = join(runDir, `${component}-${index}.mjs`);
  await writeFile(script, source);
  const args = [...MODULE_LOADER, script, runDir];
  return { component, index, command: process.execPath, args, logs: join(runDir, "logs"), finishes };
}

/** A child of a run as it should be: heartbeats, ready file, then works until it is stopped. */
const member = (component: string, index = 0): string => `${JOIN}
  const member = joinRun({ component: "${component}", index: ${index}, runDir: process.argv[2] });
  await member.ready({ version: 0 });
  setInterval(() => {}, 1000);`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("what was waited for did not happen");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A child that ends with this code when it is asked to end with a checkpoint; null: it never does. */
const holder = (component: string, code: number | null): string => `${member(component)}
  // The request may come before this line.
  const end = () => ${code === null ? "undefined" : `process.exit(${code})`};
  if (member.endAsked.aborted) end();
  member.endAsked.addEventListener("abort", end);`;

describe("Supervisor.endWithCheckpoint", () => {
  it.each([
    ["all end with 0", [0, 0], PATIENCE_MS, true],
    ["one fails", [0, 1], PATIENCE_MS, false],
    ["one takes too long", [0, null], 300, false],
  ] as const)("says whether the checkpoint was made: %s", async (_what, codes, limitMs, isMade) => {
    const supervisor = new Supervisor(runDir);
    let wasAsked = 0;
    try {
      const children = [];
      for (const [index, code] of codes.entries())
        children.push(
          supervisor.start({ ...(await spec(`holder${index}`, holder(`holder${index}`, code))), checkpoints: true }),
        );
      // One that holds no state is not asked, and goes on.
      const other = supervisor.start(await spec("other", holder("other", 0)));
      await supervisor.ready([...children, other], PATIENCE_MS);
      expect(await supervisor.endWithCheckpoint(limitMs, () => (wasAsked += 1))).toBe(isMade);
      expect(wasAsked).toBe(1);
      expect(other.exit).toBeNull();
      const late = await spec("late", "");
      expect(() => supervisor.start(late)).toThrow(expect.objectContaining({ code: "PRL_RUN_INTERRUPTED" }));
    } finally {
      await supervisor.stop();
    }
  });

  it("asks none when one of them is not ready, has ended, or there are none", async () => {
    const supervisor = new Supervisor(runDir);
    const fail = (): never => {
      throw new Error("it must not be asked");
    };
    try {
      expect(await supervisor.endWithCheckpoint(PATIENCE_MS, fail)).toBe(false);
    } finally {
      await supervisor.stop();
    }
    const second = new Supervisor(runDir);
    try {
      const ready = second.start({ ...(await spec("ready", holder("ready", 0))), checkpoints: true });
      second.start({ ...(await spec("slow", "setInterval(() => {}, 1000)")), checkpoints: true });
      await second.ready([ready], PATIENCE_MS);
      expect(await second.endWithCheckpoint(PATIENCE_MS, fail)).toBe(false);
    } finally {
      await second.stop();
    }
  });
});

describe("Supervisor", () => {
  it("waits for ready files and stops running children", async () => {
    const supervisor = new Supervisor(runDir);
    const children = [
      supervisor.start(await spec("inference", member("inference"))),
      supervisor.start(await spec("inference", member("inference", 1), false, 1)),
    ];
    await supervisor.ready(children, PATIENCE_MS);
    const ready = JSON.parse(await readFile(join(runDir, "run/inference-1.json"), "utf8")) as Record<string, unknown>;
    expect(ready).toMatchObject({ pid: children[1]?.pid, version: 0 });
    await supervisor.stop();
    expect(children.map((child) => isAlive(child.pid ?? 0))).toEqual([false, false]);
  });

  it("names a child that dies, how it ended and the end of its log", async () => {
    const supervisor = new Supervisor(runDir);
    const healthy = supervisor.start(await spec("inference", member("inference")));
    const source = `for (let i = 0; i < 100; i++) console.log("line " + i); console.error("out of cheese"); process.exit(3);`;
    supervisor.start(await spec("trainer", source, true));
    const failure = await supervisor.failure.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "PRL_PROCESS_DIED" });
    expect(String(failure)).toMatch(/trainer-0 ended unexpectedly: exit code 3.*trainer-0\.log/s);
    expect(String(failure)).toContain("  out of cheese");
    expect(String(failure)).not.toContain("line 50\n");
    await supervisor.stop();
    expect(isAlive(healthy.pid ?? 0)).toBe(false);
  });

  it("takes the code from a child's failure note; the note of another process, or with a foreign code, does not count", async () => {
    const noted = (
      error: string,
      pid = "process.pid",
    ) => `${JOIN} import { noteFailure } from ${JSON.stringify(modulePath("failure-note.ts"))};
      import { PrlError } from ${JSON.stringify(modulePath("errors.ts"))};
      joinRun({ component: "trainer", index: 0, runDir: process.argv[2] });
      Object.defineProperty(process, "pid", { value: ${pid} });
      noteFailure(${error});
      process.exit(1);`;
    const failureOf = async (source: string) => {
      const supervisor = new Supervisor(runDir);
      supervisor.start(await spec("trainer", source, true));
      const failure = await supervisor.failure.catch((error: unknown) => error);
      await supervisor.stop();
      return failure;
    };
    const own = 'new PrlError("PRL_LOSS_DEADLINE", "the loss is late", { cause: new Error("it sleeps") })';
    expect(await failureOf(noted(own))).toMatchObject({
      code: "PRL_LOSS_DEADLINE",
      message: "trainer-0: the loss is late\ncaused by: it sleeps",
      cause: {
        code: "PRL_PROCESS_DIED",
        message: expect.stringContaining("trainer-0 ended unexpectedly: exit code 1") as string,
      },
    });
    for (const source of [noted(own, "1"), noted('new Error("no code")')]) {
      expect(await failureOf(source)).toMatchObject({ code: "PRL_PROCESS_DIED" });
    }
  });

  it("names the signal, and takes exit code 0 as a failure of one that should go on", async () => {
    const killed = new Supervisor(runDir);
    const child = killed.start(await spec("trainer", member("trainer"), true));
    await killed.ready([child], PATIENCE_MS);
    child.signal("SIGKILL");
    await expect(killed.failure).rejects.toThrow("trainer-0 ended unexpectedly: signal SIGKILL");
    await killed.stop();

    const ended = new Supervisor(runDir);
    ended.start(await spec("inference", ""));
    await expect(ended.failure).rejects.toThrow(/inference-0 ended unexpectedly: exit code 0.*log is empty/s);
    await ended.stop();
  });

  it("lets a child that finishes end with exit code 0", async () => {
    const supervisor = new Supervisor(runDir);
    await supervisor.finished(supervisor.start(await spec("trainer", "", true)));
    await supervisor.stop();
  });

  it("names a program that cannot be started", async () => {
    const supervisor = new Supervisor(runDir);
    supervisor.start({ ...(await spec("trainer", "", true)), command: join(runDir, "no-such-program") });
    await expect(supervisor.failure).rejects.toThrow("trainer-0 ended unexpectedly: it could not be started");
    await supervisor.stop();
  });

  it("names one that is not ready in time, with its log", async () => {
    const supervisor = new Supervisor(runDir);
    const child = supervisor.start(await spec("inference", `console.log("loading"); setInterval(() => {}, 1000);`));
    await until(async () => (await child.logTail()).includes("loading"));
    const late = supervisor.ready([child], 50);
    await expect(late).rejects.toMatchObject({ code: "PRL_PROCESS_NOT_READY" });
    await expect(late).rejects.toThrow(/inference-0 was not ready.*inference-0\.log.*loading/s);
    await supervisor.stop();
  });

  it("fails a child whose heartbeats stop", async () => {
    const supervisor = new Supervisor(runDir, { ...SUPERVISOR_TIMES, heartbeatTimeoutMs: 2_500, graceMs: 100 });
    const beating = supervisor.start(await spec("inference", member("inference")));
    const busy = `${member("trainer")}\n for (;;) {}`;
    supervisor.start(await spec("trainer", busy, true));
    await expect(supervisor.failure).rejects.toThrow("trainer-0 gave no sign of life");
    expect(beating.exit).toBeNull();
    await supervisor.stop();
  });

  it("fails a child whose native work does not get on, although its main loop does", async () => {
    const times = { ...SUPERVISOR_TIMES, standstillMs: 3_000, graceMs: 100 };
    const supervisor = new Supervisor(runDir, times);
    const works = (component: string, standstill: string) =>
      `${JOIN} const began = Date.now();
        const member = joinRun({ component: "${component}", index: 0, runDir: process.argv[2], standstill: () => (${standstill}) });
        await member.ready(); setInterval(() => {}, 1000);`;
    const ms = "ms: Date.now() - began";
    const busy = supervisor.start(await spec("inference", works("inference", `{ work: "steps", ms: 2_000 }`)));
    supervisor.start(await spec("trainer", works("trainer", `{ work: "step", ${ms} }`), true));
    await expect(supervisor.failure).rejects.toThrow(/trainer-0 has native work \(step\) that has not got on for 3 s/u);
    expect(busy.exit).toBeNull();
    await supervisor.stop();
  });

  it("does not count the time to start as silence, however loaded the machine is, but does not wait for ever", async () => {
    const times = { ...SUPERVISOR_TIMES, heartbeatTimeoutMs: 2_500, graceMs: 100 };
    const slow = `await new Promise((resolve) => setTimeout(resolve, 4_000));\n${member("trainer")}`;
    const supervisor = new Supervisor(runDir, times);
    const blocked = `${JOIN} joinRun({ component: "env-worker", index: 0, runDir: process.argv[2] });
      const end = Date.now() + 4_000; while (Date.now() < end);`;
    const worker = supervisor.start(await spec("env-worker", blocked, true));
    await supervisor.ready([supervisor.start(await spec("trainer", slow))], PATIENCE_MS);
    await supervisor.finished(worker);
    await supervisor.stop();

    const never = new Supervisor(runDir, { ...times, startMs: 1_500 });
    never.start(await spec("orchestrator", "setInterval(() => {}, 1000);"));
    await expect(never.failure).rejects.toThrow(
      /orchestrator-0 gave no sign of life for 2 s while it started; the machine/,
    );
    await never.stop();
  });

  it("names the full disk that left a child no room for a word", async () => {
    // Their one writable place takes nothing: what is written to them fails as on a full disk.
    const supervisor = new Supervisor(runDir, { ...SUPERVISOR_TIMES, graceMs: 100 });
    await symlink("/dev/full", join(runDir, "logs", "trainer-0.log"));
    await symlink("/dev/full", join(runDir, `.room-${process.pid}`));
    supervisor.start(await spec("trainer", `console.log("loading"); process.exit(1);`, true));
    const failure = await supervisor.failure.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "PRL_IO", cause: { code: "PRL_PROCESS_DIED" } });
    expect(String(failure)).toContain(`trainer-0: the disk of ${runDir} is full (ENOSPC); make room`);
    await supervisor.stop();
  });

  it("kills a child that ignores SIGTERM, and its children, within ten seconds", async () => {
    expect(SUPERVISOR_TIMES.graceMs + SUPERVISOR_TIMES.killMs).toBeLessThan(10_000);
    const supervisor = new Supervisor(runDir, { ...SUPERVISOR_TIMES, graceMs: 200 });
    const source = `import { spawn } from "node:child_process";
      import { writeFileSync, renameSync } from "node:fs";
      process.on("SIGTERM", () => {});
      const below = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
      writeFileSync(process.argv[2] + "/tmp", String(below.pid));
      renameSync(process.argv[2] + "/tmp", process.argv[2] + "/below");
      setInterval(() => {}, 1000);`;
    const child = supervisor.start(await spec("env-worker", source));
    await until(async () =>
      readFile(join(runDir, "below")).then(
        () => true,
        () => false,
      ),
    );
    const below = Number(await readFile(join(runDir, "below"), "utf8"));
    started.push(below);
    await supervisor.stop();
    expect(child.exit).toEqual({ code: null, signal: "SIGKILL" });
    await until(() => !isAlive(below));
  });

  it("leaves no child when the launcher is killed: they notice that their lifeline has ended", async () => {
    const child = await spec("inference", member("inference"));
    const deaf = await spec("trainer", `${member("trainer")}\n process.on("SIGTERM", () => {});`);
    const launcher = join(runDir, "launcher.mjs");
    await writeFile(
      launcher,
      `import { Supervisor } from ${JSON.stringify(modulePath("launcher/processes/supervisor.ts"))};
       const supervisor = new Supervisor(${JSON.stringify(runDir)});
       const children = ${JSON.stringify([child, deaf])}.map((spec) => supervisor.start(spec));
       await supervisor.ready(children, ${PATIENCE_MS});
       process.stdout.write(JSON.stringify(children.map((child) => child.pid)));
       setInterval(() => {}, 1000);`,
    );
    const running = spawn(process.execPath, [...MODULE_LOADER, launcher], { stdio: ["ignore", "pipe", "inherit"] });
    started.push(running.pid ?? 0);
    const pids = JSON.parse(await firstOutput(running)) as number[];
    started.push(...pids);
    expect(pids.map(isAlive)).toEqual([true, true]);
    running.kill("SIGKILL");
    // The deaf one is ended by its own deadline.
    await until(() => !pids.some(isAlive));
  });

  it("ends its children when the launcher exits", async () => {
    const child = await spec(
      "inference",
      `${JOIN} process.on("SIGTERM", () => {}); ${member("inference").replace(JOIN, "")}`,
    );
    const launcher = join(runDir, "launcher.mjs");
    await writeFile(
      launcher,
      `import { Supervisor } from ${JSON.stringify(modulePath("launcher/processes/supervisor.ts"))};
       const supervisor = new Supervisor(${JSON.stringify(runDir)});
       const child = supervisor.start(${JSON.stringify(child)});
       await supervisor.ready([child], ${PATIENCE_MS});
       process.stdout.write(String(child.pid), () => process.exit(7));`,
    );
    const running = spawn(process.execPath, [...MODULE_LOADER, launcher], { stdio: ["ignore", "pipe", "inherit"] });
    const pid = Number(await firstOutput(running));
    started.push(pid);
    await until(() => !isAlive(pid));
  });
});

describe("runStage", () => {
  it("is interrupted by its signal and leaves no child", async () => {
    const controller = new AbortController();
    const pids: number[] = [];
    const stage = {
      runDir,
      tail: new MetricsTail(join(runDir, "metrics.jsonl")),
      onLine: () => {},
      signal: controller.signal,
    };
    const run = runStage(stage, async (supervisor) => {
      const child = supervisor.start(await spec("trainer", member("trainer"), true));
      await supervisor.ready([child], PATIENCE_MS);
      pids.push(child.pid ?? 0);
      controller.abort("SIGINT");
      await supervisor.finished(child);
    });
    await expect(run).rejects.toMatchObject({
      code: "PRL_RUN_INTERRUPTED",
      message: "the run was interrupted by SIGINT",
    });
    expect(pids).toHaveLength(1);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("starts nothing any more when it was interrupted", async () => {
    const controller = new AbortController();
    const tail = new MetricsTail(join(runDir, "metrics.jsonl"));
    const stage = { runDir, tail, onLine: () => {}, signal: controller.signal };
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    let outcome: unknown;
    const run = runStage(stage, async (supervisor) => {
      // Configs are written before the first process is started.
      await gate;
      const trainer = await spec("trainer", "setInterval(() => {}, 1000);", true);
      try {
        const child = supervisor.start(trainer);
        started.push(child.pid ?? 0);
        outcome = child;
      } catch (error) {
        outcome = error;
      }
    });
    controller.abort("SIGINT");
    await expect(run).rejects.toMatchObject({ code: "PRL_RUN_INTERRUPTED" });
    goOn();
    await until(() => outcome !== undefined);
    expect(outcome).toMatchObject({ code: "PRL_RUN_INTERRUPTED" });
    let isCalled = false;
    await expect(
      runStage(stage, async () => {
        isCalled = true;
      }),
    ).rejects.toMatchObject({ code: "PRL_RUN_INTERRUPTED", message: "the run was interrupted by SIGINT" });
    expect(isCalled).toBe(false);
  });

  it("stops following the metrics when a child cannot be ended", async () => {
    let polls = 0;
    class Counted extends MetricsTail {
      override poll() {
        polls += 1;
        return super.poll();
      }
    }
    const tail = new Counted(join(runDir, "metrics.jsonl"));
    const supervisors: Supervisor[] = [];
    const onSupervisor = (supervisor: Supervisor): void => {
      supervisors.push(supervisor);
      supervisor.stop = async () => Promise.reject(new Error("not gone 3 s after SIGKILL"));
    };
    const { signal } = new AbortController();
    const run = runStage({ runDir, tail, onLine: () => {}, signal, onSupervisor }, async () => undefined);
    await expect(run).rejects.toThrow("not gone");
    const seen = polls;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(polls).toBe(seen);
    for (const supervisor of supervisors) await Supervisor.prototype.stop.call(supervisor);
  });

  it("hands on every line of the metrics, those of the last moment too", async () => {
    const source = `import { appendFileSync } from "node:fs";
      for (let step = 1; step <= 50; step++) {
        appendFileSync(process.argv[2] + "/metrics.jsonl", JSON.stringify({ component: "trainer", attempt: 1, step }) + "\\n");
      }`;
    const steps: number[] = [];
    const tail = new MetricsTail(join(runDir, "metrics.jsonl"));
    const signal = new AbortController().signal;
    await runStage({ runDir, tail, onLine: (line) => steps.push(line.step), signal }, async (supervisor) => {
      await supervisor.finished(supervisor.start(await spec("trainer", source, true)));
    });
    expect(steps).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  });
});

async function firstOutput(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once("data", (data) => resolve(String(data)));
    child.once("exit", (code) => reject(new Error(`ended with ${code} before it said anything`)));
  });
}
