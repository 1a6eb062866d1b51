/** The logs of a run and its events within their limits. */
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { allLines } from "../../../../ts/files/rotated-log.ts";
import { LogRotation } from "../../../../ts/launcher/processes/log-rotation.ts";

let runDir: string;
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-log-rotation-"));
});
afterEach(() => rm(runDir, { recursive: true }));

const attempts = async () => (await readdir(join(runDir, "logs"))).toSorted();

async function look(attempt: number, rules: { maxBytes: number; keep: number; attempts: number }): Promise<void> {
  const failures: unknown[] = [];
  const folder = join(runDir, "logs", `attempt_${attempt}`);
  const rotation = new LogRotation(
    runDir,
    () => folder,
    rules,
    (error) => failures.push(error),
  );
  await rotation.look();
  await rotation.stop();
  expect(failures).toEqual([]);
}

test("logs of old attempts go, except those into which a process that stays still writes", async () => {
  for (let attempt = 1; attempt <= 12; attempt++) {
    const folder = join(runDir, "logs", `attempt_${attempt}`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "trainer-0.log"), `attempt ${attempt}`);
    if (attempt === 4) await writeFile(join(folder, "inference-0.log"), "it began here");
    if (attempt > 4) await symlink("../attempt_4/inference-0.log", join(folder, "inference-0.log"));
  }
  const rules = { maxBytes: 1_000_000, keep: 1 };
  await look(12, { ...rules, attempts: 12 });
  expect(await attempts()).toHaveLength(12);
  await look(12, { ...rules, attempts: 3 });
  expect(await attempts()).toEqual(["attempt_10", "attempt_11", "attempt_12", "attempt_4"]);
  expect(await readFile(join(runDir, "logs/attempt_12/inference-0.log"), "utf8")).toBe("it began here");
});

test("events are rotated by their size, and their readers find all that stays", async () => {
  await mkdir(join(runDir, "logs/attempt_1"), { recursive: true });
  const events = join(runDir, "events.jsonl");
  const lines = async () => {
    const found = [];
    for await (const line of allLines(events)) found.push(line);
    return found;
  };
  expect(await lines()).toEqual([]);
  for (let event = 1; event <= 4; event++) {
    await writeFile(events, `{"event":${event}}\n`, { flag: "a" });
    await look(1, { maxBytes: 4, keep: 2, attempts: 1 });
    await look(1, { maxBytes: 4, keep: 2, attempts: 1 });
  }
  await writeFile(events, `{"event":5}\n`, { flag: "a" });
  expect((await readdir(runDir)).toSorted()).toEqual(["events.jsonl", "events.jsonl.1", "events.jsonl.2", "logs"]);
  expect(await lines()).toEqual(['{"event":3}', '{"event":4}', '{"event":5}']);
});
