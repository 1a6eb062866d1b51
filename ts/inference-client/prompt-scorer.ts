/**
 * Log-probabilities of given tokens by the model of a foreign server: a teacher.
 *
 * `generate` is `POST /inference/v1/generate` of our server and of vLLM, `completions` OpenAI's `POST /v1/completions` with vLLM's
 * `prompt_logprobs`; `POST /tokenize` is vLLM's. Scores are at temperature 1. Nothing is sampled where the server allows that; vLLM
 * samples at least one token.
 */

import { z } from "zod";

import { PrlError } from "../errors.ts";
import { Connections } from "./connections.ts";
import { exchange, InferenceHttpError } from "./http-json.ts";

export interface PromptScorerOptions {
  url: string;
  /** Model named in requests. Default: none. */
  model?: string;
  /** Default `generate`. */
  api?: "generate" | "completions";
  apiKey?: string;
  /** Deadline of one score, with its wait. */
  deadlineMs: number;
  /** Most scores under way at once; further ones wait here. */
  connections: number;
}

type Entry = Record<string, { logprob?: unknown }> | null;
/** Entries are many, and each is checked where its number is taken. */
const entryList = z.custom<Entry[]>(Array.isArray).nullish();
const answerSchema = z.object({
  tokens: z.unknown().optional(),
  prompt_logprobs: entryList,
  choices: z.array(z.object({ prompt_logprobs: entryList })).nullish(),
});
type Answer = z.output<typeof answerSchema>;

const RETRIES = 3;
/** vLLM's error of /v1/completions for a prompt that fills the context, so that no token fits behind it. */
const NO_ROOM = /max_tokens must be at least 1, got 0/u;

export class PromptScorer {
  readonly url: string;
  readonly #options: PromptScorerOptions;
  readonly #pool: Connections;
  /** The `max_tokens` that this server accepts for scoring only. */
  #maxTokens = 0;

  constructor(options: PromptScorerOptions) {
    this.url = options.url.replace(/\/+$/, "");
    this.#options = options;
    this.#pool = new Connections(this.url, { connections: options.connections });
  }

  /**
   * `[t]` is the value of token t given its predecessors; 0 for the first. Errors: PRL_INFERENCE_UNREACHABLE, _TIMEOUT, _CONTEXT,
   * _REQUEST, _UNSUPPORTED, _FAILED; an abort rejects with its reason.
   */
  async score(tokenIds: Uint32Array, signal?: AbortSignal): Promise<Float32Array> {
    const entries = await this.#entries(tokenIds, signal);
    if (entries?.length !== tokenIds.length) throw this.#nonsense("prompt_logprobs do not fit the prompt");
    return Float32Array.from(tokenIds, (id, t) => {
      if (t === 0) return 0;
      const logprob = entries[t]?.[String(id)]?.logprob;
      if (typeof logprob === "number" && Number.isFinite(logprob)) return logprob;
      throw this.#nonsense(`prompt_logprobs[${t}] has no number for the prompt's own token ${id}`);
    });
  }

  /** A text's token ids, without added special tokens. Errors as `score`; PRL_INFERENCE_UNSUPPORTED where the server has no `/tokenize`. */
  async tokenize(prompt: string, signal?: AbortSignal): Promise<Uint32Array> {
    const { model } = this.#options;
    let answer: Answer;
    try {
      answer = await this.#post("/tokenize", { model, prompt, add_special_tokens: false }, signal);
    } catch (cause) {
      if (!(cause instanceof InferenceHttpError && [404, 405].includes(cause.status))) throw cause;
      throw new PrlError("PRL_INFERENCE_UNSUPPORTED", `${this.url} has no /tokenize`, { cause });
    }
    const { tokens } = answer;
    if (Array.isArray(tokens) && tokens.every((id) => Number.isInteger(id) && id >= 0)) return Uint32Array.from(tokens);
    throw this.#nonsense("tokens are no list of token ids");
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #entries(tokenIds: Uint32Array, signal: AbortSignal | undefined): Promise<Entry[] | null | undefined> {
    const ids = Array.from(tokenIds);
    const { model, api } = this.#options;
    const sampling = { max_tokens: this.#maxTokens, temperature: 1, prompt_logprobs: 0 };
    try {
      if (api === "completions") {
        const answer = await this.#post("/v1/completions", { model, prompt: ids, ...sampling }, signal);
        return answer.choices?.[0]?.prompt_logprobs;
      }
      const body = { model, token_ids: ids, sampling_params: sampling };
      return (await this.#post("/inference/v1/generate", body, signal)).prompt_logprobs;
    } catch (error) {
      if (!(error instanceof InferenceHttpError) || error.code !== "PRL_INFERENCE_REQUEST") throw error;
      if (sampling.max_tokens === 0) {
        this.#maxTokens = 1;
        return this.#entries(tokenIds, signal);
      }
      if (!NO_ROOM.test(error.message)) throw error;
      const message = `${this.url}: a prompt of ${ids.length} tokens leaves no room for the one that is asked for besides`;
      throw new PrlError("PRL_INFERENCE_CONTEXT", message, { cause: error });
    }
  }

  async #post(path: string, body: object, signal: AbortSignal | undefined): Promise<Answer> {
    const { deadlineMs, apiKey } = this.#options;
    const text = await exchange(this.#pool, this.url, {
      method: "POST",
      path,
      body: JSON.stringify(body),
      ...(apiKey !== undefined && { headers: { authorization: `Bearer ${apiKey}` } }),
      deadlineMs,
      signal,
      retries: RETRIES,
    });
    try {
      return answerSchema.parse(JSON.parse(text));
    } catch (cause) {
      throw new PrlError("PRL_INFERENCE_FAILED", `${this.url}${path}: the answer is not JSON of the expected form`, {
        cause,
      });
    }
  }

  #nonsense(problem: string): PrlError {
    return new PrlError("PRL_INFERENCE_FAILED", `${this.url}: the answer makes no sense: ${problem}`);
  }
}
