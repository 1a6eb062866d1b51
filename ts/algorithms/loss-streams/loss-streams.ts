/** Decides which streams of the loss the tokens of a trace are in, under the algorithm of its source. */
import type { AlgoBlock } from "../../config/index.ts";
import type { EpisodeTrace } from "../../environments/index.ts";
import type { TraceColumns, TraceStreams } from "../../native/index.ts";
import type { Advantage } from "../custom-advantages.ts";
import { echoWeights } from "./echo.ts";
import { distillStreams } from "./opd.ts";
import { sftStreams } from "./sft.ts";

export interface ScoredTrace {
  trace: EpisodeTrace;
  advantage: Advantage;
  columns: () => TraceColumns;
  /** Log-probabilities of its tokens by the algorithm's teacher. */
  reference: Float32Array | null;
}

/** Null when the trace teaches nothing. With `filterZero` an advantage of 0 teaches nothing; otherwise its tokens train the other loss terms. */
export function lossStreamsOf(
  algo: AlgoBlock,
  { trace, advantage, columns, reference }: ScoredTrace,
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
      if (ceWeights === null) return isNothing(advantage) && filterZero ? null : {};
      const isSilent = isNothing(advantage) && filterZero;
      return { streams: { ceWeights, ...(isSilent && { rlWeights: new Float32Array(own.mask.length) }) } };
    }
    default:
      if (isNothing(advantage) && filterZero) return null;
      return typeof advantage === "number" ? {} : { streams: { advantages: advantage } };
  }
}

function isNothing(advantage: Advantage): boolean {
  return typeof advantage === "number" ? advantage === 0 : advantage.every((value) => value === 0);
}
