/** Slurm's programs, with a stand-in for one of them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";

import { submitJob } from "../../../../ts/launcher/slurm/slurm-programs.ts";
import { prlErrorOf } from "../../config/support.ts";
import { deadlineTest } from "../../../support/clusters/short-calls.ts";

const most = vi.hoisted(() => ({ ms: Infinity }));
vi.mock(import("node:child_process"), async (original) => {
  const { shortCalls } = await import("../../../support/clusters/short-calls.ts");
  return shortCalls(await original(), most);
});

const dir = mkdtempSync(join(tmpdir(), "prl-slurm-"));
afterAll(() => rmSync(dir, { recursive: true }));

async function expectNamed(script: string, message: string): Promise<void> {
  writeFileSync(join(dir, "sbatch"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const env = { PATH: `${dir}${delimiter}${process.env["PATH"] ?? ""}` };
  const error = await prlErrorOf(submitJob("job.sh", dir, env));
  expect([error.code, error.message]).toEqual(["PRL_SLURM", expect.stringContaining(message)]);
}

test.each([
  ["prints without end", "exec yes", "sbatch printed more than 16 MiB"],
  ["refuses", "echo 'no such partition' >&2; exit 1", "sbatch refused: no such partition"],
])("a program that %s is named", async (_, script, message) => expectNamed(script, message));

deadlineTest("a program that passes over SIGTERM is named", async () => {
  most.ms = 1_000;
  onTestFinished(() => void (most.ms = Infinity));
  await expectNamed("trap '' TERM; exec sleep 300", "sbatch did not answer within 60 s");
});
