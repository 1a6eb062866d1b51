/** A small model with random weights, and supervised runs of a few steps from it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { sftConfigSchema } from "../../../ts/config/schema/sft.ts";
import { openMetrics } from "../../../ts/monitors/index.ts";
import { randomCheckpoint } from "../../../ts/native/index.ts";
import { runSft } from "../../../ts/trainer/supervised.ts";

const MODEL = fileURLToPath(new URL("../../../configs/small-chat/model", import.meta.url));

export interface CheckpointedRun {
  /** Folder of the checkpoints. */
  root: string;
  /** Called before a step's line is written. */
  beforeLine: (step: number) => void;
}

const RULES = { recovery_interval: 1, interval: 1, keep_last: null, keep_interval: null, save_async: false };

export interface SftFolder {
  dir: string;
  modelDir: string;
  /** Writes rows as JSON lines; its path. */
  write(name: string, rows: readonly unknown[]): Promise<string>;
  /** Trains, with checkpoints that exist when their step has ended where `checkpoints` is set; the lines of `metrics.jsonl`. */
  train(config: Record<string, unknown>, checkpoints?: CheckpointedRun): Promise<Record<string, number>[]>;
  remove(): Promise<void>;
}

export async function sftFolder(): Promise<SftFolder> {
  const dir = await mkdtemp(join(tmpdir(), "prl-sft-"));
  const modelDir = join(dir, "model");
  await randomCheckpoint(MODEL, modelDir, 1);
  let runs = 0;
  return {
    dir,
    modelDir,
    write: async (name, rows) => {
      const path = join(dir, name);
      await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
      return path;
    },
    train: async (given, checkpointed) => {
      const runDir = join(dir, `run-${runs++}`);
      const metrics = openMetrics(runDir, "sft", 1);
      const log = (step: number, values: Record<string, number>): void => {
        checkpointed?.beforeLine(step);
        metrics.log(step, values);
      };
      const config = sftConfigSchema.parse({ model: { name: modelDir }, threads: 1, seq_len: 64, ...given });
      const signal = new AbortController().signal;
      try {
        const profileDir = join(runDir, "profile");
        await runSft({
          modelDir,
          baseDir: modelDir,
          outDir: join(runDir, "model"),
          profileDir,
          config,
          ...(checkpointed && {
            checkpoints: { root: checkpointed.root, run: "run", attempt: 1, rules: RULES, runDir },
          }),
          metrics: { ...metrics, log },
          signal,
        });
      } finally {
        metrics.close();
      }
      const lines = (await readFile(join(runDir, "metrics.jsonl"), "utf8")).trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line) as Record<string, number>);
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
