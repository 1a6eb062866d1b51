/**
 * Demonstrations as training samples, with the same tokens that a rollout would have.
 *
 * In a pair the completion and the end-of-sequence token after it carry loss; in a conversation every message whose role is in the
 * mask, and the token that closes it. A turn extends the tokens of the turn before where a rollout's would, else it begins a new
 * sample, in which nothing is learnt again. Texts become tokens off the JavaScript thread: a demonstration may be long.
 */
import type { DemonstrationConversation, DemonstrationPair } from "../../environments/index.ts";
import type { Message } from "../../message.ts";
import { PrlError } from "../../errors.ts";
import type { Sample } from "../../native/index.ts";
import type { Renderer, Tokenizer } from "../../renderers/index.ts";
import { joinedIds } from "../../renderers/internal.ts";

/** The roles whose messages carry loss. */
export type LearntRoles = Readonly<Record<Message["role"], boolean>>;

export interface DemonstrationEncoding {
  tokenizer: Pick<Tokenizer, "encodeAsync" | "eosTokenId">;
  renderer: Pick<Renderer, "renderAsync" | "renderReplyAsync" | "bridgeToNextTurnAsync" | "stopTokenIds">;
  /** Most tokens of a sample. */
  seqLen: number;
  /** Default: the assistant's alone. */
  roles?: LearntRoles;
  /** A sample longer than `seqLen` is refused (default), or its end is cut off. */
  overlong?: "refuse" | "cut";
}

/** A conversation may begin with messages that are only read. */
export type DemonstrationToLearn = DemonstrationPair | (DemonstrationConversation & { readonly learntFrom?: number });

export interface EncodedDemonstration {
  samples: Sample[];
  /** Samples that were cut. */
  cut: number;
  /** Tokens that were cut, with those of left-out samples. */
  cutTokens: number;
  /** Samples that had nothing left to learn. */
  leftOut: number;
}

const ASSISTANT: LearntRoles = { system: false, user: false, tool: false, assistant: true };

/** Text that replaces a message, to find out which tokens belong to it. */
const STAND_IN = "\uE0F3";

/** Errors: PRL_PACKING_INPUT for one that is too long or teaches nothing, PRL_TEMPLATE. */
export async function demonstrationSamples(
  demonstration: DemonstrationToLearn,
  encoding: DemonstrationEncoding,
): Promise<Sample[]> {
  return (await encodeDemonstration(demonstration, encoding)).samples;
}

/** The same, with what was cut. */
export async function encodeDemonstration(
  demonstration: DemonstrationToLearn,
  encoding: DemonstrationEncoding,
): Promise<EncodedDemonstration> {
  const turns =
    "messages" in demonstration
      ? await conversationTokens(demonstration, encoding)
      : [await pairTokens(demonstration, encoding.tokenizer)];
  if (turns.length === 0)
    throw new PrlError("PRL_PACKING_INPUT", "a demonstration has no message to learn: see data.loss_mask");
  const encoded: EncodedDemonstration = { samples: [], cut: 0, cutTokens: 0, leftOut: 0 };
  for (const { tokenIds, learnt } of turns) {
    const over = Math.max(0, tokenIds.length - encoding.seqLen);
    if (over > 0 && encoding.overlong !== "cut") throw overlongError(tokenIds.length, encoding.seqLen);
    const kept = tokenIds.slice(0, encoding.seqLen);
    const teaches = learnt.some(([from, to]) => from < Math.min(to, kept.length));
    encoded.cutTokens += teaches ? over : over > 0 ? tokenIds.length : 0;
    if (!teaches && over === 0) throw new PrlError("PRL_PACKING_INPUT", "a demonstration has no token to learn");
    if (!teaches) encoded.leftOut++;
    else {
      encoded.cut += over > 0 ? 1 : 0;
      encoded.samples.push(sampleOf(kept, learnt));
    }
  }
  return encoded;
}

type Span = readonly [from: number, to: number];

interface LearntTokens {
  readonly tokenIds: Uint32Array;
  /** `[from, to)` of the tokens that carry loss. */
  readonly learnt: readonly Span[];
}

async function pairTokens(
  { prompt, completion }: DemonstrationPair,
  tokenizer: DemonstrationEncoding["tokenizer"],
): Promise<LearntTokens> {
  const promptIds = await tokenizer.encodeAsync(prompt);
  const eos = tokenizer.eosTokenId === null ? [] : [tokenizer.eosTokenId];
  const tokenIds = joinedIds(promptIds, await tokenizer.encodeAsync(completion), Uint32Array.from(eos));
  return { tokenIds, learnt: [[Math.max(1, promptIds.length), tokenIds.length]] };
}

async function conversationTokens(
  { messages, tools, learntFrom = 0 }: Extract<DemonstrationToLearn, { messages: unknown }>,
  { renderer, roles = ASSISTANT }: DemonstrationEncoding,
): Promise<LearntTokens[]> {
  const options = tools === undefined ? {} : { tools };
  const samples: { tokenIds: Uint32Array; learnt: Span[] }[] = [];
  let previous: { promptIds: Uint32Array; completionIds: Uint32Array; end: number } | null = null;
  const isLearnt = ({ role }: Message, index: number): boolean => index >= learntFrom && roles[role];

  /** The prompt in front of message `end`, the messages since the last reply replaced by `fresh`. */
  const promptTo = async (fresh: readonly Message[]): Promise<{ ids: Uint32Array; isBridged: boolean }> => {
    const start = previous?.end ?? 0;
    const bridged =
      previous === null
        ? null
        : await renderer.bridgeToNextTurnAsync(previous.promptIds, previous.completionIds, fresh, options);
    if (bridged !== null) return { ids: bridged, isBridged: true };
    return { ids: await renderer.renderAsync([...messages.slice(0, start), ...fresh], options), isBridged: false };
  };

  for (let index = 0; index <= messages.length; index++) {
    const message = messages[index];
    if (message !== undefined && message.role !== "assistant") continue;
    const start: number = previous?.end ?? 0;
    const fresh = messages.slice(start, index);
    const learntFresh = fresh.flatMap((one, offset) => (isLearnt(one, start + offset) ? [offset] : []));
    if (message === undefined && learntFresh.length === 0) break; // Nothing behind the last reply is learnt.
    const { ids: promptIds, isBridged } = await promptTo(fresh);
    const learnt: Span[] = [];
    for (const offset of learntFresh) {
      const replaced = fresh.map((one, at) => (at === offset ? { ...one, content: STAND_IN } : one));
      const changed = changedTokens(promptIds, (await promptTo(replaced)).ids);
      learnt.push(closed(changed, promptIds, renderer.stopTokenIds));
    }
    const completionIds: Uint32Array =
      message === undefined
        ? new Uint32Array(0)
        : await renderer.renderReplyAsync(messages.slice(0, index), message, options);
    let tokenIds = joinedIds(promptIds, completionIds);
    if (message === undefined) tokenIds = tokenIds.subarray(0, learnt.at(-1)?.[1]);
    else if (isLearnt(message, index)) learnt.push([promptIds.length, tokenIds.length]);
    const last = samples.at(-1);
    if (!isBridged || last === undefined) samples.push({ tokenIds, learnt });
    else samples[samples.length - 1] = { tokenIds, learnt: [...last.learnt, ...learnt] };
    previous = { promptIds, completionIds, end: index + 1 };
  }
  return samples.filter(({ learnt }) => learnt.length > 0);
}

/** The span in which `ids` differ from `other`, which has another text for one message. */
function changedTokens(ids: Uint32Array, other: Uint32Array): Span {
  const shorter = Math.min(ids.length, other.length);
  let from = 0;
  while (from < shorter && ids[from] === other[from]) from++;
  let behind = 0;
  while (behind < shorter - from && ids[ids.length - 1 - behind] === other[other.length - 1 - behind]) behind++;
  return [from, ids.length - behind];
}

/**
 * The span with the token that closes the message, if it follows directly. The first token of a sample is never predicted, so it
 * carries no loss.
 */
function closed([from, to]: Span, ids: Uint32Array, stopTokenIds: readonly number[]): Span {
  const closing = ids[to];
  return [Math.max(1, from), closing !== undefined && stopTokenIds.includes(closing) ? to + 1 : to];
}

function overlongError(length: number, seqLen: number): PrlError {
  const text = `a demonstration has ${length} tokens, more than seq_len ${seqLen}: raise seq_len or shorten it`;
  return new PrlError("PRL_PACKING_INPUT", text);
}

function sampleOf(tokenIds: Uint32Array, learnt: readonly Span[]): Sample {
  const ceWeights = new Float32Array(tokenIds.length);
  for (const [from, to] of learnt) ceWeights.fill(1, from, to);
  return {
    tokenIds,
    mask: new Uint8Array(tokenIds.length),
    logprobs: new Float32Array(tokenIds.length),
    advantages: new Float32Array(tokenIds.length),
    temperature: 1,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff),
    ceWeights,
  };
}
