/** What a trace teaches under its source's algorithm: which streams of the loss its tokens are in. */
import type { AlgoBlock } from "../../config/index.ts";
import type { EpisodeTrace } from "../../environments/index.ts";
import type { TraceColumns, TraceStreams } from "../../native/index.ts";
import type { Worth } from "../custom.ts";
import { echoWeights } from "./echo.ts";
import { distillStreams } from "./opd.ts";
import { sftStreams } from "./sft.ts";

export interface ScoredTrace {
  trace: EpisodeTrace;
  worth: Worth;
  columns: () => TraceColumns;
  /** Log-probabilities of its tokens by the algorithm's teacher. */
  reference: Float32Array | null;
}

/** Null when the trace teaches nothing. With `filterZero` an advantage of 0 teaches nothing; otherwise its tokens train the other loss terms. */
export function lessonOf(
  algo: AlgoBlock,
  { trace, worth, columns, reference }: ScoredTrace,
  filterZero: boolean,
): { streams?: TraceStreams } | null {
  switch (algo.type) {
    case "opd":
    case "opsd":
      return reference === null ? null : { streams: distillStreams(columns(), reference) };
    case "sft":
      return (trace.reward ?? Number.NaN) < (algo.min_reward ?? -Infinity) ? null : { streams: sftStreams(columns()) };
    case "echo": {
      const own = columns();
      const ceWeights = echoWeights(trace.nodes, own, algo.roles);
      if (ceWeights === null) return isNothing(worth) && filterZero ? null : {};
      const isSilent = isNothing(worth) && filterZero;
      return { streams: { ceWeights, ...(isSilent && { rlWeights: new Float32Array(own.mask.length) }) } };
    }
    default:
      if (isNothing(worth) && filterZero) return null;
      return typeof worth === "number" ? {} : { streams: { advantages: worth } };
  }
}

function isNothing(worth: Worth): boolean {
  return typeof worth === "number" ? worth === 0 : worth.every((value) => value === 0);
}
