/**
 * Demonstrations as training samples, with the very tokens that a rollout would have.
 *
 * Of a pair the completion and the end-of-sequence token after it carry loss; of a conversation every reply of the assistant and the token
 * that closes it. A turn extends the tokens of the one before where a rollout's would, else it begins a sample of its own.
 */
import type { Demonstration, DemonstrationConversation, DemonstrationPair } from "../environments/index.ts";
import { PrlError } from "../errors.ts";
import type { Sample } from "../native/index.ts";
import type { Renderer, Tokenizer } from "../renderers/index.ts";

export interface DemonstrationEncoding {
  tokenizer: Pick<Tokenizer, "encode" | "eosTokenId">;
  renderer: Pick<Renderer, "render" | "renderReply" | "bridgeToNextTurn">;
  /** Tokens that a sample may have at most. */
  seqLen: number;
}

/** Errors: PRL_PACKING_INPUT for one that is too long or teaches nothing, PRL_TEMPLATE. */
export function demonstrationSamples(demonstration: Demonstration, encoding: DemonstrationEncoding): Sample[] {
  const turns =
    "messages" in demonstration
      ? conversationTokens(demonstration, encoding.renderer)
      : [pairTokens(demonstration, encoding.tokenizer)];
  if (turns.length === 0)
    throw new PrlError("PRL_PACKING_INPUT", "a demonstration has no message of the assistant to learn");
  return turns.map(({ tokenIds, learnt }) => sampleOf(tokenIds, learnt, encoding.seqLen));
}

interface LearntTokens {
  readonly tokenIds: Uint32Array;
  /** `[from, to)` of the tokens that carry loss. */
  readonly learnt: readonly (readonly [number, number])[];
}

function pairTokens(
  { prompt, completion }: DemonstrationPair,
  tokenizer: DemonstrationEncoding["tokenizer"],
): LearntTokens {
  const promptIds = tokenizer.encode(prompt);
  const eos = tokenizer.eosTokenId === null ? [] : [tokenizer.eosTokenId];
  const tokenIds = Uint32Array.from([...promptIds, ...tokenizer.encode(completion), ...eos]);
  return { tokenIds, learnt: [[Math.max(1, promptIds.length), tokenIds.length]] };
}

function conversationTokens(
  { messages, tools }: DemonstrationConversation,
  renderer: DemonstrationEncoding["renderer"],
): LearntTokens[] {
  const options = tools === undefined ? {} : { tools };
  const samples: { tokenIds: Uint32Array; learnt: [number, number][] }[] = [];
  let previous: { promptIds: Uint32Array; completionIds: Uint32Array; end: number } | null = null;
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const before = messages.slice(0, index);
    const bridged: Uint32Array | null =
      previous === null
        ? null
        : renderer.bridgeToNextTurn(
            previous.promptIds,
            previous.completionIds,
            messages.slice(previous.end, index),
            options,
          );
    const promptIds = bridged ?? renderer.render(before, options);
    const completionIds = renderer.renderReply(before, message, options);
    const tokenIds = Uint32Array.from([...promptIds, ...completionIds]);
    const learnt: [number, number] = [promptIds.length, tokenIds.length];
    const last = samples.at(-1);
    if (bridged === null || last === undefined) samples.push({ tokenIds, learnt: [learnt] });
    else samples[samples.length - 1] = { tokenIds, learnt: [...last.learnt, learnt] };
    previous = { promptIds, completionIds, end: index + 1 };
  });
  return samples;
}

function sampleOf(tokenIds: Uint32Array, learnt: LearntTokens["learnt"], seqLen: number): Sample {
  if (tokenIds.length > seqLen) {
    const length = `${tokenIds.length} tokens`;
    throw new PrlError(
      "PRL_PACKING_INPUT",
      `a demonstration has ${length}, more than seq_len ${seqLen}: raise seq_len or shorten it`,
    );
  }
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
