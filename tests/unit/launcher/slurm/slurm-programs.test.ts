/** Slurm's programs, with a stand-in for one of them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";

import { submitJob } from "../../../../ts/launcher/slurm/slurm-programs.ts";
import { prlErrorOf } from "../../config/support.ts";

const most = vi.hoisted(() => ({ ms: Infinity }));
vi.mock(import("node:child_process"), async (original) => {
  const { shortCalls } = await import("../../../support/clusters/short-calls.ts");
  return shortCalls(await original(), most);
});

const dir = mkdtempSync(join(tmpdir(), "prl-slurm-"));
afterAll(() => rmSync(dir, { recursive: true }));

test.each([
  ["prints without end", "exec yes", "sbatch printed more than 16 MiB"],
  ["passes over SIGTERM", "trap '' TERM; exec sleep 300", "sbatch did not answer within 60 s"],
  ["refuses", "echo 'no such partition' >&2; exit 1", "sbatch refused: no such partition"],
])("a program that %s is named", async (what, script, message) => {
  most.ms = what.includes("SIGTERM") ? 1_000 : Infinity;
  onTestFinished(() => void (most.ms = Infinity));
  writeFileSync(join(dir, "sbatch"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const env = { PATH: `${dir}${delimiter}${process.env["PATH"] ?? ""}` };
  const error = await prlErrorOf(submitJob("job.sh", dir, env));
  expect([error.code, error.message]).toEqual(["PRL_SLURM", expect.stringContaining(message)]);
});
