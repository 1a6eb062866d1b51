/** Checks what the backend of a trainer needs of the machine before a run has a directory. */
import { formatPath, type KeyPath, placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { findInterpreter } from "../../python/index.ts";

type Settings = Pick<RlConfig["trainer"], "backend" | "python">;

/**
 * The settings with the interpreter that the trainer will use, so that a process of the run looks for none. Errors: PRL_PYTHON_MISSING, with
 * the place of the key that asks for it and the command that sets the environment up.
 *
 * @param section the settings' place in the config
 */
export async function withInterpreter<Given extends Settings>(
  settings: Given,
  section: KeyPath,
  provenance: Provenance | undefined,
): Promise<Given> {
  if (settings.backend === "engine") return settings;
  try {
    const python = await findInterpreter("torch", settings.python, formatPath([...section, "python"]));
    return { ...settings, python };
  } catch (error) {
    if (!(error instanceof PrlError) || error.code !== "PRL_PYTHON_MISSING") throw error;
    const place = placeOf([...section, "backend"], provenance);
    throw new PrlError(error.code, `${place}: ${error.message}`, { cause: error.cause });
  }
}
