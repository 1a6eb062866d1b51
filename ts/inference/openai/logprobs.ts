/** Log-probabilities as the OpenAI endpoints show them: of each token, and of the most probable ones of its place. */
import type { Tokenizer } from "../../renderers/index.ts";
import { scorePrompt } from "../requests/prompt-scores.ts";
import { rankedAt, type RankedToken } from "../requests/ranking.ts";
import { type Completion, rankedPromptLogprobsJson, wireLogprob } from "../requests/response.ts";
import type { ServerContext } from "../context.ts";

/** The text that stands for a token. */
export type TokenText = (id: number) => string;

/** Each token's own text, or vLLM's `token_id:<id>` where the request wants that (`return_tokens_as_token_ids`). */
export function tokenText(tokenizer: Pick<Tokenizer, "decode">, asIds: boolean | null | undefined): TokenText {
  return asIds === true ? (id) => `token_id:${id}` : (id) => tokenizer.decode([id]);
}

/** One token of a text. */
export interface Place {
  id: number;
  /** The token itself first; null for the first token of a prompt, which has no log-probability. */
  tokens: RankedToken[] | null;
}

/** The sampled tokens with the `top` most probable ones of each place. */
export function placesOf({ tokenIds, logprobs, ranking }: Omit<Completion, "policyVersions">, top: number): Place[] {
  return Array.from(tokenIds, (id, index) => {
    const alone = { id, logprob: logprobs[index] ?? Number.NaN, rank: 0 };
    return { id, tokens: ranking === null ? [alone] : rankedAt({ tokenIds, logprobs, ranking }, index, top) };
  });
}

/** As the chat API shows them. As in vLLM the sampled token is the first of its `top` most probable ones. */
export function chatLogprobs(completion: Completion, top: number, textOf: TokenText): object {
  const entry = ({ id, logprob }: RankedToken): object => {
    const token = textOf(id);
    return { token, logprob: wireLogprob(logprob), bytes: [...Buffer.from(token)] };
  };
  const content = placesOf(completion, top).map(({ tokens }) => {
    const [own, ...others] = tokens ?? [];
    return own === undefined ? {} : { ...entry(own), top_logprobs: [own, ...others].slice(0, top).map(entry) };
  });
  return { content, refusal: null };
}

/** As the text API shows them. */
export class TextLogprobs {
  /** Characters of the tokens before, as Python counts them. */
  #offset = 0;
  readonly #textOf: TokenText;

  constructor(textOf: TokenText) {
    this.#textOf = textOf;
  }

  /** Those of the next tokens. */
  of(places: readonly Place[]): object {
    const tokens = places.map(({ id }) => this.#textOf(id));
    const offsets = tokens.map((token) => {
      const at = this.#offset;
      this.#offset += Array.from(token).length;
      return at;
    });
    const named = (entries: RankedToken[]) =>
      Object.fromEntries(entries.map(({ id, logprob }) => [this.#textOf(id), wireLogprob(logprob)]));
    return {
      tokens,
      token_logprobs: places.map(({ tokens: entries }) => (entries === null ? null : chosenLogprob(entries))),
      top_logprobs: places.map(({ tokens: entries }) => (entries === null ? null : named(entries))),
      text_offset: offsets,
    };
  }
}

function chosenLogprob([own]: RankedToken[]): number {
  return wireLogprob(own?.logprob ?? Number.NaN);
}

/** A prompt's tokens with the `top` most probable ones of each place, for an echo. */
export async function promptPlaces(
  context: ServerContext,
  ids: Uint32Array,
  top: number,
  signal: AbortSignal,
): Promise<Place[]> {
  const { logprobs, ranking } = await scorePrompt(context, ids, top, signal);
  const places = placesOf({ tokenIds: ids, logprobs, ranking, finishReason: null, stopReason: null }, top);
  return places.map((place, index) => (index === 0 ? { ...place, tokens: null } : place));
}

/** vLLM's `prompt_logprobs`, where the request wants them. */
export async function promptLogprobsOf(
  context: ServerContext,
  ids: Uint32Array,
  { top, textOf, signal }: { top: number | null; textOf: TokenText; signal: AbortSignal },
): Promise<{ prompt_logprobs?: unknown }> {
  if (top === null) return {};
  const { ranking, ...scores } = await scorePrompt(context, ids, top, signal);
  if (ranking === null) return {};
  return { prompt_logprobs: JSON.parse(rankedPromptLogprobsJson({ ...scores, ranking }, top, textOf)) as unknown };
}
