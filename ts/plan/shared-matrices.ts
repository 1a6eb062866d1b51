/** Which models ranks can share the matrices of (`trainer.parallel.tensor`), as far as config.json says it. */
import { expertsOf, type ModelShape, sizesOf } from "../models/index.ts";

/** What keeps so many ranks from sharing the matrices of a model; null when nothing does. */
export function tensorProblem(shape: ModelShape, tensor: number): string | null {
  if (tensor === 1) return null;
  if (expertsOf(shape) !== null) {
    return `${shape.model_type ?? "the model"} is a mixture of experts, whose matrices ranks cannot share yet: set it to 1`;
  }
  const counts = {
    "attention heads": shape.num_attention_heads,
    "key-value heads": sizesOf(shape).heads,
    "columns of intermediate_size": shape.intermediate_size,
  };
  const found = Object.entries(counts).find(([, count]) => count % tensor !== 0);
  return found === undefined ? null : `${tensor} does not divide the model's ${found[1]} ${found[0]}`;
}
