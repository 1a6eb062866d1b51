/**
 * Whether the engine supports a config.json. The engine is asked to open a folder that has this config and no weights: it refuses the
 * config, or it misses the weights.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type ErrorCode, PrlError } from "../errors.ts";
import { checkArchitecture, loadModel, openTrainer } from "../native/index.ts";

/** Why something is not possible. */
export interface Refusal {
  readonly code: ErrorCode;
  /** Names the key. */
  readonly reason: string;
}

/** Null: possible. */
export interface Support {
  readonly train: Refusal | null;
  readonly serve: Refusal | null;
}

/** Whether the engine trains and serves models of this config. `text` is that of config.json. Errors: PRL_NATIVE_MISSING. */
export async function supportOf(text: string): Promise<Support> {
  const known = architectureRefusal(text);
  if (known !== null) return { train: known, serve: known };
  const dir = await mkdtemp(join(tmpdir(), "prl-model-info-"));
  try {
    await writeFile(join(dir, "config.json"), text);
    const serve = await refusalOf(dir, () => loadModel(dir, { threads: 1, maxNumSeqs: 1 }));
    const train = await refusalOf(dir, () => openTrainer(dir, { threads: 1 }));
    return { train, serve };
  } finally {
    await rm(dir, { recursive: true });
  }
}

function architectureRefusal(text: string): Refusal | null {
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    return { code: "PRL_ENGINE_CONFIG", reason: "config.json is not valid JSON" };
  }
  if (typeof config !== "object" || config === null) {
    return { code: "PRL_ENGINE_CONFIG", reason: "config.json is no JSON object" };
  }
  try {
    checkArchitecture(config as Readonly<Record<string, unknown>>, "config.json");
    return null;
  } catch (cause) {
    if (cause instanceof PrlError) return { code: cause.code, reason: cause.message };
    throw cause;
  }
}

async function refusalOf(dir: string, open: () => Promise<{ close(): Promise<void> }>): Promise<Refusal | null> {
  try {
    await (await open()).close();
    return null;
  } catch (cause) {
    if (!(cause instanceof PrlError) || cause.code === "PRL_NATIVE_MISSING") throw cause;
    // The config was accepted, and then there were no weights.
    if (cause.code === "PRL_WEIGHTS_IO") return null;
    return { code: cause.code, reason: cause.message.replaceAll(`${dir}/`, "") };
  }
}
