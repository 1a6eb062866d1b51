import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { LineFollower } from "../../../ts/files/line-follower.ts";
import { rotatedPath, rotateLog } from "../../../ts/files/rotated-log.ts";
import { LogRotation } from "../../../ts/launcher/processes/log-rotation.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "prl-rotate-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What is there of a log and its rotated ones, the oldest first. */
function kept(log: string): string {
  const ages = Array.from({ length: 100 }, (_, i) => rotatedPath(log, 100 - i)).filter((path) => existsSync(path));
  return [...ages, log].map((path) => readFileSync(path, "utf8")).join("");
}

describe("a rotated log", () => {
  test("keeps what its writer appends, in order, within its limits, and a reader gets every line once", async () => {
    const line = fc.string({ unit: "binary", maxLength: 40 }).map((text) => `${text.replaceAll("\n", " ")}\n`);
    const limits = fc.record({ maxBytes: fc.integer({ min: 1, max: 120 }), keep: fc.integer({ min: 1, max: 4 }) });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(line, fc.boolean())), limits, async (acts, { maxBytes, keep }) => {
        const log = join(folder, `${count++}.log`);
        // The writer keeps the file open, as a process does.
        const writer = openSync(log, "a");
        const follower = new LineFollower(log, 0, 256);
        let read = "";
        try {
          for (const [text, isRotated] of acts) {
            writeSync(writer, text);
            for await (const piece of follower.poll()) read += piece;
            writeSync(writer, text);
            if (isRotated) await rotateLog(log, { maxBytes, keep });
            if (isRotated) expect(statSync(log).size).toBeLessThanOrEqual(maxBytes);
            for await (const piece of follower.poll()) read += piece;
          }
        } finally {
          closeSync(writer);
        }
        const all = acts.map(([text]) => text + text).join("");
        expect(read).toBe(all);
        expect(all.endsWith(kept(log))).toBe(true);
        const names = readdirSync(folder).filter((name) => name.startsWith(`${count - 1}.log.`));
        expect(names.length).toBeLessThanOrEqual(keep);
        expect(names).not.toContain(`${count - 1}.log.0`);
        if (acts.every(([, isRotated]) => !isRotated)) expect(names).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  test("is not there twice: a lower limit removes older ones, a file that is missing is no error", async () => {
    const log = join(folder, "a.log");
    for (const age of [1, 2, 3]) writeFileSync(rotatedPath(log, age), `old ${age}`);
    writeFileSync(log, "new");
    expect(await rotateLog(log, { maxBytes: 2, keep: 2 })).toBe(true);
    expect(await rotateLog(join(folder, "none.log"), { maxBytes: 2, keep: 2 })).toBe(false);
    expect(readdirSync(folder).toSorted()).toEqual(["a.log", "a.log.1", "a.log.2"]);
    expect(kept(log)).toBe("old 1new");
  });

  test.runIf(process.getuid?.() === 0)("stays as it is when the disk is full", async () => {
    mkdirSync(join(folder, "small"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "prl-test", join(folder, "small")]);
    try {
      const log = join(folder, "small", "a.log");
      writeFileSync(log, "x".repeat(50_000));
      await expect(rotateLog(log, { maxBytes: 10, keep: 2 })).rejects.toThrow(/cannot rotate the log .*a\.log/u);
      expect(readFileSync(log, "utf8")).toHaveLength(50_000);
      expect(readdirSync(join(folder, "small"))).toEqual(["a.log"]);
    } finally {
      execFileSync("umount", [join(folder, "small")]);
    }
  });
});

describe("the rotation of a run's logs", () => {
  test("rotates the logs of this attempt and those that it links to, and says once what it cannot do", async () => {
    const [before, now] = [join(folder, "attempt_1"), join(folder, "attempt_2")];
    mkdirSync(before);
    mkdirSync(now);
    writeFileSync(join(before, "inference-0.log"), "12345");
    symlinkSync("../attempt_1/inference-0.log", join(now, "inference-0.log"));
    symlinkSync("nowhere.log", join(now, "broken.log"));
    writeFileSync(join(now, "trainer-0.log"), "12345");
    writeFileSync(join(now, "small-0.log"), "1");
    writeFileSync(join(now, "notes.txt"), "12345");
    const failures: unknown[] = [];
    const rotation = new LogRotation(
      folder,
      () => now,
      { maxBytes: 2, keep: 1, attempts: 2 },
      (error) => failures.push(error),
    );
    await Promise.all([rotation.look(), rotation.look()]);
    expect(readdirSync(before).toSorted()).toEqual(["inference-0.log", "inference-0.log.1"]);
    expect(readdirSync(now).toSorted()).toEqual([
      "broken.log",
      "inference-0.log",
      "notes.txt",
      "small-0.log",
      "trainer-0.log",
      "trainer-0.log.1",
    ]);
    expect(failures).toEqual([]);
    // A folder where the copy would be.
    mkdirSync(join(now, "small-0.log.0"));
    writeFileSync(join(now, "small-0.log"), "12345");
    await rotation.look();
    await rotation.look();
    expect(failures).toHaveLength(1);
    await rotation.stop();
  });
});
