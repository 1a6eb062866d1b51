/** Reads from a run's config how much may be sampled. */
import type { RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { AdmissionOptions } from "./admission.ts";

export function admissionOptions({
  max_async_level: level,
  max_steps: maxSteps,
  seq_len,
  orchestrator,
}: RlConfig): AdmissionOptions {
  const { batch_size: rollouts, token_batch_size: tokens, oversampling, recycle } = orchestrator;
  const batchSize = tokens ?? rollouts;
  if (batchSize === null) throw new PrlError("PRL_CONFIG_INVALID", "orchestrator.batch_size is missing");
  const unit = tokens === null ? ("rollouts" as const) : ("tokens" as const);
  const cutsTails = recycle === "tails";
  return { unit, batchSize, level, maxSteps: maxSteps ?? Infinity, oversampling, cutsTails, mostTokens: seq_len };
}
