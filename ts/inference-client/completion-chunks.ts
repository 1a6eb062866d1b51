/** A streamed completion put together: chunks of `POST /inference/v1/generate` in, the whole answer out. Knows no HTTP. */

/** The server's answer, as far as it is read; nothing of it is taken for granted. */
export interface WireResponse {
  choices?: {
    token_ids?: number[];
    logprobs?: { content?: { logprob?: number }[] } | null;
    finish_reason?: string | null;
    stop_reason?: number | string | null;
    policy_versions?: [number, number][];
    /** vLLM's: the weights that `[start, end)` of `token_ids` are of, by their notes; in a stream it comes with the last tokens, for all. */
    weight_versions?: { version: string; start: number; end: number }[] | null;
  }[];
  prompt_logprobs?: (Record<string, { logprob?: number }> | null)[] | null;
  usage?: {
    prompt_tokens?: number;
    completion_tokens?: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
  };
}

type Choice = NonNullable<WireResponse["choices"]>[number];

export class CompletionChunks {
  readonly #tokenIds: number[] = [];
  readonly #logprobs: { logprob?: number }[] = [];
  readonly #policyVersions: [number, number][] = [];
  #end: Required<Pick<Choice, "finish_reason" | "stop_reason" | "weight_versions">> | null = null;
  #usage: WireResponse["usage"];

  /** The chunk's tokens. */
  push({ choices, usage }: WireResponse): readonly number[] {
    this.#usage = usage ?? this.#usage;
    const [choice] = choices ?? [];
    if (choice === undefined) return [];
    const { token_ids: ids = [], logprobs, policy_versions: versions = [], finish_reason, stop_reason = null } = choice;
    const { weight_versions = null } = choice;
    for (const [first, version] of versions) {
      const isNew = this.#policyVersions.at(-1)?.[1] !== version;
      if (isNew) this.#policyVersions.push([this.#tokenIds.length + first, version]);
    }
    this.#tokenIds.push(...ids);
    this.#logprobs.push(...(logprobs?.content ?? []));
    if (typeof finish_reason === "string") this.#end = { finish_reason, stop_reason, weight_versions };
    return ids;
  }

  /** As a request that is not streamed would have been answered; null before the end. */
  get whole(): WireResponse | null {
    if (this.#end === null) return null;
    const isKnown = this.#policyVersions.length > 0 || this.#tokenIds.length === 0;
    const choice = {
      ...this.#end,
      token_ids: this.#tokenIds,
      logprobs: { content: this.#logprobs },
      ...(isKnown && { policy_versions: this.#policyVersions }),
    };
    return { choices: [choice], ...(this.#usage !== undefined && { usage: this.#usage }) };
  }
}
