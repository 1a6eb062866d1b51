/** The program that runs published tests, without a sandbox. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

import {
  HARNESS,
  HARNESS_FILE,
  PROGRAM_FILE,
} from "../../../../ts/environments/benchmarks/scoring/python-tests-harness.ts";
import { folderWith } from "../../config/support.ts";

test.each([
  ["has ctypes", {}, "passed"],
  ["was built without ctypes", { "ctypes.py": "from _lacking import Structure\n" }, "lacks _lacking"],
])("a Python that %s", (_, files, verdict) => {
  const program = "def add(a, b):\n    return a + b\n";
  const folder = folderWith({ [HARNESS_FILE]: HARNESS, [PROGRAM_FILE]: program, ...files });
  const input = JSON.stringify({ word: "w0rd", tests: "assert add(1, 2) == 3", names: ["add"] });
  const { stdout, status } = spawnSync("python3", [join(folder, HARNESS_FILE)], {
    cwd: folder,
    input,
    encoding: "utf8",
  });
  expect([status, stdout.trim()]).toEqual([0, `w0rd ${verdict}`]);
});
