/** Faults that damage the newest checkpoint, which is needed at once. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { type Fault, GOES_ON } from "../../fault.ts";
import { damageFile, type Damage } from "./damage.ts";
import { wholeSteps } from "./steps.ts";

const HALVES = ["trainer", "orchestrator"];

/** Damages a file of the newest checkpoint while an older one is there, and kills the trainer. */
export function damagingCheckpoint(damage: Damage): Fault {
  return {
    name: `${damage}-checkpoint`,
    breaks: damage === "flip" ? "one bit of the newest checkpoint" : "the end of a file of the newest checkpoint",
    saves:
      "digests of all files, compared before they are used; the checkpoint before it (`ckpt.interval` keeps several)",
    injection: "a file of it is damaged while an older one is there, and the trainer is killed",
    promise: GOES_ON,
    async inject(run, rng) {
      const folder = join(run.runDir, "checkpoints");
      const steps = await wholeSteps(folder, "manifest.json");
      const newest = steps.at(-1);
      if (newest === undefined || steps.length < 2) return null;
      const half = join(`step_${newest}`, rng.pick(HALVES));
      const entries = await readdir(join(folder, half), { withFileTypes: true, recursive: true }).catch(() => []);
      const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      if (files.length === 0) return null;
      const path = rng.pick(files.toSorted());
      const done = await damageFile(path, damage, rng).catch(() => null);
      if (done === null) return null;
      const trainer = await run.signalOne("trainer", "SIGKILL", rng);
      return `${path.slice(run.runDir.length + 1)}: ${done}; SIGKILL for ${trainer?.name ?? "no trainer"}`;
    },
  };
}
