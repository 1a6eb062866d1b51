/** Slurm's programs, with a stand-in for one of them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, expect, test } from "vitest";

import { submitJob } from "../../../../ts/launcher/slurm/slurm-programs.ts";
import { prlErrorOf } from "../../config/support.ts";

const dir = mkdtempSync(join(tmpdir(), "prl-slurm-"));
afterAll(() => rmSync(dir, { recursive: true }));

test.each([
  ["prints without end", "exec yes", "sbatch printed more than 16 MiB"],
  ["refuses", "echo 'no such partition' >&2; exit 1", "sbatch refused: no such partition"],
])("a program that %s is named", async (_what, script, message) => {
  writeFileSync(join(dir, "sbatch"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const env = { PATH: `${dir}${delimiter}${process.env["PATH"] ?? ""}` };
  const error = await prlErrorOf(submitJob("job.sh", dir, env));
  expect([error.code, error.message]).toEqual(["PRL_SLURM", expect.stringContaining(message)]);
});
