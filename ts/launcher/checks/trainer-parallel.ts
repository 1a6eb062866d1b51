/** Checks that the ranks of a trainer can share the model as `[trainer.parallel]` says, before a run has a directory. */
import { type KeyPath, placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { describeModel } from "../../models/index.ts";
import { sharingProblem } from "../../plan/index.ts";

type Settings = Pick<RlConfig["trainer"], "backend" | "parallel">;

/**
 * Whether transformers has a plan for the model is found by the ranks when they open it. Errors: PRL_CONFIG_INVALID, with the place of the key;
 * those of `describeModel`.
 *
 * @param section the settings' place in the config
 */
export async function checkTrainerParallel(
  { trainer, models }: { trainer: Settings; models: readonly string[] },
  section: KeyPath,
  provenance: Provenance | undefined,
): Promise<void> {
  const { tensor, expert } = trainer.parallel;
  if (trainer.backend === "engine" || (tensor === 1 && expert === 1)) return;
  for (const model of models) {
    const { shape } = await describeModel(model);
    const found = sharingProblem(shape, trainer.parallel);
    if (found === null) continue;
    const place = placeOf([...section, "parallel", found.key], provenance);
    throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${model}: ${found.problem}`);
  }
}
