import { appendFile, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  type CheckpointRules,
  dropLaterCheckpoints,
  findCheckpoint,
  isCheckpointStep,
  joinHalves,
  pruneCheckpoints,
  unjoinedSteps,
  writeHalf,
} from "../../../ts/transports/index.ts";

let root: string;
beforeEach(async () => (root = await mkdtemp(join(tmpdir(), "prl-checkpoints-"))));
afterEach(() => rm(root, { recursive: true, force: true }));

const soon = { deadlineMs: 5_000, signal: new AbortController().signal };
const recovery: CheckpointRules = { recovery_interval: 10, interval: null, keep_last: null, keep_interval: null };

interface Saved {
  run?: string;
  attempt?: number;
  only?: "trainer" | "orchestrator";
}

async function save(step: number, { run = "r", attempt = 1, only }: Saved = {}) {
  const writer = { root, run, attempt };
  for (const half of ["trainer", "orchestrator"] as const) {
    if (only !== undefined && half !== only) continue;
    await writeHalf(writer, step, half, async (dir) => {
      await writeFile(join(dir, "a.bin"), `${half} ${step} ${attempt}`);
      await writeFile(join(dir, "b.json"), "{}");
    });
  }
  if (only === undefined) await joinHalves(writer, step, soon);
}

const stepsThere = async () => (await readdir(root)).map((name) => Number(name.slice(5))).toSorted((a, b) => a - b);

describe("checkpoints", () => {
  test("one of another format is named, with what can read it", async () => {
    await save(10);
    const path = join(root, "step_10", "manifest.json");
    const manifest = JSON.parse(await readFile(path, "utf8")) as object;
    await writeFile(path, JSON.stringify({ ...manifest, format: "prl.checkpoint.9", more: 1 }));
    await expect(findCheckpoint(root, "r", 10)).rejects.toMatchObject({
      code: "PRL_CHECKPOINT_CORRUPT",
      message: expect.stringMatching(/format "prl\.checkpoint\.9".*reads prl\.checkpoint\.1: resume with the version/u),
    });
  });

  test("the newest whole one is found; torn and damaged ones are passed over with a reason", async () => {
    expect(await findCheckpoint(root, "r")).toBeNull();
    for (const step of [10, 20, 30, 40]) await save(step);
    await truncate(join(root, "step_40", "trainer", "a.bin"), 3);
    await writeFile(join(root, "step_30", "orchestrator", "a.bin"), "orchestrator 31 1");
    await save(50, { only: "trainer" });
    const found = await findCheckpoint(root, "r");
    expect(found).toMatchObject({ step: 20, dir: join(root, "step_20") });
    expect(found?.skipped.map(({ step }) => step)).toEqual([50, 40, 30]);
    expect(found?.skipped[0]?.reason).toContain("never finished");
    expect(found?.skipped[1]?.reason).toMatch(/step_40\/trainer\/a\.bin has 3 bytes .* not 12 bytes/);
    await expect(findCheckpoint(root, "r", 40)).rejects.toMatchObject({ code: "PRL_CHECKPOINT_CORRUPT" });
    await expect(findCheckpoint(root, "r", 15)).rejects.toThrow(/there are 50, 40, 30, 20, 10/);
    expect(await findCheckpoint(root, "r", 10)).toMatchObject({ step: 10, skipped: [] });
  });

  test("one of another run is refused by name, and not passed over, because it would be removed as a later one", async () => {
    await save(10);
    await save(20, { run: "other" });
    for (const step of [null, 20]) {
      await expect(findCheckpoint(root, "r", step)).rejects.toMatchObject({
        code: "PRL_CHECKPOINT_FOREIGN",
        message: expect.stringMatching(/step_20\/manifest\.json is of run other, not of r: move it out of here/u),
      });
    }
    expect(await findCheckpoint(root, "r", 10)).toMatchObject({ step: 10 });
    await save(30);
    expect(await findCheckpoint(root, "r")).toMatchObject({ step: 30, skipped: [] });
  });

  test.each(["trainer", "orchestrator"] as const)("the %s's half of another run is refused by name", async (half) => {
    await save(10, { run: "other" });
    await rename(join(root, "step_10"), join(root, "copied"));
    await save(10);
    await rm(join(root, "step_10", half), { recursive: true });
    await rename(join(root, "copied", half), join(root, "step_10", half));
    await expect(findCheckpoint(root, "r")).rejects.toMatchObject({
      code: "PRL_CHECKPOINT_FOREIGN",
      message: expect.stringMatching(new RegExp(`step_10/${half}/half\\.json is of run other, not of r: `, "u")),
    });
  });

  test("any byte changed or cut off, in any file, is noticed", async () => {
    await save(10);
    const files = ["trainer/a.bin", "trainer/b.json", "orchestrator/a.bin", "manifest.json"];
    for (const file of files) {
      await appendFile(join(root, "step_10", file), "x");
      await expect(findCheckpoint(root, "r"), file).rejects.toMatchObject({ code: "PRL_CHECKPOINT_CORRUPT" });
      await save(10);
    }
    expect((await findCheckpoint(root, "r"))?.step).toBe(10);
  });

  test("when all are damaged each is listed with its reason; unfinished ones do not count", async () => {
    await save(10, { only: "trainer" });
    expect(await findCheckpoint(root, "r")).toBeNull();
    for (const step of [20, 30]) await save(step);
    await truncate(join(root, "step_30", "trainer", "a.bin"), 3);
    await rm(join(root, "step_20", "orchestrator", "a.bin"));
    const failed = findCheckpoint(root, "r");
    await expect(failed).rejects.toMatchObject({ code: "PRL_CHECKPOINT_CORRUPT" });
    await expect(failed).rejects.toThrow(
      /step 30: .*a\.bin has 3 bytes.*\n {2}step 20: .*a\.bin cannot be read\n {2}step 10: .*never finished/,
    );
    await expect(failed).rejects.toThrow("--clean");
    for (let step = 40; step < 50; step++) {
      await save(step);
      await rm(join(root, `step_${step}`, "trainer", "a.bin"));
    }
    await expect(findCheckpoint(root, "r")).rejects.toThrow(/step 42: [^]*\.\.\. and 5 more/);
  });

  test("halves of two attempts are never joined, and a new half takes an old checkpoint back", async () => {
    await save(10);
    await save(10, { attempt: 2, only: "trainer" });
    expect(await findCheckpoint(root, "r")).toBeNull();
    await expect(joinHalves({ root, run: "r", attempt: 2 }, 10, soon)).rejects.toThrow(/attempt 1/);
    await save(10, { attempt: 2 });
    expect((await findCheckpoint(root, "r"))?.step).toBe(10);
  });

  test("halves that wait are found beside a damaged half of a joint checkpoint, which only a resume from there minds", async () => {
    await save(10);
    await save(20, { only: "orchestrator" });
    await writeFile(join(root, "step_10/orchestrator/half.json"), "{");
    expect(await unjoinedSteps({ root, run: "r", attempt: 1 })).toEqual([20]);
  });

  test("a half that does not come is a deadline by name", async () => {
    await save(10, { only: "orchestrator" });
    const none = { deadlineMs: 50, signal: soon.signal };
    await expect(joinHalves({ root, run: "r", attempt: 1 }, 10, none)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
  });

  test("of recovery checkpoints the newest stays; kept ones by their rules", async () => {
    const rules = { recovery_interval: 2, interval: 4, keep_last: 2, keep_interval: 8 };
    for (let step = 1; step <= 22; step++) {
      if (!isCheckpointStep(step, rules, 21)) continue;
      await save(step);
      await pruneCheckpoints(root, step, rules);
    }
    expect(await stepsThere()).toEqual([8, 16, 20, 22]);
    await dropLaterCheckpoints(root, 16);
    expect(await stepsThere()).toEqual([8, 16]);
  });

  test("the rest of one whose removal was interrupted goes, and takes no place among those that stay", async () => {
    for (const step of [1, 2, 3]) await save(step);
    await rm(join(root, "step_2", "manifest.json"));
    expect(await pruneCheckpoints(root, 3, { ...recovery, interval: 1, keep_last: 2 })).toEqual([2]);
    expect(await stepsThere()).toEqual([1, 3]);
  });

  test("the last step always has one, and only recovery means only the newest", () => {
    const steps = Array.from({ length: 25 }, (_, i) => i + 1);
    expect(steps.filter((step) => isCheckpointStep(step, recovery, 25))).toEqual([10, 20, 25]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }), (every, interval) => {
        const rules = { ...recovery, recovery_interval: every, interval };
        const due = steps.filter((step) => isCheckpointStep(step, rules, null));
        expect(due).toEqual(steps.filter((step) => step % every === 0 || step % interval === 0));
      }),
    );
  });
});
