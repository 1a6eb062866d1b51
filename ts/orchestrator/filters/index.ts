/**
 * Filters: which scored traces do not train. A trace that is left out keeps its place in its group's baseline: its reward is known,
 * only its tokens are not learnt. What each filter finds is counted under its name, also when the filter only watches.
 */
import { filterName, type FilterBlock } from "../../config/index.ts";
import type { EpisodeTrace } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";
import type { TraceColumns } from "../../native/index.ts";
import { UserFunction } from "../../algorithms/internal.ts";
import { isGibberish } from "./gibberish.ts";
import { isRepetition } from "./repetition.ts";

/** The parts of a trace that a filter may look at. `columns` copies the trace's tokens out of native memory when it is called. */
export interface FilterInput {
  trace: EpisodeTrace;
  advantage: number;
  columns: () => TraceColumns;
}

export interface TraceFilter {
  name: string;
  enforce: boolean;
  /** Whether the filter matches the trace. */
  finds: (input: FilterInput) => boolean;
}

/** A custom filter: returns "keep", or the reason to leave the trace out. */
export type CustomFilter = (trace: EpisodeTrace, columns: () => TraceColumns) => string;

/** Errors: those of `UserFunction.load`. */
export async function loadFilters(blocks: readonly FilterBlock[]): Promise<TraceFilter[]> {
  return Promise.all(
    blocks.map(async (block) => ({ name: filterName(block), enforce: block.enforce, finds: await finderOf(block) })),
  );
}

/** The first filter that keeps the trace from training, if any; `count` is called with the name of every filter that matches. */
export function rejectingFilter(
  filters: readonly TraceFilter[],
  input: FilterInput,
  count: (name: string) => void,
): TraceFilter | undefined {
  const found = filters.filter((filter) => filter.finds(input));
  for (const { name } of found) count(name);
  return found.find(({ enforce }) => enforce);
}

async function finderOf(block: FilterBlock): Promise<TraceFilter["finds"]> {
  const { type } = block;
  if (type === "zero_advantage") return ({ advantage }) => advantage === 0;
  if (type === "gibberish") {
    const { token_id_threshold: threshold, max_logprob: most } = block;
    const limits = { tokenIdThreshold: threshold ?? 100_000, maxLogprob: most ?? -14 };
    return ({ columns }) => isGibberish(columns(), limits);
  }
  if (type === "repetition") {
    const limits = { window: block.window ?? 3000, probThreshold: block.prob_threshold ?? 0.99 };
    return ({ columns }) => isRepetition(columns(), limits);
  }
  const path = block.path ?? "";
  const shape = 'a filter is a function (trace, columns) => "keep" or a reason';
  const filter = await UserFunction.load(path, shape, block.deadline_s);
  return ({ trace, columns }) => {
    const verdict = filter.call("a trace", trace, columns);
    if (typeof verdict === "string" && verdict !== "") return verdict !== "keep";
    throw new PrlError("PRL_USER_MODULE", `${path}: the filter returned ${String(verdict)}, not "keep" or a reason`);
  };
}
