/** `[model.lora]`: a low-rank adapter that is trained in place of the model's weights. The names of keys are those of `peft`. */
import { z } from "zod";

const MOST_RANK = 4096;
/** The projections of a layer that the engine adapts. */
const LORA_MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"] as const;

export const loraBlock = z
  .strictObject({
    rank: z.int().positive().max(MOST_RANK).default(16).describe("Rows of the adapter's matrices"),
    alpha: z.number().positive().default(32).describe("The adapter's product is multiplied by alpha / rank"),
    use_rslora: z.boolean().default(false).describe("Multiply by alpha / sqrt(rank) instead"),
    dropout: z
      .number()
      .min(0)
      .lt(1)
      .default(0)
      .describe("Share of the adapter's inputs that is zeroed in training; supervised training only"),
    target_modules: z
      .array(z.enum(LORA_MODULES))
      .min(1)
      .refine((names) => new Set(names).size === names.length, "names a module twice")
      .nullable()
      .default(null)
      .describe(
        "Projections that are adapted in every layer; unset: all of them, in a mixture of experts those of attention",
      ),
  })
  .nullable()
  .default(null)
  .describe("Low-rank adapter to train; the weights stay as they are; absent: all weights are trained");
export type LoraBlock = NonNullable<z.output<typeof loraBlock>>;

/** The reason against `model.base_dtype`; null: none. */
export function baseDtypeProblem(
  { base_dtype: base, lora }: { base_dtype: "int8" | null; lora: LoraBlock | null },
  trainer: "engine" | "torch",
): string | null {
  if (base === null) return null;
  if (lora === null) return "is for weights that stay as they are: add [model.lora], or use model.dtype";
  return trainer === "torch" ? 'is not read by backend = "torch", which keeps frozen weights in model.dtype' : null;
}
