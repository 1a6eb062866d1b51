/** Checks what the trainer's backend needs of the machine before a run has a directory. */
import { placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { findInterpreter } from "../../python/index.ts";

/**
 * The block with the interpreter that the trainer will use, so that a process of the run looks for none. Errors: PRL_PYTHON_MISSING, with
 * the place of the key that asks for it and the command that sets the environment up.
 */
export async function withInterpreter(
  trainer: RlConfig["trainer"],
  provenance: Provenance | undefined,
): Promise<RlConfig["trainer"]> {
  if (trainer.backend === "engine") return trainer;
  try {
    return { ...trainer, python: await findInterpreter("torch", trainer.python, "trainer.python") };
  } catch (error) {
    if (!(error instanceof PrlError) || error.code !== "PRL_PYTHON_MISSING") throw error;
    const place = placeOf(["trainer", "backend"], provenance);
    throw new PrlError(error.code, `${place}: ${error.message}`, { cause: error.cause });
  }
}
