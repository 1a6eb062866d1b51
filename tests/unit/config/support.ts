/** Config files in a folder of their own, for the tests of this folder. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { PrlError } from "../../../ts/errors.ts";

/** A minimal valid rl.toml; its lines are counted on by tests. */
export const RL_TOML = `max_steps = 30
seq_len = 64

[model]
name = "./model"

[orchestrator]
batch_size = 64
group_size = 8

[[orchestrator.train.source]]
env = { id = "reverse-text", args = { shortest = 4 } }
`;

/** A folder with these files and an empty `model/`, removed after the test. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "prl-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "model"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** The PrlError that `work` ends with; anything else fails the test. */
export async function prlErrorOf(work: Promise<unknown> | (() => unknown)): Promise<PrlError> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    expect(error).toBeInstanceOf(PrlError);
    return error as PrlError;
  }
  throw new Error("expected a PrlError, but nothing was thrown");
}
