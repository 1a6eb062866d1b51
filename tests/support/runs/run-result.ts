import { join } from "node:path";

import { openSafetensors } from "../../../ts/native/weights/index.ts";
import { readJson } from "../prl.ts";

/** Digests of every batch and of the final weights: what a run came to. */
export async function runResult(runDir: string, steps: number): Promise<unknown[]> {
  const batches = [];
  for (let step = 1; step <= steps; step++) {
    const file = await openSafetensors(join(runDir, `rollouts/step_${step}/rank_0.safetensors`));
    batches.push(file.metadata["digest"]);
    file.close();
  }
  const { digest } = await readJson<{ digest: string }>(join(runDir, `weights/step_${steps}/manifest.json`));
  return [...batches, digest];
}
