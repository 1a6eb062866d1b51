import fc from "fast-check";
import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { runCommandLine } from "../../../../ts/cli/dispatch.ts";
import { LogTail } from "../../../../ts/cli/runs/log-tail.ts";
import { latestLogs, temporaryFolder, writeRun } from "./run-fixture.ts";
import { start } from "../../../support/prl.ts";
import { prl } from "../run.ts";

const SOON = { timeout: 15_000 };

async function loggedRun(folder: string, name = "a"): Promise<string> {
  const runDir = await writeRun(folder, name, {
    "logs/attempt_1/trainer-0.log": "of the first attempt\n",
    "logs/attempt_2/trainer-0.log": "ready\nstep 1\u001b[31m\n",
    "logs/attempt_2/inference-0.log": "listening\nno newline",
    "logs/attempt_2/inference-1.log": "",
  });
  await latestLogs(runDir, "attempt_2");
  return runDir;
}

/** This process has the run, until the test says otherwise. */
async function lock(runDir: string): Promise<() => Promise<void>> {
  const stat = await readFile("/proc/self/stat", "utf8");
  const started = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  await writeRun(join(runDir, ".."), runDir.split("/").at(-1) ?? "", {
    "run/lock-1.json": { pid: process.pid, started },
  });
  return () => rm(join(runDir, "run", "lock-1.json"), { force: true });
}

function follow(folder: string, ...args: string[]): { code: Promise<number>; text: () => string } {
  let text = "";
  const code = runCommandLine(["logs", "-f", ...args, "--output-dir", folder], {
    stdout: { write: (more) => (text += more) },
    stderr: { write: (more) => (text += more) },
    env: {},
    cwd: folder,
  });
  return { code, text: () => text };
}

describe("prl logs", () => {
  test("reads a run where the native addon is not built: no import loads it", async () => {
    const folder = await temporaryFolder();
    await loggedRun(folder);
    const env = { PRL_NATIVE_ADDON: join(folder, "not-built.js") };
    const reader = await start(["logs", "--output-dir", folder], { cwd: folder, cache: folder, env }).finished;
    expect([reader.code, reader.stderr]).toEqual([0, ""]);
    expect(reader.stdout).toContain("inference-0 | listening");
  });

  test("the newest attempt's lines behind the name of their process", async () => {
    const folder = await temporaryFolder();
    await loggedRun(folder);
    expect(await prl(["logs", "--output-dir", folder])).toEqual({
      code: 0,
      stdout: [
        "inference-0 | listening",
        "inference-0 | no newline",
        "trainer-0   | ready",
        "trainer-0   | step 1\ufffd[31m",
        "",
      ].join("\n"),
      stderr: "",
    });
  });

  test("a run, a component, one of its processes, the last lines, JSON", async () => {
    const folder = await temporaryFolder();
    await loggedRun(folder, "older");
    await loggedRun(folder, "trainer-run");
    const logs = async (...args: string[]) => (await prl(["logs", ...args, "--output-dir", folder])).stdout;
    expect(await logs("older", "trainer", "--lines", "1")).toBe("trainer-0 | step 1\ufffd[31m\n");
    expect(await logs("inference-0", "--lines=1")).toBe("inference-0 | no newline\n");
    expect(JSON.parse(await logs("older", "inference", "--json"))).toEqual({
      run: "older",
      run_dir: join(folder, "older"),
      logs: { "inference-0": ["listening", "no newline"] },
    });
  });

  test("without a name it is the run that was started last", async () => {
    const folder = await temporaryFolder();
    await loggedRun(folder, "z");
    // Links carry the time at which they were made, in steps of the file system's clock.
    await new Promise((resolve) => setTimeout(resolve, 30));
    await loggedRun(folder, "a");
    expect(JSON.parse((await prl(["logs", "--json", "--output-dir", folder])).stdout)).toMatchObject({ run: "a" });
  });

  test("an unknown name is answered with the known ones", async () => {
    const folder = await temporaryFolder();
    await loggedRun(folder);
    const component = await prl(["logs", "a", "traner", "--output-dir", folder]);
    expect(component).toMatchObject({ code: 2, stdout: "" });
    expect(component.stderr).toContain("only of inference-0, inference-1, trainer-0");
    const neither = await prl(["logs", "whatever", "--output-dir", folder]);
    expect(neither).toMatchObject({ code: 2 });
    expect(neither.stderr).toMatch(/no run "whatever".*newest run, a: inference-0, inference-1, trainer-0/);
    await writeRun(folder, "bare", {});
    expect((await prl(["logs", "bare", "--output-dir", folder])).stderr).toContain("has no logs");
    expect((await prl(["logs"], folder)).stderr).toContain("no run in");
    expect((await prl(["logs", "-f", "--json"], folder)).stderr).toContain("PRL_CLI_USAGE");
  });
});

describe("prl logs -f", () => {
  test("follows old and new processes, and a new attempt, until the run ends", async () => {
    const folder = await temporaryFolder();
    const runDir = await loggedRun(folder);
    const release = await lock(runDir);
    const { code, text } = follow(folder, "a");
    await vi.waitFor(() => expect(text()).toContain("inference-0 | listening\n"), SOON);
    expect(text()).not.toContain("no newline");
    await appendFile(join(runDir, "logs/attempt_2/inference-0.log"), " yet\n");
    await writeFile(join(runDir, "logs/attempt_2/env-worker-0.log"), "joined\n");
    await vi.waitFor(() => expect(text()).toMatch(/inference-0 \| no newline yet\n[^]*env-worker-0 \| joined\n/), SOON);
    await writeRun(folder, "a", { "logs/attempt_3/trainer-0.log": "resumed\n" });
    await latestLogs(runDir, "attempt_3");
    await vi.waitFor(() => expect(text()).toContain("trainer-0   | resumed\n"), SOON);
    await appendFile(join(runDir, "logs/attempt_3/trainer-0.log"), "last words");
    await release();
    expect(await code).toBe(0);
    expect(text()).toMatch(/trainer-0 {3}\| last words\n$/);
  });

  test("ends at once when the run has ended, and on Ctrl-C", async () => {
    const folder = await temporaryFolder();
    const runDir = await loggedRun(folder);
    expect(await follow(folder, "a", "trainer").code).toBe(0);
    const release = await lock(runDir);
    onTestFinished(release);
    const { code, text } = follow(folder, "a", "trainer");
    await vi.waitFor(() => expect(text()).toContain("ready"), SOON);
    process.emit("SIGINT");
    expect(await code).toBe(130);
  });
});

describe("the tail of a log", () => {
  test("however a file grows, its lines come once and in order", async () => {
    const folder = await temporaryFolder();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.stringMatching(/^[a-zü\n]{0,20}$/)), async (pieces) => {
        const path = join(folder, `${count++}.log`);
        const tail = new LogTail(path);
        const lines: string[] = [];
        for (const piece of pieces) {
          await appendFile(path, piece);
          await tail.poll((line) => lines.push(line));
        }
        await tail.end((line) => lines.push(line));
        const expected = pieces.join("").split("\n");
        if (expected.at(-1) === "") expected.pop();
        expect(lines).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  test("an endless line comes in pieces", async () => {
    const path = join(await temporaryFolder(), "a.log");
    await writeFile(path, "x".repeat(300_000));
    const lengths: number[] = [];
    const tail = new LogTail(path);
    await tail.poll((line) => lengths.push(line.length));
    await tail.end((line) => lengths.push(line.length));
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(300_000);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(128 * 1024);
  });
});
