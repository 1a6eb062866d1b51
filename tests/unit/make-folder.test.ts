import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { makeDurableFolder, makeFolder } from "../../ts/files/make-folder.ts";
import { releaseLock, takeLock } from "../../ts/files/run-lock.ts";
import { writeHalf } from "../../ts/transports/index.ts";
import { MODULE_LOADER, modulePath } from "../support/compiled.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "prl-folder-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a folder is made with its parents, and may exist already", () => {
  const path = join(root, "a/b/c");
  makeFolder(path);
  makeFolder(path);
  expect(existsSync(path)).toBe(true);
});

test("a folder that cannot be made is an error that names it", () => {
  writeFileSync(join(root, "file"), "");
  expect(() => makeFolder(join(root, "file/below"))).toThrow(/\[?PRL_IO|cannot/u);
  expect(() => makeFolder(join(root, "gone/below"), join(root, "gone"))).toThrow(`${join(root, "gone")} is not there`);
  expect(existsSync(join(root, "gone"))).toBe(false);
});

/** The files and folders that are synced while `work` goes on. */
async function syncedBy(work: () => Promise<void>): Promise<string[]> {
  const handle = await open(root);
  const synced: string[] = [];
  const spy = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, "sync").mockImplementation(async function (
    this: FileHandle,
  ) {
    synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
    await this.datasync();
  });
  try {
    await work();
    return synced;
  } finally {
    spy.mockRestore();
    await handle.close();
  }
}

test.runIf(process.platform === "linux")(
  "the folders above those that are made are synced, and no others",
  async () => {
    const path = join(root, "run/rollouts/step_1");
    const make = () => makeDurableFolder(path, root);
    expect(await syncedBy(make)).toEqual([root, join(root, "run"), join(root, "run/rollouts")]);
    expect(await syncedBy(make)).toEqual([]);
  },
);

test.runIf(process.platform === "linux")("the folders of a checkpoint are synced with its half", async () => {
  const checkpoints = join(root, "checkpoints");
  const writer = { root: checkpoints, run: "r", attempt: 1 };
  const synced = await syncedBy(() => writeHalf(writer, 3, "trainer", async () => undefined));
  expect(synced).toEqual(expect.arrayContaining([root, checkpoints, join(checkpoints, "step_3")]));
});

test.runIf(process.platform === "linux")("a run's folder is synced when its run takes it", async () => {
  const runDir = join(root, "runs/first");
  const synced = await syncedBy(() => takeLock(runDir));
  await releaseLock(runDir);
  expect(synced).toEqual(expect.arrayContaining([root, join(root, "runs"), runDir]));
});

// This runs in a separate process: a hang blocks its thread, and no timer of a test would run.
test.runIf(process.platform === "linux")("below /proc nothing can be made, and that is said", async () => {
  const module = JSON.stringify(modulePath("files/make-folder.ts"));
  const program = `import(${module}).then(({ makeFolder }) => makeFolder("/proc/none/of/these"))
    .catch((error) => console.log(error.code, error.message));`;
  const args = [...MODULE_LOADER, "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000, killSignal: "SIGKILL" });
  expect(stdout.trim()).toBe("PRL_IO cannot make the folder /proc/none");
});
