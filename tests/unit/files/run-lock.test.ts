/** Who may have a run directory: one process at a time, also when several want it at the same moment. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

import { assertUnlocked, lockHolder, processStart, releaseLock, takeLock } from "../../../ts/files/run-lock.ts";

const MODULE = pathToFileURL(join(import.meta.dirname, "../../../dist/files/run-lock.js")).href;
const RIVALS = 6;

let runDir: string;
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-lock-"));
});
afterEach(async () => {
  await releaseLock(runDir);
  await rm(runDir, { recursive: true, force: true });
});

test("a directory is taken once, and free again when it is released", async () => {
  await takeLock(runDir);
  expect(await lockHolder(runDir)).toBe(process.pid);
  await expect(takeLock(runDir)).rejects.toMatchObject({ code: "PRL_RUN_LOCKED" });
  await expect(assertUnlocked(runDir)).rejects.toThrow(`process ${process.pid}`);
  await releaseLock(runDir);
  expect(await lockHolder(runDir)).toBeNull();
  expect(await readdir(join(runDir, "run"))).toEqual([]);
});

test("a process that has ended is gone, though its parent has not asked how it ended", async () => {
  // The child ends when it may: once its parent is a program that never waits for its children.
  const parent = spawn("sh", ["-c", "exec 3<&0; read _ <&3 & echo $!; exec sleep 60"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  try {
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(String(line));
    await expect.poll(() => readFile(`/proc/${parent.pid}/comm`, "utf8"), { timeout: 10_000 }).toBe("sleep\n");
    parent.stdin.end();
    await expect.poll(() => processStart(pid), { timeout: 10_000 }).toBe(null);
    expect(await readFile(`/proc/${pid}/stat`, "utf8")).toContain(") Z ");
    expect(await processStart(process.pid)).toMatch(/^\d+$/);
  } finally {
    parent.kill("SIGKILL");
  }
});

test("files of processes that are gone do not count, and are removed", async () => {
  await mkdir(join(runDir, "run"));
  await writeFile(join(runDir, "run/lock-1073741824.json"), JSON.stringify({ pid: 2 ** 30, started: "1", held: true }));
  await writeFile(join(runDir, "run/lock-1.json"), JSON.stringify({ pid: 1, started: "another process", held: true }));
  await takeLock(runDir);
  expect(await readdir(join(runDir, "run"))).toEqual([`lock-${process.pid}.json`]);
});

/** Takes the lock at `at`, says so, holds it until its standard input ends. */
const SCRIPT = `
  const { takeLock, releaseLock } = await import(process.argv[2]);
  const dir = process.argv[3];
  while (Date.now() < Number(process.argv[4]));
  try {
    await takeLock(dir);
    process.stdout.write("has it\\n");
    for await (const _ of process.stdin);
    await releaseLock(dir);
  } catch (error) {
    process.stdout.write(error.code + " " + error.message + "\\n");
  }
`;

test("of several processes at the same moment exactly one has it, and the others name it", async () => {
  const script = join(runDir, "take.mjs");
  await writeFile(script, SCRIPT);
  for (let round = 0; round < 3; round++) {
    const at = String(Date.now() + 1_500);
    const rivals = Array.from({ length: RIVALS }, () => spawn(process.execPath, [script, MODULE, runDir, at]));
    const ended = Promise.all(rivals.map((rival) => new Promise((resolve) => rival.once("close", resolve))));
    const answers = await Promise.all(
      rivals.map(
        (rival) => new Promise<string>((resolve) => rival.stdout.once("data", (data) => resolve(String(data)))),
      ),
    );
    const winners = rivals.filter((_, i) => answers[i] === "has it\n");
    expect(winners).toHaveLength(1);
    const others = answers.filter((answer) => answer !== "has it\n");
    for (const answer of others) expect(answer).toMatch(new RegExp(`^PRL_RUN_LOCKED .*process ${winners[0]?.pid}:`));
    for (const rival of rivals) rival.stdin.end();
    await ended;
  }
  expect(await lockHolder(runDir)).toBeNull();
});
