/** The lines of `traces.jsonl`, one per episode, in pieces, so that a step of long traces is never in the JavaScript heap as a whole. */
import type { Episode } from "../../environments/index.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import type { TrainBatch } from "../batch/train-batch.ts";

/** Characters that are written at once; a longer episode is written as one piece. */
const PIECE = 65_536;

/** An episode of one trace has its advantage beside it; of several, each trace has its own. */
export function traceLines(
  groups: readonly Group[],
  advantages: TrainBatch["traceAdvantages"],
): AsyncGenerator<string, void, void> {
  return jsonLines(withAdvantages(groups, advantages));
}

/** The consumer waits between two pieces, so that other work gets its turn. */
export async function* jsonLines(values: Iterable<object>): AsyncGenerator<string, void, void> {
  let piece = "";
  for (const value of values) {
    piece += `${JSON.stringify(value)}\n`;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}

function* withAdvantages(groups: readonly Group[], advantages: TrainBatch["traceAdvantages"]): Iterable<object> {
  for (const [g, { rollouts }] of groups.entries()) {
    for (const [i, { episode }] of rollouts.entries()) {
      const own = advantages[g]?.[i] ?? [];
      yield { ...episode, ...advantagesOf(episode, own) };
    }
  }
}

function advantagesOf({ ok, traces }: Episode, own: readonly (number | undefined)[]): object {
  if (traces.length < 2) return { advantage: ok ? (own[0] ?? null) : 0 };
  return { advantage: null, advantages: traces.map((_, t) => own[t] ?? null) };
}
