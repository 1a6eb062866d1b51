/** The tokens of one trace of a rollout, copied out of native memory. */
import { PrlError } from "../../errors.ts";
import type { RolloutSamples, TraceColumns } from "../../native/index.ts";

export function columnsOf(samples: RolloutSamples, trace: number): TraceColumns {
  const columns = samples.columns()[trace];
  if (columns === undefined) throw new PrlError("PRL_PACKING_INPUT", `the rollout has no columns of trace ${trace}`);
  return columns;
}
