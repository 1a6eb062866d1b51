/** The versions of a plan: what travels from the trainer to the servers, and what lies on disk. */
import { mergesAdapter, type RlConfig } from "../config/index.ts";
import { adapterParameters, countParameters, type DescribedModel } from "../models/index.ts";
import type { Assumptions } from "./assumptions.ts";
import { elementBytes } from "./torch-memory.ts";

/** Bytes of versions and checkpoints. */
export interface VersionPlan {
  readonly full: number;
  /** Expected bytes of a sparse version; null where versions are never sparse. */
  readonly sparse: number | null;
  /** Seconds for a full version, and for a sparse one. */
  readonly full_seconds: number;
  readonly sparse_seconds: number | null;
  /** Versions that stay on disk, and one checkpoint. */
  readonly disk: number;
  readonly checkpoint: number;
}

const F32 = 4;

/** An adapter's versions are in f32 and never sparse, unless it is merged; neither are folders in the run directory. */
export function versionPlan(
  config: RlConfig,
  { shape }: DescribedModel,
  given: { dtype: "float32" | "bfloat16"; assumptions: Assumptions },
): VersionPlan {
  const { model, weight_broadcast: broadcast, trainer } = config;
  const { lora } = model;
  const { total } = countParameters(shape);
  const trained = lora === null ? total : adapterParameters(shape, { rank: lora.rank, targets: lora.target_modules });
  const { transfer, sparse: share } = given.assumptions;
  const isWhole = lora === null || mergesAdapter(config);
  const full = isWhole ? total * elementBytes(given.dtype) : trained * F32;
  const isSparse = isWhole && broadcast.type === "grpc" && given.dtype === "bfloat16";
  const sparse = isSparse ? full * share : null;
  const { type: optimizer, state_dtype: state } = trainer.optim;
  const checkpoint = trained * (F32 + (optimizer === "adamw" ? 2 : 1) * elementBytes(state));
  return {
    full,
    sparse,
    full_seconds: full / transfer,
    sparse_seconds: sparse === null ? null : sparse / transfer,
    disk: broadcast.keep * full + 2 * checkpoint,
    checkpoint,
  };
}
