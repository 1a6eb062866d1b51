/** Whether ranks of a trainer (`trainer.parallel`) and GPUs of a vLLM server can share the layers of a model, as far as config.json says it. */
import type { RlConfig } from "../config/index.ts";
import { expertsOf, type ModelShape, sizesOf } from "../models/index.ts";

type Parallel = RlConfig["trainer"]["parallel"];

export interface SharingProblem {
  /** The block `trainer.parallel`. */
  readonly key: "tensor" | "expert";
  readonly problem: string;
}

/** The reason why ranks cannot share a model so; null when they can. */
export function sharingProblem(shape: ModelShape, { tensor, expert }: Parallel): SharingProblem | null {
  const matrices = tensorProblem(shape, tensor);
  if (matrices !== null) return { key: "tensor", problem: matrices };
  const experts = expertProblem(shape, expert);
  return experts === null ? null : { key: "expert", problem: experts };
}

/** The reason why so many GPUs of a vLLM server cannot share a model; null when they can. More GPUs than heads of keys and values get copies of these. */
export function servingProblem(shape: ModelShape, tensor: number): string | null {
  const { heads } = sizesOf(shape);
  const isDivided = heads % tensor === 0 || tensor % heads === 0;
  const counts: Readonly<Record<string, number>> = {
    "attention heads": shape.num_attention_heads,
    "columns of intermediate_size": shape.intermediate_size,
  };
  const found = Object.entries(counts).find(([, count]) => count % tensor !== 0);
  if (found !== undefined) return `${tensor} does not divide the model's ${found[1]} ${found[0]}`;
  return isDivided ? null : `${tensor} neither divides the model's ${heads} key-value heads nor is a multiple of them`;
}

function tensorProblem(shape: ModelShape, tensor: number): string | null {
  if (tensor === 1) return null;
  const experts = expertsOf(shape);
  const counts: Readonly<Record<string, number>> = {
    "attention heads": shape.num_attention_heads,
    "key-value heads": sizesOf(shape).heads,
    "columns of intermediate_size": shape.intermediate_size,
    ...(experts !== null && { "columns of moe_intermediate_size": experts.width }),
  };
  const found = Object.entries(counts).find(([, count]) => count % tensor !== 0);
  return found === undefined ? null : `${tensor} does not divide the model's ${found[1]} ${found[0]}`;
}

function expertProblem(shape: ModelShape, expert: number): string | null {
  if (expert === 1) return null;
  const experts = expertsOf(shape);
  if (experts === null) {
    return `${shape.model_type ?? "the model"} has no experts that ranks could share: set it to 1`;
  }
  return experts.count % expert === 0 ? null : `${expert} does not divide the model's ${experts.count} experts`;
}
