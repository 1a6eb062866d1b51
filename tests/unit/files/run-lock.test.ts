/** Who may have a run directory: one process at a time, also when several want it at the same moment. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { assertUnlocked, lockHolder, processStart, releaseLock, takeLock } from "../../../ts/files/run-lock.ts";
import { MODULE_LOADER, modulePath } from "../../support/compiled.ts";

const MODULE = modulePath("files/run-lock.ts");
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

test.runIf(process.platform === "linux")(
  "a process that has ended is gone, though its parent has not asked how it ended",
  async () => {
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
  },
);

test("files of processes that are gone do not count, and are removed", async () => {
  await mkdir(join(runDir, "run"));
  await writeFile(join(runDir, "run/lock-1073741824.json"), JSON.stringify({ pid: 2 ** 30, started: "1", held: true }));
  await writeFile(join(runDir, "run/lock-1.json"), JSON.stringify({ pid: 1, started: "another process", held: true }));
  await takeLock(runDir);
  expect(await readdir(join(runDir, "run"))).toEqual([`lock-${process.pid}.json`]);
});

/** For each line, a time: takes the lock then, says what came of it, and leaves the lock with the next line. */
const SCRIPT = `
  import { createInterface } from "node:readline";
  const { takeLock, releaseLock } = await import(process.argv[2]);
  const dir = process.argv[3];
  const say = (text) => process.stdout.write(text + "\\n");
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  say("ready");
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    while (Date.now() < Number(line.value));
    const error = await takeLock(dir).then(() => null, (thrown) => thrown);
    say(error === null ? "has it" : error.code + " " + error.message);
    await lines.next();
    if (error === null) await releaseLock(dir);
    say("ready");
  }
`;

/** The next text of each process; empty of one that has ended. */
function said(rivals: readonly ChildProcessWithoutNullStreams[]): Promise<string[]> {
  const texts = rivals.map(
    (rival) =>
      new Promise<string>((resolve) => {
        rival.stdout.once("data", (data) => resolve(String(data)));
        rival.once("close", () => resolve(""));
      }),
  );
  return Promise.all(texts);
}

test("of several processes at the same moment exactly one has it, and the others name it", async () => {
  const script = join(runDir, "take.mjs");
  await writeFile(script, SCRIPT);
  const args = [...MODULE_LOADER, script, MODULE, runDir];
  const rivals = Array.from({ length: RIVALS }, () => spawn(process.execPath, args));
  const ended = Promise.all(rivals.map((rival) => once(rival, "close")));
  const tell = (line: string) => rivals.forEach(({ stdin }) => stdin.write(`${line}\n`));
  const ready = rivals.map(() => "ready\n");
  expect(await said(rivals)).toEqual(ready);
  for (let round = 0; round < 3; round++) {
    tell(String(Date.now() + 200));
    const answers = await said(rivals);
    const winners = rivals.filter((_, i) => answers[i] === "has it\n");
    expect(winners).toHaveLength(1);
    const others = answers.filter((answer) => answer !== "has it\n");
    for (const answer of others) expect(answer).toMatch(new RegExp(`^PRL_RUN_LOCKED .*process ${winners[0]?.pid}:`));
    tell("");
    expect(await said(rivals)).toEqual(ready);
  }
  for (const { stdin } of rivals) stdin.end();
  await ended;
  expect(await lockHolder(runDir)).toBeNull();
});
