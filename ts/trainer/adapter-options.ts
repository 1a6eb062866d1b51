/** The options of a trainer under `[model.lora]`: the base model, and the adapter that it begins or goes on with. */
import { isAbsolute } from "node:path";

import type { LoraBlock } from "../config/index.ts";
import type { LoraOptions } from "../native/index.ts";

/** A model in training as the config and the launcher describe it. */
export interface TrainedModel {
  readonly lora: LoraBlock | null;
  /** The model's name in the config. */
  readonly name: string;
  /** Folder of the model that the run began with. */
  readonly baseDir: string;
  /** Folder that training goes on from: `baseDir`, or the trainer's half of a checkpoint. */
  readonly modelDir: string;
  readonly seed: number;
  readonly isResumed: boolean;
}

/** The folder to open and, with an adapter, its options. The weights that an adapter is trained on are always those of the base model. */
export function adapterOptions(trained: TrainedModel): { dir: string; lora?: LoraOptions } {
  const { lora, name, baseDir, modelDir, seed, isResumed } = trained;
  if (lora === null) return { dir: modelDir };
  const base = isHubName(name) ? name.replace(/@.*$/u, "") : baseDir;
  return { dir: baseDir, lora: { ...lora, seed, base, ...(isResumed && { from: modelDir }) } };
}

/** `org/name`; folders are absolute in a resolved config. */
function isHubName(name: string): boolean {
  return !isAbsolute(name) && name.includes("/");
}
