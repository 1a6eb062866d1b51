import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import { makeFolder } from "../../ts/files/make-folder.ts";
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

// This runs in a separate process: a hang blocks its thread, and no timer of a test would run.
test.runIf(process.platform === "linux")("below /proc nothing can be made, and that is said", async () => {
  const module = JSON.stringify(modulePath("files/make-folder.ts"));
  const program = `import(${module}).then(({ makeFolder }) => makeFolder("/proc/none/of/these"))
    .catch((error) => console.log(error.code, error.message));`;
  const args = [...MODULE_LOADER, "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000, killSignal: "SIGKILL" });
  expect(stdout.trim()).toBe("PRL_IO cannot make the folder /proc/none");
});
