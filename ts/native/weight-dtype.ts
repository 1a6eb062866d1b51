/** The format in which a model's weights are kept and published. Sums are in f32 with either. */

import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { readRegularFile } from "../files/regular-file.ts";

export type WeightDtype = "float32" | "bfloat16";
/** auto: the format that the model's config.json names, where that is bfloat16; else float32. */
export type WeightDtypeChoice = "auto" | WeightDtype;

/** Format of frozen projections: int8 with a scale for each 64 inputs, made when the model is loaded. */
export type BaseDtype = "int8";

/**
 * The format for the model in the folder `dir`; float32 where its config.json cannot be read, because loading the model then says what is wrong.
 *
 * @throws PrlError `PRL_ENGINE_DTYPE_UNSUPPORTED` for another choice
 */
export async function weightDtype(choice: WeightDtypeChoice, dir: string): Promise<WeightDtype> {
  if (choice === "float32" || choice === "bfloat16") return choice;
  if (choice !== "auto") {
    throw new PrlError(
      "PRL_ENGINE_DTYPE_UNSUPPORTED",
      `dtype "${String(choice)}" is not implemented: use "auto", "float32" or "bfloat16"`,
    );
  }
  try {
    return statedDtype(JSON.parse(await readRegularFile(join(dir, "config.json"))));
  } catch {
    return "float32";
  }
}

/** The format that `auto` takes for the content of a config.json. */
export function statedDtype(config: unknown): WeightDtype {
  const { dtype, torch_dtype: earlier } = { ...(config as { dtype?: unknown; torch_dtype?: unknown } | null) };
  return (dtype ?? earlier) === "bfloat16" ? "bfloat16" : "float32";
}
