/**
 * The tokens that a rollout had sampled when it was cut, and how a later one of the same task and sample continues from them.
 *
 * The later one runs the environment from its beginning. A call of the policy whose prompt is, token for token, that of the recorded turn in its
 * place gets the recorded reply: whole, or as the beginning of the new reply. From the first different prompt on everything is sampled
 * afresh: nothing is patched. Every token keeps the log-probability and the policy version that it was sampled with. This file knows no
 * HTTP.
 */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { joinedIds } from "../../renderers/internal.ts";
import { type EpisodeTrace, turnSpanSchema } from "./episode.ts";
import type { PolicyCompletion } from "../rollout/policy-client.ts";
import { UNSAMPLED_VERSION, type TraceColumns } from "./trace-columns.ts";

/** Numbers of 4 bytes, little endian, as base64, which is exact and a third as long as decimals. */
const words = z.base64();

/** The form on the wire: the tokens of the one branch, and which of them each turn sampled. */
export const partialRolloutSchema = z.strictObject({
  token_ids: words,
  logprobs: words,
  /** `[index, version]`, flat, as in the columns of a trace. */
  version_spans: z.array(z.int().nonnegative()),
  turns: z.array(turnSpanSchema).min(1),
});
export type PartialRollout = z.output<typeof partialRolloutSchema>;

/** A reply that was sampled before; `finishReason` `abort`: the rest has to be sampled. */
export type RecordedReply = PolicyCompletion;

/** Null where no rollout can continue from it: several traces, a conversation that forked, nothing sampled. */
export function partialOf(traces: readonly EpisodeTrace[], columns: readonly TraceColumns[]): PartialRollout | null {
  const [[trace, ...otherTraces], [own]] = [traces, columns];
  if (trace?.turns === undefined || trace.turns.length === 0 || own === undefined) return null;
  if (otherTraces.length > 0 || own.branchOffsets.length !== 2) return null;
  return {
    token_ids: toBase64(own.tokenIds),
    logprobs: toBase64(own.logprobs),
    version_spans: [...own.versionSpans],
    turns: trace.turns,
  };
}

export class RecordedTurns {
  readonly #tokenIds: Uint32Array;
  readonly #logprobs: Float32Array;
  readonly #spans: readonly number[];
  readonly #turns: PartialRollout["turns"];
  #isOff = false;

  /** Throws PRL_EPISODE_INVALID when the parts do not fit together. */
  constructor(partial: PartialRollout) {
    this.#tokenIds = new Uint32Array(fromBase64(partial.token_ids));
    this.#logprobs = new Float32Array(fromBase64(partial.logprobs));
    this.#spans = partial.version_spans;
    this.#turns = partial.turns;
    const total = this.#tokenIds.length;
    let behind = 0;
    for (const { first, end } of this.#turns) {
      const fits =
        first >= behind && end >= first && end <= total && (end === first || this.#versions(first, end).length > 0);
      if (!fits || this.#logprobs.length !== total)
        throw new PrlError("PRL_EPISODE_INVALID", "a rollout cannot go on from this: its turns do not fit its tokens");
      behind = end;
    }
  }

  /** The reply to a prompt, in the order of the turns; null from the first prompt on that differs. */
  take(turn: number, promptIds: Uint32Array): RecordedReply | null {
    const span = this.#turns[turn];
    if (span === undefined || this.#isOff) return null;
    const { first, end, finish_reason: finishReason, stop_reason: stopReason } = span;
    const isSame = promptIds.length === first && promptIds.every((id, t) => id === this.#tokenIds[t]);
    if (!isSame || end === first) return this.leave();
    return {
      tokenIds: this.#tokenIds.slice(first, end),
      logprobs: this.#logprobs.slice(first, end),
      policyVersions: this.#versions(first, end),
      finishReason,
      stopReason,
    };
  }

  /** Stops using the recorded turns. */
  leave(): null {
    this.#isOff = true;
    return null;
  }

  /** Versions of the sampled tokens from `first` on, with indices from there; empty when some were not sampled. */
  #versions(first: number, end: number): [number, number][] {
    const found: [number, number][] = [];
    for (let i = 0; i + 1 < this.#spans.length; i += 2) {
      const [from = 0, version = UNSAMPLED_VERSION] = this.#spans.slice(i, i + 2);
      const until = this.#spans[i + 2] ?? this.#tokenIds.length;
      if (from >= end || until <= first) continue;
      if (version === UNSAMPLED_VERSION) return [];
      found.push([Math.max(0, from - first), version]);
    }
    return found;
  }
}

/** Joins a reply and the tokens that were sampled behind it. */
export function joinReplies(begun: RecordedReply, rest: PolicyCompletion): PolicyCompletion {
  const { length } = begun.tokenIds;
  const logprobs = new Float32Array(length + rest.logprobs.length);
  logprobs.set(begun.logprobs);
  logprobs.set(rest.logprobs, length);
  const last = begun.policyVersions.at(-1)?.[1];
  const later = rest.policyVersions.map(([first, version]) => [length + first, version] as const);
  return {
    ...rest,
    tokenIds: joinedIds(begun.tokenIds, rest.tokenIds),
    logprobs,
    policyVersions: [...begun.policyVersions, ...later.filter(([, version], i) => i > 0 || version !== last)],
  };
}

function toBase64({ buffer, byteOffset, byteLength }: Uint32Array | Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

/** The bytes in a new, aligned buffer. */
function fromBase64(text: string): ArrayBuffer {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  return bytes.buffer.slice(0, bytes.byteLength - (bytes.byteLength % 4));
}
